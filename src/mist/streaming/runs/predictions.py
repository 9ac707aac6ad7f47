"""File of predictions: one line per row, one column per model."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from mist.streaming.runs.appended import Appended, open_appended

__all__ = ["Predictions", "open_predictions"]


class Predictions(Appended):
    """Writer of the file of predictions; does nothing without a file.

    Parameters
    ----------
    handle : TextIOWrapper or None
        The open file.
    path : Path
        Its name, for error messages.
    """

    def __init__(self, handle: TextIOWrapper | None, path: Path = Path()) -> None:
        super().__init__(handle, path)
        self._writer = None if handle is None else csv.writer(handle)

    def write(
        self,
        rows: Sequence[Any],
        labels: Sequence[Any],
        predictions: Sequence[Sequence[Any]],
        ids: Sequence[str] | None = None,
    ) -> None:
        """Write one line per row; `predictions` has one sequence per model."""
        if self._writer is not None:
            named = (labels,) if ids is None else (ids, labels)
            with self._writing():
                self._writer.writerows(zip(rows, *named, *predictions, strict=True))


@contextmanager
def open_predictions(
    path: Path | None, models: Sequence[str], kept: int | None = None, *, ids: bool = False
) -> Iterator[Predictions]:
    """Open the file of predictions.

    Its columns are ``row`` (the number in error messages: the line of a text file, else counted
    from 1), ``id`` if rows have one, ``label`` and one per model. A cell is empty if nothing was
    learnt before the row.

    Parameters
    ----------
    path : Path or None
        The file; None writes nothing.
    models : sequence of str
        Headings of the columns of predictions.
    kept : int or None, default=None
        Bytes of an earlier run to keep; None starts a new file.
    ids : bool, default=False
        Whether rows have an id.

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
    with open_appended(path, "predictions", kept) as handle:
        if kept is None:
            csv.writer(handle).writerow(["row", *(["id"] if ids else []), "label", *models])
        yield Predictions(handle, path)
