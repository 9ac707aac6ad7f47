"""Full-covariance Gaussians in a pool: moments, factors and log densities.

Covariances and factors are packed: the lower triangle, row after row. A *factor* is the inverse
of the Cholesky factor, so that a log density is a sum of squares of dot products. Columns behind
the numeric ones hold 0 and 1; of them a Gaussian knows the mean alone, and the density has a
Bernoulli factor for each.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact, inlined, summed

GAUSS = np.dtype(
    [
        ("weight", np.float64),  # of the rows behind the moments
        ("fresh", np.float64),  # that weight when the factor was made
        ("constant", np.float64),  # log density at the mean, all binary columns 0
    ]
)

LEAST_PIVOT = 1e-12
"""A pivot below this share of its variance means that rounding has eaten the rest."""

LEAST_CHANCE = 1e-4
"""Bounds the probability of a 1, and of a 0, in a 0/1 column."""


class Gaussians(NamedTuple):
    """A pool of Gaussians over a numeric and b binary columns; p = a (a + 1) / 2."""

    head: Any  # records GAUSS
    mean: Any  # float64 (n, a + b)
    m2: Any  # float64 (n, p): weighted sums of products of deviations
    factor: Any  # float64 (n, p)
    odds: Any  # float64 (n, b): log odds of a 1


def new_gaussians(n: int, n_numeric: int, n_binary: int) -> Gaussians:
    """Return a pool of n empty Gaussians."""
    p = n_numeric * (n_numeric + 1) // 2
    return Gaussians(
        np.zeros(n, GAUSS).view(np.recarray),
        np.zeros((n, n_numeric + n_binary)),
        np.zeros((n, p)),
        np.zeros((n, p)),
        np.zeros((n, n_binary)),
    )


@inlined
def clear(gaussians, g):
    """Forget what a Gaussian has learnt."""
    gaussians.head.weight[g] = 0.0
    gaussians.head.fresh[g] = 0.0
    gaussians.mean[g, :] = 0.0
    gaussians.m2[g, :] = 0.0


@exact
def absorb(gaussians, g, X, i, w, n_numeric):
    """Learn a row of weight w (Chan's update with one row)."""
    head, mean, m2 = gaussians.head, gaussians.mean, gaussians.m2
    before = head.weight[g]
    head.weight[g] = before + w
    r = w / head.weight[g]
    d = mean.shape[1]
    if before == 0.0:
        for j in range(d):
            mean[g, j] = X[i, j]
        return
    at = 0
    for j in range(n_numeric):
        scaled = (X[i, j] - mean[g, j]) * before * r
        for k in range(j + 1):
            m2[g, at + k] += scaled * (X[i, k] - mean[g, k])
        at += j + 1
    for j in range(d):
        mean[g, j] += r * (X[i, j] - mean[g, j])


@exact
def oracle_shrinkage(squares, d, n, least):
    """Share of the identity in a correlation matrix (oracle approximating shrinkage).

    Equation 23 of Chen, Wiesel, Eldar and Hero, "Shrinkage algorithms for MMSE covariance
    estimation", IEEE TSP 58, 2010.

    Parameters
    ----------
    squares : float
        Sum of all squared correlations, those of a column with itself included.
    d : float
        Number of columns.
    n : float
        Weight of the rows.
    least : float
        Smallest share.

    Returns
    -------
    float
        Between ``least`` and 1.

    Examples
    --------
    >>> oracle_shrinkage(2.0, 2.0, 100.0, 0.001), oracle_shrinkage(4.0, 2.0, 99.0, 0.5)
    (1.0, 0.5)
    """
    if not squares > d:
        return 1.0
    share = ((1.0 - 2.0 / d) * squares + d * d) / ((n + 1.0 - 2.0 / d) * (squares - d))
    return min(1.0, max(share, least))


@summed
def _product(S, row, column, n):
    total = 0.0
    for k in range(n):
        total += S[row + k] * S[column + k]
    return total


@exact
def factorise(S, out, low, n):
    """Write the inverse of the Cholesky factor of a packed matrix; returns its log determinant.

    ``S`` is overwritten. A column without variance stands alone with variance 1. If rounding has
    made the matrix indefinite, its diagonal is used.

    Parameters
    ----------
    S : float64 array, shape (p,)
        Covariance, packed.
    out : float64 array, shape (p,)
        Receives the factor, packed.
    low : float64 array, shape (n,)
        Room for the diagonal.
    n : int
        Number of columns.

    Returns
    -------
    float
        Sum of the logarithms of the factor's diagonal: minus half the log determinant.
    """
    at = 0
    for j in range(n):
        at += j
        low[j] = S[at]
        if not low[j] > 0.0:
            low[j] = 1.0
            S[at] = 1.0
        at += 1
    sound = True
    row = 0
    for i in range(n):
        column = 0
        for j in range(i + 1):
            total = S[row + j] - _product(S, row, column, j)
            if j < i:
                S[row + j] = total / S[column + j]
            elif total > LEAST_PIVOT * low[i]:
                S[row + i] = math.sqrt(total)
            else:
                sound = False
            column += j + 1
        if not sound:
            break
        row += i + 1
    logs = 0.0
    out[:] = 0.0
    if not sound:
        at = 0
        for i in range(n):
            at += i
            out[at] = 1.0 / math.sqrt(low[i])
            logs += math.log(out[at])
            at += 1
        return logs
    row = 0
    for i in range(n):
        column = 0
        for k in range(i):
            share = S[row + k]
            for j in range(k + 1):
                out[row + j] -= share * out[column + j]
            column += k + 1
        scale = 1.0 / S[row + i]
        for j in range(i):
            out[row + j] *= scale
        out[row + i] = scale
        logs += math.log(scale)
        row += i + 1
    return logs


@exact
def learn_odds(gaussians, g, n_numeric):
    """Renew the log odds of the binary columns; returns the log probability that all are 0."""
    n, total = gaussians.head.weight[g], 0.0
    for j in range(gaussians.odds.shape[1]):
        chance = (n * gaussians.mean[g, n_numeric + j] + 0.5) / (n + 1.0)
        chance = min(max(chance, LEAST_CHANCE), 1.0 - LEAST_CHANCE)
        gaussians.odds[g, j] = math.log(chance / (1.0 - chance))
        total += math.log(1.0 - chance)
    return total


@summed
def _dot(factor, g, at, n, deviation):
    total = 0.0
    for j in range(n):
        total += factor[g, at + j] * deviation[j]
    return total


@inlined
def distance(factor, mean, g, X, i, n_numeric, deviation, most):
    """Squared Mahalanobis distance of a row, or a part of it that is above ``most``."""
    total = 0.0
    at = 0
    for j in range(n_numeric):
        deviation[j] = X[i, j] - mean[g, j]
        t = _dot(factor, g, at, j + 1, deviation)
        total += t * t
        if total > most:
            break
        at += j + 1
    return total


@inlined
def binary_score(odds, g, X, i, n_numeric):
    """Log density of the binary columns, less that of a row of zeros."""
    total = 0.0
    for j in range(n_numeric, X.shape[1]):
        total += odds[g, j - n_numeric] * X[i, j]
    return total
