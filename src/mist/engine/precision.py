"""Sketches in single precision: rounding of stored values, and thresholds that agree with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from mist.engine.compiled import OVERLOADED

Array = np.ndarray[Any, Any]

_MOST = float(np.finfo(np.float32).max)
_SINGLE = np.dtype(np.float32)


def stored(array: Any, v: Any) -> Any:
    """Round a value as an array of a sketch stores it: to the nearest float32, or not at all.

    A value beyond the largest float32 becomes that one: +inf means a missing value.

    Parameters
    ----------
    array : float32 or float64 array
        The array that will store it; only its dtype counts.
    v : float
        A finite value, or NaN.

    Returns
    -------
    float32 or float
        Of the array's dtype; NaN stays NaN.

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
    """`stored` in compiled code, chosen by the dtype when it is compiled."""
    if array.dtype.name == "float32":
        return lambda array, v: np.float32(-_MOST if v < -_MOST else _MOST if v > _MOST else v)
    return lambda array, v: v


def routing_thresholds(places: Array) -> Array:
    """Move thresholds so that a value is routed as its rounded value was counted.

    A row is routed by its own value, but a sketch of float32 has counted the rounded value. Let u
    be the largest float32 that does not exceed a threshold. The threshold is moved to the end of
    the interval of values that are rounded to u, by less than a unit in the last place of u.

    Parameters
    ----------
    places : float64 array
        Thresholds; NaN where there is none.

    Returns
    -------
    float64 array
        Of the same shape: x <= the new threshold if and only if float32(x) <= the given one.

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
    # Halfway between two float32, a value is rounded to the one whose last bit is 0. So the edge
    # itself is rounded to u only if that is u.
    out = np.where(edge.astype(np.float32) == u, edge, np.nextafter(edge, -np.inf))
    # All values beyond the largest float32 are stored as it, on either side.
    out = np.where(u == np.float32(_MOST), np.finfo(np.float64).max, out)
    out = np.where(places < -_MOST, np.finfo(np.float64).min, out)
    return np.where(places == places, out, np.nan)
