"""Metrics of a class-incremental run: pure functions of accuracies, recalls and hits.

The accuracy matrix ``R`` of a stream of T tasks has shape (T, T): ``R[i, j]`` is the accuracy on
the held-out rows of task j after task i was learnt. Only entries on and below the diagonal are
read; entries above it may be NaN or zero. A task without held-out rows has NaN in its column and
is left out of every mean. The hits are one boolean per row: whether the prediction made before the
row was learnt was right.

Other programs define metrics of the same matrix differently. Avalanche's forgetting is the first
accuracy of a task minus its last (our negated backward transfer), not its best minus its last.
CapyMOA's backward transfer averages ``R[i, j] - R[j, j]`` over all i > j, not over the last row.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def final_accuracy(accuracy_matrix: ArrayLike) -> float:
    """Return the mean accuracy over all tasks after the last one was learnt.

    Computes ``mean_j R[T, j]``.

    Parameters
    ----------
    accuracy_matrix : array-like of shape (T, T)
        ``R[i, j]``: accuracy on task j after task i.

    Returns
    -------
    float
        In the unit of the matrix; NaN if no task has held-out rows.

    Raises
    ------
    ValueError
        If the matrix is not square or is empty.

    Examples
    --------
    >>> from mist.evaluation import final_accuracy
    >>> final_accuracy([[1.0, 0.0], [0.5, 1.0]])
    0.75
    """
    return _mean(_square(accuracy_matrix)[-1])


def average_forgetting(accuracy_matrix: ArrayLike) -> float:
    """Return the mean drop from the best accuracy of a task to its last one.

    Computes ``mean_{j < T} (max_{j <= i < T} R[i, j] - R[T, j])``. The maximum excludes the last
    step, so a task with its best accuracy at the end has negative forgetting.

    Parameters
    ----------
    accuracy_matrix : array-like of shape (T, T)
        ``R[i, j]``: accuracy on task j after task i.

    Returns
    -------
    float
        Lower is better; 0.0 for a single task.

    Raises
    ------
    ValueError
        If the matrix is not square or is empty.

    References
    ----------
    .. [1] Chaudhry et al., "Riemannian Walk for Incremental Learning", ECCV 2018.

    Examples
    --------
    >>> from mist.evaluation import average_forgetting
    >>> nan = float("nan")
    >>> round(average_forgetting([[0.9, nan, nan], [0.6, 0.8, nan], [0.5, 0.7, 0.95]]), 12)
    0.25
    """
    matrix = _square(accuracy_matrix)
    if len(matrix) == 1:
        return 0.0
    learnt = np.tri(len(matrix), dtype=bool)
    best = np.where(learnt, matrix, -np.inf)[:-1, :-1].max(axis=0)
    return _mean(best - matrix[-1, :-1])


def backward_transfer(accuracy_matrix: ArrayLike) -> float:
    """Return the mean change in the accuracy of a task from when it was learnt to the end.

    Computes ``mean_{j < T} (R[T, j] - R[j, j])``.

    Parameters
    ----------
    accuracy_matrix : array-like of shape (T, T)
        ``R[i, j]``: accuracy on task j after task i.

    Returns
    -------
    float
        Higher is better; 0.0 for a single task. Never below minus the average forgetting.

    Raises
    ------
    ValueError
        If the matrix is not square or is empty.

    References
    ----------
    .. [1] Lopez-Paz and Ranzato, "Gradient Episodic Memory for Continual Learning", NeurIPS 2017.

    Examples
    --------
    >>> from mist.evaluation import backward_transfer
    >>> backward_transfer([[1.0, 0.0], [0.75, 1.0]])
    -0.25
    """
    matrix = _square(accuracy_matrix)
    if len(matrix) == 1:
        return 0.0
    return _mean(matrix[-1, :-1] - np.diagonal(matrix)[:-1])


def seen_accuracy(recall: ArrayLike, rows: ArrayLike) -> NDArray[np.float64]:
    """Return the accuracy on held-out rows of all classes seen so far, at every evaluation.

    Computes ``sum_k rows[k] * recall[e, k] / sum_k rows[k]`` over the classes whose recall is
    known at evaluation e, so all held-out rows have the same weight.

    Parameters
    ----------
    recall : array-like of shape (E, K)
        ``recall[e, k]``: recall of class k at evaluation e; NaN where the class had not arrived
        yet or has no held-out rows.
    rows : array-like of shape (K,)
        Held-out rows of each class.

    Returns
    -------
    ndarray of float64, shape (E,)
        In the unit of `recall`; NaN if no class seen so far has held-out rows.

    Raises
    ------
    ValueError
        If `recall` is not a matrix or is empty, or `rows` is not one count, 0 or more, per class.

    Examples
    --------
    >>> from mist.evaluation import seen_accuracy
    >>> nan = float("nan")
    >>> seen_accuracy([[1.0, nan], [0.8, 0.5]], rows=[20, 10])
    array([1. , 0.7])
    """
    recalls, weights = np.asarray(recall, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    if recalls.ndim != 2 or not recalls.size:
        raise ValueError(
            "recall must have a row for every evaluation and a column for every class, "
            f"got shape {recalls.shape}"
        )
    if weights.shape != recalls.shape[1:]:
        raise ValueError(
            f"rows must hold one count for each of the {recalls.shape[1]} classes in recall, "
            f"got shape {weights.shape}"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("rows must hold counts of held-out rows, 0 or more")
    known = ~np.isnan(recalls)
    hits = np.where(known, recalls, 0.0) @ weights
    tested = known @ weights
    return np.divide(hits, tested, out=np.full(len(recalls), np.nan), where=tested > 0)


def anytime_accuracy(seen: ArrayLike) -> float:
    """Return the mean over the evaluations of the accuracy on classes seen so far.

    All evaluations have equal weights. With the same number of evaluations in each task, all tasks
    have equal weights, whatever their lengths. Only with evaluations equally spaced in rows is the
    result the area under the curve of accuracy over rows learnt, divided by the stream length.

    Parameters
    ----------
    seen : array-like of shape (E,)
        Accuracy on classes seen so far, from `seen_accuracy`. NaN entries are left out.

    Returns
    -------
    float
        In the unit of `seen`; NaN if all entries are NaN.

    Raises
    ------
    ValueError
        If `seen` is empty or not one-dimensional.

    References
    ----------
    .. [1] Koh et al., "Online Continual Learning on Class Incremental Blurry Task Configuration
       with Anytime Inference", ICLR 2022 (there A_AUC).

    Examples
    --------
    >>> from mist.evaluation import anytime_accuracy
    >>> anytime_accuracy([1.0, 0.75, 0.5])
    0.75
    """
    accuracy = np.asarray(seen, dtype=np.float64)
    if accuracy.ndim != 1 or not accuracy.size:
        raise ValueError(
            f"seen must hold one value per evaluation and not be empty, got shape {accuracy.shape}"
        )
    return _mean(accuracy)


def prequential_accuracy(correct: ArrayLike) -> float:
    """Return the share of rows predicted right before they were learnt.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Hits, one per row.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If `correct` is empty or not one-dimensional.

    Examples
    --------
    >>> from mist.evaluation import prequential_accuracy
    >>> prequential_accuracy([False, True, True, True])
    0.75
    """
    return float(_hits(correct).mean())


def window_length(n_rows: int) -> int:
    """Return the window, in rows, of the accuracy in plots.

    Parameters
    ----------
    n_rows : int
        Length of the stream.

    Returns
    -------
    int
        A twenty-fifth of the stream, limited to 10 to 5,000 rows.

    Examples
    --------
    >>> window_length(100), window_length(2_000), window_length(10**7)
    (10, 80, 5000)
    """
    return min(5_000, max(10, n_rows // 25))


def windowed_accuracy(correct: ArrayLike, window: int) -> NDArray[np.float64]:
    """Return the accuracy over the last `window` rows, after each row.

    At the start of the stream the window is shorter. A window of n rows or more gives the
    cumulative curve.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Hits, one per row.
    window : int
        Number of rows, at least 1.

    Returns
    -------
    ndarray of float64, shape (n,)
        ``a[t] = mean(correct[max(0, t - window + 1) : t + 1])``.

    Raises
    ------
    ValueError
        If `correct` is empty or not one-dimensional, or `window` is below 1.

    Examples
    --------
    >>> from mist.evaluation import windowed_accuracy
    >>> windowed_accuracy([False, True, True, False], window=2)
    array([0. , 0.5, 1. , 0.5])
    """
    hits = _hits(correct)
    if window < 1:
        raise ValueError(f"window={window} must be at least 1 row")
    total = np.concatenate([[0], np.cumsum(hits)])
    end = np.arange(1, len(hits) + 1)
    start = np.maximum(end - window, 0)
    accuracy: NDArray[np.float64] = (total[end] - total[start]) / (end - start)
    return accuracy


def fading_accuracy(correct: ArrayLike, factor: float) -> NDArray[np.float64]:
    """Return the accuracy in which each row has `factor` times the weight of the next row.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Hits, one per row.
    factor : float
        Fading factor in (0, 1]; 1 gives the cumulative curve.

    Returns
    -------
    ndarray of float64, shape (n,)
        ``a[t] = S[t] / N[t]`` with ``S[t] = correct[t] + factor * S[t - 1]`` and
        ``N[t] = 1 + factor * N[t - 1]``.

    Raises
    ------
    ValueError
        If `correct` is empty or not one-dimensional, or `factor` is outside (0, 1].

    References
    ----------
    .. [1] Gama, Sebastiao and Rodrigues, "On evaluating stream learning algorithms",
       Machine Learning 90, 2013.

    Examples
    --------
    >>> from mist.evaluation import fading_accuracy
    >>> fading_accuracy([True, False, True], factor=0.5).round(3)
    array([1.   , 0.333, 0.714])
    """
    hits = _hits(correct)
    if not 0 < factor <= 1:
        raise ValueError(f"factor={factor} must be above 0 and at most 1")
    score = list(accumulate(hits.astype(float).tolist(), lambda sum_, hit: hit + factor * sum_))
    weight = np.cumsum(factor ** np.arange(len(hits)))
    return np.asarray(score) / weight


def class_recall(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the share of the rows of each class that were predicted as that class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_pred : array-like of shape (n,)
        Predictions; they may have labels that are not in `y_true`.

    Returns
    -------
    classes : ndarray of shape (K,)
        The distinct labels of `y_true`, sorted.
    recall : ndarray of float64, shape (K,)
        Recall of each class, between 0 and 1.

    Raises
    ------
    ValueError
        If the two differ in shape or are not one-dimensional.

    Examples
    --------
    >>> from mist.evaluation import class_recall
    >>> class_recall(["a", "a", "b"], ["a", "b", "b"])
    (array(['a', 'b'], dtype='<U1'), array([0.5, 1. ]))
    """
    truth, answer = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != answer.shape:
        raise ValueError(
            "y_true and y_pred must hold one label per row and have equal lengths, "
            f"got shapes {truth.shape} and {answer.shape}"
        )
    classes, code, rows = np.unique(truth, return_inverse=True, return_counts=True)
    hits = np.bincount(code[truth == answer], minlength=len(classes))
    return classes, hits / rows


def _square(accuracy_matrix: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(accuracy_matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"accuracy_matrix must be square, one row per task, got {matrix.shape}")
    return matrix


def _hits(correct: ArrayLike) -> NDArray[np.bool_]:
    hits = np.asarray(correct, dtype=bool)
    if hits.ndim != 1 or not hits.size:
        raise ValueError(f"correct must hold one value per row and not be empty, got {hits.shape}")
    return hits


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN, or NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
