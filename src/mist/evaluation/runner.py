"""Run a streaming classifier over a class-incremental stream."""

from collections.abc import Callable, Generator
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import metrics
from mist.evaluation.changes import changes_after
from mist.evaluation.protocol import ClassIncrementalStream
from mist.evaluation.results import StreamResult
from mist.evaluation.warmup import warm_up

Progress = Callable[[int, int, int, Any], None]
"""Called as ``progress(rows_done, rows_total, hits_so_far, model)``."""


@dataclass(frozen=True)
class Checkpoint:
    """Progress of a run after a chunk of rows.

    Examples
    --------
    >>> Checkpoint(rows=50, n_rows=100, hits=40, model=None).rows
    50
    """

    rows: int
    """Training rows learnt so far."""

    n_rows: int
    """Rows of the training stream."""

    hits: int
    """Rows predicted right before they were learnt, so far."""

    model: Any
    """The model in its current state."""


def evaluate(
    model: Any,
    stream: ClassIncrementalStream,
    *,
    model_name: str | None = None,
    dataset: str = "",
    chunk: int = 1000,
    tests_per_task: int = 1,
    learn_apart: float = 0.0,
    progress: Progress | None = None,
) -> StreamResult:
    """Evaluate a model on a stream: test-then-train on every row, and a test after every task.

    Each row is predicted before it is learnt. After each task the model is tested on the held-out
    rows of every task so far. The model does not see the task borders. It is trained in place.

    Parameters
    ----------
    model : object
        A classifier with ``predict(X)`` and either ``prequential(X, y)`` (predict each row, then
        learn it; returns the predictions) or ``partial_fit(X, y)``, which is called row by row. A
        model that refuses its first row without a list of all classes, as in scikit-learn, gets
        those of the stream; other models do not. ``n_leaves_``, ``n_splits_``, ``depth_``,
        ``leaf_impurity_``, ``classes_per_leaf_``, ``nbytes`` and ``changes_`` are read if they
        exist.
    stream : ClassIncrementalStream
        Tasks in order.
    model_name : str, optional
        Name in the result; default is the type of the model.
    dataset : str, default=""
        Name of the data set in the result.
    chunk : int, default=1000
        Most rows between two checkpoints. It only changes how often leaves are counted and
        `progress` is called, not the rows of the model.
    tests_per_task : int, default=1
        Number of tests on held-out rows, in equal steps, while the model learns a task; the last is
        after the task. There is at most one test at a row: a short task has fewer tests.
    learn_apart : float, default=0.0
        If above 0, the speed of learning without prediction is measured: a copy of the model, made
        before the run, learns the stream in calls of `chunk` rows. It stops after the chunk in
        which this many seconds have passed.
    progress : callable, optional
        Called after each chunk as ``progress(rows_done, rows_total, hits_so_far, model)``.

    Returns
    -------
    StreamResult
        All measures of the run.

    Raises
    ------
    ValueError
        If `chunk` or `tests_per_task` is below 1, or the model does not predict one label per row.
    TypeError
        If the model has no ``predict``, or neither ``prequential`` nor ``partial_fit``.

    See Also
    --------
    iter_evaluate : The same as a generator.

    Notes
    -----
    The first row counts as wrong unless the model was trained before, that is, has the attribute
    ``classes_``. Times are wall-clock times. A compiled model is compiled before timing starts, see
    `warm_up`.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> result = evaluate(MistClassifier(), stream, dataset=iris.name)
    >>> result.final_accuracy > 0.9, result.n_leaves
    (True, array([1, 1, 1]))
    """
    steps = iter_evaluate(
        model,
        stream,
        model_name=model_name,
        dataset=dataset,
        chunk=chunk,
        tests_per_task=tests_per_task,
        learn_apart=learn_apart,
    )
    while True:
        try:
            now = next(steps)
        except StopIteration as end:
            return end.value
        if progress is not None:
            progress(now.rows, now.n_rows, now.hits, now.model)


