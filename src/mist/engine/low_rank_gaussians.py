"""Gaussians over hundreds of columns: covariances of low rank plus a diagonal.

A class keeps no covariance but a *sketch* of one: with S the weighted sum of products of
deviations, the matrix Y = S T W, where W is a fixed random matrix of signs with ``rank`` columns
and T divides each column by a deviation of its own. From it S is estimated as
Y (W'T Y)^-1 Y' = F F' (Nystroem; Tropp, Yurtsever, Udell and Cevher, "Fixed-rank approximation of a
positive-semidefinite matrix from streaming data", NIPS 2017); its diagonal is kept exactly. A
sketch is linear in S: rows, and sketches with the same T, are added in any order.

For predictions the classes of a leaf share one diagonal D, as the noise of factor analysers
(Ghahramani and Hinton, "The EM algorithm for mixtures of factor analyzers", 1997). The covariance
of a class is D plus G G', where G has the columns of the class's factor and of one pooled over the
leaf. D is the part of the pooled variances that both do not explain. With a diagonal of its own
each class would have hundreds of logarithms of badly known variances in its density, and they would
decide.

As long as no value is missing, what a class keeps depends on its own rows only. Missing values are
filled in with the help of what the leaf shares. A row costs O(rank) for each column and class.

The functions share these parameters, with a numeric and b binary columns and q = 2 rank:

pool, common : LowRank, LeafShared
    The classes, and what the classes of each leaf share.
leaf, g : int
    The leaf and the class.
first, following : int and int64 array
    The chain of the leaf's classes: its first class, and the class behind each, -1 at the end.
X, i, w : float64 array, shape (n, a + b), int and float
    Rows, which may hold NaN, the index of the row at hand, and its weight, above 0.
work : LowRankWorkspace
    Workspace from `make_workspace`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import allocating, exact, inlined, summed
from mist.engine.gaussians import binary_score, is_complete, learn_odds
from mist.engine.random import SKETCHED, draw
from mist.engine.records import new_records

RANK = 32
"""Columns of a sketch."""

FIRST_SCALE, LAST_SCALE = 8.0, 256.0
"""Numbers of rows at which the scale of a class's sketch is first set, and last renewed.

