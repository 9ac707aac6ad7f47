"""Full-covariance Gaussians in a pool: moments, factors and log densities.

Covariances and factors are packed: the lower triangle, row after row. A *factor* is the inverse
of the Cholesky factor, so that a log density is a sum of squares of dot products. Columns behind
the numeric ones hold 0 and 1. There a Gaussian keeps the mean only, and the density has a Bernoulli
factor for each column.

The functions share these parameters, with a numeric and b binary columns and p = a (a + 1) / 2:

gaussians, mean, m2, factor, odds
    A pool (`Gaussians`), or its arrays; a ``factor`` may come from elsewhere, shape (n, p).
seen : GaussiansObserved or None
    Column weights of the pool; None as long as no value was missing.
g : int
    Index of the Gaussian.
X, i, w : float64 array, shape (m, a + b), int and float
    Rows, the index of the row at hand, and its weight.
n_numeric : int
    The number a.
deviation : float64 array, shape (a,)
    Scratch array.
space : Space
    Workspace for rows with missing values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact, inlined, summed
from mist.engine.records import new_records

GAUSS = np.dtype(
    [
        ("weight", np.float64),  # of the rows behind the moments
        ("fresh", np.float64),  # that weight when the factor was made; 0: never
        ("constant", np.float64),  # log density at the mean, all binary columns 0
    ]
)

LEAST_PIVOT = 1e-12
"""A pivot below this share of its variance is taken as rounding error."""

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
        new_records(n, GAUSS),
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
    # Missing values are estimated by the factor: an old one has entries of columns without values.
    gaussians.factor[g, :] = 0.0


@exact
def absorb(gaussians, g, X, i, w, n_numeric):
    """Learn a row of weight w (Chan's update with one row)."""
    head, mean, m2 = gaussians.head, gaussians.mean, gaussians.m2
    before = head.weight[g]
    head.weight[g] = before + w
    r = w / head.weight[g]
    d = mean.shape[1]
    # The first row has no deviation.
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
    """Dot product of n entries of a packed array from ``row`` and from ``column`` on."""
    total = 0.0
    for k in range(n):
        total += S[row + k] * S[column + k]
    return total


@exact
def factorise(S, out, low, n):
    """Write the inverse of the Cholesky factor of a packed matrix; returns its log determinant.

    ``S`` is overwritten. The diagonal entry of a column without variance is taken as 1. If rounding
    has made the matrix indefinite, its diagonal is used.

    Parameters
    ----------
    S : float64 array, shape (p,)
        Covariance, packed.
    out : float64 array, shape (p,)
        Receives the factor, packed.
    low : float64 array, shape (n,)
        Scratch array for the diagonal.
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
    sound = _cholesky(S, low, n)
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
    return _invert(S, out, n)


@exact
def _cholesky(S, low, n):
    """Replace a packed matrix by its Cholesky factor; returns False if a pivot is rounding error.

    Parameters as for `factorise`. Four entries of a row at a time: one sum after another would
    wait for every addition.
    """
    row = 0
    for i in range(n):
        column, j = 0, 0
        while j + 4 <= i:
            a, b, c, d = column, column + j + 1, column + 2 * j + 3, column + 3 * j + 6
            t, u, v, w = S[row + j], S[row + j + 1], S[row + j + 2], S[row + j + 3]
            for k in range(j):
                x = S[row + k]
                t -= x * S[a + k]
                u -= x * S[b + k]
                v -= x * S[c + k]
                w -= x * S[d + k]
            t /= S[a + j]
            u = (u - t * S[b + j]) / S[b + j + 1]
            v = (v - t * S[c + j] - u * S[c + j + 1]) / S[c + j + 2]
            w = (w - t * S[d + j] - u * S[d + j + 1] - v * S[d + j + 2]) / S[d + j + 3]
            S[row + j], S[row + j + 1], S[row + j + 2], S[row + j + 3] = t, u, v, w
            j += 4
            column = d + j
        while j <= i:
            total = S[row + j]
            for k in range(j):
                total -= S[row + k] * S[column + k]
            if j < i:
                S[row + j] = total / S[column + j]
            elif total > LEAST_PIVOT * low[i]:
                S[row + i] = math.sqrt(total)
            else:
                return False
            j += 1
            column += j
        row += i + 1
    return True


@exact
def _invert(L, out, n):
    """Write the inverse of a packed triangular matrix; returns the log of its determinant.

    ``out`` is 0 before. Four rows at a time, as in `_cholesky`.
    """
    logs, row = 0.0, 0
    for i in range(n):
        column, k = 0, 0
        while k + 4 <= i:
            a, b, c, d = column, column + k + 1, column + 2 * k + 3, column + 3 * k + 6
            t, u, v, w = L[row + k], L[row + k + 1], L[row + k + 2], L[row + k + 3]
            for j in range(k + 1):
                total = out[row + j] - t * out[a + j] - u * out[b + j]
                out[row + j] = total - v * out[c + j] - w * out[d + j]
            j = k + 1
            out[row + j] -= u * out[b + j] + v * out[c + j] + w * out[d + j]
            out[row + j + 1] -= v * out[c + j + 1] + w * out[d + j + 1]
            out[row + j + 2] -= w * out[d + j + 2]
            k += 4
            column = d + k
        while k < i:
            share = L[row + k]
            for j in range(k + 1):
                out[row + j] -= share * out[column + j]
            k += 1
            column += k
        scale = 1.0 / L[row + i]
        for j in range(i):
            out[row + j] *= scale
        out[row + i] = scale
        logs += math.log(scale)
        row += i + 1
    return logs


@exact
def learn_odds(gaussians, seen, g, n_numeric):
    """Renew the log odds of the binary columns; returns the log probability that all are 0."""
    n, total = gaussians.head.weight[g], 0.0
    # Half a row of each value is added to the counts.
    for j in range(gaussians.odds.shape[1]):
        if seen is not None:
            n = seen.weight[g, n_numeric + j]
        chance = (n * gaussians.mean[g, n_numeric + j] + 0.5) / (n + 1.0)
        chance = min(max(chance, LEAST_CHANCE), 1.0 - LEAST_CHANCE)
        gaussians.odds[g, j] = math.log(chance / (1.0 - chance))
        total += math.log(1.0 - chance)
    return total


def odds_of_zeros(n: Any) -> tuple[Any, Any]:
    """Log odds of a 1, and log probability of a 0, after rows of weight n that all had a 0.

    The same as `learn_odds` computes.

    Examples
    --------
    >>> odds, zero = odds_of_zeros(np.array([0.0, 9.0]))
    >>> np.exp(odds).round(3), np.exp(zero).round(3)
    (array([1.   , 0.053]), array([0.5 , 0.95]))
    """
    chance = np.maximum(0.5 / (n + 1.0), LEAST_CHANCE)
    return np.log(chance / (1.0 - chance)), np.log(1.0 - chance)


@summed
def _dot(factor, g, at, n, deviation):
    """Dot product of a packed row of a factor, from ``at`` on, with the first n deviations."""
    total = 0.0
    for j in range(n):
        total += factor[g, at + j] * deviation[j]
    return total


@inlined
def distance(factor, mean, g, X, i, n_numeric, deviation, most):
    """Squared Mahalanobis distance of a row, or a partial sum of it that exceeds ``most``.

    Parameters as in the module docstring. With ``most`` = inf the sum is always complete.
    """
    total = 0.0
    a, j = 0, 0
    # Four rows of the factor at a time: one sum after another would wait for every addition.
    while j + 4 <= n_numeric:
        b, c, d = a + j + 1, a + 2 * j + 3, a + 3 * j + 6
        t = u = v = w = 0.0
        for k in range(j):
            t += factor[g, a + k] * deviation[k]
            u += factor[g, b + k] * deviation[k]
            v += factor[g, c + k] * deviation[k]
            w += factor[g, d + k] * deviation[k]
        for k in range(j, j + 4):
            deviation[k] = X[i, k] - mean[g, k]
            w += factor[g, d + k] * deviation[k]
        t += factor[g, a + j] * deviation[j]
        u += factor[g, b + j] * deviation[j] + factor[g, b + j + 1] * deviation[j + 1]
        for k in range(j, j + 3):
            v += factor[g, c + k] * deviation[k]
        total += t * t + u * u + v * v + w * w
        if total > most:
            return total
        j += 4
        a = d + j
    while j < n_numeric:
        deviation[j] = X[i, j] - mean[g, j]
        t = 0.0
        for k in range(j + 1):
            t += factor[g, a + k] * deviation[k]
        total += t * t
        j += 1
        a += j
    return total


@inlined
def binary_score(odds, g, X, i, n_numeric):
    """Log density of the binary columns, less that of a row of zeros."""
    total = 0.0
    for j in range(n_numeric, X.shape[1]):
        total += odds[g, j - n_numeric] * X[i, j]
    return total


# --- missing values ---------------------------------------------------------------------------


class GaussiansObserved(NamedTuple):
    """Column weights of a pool of Gaussians, once a value was missing.

    An entry of ``m2`` is then the covariance times the geometric mean of both columns' weights,
    which keeps it positive semidefinite whatever was missing.
    """

    weight: Any  # float64 (n, a + b): weight behind a column; 0: it never had a value
    made: Any  # float64 (n, a): that weight when the factor was made
    variance: Any  # float64 (n, a): in the covariance behind the factor
    uneven: Any  # int64 (n,): 1: the weights of the columns differ
    ready: Any  # int64 (n,): 1: the factor can estimate missing values from the others


def new_observed(head: Any, n_numeric: int, n_binary: int) -> GaussiansObserved:
    """Return the column weights of Gaussians that have learnt only rows without missing values."""
    n = len(head)
    return GaussiansObserved(
        np.repeat(head.weight[:, None], n_numeric + n_binary, axis=1),
        np.repeat(head.fresh[:, None], n_numeric, axis=1),
        np.zeros((n, n_numeric)),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


class Space(NamedTuple):
    """Workspace for a row with missing values."""

    row: Any  # float64 (4, a): deviations, their products with the factor, right side, units
    columns: Any  # int64 (a,): columns whose values are estimated, last one first
    root: Any  # float64 (p,): Cholesky factor of their precision, in their own scale
    rest: Any  # float64 (p,): their covariance given the known values, in that scale


@inlined
def is_complete(X, i):
    """Whether a row has no missing value."""
    complete = True
    for j in range(X.shape[1]):
        complete &= X[i, j] == X[i, j]
    return complete


@inlined
def _at(i, j):
    """Index of the entry (i, j), j <= i, of a packed matrix."""
    return i * (i + 1) // 2 + j


@exact
def marginal(factor, mean, g, X, i, n_numeric, space):
    """Squared distance of the known values, and estimates of the missing ones.

    The distance of the known values is the least distance over all values of the missing ones; the
    minimum is at their conditional means. So only the precision of the missing columns, a block of
    the precision of all columns, has to be factorised. A column whose diagonal entry in the factor
    is 0 is unknown and left out.

    Returns
    -------
    distance : float
        Squared Mahalanobis distance under the marginal Gaussian.
    logs : float
        To be subtracted from the log density of complete rows: half the log determinant of the
        block.
    n : int
        Number of columns estimated. They are in ``space.columns``, their estimated deviations in
        ``space.row[0]`` and the factor of the block in ``space.root``.
    """
    F, deviation, y, b = factor[g], space.row[0], space.row[1], space.row[2]
    columns, root = space.columns, space.root
    n = 0
    # The last column first: the lower bound of the pivots below relies on that order.
    for back in range(n_numeric):
        j = n_numeric - 1 - back
        deviation[j] = 0.0
        if X[i, j] == X[i, j]:
            deviation[j] = X[i, j] - mean[g, j]
        elif F[_at(j, j)] > 0.0:
            columns[n] = j
            n += 1
    for j in range(n_numeric):
        y[j] = _dot(factor, g, _at(j, 0), j + 1, deviation)
    logs = 0.0
    for p in range(n):
        c = columns[p]
        sd = 1.0 / F[_at(c, c)]
        b[p] = 0.0
        for k in range(c, n_numeric):
            b[p] -= F[_at(k, c)] * sd * y[k]
        for q in range(p + 1):
            other = columns[q]
            other_sd = 1.0 / F[_at(other, other)]
            total = 0.0
            for k in range(other, n_numeric):
                total += (F[_at(k, c)] * sd) * (F[_at(k, other)] * other_sd)
            total -= _product(root, _at(p, 0), _at(q, 0), q)
            if q < p:
                root[_at(p, q)] = total / root[_at(q, q)]
            else:
                # Exactly it is at least 1: the first entry of the scaled column of the triangular
                # factor is 1, and no earlier column of the block has an entry in that row.
                root[_at(p, p)] = math.sqrt(max(total, 1.0))
        for q in range(p):
            b[p] -= root[_at(p, q)] * b[q]
        b[p] /= root[_at(p, p)]
        logs += math.log(root[_at(p, p)]) - math.log(sd)
    # Back substitution: b becomes the estimates, in units of 1 / F[c, c].
    for back in range(n):
        p = n - 1 - back
        for q in range(p + 1, n):
            b[p] -= root[_at(q, p)] * b[q]
        b[p] /= root[_at(p, p)]
        c = columns[p]
        deviation[c] = b[p] / F[_at(c, c)]
        for k in range(c, n_numeric):
            y[k] += F[_at(k, c)] * deviation[c]
    total = 0.0
    for j in range(n_numeric):
        total += y[j] * y[j]
    return total, logs, n


@exact
def log_density(gaussians, factor, constant, g, X, i, n_numeric, space):
    """Log density of a row that may have missing values, under a Gaussian that may lack columns.

    A column in which the Gaussian never had a value counts with the variance in ``space.row[3]``
    and the squared deviation that this variance expects. Parameters as in the module docstring;
    ``constant`` is the log density at the mean, all binary columns 0.
    """
    away, logs, _ = marginal(factor, gaussians.mean, g, X, i, n_numeric, space)
    score = constant - logs - 0.5 * away
    units = space.row[3]
    for j in range(n_numeric):
        if factor[g, _at(j, j)] == 0.0 and X[i, j] == X[i, j] and units[j] > 0.0:
            score -= 0.5 * (math.log(units[j]) + 1.0)
    for j in range(n_numeric, X.shape[1]):
        odds = gaussians.odds[g, j - n_numeric]
        # A missing value has no term. `constant` has the one of a 0, -log(1 + exp(odds)): undo it.
        score += odds * X[i, j] if X[i, j] == X[i, j] else math.log(1.0 + math.exp(odds))
    return score if -np.inf < score < np.inf else -np.inf


@exact
def _leftover(n, space):
    """Write the covariance of the estimated columns given the known ones, in the block's scale."""
    root, rest = space.root, space.rest
    for p in range(n):
        # Row p of the inverse of the root.
        for q in range(p):
            total = 0.0
            for k in range(q, p):
                total += root[_at(p, k)] * rest[_at(k, q)]
            rest[_at(p, q)] = -total / root[_at(p, p)]
        rest[_at(p, p)] = 1.0 / root[_at(p, p)]
    for p in range(n):
        for q in range(p + 1):
            total = 0.0
            for k in range(p, n):
                total += rest[_at(k, p)] * rest[_at(k, q)]
            rest[_at(p, q)] = total


@exact
def absorb_seen(gaussians, seen, g, X, i, w, n_numeric, space):
    """Learn a row of weight w that may have missing values, or into columns of uneven weight.

    Missing values that can be estimated are filled in, together with their remaining covariance.
    Their weight is w times the share of the variance that the known values explain. Parameters as
    in the module docstring.
    """
    mean, m2, factor, weight = gaussians.mean, gaussians.m2, gaussians.factor, seen.weight
    deviation, step, part = space.row[0], space.row[1], space.row[2]
    n = 0
    if not is_complete(X, i):
        _, _, n = marginal(factor, mean, g, X, i, n_numeric, space)
        _leftover(n, space)
    for j in range(n_numeric):
        part[j] = 0.0
        if X[i, j] == X[i, j]:
            part[j] = w
            deviation[j] = X[i, j] - mean[g, j]
    for p in range(n):
        c = space.columns[p]
        unit = 1.0 / factor[g, _at(c, c)]
        left = space.rest[_at(p, p)] * unit / seen.variance[g, c] * unit
        part[c] = w * (1.0 - left) if 0.0 <= left < 1.0 else 0.0
    # The remaining covariance of the columns that are filled in.
    for p in range(n):
        for q in range(p + 1):
            c, other = space.columns[p], space.columns[q]
            scale = math.sqrt(part[c]) / factor[g, _at(c, c)]
            scale *= math.sqrt(part[other]) / factor[g, _at(other, other)]
            m2[g, _at(other, c)] += scale * space.rest[_at(p, q)]
    gaussians.head.weight[g] += w
    for j in range(n_numeric):
        before = weight[g, j]
        step[j] = 0.0
        if part[j] > 0.0:
            weight[g, j] = before + part[j]
            step[j] = math.sqrt(part[j] * (before / weight[g, j])) * deviation[j]
            if before == 0.0:
                mean[g, j] = X[i, j]
            else:
                mean[g, j] += part[j] / weight[g, j] * deviation[j]
    at = 0
    for j in range(n_numeric):
        for k in range(j + 1):
            m2[g, at + k] += step[j] * step[k]
        at += j + 1
    for j in range(n_numeric, X.shape[1]):
        if X[i, j] == X[i, j]:
            weight[g, j] += w
            mean[g, j] += w / weight[g, j] * (X[i, j] - mean[g, j])


@inlined
def lacks_known(seen, g, X, i, n_numeric):
    """Whether a row lacks a value in a numeric column in which the Gaussian has had one."""
    lacks = False
    for j in range(n_numeric):
        lacks |= X[i, j] != X[i, j] and seen.weight[g, j] > 0.0
    return lacks


@inlined
def has_news(seen, g):
    """Whether the weight of some column has doubled since the factor was made."""
    news = False
    for j in range(seen.made.shape[1]):
        news |= seen.weight[g, j] > 0.0 and seen.weight[g, j] >= 2.0 * seen.made[g, j]
    return news


@exact
def factorise_seen(S, weight, g, factor, low, n):
    """`factorise` for a Gaussian that may never have had a value in some columns.

    Their diagonal entries in the factor become 0, which `marginal` takes as unknown.
    """
    row = 0
    for i in range(n):
        for j in range(i + 1):
            if weight[g, i] == 0.0 or weight[g, j] == 0.0:
                S[row + j] = 0.0
        row += i + 1
    logs = factorise(S, factor[g], low, n)
    for i in range(n):
        if weight[g, i] == 0.0:
            factor[g, _at(i, i)] = 0.0
    return logs
