"""A passage of rows through the compiled loop, and the room that it asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.capacity import reserve_cells
from mist.engine.kll import reserve_items, widen_block
from mist.engine.leafmodel import kind_of
from mist.engine.state import State
from mist.engine.stream import ATTEMPT, DONE, FULL_CELLS, FULL_ITEMS, Notes, run

Array = np.ndarray[Any, Any]


def advance(
    state: State,
    X: Array,
    codes: Array,
    weights: Array,
    start: int,
    ranks: Array,
    out: Array | None = None,
    shares: Array | None = None,
    notes: Notes | None = None,
) -> tuple[int, int]:
    """Learn rows from ``start`` on until the loop comes back, and do what it came back for.

    Parameters and shapes as in `mist.engine.stream.run`.

    Returns
    -------
    row, leaf : int
        First row not yet learnt, and the leaf that is due for a split attempt or -1.
    """
    row, reason, detail = state.handle.call(
        run, X, codes, weights, start, ranks, out, shares, notes
    )
    return row, answer(state, reason, detail)


def answer(state: State, reason: int, detail: int) -> int:
    """Do what the loop came back for; returns the leaf that is due for a split attempt or -1."""
    if reason in (DONE, ATTEMPT):
        return detail if reason == ATTEMPT else -1
    with state.changing():
        return _attend(state, reason, detail)


def _attend(state: State, reason: int, detail: int) -> int:
    if reason == FULL_CELLS:
        reserve_cells(state, 1)
        kind_of(state.model).reserve_row(state)
    elif reason == FULL_ITEMS:
        # Below 0 stands a cell whose block is full.
        if detail < 0:
            widen_block(state, ~detail)
        else:
            reserve_items(state, detail)
    else:
        kind_of(state.model).tend(state, detail)
        return _due(state, int(state.tree.cells.leaf[detail]))
    return -1


def _due(state: State, leaf: int) -> int:
    """The leaf, if a split attempt is due there; else -1."""
    leaves = state.tree.leaves
    tried = leaves.rows[leaf] // state.options.grace_period
    return leaf if tried > leaves.tried[leaf] else -1
