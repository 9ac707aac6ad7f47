"""Merging two trees: adding what another tree has learnt.

Weights, masses, counts and moments are sums, and are added exactly but for rounding. Sketches are
merged within their error (`mist.engine.kll_merge`). What leaf models keep is merged exactly for
Gaussian leaves and for classes with one component at a leaf ("full"), and approximately for
mixtures (`mist.engine.reduction`) and covariances of low rank.

If both trees have the same splits, leaves are added to leaves. Else a leaf is sent down the other
tree as if it were split there: what it holds is divided at every threshold that cuts its region.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine import kll_merge
from mist.engine.arrays import per
from mist.engine.capacity import reserve_cells, reserve_observed
from mist.engine.conformity import count_masses, merge_scores, reserve_classes
from mist.engine.fork import bare
from mist.engine.inheritance import give_back, split_leaf
from mist.engine.leaf_copy import one_leaf_state
from mist.engine.leafmodel import kind_of
from mist.engine.mixture_upkeep import scale_components
from mist.engine.state import (
    EPOCH,
    M2,
    MEAN,
    N_CONSTANT,
    N_LEARNT,
    N_LEAVES,
    N_NODES,
    State,
    append_cells,
    detach_cells,
    leaf_cells,
)

Array = np.ndarray[Any, Any]


def merged(
    state: State, other: State, codes: Array, n_codes: int, inheritance: str | None
) -> State:
    """A tree with what two trees have learnt, and with the splits of the one with more leaves.

    Where a leaf or component learns something, its candidate splits and proposals end.

    Parameters
    ----------
    state : State
        A model. It is changed in place and returned, unless it has fewer leaves.
    other : State
        A model of the same columns, options and kind of leaf; unchanged.
    codes : ndarray of int64, shape (codes of ``other``,)
        Code in ``state`` of every class of ``other``.
    n_codes : int
        Number of classes that are known now.
    inheritance : str or None
        How a leaf is divided where the trees differ, see `mist.engine.inheritance.split_leaf`;
        None means "gaussian" here, so that nothing is lost.

    Returns
    -------
    State
        ``state``, or a new one with the splits of ``other``. If one of them is a fork, the splits
        of ``state`` stay.
    """
    reserve_classes(state, n_codes)
    n_leaves, others = (int(s.tree.counters[N_LEAVES]) for s in (state, other))
    if others <= n_leaves or state.began is not None or other.began is not None:
        _merge(state, other, codes, inheritance or "gaussian")
        return state
    out = merged(bare(other, state.options), other, codes, n_codes, inheritance)
    return merged(out, state, np.arange(n_codes), n_codes, inheritance)


def same_splits(one: State, other: State) -> bool:
    """Whether two trees have the same nodes."""
    n, m = (int(s.tree.counters[N_NODES]) for s in (one, other))
    mine, theirs = one.tree.nodes[:n], other.tree.nodes[:m]
    names = ("feature", "left", "right", "leaf")
    if n != m or any((mine[name] != theirs[name]).any() for name in names):
        return False
    inner = mine.feature >= 0
    return bool((mine.threshold[inner] == theirs.threshold[inner]).all())


def _merge(state: State, other: State, codes: Array, inheritance: str) -> None:
    """Add what ``other`` has learnt to ``state``, whose splits stay."""
    if other.observed is not None and state.observed is None:
        reserve_observed(state)
    _add_shared(state, other, codes)
    alike = same_splits(state, other)
    if alike:
        # A fork has begun with the masses of the model, which must not be added twice. The root is
        # left to `_add_shared`.
        n = int(other.tree.counters[N_NODES])
        learnt = other.tree.nodes.mass[:n] - (0.0 if other.began is None else other.began)
        state.tree.nodes.mass[1:n] += learnt[1:]
    for leaf in range(int(other.tree.counters[N_LEAVES])):
        # A prior-only leaf has masses of its parent and no rows: nothing to add.
        if other.tree.leaves.prior_only[leaf] or other.tree.leaves.first[leaf] < 0:
            continue
        if alike:
            merge_leaf(state, leaf, other, leaf, codes)
        else:
            part, region = one_leaf_state(other, leaf), _region(other, leaf)
            # A leaf of a fork is sent with what it has learnt, without the shares it began with.
            if other.carried is not None:
                _weigh_as_learnt(part)
            _send(state, 0, part, region, codes, inheritance)
    # All leaves: caches depend on the scale of the columns over all rows, too.
    for leaf in range(int(state.tree.counters[N_LEAVES])):
        if not state.tree.leaves.prior_only[leaf]:
            kind_of(state.model).refresh(state, leaf)
    if state.conformity is not None:
        merge_scores(state.conformity, other.conformity, codes)
        count_masses(state.tree, state.conformity.held)


def _weigh_as_learnt(part: State) -> None:
    """Scale mixtures to the masses that their classes have learnt, without the fork's shares."""
    for cell in leaf_cells(part.tree, 0).tolist():
        if part.tree.cells.mass[cell] > 0.0:
            share = part.tree.cells.mass[cell] / part.model.cells.total[cell]
            scale_components(part, cell, share, share)


