"""The gain in log likelihood of a split, for leaves that take columns as independent.

A cut changes nothing for the split column itself: both parts together have the density that the
column had. But within a part the column varies less, and so do the columns that depend on it. The
parts are nearer to independence than the leaf was. For Gaussian classes the gain in log likelihood
has a closed form in their correlations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.criterion import first_largest
from mist.engine.inheritance import fractions, truncated_moments
from mist.engine.joint import LEAST_POINTS, LEAST_REST, class_covariance, points_of
from mist.engine.state import MEAN, State

LEAST_GAIN = 0.5
"""Gain that a split must exceed, in nats a row."""

Array = np.ndarray[Any, Any]


def likelihood_splits(
    state: State, cells: Array, candidates: Array, allowed: Array, gains: Array, splits: Array
) -> int:
    """Gain and threshold of every column's best candidate, and the best column.

    Parameters
    ----------
    state : State
        A model whose cells keep products of deviations.
    cells : ndarray of int
        The leaf's observed cells; all classes count the same.
    candidates : ndarray, shape (m, n_numeric)
        Candidate thresholds, NaN where there is none.
    allowed : ndarray of bool, shape (d,)
        Columns that may be split on.
    gains, splits : ndarray, shape (d,)
        Receive the best gain in nats a row, 0 without one, and its threshold. 0/1 columns have no
        gain, since no covariances are kept for them.

    Returns
    -------
    int
        Column with the best gain, the first of equals; -1 if no gain is positive.
    """
    gains[:], splits[:] = 0.0, np.nan
    total = np.zeros(candidates.shape)
    for cell in cells.tolist():
        total += class_gains(state, cell, candidates) / cells.size
    for j in np.flatnonzero(allowed[: candidates.shape[1]]):
        i = first_largest(np.ascontiguousarray(total[:, j]))
        if i >= 0:
            gains[j], splits[j] = total[i, j], candidates[i, j]
    return int(first_largest(gains))


def class_gains(state: State, cell: int, candidates: Array) -> Array:
    """Gain in log likelihood a row of one class, for every candidate.

    Parameters
    ----------
    state : State
        A model whose cells keep products of deviations.
    cell : int
        The class at a leaf.
    candidates : ndarray, shape (m, n_numeric)
        Candidate thresholds.

    Returns
    -------
    ndarray, shape (m, n_numeric)
        0 where there is no candidate, or nothing to gain.
    """
    tree, observed = state.tree, state.observed
    S = class_covariance(state, cell)
    variance = np.diag(S).copy()
    deviation = np.sqrt(variance)
    product = np.outer(deviation, deviation)
    finite = (product > 0.0) & (product < np.inf)
    correlation = np.divide(S, product, out=np.zeros_like(S), where=finite)
    explained = np.minimum(correlation * correlation, 1.0 - LEAST_REST)
    np.fill_diagonal(explained, 0.0)
    weight = tree.cells.weight[cell]
    known = 1.0 if observed is None else observed.cell[cell, : len(S)] / weight
    out = np.zeros(candidates.shape)
    for i, thresholds in enumerate(candidates):
        mean = tree.stats[cell, MEAN, : len(S)]
        for share, ratio in _sides(state, cell, thresholds, mean, variance):
            logs = np.log1p(-explained * (1.0 - ratio)[:, None]).sum(axis=1)
            out[i] -= 0.5 * share * logs * known
    return out


def _sides(
    state: State, cell: int, thresholds: Array, mean: Array, variance: Array
) -> list[tuple[Array, Array]]:
    """Share of a class on either side of one threshold for each column, and its variance there.

    The variance is in units of the variance of the class before the split. Both are read from the
    sketch, or from the Gaussian where the sketch has too few points.
    """
    usable = (variance > 0.0) & (variance < np.inf) & np.isfinite(thresholds)
    v = np.where(usable, thresholds, mean)
    scale = np.where(usable, variance, 1.0)
    below = fractions(mean, scale, v)[0]
    points, weights = points_of(state, cell)
    weights = weights / weights.sum()
    finite = np.isfinite(points)
    total = weights @ finite
    out = []
    for left in (True, False):
        share = below if left else 1.0 - below
        spread = truncated_moments(mean, scale, v, left)[1]
        inside = finite & ((points <= v) if left else (points > v))
        held = weights @ inside
        share = np.divide(held, total, out=share.copy(), where=total > 0.0)
        enough = inside.sum(axis=0) >= LEAST_POINTS
        away = np.where(inside, points - mean, 0.0)
        held = np.where(enough, held, 1.0)
        at = weights @ away / held
        seen = weights @ np.where(inside, away - at, 0.0) ** 2 / held
        ratio = np.where(enough, seen, spread) / scale
        out.append((np.where(usable, share, 0.0), np.where(usable, ratio, 1.0)))
    return out
