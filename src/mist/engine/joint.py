"""Joint inheritance: a split changes all numeric columns, not only the split column.

The mass of a class is divided and never discounted. The moments of the split column on either side
are read from its sketch (*conditional moments*). The other columns follow by their covariance with
it; in their sketches a value counts by the probability that its row is on that side. With the
masses and moments of a Gaussian the two children together have exactly the mass, mean and
covariance of the parent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine import kll
from mist.engine.compiled import allocating, exact
from mist.engine.leafmodel import Side, kind_of, sorted_columns_of
from mist.engine.moments import seen, variances
from mist.engine.state import HIGH, LOW, M2, MEAN, TOTALS, State

LEAST_POINTS = 4
"""Fewest points of a sketch from which moments are read."""

LEAST_REST = 1e-6
"""Least share of a column's variance that another column does not explain."""

Array = np.ndarray[Any, Any]


def inherit(state: State, slot: int, parents: Array, children: Array, side: Side) -> None:
    """Adjust numeric columns of new cells to the split column, and give them their sketches.

    Parameters
    ----------
    state : State
        The model; changed in place. Weights, masses and the moments of the split column, those of a
        truncated Gaussian, are already set.
    slot : int
        The leaf of the new cells.
    parents, children : ndarray of int
        Detached cells, and the cells that inherit from them.
    side : Side
        The side of the split on which the new cells are.
    """

    def conditional(parent: int) -> tuple[float, float] | None:
        numeric = side.feature < state.options.n_numeric
        return side_moments(state, parent, side) if numeric else None

    kind_of(state.model).inherit(state, parents, children, side, conditional)
    for parent, cell in zip(parents.tolist(), children.tolist(), strict=True):
        inherit_sketch(state, slot, parent, cell, side)


def follow(
    state: State, parent: int, cell: int, side: Side, conditional: tuple[float, float] | None
) -> None:
    """Change the moments of a cell, and its products of deviations, with the split column.

    Parameters
    ----------
    state : State
        The model; changed in place.
    parent, cell : int
        A detached cell, and the cell that inherits from it.
    side : Side
        The side of the split on which the new cell is.
    conditional : (float, float) or None
        Conditional mean and variance of the split column; None keeps those that the cell has.
    """
    numeric = side.feature < state.options.n_numeric
    if numeric and state.options.products and seen(state, cell)[side.feature] > 0.0:
        _follow_products(state, parent, cell, side.feature, conditional)
    else:
        cells, products = state.tree.cells, state.tree.products
        products[cell] = products[parent] * (cells.weight[cell] / cells.weight[parent])


def _follow_products(
    state: State, parent: int, cell: int, feature: int, conditional: tuple[float, float] | None
) -> None:
    """`follow` where the split column is numeric and the cell has products and values of it."""
    tree, a = state.tree, state.options.n_numeric
    weight = tree.cells.weight[cell]
    weights = seen(state, cell)
    # Without conditional moments the split column keeps those of the truncated Gaussian.
    at, variance = conditional or (tree.stats[cell, MEAN, feature], variances(state, cell)[feature])
    mean = tree.stats[parent, MEAN, :a]
    mean, S = condition(mean, class_covariance(state, parent), feature, float(at), variance)
    known = weights > 0.0
    tree.stats[cell, MEAN, :a][known] = mean[known]
    tree.stats[cell, MEAN, feature] = at
    tree.stats[cell, M2, :a] = np.maximum(np.diag(S), 0.0) * weights
    tree.stats[cell, M2, feature] = variance * weights[feature]
    rows, columns = np.tril_indices(a)
    tree.products[cell] = (S * np.outer(weights, weights / weight))[rows, columns]


def left_shares(state: State, parents: Array, feature: int, v: float, gaussian: Array) -> Array:
    """Share of every class at or left of a threshold: from its sketch, else from ``gaussian``."""
    sketch, cells = state.sketch, state.tree.cells
    if sketch is None:
        return gaussian
    out = gaussian.copy()
    for i, cell in enumerate(parents):
        if cells.start[cell] >= 0 and np.isfinite(points_of(state, cell)[0][:, feature]).any():
            out[i] = kll.rank(cells, sketch, cell, feature, v)
    return out