def iter_evaluate(
    model: Any,
    stream: ClassIncrementalStream,
    *,
    model_name: str | None = None,
    dataset: str = "",
    chunk: int = 1000,
    tests_per_task: int = 1,
    learn_apart: float = 0.0,
) -> Generator[Checkpoint, None, StreamResult]:
    """Evaluate a model step by step; the caller may inspect the model or stop at each step.

    Parameters
    ----------
    model, stream, model_name, dataset, chunk, tests_per_task, learn_apart
        As for `evaluate`.

    Yields
    ------
    Checkpoint
        After each chunk of rows.

    Returns
    -------
    StreamResult
        The value of the ``StopIteration`` that ends the steps.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`, at the first step.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, iter_evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> [step.rows for step in iter_evaluate(MistClassifier(), stream, chunk=25)]
    [25, 40, 65, 80, 105, 120]
    """
    for option, value in (("chunk", chunk), ("tests_per_task", tests_per_task)):
        if value < 1:
            raise ValueError(f"{option}={value} must be at least 1")
    if not hasattr(model, "prequential") and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has neither prequential nor partial_fit: "
            "it cannot learn from a stream, give a streaming classifier"
        )
    if not hasattr(model, "predict"):
        raise TypeError(f"{type(model).__name__} has no predict: it cannot be tested")
    apart = deepcopy(model) if learn_apart > 0 else None
    tables = [stream.X_train, *(task.X_test for task in stream)]
    missing = any(bool(np.isnan(X).any()) for X in tables)
    compile_seconds = warm_up(model, stream.n_features, missing=missing)
    fresh = not hasattr(model, "classes_")
    before = getattr(model, "n_rows_", 0)
    tests = _HeldOutTests(stream)
    correct = np.zeros(stream.n_rows, dtype=bool)
    grown: list[_Tree] = []
    checkpoints, leaves_curve = [], []
    done, hits, seconds = 0, 0, 0.0

    for step, end in enumerate(stream.boundaries.tolist()):
        for stop in _steps(done, end, tests_per_task):
            for start in range(done, stop, chunk):
                part = slice(start, min(start + chunk, stop))
                X, y = stream.X_train[part], stream.y_train[part]
                begin = perf_counter()
                answer = _test_then_train(model, X, y, stream.classes, fresh and start == 0)
                seconds += perf_counter() - begin
                correct[part] = _one_a_row(answer, len(y), model) == y
                if fresh:
                    correct[0] = False
                done = part.stop
                hits += int(correct[part].sum())
                checkpoints.append(done)
                leaves_curve.append(getattr(model, "n_leaves_", 0))
                yield Checkpoint(done, stream.n_rows, hits, model)
            tests.add(model, step, done)
        grown.append(_Tree.of(model))

    return StreamResult(
        model=type(model).__name__ if model_name is None else model_name,
        dataset=dataset,
        seed=stream.seed,
        **tests.results(),
        prequential_accuracy=metrics.prequential_accuracy(correct),
        correct=correct,
        boundaries=stream.boundaries,
        n_leaves=np.array([tree.leaves for tree in grown]),
        n_splits=np.array([tree.splits for tree in grown]),
        depth=np.array([tree.depth for tree in grown]),
        leaf_impurity=np.array([tree.impurity for tree in grown]),
        classes_per_leaf=np.array([tree.classes for tree in grown]),
        checkpoints=np.array(checkpoints),
        leaves_curve=np.array(leaves_curve),
        nbytes=int(getattr(model, "nbytes", 0)),
        seconds=seconds,
        rows_per_second=_rate(stream.n_rows, seconds),
        learn_rows_per_second=(
            np.nan if apart is None else _learning_rate(apart, stream, chunk, learn_apart)
        ),
        compile_seconds=compile_seconds,
        changes=tuple(
            change._replace(row=change.row - before) for change in changes_after(model, before)
        ),
    )


