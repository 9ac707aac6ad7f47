"""Rows replayed from class memories: drawn from the Gaussians of the cells.

The functions share these parameters, with a numeric and b binary columns:

memory : ClassMemory
    The memory.
q : int
    Index of a cell.
n_numeric : int
    The number a.
counts : int64 array, shape (cells,)
    Number of rows to draw from each cell.
seed, number : int
    Seed, and number of the replay.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.class_memory import N_CLASS_CELLS
from mist.engine.compiled import exact
from mist.engine.random import DRAWS, bell, draw, following, mix, share

LEAST_PIVOT = 1e-9
"""A pivot below this share of the standard deviation of its column is taken as rounding error."""

NARROWING = 0.6
"""Factor on the standard deviations of the cells. Rows near the means of small cells give better
trees, as their spread adds to that of the means."""


@exact
def count_draws(memory, per_weight, seed, tree, n_trees, number, counts):
    """Write how many rows to draw from each cell, and return their sum.

    Parameters
    ----------
    per_weight : float64 array, shape (codes,)
        Rows to draw for a row of weight 1 of each class.
    tree, n_trees : int
        Trees ``tree``, ``tree + n_trees`` and so on of each class are replayed.
    """
    total = 0
    for q in range(memory.counters[N_CLASS_CELLS]):
        counts[q] = 0
        if memory.cells.tree[q] % n_trees == tree:
            wanted = memory.cells.rows[q] * per_weight[memory.cells.code[q]]
            low = math.floor(wanted)
            more = share(draw(seed, DRAWS, number, q, 0)) < wanted - low
            counts[q] = int(low) + (1 if more else 0)
            total += counts[q]
    return total


@exact
def _factorise(memory, q, n_numeric, full, root):
    """Write the Cholesky factor of the covariance of a cell, in the units of its class.

    Columns without variance get zeros.
    """
    m2, w, row = memory.m2, memory.cells.weight[q], 0
    if not full:
        for j in range(n_numeric):
            root[j] = math.sqrt(max(m2[q, j] / w, 0.0))
        return
    for i in range(n_numeric):
        least = LEAST_PIVOT * math.sqrt(max(m2[q, row + i] / w, 0.0))
        column = 0
        for j in range(i + 1):
            total = m2[q, row + j] / w
            for k in range(j):
                total -= root[row + k] * root[column + k]
            if j < i:
                pivot = root[column + j]
                root[row + j] = total / pivot if pivot > 0.0 else 0.0
            else:
                pivot = math.sqrt(max(total, 0.0))
                root[row + i] = pivot if pivot > least else 0.0
            column += j + 1
        row += i + 1


@exact
def _find_region(memory, q, low, high):
    """Write the limits of a cell: the thresholds between the root and the cell."""
    nodes, v = memory.nodes, memory.cells.node[q]
    low[:] = -np.inf
    high[:] = np.inf
    while nodes.parent[v] >= 0:
        above = nodes.parent[v]
        j, t = nodes.feature[above], nodes.threshold[above]
        if v == nodes.first[above]:
            high[j] = min(high[j], t)
        else:
            low[j] = max(low[j], t)
        v = above


@exact
def replay(memory, counts, seed, number, n_numeric, full, X, y, root, noise, low, high):
    """Draw rows from the Gaussians of cells, within their regions.

    Parameters
    ----------
    full : bool
        Whether cells have covariances.
    X : float64 array, shape (a + b, m)
        Receives the rows, column by column; NaN where a class never had a value.
    y : int64 array, shape (m,)
        Receives the class codes.
    root : float64 array, shape (p,)
        Scratch array.
    noise, low, high : float64 array, shape (a + b,)
        Scratch arrays.
    """
    mean, r = memory.mean, 0
    for q in range(memory.counters[N_CLASS_CELLS]):
        if counts[q] == 0:
            continue
        _find_region(memory, q, low, high)
        _factorise(memory, q, n_numeric, full, root)
        state = draw(seed, DRAWS, number, q, 1)
        for _ in range(counts[q]):
            at = 0
            for j in range(n_numeric):
                noise[j] = NARROWING * bell(mix(state))
                state = following(state)
                away = 0.0
                if full:
                    for k in range(j + 1):
                        away += root[at + k] * noise[k]
                    at += j + 1
                else:
                    away = root[j] * noise[j]
                x = mean[q, j] + away * memory.unit[memory.cells.code[q], j]
                X[j, r] = min(max(x, low[j]), high[j]) if x == x else x
            for j in range(n_numeric, mean.shape[1]):
                p = mean[q, j]
                one = 1.0 if share(mix(state)) < p else 0.0
                X[j, r] = one if p == p else p
                state = following(state)
            y[r] = memory.cells.code[q]
            r += 1