It is renewed whenever the number has doubled. Rows before the first scale count in the diagonal
only.
"""

POOLED = 0.1
"""Least share of the pooled factor in that of a class."""

FLOOR = 1e-3
"""Least share of the pooled variance of a column that is noise."""

CLASS_PACE, LEAF_PACE = 0.05, 0.1
"""Growth of a class, or of a leaf, after which its factors for predictions are renewed."""

LEAST_PIVOT = 1e-9
"""Columns of a sketch that the ones before explain to within this share are left out."""

LARGEST = 1e200
"""Products of deviations beyond this are not sketched."""

HEAD = np.dtype(
    [
        ("weight", np.float64),  # of all rows
        ("fresh", np.float64),  # that weight when the factor was made; 0: never
        ("rows", np.float64),  # number of rows
        ("constant", np.float64),  # log density at the mean, all binary columns 0
        ("renewal", np.float64),  # rows at which the scale of the sketch was set last; 0: never
        ("lacks", np.int64),  # 1: some numeric column was unknown when the factor was made
        ("sound", np.int64),  # 1: all variances were finite then
    ]
)


class LowRank(NamedTuple):
    """Classes with a numeric and b binary columns; q = 2 rank."""

    head: Any  # records HEAD
    mean: Any  # float64 (n, a + b)
    weight: Any  # float64 (n, a + b): column weights
    m2: Any  # float64 (n, a): the diagonal of S
    scale: Any  # float64 (n, a): the diagonal of T; 0: the column has not varied
    sketch: Any  # float64 (n, a, rank)
    factor: Any  # float64 (n, a, rank): for predictions
    share: Any  # float64 (n, a): what the pooled factor is multiplied by
    root: Any  # float64 (n, q, q): Cholesky factor of I + G' D^-1 G, G both factors
    odds: Any  # float64 (n, b): log odds of a 1
    signs: Any  # float64 (a, rank): W


class LeafShared(NamedTuple):
    """What the classes of each leaf share."""

    factor: Any  # float64 (leaves, a, rank)
    noise: Any  # float64 (leaves, a): D
    variance: Any  # float64 (leaves, a): within classes
    weight: Any  # float64 (leaves,): weight of the rows behind the variance
    fresh: Any  # float64 (leaves,): weight of all rows when the factor was made
    squares: Any  # float64 (leaves, a): sum of `LowRank.m2` over the classes
    made: Any  # float64 (leaves, a): that sum when the factor was made


class LowRankWorkspace(NamedTuple):
    """Workspace. In `absorb`: deviations times roots of weights, column weights, open variances."""

    step: Any  # float64 (a,)
    part: Any  # float64 (a,)
    left: Any  # float64 (a,)
    both: Any  # float64 (a, q): both factors
    sketch: Any  # float64 (a, rank)
    gram: Any  # float64 (q, q)
    inverse: Any  # float64 (q, q)
    row: Any  # float64 (2, q)


@allocating
def sign_matrix(n_numeric, rank):
    """The fixed matrix W of signs, shape (n_numeric, rank)."""
    out = np.empty((n_numeric, rank))
    for j in range(n_numeric):
        for k in range(rank):
            out[j, k] = 1.0 if draw(0, SKETCHED, j, k, 0) & np.uint64(1) else -1.0
    return out


def new_low_rank(n: int, n_numeric: int, n_binary: int, rank: int = RANK) -> LowRank:
    """Return n classes that have learnt nothing."""
    a, d = n_numeric, n_numeric + n_binary
    rank = min(rank, a)
    return LowRank(
        head=new_records(n, HEAD),
        mean=np.zeros((n, d)),
        weight=np.zeros((n, d)),
        m2=np.zeros((n, a)),
        scale=np.zeros((n, a)),
        sketch=np.zeros((n, a, rank)),
        factor=np.zeros((n, a, rank)),
        share=np.zeros((n, a)),
        root=np.zeros((n, 2 * rank, 2 * rank)),
        odds=np.zeros((n, n_binary)),
        signs=sign_matrix(a, rank),
    )


def new_common(n: int, pool: LowRank) -> LeafShared:
    """Return n leaves without rows for the classes of a pool."""
    a, rank = pool.signs.shape
    return LeafShared(
        factor=np.zeros((n, a, rank)),
        noise=np.ones((n, a)),
        variance=np.zeros((n, a)),
        weight=np.zeros(n),
        fresh=np.zeros(n),
        squares=np.zeros((n, a)),
        made=np.zeros((n, a)),
    )


@allocating
def make_workspace(pool):
    """Return the workspace for the classes of a pool."""
    a, rank = pool.signs.shape
    q = 2 * rank
    return LowRankWorkspace(
        np.empty(a),
        np.empty(a),
        np.empty(a),
        np.empty((a, q)),
        np.empty((a, rank)),
        np.empty((q, q)),
        np.empty((q, q)),
        np.empty((2, q)),
    )


@exact
def clear(pool, g):
    """Forget what a class has learnt."""
    head = pool.head
    head.weight[g], head.fresh[g], head.rows[g], head.constant[g] = 0.0, 0.0, 0.0, 0.0
    head.renewal[g], head.lacks[g], head.sound[g] = 0.0, 0, 0
    pool.mean[g] = 0.0
    pool.weight[g] = 0.0
    pool.m2[g] = 0.0
    pool.scale[g] = 0.0
    pool.sketch[g] = 0.0


# --- learning ---------------------------------------------------------------------------------


@exact
def absorb(pool, common, leaf, g, X, i, w, work):
    """Learn a row of weight w.

    Once there is a factor, missing values are filled in by their conditional means. Their weight is
    w times the share of the variance that the known values explain. Their remaining covariance is
    added to the variances and to the sketch. Parameters as in the module docstring.
    """
    head, mean, m2, weight = pool.head, pool.mean, pool.m2, pool.weight
    step, part = work.step, work.part
    a = m2.shape[1]
    filled = 0
    # Without a factor missing values have the weight 0.
    if not is_complete(X, i) and head.fresh[g] > 0.0:
        filled = _fill(pool, common, leaf, g, X, i, w, work)
    else:
        for j in range(a):
            known = X[i, j] == X[i, j]
            part[j] = w if known else 0.0
            step[j] = X[i, j] - mean[g, j] if known else 0.0
            work.left[j] = 0.0
    for j in range(a):
        before, deviation = weight[g, j], step[j]
        step[j] = 0.0
        if part[j] > 0.0:
            weight[g, j] = before + part[j]
            if before == 0.0:
                mean[g, j] = X[i, j]
            else:
                step[j] = math.sqrt(part[j] * (before / weight[g, j])) * deviation
                mean[g, j] += part[j] / weight[g, j] * deviation
            more = step[j] * step[j] + part[j] * work.left[j]
            m2[g, j] += more
            common.squares[leaf, j] += more
    for j in range(a, X.shape[1]):
        if X[i, j] == X[i, j]:
            weight[g, j] += w
            mean[g, j] += w / weight[g, j] * (X[i, j] - mean[g, j])
    head.weight[g] += w
    head.rows[g] += 1.0
    # From here on `step` has the deviations times the roots of their weights.
    if head.renewal[g] > 0.0:
        _sketch(pool, g, step, work.row[0])
        if filled > 0:
            _sketch_left(pool, g, work)
    most = min(head.rows[g], LAST_SCALE)
    if most >= max(2.0 * head.renewal[g], FIRST_SCALE):
        renew_scale(pool, g, work)


@exact
def renew_scale(pool, g, work):
    """Set the scale of a class's sketch from its variances, and sketch its estimate again."""
    pool.head.renewal[g] = pool.head.rows[g]
    factor = work.sketch
    own_factor(pool.sketch[g], pool.scale[g], pool.signs, pool.m2[g], factor, work)
    for j in range(pool.m2.shape[1]):
        pool.scale[g, j] = _unit(pool, g, j)
    pool.sketch[g, :, :] = 0.0
    _sketch_factor(factor, pool.scale[g], pool.signs, pool.sketch[g], work.gram)


