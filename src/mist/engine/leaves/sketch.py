"""Sketch leaves (MIST-K): distribution-free log densities, read from quantile sketches.

The density at x is the mass within one bandwidth on either side of x, over the width of that
window. The bandwidth is a multiple of the distance between the quantiles a quarter of the mass
below and above x (Eq. 5 and the algorithm "Sketch-Based Leaf Likelihood" of the paper). Widths are
measured in units of the column's running deviation, which makes the smoothing constant
dimensionless.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import wider
from mist.engine.compiled import allocating, exact, inlined
from mist.engine.kll import total_weight
from mist.engine.leafmodel import register
from mist.engine.leaves.gaussian import IndependentColumns, naive_bayes_score, renew_caches
from mist.engine.moments import categorical_score_missing, gaussian_column, sum_of_logs
from mist.engine.precision import stored
from mist.engine.sorted_columns import SortedColumns, count_at_most
from mist.engine.state import BLOCK_SIZES, HIGH, LOW, M2, MEAN, PREC, Options, State, leaf_cells

Array = np.ndarray[Any, Any]

HALF_WINDOW = 0.25
THIN = 20
"""With a sketch of fewer rows the cell answers with its Gaussian."""


class SketchWorkspace(NamedTuple):
    """Workspace: float64 arrays of shape (n_numeric,)."""

    sigma: Any  # running deviation
    value: Any  # value of the row, rounded as the sketch stores it
    bounds: Any  # bounds to search for
    found: Any  # number of values at or below them
    total: Any  # weight of all known values
    rank: Any  # share of it at or below the row's value
    upper: Any
    lower: Any
    density: Any


@exact
def deviations(tree, observed, sigma):
    """Running standard deviation of every numeric column, written to ``sigma``."""
    for j in range(sigma.size):
        weight = tree.nodes.mass[0] if observed is None else observed.scale[j]
        sigma[j] = math.sqrt(tree.scale[M2, j] / weight) if weight > 0.0 else 0.0


@exact
def _masses(sorted_columns, start, n, bounds, found, out):
    """Weight of the values at or below a bound among n rows from ``start`` on, by column."""
    count_at_most(sorted_columns.values, start, n, bounds, found)
    for j in range(bounds.size):
        mass = sorted_columns.mass[np.uint64(start + np.int64(max(found[j] - 1.0, 0.0))), j]
        out[j] = mass if found[j] > 0.0 else 0.0


@exact
def _quantiles(sorted_columns, start, n, targets, found, out):
    """First value at which the cumulative weight reaches a target, for every column.

    Weights are integers, so a weight is below a target just if it is at most ceil(target) - 1.
    """
    for j in range(targets.size):
        targets[j] = math.ceil(targets[j]) - 1.0
    count_at_most(sorted_columns.mass, start, n, targets, found)
    last = float(n - 1)
    for j in range(targets.size):
        out[j] = sorted_columns.values[np.uint64(start + np.int64(min(found[j], last))), j]


@exact
def _densities(cells, sketch, sorted_columns, cell, X, i, work, options):
    """Write a row's density in every column, in units of its deviation, to ``work.density``.

    For a column without a value, or with equal values only, the result is meaningless and is
    replaced by `sketch_score`. Parameters as in `sketch_score`.
    """
    start, n, d = cells.start[cell], cells.used[cell], work.sigma.size
    ends, value, bounds, found = sketch.ends, work.value, work.bounds, work.found
    total, rank, upper, lower = work.total, work.rank, work.upper, work.lower
    for j in range(d):
        total[j] = sorted_columns.mass[start + max(sorted_columns.count[cell, j] - 1, 0), j]
        value[j] = stored(sorted_columns.values, X[i, j])
    # Each step runs over all columns before the next one, so that it is vectorised.
    _masses(sorted_columns, start, n, value, found, rank)
    for j in range(d):
        rank[j] /= total[j]
        bounds[j] = min(rank[j] + HALF_WINDOW, 1.0) * total[j]
    _quantiles(sorted_columns, start, n, bounds, found, upper)
    for j in range(d):
        bounds[j] = max(rank[j] - HALF_WINDOW, 0.0) * total[j]
    _quantiles(sorted_columns, start, n, bounds, found, lower)
    # The half width of the window is kept in `density` until the density itself replaces it.
    half = work.density
    for j in range(d):
        x = value[j]
        top = upper[j] if rank[j] + HALF_WINDOW < 1.0 else float(ends[cell, HIGH, j])
        bottom = lower[j] if rank[j] - HALF_WINDOW > 0.0 else float(ends[cell, LOW, j])
        # If x is outside all values, the window is extended to x. Else equal values at an end would
        # give it no width.
        spacing = max(top, x) - min(bottom, x)
        half[j] = options.bandwidth * (
            spacing if spacing > 0.0 else options.smoothing * work.sigma[j]
        )
    for j in range(d):
        bounds[j] = value[j] + half[j]
    _masses(sorted_columns, start, n, bounds, found, upper)
    for j in range(d):
        bounds[j] = value[j] - half[j]
    _masses(sorted_columns, start, n, bounds, found, lower)
    for j in range(d):
        inside = upper[j] / total[j] - lower[j] / total[j] + options.smoothing
        work.density[j] = inside / (2.0 * half[j] / work.sigma[j] + options.smoothing)


@exact
def sketch_score(cells, stats, observed, sketch, sorted_columns, cell, X, i, work, options):
    """Log prior plus sketch log density of a row; missing values are left out.

    Parameters as in `mist.engine.leafmodel`, with ``cells`` and ``stats`` of the tree, and

    sorted_columns : SortedColumns
        The sorted columns of the sketches.
    """
    ends, sigma, density = sketch.ends, work.sigma, work.density
    d = sigma.size
    score = cells.norm[cell] + categorical_score_missing(cells, stats, observed, cell, X, i, d)
    thin = cells.start[cell] < 0 or total_weight(sketch, cell) < THIN
    if not thin:
        _densities(cells, sketch, sorted_columns, cell, X, i, work, options)
    # Columns without a usable sketch get the density 1, whose logarithm adds nothing below.
    for j in range(d):
        x = X[i, j]
        known = x == x and sigma[j] > 0.0
        if known and not thin and ends[cell, LOW, j] < ends[cell, HIGH, j]:
            continue
        density[j] = 1.0
        if known:
            score += gaussian_column(stats[cell, PREC, j], stats[cell, MEAN, j], x, sigma[j])
    score += sum_of_logs(density)
    return score if score > -np.inf else -1e300


@allocating
def _make_workspace(model, options):
    m = np.empty((9, options.n_numeric))
    return SketchWorkspace(m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8])


@inlined
def _prepare(model, tree, observed, work):
    deviations(tree, observed, work.sigma)


@inlined
def _score(model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need):
    """Score of a cell. Parameters as in `mist.engine.leafmodel`."""
    cells, stats = tree.cells, tree.stats
    if sketch is not None:
        return (
            sketch_score(cells, stats, observed, sketch, model, cell, X, i, work, options) + extra
        )
    # Without numeric columns nothing is sketched.
    return naive_bayes_score(
        model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need
    )


@inlined
def _log_density(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work):
    """Log density of a row. Parameters as in `mist.engine.leafmodel`."""
    density = _score(
        model, tree, observed, sketch, has_nan, options, leaf, cell, row, 0, work, 0.0, 0.0
    )
    density -= math.log(tree.cells.mass[cell] + 1.0)
    # From units of the running deviation to those of the column.
    for j in range(options.n_numeric):
        if row[0, j] == row[0, j] and work.sigma[j] > 0.0:
            density -= math.log(work.sigma[j])
    return density


@inlined
def _learn(model, tree, observed, options, leaf, cell, X, i, w, work):
    """Renew caches. Parameters as in `mist.engine.leafmodel`."""
    renew_caches(tree, observed, options, leaf, cell, False)
    return False


class SketchModel(IndependentColumns):
    """Leaf model of `SortedColumns`."""

    title = "sketch"
    arrays = SortedColumns
    sorts_sketches = True
    numeric_norm = False
    per_cell = ("count",)
    make_workspace = staticmethod(_make_workspace)
    prepare = staticmethod(_prepare)
    score = staticmethod(_score)
    log_density = staticmethod(_log_density)
    learn = staticmethod(_learn)

    def new(self, options: Options, n_columns: int) -> SortedColumns:
        """Return a view of an empty pool, for two cells."""
        n = options.n_numeric
        count = np.zeros((2, n), np.int64)
        return SortedColumns(np.zeros((0, n), options.precision), np.zeros((0, n)), count)

    def with_pool(self, model: SortedColumns, n_rows: int) -> SortedColumns:
        """Return a view for a pool of so many rows, which are not filled yet."""
        shape = n_rows, model.count.shape[1]
        return model._replace(values=np.zeros(shape, model.values.dtype), mass=np.zeros(shape))

    def widen(self, state: State, n_more: int) -> None:
        """Add columns without values."""
        sorted_columns = state.model
        at = sorted_columns.count.shape[1]
        mass = wider(sorted_columns.mass, n_more, at)
        # All values are +inf, so the cumulative weights of any other column are right for them.
        if at > 0:
            mass[:, at : at + n_more] = mass[:, :1]
        values = wider(sorted_columns.values, n_more, at, fill=np.inf)
        state.model = SortedColumns(values, mass, wider(sorted_columns.count, n_more, at))

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_proposals: bool
    ) -> None:
        """Copy the sorted columns."""
        theirs, mine = source.tree.cells, target.tree.cells
        if source.sketch is None or theirs.start[old] < 0:
            return
        n = int(theirs.used[old])
        for name in ("values", "mass"):
            there, here = getattr(source.model, name), getattr(target.model, name)
            rows = there[theirs.start[old] : theirs.start[old] + n]
            here[mine.start[new] : mine.start[new] + n] = rows
        super().copy_cell(source, old, target, new, with_proposals=with_proposals)

    def nbytes(self, state: State, leaf: int) -> int:
        """Bytes of the sorted columns, their weights and the counts."""
        cells = state.tree.cells[leaf_cells(state.tree, leaf)]
        rows = 0
        if state.sketch is not None:
            rows = int(state.sketch.plan[BLOCK_SIZES, cells.size_class[cells.start >= 0]].sum())
        each = state.model.values.itemsize + state.model.mass.itemsize
        return super().nbytes(state, leaf) + rows * state.options.n_numeric * each


SKETCH = register(SketchModel())
