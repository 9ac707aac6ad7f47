"""The file of predictions: one line a row, one column a model."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["WritePredictions", "open_predictions"]


class WritePredictions(Protocol):
    """Writes some lines of the file of predictions."""

    def __call__(
        self, rows: NDArray[Any], labels: NDArray[Any], predictions: Sequence[Sequence[Any]]
    ) -> None:
        """Write one line for each of the rows; `predictions` has one sequence a model."""


@contextmanager
def open_predictions(path: Path | None, models: Sequence[str]) -> Iterator[WritePredictions]:
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

    Yields
    ------
    WritePredictions
        A function that writes lines; it does nothing when there is no path.
    """
    if path is None:
        yield lambda rows, labels, predictions: None
        return
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["row", "label", *models])

        def write(
            rows: NDArray[Any], labels: NDArray[Any], predictions: Sequence[Sequence[Any]]
        ) -> None:
            writer.writerows(zip(rows.tolist(), labels.tolist(), *predictions, strict=True))

        yield write
