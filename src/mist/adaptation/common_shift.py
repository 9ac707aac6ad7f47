"""A shift that all classes share: a sensor with an offset, a new unit, a recalibration.

The shift is subtracted from the numeric columns of every row before the tree sees it, in learning
and in prediction, so classes that no longer arrive are found at their new place, too.

Every class compares the mean of its last rows with its mean so far, in units of the covariance
within classes (Mahalanobis). A difference is taken for a common shift if another class has lately
found nearly the same one: each explains the rows of the other better than no shift does, by more
than `NEEDED` nats, the angle between them is small, and most classes that came since have found
the same. Classes that move each their own way do not agree. On streams whose rows depend on each
other, means of blocks differ for other reasons; the evidence is divided by how much more they have
differed so far than independent rows would.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.adaptation.packed import factorise, solve_half
from mist.engine.arrays import grown, without_entry
from mist.engine.budget import row_bytes
from mist.engine.compiled import allocating, exact
from mist.engine.state import packed_size

BLOCK = 20
"""Rows of a class whose mean is compared."""

YOUNG = 30.0
"""A class with fewer rows before the block has no mean to compare with."""

NEEDED = 6.0
"""Evidence in nats that both classes must give."""

AGREED = 0.8
"""Least cosine between the differences of two classes."""

MOST_DIFFERED = 30.0
"""Most that one block counts for, where 1 is expected of independent rows."""

DIFFERS = 0.5
"""A class whose difference has a smaller cosine with a shift speaks against it."""

RECENT = 1000
"""Rows after which the difference of a class is out of date."""

MOST_COLUMNS = 100
"""With more numeric columns, no common shift is looked for."""

_SCATTER, _ROWS, _DIFFERED, _BLOCKS, _LENGTH = range(5)
_PRIOR_BLOCKS = 5.0
_NEVER = -(2**60)


class CommonShift(NamedTuple):
    """The shift, and what the search for it keeps; a counts the numeric columns."""

    shift: Any  # float64 (a,): subtracted from rows
    origin: Any  # float64 (a,): the first row; what follows counts from there, for precision
    weight: Any  # float64 (codes,): rows behind `mean`
    mean: Any  # float64 (codes, a): of complete blocks
    rows: Any  # int64 (codes,): rows in the block at hand
    total: Any  # float64 (codes, a): their sum
    difference: Any  # float64 (codes, a): of the last block from the mean before it
    found_at: Any  # int64 (codes,): row at which that block ended
    scatter: Any  # float64 (packed,): sum of squares and products within blocks
    centre: Any  # float64 (a,): mean of all rows
    spread: Any  # float64 (a,): sum of squared deviations of all rows
    # float64 (5,): weight of `scatter`; rows; differences of blocks; their number; length of
    # `found`
    sums: Any
    changed_at: Any  # int64 (1,): row of the last change of the shift
    found: Any  # float64 (a,): change of the shift that was found and is not made yet


_BY_CODE = ("weight", "mean", "rows", "total", "difference", "found_at")


def new_common_shift(n_shifted: int) -> CommonShift:
    """Return the state before the first row, for a shift of the first columns."""
    a = n_shifted
    return CommonShift(
        shift=np.zeros(a),
        origin=np.zeros(a),
        weight=np.zeros(0),
        mean=np.zeros((0, a)),
        rows=np.zeros(0, np.int64),
        total=np.zeros((0, a)),
        difference=np.zeros((0, a)),
        found_at=np.zeros(0, np.int64),
        scatter=np.zeros(packed_size(a)),
        centre=np.zeros(a),
        spread=np.zeros(a),
        sums=np.array([0.0, 0.0, _PRIOR_BLOCKS, _PRIOR_BLOCKS, 0.0]),
        changed_at=np.full(1, _NEVER),
        found=np.zeros(a),
    )


def reserve_codes(common: CommonShift, n_codes: int) -> CommonShift:
    """Reserve so many classes."""
    old = len(common.weight)
    common = common._replace(**{name: grown(getattr(common, name), n_codes) for name in _BY_CODE})
    common.found_at[old:] = _NEVER
    return common


def bytes_for_codes(common: CommonShift, n_codes: int) -> int:
    """Bytes for so many classes."""
    by_code = [getattr(common, name) for name in _BY_CODE]
    shared = [getattr(common, name) for name in common._fields if name not in _BY_CODE]
    return n_codes * row_bytes(*by_code) + sum(array.nbytes for array in shared)


def forget_class(common: CommonShift, code: int) -> None:
    """Drop the mean of a class. What it found last stays: another class may have found the same."""
    common.weight[code], common.rows[code] = 0.0, 0
    common.total[code] = 0.0


def join_class(common: CommonShift, old: int, new: int) -> None:
    """Add the mean of a class to that of another one; the blocks at hand of both are dropped."""
    both = common.weight[old] + common.weight[new]
    if both > 0.0:
        share = common.weight[old] / both
        common.mean[new] += (common.mean[old] - common.mean[new]) * share
    common.weight[new] = both
    for code in (old, new):
        common.rows[code], common.total[code], common.found_at[code] = 0, 0.0, _NEVER


def drop_code(common: CommonShift, code: int) -> CommonShift:
    """Drop a class; the one with the last code gets its code."""
    return common._replace(
        **{name: without_entry(getattr(common, name), code) for name in _BY_CODE}
    )


@allocating
def find_shift(common, X, codes, weights):
    """Learn rows that already had the shift subtracted, up to one that shows a change of it.

    What was found is kept until `change_shift`. Rows before that are not learnt.

    Parameters
    ----------
    common : CommonShift
        Changed in place.
    X : float64 array, shape (n, d)
        Rows, numeric columns first. Rows with a missing number are left out.
    codes : int64 array, shape (n,)
        Class codes.
    weights : float64 array, shape (n,)
        Rows of weight 0 are left out; the others count as one row each.
    """
    a = common.shift.size
    work = np.empty((4, a))
    factor = np.empty(common.scatter.size)
    for i in range(X.shape[0]):
        if has_found(common):
            return
        if weights[i] > 0.0 and _is_complete(X, i, a):
            for j in range(a):
                if common.sums[_ROWS] == 0.0:
                    common.origin[j] = X[i, j]
                work[3, j] = X[i, j] - common.origin[j]
            _learn_row(common, work[3], codes[i], a, work, factor)


@exact
def has_found(common):
    """Whether a change of the shift was found that is not made yet."""
    return common.sums[_LENGTH] > 0.0


def change_shift(common: CommonShift) -> float:
    """Change the shift by what was found.

    Returns
    -------
    float
        Length of the change in units of the covariance within classes; 0 without a change.
    """
    length = float(common.sums[_LENGTH])
    common.shift[:] += common.found
    common.found[:] = common.sums[_LENGTH] = 0.0
    return length


@exact
def _is_complete(X, i, a):
    for j in range(a):
        if X[i, j] != X[i, j]:
            return False
    return a > 0


@exact
def _learn_row(common, x, code, a, work, factor):
    """Learn one row."""
    sums = common.sums
    sums[_ROWS] += 1.0
    for j in range(a):
        away = x[j] - common.centre[j]
        common.centre[j] += away / sums[_ROWS]
        common.spread[j] += away * (x[j] - common.centre[j])
    n = common.rows[code]
    if n > 0:
        away, at = work[0], 0
        for j in range(a):
            away[j] = x[j] - common.total[code, j] / n
        share = n / (n + 1.0)
        for i in range(a):
            scaled = share * away[i]
            for j in range(i + 1):
                common.scatter[at + j] += scaled * away[j]
            at += i + 1
        sums[_SCATTER] += 1.0
    for j in range(a):
        common.total[code, j] += x[j]
    common.rows[code] += 1
    if common.rows[code] == BLOCK:
        _end_block(common, code, a, work, factor)


@exact
def _end_block(common, code, a, work, factor):
    """Compare a complete block with its class, and with what other classes have found."""
    sums, mine, theirs = common.sums, work[1], work[2]
    now, weight, length = np.int64(sums[_ROWS]), common.weight[code], 0.0
    if weight >= YOUNG:
        _covariance(common, a, factor)
        for j in range(a):
            common.difference[code, j] = common.total[code, j] / BLOCK - common.mean[code, j]
        common.found_at[code] = now
        _write_difference(common, code, a, factor, mine)
        inflation = max(1.0, sums[_DIFFERED] / sums[_BLOCKS])
        own = _weight_of(common, code)
        mine_squared = _dot(mine, mine, a)
        # A class that moves must not hide a shift for long.
        sums[_DIFFERED] += min(MOST_DIFFERED, own * mine_squared / a)
        sums[_BLOCKS] += 1.0
        best, partner = NEEDED, -1
        for other in range(common.weight.size):
            age = now - common.found_at[other]
            if other == code or age > RECENT or common.found_at[other] <= common.changed_at[0]:
                continue
            _write_difference(common, other, a, factor, theirs)
            both, squared = _dot(mine, theirs, a), _dot(theirs, theirs, a)
            evidence = min(
                own * (both - 0.5 * squared),
                _weight_of(common, other) * (both - 0.5 * mine_squared),
            )
            agree = both > AGREED * math.sqrt(mine_squared * squared)
            if evidence / inflation > best and agree and _agree(common, code, other, a):
                best, partner = evidence / inflation, other
        if partner >= 0 and not _contradicted(common, code, partner, a, factor, mine, theirs):
            share = own / (own + _weight_of(common, partner))
            for j in range(a):
                mine[j] = share * common.difference[code, j]
                mine[j] += (1.0 - share) * common.difference[partner, j]
                common.found[j] = mine[j]
            solve_half(factor, mine, a)
            length = math.sqrt(_dot(mine, mine, a))
    for j in range(a):
        common.mean[code, j] = weight * common.mean[code, j] + common.total[code, j]
        common.mean[code, j] /= weight + BLOCK
        common.total[code, j] = 0.0
    common.weight[code] = weight + BLOCK
    common.rows[code] = 0
    if length > 0.0:
        common.sums[_LENGTH] = length
        common.changed_at[0] = now
        common.rows[:] = 0
        common.total[:] = 0.0


@exact
def _agree(common, code, other, a):
    """Whether two differences have a small angle in units of the columns' own deviations, too.

    In units of the covariance a narrow direction may outweigh all others, so that any two
    differences have a small angle.
    """
    both, mine, theirs, at = 0.0, 0.0, 0.0, 0
    for j in range(a):
        at += j
        if common.scatter[at] > 0.0:
            u, v = common.difference[code, j], common.difference[other, j]
            both += u * v / common.scatter[at]
            mine += u * u / common.scatter[at]
            theirs += v * v / common.scatter[at]
        at += 1
    return both > AGREED * math.sqrt(mine * theirs)


@exact
def _contradicted(common, code, partner, a, factor, mine, theirs):
    """Whether too many other classes have lately found something else.

    ``mine`` is the difference of ``code`` in units of the covariance; ``theirs`` is scratch.
    """
    since, support, against = common.found_at[partner], 2, 0
    squared = _dot(mine, mine, a)
    for other in range(common.weight.size):
        if other in (code, partner) or common.found_at[other] < since:
            continue
        _write_difference(common, other, a, factor, theirs)
        if _dot(mine, theirs, a) < DIFFERS * math.sqrt(squared * _dot(theirs, theirs, a)):
            against += 1
        else:
            support += 1
    return 2 * against > support


@exact
def _write_difference(common, code, a, factor, out):
    """Write what a class has found, in units of the covariance."""
    for j in range(a):
        out[j] = common.difference[code, j]
    solve_half(factor, out, a)


@exact
def _weight_of(common, code):
    """Rows that a difference of block and class is worth."""
    return BLOCK * common.weight[code] / (BLOCK + common.weight[code])


@exact
def _dot(u, v, a):
    total = 0.0
    for j in range(a):
        total += u[j] * v[j]
    return total


@exact
def _covariance(common, a, factor):
    """Write the factor of the covariance within classes, with a little of the overall variance."""
    weight, at = max(common.sums[_SCATTER], 1.0), 0
    for i in range(a):
        for _j in range(i + 1):
            factor[at] = common.scatter[at] / weight
            at += 1
        factor[at - 1] += 1e-3 * common.spread[i] / common.sums[_ROWS]
        if factor[at - 1] == 0.0:
            factor[at - 1] = 1.0  # a column that never varied
    factorise(factor, a)


def merge(common: CommonShift, other: CommonShift, codes: np.ndarray[Any, Any]) -> None:
    """Add the means that another model has of its classes, whose codes are mapped.

    The shift stays: it belongs to the rows that this model will see.
    """
    if common.sums[_ROWS] == 0.0:
        common.origin[:] = other.origin
    away = other.origin - common.origin
    means, centre = other.mean + away, other.centre + away
    for theirs, code in enumerate(codes[: len(other.weight)].tolist()):
        both = common.weight[code] + other.weight[theirs]
        if both > 0.0:
            common.mean[code] *= common.weight[code] / both
            common.mean[code] += means[theirs] * (other.weight[theirs] / both)
        common.weight[code] = both
    common.scatter[:] += other.scatter
    both = common.sums[_ROWS] + other.sums[_ROWS]
    if both > 0.0:
        away = centre - common.centre
        share = other.sums[_ROWS] / both
        common.centre[:] += away * share
        common.spread[:] += other.spread + away * away * (common.sums[_ROWS] * share)
    common.sums[:_LENGTH] += other.sums[:_LENGTH]
    common.sums[[_DIFFERED, _BLOCKS]] -= _PRIOR_BLOCKS
    common.found[:] = common.sums[_LENGTH] = 0.0
    # The next differences are compared with the merged means.
    common.rows[:], common.total[:], common.found_at[:] = 0, 0.0, _NEVER
