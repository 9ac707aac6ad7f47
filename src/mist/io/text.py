"""Opening text files: UTF-8 with or without a byte order mark, whatever the line ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np

from mist.io.source import Batch, TableError

__all__ = ["batch_records", "open_text"]


@contextmanager
def open_text(path: Path) -> Iterator[TextIOWrapper]:
    """Open a text file with its line ends left as they are.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    TextIOWrapper
        The open file.

    Raises
    ------
    TableError
        If the file turns out not to be UTF-8 while it is read; the message names the line.
    """
    with path.open(encoding="utf-8-sig", newline="") as handle:
        try:
            yield handle
        except UnicodeDecodeError as error:
            line = _first_bad_line(path)
            raise TableError(
                f"row {line}: {path.name} is not UTF-8 text; convert it to UTF-8 first"
            ) from error


def _first_bad_line(path: Path) -> int:
    # The decoder works on blocks, so its own position says nothing about the line.
    with path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    raise AssertionError(f"{path.name} can be decoded after all")


def batch_records(
    records: Iterator[tuple[int, list[str]]], size: int, handle: TextIOWrapper, path: Path
) -> Iterator[Batch]:
    """Gather records into batches, column by column.

    Parameters
    ----------
    records : iterator of (int, list of str)
        Line number and cells, the same number of cells in each.
    size : int
        Most records in a batch.
    handle : TextIOWrapper
        The open file the records come from, for the share read so far.
    path : Path
        The same file.

    Yields
    ------
    Batch
        Up to `size` records.
    """
    total = path.stat().st_size
    position = cast(BufferedReader, handle.buffer)
    while group := list(islice(records, size)):
        lines, cells = zip(*group, strict=True)
        yield Batch(
            np.array(lines, dtype=np.int64),
            list(zip(*cells, strict=True)),
            min(1.0, position.tell() / total),
        )
