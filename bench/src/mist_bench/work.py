"""One run of the grid: data, stream, model, evaluation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets import Dataset, DriftStream, load
from mist.evaluation import (
    Checkpoint,
    ClassIncrementalStream,
    StreamResult,
    class_recall,
    iter_evaluate,
    warm_up,
    windowed_accuracy,
)
from mist.evaluation.metrics import window_length
from mist.variants import is_variant
from mist_bench.in_order import drift_measures, read_stream
from mist_bench.methods import METHODS, find_method, make
from mist_bench.record import MEASURES, Experiment, Record, Run, Task
from mist_bench.suites import SETTINGS

__all__ = ["attempt", "describe", "perform", "record_in_order"]

_EVALUATIONS = 10
"""Approximate number of tests on held-out rows per run; at least one per task."""

_LEARN_SECONDS = 2.0
"""Seconds spent on measuring the speed of learning alone."""

_POINTS = 200
"""Number of points kept of the prequential accuracy curve."""


def describe(run: Task) -> dict[str, Any]:
    """Return all settings that determine the figures of a run.

    Parameters
    ----------
    run : Run or Experiment
        The run.

    Returns
    -------
    dict
        Loading and stream options and the parameters of the model, ready for JSON; for an
        experiment its arguments.

    Examples
    --------
    >>> describe(Run("iris", "slda", 42, "paper"))["stream"]
    {'protocol': 'paper', 'classes_per_task': 1, 'scale': True}
    """
    if isinstance(run, Experiment):
        return dict(run.arguments)
    setting, method = SETTINGS[run.dataset], find_method(run.method)
    return {
        "data": {"name": setting.dataset, **setting.load_options(run.seed, run.protocol)},
        "stream": setting.stream_options(run.protocol, method),
        "model": method.parameters,
    }


def perform(run: Task) -> Record:
    """Do a run. An error in it becomes part of the record.

    Parameters
    ----------
    run : Run or Experiment
        What to run.

    Returns
    -------
    Record
        Its figures, or the error that ended it.

    Examples
    --------
    >>> record = perform(Run("iris", "ncm", 42, "honest"))
    >>> record.shape
    {'rows': 120, 'held_out': 30, 'columns': 4, 'classes': 3, 'tasks': 3}
    >>> record.failed, record.measures["final_accuracy"] > 0.7
    (False, True)
    """
    return attempt(
        run, lambda: _record(run) if isinstance(run, Run) else Record(run, result=run.call())
    )


def attempt(run: Task, work: Callable[[], Record]) -> Record:
    """Do the work of a run in one thread and measure its time.

    Parameters
    ----------
    run : Run or Experiment
        The run.
    work : callable
        Makes its record. An error in it becomes part of the record.

    Returns
    -------
    Record
        The record with the time, or the error that ended the work.

    Examples
    --------
    >>> run = Run("iris", "ncm", 42, "honest")
    >>> attempt(run, lambda: Record(run)).failed
    False
    >>> attempt(run, lambda: [][1]).error
    'IndexError: list index out of range'
    """
    from threadpoolctl import threadpool_limits

    start = perf_counter()
    try:
        # One thread per run: other runs use the other cores, and sums are reproducible.
        with threadpool_limits(limits=1):
            record = work()
    except Exception as error:
        message = " ".join(str(error).split())
        record = Record(run, error=f"{type(error).__name__}: {message}".rstrip(": "))
    return record.after(perf_counter() - start)


def _record(run: Run) -> Record:
    if SETTINGS[run.dataset].order == "natural":
        return _record_in_order(run)
    options = SETTINGS[run.dataset].stream_options(run.protocol, METHODS[run.method])
    dataset, stream = _stream(run.dataset, run.protocol, run.seed, tuple(options.items()))
    model = make(
        run.method,
        seed=run.seed,
        categorical_features=np.flatnonzero(dataset.categorical).tolist(),
    )
    steps = iter_evaluate(
        model,
        stream,
        chunk=max(20, stream.n_rows // 100),
        tests_per_task=max(1, _EVALUATIONS // len(stream)),
        # The learning speed of variants is not reported.
        learn_apart=0.0 if is_variant(run.method) else _LEARN_SECONDS,
    )
    growth: dict[str, list[float]] = defaultdict(list)
    while True:
        try:
            now = next(steps)
        except StopIteration as end:
            result = end.value
            break
        _note_growth(growth, now)
    return Record(
        run,
        measures=_measures(result),
        accuracy_matrix=result.to_dict()["accuracy_matrix"],
        boundaries=stream.boundaries.tolist(),
        curves={
            **_windowed_curve(result.correct),
            "evaluation_rows": result.evaluations.tolist(),
            "seen_accuracy": result.seen_accuracy.tolist(),
            **growth,
        },
        recall={
            str(label): _known(value)
            for label, value in zip(result.classes, result.recall[-1].tolist(), strict=True)
        },
        shape={
            "rows": stream.n_rows,
            "held_out": sum(len(task.y_test) for task in stream),
            "columns": stream.n_features,
            "classes": len(stream.classes),
            "tasks": len(stream),
        },
        settings=describe(run)["model"],
    )


def _record_in_order(run: Run) -> Record:
    """Predict and learn a stream in its own order; test at the end if there are held-out rows."""
    stream = read_stream(run.dataset, run.seed)
    n_rows, n_columns = stream.X.shape
    model = make(
        run.method,
        seed=run.seed,
        categorical_features=np.flatnonzero(stream.categorical).tolist(),
    )
    compile_seconds = warm_up(model, n_columns)
    predicted = np.empty(n_rows, dtype=np.int64)
    growth: dict[str, list[float]] = defaultdict(list)
    seconds, chunk = 0.0, max(20, n_rows // 100)
    for start in range(0, n_rows, chunk):
        part = slice(start, min(start + chunk, n_rows))
        begin = perf_counter()
        predicted[part] = model.prequential(stream.X[part], stream.y[part])
        seconds += perf_counter() - begin
        _note_growth(growth, Checkpoint(part.stop, n_rows, 0, model))
    return record_in_order(
        run,
        stream,
        predicted,
        None if stream.X_test is None else model.predict(stream.X_test),
        figures={
            "rows_per_second": n_rows / seconds if seconds > 0 else math.nan,
            "compile_seconds": compile_seconds,
            "nbytes": float(getattr(model, "nbytes", 0)) or math.nan,
            **{name: values[-1] for name, values in growth.items() if name in MEASURES},
        },
        growth=growth,
        settings=describe(run)["model"],
    )


def record_in_order(
    run: Run,
    stream: DriftStream,
    predicted: NDArray[np.int64],
    tested: NDArray[np.int64] | None,
    *,
    figures: Mapping[str, float],
    growth: Mapping[str, Sequence[float]],
    settings: Mapping[str, Any],
) -> Record:
    """Make the record of a run on a stream in its own order.

    Parameters
    ----------
    run : Run
        The run.
    stream : DriftStream
        Its stream, with n rows and m held-out rows; labels are 0 or more.
    predicted : ndarray of int64, shape (n,)
        Label predicted for each row before it was learnt. The first counts as wrong, because
        nothing was known before it.
    tested : ndarray of int64, shape (m,), or None
        Labels predicted for the held-out rows at the end; None without such rows.
    figures : mapping of str to float
        Further figures by keys of `mist_bench.MEASURES`; NaN if unknown.
    growth : mapping of str to sequence of float
        Further curves, as in `Record.curves`.
    settings : mapping of str to object
        Parameters of the model.

    Returns
    -------
    Record
        With the measures of `drift_measures` and the recall of each class on held-out rows.

    Examples
    --------
    >>> from mist.datasets import make_sea
    >>> run, stream = Run("sea", "no-change", 1, "honest"), make_sea(1000, seed=1)
    >>> record = record_in_order(
    ...     run, stream, stream.y, None, figures={}, growth={}, settings={}
    ... )
    >>> record.measures["prequential_accuracy"], record.boundaries
    (0.999, [250, 500, 750, 1000])
    """
    predicted = np.append(-1, predicted[1:])
    recall: dict[str, float | None] = {}
    if tested is not None and stream.y_test is not None:
        labels, shares = class_recall(stream.y_test, tested)
        recall = dict(zip(map(str, labels.tolist()), shares.tolist(), strict=True))
    found: dict[str, float] = {
        **drift_measures(stream, predicted),
        "mean_class_recall": float(np.mean(list(recall.values()))) if recall else math.nan,
        **figures,
    }
    n_rows, n_columns = stream.X.shape
    return Record(
        run,
        measures={name: _known(found.get(name, math.nan)) for name in MEASURES},
        boundaries=[*stream.drifts.tolist(), n_rows],
        curves={**_windowed_curve(predicted == stream.y), **growth},
        recall=recall,
        shape={
            "rows": n_rows,
            "held_out": 0 if stream.y_test is None else len(stream.y_test),
            "columns": n_columns,
            "classes": len(np.unique(stream.y)),
            "drifts": len(stream.drifts),
        },
        settings=settings,
    )


def _windowed_curve(correct: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Points of the curve of prequential accuracy."""
    n_rows = len(correct)
    ends = np.unique(np.linspace(1, n_rows, min(n_rows, _POINTS)).astype(np.int64))
    windowed = windowed_accuracy(correct, window_length(n_rows))[ends - 1]
    return {"rows": ends.tolist(), "windowed_accuracy": windowed.round(6).tolist()}


