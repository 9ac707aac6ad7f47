"""Welford moments of a cell and the Gaussian log density read from them (MIST-G).

A class variance is shrunk to the leaf's pooled within-class variance with the weight of
``variance_prior`` pseudo-observations, over a floor of 1e-9 of the column's running variance, so
that a class seen once neither wins everywhere nor is ignored. Precisions and normalisers are
cached; `mist.engine.leaves.gaussian` says when the caches are renewed.

An increment of a sum of squares is clipped at 0: if a weight is far larger than all before it, the
mean may overshoot the new value by a rounding error.

The order of floating-point operations must stay as it is: models are compared bit for bit.

The functions share these parameters:

tree, observed, options
    Parts of a `mist.engine.state.State`.
leaf, cell : int
    Indices in ``tree.leaves`` and ``tree.cells``.
X, i, w : float64 array, shape (n, d), int and float
    Rows in internal column order, the index of the row at hand, and its weight.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine.compiled import exact, inlined, summed
from mist.engine.state import EPOCH, M2, MEAN, N_CONSTANT, PREC, State

Array = np.ndarray[Any, Any]

FLOOR = 1e-9
"""Smallest class variance, as a share of the column's running variance."""

_HUGE = 1e300

SHARPEST = 1e300
"""Largest precision: the squares of distances below 1e-150 cannot be told from 0."""

_SMALL, _LARGE = 1e-145, 1e145  # the product of two such numbers is finite and not 0


@inlined
def learn_scale(tree, observed, X, i, w):
    """Learn a row into the running moments; a column that begins to vary starts an epoch.

    The root's mass must contain the row already: it is the weight of all rows.
    """
    scale, counters = tree.scale, tree.counters
    d = X.shape[1]
    if observed is None:
        r = w / tree.nodes.mass[0]
        for j in range(d):
            delta = X[i, j] - scale[MEAN, j]
            centre = scale[MEAN, j] + delta * r
            scale[M2, j] += max(w * delta * (X[i, j] - centre), 0.0)
            scale[MEAN, j] = centre
    else:
        for j in range(d):
            if X[i, j] == X[i, j]:
                observed.scale[j] += w
                delta = X[i, j] - scale[MEAN, j]
                centre = scale[MEAN, j] + delta * (w / observed.scale[j])
                scale[M2, j] += max(w * delta * (X[i, j] - centre), 0.0)
                scale[MEAN, j] = centre
    # A column that has varied never becomes constant again, so that this ends soon.
    if counters[N_CONSTANT] > 0:
        n = 0
        for j in range(d):
            n += scale[M2, j] == 0.0
        if n < counters[N_CONSTANT]:
            counters[N_CONSTANT] = n
            counters[EPOCH] += 1


@inlined
def running_variance(tree, observed, j):
    """Variance of a column over all rows learnt that have a value there."""
    weight = tree.nodes.mass[0] if observed is None else observed.scale[j]
    return tree.scale[M2, j] / weight if weight > 0.0 else 0.0


@inlined
def learn_moments(tree, observed, leaf, cell, X, i, w):
    """Learn a row into a cell and into its leaf's pooled spread."""
    cells, stats, spread = tree.cells, tree.stats, tree.spread
    cells.weight[cell] += w
    cells.mass[cell] += w
    cells.count[cell] += w
    cells.steps[cell] += 1
    tree.leaves.weight[leaf] += w
    # Both branches round alike: as long as nothing is missing they give the same bits.
    if observed is None:
        r = w / cells.weight[cell]
        for j in range(X.shape[1]):
            delta = X[i, j] - stats[cell, MEAN, j]
            centre = stats[cell, MEAN, j] + delta * r
            more = max(w * delta * (X[i, j] - centre), 0.0)
            stats[cell, M2, j] += more
            spread[leaf, j] += more
            stats[cell, MEAN, j] = centre
    else:
        for j in range(X.shape[1]):
            if X[i, j] == X[i, j]:
                observed.cell[cell, j] += w
                observed.leaf[leaf, j] += w
                delta = X[i, j] - stats[cell, MEAN, j]
                centre = stats[cell, MEAN, j] + delta * (w / observed.cell[cell, j])
                more = max(w * delta * (X[i, j] - centre), 0.0)
                stats[cell, M2, j] += more
                spread[leaf, j] += more
                stats[cell, MEAN, j] = centre


