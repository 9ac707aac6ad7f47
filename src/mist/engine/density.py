"""Distribution-free log density of a cell, read from its quantile sketches (MIST-K).

The density at x is the mass within one bandwidth on either side over its width; the
bandwidth is a multiple of the distance between the quantiles a quarter of the mass below
and above x (Eq. 5 and the algorithm "Sketch-Based Leaf Likelihood" of the paper). Widths
are measured in units of the column's running deviation, which makes the smoothing constant
dimensionless.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import exact
from mist.engine.kll import total_weight, upper_bound
from mist.engine.moments import categorical_score_missing, gaussian_column
from mist.engine.state import HIGH, LOW, M2, MEAN, PREC, ROOMS

HALF_WINDOW = 0.25
THIN = 20
"""A sketch of fewer rows is no distribution: the cell answers with its Gaussian."""


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
def _log_density(view, base, n, low, high, x, sigma, bandwidth, smoothing):
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
        score += _log_density(view, base, n, low, high, x, sigma[j], bandwidth, smoothing)
    return score if score > -np.inf else -1e300
