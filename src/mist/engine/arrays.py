"""Arrays that grow, and a division that accepts weights of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def grown(array: Any, n: int) -> Any:
    """Return an array with at least n entries, the new ones zero.

    Examples
    --------
    >>> grown(np.ones(2), 4)
    array([1., 1., 0., 0.])
    """
    if n <= len(array):
        return array
    out = np.zeros((n, *array.shape[1:]), array.dtype).view(type(array))
    out[: len(array)] = array
    return out


def without_entry(array: Any, at: int) -> Any:
    """Return a copy without an entry; the last one takes its place.

    Examples
    --------
    >>> without_entry(np.array([3, 4, 5, 6]), 1)
    array([3, 6, 5])
    """
    out = array[:-1].copy()
    if at < len(out):
        out[at] = array[-1]
    return out


def wider(array: Any, n_more: int, at: int, axis: int = -1, fill: float = 0.0) -> Any:
    """Return an array with ``n_more`` columns inserted before index ``at``.

    Examples
    --------
    >>> wider(np.array([[1.0, 2.0]]), 2, 1)
    array([[1., 0., 0., 2.]])
    """
    shape = list(array.shape)
    shape[axis] = n_more
    before, after = np.split(array, [at], axis=axis)
    return np.concatenate([before, np.full(shape, fill, array.dtype), after], axis=axis)


def per(sums: Array, weights: Array) -> Array:
    """Divide sums by weights; 0 where the weight is 0.

    Examples
    --------
    >>> per(np.array([3.0, 0.0]), np.array([2.0, 0.0]))
    array([1.5, 0. ])
    """
    return np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0)
