"""Records for the report, from what a run has counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation.stream_record import Baseline, ModelRecord, StreamRecord
from mist.streaming.runs.class_history import Classes, Mistakes
from mist.streaming.runs.column_history import Columns
from mist.streaming.runs.counts import Counts
from mist.streaming.runs.history import Cost
from mist.streaming.runs.sureness import Sureness

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


def model_record(mistakes: Mistakes, sureness: Sureness, cost: Cost, n_classes: int) -> ModelRecord:
    """Return the record of a model.

    Parameters
    ----------
    mistakes : Mistakes
        Its hits and confusions.
    sureness : Sureness
        How sure it was.
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
        reliability=sureness.reliability(),
        unsure=tuple(sureness.unsure()),
        novel=tuple(sureness.novel()),
    )


def count_rows(
    X: NDArray[np.float64],
    y: NDArray[Any],
    names: Sequence[str],
    places: Sequence[Any],
    answers: Sequence[tuple[Sequence[Any], Sequence[float], Cost]],
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
    places : sequence of n
        Origins of the rows.
    answers : sequence of (sequence, sequence, Cost)
        For each model, its n predictions (the first one is ignored), the probability of each one,
        and its cost.

    Returns
    -------
    stream : StreamRecord
    models : list of ModelRecord

    Examples
    --------
    >>> cost = Cost()
    >>> cost.add(3, 100, 0.5)
    >>> X, y = np.array([[0.0], [1.0], [9.0]]), np.array(["a", "a", "b"])
    >>> model = ["a", "a", "a"], [math.nan, 1.0, 1.0], cost
    >>> stream, (model,) = count_rows(X, y, ["size"], range(3), [model])
    >>> stream.labels, model.hits.tolist(), model.confused_rows.tolist()
    (('a', 'b'), [1, 0], [1])
    """
    models = list(map(str, range(len(answers))))
    counts = Counts(models)
    predicted = [["", *predictions[1:]] for predictions, _, _ in answers]
    chances = [np.array([math.nan, *given[1:]]) for _, given, _ in answers]
    for begin in range(0, len(y), _STEP):
        part = slice(begin, begin + _STEP)
        counts.add(
            X[part],
            names,
            places[part],
            y[part].tolist(),
            [each[part] for each in predicted],
            [each[part] for each in chances],
        )
    return stream_record(counts.classes, counts.columns, names), [
        model_record(counts.mistakes[name], counts.sureness[name], cost, len(counts.classes.rows))
        for name, (_, _, cost) in zip(models, answers, strict=True)
    ]