def _note_growth(growth: dict[str, list[float]], now: Checkpoint) -> None:
    """Add the size and impurity of the tree after a chunk of rows, if the model reports them."""
    if getattr(now.model, "n_leaves_", 0) > 0 and hasattr(now.model, "leaf_impurity_"):
        growth["growth_rows"].append(now.rows)
        growth["leaves"].append(now.model.n_leaves_)
        growth["splits"].append(now.model.n_splits_)
        growth["leaf_impurity"].append(round(now.model.leaf_impurity_, 6))
        growth["classes_per_leaf"].append(round(now.model.classes_per_leaf_, 4))


@lru_cache(maxsize=2)
def _stream(
    name: str, protocol: str, seed: int, options: tuple[tuple[str, Any], ...]
) -> tuple[Dataset, ClassIncrementalStream]:
    """The stream of a run, cached for the next methods on it."""
    setting = SETTINGS[name]
    dataset = load(setting.dataset, **setting.load_options(seed, protocol))
    return dataset, ClassIncrementalStream(dataset.X, dataset.y, seed=seed, **dict(options))


def _measures(result: StreamResult) -> dict[str, float | None]:
    has_leaves = result.n_leaves[-1] > 0
    tree: dict[str, NDArray[Any]] = {
        "leaves": result.n_leaves,
        "splits": result.n_splits,
        "depth": result.depth,
        "leaf_impurity": result.leaf_impurity,
        "classes_per_leaf": result.classes_per_leaf,
    }
    plain = (
        *("final_accuracy", "mean_class_recall", "average_forgetting", "backward_transfer"),
        *("anytime_accuracy", "prequential_accuracy", "rows_per_second"),
        *("learn_rows_per_second", "predict_rows_per_second", "compile_seconds"),
    )
    return {
        **dict.fromkeys(MEASURES),
        **{name: _known(getattr(result, name)) for name in plain},
        **{
            name: _known(float(values[-1])) if has_leaves else None for name, values in tree.items()
        },
        "nbytes": _known(float(result.nbytes)) if result.nbytes else None,
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
