"""The rare work on classes of low rank: cutting, weighing, copying and merging them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.arrays import per
from mist.engine.inheritance import fractions, truncated_moments
from mist.engine.low_rank_gaussians import LARGEST, LowRank, LowRankWorkspace, own_factor

Array = np.ndarray[Any, Any]


def cut(
    pool: LowRank,
    g: int,
    feature: int,
    v: float,
    left: bool,
    conditional: tuple[float, float] | None,
    work: LowRankWorkspace,
) -> float:
    """Truncate a class in place; returns the share of its mass that is kept.

    The other columns change with the split column by their estimated covariance.

    Parameters
    ----------
    pool : LowRank
        The classes.
    g : int
        The class; it must have values in the split column.
    feature : int
        Split column.
    v : float
        Threshold.
    left : bool
        Keep x <= v, else x > v.
    conditional : tuple of float or None
        Conditional mean and variance of the split column on that side; None takes those of the
        truncated Gaussian.
    work : LowRankWorkspace
        From `mist.engine.low_rank_gaussians.make_workspace`.

    Returns
    -------
    float
        Between 0 and 1; NaN if values are too large for a variance.
    """
    a = pool.m2.shape[1]
    mean = pool.mean[g]
    if feature >= a:
        share = 1.0 - mean[feature] if left else mean[feature]
        mean[feature] = 0.0 if left else 1.0
        return float(share)
    square = pool.m2[g, feature]
    known = pool.weight[g]
    variance = square / known[feature]
    if not 0.0 < variance < np.inf:
        return float((mean[feature] <= v) == left)
    before = float(mean[feature])
    own = np.array([before]), np.array([variance])
    share = fractions(*own, v)[0 if left else 1]
    kept = truncated_moments(*own, v, left)
    new_mean, new_variance = (
        conditional if conditional is not None else (float(kept[0][0]), float(kept[1][0]))
    )

    covariance = covariances(pool, g, feature, work)
    products = covariance * np.sqrt(known[feature] * known[:a])
    mean[:a] += covariance / variance * (new_mean - before)
    fall = 1.0 - new_variance / variance
    pool.m2[g] = np.maximum(pool.m2[g] - fall * products * (products / square), 0.0)
    seen = (products * pool.scale[g]) @ pool.signs
    pool.sketch[g] -= fall / square * products[:, None] * seen
    return float(share[0])


def covariances(pool: LowRank, g: int, feature: int, work: LowRankWorkspace) -> Array:
    """Covariances of a class's numeric columns with one of them, as estimated from its sketch.

    Parameters
    ----------
    pool : LowRank
        The classes.
    g : int
        The class.
    feature : int
        A numeric column in which the class has values.
    work : LowRankWorkspace
        From `mist.engine.low_rank_gaussians.make_workspace`.

    Returns
    -------
    ndarray, shape (a,)
        The variance for the column itself; 0 for columns in which the class has no value.
    """
    known = pool.weight[g, : pool.m2.shape[1]]
    factor = np.empty_like(pool.signs)
    own_factor(pool.sketch[g], pool.scale[g], pool.signs, pool.m2[g], factor, work)
    products = factor @ factor[feature]
    products[feature] = pool.m2[g, feature]
    both = np.sqrt(known[feature] * known)
    return per(products, both)


def weigh(pool: LowRank, g: int, share: float) -> None:
    """Multiply the weight of all that a class has learnt."""
    for array in (pool.head["weight"], pool.weight, pool.m2, pool.sketch):
        array[g] *= share


def copy(pool: LowRank, g: int, source: LowRank, h: int) -> None:
    """Copy a class to another record; both pools must have the same signs."""
    for name in pool._fields:
        if name != "signs":
            getattr(pool, name)[g] = getattr(source, name)[h]


def class_bytes(pool: LowRank) -> int:
    """Bytes that a class takes."""
    return sum(getattr(pool, name)[:1].nbytes for name in pool._fields if name != "signs")


def merge(pool: LowRank, g: int, other: LowRank, h: int, work: LowRankWorkspace) -> None:
    """Add what another class has learnt to a class.

    Weights, means and variances are exact. So is the sketch if both have the same scale, as parts
    of one class have; else one of them is sketched again from its estimate.

    Parameters
    ----------
    pool, other : LowRank
        Classes of the same columns.
    g, h : int
        The class that is changed, and the one that is added.
    work : LowRankWorkspace
        From `mist.engine.low_rank_gaussians.make_workspace`.
    """
    if not other.head["weight"][h] > 0.0:
        return
    if not pool.head["weight"][g] > 0.0:
        copy(pool, g, other, h)
        return
    head, a = pool.head, pool.m2.shape[1]
    mine = (pool.scale[g], pool.sketch[g], pool.m2[g])
    theirs = (other.scale[h], other.sketch[h], other.m2[h])
    # The scale that was set from more rows is kept.
    keeps = head["renewal"][g] >= other.head["renewal"][h]
    (scale, kept, _), added = (mine, theirs) if keeps else (theirs, mine)
    scale = np.where(scale > 0.0, scale, added[0])
    sketch = kept + _rescaled(added, scale, pool.signs, work)

    n, m = pool.weight[g].copy(), other.weight[h]
    total = n + m
    share = per(m, total)
    apart = other.mean[h] - pool.mean[g]
    step = (np.sqrt(n * share) * apart)[:a]
    m2 = pool.m2[g] + other.m2[h] + step * step
    # A column that is constant in both but differs is in neither sketch: its scale is still free.
    scale = np.where((scale == 0.0) & (step != 0.0), np.sqrt(per(total[:a], m2)), scale)
    seen = (step * scale) @ pool.signs
    renewal = max(head["renewal"][g], other.head["renewal"][h])
    if renewal > 0.0 and np.abs(step).max() * np.abs(seen).max() < LARGEST:
        sketch += step[:, None] * seen
    pool.m2[g] = m2
    pool.mean[g] += share * apart
    pool.weight[g], pool.scale[g], pool.sketch[g] = total, scale, sketch
    head["weight"][g] += other.head["weight"][h]
    head["rows"][g] += other.head["rows"][h]
    head["renewal"][g], head["fresh"][g] = renewal, 0.0


def _rescaled(
    part: tuple[Array, Array, Array], scale: Array, signs: Array, work: LowRankWorkspace
) -> Array:
    """The sketch of a class in another scale."""
    old, sketch, m2 = part
    # Columns that have not varied, with scale 0, have only zeros in the sketch.
    if (old[old > 0.0] == scale[old > 0.0]).all():
        return sketch
    factor = np.empty_like(signs)
    own_factor(sketch, old, signs, m2, factor, work)
    again: Array = factor @ ((factor * scale[:, None]).T @ signs)
    return again
