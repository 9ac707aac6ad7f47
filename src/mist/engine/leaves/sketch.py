"""Sketch leaves (MIST-K): distribution-free log densities, read from quantile sketches.

The density at x is the mass within one bandwidth on either side over its width; the
bandwidth is a multiple of the distance between the quantiles a quarter of the mass below
and above x (Eq. 5 and the algorithm "Sketch-Based Leaf Likelihood" of the paper). Widths
are measured in units of the column's running deviation, which makes the smoothing constant
dimensionless.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import wider
from mist.engine.compiled import allocating, exact, inlined
from mist.engine.kll import total_weight, upper_bound
from mist.engine.leafmodel import register
from mist.engine.leaves.gaussian import IndependentColumns, naive_bayes_score, renew_caches
from mist.engine.moments import categorical_score_missing, gaussian_column
from mist.engine.precision import stored
from mist.engine.state import HIGH, LOW, M2, MEAN, PREC, ROOMS, Options, State, leaf_cells

Array = np.ndarray[Any, Any]

HALF_WINDOW = 0.25
THIN = 20
"""A sketch of fewer rows is no distribution: the cell answers with its Gaussian."""


class View(NamedTuple):
    """Sorted columns of every sketch with cumulative weights."""

    values: Any  # as `Sketch.items`: blocks as there, column after column
    mass: Any  # float64, so that it is exact: cumulative weight up to and including the value
    count: Any  # int64 (cells, numeric columns): values that are not missing


@exact
def deviations(tree, missing, sigma):
    """Running standard deviation of every numeric column, written to ``sigma``."""
    for j in range(sigma.size):
        weight = tree.nodes.mass[0] if missing is None else missing.scale[j]
        sigma[j] = math.sqrt(tree.scale[M2, j] / weight) if weight > 0.0 else 0.0


@exact
def _mass_at(view, base, n, v):
    """Weight of the first n values of a block that are <= v."""
    at = upper_bound(view.values, base, n, v)
    return view.mass[base + at - 1] if at > 0 else 0.0


@exact
def _value_at(view, base, n, target):
    """First value whose cumulative weight is >= target."""
    low, span = 0, n - 1
    while span > 0:
        half = span >> 1
        if view.mass[base + low + half] < target:
            low += half + 1
            span -= half + 1
        else:
            span = half
    return view.values[base + low]


@exact
def _column_density(view, base, n, low, high, x, sigma, bandwidth, smoothing):
    total = view.mass[base + n - 1]
    r = _mass_at(view, base, n, x) / total
    top, bottom = min(r + HALF_WINDOW, 1.0), max(r - HALF_WINDOW, 0.0)
    upper = high if top >= 1.0 else _value_at(view, base, n, top * total)
    lower = low if bottom <= 0.0 else _value_at(view, base, n, bottom * total)
    # Outside all values the window reaches to x: else ties at an end would leave no width.
    spacing = max(upper, x) - min(lower, x)
    if spacing <= 0.0:
        spacing = smoothing * sigma
    h = bandwidth * spacing
    inside = _mass_at(view, base, n, x + h) / total - _mass_at(view, base, n, x - h) / total
    return math.log((inside + smoothing) / (2.0 * h / sigma + smoothing))


@exact
def sketch_score(cells, stats, missing, sketch, view, cell, X, i, sigma, options):
    """Log prior plus sketch log density of a row; missing values are left out."""
    ends, d = sketch.ends, sigma.size
    bandwidth, smoothing = options.bandwidth, options.smoothing
    score = cells.norm[cell] + categorical_score_missing(cells, stats, missing, cell, X, i, d)
    thin = cells.start[cell] < 0 or total_weight(sketch, cell) < THIN
    room = 0 if thin else sketch.plan[ROOMS, cells.room[cell]]
    for j in range(d):
        x, low, high = X[i, j], ends[cell, LOW, j], ends[cell, HIGH, j]
        if x != x or sigma[j] == 0.0:
            continue
        if thin or view.count[cell, j] == 0 or not low < high:
            score += gaussian_column(stats[cell, PREC, j], stats[cell, MEAN, j], x, sigma[j])
            continue
        base, n = cells.start[cell] * d + j * room, view.count[cell, j]
        x = np.float64(stored(view.values, x))  # as the values it is compared with
        score += _column_density(view, base, n, low, high, x, sigma[j], bandwidth, smoothing)
    return score if score > -np.inf else -1e300


@allocating
def _make_room(model, options):
    return np.empty(options.n_numeric)


@inlined
def _prepare(model, tree, missing, room):
    deviations(tree, missing, room)


@inlined
def _score(
    model, tree, missing, sketch, holes, binary, options, leaf, cell, X, i, room, extra, need
):
    cells, stats = tree.cells, tree.stats
    if sketch is not None:
        return sketch_score(cells, stats, missing, sketch, model, cell, X, i, room, options) + extra
    # Without numeric columns nothing is sketched.
    return naive_bayes_score(
        model, tree, missing, sketch, holes, binary, options, leaf, cell, X, i, room, extra, need
    )


@inlined
def _log_density(model, tree, missing, sketch, holes, binary, options, leaf, cell, row, room):
    density = _score(
        model, tree, missing, sketch, holes, binary, options, leaf, cell, row, 0, room, 0.0, 0.0
    )
    density -= math.log(tree.cells.mass[cell] + 1.0)
    for j in range(options.n_numeric):
        if row[0, j] == row[0, j] and room[j] > 0.0:
            density -= math.log(room[j])
    return density


@inlined
def _learn(model, tree, missing, options, leaf, cell, X, i, w, room):
    renew_caches(tree, missing, options, leaf, cell, False)
    return False


class SketchModel(IndependentColumns):
    """Leaf model of `View`."""

    title = "sketch"
    arrays = View
    sorts_sketches = True
    merges = False  # nothing merges sketches yet
    numeric_norm = False
    per_cell = ("count",)
    make_room = staticmethod(_make_room)
    prepare = staticmethod(_prepare)
    score = staticmethod(_score)
    log_density = staticmethod(_log_density)
    learn = staticmethod(_learn)

    def new(self, options: Options, n_columns: int) -> View:
        """Return a view of no sketch, with room for two cells."""
        count = np.zeros((2, options.n_numeric), np.int64)
        return View(np.zeros(0, options.precision), np.zeros(0), count)

    def with_pool(self, model: View, n_rows: int) -> View:
        """Return a view with room for the columns of so many rows, which are not filled yet."""
        n = n_rows * model.count.shape[1]
        return model._replace(values=np.zeros(n, model.values.dtype), mass=np.zeros(n))

    def widen(self, state: State, n_more: int) -> None:
        """Move the blocks apart: each has more columns."""
        view, sketch, cells = state.model, state.sketch, state.tree.cells
        at = view.count.shape[1]
        n_rows = 0 if sketch is None else len(sketch.items)
        n_values = n_rows * (at + n_more)
        values, mass = np.zeros(n_values, view.values.dtype), np.zeros(n_values)
        if sketch is not None:
            for cell in np.flatnonzero(cells.start >= 0):
                start, n = cells.start[cell], sketch.plan[ROOMS, cells.room[cell]] * at
                old, new = start * at, start * (at + n_more)
                values[new : new + n] = view.values[old : old + n]
                mass[new : new + n] = view.mass[old : old + n]
        state.model = View(values, mass, wider(view.count, n_more, at))

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_trials: bool
    ) -> None:
        """Copy the sorted columns."""
        theirs, mine = source.tree.cells, target.tree.cells
        if source.sketch is None or theirs.start[old] < 0:
            return
        n = int(source.sketch.plan[ROOMS, theirs.room[old]]) * source.options.n_numeric
        there, here = (
            int(cells.start[cell]) * source.options.n_numeric
            for cells, cell in ((theirs, old), (mine, new))
        )
        for name in ("values", "mass"):
            copied = getattr(source.model, name)[there : there + n]
            getattr(target.model, name)[here : here + n] = copied
        super().copy_cell(source, old, target, new, with_trials=with_trials)

    def nbytes(self, state: State, leaf: int) -> int:
        """Two numbers beside each of a sketch, and the counts."""
        cells = state.tree.cells[leaf_cells(state.tree, leaf)]
        rows = 0
        if state.sketch is not None:
            rows = int(state.sketch.plan[ROOMS, cells.room[cells.start >= 0]].sum())
        each = state.model.values.itemsize + state.model.mass.itemsize
        return super().nbytes(state, leaf) + rows * state.options.n_numeric * each


SKETCH = register(SketchModel())