@exact
def _sketch_factor(factor, scale, signs, sketch, seen):
    """Add F F' T W to a sketch."""
    a, rank = signs.shape
    for p in range(rank):
        for q in range(rank):
            seen[p, q] = 0.0
    for j in range(a):
        for p in range(rank):
            s = factor[j, p] * scale[j]
            for q in range(rank):
                seen[p, q] += s * signs[j, q]
    for j in range(a):
        for p in range(rank):
            s = factor[j, p]
            for q in range(rank):
                sketch[j, q] += s * seen[p, q]


@inlined
def _unit(pool, g, j):
    """One over the deviation of a column; 0 where it has none."""
    m2 = pool.m2[g, j]
    return math.sqrt(pool.weight[g, j] / m2) if 0.0 < m2 < np.inf else 0.0


@exact
def _sketch(pool, g, step, seen):
    """Add the products of deviations of a row to a sketch."""
    signs, scale, sketch = pool.signs, pool.scale, pool.sketch
    a, rank = signs.shape
    for k in range(rank):
        seen[k] = 0.0
    largest, total = 0.0, 0.0
    for j in range(a):
        if scale[g, j] == 0.0 and step[j] != 0.0:
            # The column has not varied so far: the sketch has only zeros of it, so its scale can
            # still be chosen.
            scale[g, j] = _unit(pool, g, j)
        largest = max(largest, abs(step[j]))
        s = step[j] * scale[g, j]
        for k in range(rank):
            seen[k] += s * signs[j, k]
    for k in range(rank):
        total += abs(seen[k])
    # Products that would overflow, and NaN, fail the comparison and are not sketched.
    if not largest * (total + largest) < LARGEST:
        return
    for j in range(a):
        s = step[j]
        for k in range(rank):
            sketch[g, j, k] += s * seen[k]


# --- factors ----------------------------------------------------------------------------------