def _add_shared(state: State, other: State, codes: Array) -> None:
    """Add what does not depend on leaves: column scales, root mass, rows and class totals."""
    tree, theirs = state.tree, other.tree
    scale = tree.scale
    # Before the root's mass is added: it is the weight behind the scale.
    n, m = _known_in_all(state), _known_in_all(other)
    scale[MEAN], gained = _chan(n, scale[MEAN], m, theirs.scale[MEAN], theirs.scale[M2])
    scale[M2] += gained
    tree.nodes.mass[0] += theirs.nodes.mass[0]
    tree.counters[N_LEARNT] += theirs.counters[N_LEARNT]
    if state.observed is not None:
        state.observed.scale[:] = n + m
    if state.options.balanced:
        totals = theirs.totals[: len(codes)]
        tree.totals[codes[: len(totals)]] += totals
    constant = np.count_nonzero(scale[M2] == 0.0)
    if constant < tree.counters[N_CONSTANT]:
        tree.counters[N_CONSTANT] = constant
        tree.counters[EPOCH] += 1


def merge_leaf(state: State, leaf: int, other: State, other_leaf: int, codes: Array) -> None:
    """Add to a leaf all that a leaf of another tree holds."""
    # As at the first row of a prior-only leaf, the masses of the parent go.
    if state.tree.leaves.prior_only[leaf]:
        olds = leaf_cells(state.tree, leaf)
        detach_cells(state.tree, leaf)
        give_back(state, olds)
        state.tree.leaves.prior_only[leaf] = 0
    theirs = leaf_cells(other.tree, other_leaf)
    if other.carried is None:
        theirs = theirs[other.tree.cells.weight[theirs] > 0.0]
    wanted = codes[other.tree.cells.code[theirs]]
    here = leaf_cells(state.tree, leaf)
    new = np.setdiff1d(wanted, state.tree.cells.code[here], assume_unique=True)
    # In the order of the other leaf's chain; `setdiff1d` has sorted them.
    new = wanted[np.isin(wanted, new)]
    reserve_cells(state, new.size)
    added = append_cells(state.tree, leaf, new)
    if state.observed is not None:
        state.observed.cell[added] = 0.0
    here = np.concatenate([here, added])
    place = dict(zip(state.tree.cells.code[here].tolist(), here.tolist(), strict=True))
    for code, theirs_cell in zip(wanted.tolist(), theirs.tolist(), strict=True):
        merge_cell(state, place[code], other, theirs_cell)
    leaves, others = state.tree.leaves, other.tree.leaves
    for name in ("weight_seen", "weight", "n_updates"):
        leaves[name][leaf] += others[name][other_leaf]
    leaves.refresh_at[leaf] = leaves.n_updates[leaf] + 1
    end_candidates(state, leaf)


def end_candidates(state: State, leaf: int) -> None:
    """End the candidate splits of a leaf.

    The number of the batch stays: the next ones, which may open at once, need as much evidence as
    if these had failed.
    """
    batch = state.candidate_splits.get(leaf)
    if batch is not None:
        state.candidate_splits[leaf] = batch._replace(candidates=(), opened=-np.inf)


