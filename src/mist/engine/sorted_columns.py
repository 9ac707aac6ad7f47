"""Sorted columns of the quantile sketches, from which sketch leaves (MIST-K) read densities.

For each block of rows in the pool of the sketches there is one of the same shape that holds every
column sorted, and one with cumulative weights. Both are updated with the sketch row by row; nothing
is sorted again. Row k of a block has the k-th value of every column, so the same step is done for
all columns at once, with vector instructions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact
from mist.engine.precision import stored

_STRIDES = 16
"""About so many rows are compared in all columns before each column is searched separately."""


class SortedColumns(NamedTuple):
    """Sorted columns of every sketch, in blocks of rows as in `Sketch.items`."""

    values: Any  # (pool rows, numeric columns), as `Sketch.items`: ascending, missing ones last
    mass: Any  # float64 (pool rows, numeric columns), exact: weight up to and with the value
    count: Any  # int64 (cells, numeric columns): values that are not missing


@exact
def count_at_most(table, start, n, bounds, found):
    """How many of n rows from ``start`` on are <= a bound, for each ascending column.

    Nothing here branches on values, since such branches could not be predicted. Counts are floats
    for that reason: a choice between integers is compiled to a branch.

    Parameters
    ----------
    table : float array, shape (rows, d)
        Columns ascending from row ``start`` to row ``start + n - 1``.
    start, n : int
        First row, and number of rows, at least 1.
    bounds : float64 array, shape (d,)
        One for each column; no value is <= NaN.
    found : float64 array, shape (d,)
        Receives the numbers.
    """
    stride = np.int64(8)
    while stride * _STRIDES < n:
        stride *= 2
    while stride > n + 1:
        stride >>= 1
    for j in range(bounds.size):
        found[j] = 0.0
    more = float(stride)
    k = start + stride - 1
    while k + 3 * stride < start + n:
        for j in range(bounds.size):
            bound = bounds[j]
            first, second = table[k, j], table[k + stride, j]
            third, fourth = table[k + 2 * stride, j], table[k + 3 * stride, j]
            one = (more if first <= bound else 0.0) + (more if second <= bound else 0.0)
            two = (more if third <= bound else 0.0) + (more if fourth <= bound else 0.0)
            found[j] += one + two
        k += 4 * stride
    while k < start + n:
        for j in range(bounds.size):
            found[j] += more if table[k, j] <= bounds[j] else 0.0
        k += stride
    # Each count is now short by less than `stride`: the rest is in a window of stride - 1 rows.
    # Near the end the window is moved back, over rows that are counted already.
    last = float(n - (stride - 1))
    for j in range(bounds.size):
        found[j] = min(found[j], last)
    step = stride >> 1
    while step > 0:
        more = float(step)
        for j in range(bounds.size):
            before, bound = found[j], bounds[j]
            # Unsigned, so that no check for a negative index is compiled.
            value = table[np.uint64(start + np.int64(before) + step - 1), j]
            found[j] = before + (more if value <= bound else 0.0)
        step >>= 1


@exact
def add_sorted(sorted_columns, cell, start, n, X, i, weight, bounds, found):
    """Add a row of X to n sorted rows from ``start`` on; the block must have one row more.

    Parameters
    ----------
    sorted_columns, cell : SortedColumns, int
        The sorted columns, and the cell whose sketch learns the row.
    start, n : int
        First row of the block, and number of rows it holds.
    X, i : float64 array, shape (m, d), and int
        Rows, and the index of the one that is learnt.
    weight : float
        Weight of its values in the sketch, a power of 2.
    bounds, found : float64 arrays, shape (n_numeric,)
        Scratch arrays.
    """
    values, mass = sorted_columns.values, sorted_columns.mass
    d = values.shape[1]
    for j in range(d):
        known = X[i, j] == X[i, j]
        bounds[j] = stored(values, X[i, j]) if known else np.inf
        sorted_columns.count[cell, j] += 1 if known else 0
    first = np.int64(0)
    if n > 0:
        count_at_most(values, start, n, bounds, found)
        least = found[0]
        for j in range(d):
            least = min(least, found[j])
        first = np.int64(least)
    else:
        for j in range(d):
            found[j] = 0.0
    # Rows before `first` stay in every column. Two inner loops: one alone would use more arrays
    # than compilers check for overlap. All is loaded before anything is chosen, as loads under a
    # condition are not vectorised.
    for k in range(n, first, -1):
        at, place = start + k, float(k)
        for j in range(d):
            below, own, new, here = values[at - 1, j], values[at, j], bounds[j], found[j]
            moved = below if place > here else new
            values[at, j] = moved if place >= here else own
        for j in range(d):
            more, own, here = mass[at - 1, j] + weight, mass[at, j], found[j]
            mass[at, j] = more if place >= here else own
    for j in range(d):
        if found[j] == first:
            values[start + first, j] = bounds[j]
            mass[start + first, j] = (mass[start + first - 1, j] if first > 0 else 0.0) + weight


@exact
def halve_sorted(sorted_columns, cell, start, n, weight, bit, half, doubles):
    """Halve one level of a sketch in its sorted columns; n - half rows are left.

    Of the first 2 * half values of the level's weight every second one stays.

    Parameters
    ----------
    sorted_columns, cell : SortedColumns, int
        The sorted columns, and the cell of the sketch.
    start, n : int
        First row of the block, and number of rows it holds.
    weight : float
        Weight of the values on the level.
    bit : int
        Which value of a pair stays: the first (0) or the second (1).
    half : int
        Number of pairs.
    doubles : bool
        Whether the values that stay get twice the weight.
    """
    values, mass, gain = sorted_columns.values, sorted_columns.mass, np.int64(doubles)
    # Weights are sums of powers of 2 and exact, so `own == weight` finds the level. Integers in
    # place of branches: which values are of the level could not be predicted.
    for j in range(values.shape[1]):
        # `kept` never overtakes k, so the rows are closed up in place.
        kept, seen, known = start, np.int64(0), np.int64(0)
        before, total = 0.0, 0.0
        for k in range(start, start + n):
            value, own = values[k, j], mass[k, j] - before
            before = mass[k, j]
            halved = np.int64((own == weight) & (seen < 2 * half))
            stays = 1 - (halved & ((seen & 1) ^ bit))
            seen += halved
            total += own * float((1 + gain * halved) * stays)
            values[kept, j] = value
            mass[kept, j] = total
            known += stays & np.int64(value < np.inf)
            kept += stays
        sorted_columns.count[cell, j] = known


@exact
def fill_sorted(sorted_columns, cell, start, rows, weight):
    """Write the rows of a new sketch: every column is sorted, and all values have one weight."""
    for j in range(rows.shape[1]):
        sorted_columns.count[cell, j] = 0
    for k in range(len(rows)):
        for j in range(rows.shape[1]):
            sorted_columns.values[start + k, j] = rows[k, j]
            sorted_columns.mass[start + k, j] = (k + 1.0) * weight
            sorted_columns.count[cell, j] += 1 if rows[k, j] < np.inf else 0


@exact
def move_sorted(sorted_columns, new_view, start, new_start, n):
    """Copy n rows to a block of the same or of another view.

    In the same view the new block may overlap the old one if it begins before it.
    """
    for k in range(n):
        for j in range(sorted_columns.values.shape[1]):
            new_view.values[new_start + k, j] = sorted_columns.values[start + k, j]
            new_view.mass[new_start + k, j] = sorted_columns.mass[start + k, j]
