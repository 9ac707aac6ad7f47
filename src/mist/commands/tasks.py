"""Class-incremental streams of the commands, and their description in the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import ClassIncrementalStream, StreamResult
from mist.evaluation.stream_record import ModelRecord, StreamRecord
from mist.report import Section

__all__ = ["make_stream", "task_section"]


def make_stream(X: NDArray[Any], y: NDArray[Any], seed: int) -> ClassIncrementalStream:
    """Make a stream with two classes per task, or one if there are fewer than four classes.

    With two classes per task, three classes would form a single task.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Rows.
    y : ndarray, shape (n,)
        Labels.
    seed : int
        Seed of the split and of the order of rows.

    Returns
    -------
    ClassIncrementalStream
        The stream.
    """
    per_task = 2 if len(np.unique(y)) >= 4 else 1
    return ClassIncrementalStream(X, y, classes_per_task=per_task, seed=seed)


def task_section(
    dataset: str,
    stream: ClassIncrementalStream,
    results: Sequence[StreamResult],
    counted: tuple[StreamRecord, Sequence[ModelRecord]],
    origin: str = "",
) -> Section:
    """Return the runs over a class-incremental stream as a section of the report.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    stream : ClassIncrementalStream
        The stream of the runs.
    results : sequence of StreamResult
        One per model.
    counted : tuple of StreamRecord and sequence of ModelRecord
        Counts of the stream and of each model.
    origin : str, default=""
        A sentence about the source of the data.

    Returns
    -------
    Section
        Has a border at the start of every task except the first.
    """
    held_out = sum(len(task.y_test) for task in stream)
    tasks = f"{len(stream)} task{'s' if len(stream) > 1 else ''}"
    return Section(
        dataset,
        f"{stream.n_rows:,} rows to learn and {held_out:,} held out, {stream.n_features} columns, "
        f"{len(stream.classes)} classes in {tasks}. {origin}".rstrip(),
        results,
        stream.boundaries[:-1],
        [f"task {number}" for number in range(2, len(stream) + 1)],
        *counted,
    )
