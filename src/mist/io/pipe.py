"""Standard input and other pipes as live sources of CSV or JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, islice, repeat
from pathlib import Path
from typing import IO, Any

import numpy as np

from mist.io.bounds import MOST_AT_ONCE, check_width
from mist.io.csv import Layout, find_layout, read_names
from mist.io.jsonl import ARRAY, read_objects
from mist.io.live import Ahead, LiveSource, Records, records_of_few_cells
from mist.io.source import Cells, TableError
from mist.io.text import Lines

__all__ = ["PIPE_KINDS", "PipeSource", "is_pipe", "open_pipe"]

PIPE_KINDS = ("csv", "tsv", "jsonl")
"""Formats that can be read from a pipe."""

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_ROWS_AHEAD = 10_000


class PipeSource(LiveSource):
    """Delimited text or JSON lines from an open stream.

    Parameters
    ----------
    stream : binary file
        Stream of UTF-8 text.
    name : str
        Name of the stream, for messages.
    kind : {"csv", "tsv", "jsonl"} or None
        Format of the text; None to detect it from the first line: JSON begins with a brace.
    header : bool or None
        Whether delimited text begins with the names of its columns; None: it does, and the first
        row is refused if it looks like data. Without it they are called "0", "1", ...
    delimiter : str or None
        Delimiter of the cells; None to detect it from the first line.
    ignore : container of str
        Columns that are not read.
    """

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        kind: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        ignore: Container[str] = (),
    ) -> None:
        if kind not in (None, *PIPE_KINDS):
            raise TableError(
                f"{name}: a pipe can be {', '.join(PIPE_KINDS)}, not {kind}; save it as a file"
            )
        self.name = name
        self._stream = stream
        self._kind = kind
        self._header = header
        self._delimiter = "\t" if kind == "tsv" and delimiter is None else delimiter
        self._ignore = ignore
        self._names: list[str] | None = None
        self._lines: Lines | None = None
        self._weighed = 0

    @property
    def fixed(self) -> Sequence[str] | None:
        """The header of delimited text."""
        return self._names

    def batches(self, size: int, limit: int | None = None) -> Iterator[Records]:
        """Yield records as soon as any arrive, at most `size` at a time and `limit` in all."""
        ahead = Ahead(islice(self._records(), limit), MOST_AT_ONCE, self._weigh)
        while (taken := ahead.take(size)) is not None:
            rows = [row for row, _ in taken]
            records: list[Any] = [record for _, record in taken]
            if self._names is None or not taken:
                yield from records_of_few_cells(rows, records)
            else:
                cells: Iterable[Sequence[str]] = zip(*records, strict=True)
                columns: dict[str, Cells] = dict(zip(self._names, cells, strict=True))
                yield Records(np.array(rows, dtype=np.int64), columns)

    def _weigh(self, item: Any) -> int:
        """Characters of the last record, but at least a `_ROWS_AHEAD`-th of the limit."""
        assert self._lines is not None
        characters = self._lines.taken - self._weighed
        self._weighed += characters
        return max(characters, MOST_AT_ONCE // _ROWS_AHEAD)

    def _records(self) -> Iterator[tuple[int, Any]]:
        self._lines = Lines(TextIOWrapper(self._stream, encoding="utf-8-sig", newline=""))
        lines = iter(self._lines)
        try:
            # Blank lines and comments count, so that row numbers are line numbers.
            blank, top = 0, list[str]()
            for line in lines:
                if line.isspace():
                    blank += 1
                    continue
                top.append(line)
                if not line.lstrip().lower().startswith(("#", "sep=")):
                    break
            if not top:
                raise TableError(f"{self.name} is empty")
            first = top[-1].lstrip()
            if self._kind is None:
                self._kind = "jsonl" if first.startswith("{") else "csv"
                if first.startswith("[{") or first.rstrip() == "[":
                    raise TableError(f"{self.name} {ARRAY}")
            lines = chain(repeat("\n", blank), top, lines)
            if self._kind == "jsonl":
                yield from read_objects(lines, self._ignore)
            else:
                layout = find_layout(top, self._header, self._delimiter)
                yield from self._split(lines, layout._replace(skip=blank + layout.skip))
        except UnicodeDecodeError as error:
            if error.object.startswith(_PACKED):
                raise TableError(
                    f"{self.name} is compressed; unpack it first: zcat FILE | mist run -"
                ) from error
            raise TableError(f"{self.name} is not UTF-8 text; convert it first (iconv)") from error

    def _split(self, lines: Iterable[str], layout: Layout) -> Iterator[tuple[int, list[str]]]:
        header = None
        for line, cells in layout.records(lines):
            if self._names is None:
                check_width(len(cells), self.name)
                header, self._names = read_names((line, cells), layout, self._header)
            # The header again comes from files that were joined.
            if cells != header:
                yield line, cells


def is_pipe(path: str | Path) -> bool:
    """Whether a path is ``-``, which stands for standard input, or a pipe or device.

    Parameters
    ----------
    path : str or Path
        Path given by the user.

    Returns
    -------
    bool
        True if it can be read only once.

    Examples
    --------
    >>> is_pipe("-"), is_pipe("nowhere.csv")
    (True, False)
    """
    path = Path(path)
    return str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def open_pipe(
    path: str | Path,
    kind: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    ignore: Container[str] = (),
) -> PipeSource:
    """Open standard input or a named pipe.

    Parameters
    ----------
    path : str or Path
        ``-`` or the pipe.
    kind, header, delimiter, ignore
        See `PipeSource`.

    Returns
    -------
    PipeSource
        The source of its records.
    """
    if str(path) != "-":
        return PipeSource(open(path, "rb"), str(path), kind, header, delimiter, ignore)
    try:
        # A duplicate: at exit Python flushes its own file, which the reader may be using.
        stream: IO[bytes] = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (OSError, ValueError):
        stream = sys.stdin.buffer
    return PipeSource(stream, "standard input", kind, header, delimiter, ignore)