@exact
def own_factor(sketch, scale, signs, m2, out, work):
    """Write F of a sketch: F F' is the estimate of the products of deviations.

    Parameters
    ----------
    sketch : float64 array, shape (a, rank)
        Products of deviations times the scaled signs.
    scale : float64 array, shape (a,)
        Diagonal of T.
    signs : float64 array, shape (a, rank)
        W.
    m2 : float64 array, shape (a,)
        Diagonal of the products: no row of F is longer than its root.
    out : float64 array, shape (a, rank)
        Receives F; all 0 if it cannot be computed.
    work : LowRankWorkspace
        From `make_workspace`.

    Examples
    --------
    Products of rank one are estimated exactly, here by three columns:

    >>> pool = new_low_rank(1, 3, 0)
    >>> products, factor = np.ones((3, 3)), np.empty((3, 3))
    >>> own_factor(
    ...     products @ pool.signs, np.ones(3), pool.signs, np.ones(3), factor, make_workspace(pool)
    ... )
    >>> bool(np.allclose(factor @ factor.T, products))
    True
    """
    a, rank = signs.shape
    B, inverse = work.gram, work.inverse
    for p in range(rank):
        for q in range(rank):
            B[p, q] = 0.0
    for j in range(a):
        if scale[j] > 0.0:
            for p in range(rank):
                s = scale[j] * signs[j, p]
                for q in range(rank):
                    B[p, q] += s * sketch[j, q]
    if not _invert_root(B, inverse, rank):
        out[:, :] = 0.0
        return
    for j in range(a):
        for k in range(rank):
            out[j, k] = 0.0
        for p in range(rank):
            y = sketch[j, p]
            for k in range(rank):
                out[j, k] += y * inverse[p, k]
        total = 0.0
        for k in range(rank):
            total += out[j, k] * out[j, k]
        # No variance of the estimate may exceed the exact one. NaN fails the comparison, too.
        if not total <= m2[j]:
            sound = total < np.inf and m2[j] < np.inf
            for k in range(rank):
                out[j, k] = out[j, k] * math.sqrt(m2[j] / total) if sound else 0.0


@exact
def _invert_root(B, out, n):
    """Write L'^-1 of B = L L'; columns that depend on those before them become 0.

    B is read up to the diagonal of each row, and overwritten there. Returns False if B is not
    finite.
    """
    # A finite number times 0 is 0; inf and NaN give NaN.
    total = 0.0
    for p in range(n):
        for q in range(p + 1):
            total += B[p, q] * 0.0
    if total != 0.0:
        return False
    for p in range(n):
        least = LEAST_PIVOT * B[p, p]
        for q in range(p):
            t = B[p, q]
            for k in range(q):
                t -= B[p, k] * B[q, k]
            B[p, q] = t / B[q, q] if B[q, q] > 0.0 else 0.0
            B[p, p] -= B[p, q] * B[p, q]
        B[p, p] = math.sqrt(B[p, p]) if B[p, p] > least and B[p, p] > 0.0 else 0.0
    for k in range(n):
        for p in range(n):
            out[p, k] = 0.0
        if B[k, k] > 0.0:
            # Column k of L'^-1 is row k of L^-1.
            out[k, k] = 1.0 / B[k, k]
            for back in range(k):
                p = k - 1 - back
                t = 0.0
                for q in range(p + 1, k + 1):
                    t -= out[q, k] * B[q, p]
                out[p, k] = t / B[p, p] if B[p, p] > 0.0 else 0.0
    return True