def merge_cell(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add to a cell what another tree's cell knows of the same class."""
    # Moments first: they are weighted by what the cell weighs before the sum.
    _add_moments(state, cell, other, other_cell)
    for name in ("weight", "mass", "count", "steps"):
        state.tree.cells[name][cell] += other.tree.cells[name][other_cell]
    kll_merge.merge_sketch(state, cell, other, other_cell)
    kind_of(state.model).merge(state, cell, other, other_cell)


def _send(
    state: State,
    node: int,
    part: State,
    region: tuple[Array, Array],
    codes: Array,
    inheritance: str,
) -> None:
    """Send what a tree of one leaf holds down from a node, divided where a threshold cuts it.

    Parameters
    ----------
    state : State
        The model; changed in place.
    node : int
        Node to start from.
    part : State
        The tree of one leaf.
    region : tuple of ndarray, shape (d,)
        Its rows are above the first and at most at the second array, column by column.
    codes, inheritance
        As for `merged`.
    """
    nodes = state.tree.nodes
    feature, v = int(nodes.feature[node]), float(nodes.threshold[node])
    if feature < 0:
        merge_leaf(state, int(nodes.leaf[node]), part, 0, codes)
        return
    low, high = region
    if high[feature] <= v:
        parts = [(int(nodes.left[node]), part, region)]
    elif low[feature] >= v:
        parts = [(int(nodes.right[node]), part, region)]
    else:
        # Leaves 0 and 1 of `part` are now the children; a prior-only child has nothing to add.
        split_leaf(part, 0, feature, v, inheritance, 1.0)
        below, above = high.copy(), low.copy()
        below[feature] = above[feature] = v
        regions = (low, below), (above, high)
        children = int(nodes.left[node]), int(nodes.right[node])
        parts = [
            (child, one_leaf_state(part, slot), area)
            for child, slot, area in zip(children, (0, 1), regions, strict=True)
            if not part.tree.leaves.prior_only[slot]
        ]
    for child, piece, area in parts:
        state.tree.nodes.mass[child] += piece.tree.cells.mass[leaf_cells(piece.tree, 0)].sum()
        _send(state, child, piece, area, codes, inheritance)


def _region(state: State, leaf: int) -> tuple[Array, Array]:
    """Region of a leaf: its rows are above the first and at most at the second array, by column."""
    nodes, d = state.tree.nodes, state.n_features
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    node = int(state.tree.leaves.node[leaf])
    while node > 0:
        above = np.flatnonzero((nodes.left == node) | (nodes.right == node))
        parent = int(above[nodes.feature[above] >= 0][0])
        feature, v = nodes.feature[parent], nodes.threshold[parent]
        if nodes.left[parent] == node:
            high[feature] = min(high[feature], v)
        else:
            low[feature] = max(low[feature], v)
        node = parent
    return low, high


def _known_in_all(state: State) -> Array:
    """Weight of the values of every column over all rows, shape (d,)."""
    if state.observed is not None:
        known: Array = state.observed.scale
        return known.copy()
    return np.full(state.n_features, state.tree.nodes.mass[0])


def _known(state: State, cell: int) -> Array:
    """Weight behind a cell's moments, shape (d,)."""
    if state.observed is not None:
        known: Array = state.observed.cell[cell]
        return known.copy()
    return np.full(state.n_features, state.tree.cells.weight[cell])


def _chan(
    n: Array, mean: Array, m: Array, other_mean: Array, other_m2: Array
) -> tuple[Array, Array]:
    """Mean of two groups of weights n and m, and what is added to the first group's M2."""
    delta = other_mean - mean
    share = per(m, n + m)
    return mean + delta * share, other_m2 + delta * delta * (n * share)


def _add_moments(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's moments to those of another cell and of its leaf."""
    tree = state.tree
    stats, leaf = tree.stats, tree.cells.leaf[cell]
    mean, m2 = other.tree.stats[other_cell, MEAN], other.tree.stats[other_cell, M2]
    more = _known(other, other_cell)
    # Products need both means as they were.
    if state.options.products:
        _add_products(state, cell, other, other_cell)
    stats[cell, MEAN], gained = _chan(_known(state, cell), stats[cell, MEAN], more, mean, m2)
    stats[cell, M2] += gained
    tree.spread[leaf] += gained
    if state.observed is not None:
        state.observed.cell[cell] += more
        state.observed.leaf[leaf] += more


def _add_products(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's products of deviations to those of another cell, before the means are merged."""
    a = state.options.n_numeric
    rows, columns = np.tril_indices(a)
    pairs = []
    for s, c in ((state, cell), (other, other_cell)):
        # Weight of rows with both values, as if values were missing independently.
        known, weight = _known(s, c)[:a], s.tree.cells.weight[c]
        pairs.append(known[rows] * known[columns] / weight if weight > 0.0 else np.zeros(len(rows)))
    delta = other.tree.stats[other_cell, MEAN, :a] - state.tree.stats[cell, MEAN, :a]
    between = delta[rows] * delta[columns] * per(pairs[0] * pairs[1], pairs[0] + pairs[1])
    state.tree.products[cell] += other.tree.products[other_cell] + between
