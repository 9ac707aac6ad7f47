"""Records for the report, from what a run has counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.commands.class_history import Classes, Mistakes
from mist.commands.column_history import Columns
from mist.commands.history import Cost
from mist.evaluation.stream_record import Baseline, ModelRecord, StreamRecord

__all__ = ["count_rows", "model_record", "stream_record"]

_STEP = 1000


def stream_record(classes: Classes, columns: Columns, names: Sequence[str]) -> StreamRecord:
    """Return the record of a stream.

    Parameters
    ----------
    classes : Classes
        Counts of its classes.
    columns : Columns
        Sums of its columns.
    names : sequence of str
        Names of the columns, in the order of ``columns``.

    Returns
    -------
    StreamRecord
    """
    separation, furthest = columns.separation()
    shares = classes.accuracies()
    return StreamRecord(
        labels=tuple(classes.first_rows),
        first_rows=np.array(list(classes.first_rows.values()), dtype=np.int64),
        rows=classes.rows,
        rows_by_time=classes.by_time.table(len(classes.rows)),
        rows_per_bin=classes.by_time.width,
        baselines=tuple(
            Baseline(title, answers.shares(), answers.rows_each, share)
            for title, answers, share in (
                ("majority class so far", classes.majority, shares[0]),
                ("no change", classes.no_change, shares[1]),
            )
        ),
        columns=tuple(names) if len(separation) else (),
        separation=separation,
        furthest=furthest,
    )


def model_record(mistakes: Mistakes, cost: Cost, n_classes: int) -> ModelRecord:
    """Return the record of a model.

    Parameters
    ----------
    mistakes : Mistakes
        Its hits and confusions.
    cost : Cost
        Its memory and time.
    n_classes : int
        Classes of the stream.

    Returns
    -------
    ModelRecord
    """
    confused, confused_with, confused_rows = mistakes.confusions()
    rows, nbytes, microseconds = cost.points()
    return ModelRecord(
        hits=mistakes.hits(n_classes),
        hits_by_time=mistakes.by_time.table(n_classes),
        confused=confused,
        confused_with=confused_with,
        confused_rows=confused_rows,
        forgotten_pairs=mistakes.forgotten,
        cost_rows=rows,
        nbytes=nbytes,
        microseconds=microseconds,
    )


def count_rows(
    X: NDArray[np.float64],
    y: NDArray[Any],
    names: Sequence[str],
    answers: Sequence[tuple[Sequence[Any], Cost]],
) -> tuple[StreamRecord, list[ModelRecord]]:
    """Return the records of a stream that is in memory, and of models that have learnt it.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        Rows in order of the stream.
    y : ndarray, shape (n,)
        Their labels.
    names : sequence of str
        Names of the columns.
    answers : sequence of (sequence, Cost)
        For each model, its n predictions (the first one is ignored), and its cost.

    Returns
    -------
    stream : StreamRecord
    models : list of ModelRecord

    Examples
    --------
    >>> cost = Cost()
    >>> cost.add(3, 100, 0.5)
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array(["a", "a", "b"])
    >>> stream, (model,) = count_rows(X, y, ["size"], [(["a", "a", "a"], cost)])
    >>> stream.labels, model.hits.tolist(), model.confused_rows.tolist()
    (('a', 'b'), [1, 0], [1])
    """
    classes, columns = Classes(), Columns()
    mistakes = [Mistakes() for _ in answers]
    for begin in range(0, len(y), _STEP):
        part = slice(begin, begin + _STEP)
        codes = classes.add(y[part].tolist())
        columns.add(X[part], codes)
        for each, (predictions, _) in zip(mistakes, answers, strict=True):
            predicted = classes.codes_of(predictions[part])
            if begin == 0:
                predicted[0] = -1
            each.add(codes, predicted)
    return stream_record(classes, columns, names), [
        model_record(each, cost, len(classes.rows))
        for each, (_, cost) in zip(mistakes, answers, strict=True)
    ]