@exact
def refresh_leaf(pool, common, leaf, first, following, work):
    """Renew all that the classes of a leaf share, and all their factors.

    Parameters as in the module docstring. The order is fixed: raw factors of the classes, pooled
    factor, weights of both, noise, and then roots and constants, which need all of these.
    """
    a, rank = pool.signs.shape
    known, variance, noise, pooled = work.part, common.variance[leaf], common.noise[leaf], work.step
    squares, made = common.squares[leaf], common.made[leaf]
    # `squares` has been updated row by row since the last time; here it is summed from the classes.
    for j in range(a):
        known[j], pooled[j], squares[j] = 0.0, 0.0, 0.0
    total = common.fresh[leaf] = 0.0
    g = first
    while g >= 0:
        _raw_factor(pool, g, work)
        common.fresh[leaf] += pool.head.weight[g]
        for j in range(a):
            squares[j] += pool.m2[g, j]
        if pool.head.sound[g]:
            total += pool.head.weight[g]
            for j in range(a):
                known[j] += pool.weight[g, j]
                pooled[j] += pool.m2[g, j]
        g = following[g]
    common.weight[leaf] = total
    for j in range(a):
        made[j] = squares[j]
        variance[j] = pooled[j] / known[j] if known[j] > 0.0 else 0.0
    _pool_factors(pool, common, leaf, first, following, pooled, work)
    # From products of deviations to covariances.
    for j in range(a):
        unit = 1.0 / math.sqrt(known[j]) if known[j] > 0.0 else 0.0
        for k in range(rank):
            common.factor[leaf, j, k] *= unit
    g = first
    while g >= 0:
        _weigh(pool, common, leaf, g)
        g = following[g]
    # D: what the factors leave of the pooled variance, or for a column that varies within no class
    # the variance between the classes.
    for j in range(a):
        noise[j] = _variance_between(pool, first, following, j) if variance[j] == 0.0 else 1.0
        if variance[j] > 0.0:
            taken = 0.0
            g = first
            while g >= 0:
                if pool.head.sound[g]:
                    s = _length(pool.factor[g], j)
                    s += pool.share[g, j] ** 2 * _length(common.factor[leaf], j)
                    taken += pool.weight[g, j] / known[j] * s
                g = following[g]
            noise[j] = max(variance[j] - taken, FLOOR * variance[j])
    g = first
    while g >= 0:
        _finish(pool, common, leaf, g, work)
        g = following[g]


@exact
def _variance_between(pool, first, following, j):
    """Variance of a column over the means of the classes, or 1 if they agree."""
    weight = mean = squares = 0.0
    g = first
    while g >= 0:
        w = pool.weight[g, j]
        if w > 0.0:
            weight += w
            delta = pool.mean[g, j] - mean
            mean += w / weight * delta
            squares += w * delta * (pool.mean[g, j] - mean)
        g = following[g]
    return squares / weight if 0.0 < squares < np.inf else 1.0


@exact
def refresh_class(pool, common, leaf, g, work):
    """Renew a class's factor with what its leaf shares now."""
    _raw_factor(pool, g, work)
    _weigh(pool, common, leaf, g)
    _finish(pool, common, leaf, g, work)


@inlined
def _length(factor, j):
    """Squared length of row j of a factor."""
    total = 0.0
    for k in range(factor.shape[1]):
        total += factor[j, k] * factor[j, k]
    return total


@exact
def _raw_factor(pool, g, work):
    """Write a class's factor before `_weigh`: that of the products, not of the covariance."""
    total = 0.0
    for j in range(pool.m2.shape[1]):
        total += pool.m2[g, j] * 0.0
    # Squares of large values may overflow; such a class is left out of what the leaf shares.
    pool.head.sound[g] = total == 0.0
    if pool.head.renewal[g] > 0.0:
        own_factor(pool.sketch[g], pool.scale[g], pool.signs, pool.m2[g], pool.factor[g], work)
    else:
        pool.factor[g, :, :] = 0.0


@exact
def _pool_factors(pool, common, leaf, first, following, pooled, work):
    """Write the factor of the sum of all classes' estimates, by a sketch of that sum."""
    signs, sketch, unit = pool.signs, work.sketch, work.left
    for j in range(unit.size):
        unit[j] = 1.0 / math.sqrt(pooled[j]) if pooled[j] > 0.0 else 0.0
    sketch[:, :] = 0.0
    g = first
    while g >= 0:
        if pool.head.sound[g]:
            _sketch_factor(pool.factor[g], unit, signs, sketch, work.gram)
        g = following[g]
    own_factor(sketch, unit, signs, pooled, common.factor[leaf], work)


