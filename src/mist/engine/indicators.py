"""0/1 columns of texts that come late: they were 0 in all earlier rows.

Each text of a text column has a 0/1 column, its *indicator*. Earlier rows that had another text
have a 0 in the indicator of a new one, and rows without a text have no value. The *siblings* of the
new column, which are the indicators of texts that are known already, say which rows had a text:
their column weights become those of the new column. Without siblings no earlier row had a text.

A column of zeros has the mean 0 and no deviations, so sums and means are exactly those of a tree
that has had the column from the first row on. Of caches, only the terms of the new columns are
added; the others stay as old as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mist.engine.arrays import wider
from mist.engine.capacity import reserve_observed
from mist.engine.leafmodel import kind_of
from mist.engine.state import N_CONSTANT, PREC, State

Array = np.ndarray[Any, Any]

__all__ = ["add_indicators"]


def add_indicators(
    state: State, siblings: Sequence[Sequence[int]], above: frozenset[int] = frozenset()
) -> None:
    """Add 0/1 columns behind all others.

    Parameters
    ----------
    state : State
        The model; changed in place.
    siblings : sequence of sequence of int
        For each new column its siblings in internal order, the oldest first; empty if all earlier
        rows are missing in it.
    above : frozenset of int, default=frozenset()
        Split columns above the root of the tree.
    """
    if state.observed is None and state.tree.nodes.mass[0] > 0.0 and not all(siblings):
        reserve_observed(state)
    tree, d, n_more = state.tree, state.n_features, len(siblings)
    # Candidate splits hold copies of their leaf, which get the columns as well.
    for leaf, used in _split_columns(tree, above):
        if leaf in state.candidate_splits:
            batch = state.candidate_splits[leaf]
            for candidate in batch.candidates:
                add_indicators(candidate.state, siblings, used)
            state.candidate_splits[leaf] = batch._replace(used=wider(batch.used, n_more, d))
    beside = _siblings_of_leaves(state, siblings, above)
    of_cells = beside[tree.cells.leaf]
    kind_of(state.model).add_indicators(state, of_cells)
    _widen_observed(state, siblings, beside, of_cells)
    _widen_tree(state, n_more)


def column_weights(weights: Array, siblings: Array) -> Array:
    """Column weights of the new columns: those of siblings, and 0 without one.

    Parameters
    ----------
    weights : ndarray of float64, shape (n, d)
        Column weights.
    siblings : ndarray of int64, shape (n, n_more)
        The sibling of each new column, -1 for none.

    Returns
    -------
    ndarray of float64, shape (n, n_more)

    Examples
    --------
    >>> column_weights(np.array([[5.0, 3.0], [7.0, 2.0]]), np.array([[1, -1], [0, 1]]))
    array([[3., 0.],
           [7., 2.]])
    """
    found = np.take_along_axis(weights, np.maximum(siblings, 0), axis=1)
    return np.where(siblings >= 0, found, 0.0)


def _split_columns(tree: Any, above: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
    """Leaves with the columns that are split above them."""
    stack, nodes = [(0, above)], tree.nodes
    while stack:
        node, used = stack.pop()
        if nodes.feature[node] < 0:
            yield int(nodes.leaf[node]), used
            continue
        used = used | {int(nodes.feature[node])}
        stack += [(int(nodes.left[node]), used), (int(nodes.right[node]), used)]


def _siblings_of_leaves(
    state: State, siblings: Sequence[Sequence[int]], above: frozenset[int]
) -> Array:
    """The sibling of each new column at each leaf, shape (leaves, n_more); -1 without one.

    A split sends all rows without a value to one side, and there column weights of the split column
    differ from those of its siblings. So the first sibling is taken that was not split, if any.
    """
    out = np.empty((len(state.tree.leaves), len(siblings)), np.int64)
    out[:] = [known[0] if known else -1 for known in siblings]
    if state.observed is not None:
        for leaf, used in _split_columns(state.tree, above):
            for k, known in enumerate(siblings):
                out[leaf, k] = next((j for j in known if j not in used), out[leaf, k])
    return out


def _widen_observed(
    state: State, siblings: Sequence[Sequence[int]], beside: Array, of_cells: Array
) -> None:
    """Add the column weights of the new columns."""
    observed, d, n_more = state.observed, state.n_features, len(siblings)
    if observed is None:
        return
    cell, leaf, scale = (
        wider(array, n_more, d) for array in (observed.cell, observed.leaf, observed.scale)
    )
    cell[:, d:] = column_weights(observed.cell, of_cells)
    leaf[:, d:] = column_weights(observed.leaf, beside)
    # The root has all rows, before any split.
    scale[d:] = [observed.scale[known[0]] if known else 0.0 for known in siblings]
    state.observed = observed._replace(cell=cell, leaf=leaf, scale=scale)


def _widen_tree(state: State, n_more: int) -> None:
    """Add columns of zeros; their column weights are known."""
    tree, observed, d = state.tree, state.observed, state.n_features
    stats = wider(tree.stats, n_more, d)
    known = np.repeat(tree.cells.weight[:, None], n_more, axis=1)
    if observed is not None:
        known = observed.cell[:, d:]
    # As in `mist.engine.moments.refresh_cell`, with no ones.
    stats[:, PREC, d:] = -np.log(known + 1.0)
    tree.cells.norm[:] += np.log((known + 1.0) / (known + 2.0)).sum(axis=1)
    tree.counters[N_CONSTANT] += n_more
    state.tree = tree._replace(
        spread=wider(tree.spread, n_more, d), stats=stats, scale=wider(tree.scale, n_more, d)
    )
