"""Sketches of a leaf's classes as a tree keeps them, and the rank error published for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist import MistClassifier
from mist.engine import kll
from mist.engine.state import State

__all__ = ["class_sketches", "rank_error", "stored_column", "summarise"]

_NEVER = 10**9
"""A grace period that never ends."""


def rank_error(k: int) -> float:
    """Return the published single-sided rank error of a sketch.

    It is the one of Apache DataSketches (``getNormalizedRankError(k, false)``): a fit to the 99th
    percentile of the largest error of any rank, over thousands of repetitions. The double-sided
    one, 2.446 / k**0.9433, is for differences of two ranks, which a split does not ask for.

    Parameters
    ----------
    k : int
        Size of the sketch.

    Returns
    -------
    float
        The error, as a share of the rows.

    Examples
    --------
    >>> round(rank_error(200), 4), round(rank_error(64), 4)
    (0.0133, 0.0403)
    """
    return float(2.296 / k**0.9723)


def class_sketches(X: NDArray[np.float64], y: NDArray[np.int64], k: int, seed: int) -> State:
    """Let a tree that does not split learn rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Classes 0, 1, ..., each of which occurs.
    k : int
        Size of the sketches.
    seed : int
        Seed of their compactions.

    Returns
    -------
    State
        Its state; class c has cell c.

    Examples
    --------
    >>> state = class_sketches(np.array([[1.0], [5.0], [2.0]]), np.array([0, 1, 0]), 64, 0)
    >>> stored_column(state, 0, 0)
    (array([1., 2.]), array([0.5, 1. ]))
    """
    # Cells are made in the order in which classes come.
    first = np.unique(y, return_index=True)[1]
    order = np.concatenate([first, np.delete(np.arange(len(y)), first)])
    model = MistClassifier.paper("G", grace_period=_NEVER, sketch_size=k, random_state=seed)
    return model.partial_fit(X[order], y[order])._state


def stored_column(
    state: State, cell: int, j: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sorted values that a sketch stores of a column, and the rank of each.

    Parameters
    ----------
    state : State
        The model.
    cell : int
        Cell of the sketch.
    j : int
        Column.

    Returns
    -------
    values, ranks : ndarray
        Stored values, and the share of rows up to each by the sketch.
    """
    records: Any = state.tree.cells
    values, weights = np.empty(records.used[cell]), np.empty(records.used[cell])
    n = kll.column(records, state.sketch, cell, j, values, weights)
    order = values[:n].argsort(kind="stable")
    reached = weights[:n][order].cumsum()
    return values[:n][order], reached / reached[-1]


def summarise(errors: Any, limits: Any) -> dict[str, Any]:
    """Return the largest and the mean error, and how many errors are above each limit.

    Parameters
    ----------
    errors : array-like
        The errors.
    limits : array-like of shape (m,)
        The limits.

    Returns
    -------
    dict
        ``largest``, ``mean`` and ``above``, one number per limit.

    Examples
    --------
    >>> summarise([0.1, 0.3], [0.2, 0.3])
    {'largest': 0.3, 'mean': 0.2, 'above': [1, 0]}
    """
    found = np.asarray(errors, float).ravel()
    above = [int((found > limit).sum()) for limit in limits]
    return {"largest": float(found.max()), "mean": float(found.mean()), "above": above}
