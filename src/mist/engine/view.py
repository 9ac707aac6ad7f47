"""Sorted columns of the quantile sketches, which MIST-K reads its densities from.

Beside each block of rows in the pool of the sketches stands one of the same shape that holds every
column sorted, with cumulative weights. Both follow the sketch row by row; nothing is sorted anew.
A row of the block has the k-th value of every column, so that what is done for one column is done
for all of them at once, with vector instructions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact
from mist.engine.precision import stored

_STRIDES = 16
"""About so many rows are looked at before the search goes on column by column."""


class View(NamedTuple):
    """Sorted columns of every sketch, in blocks of rows as in `Sketch.items`."""

    values: Any  # (pool rows, numeric columns), as `Sketch.items`: ascending, missing ones last
    mass: Any  # float64 (pool rows, numeric columns), exact: weight up to and with the value
    count: Any  # int64 (cells, numeric columns): values that are not missing


@exact
def count_at_most(table, start, n, bounds, found):
    """How many of n rows from ``start`` on are <= a bound, for each ascending column.

    Nothing here branches by what it finds, which could not be predicted. That holds for numbers
    with a fraction alone: choices between whole ones are compiled to branches.

    Parameters
    ----------
    table : float array, shape (rows, d)
        Columns ascending from row ``start`` to row ``start + n - 1``.
    start, n : int
        First row, and number of rows, at least 1.
    bounds : float64 array, shape (d,)
        One for each column; NaN is above nothing.
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
    # What is left is in a window of one row less; at the end, some of it is counted already.
    last = float(n - (stride - 1))
    for j in range(bounds.size):
        found[j] = min(found[j], last)
    step = stride >> 1
    while step > 0:
        more = float(step)
        for j in range(bounds.size):
            before, bound = found[j], bounds[j]
            # Unsigned: no row from the end is meant.
            value = table[np.uint64(start + np.int64(before) + step - 1), j]
            found[j] = before + (more if value <= bound else 0.0)
        step >>= 1


@exact
def add_sorted(view, cell, start, n, X, i, weight, bounds, found):
    """Add a row of X to n sorted rows from ``start`` on; room for one more must be there.

    ``bounds`` and ``found`` are room for a number a column.
    """
    values, mass = view.values, view.mass
    d = values.shape[1]
    for j in range(d):
        known = X[i, j] == X[i, j]
        bounds[j] = stored(values, X[i, j]) if known else np.inf
        view.count[cell, j] += 1 if known else 0
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
    # Two loops, as one of both would have more arrays than compilers check for overlaps; and all
    # is loaded before anything is chosen, as what is loaded by choice is not vectorised.
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
def halve_sorted(view, cell, start, n, weight, bit, half, doubles):
    """Of the values with a weight, keep every other one of the first 2 half, at twice the weight.

    At the same weight if it is not to be doubled.

    Then n - half rows are left. What is kept is told by numbers, not by branches: which values have
    that weight could not be predicted.
    """
    values, mass, gain = view.values, view.mass, np.int64(doubles)
    for j in range(values.shape[1]):
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
        view.count[cell, j] = known


@exact
def fill_sorted(view, cell, start, rows, weight):
    """Write rows whose columns are sorted, all of one weight."""
    for j in range(rows.shape[1]):
        view.count[cell, j] = 0
    for k in range(len(rows)):
        for j in range(rows.shape[1]):
            view.values[start + k, j] = rows[k, j]
            view.mass[start + k, j] = (k + 1.0) * weight
            view.count[cell, j] += 1 if rows[k, j] < np.inf else 0


@exact
def move_sorted(view, new_view, start, new_start, n):
    """Copy n rows to a block of the same or of another view, which may begin before theirs."""
    for k in range(n):
        for j in range(view.values.shape[1]):
            new_view.values[new_start + k, j] = view.values[start + k, j]
            new_view.mass[new_start + k, j] = view.mass[start + k, j]
