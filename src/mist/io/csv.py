"""Delimited text: CSV, TSV and their kin."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from mist.io.source import Batch, Column, TableError, find_column
from mist.io.text import batch_records, open_text

__all__ = ["CsvSource"]

_DELIMITERS = ",;\t"
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_RECORDS = 50


class CsvSource:
    """A delimited text file.

    Parameters
    ----------
    path : Path
        The file; UTF-8, fields quoted with ``"`` may hold delimiters and line breaks.
    target : str or int
        Name or position of the label column.
    header : bool
        Whether the first record holds the names. Without it the columns are called "0", "1", ...

    Raises
    ------
    TableError
        If the file is empty, a name occurs twice, or the target is missing.
    """

    def __init__(self, path: Path, target: str | int, header: bool = True) -> None:
        self.path = path
        self._header = header
        self._delimiter = _sniff(path)
        self._width = 0
        first = next(self._records(), None)
        if first is None:
            raise TableError(f"{path.name} is empty")
        line, cells = first
        self._width = len(cells)
        names = [str(i) for i in range(len(cells))]
        if header:
            names = [cell.strip() or f"column {i}" for i, cell in enumerate(cells)]
            for i, name in enumerate(names):
                if name in names[:i]:
                    raise TableError(f"row {line}: the column name {name!r} occurs twice")
        self.columns = tuple(Column(name) for name in names)
        self.target = find_column(names, target, path)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with open_text(self.path) as handle:
            records = self._split(handle)
            if self._header:
                next(records, None)
            yield from batch_records(records, size, handle, self.path)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with open_text(self.path) as handle:
            yield from self._split(handle)

    def _split(self, handle: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(handle, delimiter=self._delimiter, skipinitialspace=True, strict=True)
        line = 1
        try:
            for cells in reader:
                blank = not cells or (len(cells) == 1 and not cells[0].strip())
                if not blank:
                    if self._width and len(cells) != self._width:
                        noun = "cell" if len(cells) == 1 else "cells"
                        raise TableError(
                            f"row {line}: {len(cells)} {noun}, but the first row has {self._width}"
                        )
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise TableError(f"row {line}: {error}; is a quote left open?") from error


def _sniff(path: Path) -> str:
    # The delimiter under which the first records agree on the largest width. csv.Sniffer guesses
    # letters as delimiters on small files.
    with open_text(path) as handle:
        sample = handle.read(_SAMPLE_CHARACTERS)
        complete = not handle.read(1)
    lines = sample.splitlines(keepends=True)
    if not complete and len(lines) > 1:
        lines.pop()

    def score(delimiter: str) -> tuple[bool, int]:
        widths: list[int] = []
        try:
            for cells in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
                if len(widths) == _SAMPLE_RECORDS:
                    break
                if cells:
                    widths.append(len(cells))
        except csv.Error:
            pass
        if not widths:
            return False, 0
        return widths[0] > 1 and len(set(widths)) == 1, widths[0]

    return max(_DELIMITERS, key=score)
