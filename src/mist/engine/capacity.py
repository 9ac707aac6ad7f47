"""A new state, and how its arrays grow: by a quarter, so that at most a fifth is spare."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.arrays import grown
from mist.engine.arrays import wider as with_columns
from mist.engine.budget import row_bytes
from mist.engine.leafmodel import LeafModel, kind_of
from mist.engine.records import new_records
from mist.engine.state import (
    CELL,
    FIRST_BLOCK,
    FREE_CELL,
    HIGH,
    LAST_BLOCK,
    LEAF,
    LEVELS,
    N_CELLS,
    N_CONSTANT,
    N_LEAVES,
    N_NODES,
    NODE,
    TOTALS,
    ObservedWeights,
    Options,
    Sketch,
    State,
    Tree,
    new_leaf,
    new_node,
    packed_size,
    rebuild_table,
    sketch_plan,
)


def new_state(n_features: int, options: Options, sketch_size: int | None, kind: LeafModel) -> State:
    """State of a model that has learnt nothing.

    Parameters
    ----------
    n_features : int
        Number of columns.
    options : Options
        Numbers for the compiled code.
    sketch_size : int or None
        Capacity k of the quantile sketches; None for a model without sketches.
    kind : LeafModel
        The leaf model.

    Returns
    -------
    State
        One leaf, the root, without any cell.
    """
    d, n_cells = n_features, 2
    tree = Tree(
        nodes=new_records(1, NODE),
        leaves=new_records(1, LEAF),
        spread=np.zeros((1, d)),
        cells=new_records(n_cells, CELL),
        stats=np.zeros((n_cells, 3, d)),
        products=np.zeros((n_cells, packed_size(options.n_numeric) if options.products else 0)),
        table=np.full(2 * n_cells, -1, np.int32),  # a power of two, see `reserve_cells`
        scale=np.zeros((2, d)),
        counters=np.zeros(11, np.int64),
        totals=np.zeros(0),
    )
    tree.counters[N_CONSTANT] = d
    tree.counters[[FREE_CELL, FIRST_BLOCK, LAST_BLOCK]] = -1
    sketch = None
    if sketch_size is not None and options.n_numeric > 0:
        sketch = _new_sketch(options, sketch_size, n_cells)
    state = State(tree, None, sketch, kind.new(options, n_features), options)
    new_leaf(tree, new_node(tree, -1), 0)
    return state


def _new_sketch(options: Options, sketch_size: int, n_cells: int) -> Sketch:
    """An empty pool, with records for so many cells."""
    n, plan = options.n_numeric, sketch_plan(sketch_size)
    narrow = plan[TOTALS].max() <= np.iinfo(np.int16).max
    return Sketch(
        items=np.zeros((0, n), options.precision),
        sizes=np.zeros((n_cells, LEVELS), np.int16 if narrow else np.int32),
        ends=np.zeros((n_cells, 2, n), options.precision),
        medians=np.zeros((n_cells, n), options.precision),
        plan=plan,
    )


# Each function replaces arrays through attributes of the state, so the handle is renewed. Code that
# has `state.tree`, `state.sketch` or `state.model` in a variable must read it again after a call.


def next_size(n: int, needed: int, *, large: bool = False) -> int:
    """Return n, increased by a quarter at a time (an eighth if ``large``) until it suffices."""
    while n < needed:
        n += max(1, n // 8) if large else max(2, n // 4)
    return n


def size_for(state: State, n: int, needed: int, each: int, *, large: bool = False) -> int:
    """`next_size` for entries of so many bytes; with a budget, no more to spare than it allows."""
    size = next_size(n, needed, large=large)
    if state.budget is None or size == n:
        return size
    spare = state.budget.spare(state, (needed - n) * each) // max(each, 1)
    return min(size, needed + int(spare))


def bytes_of_leaf(state: State) -> int:
    """Bytes that one more leaf takes."""
    tree, observed = state.tree, state.observed
    seen = 0 if observed is None else row_bytes(observed.leaf)
    return row_bytes(tree.leaves, tree.spread) + seen + kind_of(state.model).bytes_of_leaf(state)


def bytes_of_cell(state: State) -> int:
    """Bytes that one more cell takes, without what the leaf model takes from a pool."""
    tree, observed, sketch = state.tree, state.observed, state.sketch
    seen = 0 if observed is None else row_bytes(observed.cell)
    rows = 0 if sketch is None else row_bytes(sketch.sizes, sketch.ends, sketch.medians)
    own = row_bytes(tree.cells, tree.stats, tree.products)
    return own + seen + rows + kind_of(state.model).bytes_of_cell(state)


def bytes_for_cells(state: State, n_more: int) -> int:
    """Bytes that must be left before so many cells can be reserved."""
    n = int(state.tree.counters[N_CELLS]) + n_more
    lacking = n - len(state.tree.cells)
    if lacking <= 0:
        return 0
    size, table = state.tree.table.size, 0
    while size < 2 * n:
        table, size = table + size * state.tree.table.itemsize, 2 * size
    return lacking * bytes_of_cell(state) + table


def reserve_nodes(state: State) -> None:
    """Reserve the two nodes and the one leaf that a split adds."""
    tree = state.tree
    nodes, leaves = int(tree.counters[N_NODES]) + 2, int(tree.counters[N_LEAVES]) + 1
    n_nodes = size_for(state, len(tree.nodes), nodes, row_bytes(tree.nodes))
    n_leaves = size_for(state, len(tree.leaves), leaves, bytes_of_leaf(state))
    state.tree = tree._replace(
        nodes=grown(tree.nodes, n_nodes),
        leaves=grown(tree.leaves, n_leaves),
        spread=grown(tree.spread, n_leaves),
    )
    if state.observed is not None:
        state.observed = state.observed._replace(leaf=grown(state.observed.leaf, n_leaves))
    kind_of(state.model).reserve_leaves(state, n_leaves)


def reserve_cells(state: State, n_more: int) -> None:
    """Reserve so many new cells beyond those in use and those on the free list."""
    tree = state.tree
    needed = int(tree.counters[N_CELLS]) + n_more
    n = size_for(state, len(tree.cells), needed, bytes_of_cell(state))
    if n == len(tree.cells):
        return
    # A power of two, so that probing wraps by a mask; at most half full, so that probes are short
    # and always end at an empty slot.
    size = tree.table.size
    while size < 2 * n:
        size *= 2
    state.tree = tree._replace(
        cells=grown(tree.cells, n),
        stats=grown(tree.stats, n),
        products=grown(tree.products, n),
        table=np.full(size, -1, np.int32),
    )
    rebuild_table(state.tree)
    if state.observed is not None:
        state.observed = state.observed._replace(cell=grown(state.observed.cell, n))
    if state.sketch is not None:
        s = state.sketch
        state.sketch = s._replace(
            sizes=grown(s.sizes, n), ends=grown(s.ends, n), medians=grown(s.medians, n)
        )
    kind_of(state.model).reserve_cells(state, n)


def reserve_codes(state: State, n_codes: int) -> None:
    """Reserve the totals of so many classes."""
    totals = state.tree.totals
    if n_codes > len(totals):
        # With a budget there is nothing to spare: it counts the classes.
        n = n_codes if state.budget is not None else next_size(len(totals), n_codes)
        state.tree = state.tree._replace(totals=grown(totals, n))


def reserve_observed(state: State) -> None:
    """Start the column weights: so far nothing was missing, so each is the weight of all rows."""
    tree, d = state.tree, state.n_features
    state.observed = ObservedWeights(
        cell=np.repeat(tree.cells.weight[:, None], d, axis=1),
        leaf=np.repeat(tree.leaves.weight[:, None], d, axis=1),
        scale=np.repeat(tree.nodes.mass[0], d),
        model=kind_of(state.model).observed(state),
    )


def widen(state: State, n_more: int, sketch_size: int | None) -> None:
    """Add numeric columns that no row has had so far: all their values are missing.

    They are inserted behind the numeric columns and before the 0/1 columns.
    """
    if state.observed is None:
        reserve_observed(state)
    kind_of(state.model).widen(state, n_more)
    tree, observed, sketch = state.tree, state.observed, state.sketch
    assert observed is not None
    at = state.options.n_numeric

    def wider(array: Any, fill: float = 0.0) -> Any:
        return with_columns(array, n_more, at, fill=fill)

    # Candidate splits hold copies of their leaf, which get the columns as well.
    for leaf, batch in state.candidate_splits.items():
        for candidate in batch.candidates:
            widen(candidate.state, n_more, sketch_size)
        state.candidate_splits[leaf] = batch._replace(used=wider(batch.used))
    # 0/1 columns move up by `n_more`; -1 stays.
    for columns in (tree.nodes.feature, tree.leaves.best, tree.leaves.second):
        columns[columns >= at] += n_more
    tree.counters[N_CONSTANT] += n_more
    products = tree.products
    # Packed row after row, so that entries of further columns go at the end.
    if state.options.products:
        more = packed_size(at + n_more) - products.shape[1]
        products = np.concatenate([products, np.zeros((len(products), more))], axis=1)
    state.tree = tree._replace(
        spread=wider(tree.spread),
        stats=wider(tree.stats),
        scale=wider(tree.scale),
        products=products,
    )
    state.observed = observed._replace(
        cell=wider(observed.cell), leaf=wider(observed.leaf), scale=wider(observed.scale)
    )
    state.options = state.options._replace(n_numeric=at + n_more)
    if sketch is None:
        if sketch_size is not None:
            state.sketch = _new_sketch(state.options, sketch_size, len(tree.cells))
        return
    # +inf is a missing value; ends that no value has reached are +inf and -inf.
    ends = wider(sketch.ends, np.inf)
    ends[:, HIGH, at:] = -np.inf
    items = wider(sketch.items, np.inf)
    state.sketch = sketch._replace(items=items, ends=ends, medians=wider(sketch.medians, np.nan))
