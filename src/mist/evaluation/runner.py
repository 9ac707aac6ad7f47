"""Run a streaming classifier over a class-incremental stream."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import metrics
from mist.evaluation.protocol import ClassIncrementalStream, Task
from mist.evaluation.results import StreamResult

Progress = Callable[[int, int, int, Any], None]
"""Called as ``progress(rows_done, rows_total, hits_so_far, model)``."""


def evaluate(
    model: Any,
    stream: ClassIncrementalStream,
    *,
    model_name: str | None = None,
    dataset: str = "",
    chunk: int = 1000,
    progress: Progress | None = None,
) -> StreamResult:
    """Test, then train `model` on every row of a stream, and test it after every task.

    Each row is predicted before it is learnt. After each task the model is tested on the held-out
    rows of every task so far. The borders of the tasks are never shown to the model, which is
    trained in place.

    Parameters
    ----------
    model : object
        A classifier with ``predict(X)`` and either ``prequential(X, y)`` (predict each row, then
        learn it; returns the predictions) or ``partial_fit(X, y)``, which is then called row by
        row. A model that refuses its first row until it is told all classes, as scikit-learn's do,
        is told those of the stream; no other model is. ``n_leaves_``, ``n_splits_`` and ``nbytes``
        are read where they exist.
    stream : ClassIncrementalStream
        Tasks in order.
    model_name : str, optional
        Name in the result; the name of the model's type by default.
    dataset : str, default=""
        Name of the data set in the result.
    chunk : int, default=1000
        Rows between two checkpoints. It does not change what the model sees, only how often leaves
        are counted and `progress` is called.
    progress : callable, optional
        Called after each chunk as ``progress(rows_done, rows_total, hits_so_far, model)``.

    Returns
    -------
    StreamResult
        All measures of the run.

    Raises
    ------
    ValueError
        If `chunk` is below 1, or the model does not answer with one label a row.
    TypeError
        If the model has neither ``prequential`` nor ``partial_fit``.

    Notes
    -----
    The first row counts as wrong, whatever the model answers, unless the model has been trained
    before, which shows in its attribute ``classes_``. Time is wall-clock time of test-then-train;
    the tests after each task are left out.

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
    if chunk < 1:
        raise ValueError(f"chunk={chunk} must be at least 1 row")
    compiled = hasattr(model, "prequential")
    if not compiled and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has neither prequential nor partial_fit: "
            "it cannot learn from a stream"
        )
    fresh = not hasattr(model, "classes_")
    correct = np.zeros(stream.n_rows, dtype=bool)
    accuracy_matrix = np.full((len(stream), len(stream)), np.nan)
    n_leaves, n_splits, checkpoints, leaves_curve = [], [], [], []
    learnt: list[Task] = []
    done, hits, seconds = 0, 0, 0.0

    for step, task in enumerate(stream):
        for start in range(0, len(task.y_train), chunk):
            X, y = task.X_train[start : start + chunk], task.y_train[start : start + chunk]
            begin = perf_counter()
            if compiled:
                answer = model.prequential(X, y)
            else:
                answer = _row_by_row(model, X, y, stream.classes, fresh and done == 0)
            seconds += perf_counter() - begin
            right = _one_a_row(answer, len(y), model) == y
            if fresh and done == 0:
                right[0] = False
            correct[done : done + len(y)] = right
            done += len(y)
            hits += int(right.sum())
            checkpoints.append(done)
            leaves_curve.append(getattr(model, "n_leaves_", 0))
            if progress is not None:
                progress(done, stream.n_rows, hits, model)
        learnt.append(task)
        answers = [_predict(model, past) for past in learnt]
        for column, past in enumerate(learnt):
            if len(past.y_test):
                accuracy_matrix[step, column] = np.mean(answers[column] == past.y_test)
        n_leaves.append(getattr(model, "n_leaves_", 0))
        n_splits.append(getattr(model, "n_splits_", 0))

    held_out = np.concatenate([past.y_test for past in learnt])
    _, recall = metrics.class_recall(held_out, np.concatenate(answers))
    return StreamResult(
        model=type(model).__name__ if model_name is None else model_name,
        dataset=dataset,
        seed=stream.seed,
        accuracy_matrix=accuracy_matrix,
        final_accuracy=metrics.final_accuracy(accuracy_matrix),
        mean_class_recall=float(recall.mean()),
        average_forgetting=metrics.average_forgetting(accuracy_matrix),
        backward_transfer=metrics.backward_transfer(accuracy_matrix),
        prequential_accuracy=metrics.prequential_accuracy(correct),
        correct=correct,
        boundaries=stream.boundaries,
        n_leaves=np.asarray(n_leaves, dtype=np.int64),
        n_splits=np.asarray(n_splits, dtype=np.int64),
        checkpoints=np.asarray(checkpoints, dtype=np.int64),
        leaves_curve=np.asarray(leaves_curve, dtype=np.int64),
        nbytes=int(getattr(model, "nbytes", 0)),
        learn_seconds=seconds,
        rows_per_second=stream.n_rows / seconds,
    )


def _row_by_row(
    model: Any, X: NDArray[np.float64], y: NDArray[Any], classes: tuple[Any, ...], fresh: bool
) -> NDArray[Any]:
    """Predict, then learn each row; a fresh model answers the first with None."""
    answer = np.full(len(y), None, dtype=object)
    for row in range(len(y)):
        x, label = X[row : row + 1], y[row : row + 1]
        if fresh and row == 0:
            _learn_first(model, x, label, classes)
        else:
            answer[row] = _one_a_row(model.predict(x), 1, model)[0]
            model.partial_fit(x, label)
    return answer


def _learn_first(
    model: Any, x: NDArray[np.float64], label: NDArray[Any], classes: tuple[Any, ...]
) -> None:
    """Learn the first row, naming all classes only to a model that insists on them."""
    try:
        model.partial_fit(x, label)
    except ValueError as error:
        if "classes" not in str(error):
            raise
        model.partial_fit(x, label, classes=np.asarray(classes))


def _predict(model: Any, task: Task) -> NDArray[Any]:
    """Answers on the held-out rows of a task; a task without any is not asked about."""
    if not len(task.y_test):
        return task.y_test
    return _one_a_row(model.predict(task.X_test), len(task.y_test), model)


def _one_a_row(answer: Any, rows: int, model: Any) -> NDArray[Any]:
    labels = np.asarray(answer)
    if labels.shape != (rows,):
        raise ValueError(
            f"{type(model).__name__} answered {rows} rows with shape {labels.shape}: "
            f"expected one label a row, shape ({rows},)"
        )
    return labels
