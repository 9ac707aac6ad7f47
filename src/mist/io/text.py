"""Opening text files: UTF-8 with or without a byte order mark, whatever the line ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mist.io.compressed import open_bytes
from mist.io.source import Batch, TableError

__all__ = ["Text", "batch_records", "open_text"]


class Text(NamedTuple):
    """An open text file.

    Attributes
    ----------
    lines : TextIOWrapper
        The text, line ends left as they are.
    share : callable
        Returns how much of the file has been read, between 0 and 1.
    """

    lines: TextIOWrapper
    share: Callable[[], float]


@contextmanager
def open_text(path: Path) -> Iterator[Text]:
    """Open a text file, compressed or not, with its line ends left as they are.

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
        If the file turns out not to be UTF-8, or damaged, while it is read; the message names the
        line.
    """
    try:
        with open_bytes(path) as unpacked:
            lines = TextIOWrapper(unpacked.stream, encoding="utf-8-sig", newline="")
            yield Text(lines, unpacked.share)
    except UnicodeDecodeError as error:
        raise TableError(
            f"row {_first_bad_line(path)}: {path.name} is not UTF-8 text; convert it to UTF-8 first"
        ) from error


def _first_bad_line(path: Path) -> int:
    # The decoder works on blocks, so its own position says nothing about the line.
    with open_bytes(path) as unpacked:
        for number, line in enumerate(unpacked.stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    raise AssertionError(f"{path.name} can be decoded after all")


def batch_records(
    records: Iterator[tuple[int, list[str]]], size: int, share: Callable[[], float]
) -> Iterator[Batch]:
    """Gather records into batches, column by column.

    Parameters
    ----------
    records : iterator of (int, list of str)
        Line number and cells, the same number of cells in each.
    size : int
        Most records in a batch.
    share : callable
        Returns how much of the file has been read.

    Yields
    ------
    Batch
        Up to `size` records.
    """
    while group := list(islice(records, size)):
        lines, cells = zip(*group, strict=True)
        yield Batch(np.array(lines, dtype=np.int64), list(zip(*cells, strict=True)), share())
