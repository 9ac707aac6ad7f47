"""Delimited text: CSV, TSV and similar formats."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from mist.io.bounds import MOST_CHARACTERS, check_width, first_twice
from mist.io.source import Column, RawRows, Source, TableError, as_number
from mist.io.text import batch_records, open_text

__all__ = [
    "SEPARATORS",
    "CsvSource",
    "Layout",
    "column_names",
    "delimiter_of",
    "find_layout",
    "read_names",
    "sniff_delimiter",
    "split_records",
]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " "}
"""Names of delimiters."""

# Of two that split equally well the first is taken: a comma may also be a decimal mark.
_DELIMITERS = ";\t,"
_SAMPLE_CHARACTERS = 1 << 16
_SAMPLE_RECORDS = 50
_SAMPLE_ROWS = 1000


class CsvSource(Source):
    """A delimited text file.

    Parameters
    ----------
    path : Path
        The file; UTF-8, fields quoted with ``"`` may hold delimiters and line breaks.
    header : bool or None
        Whether the first record holds the names; None: it does, and is refused if it looks like
        data. Without names the columns are called "0", "1", ...
    delimiter : str or None
        Delimiter of the cells, a space for any run of spaces and tabs; None to detect it from the
        first records.

    Raises
    ------
    TableError
        If the file is empty, a name occurs twice, or the first record is not a header.
    """

    def __init__(
        self, path: Path, header: bool | None = None, delimiter: str | None = None
    ) -> None:
        self.path = path
        lines = _head(path)
        self._layout = layout = find_layout(lines, header, delimiter)
        first = next(self._records(), None)
        if first is None:
            raise TableError(f"{path.name} is empty")
        line, cells = first
        check_width(len(cells), path.name)
        if layout.header is None and header is None:
            _check_header(cells, line, [cells for _, cells in _sample(lines, layout)])
        self._header, names = read_names(first, layout, header)
        self.columns = tuple(Column(name) for name in names)

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with open_text(self.path) as text:
            records = self._layout.records(text.lines)
            # A header that occurs again comes from files that were joined.
            rows = (record for record in records if record[1] != self._header)
            yield from batch_records(rows, size, text)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with open_text(self.path) as text:
            yield from self._layout.records(text.lines)


def delimiter_of(separator: str | None) -> str | None:
    r"""Return the delimiter that a user names.

    Parameters
    ----------
    separator : str or None
        A character, or one of `SEPARATORS`; None to detect it.

    Returns
    -------
    str or None
        The character; a space means any run of spaces and tabs.

    Raises
    ------
    TableError
        If it is neither.

    Examples
    --------
    >>> delimiter_of("tab"), delimiter_of("|"), delimiter_of(None)
    ('\t', '|', None)
    """
    if separator is None:
        return None
    found = SEPARATORS.get(separator.lower(), separator)
    if len(found) != 1 or found in '"\r\n':
        raise TableError(
            f"--separator must be one character, or comma, semicolon, tab or space, not "
            f"{separator!r}"
        )
    return found


class Layout(NamedTuple):
    """How the lines of a delimited text are divided.

    Attributes
    ----------
    delimiter : str
        Delimiter of the cells; a space means any run of spaces and tabs.
    skip : int
        Number of lines before the first record: comments, blank lines and ``sep=;``.
    header : list of str or None
        The names, if they are in the last comment.
    """

    delimiter: str
    skip: int = 0
    header: list[str] | None = None

    def records(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Split all lines of the text into records; see `split_records`."""
        lines = iter(lines)
        blank = ("\n" for _ in islice(lines, self.skip))
        return split_records(chain(blank, lines), self.delimiter)


def find_layout(lines: Sequence[str], header: bool | None, delimiter: str | None) -> Layout:
    r"""Find comments, delimiter and header at the top of a delimited text.

    Lines that begin with ``#`` are comments. The last one is the header if it has as many cells as
    the first record, and that one looks like data.

    Parameters
    ----------
    lines : sequence of str
        The first lines, at least up to the first that is neither blank nor a comment.
    header : bool or None
        Whether names are expected; see `CsvSource`.
    delimiter : str or None
        The delimiter, if it is given.

    Returns
    -------
    Layout
        What was found.

    Examples
    --------
    >>> find_layout(["sep=;\n", "a;y\n", "1,5;2\n"], None, None)
    Layout(delimiter=';', skip=1, header=None)
    >>> find_layout(["# a y\n", "0.5 2\n"], None, None)
    Layout(delimiter=' ', skip=1, header=['a', 'y'])
    """
    skip, declared = 0, None
    comments: list[str] = []
    for line in lines:
        text = line.strip()
        if not comments and declared is None and text.lower().startswith("sep="):
            declared = line.rstrip("\r\n").lstrip()[4:5] or None
        elif text.startswith("#"):
            comments.append(text)
        elif text:
            break
        skip += 1
    if skip == len(lines):
        # Nothing but comments: a table whose first cells begin with "#".
        return Layout(delimiter or declared or sniff_delimiter(lines))
    delimiter = delimiter or declared or sniff_delimiter(lines[skip:])
    width = len(_cells(lines[skip], delimiter))
    if comments and width > 1:
        if header is False and width == len(_cells(comments[-1], delimiter)):
            first = next(i for i, line in enumerate(lines) if line.strip() in comments)
            return Layout(delimiter, first)
        for text in (comments[-1].removeprefix("#"), comments[-1]):
            names = _cells(text.strip(), delimiter)
            data = len(names) == width and _number_in(_cells(lines[skip], delimiter))
            if header is not False and data and not _number_in(names):
                return Layout(delimiter, skip, names)
    return Layout(delimiter, skip)