@exact
def _weigh(pool, common, leaf, g):
    """Weigh a class's factor and the pooled one, column by column.

    A class with few rows relies on the pooled factor. Either counts less while the rows behind it
    are few compared with the rank. The own factor is multiplied in place; the factor for the pooled
    one goes to ``pool.share``.
    """
    a, rank = pool.signs.shape
    total = common.weight[leaf]
    for j in range(a):
        n = pool.weight[g, j]
        pooling = max(POOLED, 1.0 - n / (4.0 * rank))
        own = math.sqrt((1.0 - pooling) / (n + rank)) if n > 0.0 else 0.0
        for k in range(rank):
            pool.factor[g, j, k] *= own
        pool.share[g, j] = math.sqrt(pooling * total / (total + rank))


@exact
def _finish(pool, common, leaf, g, work):
    """Make the root and the constant of a class whose factor is ready."""
    a, q = pool.share.shape[1], pool.root.shape[1]
    noise = common.noise[leaf]
    _identity(work.gram)
    _add_columns(pool, common, leaf, g, noise, 1.0, work)
    logs = _cholesky(work.gram, pool.root[g], q)
    lacks = 0
    for j in range(a):
        logs += 0.5 * math.log(noise[j])
        lacks |= pool.weight[g, j] == 0.0
    pool.head.lacks[g] = lacks
    pool.head.constant[g] = learn_odds(pool, pool, g, a) - logs
    pool.head.fresh[g] = pool.head.weight[g]


@exact
def _identity(gram):
    """Make a matrix the identity."""
    gram[:, :] = 0.0
    for p in range(gram.shape[0]):
        gram[p, p] = 1.0


@exact
def _add_columns(pool, common, leaf, g, noise, sign, work):
    """Add G' D^-1 G times ``sign`` to ``work.gram``; columns with a noise of inf are left out."""
    rank = pool.signs.shape[1]
    gram, row = work.gram, work.row[0]
    q = 2 * rank
    for j in range(noise.size):
        if noise[j] < np.inf:
            unit, share = sign / noise[j], pool.share[g, j]
            for k in range(rank):
                row[k] = pool.factor[g, j, k]
                row[rank + k] = share * common.factor[leaf, j, k]
            for p in range(q):
                s = row[p] * unit
                for k in range(q):
                    gram[p, k] += s * row[k]


@summed
def _product(M, p, q, n):
    """Dot product of the first n entries of rows p and q of a matrix."""
    total = 0.0
    for k in range(n):
        total += M[p, k] * M[q, k]
    return total


@exact
def _cholesky(M, out, n):
    """Write the Cholesky factor of I + a Gram matrix; returns half the log determinant."""
    logs = 0.0
    for p in range(n):
        for q in range(p):
            out[p, q] = (M[p, q] - _product(out, p, q, q)) / out[q, q]
        # I plus a Gram matrix: exactly, no pivot is below 1.
        out[p, p] = math.sqrt(max(M[p, p] - _product(out, p, p, p), 1.0))
        logs += math.log(out[p, p])
    return logs


# --- densities --------------------------------------------------------------------------------


@exact
def log_density(pool, common, leaf, g, X, i, work):
    """Log density of a row in a class, up to a constant; -inf where it cannot be computed.

    With missing values it is the density of the known ones. A column in which the class never had a
    value counts with the variance within the classes of the leaf and the squared deviation that
    this variance expects. Parameters as in the module docstring.

    Returns
    -------
    float
        Above -inf and below inf, or -inf.
    """
    if pool.head.lacks[g] or not is_complete(X, i):
        return _partial(pool, common, leaf, g, X, i, work)
    mean, factor, pooled, root = pool.mean[g], pool.factor[g], common.factor[leaf], pool.root[g]
    noise, share, row = common.noise[leaf], pool.share[g], work.row
    a, rank = factor.shape
    for k in range(2 * rank):
        row[0, k] = 0.0
    away = 0.0
    for j in range(a):
        deviation = X[i, j] - mean[j]
        t = deviation / noise[j]
        away += deviation * t
        s = t * share[j]
        for k in range(rank):
            row[0, k] += t * factor[j, k]
        for k in range(rank):
            row[0, rank + k] += s * pooled[j, k]
    # Woodbury: the inverse of D + G G' is D^-1 - D^-1 G (I + G' D^-1 G)^-1 G' D^-1.
    away -= _explained(root, row, 2 * rank)
    score = pool.head.constant[g] + binary_score(pool.odds, g, X, i, a) - 0.5 * max(away, 0.0)
    # `max(away, 0.0)` may turn NaN into 0, so `away` is tested for it.
    return score if -np.inf < score < np.inf and away == away else -np.inf


