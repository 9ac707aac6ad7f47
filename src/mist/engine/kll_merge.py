"""Merging two sketches: their levels are concatenated and then thinned.

A sketch of `mist.engine.kll` is a list of matrices, the lowest level first, whose rows represent
1, 2, 4, ... rows. Level by level the rows of both are concatenated. While there are more rows than
a sketch of so many levels may hold, the lowest full level is halved, as when rows come one by one.

Reference: Karnin, Lang and Liberty, "Optimal quantile approximation in streams", 2016, section 3,
where the error of merged sketches has the bound of one that has learnt all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mist.engine import kll
from mist.engine.kll import reserve_items
from mist.engine.leafmodel import sorted_columns_of
from mist.engine.random import COMPACTION, draw
from mist.engine.state import CAPS, HIGH, LEVELS, LOW, TOTALS, State

Array = np.ndarray[Any, Any]


def merge_sketch(state: State, cell: int, other: State, other_cell: int) -> None:
    """Merge the sketch of another tree's cell into the sketch of a cell.

    A cell without a sketch gets one, if its leaf may have one more.

    Parameters
    ----------
    state : State
        The model; changed in place.
    cell : int
        A cell of it.
    other : State
        Another model with sketches of the same size and precision; unchanged.
    other_cell : int
        Its cell of the same class.
    """
    tree, theirs = state.tree, other.tree.cells
    if state.sketch is None or other.sketch is None or theirs.start[other_cell] < 0:
        return
    leaf = int(tree.cells.leaf[cell])
    mine, flips = [], int(theirs.flips[other_cell])
    ends = other.sketch.ends[other_cell].copy()
    if tree.cells.start[cell] >= 0:
        mine, flips = levels_of(state, cell), flips + int(tree.cells.flips[cell])
        ends[LOW] = np.minimum(ends[LOW], state.sketch.ends[cell, LOW])
        ends[HIGH] = np.maximum(ends[HIGH], state.sketch.ends[cell, HIGH])
        # `levels_of` has copied its rows; the merged sketch may need a block of another size.
        kll.free_sketch(tree, state.sketch, cell)
    elif tree.leaves.sketched[leaf] >= state.options.sketched_classes:
        return
    else:
        tree.leaves.sketched[leaf] += 1
    node, code = int(tree.leaves.node[leaf]), int(tree.cells.code[cell])

    # The counter continues from the sum of both, so that no random bit is drawn twice.
    def upper(flip: int) -> int:
        return int(draw(state.options.seed, COMPACTION, node, code, flip)) >> 63

    levels, flips = thinned(
        together(mine, levels_of(other, other_cell)), state.sketch.plan, upper, flips
    )
    _write(state, cell, levels)
    state.sketch.ends[cell] = ends
    state.tree.cells.flips[cell] = flips


def levels_of(state: State, cell: int) -> list[Array]:
    """Copies of the levels of a cell's sketch, the lowest first."""
    cells, sketch = state.tree.cells, state.sketch
    assert sketch is not None
    # The block has the top level first.
    end, levels = int(cells.start[cell] + cells.used[cell]), []
    for size in sketch.sizes[cell, : cells.levels[cell]].tolist():
        levels.append(sketch.items[end - size : end].copy())
        end -= size
    return levels


def together(one: list[Array], other: list[Array]) -> list[Array]:
    """Concatenate the levels of two sketches; all but the lowest are sorted column by column.

    Examples
    --------
    >>> one, other = [np.array([[3.0]])], [np.array([[1.0]]), np.array([[5.0], [7.0]])]
    >>> [level.ravel().tolist() for level in together(one, other)]
    [[3.0, 1.0], [5.0, 7.0]]
    """
    out = []
    for h in range(max(len(one), len(other))):
        rows = np.concatenate([levels[h] for levels in (one, other) if h < len(levels)])
        out.append(np.sort(rows, axis=0) if h > 0 else rows)
    return out


def thinned(
    levels: list[Array], plan: Array, upper: Callable[[int], int], flips: int
) -> tuple[list[Array], int]:
    """Halve the lowest full level until a sketch may hold them.

    Parameters
    ----------
    levels : list of ndarray, shape (rows, d)
        The lowest first.
    plan : ndarray
        `mist.engine.state.Sketch.plan`.
    upper : callable
        Given the number of a compaction, says which row of a pair stays: the first (0) or the
        second (1).
    flips : int
        Compactions so far.

    Returns
    -------
    levels : list of ndarray
        As many rows as fit, and columns of all levels but the lowest sorted.
    flips : int
        Compactions so far, those of this call included.
    """
    levels = list(levels)
    while sum(map(len, levels)) >= plan[TOTALS, len(levels)]:
        caps = plan[CAPS, : len(levels)][::-1]
        h = next(h for h, rows in enumerate(levels) if len(rows) >= caps[h])
        rows = np.sort(levels[h], axis=0)
        pairs = len(rows) // 2
        risen, left = rows[upper(flips) : 2 * pairs : 2], rows[2 * pairs :]
        if h == LEVELS - 1:  # no row rises from the last level, see `mist.engine.kll`
            levels[h] = np.vstack([risen, left])
        else:
            if h == len(levels) - 1:
                levels.append(rows[:0])
            levels[h], levels[h + 1] = left, np.sort(np.vstack([levels[h + 1], risen]), 0)
        flips += 1
    return levels, flips


def _write(state: State, cell: int, levels: list[Array]) -> None:
    """Give a cell without a sketch one of these levels; ends and flips are left to the caller."""
    assert state.sketch is not None
    rows = np.concatenate(levels[::-1])
    lacking = kll.block_lacking(state.tree, state.sketch, len(rows))
    if lacking > 0:
        reserve_items(state, lacking)
    # Read after `reserve_items`, which replaces the sketch and the sorted columns.
    tree, sketch, sorted_columns = state.tree, state.sketch, sorted_columns_of(state.model)
    kll.new_sketch(tree, sketch, sorted_columns, cell, len(rows))
    at = slice(int(tree.cells.start[cell]), int(tree.cells.start[cell]) + len(rows))
    sketch.items[at] = rows
    tree.cells.used[cell], tree.cells.levels[cell] = len(rows), len(levels)
    sketch.sizes[cell, : len(levels)] = [len(level) for level in levels]
    # The sorted columns are made from all rows of the block.
    if sorted_columns is not None:
        sizes = [len(level) for level in levels[::-1]]
        weights = np.repeat(2.0 ** np.arange(len(levels))[::-1], sizes)
        order = np.argsort(rows, axis=0, kind="stable")
        sorted_columns.values[at] = np.take_along_axis(rows, order, axis=0)
        sorted_columns.mass[at] = np.cumsum(weights[order], axis=0)
        sorted_columns.count[cell] = np.count_nonzero(rows < np.inf, axis=0)