@exact
def learn_products(tree, observed, cell, X, i, w):
    """Learn a row into a cell's products of deviations, before its moments learn it.

    A product needs both values. It is the deviation of one column from its mean before the row
    times the deviation of the other from its mean after the row.
    """
    stats, products = tree.stats, tree.products
    at, j = 0, 0
    while at < products.shape[1]:
        before = X[i, j] - stats[cell, MEAN, j]
        if before == before:  # the value is not missing
            for k in range(j + 1):
                seen = tree.cells.weight[cell] if observed is None else observed.cell[cell, k]
                after = (X[i, k] - stats[cell, MEAN, k]) * (seen / (seen + w))
                products[cell, at + k] += w * before * after if after == after else 0.0
        j += 1
        at += j


@inlined
def _shares(prior):
    """Factors 1 : prior for own and pooled variance, neither above 1 so that no sum overflows."""
    return (1.0, prior) if prior < 1.0 else (1.0 / prior, 1.0)


@inlined
def _precisions(tree, leaf, cell, n, prior):
    """Write the precisions of the n numeric columns of a cell, where nothing is missing."""
    stats, spread, scale = tree.stats, tree.spread, tree.scale
    own, common = _shares(prior)
    # One division a column: the weights are the same for all of them.
    pooling = common / tree.leaves.weight[leaf]
    shrinking = 1.0 / (own * tree.cells.weight[cell] + common)
    floor = FLOOR / tree.nodes.mass[0]
    for j in range(n):
        # A product, not the division of `_precisions_missing`: the two may differ in the last bit.
        pooled = spread[leaf, j] * pooling
        variance = (own * stats[cell, M2, j] + pooled) * shrinking + floor * scale[M2, j]
        stats[cell, PREC, j] = min(1.0 / variance, SHARPEST) if variance > 0.0 else 0.0


@exact
def _precisions_missing(tree, observed, leaf, cell, n, prior):
    """`_precisions` with column weights; negative in columns that the class has no value in."""
    stats, spread = tree.stats, tree.spread
    own, common = _shares(prior)
    for j in range(n):
        running = running_variance(tree, observed, j)
        seen = observed.cell[cell, j]
        if seen > 0.0:
            pooled = common * (spread[leaf, j] / observed.leaf[leaf, j])
            variance = (own * stats[cell, M2, j] + pooled) / (own * seen + common)
            variance += FLOOR * running
            stats[cell, PREC, j] = min(1.0 / variance, SHARPEST) if variance > 0.0 else 0.0
        else:
            # The minus says that the class has no value here: it counts with the variance over all
            # rows and the squared deviation that this variance expects. The normaliser takes the
            # absolute value.
            stats[cell, PREC, j] = max(-1.0 / running, -SHARPEST) if running > 0.0 else 0.0


@inlined
def _factor(values, j):
    """|values[j]|, or 1 for a value of 0, which is left out."""
    value = abs(values[j])
    return value if value > 0.0 else 1.0


@inlined
def sum_of_logs(values):
    """Sum of log|v| over the non-zero values, with one logarithm for many of them."""
    n = values.size
    total, product = 0.0, 1.0
    # Sixteen factors a time are multiplied, if their product neither overflows nor underflows.
    for first in range(0, n, 16):
        last = min(first + 16, n)
        whole = last - (last - first) % 4
        # Four chains of products, so that no multiplication waits for the one before.
        a, b, c, d = 1.0, 1.0, 1.0, 1.0
        for j in range(first, whole, 4):
            a *= _factor(values, j)
            b *= _factor(values, j + 1)
            c *= _factor(values, j + 2)
            d *= _factor(values, j + 3)
        for j in range(whole, last):
            a *= _factor(values, j)
        sixteen = (a * b) * (c * d)
        if _SMALL < sixteen < _LARGE:
            product *= sixteen
            if not _SMALL < product < _LARGE:
                total += math.log(product)
                product = 1.0
        else:
            for j in range(first, last):
                total += math.log(_factor(values, j))
    return total + math.log(product)


@inlined
def refresh_cell(tree, observed, options, leaf, cell, numeric_norm):
    """Renew a cell's cached precisions and normaliser.

    In 0/1 columns ``prec`` is the log odds of a 1 and the normaliser takes the log
    probability of a 0, so that the log likelihood of x is linear in it. With
    ``numeric_norm`` false, numeric columns add nothing to the normaliser (MIST-K).
    """
    stats, weight = tree.stats, tree.cells.weight[cell]
    n_numeric, prior = options.n_numeric, options.variance_prior
    if observed is None:
        _precisions(tree, leaf, cell, n_numeric, prior)
    else:
        _precisions_missing(tree, observed, leaf, cell, n_numeric, prior)
    norm = math.log(tree.cells.mass[cell] + 1.0)
    if numeric_norm:
        norm += 0.5 * sum_of_logs(stats[cell, PREC, :n_numeric])
    for j in range(n_numeric, stats.shape[2]):
        known = weight if observed is None else observed.cell[cell, j]
        ones = stats[cell, MEAN, j] * known
        stats[cell, PREC, j] = math.log((ones + 1.0) / (known - ones + 1.0))
        norm += math.log((known - ones + 1.0) / (known + 2.0))
    tree.cells.norm[cell] = norm


