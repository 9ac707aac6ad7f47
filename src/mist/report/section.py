"""What one section of the report shows: the runs of all models over one data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.evaluation.stream_record import ModelRecord, StreamRecord

__all__ = ["Section"]


@dataclass(frozen=True)
class Section:
    """The runs of all models over one data set.

    Examples
    --------
    >>> section = Section("iris", "120 rows", (), np.array([40, 80]), ("task 2", "task 3"))
    >>> section.dataset
    'iris'
    """

    dataset: str
    """Name of the data set."""

    description: str
    """One sentence about its source and size."""

    results: Sequence[StreamResult]
    """One run per model, at least one, all over the same stream."""

    borders: NDArray[np.int64]
    """Rows at which a task or class begins, for the plots over the stream."""

    border_labels: Sequence[str]
    """One label for each border."""

    stream: StreamRecord | None = None
    """Classes and columns of the stream, if they were counted."""

    models: Sequence[ModelRecord] = ()
    """Counts of each model by class, in the order of `results`; empty if they were not counted."""

    @property
    def has_tasks(self) -> bool:
        """Whether the models were tested task by task."""
        return any(len(result.accuracy_matrix) for result in self.results)
