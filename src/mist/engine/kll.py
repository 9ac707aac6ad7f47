"""Columnar KLL quantile sketches: one for each cell, all numeric columns side by side.

All columns of a cell see the same number of rows, so they share their level structure. A level is a
matrix of rows; a row of level h represents 2**h rows. Learning copies one row. A compaction sorts
every column of one level and moves every second row to the level above. A missing value is stored
as +inf (which input may not hold), sorts last and is left out of ranks.

Levels are packed into one block of rows, the top level first. So half of a compacted level becomes
part of the level above without being moved. All levels but the lowest are kept sorted, as merging
costs less than sorting.

One random bit a compaction serves all columns: the sketch of each column is distributed as if
it had its own bit, and the order of the columns cannot change any answer.

The blocks of all sketches are in one pool, `mist.engine.state.Sketch.items`. The chain from
`FIRST_BLOCK` by ``cells.behind`` has them in the order in which they are in the pool. A block that
was left or given up is a gap until `gather` moves the blocks together.

The functions share these parameters:

tree, sketch, cells
    `mist.engine.state.Tree` and `Sketch`, and ``tree.cells``.
sorted_columns : mist.engine.sorted_columns.SortedColumns or None
    The sorted columns of the sketches, which are kept up to date with them.
cell, j : int
    Index of the cell, and of the numeric column.
X, i : float64 array, shape (n, d), and int
    Rows, and the index of the one that is learnt.
seed, node, code : int
    What random bits depend on: the model's seed, the leaf's node and the class code.
values, weights : float64 arrays
    Scratch arrays that hold at least all rows of the sketch.

Reference: Karnin, Lang and Liberty, "Optimal quantile approximation in streams", 2016.
"""

from __future__ import annotations

import numpy as np

from mist.engine.budget import row_bytes
from mist.engine.compiled import exact, inlined
from mist.engine.leafmodel import kind_of, sorted_columns_of
from mist.engine.precision import stored
from mist.engine.random import COMPACTION, draw
from mist.engine.sorted_columns import add_sorted, fill_sorted, halve_sorted, move_sorted
from mist.engine.state import (
    BLOCK_SIZES,
    CAPS,
    FIRST_BLOCK,
    HIGH,
    LAST_BLOCK,
    LEVELS,
    LOW,
    N_HELD,
    N_ITEMS,
    TOTALS,
    State,
)

SPARE_ROWS, SPARE_BYTES = 64, 2**16
"""What the pool of the sketches has to spare at least when it was too small: the lesser of both."""


@inlined
def copies_bits(copies):
    """Number of set bits: stored rows that so many copies take."""
    n = 0
    while copies > 0:
        n += copies & 1
        copies >>= 1
    return n


@exact
def _size_class_for(sketch, n_rows):
    """Index of the smallest block size that holds so many rows."""
    size_class = 0
    while sketch.plan[BLOCK_SIZES, size_class] < n_rows:
        size_class += 1
    return size_class


@exact
def block_lacking(tree, sketch, n_rows):
    """Pool rows that must be reserved before a block for so many rows can be taken; 0: none."""
    size_class = _size_class_for(sketch, n_rows)
    rows = sketch.plan[BLOCK_SIZES, size_class]
    counters, held = tree.counters, tree.counters[N_HELD]
    if counters[N_ITEMS] + rows <= len(sketch.items):
        return 0
    # Moving the blocks together is worth it only if some rows are spare then. Else the next block
    # would need it again.
    return 0 if held + rows + held // 12 <= len(sketch.items) else rows


@inlined
def rows_lacking(tree, sketch, cell, copies):
    """What must be done before the cell can take so many copies of a row.

    Returns 0 if nothing, the number of pool rows to be reserved, or -1 if the cell's block must be
    made larger in a new pool. ``cell`` is -1 for a class without a cell.
    """
    need = copies_bits(copies)
    has_block = cell >= 0 and tree.cells.start[cell] >= 0
    if has_block:
        need += tree.cells.used[cell]
        if need <= sketch.plan[BLOCK_SIZES, tree.cells.size_class[cell]]:
            return 0
    lacking = block_lacking(tree, sketch, need)
    return -1 if has_block and lacking > 0 else lacking


@exact
def _append_block(tree, cell):
    """Put a cell's block at the end of the chain of blocks."""
    cells, counters = tree.cells, tree.counters
    last = counters[LAST_BLOCK]
    cells.before[cell] = last
    cells.behind[cell] = -1
    if last >= 0:
        cells.behind[last] = cell
    else:
        counters[FIRST_BLOCK] = cell
    counters[LAST_BLOCK] = cell