@summed
def _forward(root, p, row):
    """Dot product of row p of L, without its diagonal, with the solution so far."""
    total = 0.0
    for k in range(p):
        total += root[p, k] * row[1, k]
    return total


@inlined
def _explained(root, row, n):
    """Squared length of L^-1 t for t in ``row[0]``; L^-1 t goes to ``row[1]``."""
    total = 0.0
    for p in range(n):
        s = (row[0, p] - _forward(root, p, row)) / root[p, p]
        row[1, p] = s
        total += s * s
    return total


@exact
def _condition(pool, common, leaf, g, X, i, work):
    """Squared distance of the known values, and half the log determinant of I + G' D^-1 G.

    Both are over the known columns. ``work.inverse`` gets the Cholesky factor L of that matrix,
    ``work.row[1]`` the product of L^-1 G' D^-1 and the deviations, and ``work.left`` the diagonal
    D, inf where a column is unknown.
    """
    factor, pooled, share, noise = pool.factor, common.factor, pool.share, common.noise
    a, rank = pool.signs.shape
    left, rest, row, gram = work.left, work.part, work.row, work.gram
    n = 0
    for j in range(a):
        known = X[i, j] == X[i, j] and pool.weight[g, j] > 0.0
        left[j] = noise[leaf, j] if known else np.inf
        rest[j] = np.inf if known else noise[leaf, j]
        n += known
    if 2 * n > a:
        # Most columns are known: subtract the unknown ones from the matrix of all, root root'.
        root = pool.root[g]
        for p in range(2 * rank):
            for k in range(p + 1):
                gram[p, k] = _product(root, p, k, k + 1)
        _add_columns(pool, common, leaf, g, rest, -1.0, work)
    else:
        _identity(gram)
        _add_columns(pool, common, leaf, g, left, 1.0, work)
    logs = _cholesky(work.gram, work.inverse, 2 * rank)
    for k in range(2 * rank):
        row[0, k] = 0.0
    away = 0.0
    for j in range(a):
        if left[j] < np.inf:
            deviation = X[i, j] - pool.mean[g, j]
            t = deviation / left[j]
            away += deviation * t
            s = t * share[g, j]
            for k in range(rank):
                row[0, k] += t * factor[g, j, k]
                row[0, rank + k] += s * pooled[leaf, j, k]
    away -= _explained(work.inverse, row, 2 * rank)
    return away, logs


@exact
def _partial(pool, common, leaf, g, X, i, work):
    """`log_density` of a row with missing values, or in a class with unknown columns."""
    away, logs = _condition(pool, common, leaf, g, X, i, work)
    a, rank = pool.signs.shape
    score = pool.head.constant[g] - 0.5 * max(away, 0.0) - logs
    # The constant has the log determinants over all columns: take those of `root` and of the noise
    # of unknown columns back.
    for p in range(2 * rank):
        score += math.log(pool.root[g, p, p])
    for j in range(a):
        if not work.left[j] < np.inf:
            score += 0.5 * math.log(common.noise[leaf, j])
            if X[i, j] == X[i, j] and common.variance[leaf, j] > 0.0:
                score -= 0.5 * (math.log(common.variance[leaf, j]) + 1.0)
    for j in range(a, X.shape[1]):
        odds = pool.odds[g, j - a]
        # A missing value has no term. The constant has that of a 0, -log(1 + exp(odds)): undo it.
        score += odds * X[i, j] if X[i, j] == X[i, j] else math.log(1.0 + math.exp(odds))
    return score if -np.inf < score < np.inf and away == away else -np.inf


