"""Splitting a leaf: what the two children inherit.

Every class's mass is divided at the threshold. Its moments in the split column become those of a
Gaussian truncated there; in all other columns they stay (Eq. 3, Algorithm "Split with Bayesian
Inheritance" and the appendix "Truncated-Gaussian Moment Updates"), unless the inheritance is
"joint", see `mist.engine.joint`. The discount scales weights and masses, not means and variances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine import joint, kll
from mist.engine.budget import row_bytes
from mist.engine.capacity import bytes_for_cells, bytes_of_leaf, reserve_cells, reserve_nodes
from mist.engine.leafmodel import Side, kind_of
from mist.engine.state import (
    HIGH,
    LOW,
    M2,
    MEAN,
    N_CELLS,
    N_NODES,
    State,
    append_cells,
    clear_leaf,
    detach_cells,
    free_cells,
    leaf_cells,
    new_leaf,
    new_node,
)

LEAST_MASS = 0.5
"""A class with less inherited mass than this gets no cell at a child."""

_FAR, _TERMS = 8.0, 24
"""Beyond so many deviations from a mean, so many terms of the continued fraction are exact."""

_OUTSIDE = 1e18
"""Limit of a standardised threshold, in deviations."""

Array = np.ndarray[Any, Any]


def truncated_moments(
    mean: Array, variance: Array, v: float | Array, left: bool
) -> tuple[Array, Array]:
    """Mean and variance of Gaussians truncated at a threshold.

    Parameters
    ----------
    mean, variance : ndarray, shape (n,)
        Moments before truncation.
    v : float or ndarray, shape (n,)
        Threshold.
    left : bool
        Keep X <= v; otherwise X >= v.

    Returns
    -------
    mean, variance : ndarray, shape (n,)
        Moments of the part that is kept; with a variance of 0 both are unchanged.

    Notes
    -----
    phi(z)/Phi(z) is taken as sqrt(2/pi)/erfcx(-z/sqrt(2)), which is finite and accurate
    far out in either tail. Where little is left of a Gaussian, its moments are differences of
    nearly equal numbers; there they come from the continued fraction of phi(z)/Phi(z), which has no
    such differences. The mean is on the side that is kept, and the variance in [0, variance].

    Examples
    --------
    >>> m, s2 = truncated_moments(np.zeros(1), np.ones(1), 0.0, left=True)
    >>> print(m.round(4), s2.round(4))
    [-0.7979] [0.3634]
    """
    from scipy.special import erfcx

    deviation = np.sqrt(variance)
    # The right part is the left part of the mirrored Gaussian.
    sign = 1.0 if left else -1.0
    z = sign * standardised(v, mean, deviation, np.zeros_like(mean))
    near, x = np.maximum(z, -_FAR), np.maximum(-z, _FAR)
    hazard = math.sqrt(2 / math.pi) / erfcx(-near / math.sqrt(2))
    kept_mean = mean - sign * deviation * hazard
    kept_variance = np.clip(variance * (1 - hazard * (near + hazard)), 0, variance)
    rest = np.zeros_like(x)
    for k in range(_TERMS, 1, -1):
        rest = k / (x + rest)
    beyond = 1 / (x + rest)  # how far the mean is from the threshold, in deviations
    far = z < -_FAR
    kept_mean = np.where(far, v - sign * deviation * beyond, kept_mean)
    return kept_mean, np.where(far, variance * ((rest - beyond) * beyond), kept_variance)


def standardised(v: float | Array, mean: Array, deviation: Array, still: Array) -> Array:
    """Distance of a threshold from means in deviations; ``still`` where the deviation is 0."""
    with np.errstate(over="ignore"):
        z = np.divide(v - mean, deviation, out=still, where=deviation > 0)
    return np.clip(z, -_OUTSIDE, _OUTSIDE)


def fractions(mean: Array, variance: Array, v: float | Array) -> tuple[Array, Array]:
    """Share of every Gaussian on the left and on the right of a threshold."""
    from scipy.special import ndtr

    z = standardised(v, mean, np.sqrt(variance), np.where(mean <= v, np.inf, -np.inf))
    return ndtr(z), ndtr(-z)


def bytes_to_split(state: State, leaf: int) -> int:
    """Bytes that must be left before a leaf is split, without sketches of its children."""
    tree = state.tree
    cells = bytes_for_cells(state, _cells_to_split(state, leaf))
    nodes = 2 * row_bytes(tree.nodes) + bytes_of_leaf(state)
    return nodes + cells + kind_of(state.model).bytes_to_split(state, leaf)


def _cells_to_split(state: State, leaf: int) -> int:
    """Cells to reserve for two children; with a budget, without those on the free list."""
    tree, n = state.tree, 2 * int(state.tree.leaves.n_cells[leaf])
    if state.budget is None:
        return n
    used = int(tree.counters[N_CELLS])
    return max(0, n - int(np.count_nonzero(tree.cells.leaf[:used] < 0)))


def split_leaf(
    state: State, leaf: int, feature: int, v: float, inheritance: str | None, discount: float
) -> None:
    """Turn a leaf into a split with two leaves that inherit from it.

    Parameters
    ----------
    state : State
        The model; changed in place.
    leaf : int
        Index of the leaf in ``state.tree.leaves``.
    feature : int
        Split column, in internal order.
    v : float
        Threshold: x <= v goes left.
    inheritance : {"gaussian", "mass", "sketch", "joint", None}
        What the children get.
    discount : float
        Factor on the inherited weights (the paper's alpha), and but for "joint" on the masses.
    """
    # Capacity first, since both functions replace arrays. The cells of the parent are detached but
    # not freed before the children have inherited from them.
    reserve_nodes(state)
    reserve_cells(state, _cells_to_split(state, leaf))
    tree, observed, sketch = state.tree, state.observed, state.sketch
    cells, nodes, stats = tree.cells, tree.nodes, tree.stats
    parents = leaf_cells(tree, leaf)
    node = int(tree.leaves.node[leaf])
    left, right = new_node(tree, nodes.depth[node]), new_node(tree, nodes.depth[node])
    nodes.feature[node], nodes.threshold[node] = feature, v
    nodes.left[node], nodes.right[node], nodes.leaf[node] = left, right, -1

    weight = cells.weight[parents]
    seen = weight if observed is None else observed.cell[parents, feature]
    mean = stats[parents, MEAN, feature]
    variance = np.divide(stats[parents, M2, feature], seen, out=np.zeros_like(mean), where=seen > 0)
    numeric = feature < state.options.n_numeric
    shares = fractions(mean, variance, v) if numeric else (1 - mean, mean)
    together = inheritance == "joint"
    if together and numeric:
        left_share = joint.left_shares(state, parents, feature, v, shares[0])
        shares = (left_share, 1 - left_share)
    known = [share * seen for share in shares]
    # Rows without a value in the split column are counted on the heavier side, where `route` will
    # send them.
    takes_unknown = known[0].sum() >= known[1].sum()

    detach_cells(tree, leaf)
    for side, child in enumerate((left, right)):
        to_this_side = bool(takes_unknown == (side == 0))
        unknown = np.maximum(weight - seen, 0.0) if to_this_side else 0.0
        arrived = known[side] + unknown
        enough = (arrived if together else discount * arrived) >= LEAST_MASS
        kept = np.flatnonzero(enough) if inheritance else np.zeros(0, dtype=np.intp)
        prior_only = kept.size == 0
        # The left child takes over the record of the leaf.
        if side == 0:
            slot = leaf
            clear_leaf(tree, slot, child, prior_only)
        else:
            slot = new_leaf(tree, child, prior_only)
        kind_of(state.model).reset_leaf(state, slot)
        if observed is not None:
            observed.leaf[slot] = 0.0
        # Nothing worth inheriting: the child is prior-only until its first row comes.
        if prior_only:
            children = append_cells(tree, slot, cells.code[parents])
            cells.weight[children] = weight
            cells.mass[children] = cells.mass[parents]
            if observed is not None:
                observed.cell[children] = 0.0
            continue
        old = parents[kept]
        children = append_cells(tree, slot, cells.code[old])
        inherited = discount * arrived[kept]
        ratio = inherited / weight[kept]
        own = discount * known[side][kept]
        cells.weight[children] = inherited
        # With "joint" masses are not discounted: that would make old classes improbable.
        share = arrived[kept] / weight[kept] if together else ratio
        cells.mass[children] = cells.mass[old] * share
        stats[children, MEAN] = stats[old, MEAN]
        stats[children, M2] = stats[old, M2] * ratio[:, None]
        if numeric:
            new_mean, new_variance = mean[kept], variance[kept]
            if inheritance != "mass":
                new_mean, new_variance = truncated_moments(new_mean, new_variance, v, side == 0)
            if inheritance == "sketch" and sketch is not None:
                new_mean = _sketch_means(tree, sketch, old, feature, v, side, new_mean)
        else:
            new_mean, new_variance = np.full(kept.size, float(side)), np.zeros(kept.size)
        if observed is not None:
            observed.cell[children] = observed.cell[old] * ratio[:, None]
            observed.cell[children, feature] = own
            observed.leaf[slot] = observed.cell[children].sum(axis=0)
        stats[children, MEAN, feature] = np.where(own > 0, new_mean, 0.0)
        stats[children, M2, feature] = np.where(own > 0, new_variance, 0.0) * own
        this = Side(feature, v, side == 0, to_this_side)
        if together:
            joint.inherit(state, slot, old, children, this)
        else:
            kind_of(state.model).inherit(state, old, children, this, None)
        # Summed only now: the leaf model may have changed the moments.
        tree.leaves.weight[slot] = cells.weight[children].sum()
        tree.spread[slot] = stats[children, M2].sum(axis=0)
        nodes.mass[child] = cells.mass[children].sum()
        kind_of(state.model).refresh(state, slot)
    give_back(state, parents)


def give_back(state: State, detached: Array) -> None:
    """Free detached cells with their sketches and what the leaf model keeps for them."""
    for cell in detached.tolist():
        if state.sketch is not None:
            kll.free_sketch(state.tree, state.sketch, cell)
        kind_of(state.model).release(state, cell)
    free_cells(state.tree, detached)


def _sketch_means(
    tree: Any, sketch: Any, parents: Array, feature: int, v: float, side: int, fallback: Array
) -> Array:
    """Child means from the parent's quantiles (appendix, SketchInherit)."""
    out = fallback.copy()
    cells, ends = tree.cells, sketch.ends
    for i, cell in enumerate(parents):
        if cells.start[cell] < 0 or not ends[cell, LOW, feature] <= ends[cell, HIGH, feature]:
            continue
        values, weights = np.empty(cells.used[cell]), np.empty(cells.used[cell])
        r = kll.rank(cells, sketch, cell, feature, v)
        q = r / 2 if side == 0 else r + (1 - r) / 2
        q = min(max(q, 0.01), 0.99)
        out[i] = kll.quantile(cells, sketch, cell, feature, q, values, weights)
    return out


def n_splits(state: State) -> int:
    """Number of splits of the tree."""
    return (int(state.tree.counters[N_NODES]) - 1) // 2