@exact
def _remove_block(tree, cell):
    """Take a cell's block out of the chain of blocks."""
    cells, counters = tree.cells, tree.counters
    before, behind = cells.before[cell], cells.behind[cell]
    if before >= 0:
        cells.behind[before] = behind
    else:
        counters[FIRST_BLOCK] = behind
    if behind >= 0:
        cells.before[behind] = before
    else:
        counters[LAST_BLOCK] = before


@exact
def _take_block(tree, sketch, sorted_columns, size_class):
    """First row of a new block at the end of the pool; all other blocks may have been moved.

    The block is not in the chain yet, so a `gather` in here does not see it.
    """
    counters, rows = tree.counters, sketch.plan[BLOCK_SIZES, size_class]
    if counters[N_ITEMS] + rows > len(sketch.items):
        gather(tree, sketch, sorted_columns, sketch.items, sorted_columns, True, -1)
    start = counters[N_ITEMS]
    counters[N_ITEMS] += rows
    counters[N_HELD] += rows
    return start


@exact
def gather(tree, sketch, sorted_columns, items, new_view, inside, growing):
    """Move all blocks together, so that no free rows are left between them.

    Parameters
    ----------
    tree, sketch, sorted_columns
        As in the module docstring.
    items : float array, shape (rows, n_numeric)
        Receives the blocks.
    new_view : SortedColumns or None
        Receives their sorted columns.
    inside : bool
        Whether ``items`` and ``new_view`` are the arrays that the sketches have now.
    growing : int
        A cell that gets a block of the next size, in another pool only; -1 for none.
    """
    cells, counters, block_sizes = tree.cells, tree.counters, sketch.plan[BLOCK_SIZES]
    at, cell = np.int64(0), counters[FIRST_BLOCK]
    # In the order of the pool `at` never exceeds the start of the next block, so that moving inside
    # the pool overwrites no row that is still to be read. A block that grows would break that.
    while cell >= 0:
        start = cells.start[cell]
        if cell == growing:
            cells.size_class[cell] += 1
        if not (inside and start == at):
            for k in range(cells.used[cell]):
                for j in range(items.shape[1]):
                    items[at + k, j] = sketch.items[start + k, j]
            if sorted_columns is not None:
                move_sorted(sorted_columns, new_view, start, at, cells.used[cell])
            cells.start[cell] = at
        at += block_sizes[cells.size_class[cell]]
        cell = np.int64(cells.behind[cell])
    counters[N_ITEMS] = at
    counters[N_HELD] = at


def reserve_items(state: State, n_rows: int) -> None:
    """Reserve so many more rows in the pool of the sketches."""
    _enlarge_pool(state, n_rows, -1)


def widen_block(state: State, cell: int) -> None:
    """Give the sketch of a cell a block of the next size."""
    _enlarge_pool(state, 0, cell)