def _steps(start: int, end: int, count: int) -> list[int]:
    """Return the ends of equal steps from start to end, without steps of no row."""
    arrivals = {start + (end - start) * step // count for step in range(1, count + 1)}
    return sorted(arrivals - {start})


@dataclass(frozen=True)
class _Tree:
    """Size of a model after a task; zeros and NaN for a model without leaves."""

    leaves: int
    splits: int
    depth: int
    impurity: float
    classes: float

    @classmethod
    def of(cls, model: Any) -> "_Tree":
        return cls(
            getattr(model, "n_leaves_", 0),
            getattr(model, "n_splits_", 0),
            getattr(model, "depth_", 0),
            getattr(model, "leaf_impurity_", np.nan),
            getattr(model, "classes_per_leaf_", np.nan),
        )


class _HeldOutTests:
    """Tests on held-out rows over a stream, and their results."""

    def __init__(self, stream: ClassIncrementalStream) -> None:
        self._stream = stream
        self._tasks = list(stream)
        # Every class has training rows, so these are the classes of the stream in label order.
        classes, self._arrivals = np.unique(stream.y_train, return_index=True)
        self._held_out = [np.searchsorted(classes, task.y_test) for task in self._tasks]
        self._rows = np.bincount(np.concatenate(self._held_out), minlength=len(classes))
        self._matrix = np.full((len(stream), len(stream)), np.nan)
        self._evaluations: list[int] = []
        self._recall: list[NDArray[np.float64]] = []
        self._seconds, self._asked = 0.0, 0

    def add(self, model: Any, step: int, learnt: int) -> None:
        """Test on the tasks so far, and on later tasks with a class that has already arrived.

        The row of the matrix for a task keeps the last test made while the task is learnt.
        """
        seen = self._arrivals < learnt
        hits = np.zeros(len(self._rows))
        for number, (task, codes) in enumerate(zip(self._tasks, self._held_out, strict=True)):
            if not len(codes) or (number > step and not seen[codes].any()):
                continue
            X = self._stream.prepare(task.X_test, learnt)
            begin = perf_counter()
            answer = model.predict(X)
            self._seconds += perf_counter() - begin
            self._asked += len(codes)
            right = _one_a_row(answer, len(codes), model) == task.y_test
            hits += np.bincount(codes[right], minlength=len(hits))
            if number <= step:
                self._matrix[step, number] = right.mean()
        tested = seen & (self._rows > 0)
        self._evaluations.append(learnt)
        self._recall.append(np.where(tested, hits / np.maximum(self._rows, 1), np.nan))

    def results(self) -> dict[str, Any]:
        recall = np.array(self._recall)
        seen_accuracy = metrics.seen_accuracy(recall, self._rows)
        return {
            "accuracy_matrix": self._matrix,
            "final_accuracy": metrics.final_accuracy(self._matrix),
            "mean_class_recall": float(np.nanmean(recall[-1])),
            "average_forgetting": metrics.average_forgetting(self._matrix),
            "backward_transfer": metrics.backward_transfer(self._matrix),
            "classes": self._stream.classes,
            "evaluations": np.array(self._evaluations),
            "recall": recall,
            "seen_accuracy": seen_accuracy,
            "anytime_accuracy": metrics.anytime_accuracy(seen_accuracy),
            "predict_rows_per_second": _rate(self._asked, self._seconds),
        }


def _test_then_train(
    model: Any, X: NDArray[np.float64], y: NDArray[Any], classes: tuple[Any, ...], first: bool
) -> NDArray[Any]:
    """Predict, then learn each row; the prediction for the first row of a new model may be None."""
    if hasattr(model, "prequential"):
        return model.prequential(X, y)
    answer = np.full(len(y), None, dtype=object)
    for row in range(len(y)):
        x, label = X[row : row + 1], y[row : row + 1]
        if first and row == 0:
            _learn_first(model, x, label, classes)
        else:
            answer[row] = _one_a_row(model.predict(x), 1, model)[0]
            model.partial_fit(x, label)
    return answer


def _learn_first(
    model: Any, X: NDArray[np.float64], y: NDArray[Any], classes: tuple[Any, ...]
) -> None:
    """Learn the first rows, with a list of all classes only if the model requires it."""
    try:
        model.partial_fit(X, y)
    except ValueError as error:
        if "classes" not in str(error):
            raise
        model.partial_fit(X, y, classes=np.asarray(classes))


def _learning_rate(model: Any, stream: ClassIncrementalStream, chunk: int, limit: float) -> float:
    """Return rows per second of learning alone, chunk by chunk until the time limit."""
    if not hasattr(model, "partial_fit"):
        return float("nan")
    seconds, done = 0.0, 0
    for start in range(0, stream.n_rows, chunk):
        X, y = stream.X_train[start : start + chunk], stream.y_train[start : start + chunk]
        begin = perf_counter()
        if start == 0:
            _learn_first(model, X, y, stream.classes)
        else:
            model.partial_fit(X, y)
        seconds += perf_counter() - begin
        done += len(y)
        if seconds > limit:
            break
    return _rate(done, seconds)


def _rate(rows: int, seconds: float) -> float:
    """Return rows per second; NaN if the clock is too coarse."""
    return rows / seconds if seconds > 0 else float("nan")


def _one_a_row(answer: Any, rows: int, model: Any) -> NDArray[Any]:
    labels = np.asarray(answer)
    if labels.shape != (rows,):
        raise ValueError(
            f"{type(model).__name__} predicted {rows} rows with shape {labels.shape}: "
            f"expected one label per row, shape ({rows},)"
        )
    return labels
