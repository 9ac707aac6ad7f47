"""Attempts to split that must fail, told at a glance and without leaving the loop over rows.

The gap between a leaf's two best columns is at most what any split can gain, less a gain that two
columns reach. The two that were best at the last attempt still gain much as a rule, at one of
their candidates near the threshold of then: mostly that shows at once that the gap cannot exceed
the radius, and neither the other columns nor the other candidates are looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import allocating, exact
from mist.engine.criterion import (
    TIE,
    confidence_radius,
    impurity_term,
    most_gain,
    split_gain,
)
from mist.engine.state import LEVELS, TOTALS
from mist.engine.thresholds import class_median, left_mass, midpoint


class Room(NamedTuple):
    """Room for what is computed of one leaf."""

    cells: Any  # int64 (n_codes,)
    medians: Any  # float64 (n_codes,)
    values: Any  # float64: a sketch's column, and one value more
    weights: Any  # the same


@allocating
def glance_room(sketch, cells, medians):
    """Room for a look at a leaf, beside that for its classes."""
    n = np.int64(0)
    # The bare test for None comes first: only then is the rest not compiled without sketches.
    if sketch is not None:
        n = sketch.plan[TOTALS, LEVELS] + 2
    column = np.empty((2, n))
    return Room(cells, medians, column[0], column[1])


@exact
def must_fail(glance, tree, sketch, leaf, n_numeric, room):
    """Whether no gap of the leaf can exceed the radius; nothing is missing anywhere.

    False where that is not seen at a glance.
    """
    if glance.squared == 0.0:
        return False
    n, cell = 0, tree.leaves.first[leaf]
    while cell >= 0:
        if tree.cells.count[cell] > 0.0:
            # A sketch may be empty beside weights below 1: the full test leaves such a class out.
            if tree.cells.start[cell] >= 0 and tree.cells.used[cell] == 0:
                return False
            room.cells[n] = cell
            n += 1
        cell = tree.cells.next[cell]
    if n < 2:
        return True
    cells = room.cells[:n]
    tests = glance.tests * (n - 1) if glance.by_class else glance.tests
    eps = confidence_radius(glance.squared, tests, glance.delta, tree.leaves.rows[leaf])
    if eps < glance.tie_threshold:
        return False
    # What must be surpassed by both columns; differences by rounding are left to the full test.
    least = most_gain(tree, cells, None) - eps + TIE
    if least <= 0.0:
        return True
    best, second = tree.leaves.best[leaf], tree.leaves.second[leaf]
    if second < 0:
        return False
    v, w = tree.leaves.best_at[leaf], tree.leaves.second_at[leaf]
    if _gain_near(tree, sketch, cells, best, v, n_numeric, room) < least:
        return False
    return _gain_near(tree, sketch, cells, second, w, n_numeric, room) >= least


@exact
def _gain_near(tree, sketch, cells, j, threshold, n_numeric, room):
    """Gini gain of a column's candidate that is nearest to a threshold."""
    n = cells.size
    v = 0.5
    if j < n_numeric:
        for i in range(n):
            room.medians[i] = class_median(tree, sketch, cells[i], j, room.values, room.weights)
        v = _midpoint_near(room.medians, n, threshold)
        if v != v:
            return 0.0
    total, whole, n_left, left, right = 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in cells:
        count = tree.cells.count[cell]
        part = left_mass(tree, sketch, cell, j, v, n_numeric)
        total += count
        n_left += part
        whole += impurity_term(count, None)
        left += impurity_term(part, None)
        right += impurity_term(count - part, None)
    return split_gain(n_left, total - n_left, left, right, whole, None)


@exact
def _midpoint_near(medians, n, v):
    """The midpoint between v's neighbours among the medians, NaN if they are all equal.

    Beyond the last median, that between the last two.
    """
    # The two largest that are <= v, and the two smallest above.
    a, b = -np.inf, np.inf
    before, behind = -np.inf, np.inf
    for i in range(n):
        median = medians[i]
        if median <= v:
            if median > a:
                before, a = a, median
            elif before < median < a:
                before = median
        elif median < b:
            behind, b = b, median
        elif b < median < behind:
            behind = median
    if a > -np.inf and b < np.inf:
        return midpoint(a, b)
    if before > -np.inf:
        return midpoint(before, a)
    return midpoint(b, behind) if behind < np.inf else np.nan
