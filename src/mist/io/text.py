"""Opening text files: UTF-8, with or without a byte order mark, with any line ends."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from mist.io.bounds import MOST_AT_ONCE, MOST_CHARACTERS
from mist.io.compressed import open_bytes
from mist.io.source import RawRows, TableError

__all__ = ["Lines", "Text", "batch_records", "gathered", "open_text"]

_PART = 1 << 16


class Lines:
    r"""Lines of a text, with a count of characters and a limit on the length of a line.

    Parameters
    ----------
    stream : TextIOWrapper
        The text with unchanged line ends.

    Attributes
    ----------
    taken : int
        Characters of the lines so far.

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(TextIOWrapper(BytesIO(b"one\ntwo"), newline=""))
    >>> list(lines), lines.taken
    (['one\n', 'two'], 7)
    """

    def __init__(self, stream: TextIOWrapper) -> None:
        self._stream = stream
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        """Yield the lines from the current position on.

        Raises
        ------
        TableError
            If a line has more than `MOST_CHARACTERS`; no more of it is read.
        """
        read = partial(self._stream.readline, MOST_CHARACTERS + 1)
        for number, line in enumerate(iter(read, ""), start=1):
            if len(line) > MOST_CHARACTERS:
                raise TableError(
                    f"row {number}: the line is longer than {MOST_CHARACTERS:,} characters; is "
                    "this a table?"
                )
            self.taken += len(line)
            yield line

    def head(self, size: int) -> tuple[str, bool]:
        """Read the first characters; must be called before anything else is read.

        Parameters
        ----------
        size : int
            Number of characters.

        Returns
        -------
        text : str
            The characters.
        complete : bool
            Whether the text has no more characters.
        """
        return self._stream.read(size), not self._stream.read(1)

    def begins_with(self, character: str) -> bool:
        """Whether the first character that is not a space is this one; reads up to it."""
        part = self._stream.read(_PART)
        while part.isspace():
            part = self._stream.read(_PART)
        return part.lstrip().startswith(character)


class Text(NamedTuple):
    """An open text file.

    Attributes
    ----------
    lines : Lines
        The text with unchanged line ends.
    share : callable
        Returns how much of the file has been read, between 0 and 1.
    """

    lines: Lines
    share: Callable[[], float]


@contextmanager
def open_text(path: Path) -> Iterator[Text]:
    """Open a text file, compressed or not, with unchanged line ends.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    Text
        The open file.

    Raises
    ------
    TableError
        While reading, if the file is not UTF-8, is damaged or has too long a line; the message
        names the line.
    """
    try:
        with open_bytes(path) as unpacked:
            stream = TextIOWrapper(unpacked.stream, encoding="utf-8-sig", newline="")
            yield Text(Lines(stream), unpacked.share)
    except UnicodeDecodeError as error:
        raise TableError(
            f"row {_first_bad_line(path)}: {path.name} is not UTF-8 text; convert it to UTF-8 first"
        ) from error


def _first_bad_line(path: Path) -> int:
    # The decoder works on blocks, so its own position says nothing about the line.
    decoder, number = getincrementaldecoder("utf-8")(), 1
    with open_bytes(path) as unpacked:
        for part in iter(partial(unpacked.stream.readline, _PART), b""):
            try:
                decoder.decode(part)
            except UnicodeDecodeError:
                break
            number += part.endswith(b"\n")
    # A truncated character is in the last line.
    return number


_Item = TypeVar("_Item")


def gathered(items: Iterable[_Item], size: int, lines: Lines) -> Iterator[list[_Item]]:
    """Gather items that are made from lines into groups.

    Parameters
    ----------
    items : iterable
        Items made from the lines in order.
    size : int
        Most items in a group.
    lines : Lines
        A group also ends after more than `MOST_AT_ONCE` characters of lines.

    Yields
    ------
    list
        At least one item.
    """
    group: list[_Item] = []
    begin = lines.taken
    for item in items:
        group.append(item)
        if len(group) == size or lines.taken - begin > MOST_AT_ONCE:
            yield group
            group, begin = [], lines.taken
    if group:
        yield group


def batch_records(
    records: Iterable[tuple[int, list[str]]], size: int, text: Text
) -> Iterator[RawRows]:
    """Gather records into batches, column by column.

    Parameters
    ----------
    records : iterable of (int, list of str)
        Line number and cells, the same number of cells in each.
    size : int
        Most records in a batch.
    text : Text
        The file of the records.

    Yields
    ------
    Batch
        Up to `size` records.
    """
    for group in gathered(records, size, text.lines):
        lines, cells = zip(*group, strict=True)
        yield RawRows(np.array(lines, dtype=np.int64), list(zip(*cells, strict=True)), text.share())
