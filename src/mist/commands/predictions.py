"""The file of predictions: one line a row, one column a model."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

__all__ = ["Predictions", "open_predictions"]


class Predictions:
    """Writes lines of the file of predictions, or nothing when there is no file.

    Parameters
    ----------
    handle : TextIOWrapper or None
        The open file.
    """

    def __init__(self, handle: TextIOWrapper | None) -> None:
        self._handle = handle
        self._writer = None if handle is None else csv.writer(handle)

    def write(
        self, rows: Sequence[Any], labels: Sequence[Any], predictions: Sequence[Sequence[Any]]
    ) -> None:
        """Write one line for each of the rows; `predictions` has one sequence a model."""
        if self._writer is not None:
            self._writer.writerows(zip(rows, labels, *predictions, strict=True))

    def flush(self) -> None:
        """Let others see what was written."""
        if self._handle is not None:
            self._handle.flush()

    def length(self) -> int:
        """Bytes of the file, all of them on the disk."""
        if self._handle is None:
            return 0
        self._handle.flush()
        os.fsync(self._handle.fileno())
        return os.fstat(self._handle.fileno()).st_size


@contextmanager
def open_predictions(
    path: Path | None, models: Sequence[str], kept: int | None = None
) -> Iterator[Predictions]:
    """Open the file of predictions, or nothing when there is no path.

    Its columns are ``row`` (the number error messages use: the line of a text file, else counted
    from 1), ``label`` and one a model. The cell of a row that came before anything was learnt is
    empty.

    Parameters
    ----------
    path : Path or None
        The file.
    models : sequence of str
        Headings of the columns of predictions.
    kept : int or None, default=None
        Bytes of the file that an earlier run has left and that stay; None to begin a new one.

    Yields
    ------
    Predictions
        It does nothing when there is no path.

    Raises
    ------
    ValueError
        If the file is shorter than what was left.
    """
    if path is None:
        yield Predictions(None)
        return
    if kept is None:
        with path.open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerow(["row", "label", *models])
            yield Predictions(handle)
        return
    if not path.is_file() or path.stat().st_size < kept:
        raise ValueError(
            f"{path} does not hold the {kept:,} bytes of predictions that go with the checkpoint; "
            "delete the checkpoint to begin anew"
        )
    # Lines behind the checkpoint are of rows that come again.
    os.truncate(path, kept)
    with path.open("a", newline="", encoding="utf-8") as handle:
        yield Predictions(handle)