def _enlarge_pool(state: State, n_rows: int, cell: int) -> None:
    """Move all blocks into a larger pool; the block of ``cell``, unless -1, gets the next size."""
    sketch = state.sketch
    assert sketch is not None
    # `gather` leaves no gaps: the new pool needs what the blocks hold, plus some spare rows.
    held, d = int(state.tree.counters[N_HELD]) + n_rows, sketch.items.shape[1]
    if cell >= 0:
        size_class = state.tree.cells.size_class[cell]
        held += int(sketch.plan[BLOCK_SIZES, size_class + 1] - sketch.plan[BLOCK_SIZES, size_class])
    spare = max(held // 4, min(SPARE_ROWS, SPARE_BYTES // (d * sketch.items.itemsize)))
    if state.budget is not None:
        each = bytes_of_row(state)
        taken = (held - len(sketch.items)) * each
        spare = min(spare, state.budget.spare(state, taken) // each)
    _set_pool(state, held + spare, cell)


def bytes_of_row(state: State) -> int:
    """Bytes that one more row in the pool of the sketches takes."""
    assert state.sketch is not None
    items, model = state.sketch.items, state.model
    columns = sorted_columns_of(model)
    return row_bytes(items) + (0 if columns is None else row_bytes(columns.values, columns.mass))


def shrink_pool(state: State, n_spare: int) -> None:
    """Move all blocks into a pool that has so many rows to spare."""
    _set_pool(state, int(state.tree.counters[N_HELD]) + n_spare, -1)


def _set_pool(state: State, n: int, cell: int) -> None:
    """Move all blocks into a pool of n rows; the block of ``cell``, unless -1, gets the next size.

    They must fit.
    """
    sketch = state.sketch
    assert sketch is not None
    d = sketch.items.shape[1]
    items = np.zeros((n, d), sketch.items.dtype)
    model = kind_of(state.model).with_pool(state.model, n)
    gather(
        state.tree,
        sketch,
        sorted_columns_of(state.model),
        items,
        sorted_columns_of(model),
        False,
        cell,
    )
    state.sketch, state.model = sketch._replace(items=items), model


@exact
def new_sketch(tree, sketch, sorted_columns, cell, n_rows):
    """Give a cell an empty sketch with a block for so many rows; they must have been reserved."""
    cells = tree.cells
    size_class = _size_class_for(sketch, n_rows)
    cells.start[cell] = _take_block(tree, sketch, sorted_columns, size_class)
    cells.size_class[cell] = size_class
    _append_block(tree, cell)
    cells.used[cell] = 0
    cells.levels[cell] = 1
    cells.flips[cell] = 0
    cells.median_at[cell] = -1
    sketch.sizes[cell, :] = 0
    sketch.ends[cell, LOW] = np.inf
    sketch.ends[cell, HIGH] = -np.inf
    if sorted_columns is not None:
        sorted_columns.count[cell, :] = 0


@exact
def fill(tree, sketch, sorted_columns, cell, rows, level):
    """Give a cell a sketch whose rows are all of one level; the caller sets the ends.

    Parameters
    ----------
    rows : float64 array, shape (m, n_numeric)
        At least one row and fewer than so many levels hold; every column sorted, missing
        values as +inf.
    level : int
        Each row represents 2**level rows.
    """
    cells, m = tree.cells, len(rows)
    new_sketch(tree, sketch, sorted_columns, cell, m)
    start = cells.start[cell]
    for k in range(m):
        for j in range(rows.shape[1]):
            sketch.items[start + k, j] = rows[k, j]
    cells.used[cell] = m
    cells.levels[cell] = level + 1
    sketch.sizes[cell, level] = m
    if sorted_columns is not None:
        fill_sorted(sorted_columns, cell, start, rows, 2.0**level)


@exact
def free_sketch(tree, sketch, cell):
    """Take a cell's sketch away; its pool rows are used again after the next `gather`."""
    cells = tree.cells
    if cells.start[cell] >= 0:
        tree.counters[N_HELD] -= sketch.plan[BLOCK_SIZES, cells.size_class[cell]]
        _remove_block(tree, cell)
        cells.start[cell] = -1


@exact
def _widen(tree, sketch, sorted_columns, cell, n_rows):
    """Move a cell's sketch to a block for ``n_rows`` rows; they must have been reserved."""
    cells, d = tree.cells, sketch.ends.shape[2]
    size_class = _size_class_for(sketch, n_rows)
    start = _take_block(tree, sketch, sorted_columns, size_class)
    old_start = cells.start[cell]  # read after `_take_block`, which may move blocks
    old = sketch.plan[BLOCK_SIZES, cells.size_class[cell]]
    for k in range(cells.used[cell]):
        for j in range(d):
            sketch.items[start + k, j] = sketch.items[old_start + k, j]
    if sorted_columns is not None:
        move_sorted(sorted_columns, sorted_columns, old_start, start, cells.used[cell])
    tree.counters[N_HELD] -= old
    _remove_block(tree, cell)
    _append_block(tree, cell)
    cells.start[cell] = start
    cells.size_class[cell] = size_class


@inlined
def update(tree, sketch, sorted_columns, work, cell, X, i, copies, seed, node, code):
    """Learn so many copies of a row: for each binary digit 1 of the number, one row on that level.

    Parameters as in the module docstring, and

    work
        Workspace; with a view it has float64 arrays ``bounds`` and ``found``, shape (n_numeric,).
    copies : int
        At least 1; `rows_lacking` must have returned 0 for it.
    """
    cells, d = tree.cells, sketch.ends.shape[2]
    need = cells.used[cell] + copies_bits(copies)
    if need > sketch.plan[BLOCK_SIZES, cells.size_class[cell]]:
        _widen(tree, sketch, sorted_columns, cell, need)
    ends = sketch.ends
    for j in range(d):
        # Comparisons with NaN are false, so a missing value changes neither end.
        low, high, v = ends[cell, LOW, j], ends[cell, HIGH, j], stored(ends, X[i, j])
        ends[cell, LOW, j] = v if v < low else low
        ends[cell, HIGH, j] = v if v > high else high
    level = np.int64(0)  # not a literal, for which everything below would be compiled again
    while copies > 0:
        if copies & 1:
            _insert(cells, sketch, sorted_columns, work, cell, X, i, level)
            # `used` never exceeds what `copies_bits` has counted: a compaction only reduces it.
            while cells.used[cell] >= sketch.plan[TOTALS, cells.levels[cell]]:
                _compact(cells, sketch, sorted_columns, cell, seed, node, code)
        copies >>= 1
        level += 1


@inlined
def _insert(cells, sketch, sorted_columns, work, cell, X, i, level):
    """Add one row to a level. Parameters as in `update`; ``level`` is an int64 >= 0."""
    items, d = sketch.items, sketch.ends.shape[2]
    cells.levels[cell] = max(cells.levels[cell], level + 1)
    used = cells.used[cell]
    at = cells.start[cell] + used
    last = at
    for below in range(level):
        at -= sketch.sizes[cell, below]
    # Levels below come behind in the block: they shift by one row, the last row first.
    for k in range(last, at, -1):
        for j in range(d):
            items[k, j] = items[k - 1, j]
    for j in range(d):
        items[at, j] = stored(items, X[i, j]) if X[i, j] == X[i, j] else np.inf
    if level > 0:
        merge_columns(items, at - sketch.sizes[cell, level], sketch.sizes[cell, level], 1)
    cells.used[cell] = used + 1
    sketch.sizes[cell, level] += 1
    if sorted_columns is not None:
        start = cells.start[cell]
        add_sorted(sorted_columns, cell, start, used, X, i, 2.0**level, work.bounds, work.found)


@exact
def _compact(cells, sketch, sorted_columns, cell, seed, node, code):
    """Halve the lowest full level: every second row moves to the level above.

    Parameters as in the module docstring. No row rises from level ``LEVELS - 1``: half of its rows
    are dropped, which leaves the expected shares of the weight as they are.
    """
    items, sizes, d = sketch.items, sketch.sizes, sketch.ends.shape[2]
    levels, used = cells.levels[cell], cells.used[cell]
    end = cells.start[cell] + used
    level, at = 0, end
    # A full level exists: else `used` would be below the sum of the capacities, TOTALS.
    while sizes[cell, level] < sketch.plan[CAPS, levels - 1 - level]:
        at -= sizes[cell, level]
        level += 1
    m = np.int64(sizes[cell, level])
    at -= m
    if level == levels - 1 < LEVELS - 1:
        cells.levels[cell] += 1
    bit = np.int64(draw(seed, COMPACTION, node, code, cells.flips[cell]) >> np.uint64(63))
    cells.flips[cell] += 1
    half, odd = m // 2, m & 1
    # Levels above 0 are sorted.
    if level == 0:
        sort_columns(items, at, m)
    for k in range(half):
        for j in range(d):
            items[at + k, j] = items[at + 2 * k + bit, j]
    # The rows that stay are next to the level above and belong to it now. The rest closes up:
    # the last row of an odd size, which stays on its level, and all lower levels.
    for k in range(at + half, end - half):
        for j in range(d):
            items[k, j] = items[k + half, j]
    rises = level < LEVELS - 1
    if rises:
        above = sizes[cell, level + 1]
        merge_columns(items, at - above, above, half)
        sizes[cell, level] = odd
        sizes[cell, level + 1] = above + half
    else:
        sizes[cell, level] = half + odd
    cells.used[cell] = used - half
    if sorted_columns is not None:
        halve_sorted(sorted_columns, cell, cells.start[cell], used, 2.0**level, bit, half, rises)


@exact
def sort_columns(items, first, m):
    """Sort every column of the m rows from ``first`` on.

    Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2 M): which rows are compared
    does not depend on the data, so one comparison serves all columns.
    """
    top = 1
    while top * 2 < m:
        top *= 2
    p = top
    while p > 0:
        q, r, step = top, 0, p
        while True:
            for i in range(m - step):
                if i & p == r:
                    _exchange(items, first + i, first + i + step)
            if q == p:
                break
            step, q, r = q - p, q // 2, p
        p //= 2


@exact
def merge_columns(items, first, a, b):
    """Merge every column of ``a`` sorted rows from ``first`` on with the ``b`` sorted rows behind.

    Bitonic merging of any number of rows (Lang, "Bitonic sorting network for n not a power of 2",
    1998): again, which rows are compared depends on ``a`` and ``b`` alone.
    """
    # The first part is reversed, so that each column falls and then rises: a bitonic sequence.
    for k in range(a // 2):
        low, high = first + k, first + a - 1 - k
        for j in range(items.shape[1]):
            u, v = items[low, j], items[high, j]
            items[low, j] = v
            items[high, j] = u
    n = a + b
    step = 1
    while step * 2 < n:
        step *= 2
    # Each part of `step` rows is compared with the rows behind it; only the last may be shorter.
    while step > 0:
        part = first
        while part < first + n:
            for i in range(part, min(part + step, first + n - step)):
                _exchange(items, i, i + step)
            part += 2 * step
        step //= 2


@inlined
def _exchange(items, a, b):
    """Column by column, the smaller value to row a and the larger to row b."""
    for j in range(items.shape[1]):
        u, v = items[a, j], items[b, j]
        items[a, j] = u if u < v else v
        items[b, j] = v if u < v else u


@exact
def total_weight(sketch, cell):
    """Number of rows the sketch has learnt, missing values included."""
    n = 0
    for level in range(sketch.sizes.shape[1]):
        n += np.int64(sketch.sizes[cell, level]) << level
    return n


@exact
def column(cells, sketch, cell, j, values, weights):
    """Copy the values of one column that are not missing, with their weights.

    Returns how many there are.
    """
    at = cells.start[cell]
    n = 0
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            v = sketch.items[at, j]
            at += 1
            if v != np.inf:
                values[n] = v
                weights[n] = weight
                n += 1
    return n


@exact
def weighted_quantile(values, weights, n, target):
    """Smallest value whose cumulative weight in sorted order is >= target; reorders its input.

    Quickselect with three-way partitions, so repeated values cost nothing extra.
    """
    low, high, below = 0, n, 0.0
    while True:
        if high - low == 1:
            return values[low]
        # `below` is the weight of all values before `low`.
        a, b, c = values[low], values[(low + high) >> 1], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less, i, more = low, low, high
        w_less, w_equal = 0.0, 0.0
        while i < more:
            v, w = values[i], weights[i]
            if v < pivot:
                values[i], weights[i] = values[less], weights[less]
                values[less], weights[less] = v, w
                w_less += w
                less += 1
                i += 1
            elif v > pivot:
                more -= 1
                values[i], weights[i] = values[more], weights[more]
                values[more], weights[more] = v, w
            else:
                w_equal += w
                i += 1
        if below + w_less >= target and less > low:
            high = less
        elif below + w_less + w_equal >= target or more == high:
            return pivot
        else:
            below += w_less + w_equal
            low = more


@exact
def median(cells, sketch, cell, j, low, high, values, weights):
    """Median of one column, NaN if all its values are missing.

    Parameters as in the module docstring, and

    low, high : float
        Interval that should contain the median. Values outside it are counted but not stored. If
        the median is not inside, the full column is searched.
    values, weights : float64 arrays
        Scratch arrays for one entry more than the sketch has rows.
    """
    at = cells.start[cell]
    n, below, inside, total = np.int64(0), 0.0, 0.0, 0.0
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            v = sketch.items[at, j]
            at += 1
            # No branches, which could not be predicted: every value is written, and the next one
            # overwrites it unless it is kept. So one more entry is needed.
            kept = (v >= low) & (v <= high)
            values[n] = v
            weights[n] = weight
            n += kept
            total += weight if v < np.inf else 0.0
            below += weight if v < low else 0.0
            inside += weight if kept else 0.0
    target = 0.5 * total
    if below < target <= below + inside:
        return weighted_quantile(values, weights, n, target - below)
    n = column(cells, sketch, cell, j, values, weights)
    return weighted_quantile(values, weights, n, target) if n > 0 else np.nan


@exact
def quantile(cells, sketch, cell, j, q, values, weights):
    """Value at rank q of one column (NaN if all are missing); the ends are exact."""
    if q <= 0.0 or q >= 1.0:
        low, high = sketch.ends[cell, LOW, j], sketch.ends[cell, HIGH, j]
        if not low <= high:
            return np.nan
        return low if q <= 0.0 else high
    n = column(cells, sketch, cell, j, values, weights)
    if n == 0:
        return np.nan
    total = 0.0
    for i in range(n):
        total += weights[i]
    return weighted_quantile(values, weights, n, q * total)


@exact
def rank(cells, sketch, cell, j, v):
    """Share of the column's values <= v, missing ones left out (0 if all are missing)."""
    at = cells.start[cell]
    left, total = 0.0, 0.0
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            u = sketch.items[at, j]
            at += 1
            if u != np.inf:
                total += weight
                if u <= v:
                    left += weight
    return left / total if total > 0.0 else 0.0
