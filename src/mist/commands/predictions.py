"""File of predictions: one line per row, one column per model."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from mist.files import naming

__all__ = ["Predictions", "open_predictions"]


_KEPT = "a checkpoint, if there is one, is unchanged, and the same command continues from there"


class Predictions:
    """Writer of the file of predictions; does nothing without a file.

    Parameters
    ----------
    handle : TextIOWrapper or None
        The open file.
    path : Path
        Its name, for error messages.
    """

    def __init__(self, handle: TextIOWrapper | None, path: Path = Path()) -> None:
        self._handle = handle
        self._path = path
        self._writer = None if handle is None else csv.writer(handle)

    def write(
        self, rows: Sequence[Any], labels: Sequence[Any], predictions: Sequence[Sequence[Any]]
    ) -> None:
        """Write one line per row; `predictions` has one sequence per model."""
        if self._writer is not None:
            with naming(self._path, _KEPT):
                self._writer.writerows(zip(rows, labels, *predictions, strict=True))

    def flush(self) -> None:
        """Flush the file, so that other processes see what was written."""
        if self._handle is not None:
            with naming(self._path, _KEPT):
                self._handle.flush()

    def length(self) -> int:
        """Return the size of the file in bytes, after syncing it to disk."""
        if self._handle is None:
            return 0
        with naming(self._path, _KEPT):
            self._handle.flush()
            os.fsync(self._handle.fileno())
        return os.fstat(self._handle.fileno()).st_size


@contextmanager
def open_predictions(
    path: Path | None, models: Sequence[str], kept: int | None = None
) -> Iterator[Predictions]:
    """Open the file of predictions.

    Its columns are ``row`` (the number in error messages: the line of a text file, else counted
    from 1), ``label`` and one per model. A cell is empty if nothing was learnt before the row.

    Parameters
    ----------
    path : Path or None
        The file; None writes nothing.
    models : sequence of str
        Headings of the columns of predictions.
    kept : int or None, default=None
        Bytes of an earlier run to keep; None starts a new file.

    Yields
    ------
    Predictions
        The writer.

    Raises
    ------
    ValueError
        If the file is shorter than ``kept``.
    """
    if path is None:
        yield Predictions(None)
        return
    if kept is None:
        with _open(path, "w") as handle:
            csv.writer(handle).writerow(["row", "label", *models])
            yield Predictions(handle, path)
        return
    if not path.is_file() or path.stat().st_size < kept:
        raise ValueError(
            f"{path} does not have the {kept:,} bytes of predictions that go with the checkpoint; "
            "delete the checkpoint to start again"
        )
    # Rows after the checkpoint are predicted again.
    os.truncate(path, kept)
    with _open(path, "a") as handle:
        yield Predictions(handle, path)


@contextmanager
def _open(path: Path, mode: str) -> Iterator[TextIOWrapper]:
    handle: TextIOWrapper = path.open(mode, newline="", encoding="utf-8")  # type: ignore[assignment]
    try:
        yield handle
    finally:
        with naming(path, _KEPT):
            handle.close()