@exact
def refresh_leaf(tree, observed, options, leaf, numeric_norm):
    """Renew the caches of all cells of a leaf."""
    cell = tree.leaves.first[leaf]
    while cell >= 0:
        refresh_cell(tree, observed, options, leaf, cell, numeric_norm)
        cell = tree.cells.next[cell]
    tree.leaves.epoch[leaf] = tree.counters[EPOCH]


@summed
def _deviation(stats, cell, X, i, n):
    """Squared distance of a row from the mean in n columns, in units of the variances."""
    total = 0.0
    for j in range(n):
        t = X[i, j] - stats[cell, MEAN, j]
        total += stats[cell, PREC, j] * t * t
    return total


@summed
def _log_odds(stats, cell, X, i, first):
    """Sum of the log odds of the ones among the 0/1 columns."""
    total = 0.0
    for j in range(first, X.shape[1]):
        total += stats[cell, PREC, j] * X[i, j]
    return total


@inlined
def gaussian_score(cells, stats, cell, X, i, n_numeric):
    """Log prior plus log density of a row without missing values, up to a shared constant."""
    score = cells.norm[cell] - 0.5 * _deviation(stats, cell, X, i, n_numeric)
    if n_numeric < X.shape[1]:
        score += _log_odds(stats, cell, X, i, n_numeric)
    return score if score > -_HUGE else -_HUGE


@exact
def categorical_score_missing(cells, stats, observed, cell, X, i, n_numeric):
    """Log odds of the 0/1 columns, without the normaliser's terms of missing values."""
    score = 0.0
    for j in range(n_numeric, X.shape[1]):
        if X[i, j] == X[i, j]:
            score += stats[cell, PREC, j] * X[i, j]
        else:
            known = cells.weight[cell] if observed is None else observed.cell[cell, j]
            ones = stats[cell, MEAN, j] * known
            score -= math.log((known - ones + 1.0) / (known + 2.0))
    return score


@exact
def gaussian_score_missing(cells, stats, observed, cell, X, i, n_numeric):
    """`gaussian_score` for rows, or models, with missing values."""
    score = cells.norm[cell]
    score += categorical_score_missing(cells, stats, observed, cell, X, i, n_numeric)
    for j in range(n_numeric):
        prec = stats[cell, PREC, j]
        if X[i, j] == X[i, j]:
            t = X[i, j] - stats[cell, MEAN, j]
            score -= 0.5 * (prec * t * t if prec >= 0.0 else 1.0)
        # A missing value: take its term out of the normaliser, which counts all columns.
        elif prec != 0.0:
            score -= 0.5 * math.log(abs(prec))
    return score if score > -_HUGE else -_HUGE


@exact
def gaussian_column(prec, mean, x, sigma):
    """Log density of one value in units of ``sigma``; ``prec`` may be negative, as when cached."""
    if prec == 0.0:
        return -0.5 * math.log(2.0 * math.pi)
    value = 0.5 * math.log(abs(prec)) - 0.5 * math.log(2.0 * math.pi) + math.log(sigma)
    return value - 0.5 * (prec * (x - mean) * (x - mean) if prec > 0.0 else 1.0)


def independent(state: State, cell: int, feature: int) -> tuple[Array, Array]:
    """Covariances of independent numeric columns with one of them, and their variances."""
    variance = variances(state, cell)
    return np.where(np.arange(len(variance)) == feature, variance, 0.0), variance


def variances(state: State, cell: int) -> Array:
    """Variance of each numeric column, 0 where there is no value."""
    weights = seen(state, cell)
    M = state.tree.stats[cell, M2, : len(weights)]
    return np.divide(M, weights, out=np.zeros(len(weights)), where=weights > 0.0)


def seen(state: State, cell: int) -> Array:
    """Weight behind the moments of each numeric column."""
    n = state.options.n_numeric
    if state.observed is None:
        return np.full(n, state.tree.cells.weight[cell])
    weights: Array = state.observed.cell[cell, :n]
    return weights