def side_moments(state: State, cell: int, side: Side) -> tuple[float, float] | None:
    """Mean and variance of a class on one side of a split; None with too few points to tell."""
    points, weights = points_of(state, cell)
    values, v = points[:, side.feature], side.threshold
    kept = (values <= v) if side.left else (values > v) & (values < np.inf)
    if np.count_nonzero(kept) < LEAST_POINTS:
        return None
    shares = weights[kept] / weights[kept].sum()  # weighted sums of large squares would overflow
    mean = shares @ values[kept]
    return float(mean), float(shares @ (values[kept] - mean) ** 2)


def condition(
    mean: Array, products: Array, feature: int, at: float, variance: float
) -> tuple[Array, Array]:
    """Moments of a Gaussian when one column is given another mean and variance.

    Parameters
    ----------
    mean : ndarray, shape (a,)
        Means.
    products : ndarray, shape (a, a)
        Covariance.
    feature : int
        The column that gets other moments.
    at, variance : float
        Its new mean and variance.

    Returns
    -------
    mean, covariance : ndarray
        Of all columns.

    Examples
    --------
    >>> mean, S = condition(np.zeros(2), np.array([[4.0, 2.0], [2.0, 3.0]]), 0, 1.0, 1.0)
    >>> print(mean, S.tolist())
    [1.  0.5] [[1.0, 0.5], [0.5, 2.25]]
    """
    own = products[feature, feature]
    if not 0.0 < own < np.inf:
        return mean, products
    slope = products[:, feature] / own
    fall = slope * (own - variance)
    return mean + slope * (at - mean[feature]), products - np.outer(slope, fall)


def class_covariance(state: State, cell: int) -> Array:
    """Covariance of a class's numeric columns at a leaf that keeps products of deviations.

    Where values are missing, a product is over the rows that have both columns, whose weight is
    taken as if they were missing independently.
    """
    tree, a = state.tree, state.options.n_numeric
    weight = tree.cells.weight[cell]
    weights = seen(state, cell)
    both = np.outer(weights, weights / weight)
    S = np.zeros((a, a))
    rows, columns = np.tril_indices(a)
    S[rows, columns] = S[columns, rows] = tree.products[cell]
    S = np.divide(S, both, out=np.zeros_like(S), where=both > 0.0)
    variance = variances(state, cell)
    # An infinite variance says nothing about other columns. No correlation may exceed 1.
    deviation = np.sqrt(np.where(np.isfinite(variance), variance, 0.0))
    limit = np.outer(deviation, deviation)
    S = np.where(limit > 0.0, np.clip(S, -limit, limit), 0.0)
    np.fill_diagonal(S, variance)
    return S


def inherit_sketch(state: State, slot: int, parent: int, cell: int, side: Side) -> None:
    """Give a cell its parent's sketch: the split column cut, the others weighted accordingly.

    A value of another column counts by the probability that its row is on this side, as computed
    for a Gaussian. So values do not move, and a value that most rows have stays one. The weight of
    the sketch falls with that of the cell.
    """
    tree, cells, feature = state.tree, state.tree.cells, side.feature
    full = tree.leaves.sketched[slot] >= state.options.sketched_classes
    empty = cells.start[parent] < 0 or cells.used[parent] == 0
    if state.sketch is None or empty or full:
        return
    points, weights = points_of(state, parent)
    known = np.isfinite(points)
    unknown = 1.0 - weights @ known / weights.sum()
    ends = state.sketch.ends[parent].copy()
    weighted = np.where(known, weights[:, None], 0.0)
    if feature < state.options.n_numeric:
        covariance, variance = kind_of(state.model).covariances_with(state, parent, feature)
        mean = state.tree.stats[parent, MEAN, : points.shape[1]]
        v = side.threshold
        weigh_by_side(points, weighted, mean, covariance, variance, feature, v, side.left)
        own = weighted[:, feature]
        if side.left:
            ends[HIGH, feature] = min(ends[HIGH, feature], v)
        elif own.any():
            ends[LOW, feature] = points[own > 0.0, feature].min()
        if not own.any():
            ends[:, feature] = np.inf, -np.inf
        unknown[feature] = 0.0 if state.observed is None else _unknown_share(state, cell, feature)
    total = weights.sum() * (cells.weight[cell] / cells.weight[parent])
    level = 0
    # The lowest level on which a sketch may hold so many points.
    while total / 2.0**level > state.sketch.plan[TOTALS, level + 1] - 1:
        level += 1
    m = max(1, round(total / 2.0**level))
    rows = resampled(points, weighted, unknown, m)
    lacking = kll.block_lacking(tree, state.sketch, m)
    if lacking > 0:
        kll.reserve_items(state, lacking)
    kll.fill(tree, state.sketch, sorted_columns_of(state.model), cell, rows, level)
    state.sketch.ends[cell] = ends
    tree.leaves.sketched[slot] += 1


