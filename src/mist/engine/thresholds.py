"""Candidate thresholds of a leaf and the class masses on either side of them.

A candidate matrix has one column for each numeric feature. It holds NaN where a feature has fewer
candidates than another; comparisons with NaN are false, so nothing is counted left of it.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import allocating, exact
from mist.engine.kll import column, median, rank, total_weight
from mist.engine.random import SAMPLED, uniform
from mist.engine.state import HIGH, LOW, M2, MEAN


@allocating
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


@allocating
def _buffers(tree, cells):
    """Scratch arrays for values and weights of the largest sketch, with one entry more."""
    n = 1
    for cell in cells:
        n = max(n, tree.cells.used[cell] + 1)
    return np.empty(n), np.empty(n)


@exact
def class_median(tree, sketch, cell, j, values, weights):
    """Median of one class in one numeric column where no value is missing.

    A cell without a sketch gives its mean. A cell that has learnt nothing since its medians were
    cached is not searched again. ``values`` and ``weights`` are scratch arrays for one entry more
    than the sketch has rows.
    """
    records, stats = tree.cells, tree.stats
    # The test for None is a statement of its own: only then is the rest not compiled without
    # sketches.
    if sketch is not None:  # noqa: SIM102
        if records.start[cell] >= 0:
            # `median_at` is set by `class_medians`, once all columns of the cell are up to date.
            if records.median_at[cell] != records.steps[cell]:
                # The median is near the last one, or not far from the mean; a wrong guess costs
                # time only.
                known = records.median_at[cell] >= 0
                guess = sketch.medians[cell, j] if known else stats[cell, MEAN, j]
                reach = math.sqrt(stats[cell, M2, j] / records.weight[cell])
                reach *= 0.07 if known else 0.6
                sketch.medians[cell, j] = median(
                    records, sketch, cell, j, guess - reach, guess + reach, values, weights
                )
            return sketch.medians[cell, j]
    return stats[cell, MEAN, j]


@allocating
def class_medians(tree, observed, sketch, cells, n_numeric):
    """Median of every class in every numeric column, NaN where nothing is known.

    Returns shape (cells, n_numeric), by `class_median`.
    """
    records = tree.cells
    out = np.empty((cells.size, n_numeric))
    values, weights = _buffers(tree, cells)
    for i in range(cells.size):
        cell = cells[i]
        for j in range(n_numeric):
            out[i, j] = class_median(tree, sketch, cell, j, values, weights)
        if records.start[cell] >= 0:
            records.median_at[cell] = records.steps[cell]
        elif observed is not None:
            for j in range(n_numeric):
                if not observed.cell[cell, j] > 0.0:
                    out[i, j] = np.nan
    return out


@exact
def midpoint(a, b):
    """Midpoint of a < b, or a where rounding would make it b.

    Examples
    --------
    >>> midpoint(1.0, 2.0), midpoint(1.0, 1.0 + 2.0**-52)
    (1.5, 1.0)
    """
    v = 0.5 * a + 0.5 * b
    return v if v < b else a


@allocating
def midpoints(medians):
    """Midpoints between neighbouring distinct medians (Section "Label-Aware Sketching").

    Examples
    --------
    >>> midpoints(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    array([[1.5, nan],
           [2.5, nan]])
    """
    n, d = medians.shape
    out = np.full((n - 1, d), np.nan)
    known = np.empty(n)
    for j in range(d):
        # Insertion sort: there are few classes, and their order seldom changes.
        m = 0
        for k in range(n):
            v = medians[k, j]
            if v != v:
                continue
            at = m
            while at > 0 and known[at - 1] > v:
                known[at] = known[at - 1]
                at -= 1
            known[at] = v
            m += 1
        placed = 0
        for k in range(1, m):
            a, b = known[k - 1], known[k]
            if a < b:
                out[placed, j] = midpoint(a, b)
                placed += 1
    return out


@allocating
def median_candidates(tree, observed, sketch, cells, n_numeric):
    """Candidates between the class medians, shape (cells - 1, n_numeric)."""
    return midpoints(class_medians(tree, observed, sketch, cells, n_numeric))


@allocating
def dense_grid(tree, sketch, cells, m):
    """``m`` evenly spaced thresholds between the smallest and the largest value of the leaf."""
    d = sketch.ends.shape[2]
    out = np.full((m, d), np.nan)
    for j in range(d):
        low, high = np.inf, -np.inf
        for cell in cells:
            if tree.cells.start[cell] >= 0:
                low = min(low, float(sketch.ends[cell, LOW, j]))
                high = max(high, float(sketch.ends[cell, HIGH, j]))
        if low < high:
            for i in range(m):
                out[i, j] = low + (high - low) * (i + 1) / (m + 1)
    return out


@allocating
def sampled(tree, sketch, cells, m, seed, node, tried):
    """``m`` thresholds drawn from all values in the sketches, each with its weight there."""
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
    """Weight of the sketch's values that are not missing, column by column."""
    d = known.size
    known[:] = 0.0
    at = cells.start[cell]
    for level in range(cells.levels[cell] - 1, -1, -1):
        weight = 2.0**level
        for _ in range(sketch.sizes[cell, level]):
            for j in range(d):
                known[j] += weight if sketch.items[at, j] != np.inf else 0.0
            at += 1


@exact
def _left_in_sketch(cells, sketch, cell, candidates, left):
    """Weight of the sketch's values <= each candidate, column by column."""
    items = sketch.items
    m, d = candidates.shape
    left[:] = 0.0
    at = cells.start[cell]
    for level in range(cells.levels[cell] - 1, -1, -1):
        w = 2.0**level
        end = at + sketch.sizes[cell, level]
        # Two rows are compared with all candidates before the next two, so that each is read from
        # memory once.
        while at + 2 <= end:
            for i in range(m):
                for j in range(d):
                    v = candidates[i, j]
                    more = w if items[at, j] <= v else 0.0
                    left[i, j] += more + (w if items[at + 1, j] <= v else 0.0)
            at += 2
        if at < end:
            for i in range(m):
                for j in range(d):
                    left[i, j] += w if items[at, j] <= candidates[i, j] else 0.0
            at += 1


@exact
def _gaussian_rank(mean, variance, v):
    """Share of a Gaussian at or below v; all or nothing without variance."""
    if variance <= 0.0:
        return 1.0 if mean <= v else 0.0
    return 0.5 * math.erfc((mean - v) / math.sqrt(2.0 * variance))


@exact
def left_masses(tree, observed, sketch, cell, candidates, known, left):
    """Mass of one class known in each numeric column, and its part left of each candidate.

    From the sketch of the class, or from its Gaussian without one.

    Parameters
    ----------
    tree, observed, sketch
        Parts of a `mist.engine.state.State`.
    cell : int
        The class at a leaf.
    candidates : float64 array, shape (m, n_numeric)
    known : float64 array, shape (n_numeric,)
        Receives the observed mass whose value is known.
    left : float64 array, shape (m, n_numeric)
        Receives the mass left of (or at) each candidate.
    """
    m, d = candidates.shape
    count = tree.cells.count[cell]
    # As in `class_median`.
    if sketch is not None:  # noqa: SIM102
        if tree.cells.start[cell] >= 0:
            total = float(total_weight(sketch, cell))
            if observed is None:
                known[:] = total
            else:
                _known_in_sketch(tree.cells, sketch, cell, known)
            _left_in_sketch(tree.cells, sketch, cell, candidates, left)
            # The sketch counts whole copies, and inherited rows, so its weights are scaled to the
            # weight observed at the leaf.
            for i in range(m):
                for j in range(d):
                    share = count * (known[j] / total) if total > 0.0 else 0.0
                    left[i, j] = share * (left[i, j] / known[j]) if known[j] > 0.0 else 0.0
            for j in range(d):
                known[j] = count * (known[j] / total) if total > 0.0 else 0.0
            return
    for j in range(d):
        weight = tree.cells.weight[cell]
        seen = weight if observed is None else observed.cell[cell, j]
        known[j] = count * seen / weight
        for i in range(m):
            left[i, j] = 0.0
            if seen > 0.0 and candidates[i, j] == candidates[i, j]:
                variance = tree.stats[cell, M2, j] / seen
                share = _gaussian_rank(tree.stats[cell, MEAN, j], variance, candidates[i, j])
                left[i, j] = known[j] * share


@exact
def left_mass(tree, sketch, cell, j, v, n_numeric):
    """Mass of one class left of (or at) one threshold, where no value is missing."""
    count = tree.cells.count[cell]
    if j >= n_numeric:
        return binary_masses(tree, None, cell, j, count)[1]
    if sketch is not None:  # noqa: SIM102 - as above
        if tree.cells.start[cell] >= 0:
            return count * rank(tree.cells, sketch, cell, j, v)
    variance = tree.stats[cell, M2, j] / tree.cells.weight[cell]
    return count * _gaussian_rank(tree.stats[cell, MEAN, j], variance, v)


@exact
def binary_masses(tree, observed, cell, j, count):
    """Of ``count`` rows of a class, how many have a value in a 0/1 column, and how many a 0."""
    weight = tree.cells.weight[cell]
    known = count * (weight if observed is None else observed.cell[cell, j]) / weight
    return known, known * (1.0 - tree.stats[cell, MEAN, j])
