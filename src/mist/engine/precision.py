"""Sketches in single precision: what a value becomes when it is stored, and where it may be cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from mist.engine.compiled import OVERLOADED

Array = np.ndarray[Any, Any]

_MOST = float(np.finfo(np.float32).max)
_SINGLE = np.dtype(np.float32)


def stored(array: Any, v: Any) -> Any:
    """What a value becomes in an array of a sketch: the nearest float32, or itself.

    A value beyond the largest float32 becomes that one: +inf stands for a missing value.

    Parameters
    ----------
    array : float32 or float64 array
        Where it is to be stored.
    v : float
        A finite value, or NaN.

    Returns
    -------
    float32 or float
        As the array has it; NaN stays NaN.

    Examples
    --------
    >>> stored(np.empty(0, np.float32), 1e300), stored(np.empty(0), 1e300)
    (np.float32(3.4028235e+38), 1e+300)
    """
    if array.dtype == _SINGLE:
        return np.float32(-_MOST if v < -_MOST else _MOST if v > _MOST else v)
    return v


@overload(stored, jit_options=OVERLOADED)
def _stored(array, v):
    if array.dtype.name == "float32":
        return lambda array, v: np.float32(-_MOST if v < -_MOST else _MOST if v > _MOST else v)
    return lambda array, v: v


def routing_thresholds(places: Array) -> Array:
    """Thresholds that rows meet as their values in single precision met others.

    A row is routed by its own value, but a sketch of float32 has counted what that was rounded to.
    Each threshold is moved to the end of the interval in which values are rounded to the largest
    float32 that does not exceed it, by less than a unit in the last place of that.

    Parameters
    ----------
    places : float64 array
        Thresholds; NaN where there is none.

    Returns
    -------
    float64 array
        Of the same shape: a value is <= such a threshold just if, rounded, it is <= the one given.

    Examples
    --------
    >>> v, x = float(np.float32(0.1)), 0.1 + 2e-9
    >>> edge = routing_thresholds(np.array([v]))[0]
    >>> print(x <= v, float(np.float32(x)) <= v, x <= edge)
    False True True
    """
    inside = np.clip(places, -_MOST, _MOST)
    u = inside.astype(np.float32)
    with np.errstate(over="ignore"):
        u = np.where(u > inside, np.nextafter(u, np.float32(-np.inf)), u)
        following = np.nextafter(u, np.float32(np.inf))
    edge = 0.5 * u.astype(np.float64) + 0.5 * following.astype(np.float64)
    # Of two float32 as near, the one whose last bit is 0 is taken.
    out = np.where(edge.astype(np.float32) == u, edge, np.nextafter(edge, -np.inf))
    # The largest float32 stands for all that are larger, the least one for all that are less.
    out = np.where(u == np.float32(_MOST), np.finfo(np.float64).max, out)
    out = np.where(places < -_MOST, np.finfo(np.float64).min, out)
    return np.where(places == places, out, np.nan)
