"""How sure a model may be: an exponent on its class probabilities, learnt row by row.

A mixture or Gaussian that was estimated from few rows, or whose columns tell the same twice, is too
sure of its class. With q_k the probabilities of the model, all classes being equally frequent, the
calibrated ones are proportional to f_k max(q_k, e^-12)^b, where f_k is the frequency of class k in
the stream. The exponent b minimises the log loss of the labels of the stream, each predicted before
it was learnt: Newton's method with forgetting. The first rows of a class do not count, and the next
ones less, because its model is poorer then than later.

References
----------
Guo et al., "On Calibration of Modern Neural Networks", ICML 2017: the exponent is the inverse of
their temperature.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine.compiled import exact

__all__ = ["EXPONENT", "FLOOR", "calibrated", "learn", "merge", "new_calibration"]

Array = np.ndarray[Any, Any]

FLOOR = -12.0
"""Least log probability of a class: a model that is sure and wrong must not decide alone."""

EXPONENT, _CURVATURE = 0, 1

_RIDGE = 5.0
_FORGETTING = 0.9998
"""It looks back on so many rows that those of a class of one in a hundred say something."""

_LOWEST, _HIGHEST = 0.02, 3.0
_FIRST_ROWS = 50.0
"""The first rows of a class, by weight, say nothing."""

_RAMP = 100.0
"""So many rows after them count ever more."""


def new_calibration() -> Array:
    """Return the exponent and the curvature of the loss before the first row."""
    return np.array([1.0, _RIDGE])


@exact
def _counted(count):
    """Return how much rows of a class count that has so many."""
    return min(1.0, max(0.0, (count - _FIRST_ROWS) / _RAMP))


@exact
def learn(calibration, says, count, code, w, n, stands_for, balanced):
    """Move the exponent towards the label of a row.

    Parameters
    ----------
    calibration : float64 array, shape (2,)
        Exponent and curvature; changed in place.
    says : float64 array, shape (n_codes,)
        Log probability of each class, at least `FLOOR`.
    count : float64 array, shape (n_codes,)
        Weight of the rows of each class so far; classes without rows are left out.
    code : int
        Class of the row.
    w : float
        Weight of the row.
    n : int
        Number of class codes.
    stands_for : int
        Number of rows that the row stands for.
    balanced : bool
        Whether ``says`` takes all classes as equally frequent.
    """
    weight = w * _counted(count[code])
    if not weight > 0.0:
        return
    b = calibration[EXPONENT]
    best, total, mean, spread = -np.inf, 0.0, 0.0, 0.0
    for k in range(n):
        if count[k] > 0.0:
            best = max(best, says[k])
    for k in range(n):
        prior = _counted(count[k])
        if prior > 0.0:
            if balanced:
                prior *= count[k]
            share = prior * math.exp(b * (says[k] - best))
            total += share
            mean += share * (says[k] - best)
            spread += share * (says[k] - best) ** 2
    mean /= total
    spread = max(0.0, spread / total - mean * mean)
    forgetting = _FORGETTING**stands_for
    back = (1.0 - forgetting) * _RIDGE
    slope = weight * (says[code] - best - mean) + back * (1.0 - b)
    calibration[_CURVATURE] = calibration[_CURVATURE] * forgetting + back + weight * spread
    calibration[EXPONENT] = min(max(b + slope / calibration[_CURVATURE], _LOWEST), _HIGHEST)


def merge(calibration: Array, other: Array) -> None:
    """Add what another model has learnt of the exponent.

    Each exponent counts with the curvature of its loss, which grows with the rows that tell it
    apart from others. The ridge, which both have, counts once.

    Parameters
    ----------
    calibration, other : ndarray of float64, shape (2,)
        As `new_calibration` returns them; the first is changed in place.

    Examples
    --------
    >>> calibration = new_calibration()
    >>> merge(calibration, np.array([0.5, 80.0]))
    >>> calibration.tolist()
    [0.5, 80.0]
    """
    curvature = calibration[_CURVATURE] + other[_CURVATURE] - _RIDGE
    pulls = calibration[EXPONENT] * calibration[_CURVATURE] + other[EXPONENT] * other[_CURVATURE]
    calibration[EXPONENT] = min(max((pulls - _RIDGE) / curvature, _LOWEST), _HIGHEST)
    calibration[_CURVATURE] = curvature


def calibrated(
    shares: Array, frequencies: Array, ranks: Array, calibration: Array | None = None
) -> Array:
    """Return the class probabilities of rows of the stream.

    Parameters
    ----------
    shares : ndarray of float64, shape (n, n_classes)
        Class probabilities of a model, all classes being equally frequent.
    frequencies : ndarray of float64, shape (n_classes,) or (n, n_classes)
        Weight of the rows of each class.
    ranks : ndarray of int64, shape (n_codes,)
        Column of each class with rows. Sums are made in this order, so that the names of the
        labels, which order the columns, do not matter.
    calibration : ndarray of float64, shape (2,), or None
        What was learnt of the exponent. None, or an exponent that no row has moved, stands for
        probabilities of the model as they are, without a least value.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows sum to 1. A row of ``shares`` that is 0 for all classes with rows is returned as it is;
        with an exponent it gets the frequencies of the classes.

    Examples
    --------
    >>> calibrated(np.array([[0.5, 0.5]]), np.array([90.0, 10.0]), np.array([1, 0]))
    array([[0.9, 0.1]])
    """
    if calibration is not None and calibration[EXPONENT] != 1.0:
        logs = np.log(np.maximum(shares, math.exp(FLOOR)))
        tempered = np.exp(calibration[EXPONENT] * (logs - logs.max(axis=1, keepdims=True)))
    else:
        tempered = shares
    out = tempered * frequencies
    total = out[:, ranks].sum(axis=1, keepdims=True)
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), shares)
