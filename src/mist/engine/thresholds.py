"""Candidate thresholds of a leaf and the class masses on either side of them.

A candidate matrix has one column a numeric feature and holds NaN where a feature has fewer
candidates than another; comparisons with NaN are false, so those places count nothing.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import exact
from mist.engine.kll import column, total_weight, weighted_quantile
from mist.engine.random import SAMPLED, uniform
from mist.engine.state import HIGH, LOW, M2, MEAN


@exact
def observed_cells(tree, leaf):
    """Cells of a leaf whose class was seen there, in order of creation."""
    out = np.empty(tree.leaves.n_cells[leaf], np.int64)
    n = 0
    cell = tree.leaves.first[leaf]
    while cell >= 0:
        if tree.cells.count[cell] > 0.0:
            out[n] = cell
            n += 1
        cell = tree.cells.next[cell]
    return out[:n]


@exact
def _buffers(tree, cells):
    n = 1
    for cell in cells:
        n = max(n, tree.cells.used[cell])
    return np.empty(n), np.empty(n)


@exact
def _total(weights, n):
    total = 0.0
    for i in range(n):
        total += weights[i]
    return total


@exact
def class_medians(tree, missing, sketch, cells, n_numeric):
    """Median of every class in every numeric column, NaN where nothing is known.

    A cell without a sketch gives its mean. Returns shape (cells, n_numeric).
    """
    out = np.empty((cells.size, n_numeric))
    for i in range(cells.size):
        for j in range(n_numeric):
            seen = tree.cells.weight[cells[i]] if missing is None else missing.cell[cells[i], j]
            out[i, j] = tree.stats[cells[i], MEAN, j] if seen > 0.0 else np.nan
    if sketch is not None:
        values, weights = _buffers(tree, cells)
        for i in range(cells.size):
            if tree.cells.start[cells[i]] < 0:
                continue
            for j in range(n_numeric):
                n = column(tree.cells, sketch, cells[i], j, values, weights)
                half = 0.5 * _total(weights, n)
                out[i, j] = weighted_quantile(values, weights, n, half) if n > 0 else np.nan
    return out


def midpoints(medians):
    """Midpoints between neighbouring distinct medians (Section "Label-Aware Sketching").

    Examples
    --------
    >>> midpoints(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    array([[1.5, nan],
           [2.5, nan]])
    """
    known = np.sort(medians, axis=0)  # NaN last
    a, b = known[:-1], known[1:]
    middle = 0.5 * a + 0.5 * b
    return np.where(a < b, np.where(middle < b, middle, a), np.nan)


@exact
def dense_grid(tree, sketch, cells, m):
    """Evenly spaced thresholds between the smallest and the largest value of the leaf."""
    d = sketch.ends.shape[2]
    out = np.full((m, d), np.nan)
    for j in range(d):
        low, high = np.inf, -np.inf
        for cell in cells:
            if tree.cells.start[cell] >= 0:
                low = min(low, sketch.ends[cell, LOW, j])
                high = max(high, sketch.ends[cell, HIGH, j])
        if low < high:
            for i in range(m):
                out[i, j] = low + (high - low) * (i + 1) / (m + 1)
    return out


@exact
def sampled(tree, sketch, cells, m, seed, node, tried):
    """Thresholds drawn from all retained values, each with its sketch weight."""
    d = sketch.ends.shape[2]
    out = np.full((m, d), np.nan)
    values, weights = _buffers(tree, cells)
    for j in range(d):
        pool, mass = np.empty(0), np.empty(0)
        for cell in cells:
            if tree.cells.start[cell] >= 0:
                n = column(tree.cells, sketch, cell, j, values, weights)
                pool = np.concatenate((pool, values[:n]))
                mass = np.concatenate((mass, weights[:n]))
        if pool.size == 0:
            continue
        order = np.argsort(pool, kind="mergesort")
        cumulative = np.cumsum(mass[order])
        for i in range(m):
            target = uniform(seed, SAMPLED, node, tried, i) * cumulative[-1]
            at = np.searchsorted(cumulative, target, side="right")
            out[i, j] = pool[order[min(at, pool.size - 1)]]
    return out


@exact
def _known_in_sketch(cells, sketch, cell, known):
    """Share of the sketch's weight that is not missing, column by column."""
    d = known.size
    known[:] = 0.0
    total = float(total_weight(sketch, cell))
    at = cells.start[cell]
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            for j in range(d):
                known[j] += weight if sketch.items[at, j] != np.inf else 0.0
            at += 1
    return total


@exact
def _left_in_sketch(cells, sketch, cell, candidates, i, left):
    """Weight of the sketch's values <= the i-th candidates, column by column."""
    d = candidates.shape[1]
    left[i, :] = 0.0
    at = cells.start[cell]
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            for j in range(d):
                left[i, j] += weight if sketch.items[at, j] <= candidates[i, j] else 0.0
            at += 1


@exact
def _gaussian_rank(mean, variance, v):
    if variance <= 0.0:
        return 1.0 if mean <= v else 0.0
    return 0.5 * math.erfc((mean - v) / math.sqrt(2.0 * variance))


@exact
def left_masses(tree, missing, sketch, cell, candidates, known, left):
    """Mass of one class known in each numeric column, and its part left of each candidate.

    Parameters
    ----------
    candidates : float64 array, shape (m, n_numeric)
    known : float64 array, shape (n_numeric,)
        Receives the observed mass whose value is known.
    left : float64 array, shape (m, n_numeric)
        Receives the mass left of (or at) each candidate.
    """
    m, d = candidates.shape
    count = tree.cells.count[cell]
    if sketch is not None:
        if tree.cells.start[cell] >= 0:
            total = _known_in_sketch(tree.cells, sketch, cell, known)
            for i in range(m):
                _left_in_sketch(tree.cells, sketch, cell, candidates, i, left)
                for j in range(d):
                    share = count * (known[j] / total) if total > 0.0 else 0.0
                    left[i, j] = share * (left[i, j] / known[j]) if known[j] > 0.0 else 0.0
            for j in range(d):
                known[j] = count * (known[j] / total) if total > 0.0 else 0.0
            return
    for j in range(d):
        weight = tree.cells.weight[cell]
        seen = weight if missing is None else missing.cell[cell, j]
        known[j] = count * seen / weight
        for i in range(m):
            left[i, j] = 0.0
            if seen > 0.0 and candidates[i, j] == candidates[i, j]:
                variance = tree.stats[cell, M2, j] / seen
                rank = _gaussian_rank(tree.stats[cell, MEAN, j], variance, candidates[i, j])
                left[i, j] = known[j] * rank
