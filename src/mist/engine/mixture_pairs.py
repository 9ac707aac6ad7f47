"""Pairs of Gaussians that might replace a mixture component."""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import exact
from mist.engine.eigenvectors import eigenvectors, place_of_rank

__all__ = ["write_pairs"]

_HALF = 2.0 / math.pi
"""Share of its variance that a Gaussian loses when it is cut at its mean."""

_SHIFT = math.sqrt(2.0 / math.pi)
"""How far the mean of a half is from the cut, in standard deviations."""

_NARROW, _WIDE = 0.25, 2.0
"""Scales of the two covariances of a concentric pair."""

LEAST_SPREAD = 1e-9
"""Least variance of a direction that is cut, in units of the class: less may be rounding."""

_STEPS = 1e9
"""Widths of columns are compared in steps of one part of this."""


@exact
def write_pairs(S, mean, variances, first, n_directions, means, covariances, evidence, axes, work):
    """Write a Gaussian, its halves cut across some directions, and a concentric pair.

    Directions are principal axes and columns in turn, each from the widest on, in units of the
    class. Columns that have no value yet have neither axis nor width: they come last.

    Parameters
    ----------
    S : float64 array, shape (p,)
        Covariance of the a numeric columns, packed: the lower triangle, row after row.
    mean : float64 array, shape (d,)
        Mean, numeric columns first.
    variances : float64 array, shape (a,)
        Variances of the class; may be ``work[4]``.
    first : int
        Number of the first direction.
    n_directions : int
        How many there are; the next one after the last is the first again.
    means : float64 array, shape (2 * pairs + 1, d)
        Receives the mean, then those of both halves of each pair; the last pair is the concentric
        one.
    covariances : float64 array, shape (2 * pairs + 1, p)
        Receives their covariances.
    evidence : float64 array, shape (pairs,)
        Receives -inf, which rules a pair out, where the Gaussian has no spread in the direction,
        else 0.
    axes : float64 array, shape (a, a)
        Scratch array.
    work : float64 array, shape (5, a)
        Scratch array.
    """
    n, n_cuts = len(variances), len(evidence) - 1
    values, widths, scale, along, towards = work[0], work[1], work[2], work[3], work[4]
    at = 0
    for i in range(n):
        scale[i] = 1.0 / math.sqrt(variances[i]) if variances[i] > 0.0 else 1.0
        for j in range(i + 1):
            axes[i, j] = S[at] * scale[i] * scale[j]
            axes[j, i] = axes[i, j]
            at += 1
        # With one component all widths of a class are 1 up to rounding, which must not decide.
        widths[i] = math.floor(axes[i, i] * _STEPS + 0.5)
    eigenvectors(axes, values, towards)
    _write_moments(S, mean, 1.0, means, covariances, 0)
    for cut in range(n_cuts):
        number = (first + cut) % n_directions
        is_axis = number % 2 == 0
        place = place_of_rank(values if is_axis else widths, n, number // 2)
        for i in range(n):
            along[i] = 0.0
            if is_axis:
                along[i] = axes[place, i] * scale[i]
            elif i == place:
                along[i] = scale[i]
        spread = 0.0
        for i in range(n):
            towards[i] = 0.0
            for j in range(n):
                low, high = min(i, j), max(i, j)
                towards[i] += S[high * (high + 1) // 2 + low] * along[j]
            spread += towards[i] * along[i]
        sound = spread > LEAST_SPREAD
        evidence[cut] = 0.0 if sound else -np.inf
        for i in range(n):
            towards[i] = towards[i] / math.sqrt(spread) if sound else 0.0
        low, high, at = 2 * cut + 1, 2 * cut + 2, 0
        for i in range(n):
            for j in range(i + 1):
                half = S[at] - _HALF * towards[i] * towards[j]
                covariances[low, at] = half
                covariances[high, at] = half
                at += 1
        for j in range(len(mean)):
            step = _SHIFT * towards[j] if j < n else 0.0
            means[low, j] = mean[j] - step
            means[high, j] = mean[j] + step
    evidence[n_cuts] = 0.0
    _write_moments(S, mean, _NARROW, means, covariances, 2 * n_cuts + 1)
    _write_moments(S, mean, _WIDE, means, covariances, 2 * n_cuts + 2)


@exact
def _write_moments(S, mean, scale, means, covariances, g):
    """Write a mean, and a multiple of a covariance."""
    for at in range(len(S)):
        covariances[g, at] = scale * S[at]
    for j in range(len(mean)):
        means[g, j] = mean[j]