# --- missing values ---------------------------------------------------------------------------


@exact
def _fill(pool, common, leaf, g, X, i, w, work):
    """Write deviations, weights and open variances of each column; returns how many are filled in.

    They go to ``work.step``, ``work.part`` and ``work.left``. For every column that is filled in,
    ``work.both`` gets the root of its weight times L^-1 of its row of both factors: the products of
    these rows are the part of the open covariance that comes from the factors. Parameters as in the
    module docstring.
    """
    a, rank = pool.signs.shape
    q = 2 * rank
    step, part, left, both, row = work.step, work.part, work.left, work.both, work.row
    away, _ = _condition(pool, common, leaf, g, X, i, work)
    root = work.inverse
    usable = -np.inf < away < np.inf
    n = 0
    for j in range(a):
        known = X[i, j] == X[i, j]
        step[j] = X[i, j] - pool.mean[g, j] if known else 0.0
        part[j] = w if known else 0.0
        left[j] = 0.0
        for p in range(q):
            both[j, p] = 0.0
        if usable and not known and pool.weight[g, j] > 0.0:
            _row_of_both(pool, common, leaf, g, j, row[0])
            total, open_, estimate = common.noise[leaf, j], common.noise[leaf, j], 0.0
            for p in range(q):
                total += row[0, p] * row[0, p]
                t = row[0, p]
                for k in range(p):
                    t -= root[p, k] * both[j, k]
                both[j, p] = t / root[p, p]
                open_ += both[j, p] * both[j, p]
                estimate += both[j, p] * row[1, p]
            closed = 1.0 - open_ / total
            n += 1
            part[j] = w * closed if 0.0 < closed < 1.0 else 0.0
            step[j], left[j] = estimate, open_
            s = math.sqrt(part[j])
            for p in range(q):
                both[j, p] *= s
    return n


@inlined
def _row_of_both(pool, common, leaf, g, j, out):
    """Write row j of G: the class's factor, then the pooled one times its share."""
    rank = pool.signs.shape[1]
    for k in range(rank):
        out[k] = pool.factor[g, j, k]
        out[rank + k] = pool.share[g, j] * common.factor[leaf, j, k]


@exact
def _sketch_left(pool, g, work):
    """Add to a sketch the covariance that `_fill` has left open in ``work.both``."""
    signs, both = pool.signs, work.both
    a, rank = signs.shape
    seen = work.gram
    for p in range(2 * rank):
        for k in range(rank):
            seen[p, k] = 0.0
    for j in range(a):
        if work.left[j] > 0.0 and work.part[j] > 0.0:
            for p in range(2 * rank):
                s = both[j, p] * pool.scale[g, j]
                for k in range(rank):
                    seen[p, k] += s * signs[j, k]
    for j in range(a):
        if work.left[j] > 0.0 and work.part[j] > 0.0:
            for p in range(2 * rank):
                s = both[j, p]
                for k in range(rank):
                    pool.sketch[g, j, k] += s * seen[p, k]


# --- a leaf -----------------------------------------------------------------------------------


@exact
def learn(pool, common, leaf, first, following, g, X, i, w, total, work):
    """Learn a row into a class of a leaf and renew factors that are stale.

    Parameters as in the module docstring, and

    total : float
        Weight of the leaf, the row included.
    """
    absorb(pool, common, leaf, g, X, i, w, work)
    # If a column has begun to vary, or its squares have doubled, the leaf is renewed at once.
    late = False
    for j in range(pool.m2.shape[1]):
        squares = common.squares[leaf, j]
        late |= 0.0 < squares < np.inf and squares >= 2.0 * common.made[leaf, j]
    if late or total >= (1.0 + LEAF_PACE) * common.fresh[leaf]:
        refresh_leaf(pool, common, leaf, first, following, work)
    elif pool.head.weight[g] >= (1.0 + CLASS_PACE) * pool.head.fresh[g]:
        refresh_class(pool, common, leaf, g, work)
