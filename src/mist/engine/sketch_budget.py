"""Sketches under a budget: which of them may grow, and which are given up first.

A cell without a sketch has the Gaussian of its moments, also where thresholds are looked for. It
never gets a sketch again. Once the room for sketches is used up, no new cell gets one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine import kll
from mist.engine.state import BLOCK_SIZES, N_CELLS, N_HELD, State

Array = np.ndarray[Any, Any]

_PART = 2
"""Sketches leave one part of so many of the budget to components, trials and cells."""

LARGEST_ROW = 32
"""Most pool rows that one row of the stream takes: the binary digits of its weight."""


def rows_at_least(state: State) -> int:
    """Pool rows that must be free before any row is learnt, whether it gets a sketch or not."""
    assert state.sketch is not None
    sizes = state.sketch.plan[BLOCK_SIZES]
    return int(sizes[sizes >= LARGEST_ROW].min())


def rows_spare(state: State) -> int:
    """Free pool rows beyond those that must be free; below 0 if some are lacking."""
    assert state.sketch is not None
    held = int(state.tree.counters[N_HELD])
    return len(state.sketch.items) - held - rows_at_least(state)


def bytes_of_sketches(state: State) -> int:
    """Bytes of all sketches and free rows, but for the rows that must be free."""
    if state.sketch is None:
        return 0
    rows = len(state.sketch.items) - rows_at_least(state)
    return max(0, rows) * kll.bytes_of_row(state)


def may_grow(state: State, detail: int) -> bool:
    """Whether the pool may grow as the loop asks; if not, it has what the loop needs.

    Parameters
    ----------
    state : State
        A tree with a budget; changed in place.
    detail : int
        Rows that are lacking, or the complement of the cell whose block is full, as
        `mist.engine.row_loops.run` returns it.
    """
    cells, plan = state.tree.cells, _plan(state)
    rows = detail
    if detail < 0:
        at = int(cells.size_class[~detail])
        rows = int(plan[at + 1] - plan[at])
    budget = state.budget
    if budget.room(state) - budget.most(budget.n_codes) // _PART >= _bytes_lacking(state, rows):
        return True
    stop(state)
    if detail >= 0:
        state.budget.make_room(state, _bytes_lacking(state, rows))
        return True
    # Lighter cells give up theirs; the last one to do so is the cell itself.
    cell, wanted = ~detail, int(plan[at + 1])
    free(state, wanted, most_mass=float(cells.mass[cell]))
    if kll.block_lacking(state.tree, state.sketch, wanted) > 0:
        _free_one(state, cell)
    return False


def stop(state: State) -> None:
    """Give no further cell a sketch."""
    if state.options.sketched_classes > 0:
        state.options = state.options._replace(sketched_classes=0)


def give_up(state: State, n_bytes: int) -> None:
    """Give no further cell a sketch, and give up those of the least massive cells.

    Parameters
    ----------
    state : State
        The tree; changed in place. Its pool has at most `rows_at_least` free rows then.
    n_bytes : int
        Bytes to give back.
    """
    if state.sketch is None:
        return
    stop(state)
    rows = -(-n_bytes // kll.bytes_of_row(state)) - rows_spare(state)
    free(state, rows, held=True)
    # A pool with less to spare must not grow here.
    most = len(state.sketch.items) - int(state.tree.counters[N_HELD])
    kll.shrink_pool(state, min(rows_at_least(state), most))


def free(state: State, rows: int, *, most_mass: float = np.inf, held: bool = False) -> None:
    """Give up sketches of cells up to a mass, the least massive first.

    It ends when so many rows can be taken from the pool; with ``held``, when the sketches have
    given up so many rows.
    """
    cells, n = state.tree.cells, int(state.tree.counters[N_CELLS])
    own = np.flatnonzero((cells.leaf[:n] >= 0) & (cells.start[:n] >= 0))
    own = own[cells.mass[own] < most_mass]
    before = int(state.tree.counters[N_HELD])
    for cell in own[np.argsort(cells.mass[own], kind="stable")].tolist():
        given = before - int(state.tree.counters[N_HELD])
        if given >= rows if held else kll.block_lacking(state.tree, state.sketch, rows) == 0:
            return
        _free_one(state, cell)


def _free_one(state: State, cell: int) -> None:
    kll.free_sketch(state.tree, state.sketch, cell)
    state.tree.leaves.sketched[state.tree.cells.leaf[cell]] -= 1


def _plan(state: State) -> Array:
    assert state.sketch is not None
    plan: Array = state.sketch.plan[BLOCK_SIZES]
    return plan


def _bytes_lacking(state: State, rows: int) -> int:
    """Bytes by which the pool must grow to hold so many rows more than the sketches do."""
    assert state.sketch is not None
    lacking = int(state.tree.counters[N_HELD]) + rows - len(state.sketch.items)
    return max(0, lacking) * kll.bytes_of_row(state)
