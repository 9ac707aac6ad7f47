"""Recent Gaussians: what each class looked like in its last rows.

For every class two Gaussians with full covariance, whose statistics lose half their weight with
every 30 or 300 rows *of the class*. Other classes' rows age nothing, so an absent class keeps them
as they are. The factor of the scatter is updated row by row. A ridge, the long-run variances of the
class drawn towards those within all classes, is worth as many rows as there are columns; what the
ageing takes from it is added back in one column at each row. When a column that was constant begins
to vary, all classes get the same variance in it.

0/1 columns are columns like the others. A missing value counts as the mean of the Gaussian: that of
all rows if it is the first of its class, and the first value of the column if it had none. With
more than `MOST_FULL` columns the covariance is diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mist.adaptation.packed import add_outer
from mist.engine.arrays import grown, wider, without_entry
from mist.engine.budget import row_bytes
from mist.engine.compiled import allocating, exact
from mist.engine.handle import parts_of
from mist.engine.state import packed_size

Array = np.ndarray[Any, Any]

HALF_LIVES = (30.0, 300.0)
"""Rows of the class after which a statistic has lost half its weight."""

MOST_FULL = 100
"""Most columns with a full covariance."""

_WITH_COLUMNS = ("mean", "long_mean", "long_spread", "within")
_LONG = ("long_weight", "long_mean", "long_spread")
_BY_CODE = ("rows", "weight", "mean", "factor", "constant", *_LONG)
_SHRINKAGE = 0.02


class RecentGaussians(NamedTuple):
    """Gaussians of every class and half-life; d counts all columns."""

    decay: Any  # float64 (memories,): factor on the weight at each row of the class
    rows: Any  # int64 (codes,): rows of the class
    weight: Any  # float64 (codes, memories)
    mean: Any  # float64 (codes, memories, d)
    factor: Any  # float64 (codes, memories, packed): of scatter plus ridge
    constant: Any  # float64 (codes, memories): of the log density
    long_weight: Any  # float64 (codes,)
    long_mean: Any  # float64 (codes, d): of all rows of the class
    long_spread: Any  # float64 (codes, d): their sum of squared deviations
    within: Any  # float64 (d,): sum of `long_spread` over all classes
    overall: Any  # float64 (3, d): weight, mean and sum of squared deviations of all rows


def new_recent_gaussians(n_columns: int) -> RecentGaussians:
    """Return the state before the first row."""
    d, m = n_columns, len(HALF_LIVES)
    size = packed_size(d) if d <= MOST_FULL else d
    return RecentGaussians(
        decay=0.5 ** (1.0 / np.array(HALF_LIVES)),
        rows=np.zeros(0, np.int64),
        weight=np.zeros((0, m)),
        mean=np.zeros((0, m, d)),
        factor=np.zeros((0, m, size)),
        constant=np.zeros((0, m)),
        long_weight=np.zeros(0),
        long_mean=np.zeros((0, d)),
        long_spread=np.zeros((0, d)),
        within=np.zeros(d),
        overall=np.zeros((3, d)),
    )


def reserve_codes(recent: RecentGaussians, n_codes: int) -> RecentGaussians:
    """Reserve so many classes."""
    shared = ("decay", "within", "overall")
    parts = {
        name: grown(getattr(recent, name), n_codes) for name in recent._fields if name not in shared
    }
    return recent._replace(**parts)


def bytes_for_codes(recent: RecentGaussians, n_codes: int) -> int:
    """Bytes for so many classes."""
    by_code = [getattr(recent, name) for name in _BY_CODE]
    shared = [getattr(recent, name) for name in recent._fields if name not in _BY_CODE]
    return n_codes * row_bytes(*by_code) + sum(array.nbytes for array in shared)


def add_indicators(recent: RecentGaussians, siblings: Sequence[Sequence[int]]) -> RecentGaussians:
    """Add 0/1 columns behind all others; they were 0 in rows with a value in their siblings.

    They get the scatter that a column has which was constant so far. The ridge of the other columns
    was worth fewer rows than from now on; the next rows make up for it. If the covariance has to
    become diagonal, the variances stay.

    Parameters
    ----------
    recent : RecentGaussians
        The state.
    siblings : sequence of sequence of int
        As for `mist.engine.indicators.add_indicators`.

    Returns
    -------
    RecentGaussians
        The state with the new columns.
    """
    old = recent.mean.shape[2]
    d, n_more = old + len(siblings), len(siblings)
    empty = new_recent_gaussians(d)
    factor = np.zeros((*recent.factor.shape[:2], empty.factor.shape[2]))
    full = recent.factor.shape[2] == packed_size(old)
    if len(factor) and full and factor.shape[2] != packed_size(d):
        factor[:, :, :old] = _deviations(recent.factor, old)
    else:
        factor[:, :, : recent.factor.shape[2]] = recent.factor
    # The ridge of a constant column is 1, worth d rows.
    for j in range(old, d):
        at = packed_size(j + 1) - 1 if factor.shape[2] == packed_size(d) else j
        factor[:, :, at] = math.sqrt(d)
    overall = wider(recent.overall, n_more, old)
    overall[0, old:] = [recent.overall[0, known[0]] if known else 0.0 for known in siblings]
    out = recent._replace(
        factor=factor,
        overall=overall,
        **{name: wider(getattr(recent, name), n_more, old) for name in _WITH_COLUMNS},
    )
    for code in np.flatnonzero(out.rows).tolist():
        for m in range(len(HALF_LIVES)):
            _write_constant(out, code, m, d, bool(_is_full(out)))
    return out


def _deviations(factor: Array, d: int) -> Array:
    """Root of the diagonal of the scatter behind packed factors, shape (codes, memories, d)."""
    starts = np.array([packed_size(j) for j in range(d)])
    return np.sqrt(np.add.reduceat(factor[:, :, : packed_size(d)] ** 2, starts, axis=2))


@exact
def _is_full(recent):
    return recent.factor.shape[2] > recent.mean.shape[2] or recent.mean.shape[2] == 1


@exact
def log_density(recent, code, memory, X, i, least, z):
    """Log density of a row, up to a constant of all classes; -inf if it is below ``least``.

    ``z`` of shape (d,) is a scratch array.
    """
    d = X.shape[1]
    factor, mean = recent.factor[code, memory], recent.mean[code, memory]
    # The ridge is worth d rows.
    score, half, squares = (
        recent.constant[code, memory],
        0.5 * (recent.weight[code, memory] + d),
        0.0,
    )
    full = _is_full(recent)
    for j in range(d):
        away = X[i, j] - mean[j]
        if away != away:
            away = 0.0
        if full:
            row = j * (j + 1) // 2
            for k in range(j):
                away -= factor[row + k] * z[k]
            away /= factor[row + j]
        else:
            away /= factor[j]
        z[j] = away
        squares += away * away
        if score - half * squares < least:
            return -np.inf
    return score - half * squares


@allocating
def write_nearest(handle, X, out):
    """Write the class with the largest density of the first memory; -1 before the first row.

    Entries below -1 stay as they are. ``handle`` is the address of a `NextLabel`, alone.
    """
    (next_label,) = parts_of(handle)
    recent = next_label.recent
    z = np.empty(X.shape[1])
    last = -1
    for i in range(X.shape[0]):
        if out[i] < -1:
            continue
        best, out[i] = -np.inf, -1
        # From the last result on: in most streams it is a good start, and ends other scores early.
        if last >= 0:
            best, out[i] = log_density(recent, last, 0, X, i, best, z), last
        for k in range(recent.rows.size):
            if k != last and recent.rows[k] > 0:
                score = log_density(recent, k, 0, X, i, best, z)
                if score > best:
                    best, out[i] = score, k
        last = out[i]


@exact
def learn(recent, code, X, i, w, ridge, v):
    """Learn a row of weight w; ``ridge`` and ``v`` of shape (d,) are scratch arrays."""
    d = X.shape[1]
    _learn_long(recent, code, X, i, w, ridge)
    full, first = _is_full(recent), recent.rows[code] == 0
    turn = recent.rows[code] % d
    for m in range(recent.decay.size):
        mean, factor = recent.mean[code, m], recent.factor[code, m]
        if first:
            recent.weight[code, m] = w
            for j in range(d):
                mean[j] = X[i, j] if X[i, j] == X[i, j] else recent.overall[1, j]
                factor[j * (j + 1) // 2 + j if full else j] = math.sqrt(d * ridge[j])
            _write_constant(recent, code, m, d, full)
            continue
        decay = max(recent.decay[m] ** w, 1e-30)  # a heavy row must not leave a factor of zeros
        before = recent.weight[code, m] * decay
        after = before + w
        root = math.sqrt(before * w / after)
        for j in range(d):
            away = X[i, j] - mean[j]
            if away != away:
                away = 0.0
            mean[j] += away * w / after
            v[j] = root * away
        recent.weight[code, m] = after
        shrink = math.sqrt(decay)
        for k in range(factor.size):
            factor[k] *= shrink
        lost = d * (1.0 - decay)  # of the ridge, in each column
        if not full:
            for j in range(d):
                factor[j] = math.sqrt(factor[j] * factor[j] + v[j] * v[j] + lost * ridge[j])
        else:
            add_outer(factor, v, d)
            if decay**d < 0.01:  # a heavy row: the next turn of a column may be too late
                for j in range(d):
                    v[:] = 0.0
                    v[j] = math.sqrt(lost * ridge[j])
                    add_outer(factor, v, d)
            else:  # what was lost over d rows, in one column
                v[:] = 0.0
                v[turn] = math.sqrt(d * lost * ridge[turn])
                add_outer(factor, v, d)
        _write_constant(recent, code, m, d, full)
    recent.rows[code] += 1


@exact
def _write_constant(recent, code, m, d, full):
    """Write the constant of a log density, after its factor and weight have changed."""
    factor, total = recent.factor[code, m], 0.5 * d * math.log(recent.weight[code, m] + d)
    # Products of two roots save logarithms, and do not overflow.
    product, n = 1.0, 0
    for j in range(d):
        product *= factor[j * (j + 1) // 2 + j if full else j]
        n += 1
        if n == 2 or j == d - 1:
            total -= math.log(product)
            product, n = 1.0, 0
    recent.constant[code, m] = total


@exact
def _learn_long(recent, code, X, i, w, ridge):
    """Learn the long-run moments, and write the variances of the ridge."""
    d, overall = X.shape[1], recent.overall
    first = recent.rows[code] == 0
    recent.long_weight[code] += w
    n = recent.long_weight[code]
    for j in range(d):
        x = X[i, j]
        if x == x and overall[0, j] == 0.0:
            recent.long_mean[:, j] = x
            recent.mean[:, :, j] = x
        if first:
            recent.long_mean[code, j] = x if x == x else overall[1, j]
        constant = overall[2, j] == 0.0
        if x == x:
            overall[0, j] += w
            away = x - overall[1, j]
            overall[1, j] += away * w / overall[0, j]
            overall[2, j] += w * away * (x - overall[1, j])
            away = x - recent.long_mean[code, j]
            recent.long_mean[code, j] += away * w / n
            more = w * away * (x - recent.long_mean[code, j])
            recent.long_spread[code, j] += more
            recent.within[j] += more
        known = max(overall[0, j], 1.0)
        pooled = (recent.within[j] + _SHRINKAGE * overall[2, j]) / known
        if pooled == 0.0:
            ridge[j] = 1.0  # a column without a unit: no class deviates in it
            continue
        ridge[j] = (recent.long_spread[code, j] + d * pooled) / (n + d)
        if constant:
            _begin_to_vary(recent, j, pooled, d)


@exact
def _begin_to_vary(recent, j, pooled, d):
    """Give all classes the same variance in a column that has just begun to vary.

    What they learnt while it was constant says nothing of it. Its other entries are 0 so far.
    """
    full = _is_full(recent)
    for code in range(recent.rows.size):
        if recent.rows[code] == 0:
            continue
        for m in range(recent.decay.size):
            total = recent.weight[code, m] + d
            recent.factor[code, m, j * (j + 1) // 2 + j if full else j] = math.sqrt(pooled * total)
            _write_constant(recent, code, m, d, full)


def merge(recent: RecentGaussians, other: RecentGaussians, codes: np.ndarray[Any, Any]) -> None:
    """Add what another model knows of its classes, whose codes are mapped.

    The rows of both count as equally recent.
    """
    d = recent.mean.shape[2]
    for theirs, code in enumerate(codes[: len(other.rows)].tolist()):
        _merge_class(recent, code, other, theirs)
    recent.within[:] = recent.long_spread.sum(axis=0)
    n, more = recent.overall[0].copy(), other.overall[0]
    share = np.divide(more, n + more, out=np.zeros(d), where=n + more > 0)
    away = other.overall[1] - recent.overall[1]
    recent.overall[0] += more
    recent.overall[1] += away * share
    recent.overall[2] += other.overall[2] + away * away * n * share


def _merge_class(recent: RecentGaussians, code: int, other: RecentGaussians, theirs: int) -> None:
    """Add what another model knows of one class."""
    if other.rows[theirs] == 0:
        return
    if recent.rows[code] == 0:
        for name in _BY_CODE:
            getattr(recent, name)[code] = getattr(other, name)[theirs]
        return
    for m in range(len(recent.decay)):
        _merge_one(recent, code, other, theirs, m)
    n, more = recent.long_weight[code], other.long_weight[theirs]
    away = other.long_mean[theirs] - recent.long_mean[code]
    recent.long_mean[code] += away * (more / (n + more))
    recent.long_spread[code] += other.long_spread[theirs] + away * away * (n * more / (n + more))
    recent.long_weight[code] += more
    recent.rows[code] += other.rows[theirs]


def join_class(recent: RecentGaussians, old: int, new: int) -> None:
    """Add the Gaussians of a class to those of another one."""
    _merge_class(recent, new, recent, old)
    recent.rows[old], recent.long_spread[old] = 0, 0.0
    recent.within[:] = recent.long_spread.sum(axis=0)


def drop_code(recent: RecentGaussians, code: int) -> RecentGaussians:
    """Drop a class; the one with the last code gets its code."""
    out = recent._replace(**{name: without_entry(getattr(recent, name), code) for name in _BY_CODE})
    out.within[:] = out.long_spread.sum(axis=0)
    return out


def _merge_one(
    recent: RecentGaussians, code: int, other: RecentGaussians, theirs: int, m: int
) -> None:
    """Merge one Gaussian of a class with another model's."""
    mine, more = recent.weight[code, m], other.weight[theirs, m]
    away = other.mean[theirs, m] - recent.mean[code, m]
    between = away * math.sqrt(mine * more / (mine + more))
    d = len(away)
    if recent.factor.shape[2] == packed_size(d):
        # The ridge is in both; the surplus ages with the rows that come.
        rows, columns = np.tril_indices(d)
        low = np.zeros((d, d))
        low[columns, rows] = other.factor[theirs, m]
        for column in (*low, between):
            add_outer(recent.factor[code, m], column, d)
    else:
        squares = recent.factor[code, m] ** 2 + other.factor[theirs, m] ** 2 + between**2
        recent.factor[code, m] = np.sqrt(squares)
    recent.mean[code, m] += away * (more / (mine + more))
    recent.weight[code, m] = mine + more
    _write_constant(recent, code, m, d, recent.factor.shape[2] == packed_size(d))