@exact
def weigh_by_side(points, weights, mean, covariance, variance, feature, v, left):
    """Multiply the weights of values by the probability that their row is on one side of a split.

    In the split column that is 0 or 1; in another column it follows from the regression of the
    split column on it.

    Parameters
    ----------
    points, weights : float64 arrays, shape (n, a)
        Values, +inf where they are missing, and their weights, 0 where they are missing.
    mean, covariance, variance : float64 arrays, shape (a,)
        Moments of the columns; the covariance is that with the split column.
    feature : int
        Split column.
    v : float
        Threshold.
    left : bool
        Whether the side is x <= v.
    """
    n, a = points.shape
    sign = -1.0 if left else 1.0
    for j in range(a):
        if j == feature:
            for i in range(n):
                if (points[i, j] <= v) != left:
                    weights[i, j] = 0.0
            continue
        slope = covariance[j] / variance[j] if variance[j] > 0.0 else 0.0
        rest = max(variance[feature] - slope * covariance[j], LEAST_REST * variance[feature])
        for i in range(n):
            if weights[i, j] > 0.0:
                away = v - mean[feature] - slope * (points[i, j] - mean[j])
                z = away / math.sqrt(rest) if rest > 0.0 else 0.0
                weights[i, j] *= 0.5 * math.erfc(sign * z / math.sqrt(2.0))


def _unknown_share(state: State, cell: int, feature: int) -> float:
    """Share of a cell's weight without a value in a column."""
    assert state.observed is not None
    return float(1.0 - state.observed.cell[cell, feature] / state.tree.cells.weight[cell])


def points_of(state: State, cell: int) -> tuple[Array, Array]:
    """Rows of a cell's sketch (a copy) and their weights; none without a sketch."""
    sketch, cells = state.sketch, state.tree.cells
    if sketch is None or cells.start[cell] < 0:
        return np.empty((0, state.options.n_numeric)), np.empty(0)
    start = cells.start[cell]
    levels = np.arange(cells.levels[cell])[::-1]
    weights = np.repeat(2.0**levels, sketch.sizes[cell, levels])
    return sketch.items[start : start + cells.used[cell]].astype(np.float64), weights


@allocating
def resampled(points, weights, unknown, m):
    """Sample every column at the middles of m parts of equal weight; +inf for the unknown share."""
    n, a = points.shape
    out = np.full((m, a), np.inf)
    for j in range(a):
        order = np.argsort(points[:, j], kind="mergesort")
        total = 0.0
        for i in order:
            total += weights[i, j]
        parts = round((1.0 - unknown[j]) * m)
        if not (total > 0.0 and parts > 0):
            continue
        at, reached = 0, weights[order[0], j]
        for q in range(parts):
            target = (q + 0.5) / parts * total
            while reached < target and at < n - 1:
                at += 1
                reached += weights[order[at], j]
            out[q, j] = points[order[at], j]
    return out
