"""The driver of the loop over rows: runs it until it returns, and serves its request.

`mist.engine.row_loops.run` returns when an array is full, a leaf is due for a split attempt or the
leaf model needs rare work. The driver does all of that but the split attempts, which are left to
`mist.engine.growth`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine import sketch_budget
from mist.engine.capacity import bytes_for_cells, reserve_cells
from mist.engine.kll import reserve_items, widen_block
from mist.engine.leafmodel import kind_of
from mist.engine.row_loops import ATTEMPT, DONE, FULL_CELLS, FULL_ITEMS, Outputs, run
from mist.engine.state import State

Array = np.ndarray[Any, Any]


def run_until_request(
    state: State,
    X: Array,
    codes: Array,
    weights: Array,
    start: int,
    ranks: Array,
    outputs: Outputs | None = None,
) -> tuple[int, int]:
    """Learn rows from ``start`` on until the loop returns, and serve its request.

    Parameters as in `mist.engine.row_loops.run`, with the state in place of its handle.

    Returns
    -------
    row, leaf : int
        First row not yet learnt, and the leaf that is due for a split attempt or -1.
    """
    row, reason, detail = state.handle.call(run, X, codes, weights, start, ranks, outputs)
    return row, serve_request(state, reason, detail)


def serve_request(state: State, reason: int, detail: int) -> int:
    """Serve the request of the loop; returns the leaf that is due for a split attempt, or -1.

    Parameters
    ----------
    state : State
        The model; changed in place.
    reason, detail : int
        As `mist.engine.row_loops.run` returned them.
    """
    if reason in (DONE, ATTEMPT):
        return detail if reason == ATTEMPT else -1
    with state.changing():
        return _serve(state, reason, detail)


def _serve(state: State, reason: int, detail: int) -> int:
    """Enlarge arrays, or let the leaf model do its rare work; returns as `serve_request`."""
    if reason == FULL_CELLS:
        # The loop does not say whether cells or components were full, so both are reserved.
        if state.budget is None or _make_room_for_row(state):
            reserve_cells(state, 1)
        kind_of(state.model).reserve_row(state)
    elif reason == FULL_ITEMS:
        if state.budget is not None and not sketch_budget.may_grow(state, detail):
            return -1
        # A negative detail is the complement of the cell whose block is full.
        if detail < 0:
            widen_block(state, ~detail)
        else:
            reserve_items(state, detail)
    else:
        # After `CELL_DUE` the loop has not checked the grace period of the leaf.
        kind_of(state.model).on_cell_due(state, detail)
        return _due(state, int(state.tree.cells.leaf[detail]))
    return -1


def _make_room_for_row(state: State) -> bool:
    """Make room for what a row lacks; returns whether that is a cell.

    If a component is lacking it comes first. The loop asks again if it needs a cell as well.
    """
    wanted = kind_of(state.model).bytes_for_row(state)
    lacks_cell = wanted == 0
    state.budget.make_room(state, bytes_for_cells(state, 1) if lacks_cell else wanted)
    return lacks_cell


def _due(state: State, leaf: int) -> int:
    """The leaf, if a split attempt is due there; else -1."""
    leaves = state.tree.leaves
    tried = leaves.weight_seen[leaf] // state.options.grace_period
    return leaf if tried > leaves.tried[leaf] else -1
