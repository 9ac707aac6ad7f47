"""Delimited text: CSV, TSV and similar formats."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mist.io.bounds import MOST_CHARACTERS, check_width, first_twice
from mist.io.source import Column, RawRows, Source, TableError
from mist.io.text import batch_records, open_text

__all__ = ["CsvSource", "column_names", "sniff_delimiter", "split_records"]

_DELIMITERS = ",;\t"
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_RECORDS = 50


class CsvSource(Source):
    """A delimited text file.

    Parameters
    ----------
    path : Path
        The file; UTF-8, fields quoted with ``"`` may hold delimiters and line breaks.
    header : bool
        Whether the first record holds the names. Without it the columns are called "0", "1", ...
    delimiter : str or None
        Delimiter of the cells; None to detect it from the first records.

    Raises
    ------
    TableError
        If the file is empty or a name occurs twice.
    """

    def __init__(self, path: Path, header: bool = True, delimiter: str | None = None) -> None:
        self.path = path
        self._header = header
        self._delimiter = _sniff(path) if delimiter is None else delimiter
        first = next(self._records(), None)
        if first is None:
            raise TableError(f"{path.name} is empty")
        line, cells = first
        check_width(len(cells), path.name)
        names = column_names(cells, line) if header else [str(i) for i in range(len(cells))]
        self.columns = tuple(Column(name) for name in names)

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with open_text(self.path) as text:
            records = self._split(text.lines)
            if self._header:
                next(records, None)
            yield from batch_records(records, size, text)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with open_text(self.path) as text:
            yield from self._split(text.lines)

    def _split(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        return split_records(lines, self._delimiter)


def split_records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    r"""Split delimited lines into records; blank lines are skipped but counted.

    Parameters
    ----------
    lines : iterable of str
        Lines with their ends.
    delimiter : str
        Delimiter of the cells.

    Yields
    ------
    line : int
        The first line of the record, counted from 1.
    cells : list of str
        Its cells.

    Raises
    ------
    TableError
        If a record has another number of cells than the first one or is too long, or a quote is
        left open.

    Examples
    --------
    >>> list(split_records(["a,b\n", "\n", '"x, y",2\n'], ","))
    [(1, ['a', 'b']), (3, ['x, y', '2'])]
    """
    line, width, characters = 1, 0, 0

    def counted() -> Iterator[str]:
        nonlocal characters
        for text in lines:
            characters += len(text)
            if characters > MOST_CHARACTERS:
                raise TableError(
                    f"row {line}: the record has more than {MOST_CHARACTERS:,} characters; is a "
                    "quote left open?"
                )
            yield text

    reader = csv.reader(counted(), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            blank = not cells or (len(cells) == 1 and not cells[0].strip())
            if not blank:
                width = width or len(cells)
                if len(cells) != width:
                    noun = "cell" if len(cells) == 1 else "cells"
                    raise TableError(
                        f"row {line}: {len(cells)} {noun}, but the first row has {width}"
                    )
                yield line, cells
            line, characters = reader.line_num + 1, 0
    except csv.Error as error:
        raise TableError(f"row {line}: {error}; is a quote left open?") from error


def column_names(cells: Sequence[str], line: int) -> list[str]:
    """Return the column names in a header.

    Parameters
    ----------
    cells : sequence of str
        The cells of the header; an empty one is called "column" and its position.
    line : int
        Its line number, for the message.

    Returns
    -------
    list of str
        One name per cell.

    Raises
    ------
    TableError
        If a name occurs twice.

    Examples
    --------
    >>> column_names([" a", ""], 1)
    ['a', 'column 1']
    """
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(cells)]
    twice = first_twice(names)
    if twice is not None:
        raise TableError(f"row {line}: the column name {twice!r} occurs twice")
    return names


def _sniff(path: Path) -> str:
    # csv.Sniffer guesses letters as delimiters on small files.
    with open_text(path) as text:
        sample, complete = text.lines.head(_SAMPLE_CHARACTERS)
    lines = sample.splitlines(keepends=True)
    if not complete and len(lines) > 1:
        lines.pop()
    return sniff_delimiter(lines)


def sniff_delimiter(lines: Sequence[str]) -> str:
    r"""Detect the delimiter of the cells: comma, semicolon or tab.

    Parameters
    ----------
    lines : sequence of str
        The first lines.

    Returns
    -------
    str
        The delimiter that splits the first records into equal numbers of cells, the most possible.

    Examples
    --------
    >>> sniff_delimiter(["a;b;c\n", "1,5;2;x\n"])
    ';'
    """

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
