"""The split screen: a cheap test, inside the loop over rows, that a split attempt cannot succeed.

Let g be a gain that at least two columns reach. Then the gap between the two best columns is at
most the largest possible gain minus g. The screen looks at the two columns that were best at the
last attempt, each at one candidate near its threshold of that time. As a rule they still gain much,
which shows that the gap cannot exceed the radius. No other column or candidate is looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import allocating, exact
from mist.engine.criterion import TIE, confidence_radius, impurity_term, most_gain, split_gain
from mist.engine.state import LEVELS, TOTALS
from mist.engine.thresholds import class_median, left_mass, midpoint


class ScreenWorkspace(NamedTuple):
    """Workspace for one leaf."""

    cells: Any  # int64 (n_codes,)
    medians: Any  # float64 (n_codes,)
    values: Any  # float64: a sketch's column, and one value more
    weights: Any  # the same


@allocating
def screen_workspace(sketch, cells, medians):
    """Workspace made from arrays for the classes, which are passed, and a sketch's column."""
    n = np.int64(0)
    # The test for None is a statement of its own: only then is the rest not compiled without
    # sketches.
    if sketch is not None:
        n = sketch.plan[TOTALS, LEVELS] + 2
    column = np.empty((2, n))
    return ScreenWorkspace(cells, medians, column[0], column[1])


@exact
def cannot_split(screen, tree, sketch, leaf, n_numeric, work):
    """Whether a split attempt at the leaf must fail. False means: not known, examine the leaf.

    Parameters
    ----------
    screen : mist.engine.state.ScreenParams
        Parameters of the radius.
    tree, sketch
        Parts of a `mist.engine.state.State` without missing values.
    leaf, n_numeric : int
        The leaf, and the number of numeric columns.
    work : ScreenWorkspace
        Workspace.
    """
    if screen.squared == 0.0:
        return False
    n, cell = 0, tree.leaves.first[leaf]
    while cell >= 0:
        if tree.cells.count[cell] > 0.0:
            # With weights below 1 a sketch may still be empty. The full test has no median of such
            # a class.
            if tree.cells.start[cell] >= 0 and tree.cells.used[cell] == 0:
                return False
            work.cells[n] = cell
            n += 1
        cell = tree.cells.next[cell]
    if n < 2:
        return True
    cells = work.cells[:n]
    tests = screen.tests * (n - 1) if screen.by_class else screen.tests
    eps = confidence_radius(screen.squared, tests, screen.delta, tree.leaves.weight_seen[leaf])
    if eps < screen.tie_threshold:
        return False
    # If two columns gain `least`, the gap is at most most_gain - least = eps - TIE. The margin TIE
    # leaves cases that differ by rounding to the full test.
    least = most_gain(tree, cells, None) - eps + TIE
    if least <= 0.0:
        return True
    best, second = tree.leaves.best[leaf], tree.leaves.second[leaf]
    if second < 0:
        return False
    v, w = tree.leaves.best_at[leaf], tree.leaves.second_at[leaf]
    if _gain_near(tree, sketch, cells, best, v, n_numeric, work) < least:
        return False
    return _gain_near(tree, sketch, cells, second, w, n_numeric, work) >= least


@exact
def _gain_near(tree, sketch, cells, j, threshold, n_numeric, work):
    """Gini gain of a column's candidate that is nearest to a threshold."""
    n = cells.size
    v = 0.5
    if j < n_numeric:
        for i in range(n):
            work.medians[i] = class_median(tree, sketch, cells[i], j, work.values, work.weights)
        v = _midpoint_near(work.medians, n, threshold)
        if v != v:
            return 0.0
    total, parent, n_left, left, right = 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in cells:
        count = tree.cells.count[cell]
        part = left_mass(tree, sketch, cell, j, v, n_numeric)
        total += count
        n_left += part
        parent += impurity_term(count, None)
        left += impurity_term(part, None)
        right += impurity_term(count - part, None)
    return split_gain(n_left, total - n_left, left, right, parent, None)


@exact
def _midpoint_near(medians, n, v):
    """The midpoint between the neighbours of v among the medians, NaN if all medians are equal.

    Beyond the first or the last median it is the midpoint of the first or the last two.
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