def read_names(
    first: tuple[int, list[str]], layout: Layout, header: bool | None
) -> tuple[list[str] | None, list[str]]:
    """Return the record that holds the names, if one does, and the names.

    Parameters
    ----------
    first : (int, list of str)
        Line and cells of the first record.
    layout : Layout
        The layout of the text.
    header : bool or None
        Whether names are expected; see `CsvSource`.

    Returns
    -------
    record : list of str or None
        The header, None if the first record is data.
    names : list of str
        One name per column.

    Raises
    ------
    TableError
        If names are expected, and the first record is not a header, or a name occurs twice.
    """
    line, cells = first
    if header is False:
        return None, [str(i) for i in range(len(cells))]
    if layout.header is not None:
        return None, column_names(layout.header, layout.skip)
    if header is None:
        _check_header(cells, line, ())
    return cells, column_names(cells, line)


def _check_header(cells: Sequence[str], line: int, rows: Iterable[Sequence[str]]) -> None:
    """Refuse a first record that looks like data: the file may have no header."""
    found = _number_in(cells)
    if found is None:
        below = [row for row in rows if len(row) == len(cells) and row != cells]
        same = [i for i, cell in enumerate(cells) if cell and any(row[i] == cell for row in below)]
        if len(cells) > 1 and 2 * len(same) >= len(cells):
            found = cells[same[0]]
    if found is not None:
        raise TableError(
            f"row {line}: {found!r} is a cell, not the name of a column; if there is no header: "
            "--no-header (if it is one: --header)"
        )


def _number_in(cells: Sequence[str]) -> str | None:
    """The first number among cells, unless they are numbered: 0, 1, 2 or 2019, 2020."""
    texts = [cell.strip() for cell in cells]
    # A comma may be a decimal mark.
    numbers = [(as_number(text.replace(",", ".")), text) for text in texts]
    known = [(n, text) for n, text in numbers if n is not None and math.isfinite(n)]
    if not known:
        return None
    first = known[0][0]
    numbered = all(n == first + i for i, (n, _) in enumerate(known))
    numbered = numbered and (first == 0 or (len(known) > 1 and (first == 1 or first >= 1000)))
    return None if numbered else known[0][1]


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next((cells for _, cells in split_records([line], delimiter)), [])
    except TableError:
        return []


def _sample(lines: Sequence[str], layout: Layout) -> list[tuple[int, list[str]]]:
    records: list[tuple[int, list[str]]] = []
    with suppress(TableError):
        records.extend(islice(layout.records(lines), _SAMPLE_ROWS))
    return records


def split_records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    r"""Split delimited lines into records; blank lines are skipped but counted.

    Parameters
    ----------
    lines : iterable of str
        Lines with their ends.
    delimiter : str
        Delimiter of the cells; a space means any run of spaces and tabs.

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

    reader = _reader(counted(), delimiter, strict=True)
    try:
        for cells in reader:
            blank = not cells or (len(cells) == 1 and not cells[0].strip())
            if not blank:
                width = width or len(cells)
                if len(cells) != width:
                    hint = " (for runs of tabs: --separator space)" if delimiter == "\t" else ""
                    noun = "cell" if len(cells) == 1 else "cells"
                    raise TableError(
                        f"row {line}: {len(cells)} {noun}, but the first row has {width}{hint}"
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
        raise TableError(
            f"row {line}: the column name {twice!r} occurs twice (if there is no header: "
            "--no-header)"
        )
    return names


def _head(path: Path) -> list[str]:
    """The first lines of a file."""
    with open_text(path) as text:
        sample, complete = text.lines.head(_SAMPLE_CHARACTERS)
    lines = sample.splitlines(keepends=True)
    if not complete and len(lines) > 1:
        lines.pop()
    return lines


def sniff_delimiter(lines: Sequence[str]) -> str:
    r"""Detect the delimiter of the cells: comma, semicolon, tab, or a run of spaces and tabs.

    Parameters
    ----------
    lines : sequence of str
        The first lines.

    Returns
    -------
    str
        The delimiter that splits the first records into equal numbers of cells, the most possible;
        a space only if no other does.

    Examples
    --------
    >>> sniff_delimiter(["a;b;c\n", "1,5;2;x\n"]), sniff_delimiter(["1.5   no\n", "2.5 \t yes\n"])
    (';', ' ')
    """
    # csv.Sniffer guesses letters as delimiters on small files.
    found = {delimiter: _widths(lines, delimiter) for delimiter in (*_DELIMITERS, " ")}
    equal = {d: w[0] for d, w in found.items() if w and w[0] > 1 and len(set(w)) == 1}
    if len(equal) > 1:
        equal.pop(" ", None)
    if equal:
        return max(equal, key=lambda delimiter: equal[delimiter])
    return max(_DELIMITERS, key=lambda delimiter: (found[delimiter] or [0])[0])


def _widths(lines: Sequence[str], delimiter: str) -> list[int]:
    widths: list[int] = []
    try:
        for cells in _reader(lines, delimiter, strict=False):
            if len(widths) == _SAMPLE_RECORDS:
                break
            if cells:
                widths.append(len(cells))
    except csv.Error:
        pass
    return widths


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool) -> Any:
    if delimiter == " ":
        # The reader skips spaces before a cell, but not at the end of a line.
        lines = (line.strip().replace("\t", " ") + "\n" for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)
