"""Leaf copies: a leaf with all it holds, copied to another tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine import kll
from mist.engine.capacity import new_state, reserve_cells
from mist.engine.kll import reserve_items
from mist.engine.leafmodel import kind_of, sorted_columns_of
from mist.engine.state import (
    BLOCK_SIZES,
    CAPS,
    EPOCH,
    N_CONSTANT,
    N_LEARNT,
    ObservedWeights,
    State,
    append_cells,
    leaf_cells,
)

Array = np.ndarray[Any, Any]

_OF_LEAF = ("weight_seen", "weight", "n_updates", "refresh_at", "epoch", "sketched", "prior_only")
_OF_CELL = ("weight", "mass", "count", "norm", "steps")
_OF_SKETCH = ("used", "levels", "flips", "median_at")


def one_leaf_state(state: State, leaf: int) -> State:
    """A state whose only leaf is a copy of a leaf of another state.

    What all leaves share (the scale of the columns, the totals of the classes) is copied as well.
    Proposals of mixture components are left out.

    Parameters
    ----------
    state : State
        The model; unchanged.
    leaf : int
        Index of the leaf in ``state.tree.leaves``.

    Returns
    -------
    State
        A tree of one leaf, which shares no memory with the model.
    """
    d = state.n_features
    size = None if state.sketch is None else int(state.sketch.plan[CAPS, 0])
    out = new_state(d, state.options, size, kind_of(state.model))
    kind_of(out.model).copy_settings(out, state)
    out.tree.nodes.mass[0] = state.tree.nodes.mass[0]
    out.tree.scale[:] = state.tree.scale
    shared = [EPOCH, N_CONSTANT, N_LEARNT]
    out.tree.counters[shared] = state.tree.counters[shared]
    out.tree = out.tree._replace(totals=state.tree.totals.copy())
    if state.observed is not None:
        out.observed = ObservedWeights(
            cell=np.zeros((len(out.tree.cells), d)),
            leaf=np.zeros((1, d)),
            scale=state.observed.scale.copy(),
            model=kind_of(out.model).observed(out),
        )
    copy_leaf(state, leaf, out, 0, with_proposals=False)
    return out


def copy_leaf(source: State, leaf: int, target: State, slot: int, *, with_proposals: bool) -> None:
    """Copy all that a leaf holds to an empty leaf of another state.

    Parameters
    ----------
    source : State
        Where the leaf is; unchanged.
    leaf : int
        Its index in ``source.tree.leaves``.
    target : State
        A state of the same columns and options, and with missing values counted if those of the
        source are; changed in place.
    slot : int
        Index in ``target.tree.leaves`` of a leaf without cells.
    with_proposals : bool
        Whether the proposals of mixture components are copied.
    """
    olds = leaf_cells(source.tree, leaf)
    reserve_cells(target, olds.size)
    # Read after `reserve_cells`. Cells keep the order of the chain, in which sums run over them.
    tree, old_tree = target.tree, source.tree
    news = append_cells(tree, slot, old_tree.cells.code[olds])
    for name in _OF_LEAF:
        tree.leaves[name][slot] = old_tree.leaves[name][leaf]
    for name in _OF_CELL:
        tree.cells[name][news] = old_tree.cells[name][olds]
    tree.spread[slot] = old_tree.spread[leaf]
    tree.stats[news] = old_tree.stats[olds]
    tree.products[news] = old_tree.products[olds]
    if target.observed is not None:
        assert source.observed is not None
        target.observed.cell[news] = source.observed.cell[olds]
        target.observed.leaf[slot] = source.observed.leaf[leaf]
    kind_of(target.model).copy_leaf(source, leaf, target, slot)
    for old, new in zip(olds.tolist(), news.tolist(), strict=True):
        # The sketch first: the leaf model copies its sorted columns into the block.
        if target.sketch is not None and old_tree.cells.start[old] >= 0:
            _copy_sketch(source, old, target, new)
        kind_of(target.model).copy_cell(source, old, target, new, with_proposals=with_proposals)


def _copy_sketch(source: State, old: int, target: State, new: int) -> None:
    """Copy the sketch of a cell to a cell without one, but not its sorted columns."""
    assert source.sketch is not None
    assert target.sketch is not None
    olds = source.tree.cells
    # A block of the same size: it is copied in full below.
    size = int(source.sketch.plan[BLOCK_SIZES, olds.size_class[old]])
    lacking = kll.block_lacking(target.tree, target.sketch, size)
    if lacking > 0:
        reserve_items(target, lacking)
    kll.new_sketch(target.tree, target.sketch, sorted_columns_of(target.model), new, size)
    cells = target.tree.cells
    for name in _OF_SKETCH:
        cells[name][new] = olds[name][old]
    here, there = int(cells.start[new]), int(olds.start[old])
    target.sketch.items[here : here + size] = source.sketch.items[there : there + size]
    for mine, other in (
        (target.sketch.sizes, source.sketch.sizes),
        (target.sketch.ends, source.sketch.ends),
        (target.sketch.medians, source.sketch.medians),
    ):
        mine[new] = other[old]
