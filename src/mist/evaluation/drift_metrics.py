"""Metrics of streams that drift, of predictions made before each row was learnt."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.evaluation.metrics import windowed_accuracy

__all__ = ["kappa_temporal", "recovery_rows"]


def kappa_temporal(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the accuracy beyond that of the no-change prediction, the label of the row before.

    ``(p - e) / (1 - e)`` with the accuracy p and e that of no-change, for which the first row
    counts as wrong (Zliobaite et al., Machine Learning 98, 2015).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions in stream order.

    Returns
    -------
    float
        At most 1; below 0 if no-change is better.

    Raises
    ------
    ValueError
        If the two differ in shape, are empty or are not one-dimensional.

    Examples
    --------
    >>> from mist.evaluation import kappa_temporal
    >>> kappa_temporal(["a", "a", "b", "b"], ["a", "a", "b", "a"])
    0.5
    """
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != predicted.shape or not len(truth):
        raise ValueError(
            "y_true and y_pred must be one-dimensional, of one length and not be empty, got shapes "
            f"{truth.shape} and {predicted.shape}"
        )
    unchanged = float(np.sum(truth[1:] == truth[:-1])) / len(truth)
    return (float(np.mean(truth == predicted)) - unchanged) / (1 - unchanged)


def recovery_rows(
    correct: ArrayLike, drifts: ArrayLike, window: int, tolerance: float = 0.02
) -> NDArray[np.float64]:
    """Return how many rows after each drift the windowed accuracy is back at its later level.

    The later level is the accuracy over the second half of the rows up to the next drift. The
    window has only rows after the drift, so the smallest result is `window`.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Hits, one per row.
    drifts : array-like of int, shape (D,)
        Numbers of the first rows of new concepts, ascending, from 1 to n - 1.
    window : int
        Number of rows, at least 1.
    tolerance : float, default=0.02
        How far the windowed accuracy may be below the later level.

    Returns
    -------
    ndarray of float64, shape (D,)
        Rows; NaN where fewer than two windows are between drifts, or no window reaches the level.

    Raises
    ------
    ValueError
        If `correct` is empty or not one-dimensional, or `window` or `drifts` are out of range.

    Examples
    --------
    >>> from mist.evaluation import recovery_rows
    >>> recovery_rows([True, True, False, False, True, True, True, True], drifts=[2], window=2)
    array([4.])
    """
    hits = np.asarray(correct, dtype=np.float64)
    if hits.ndim != 1 or not len(hits):
        raise ValueError(
            f"correct must be one-dimensional and not be empty, got shape {hits.shape}"
        )
    ends = np.append(np.asarray(drifts, dtype=np.int64), len(hits))
    if (np.diff(ends, prepend=0) <= 0).any():
        raise ValueError(f"drifts must be ascending row numbers from 1 to {len(hits) - 1}")
    rows = np.full(len(ends) - 1, np.nan)
    for number, (start, end) in enumerate(pairwise(ends)):
        own = hits[start:end]
        level = own[len(own) // 2 :].mean()
        back = windowed_accuracy(own, window)[window - 1 :] >= level - tolerance
        if len(own) >= 2 * window and back.any():
            rows[number] = window + back.argmax()
    return rows
