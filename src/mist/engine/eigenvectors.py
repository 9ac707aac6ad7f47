"""Eigenvectors of a symmetric matrix, in compiled code and without threads.

A linear algebra library would be as quick on large matrices. On small ones it wakes threads that
spin for longer than the work takes, and its last digits depend on the processor.
"""

from __future__ import annotations

import math

from mist.engine.compiled import exact

__all__ = ["MOST_SWEEPS", "eigenvectors", "place_of_rank"]

_EPS = 2.0**-52

MOST_SWEEPS = 60
"""Most steps for one eigenvalue. Few need more than three; matrices with NaN would need no end."""


@exact
def eigenvectors(V, d, e):
    """Replace a symmetric matrix by its eigenvectors.

    Householder reduction to a tridiagonal matrix, then implicit QL steps (tred2 and tql2 of
    EISPACK, by Bowdler, Martin, Reinsch and Wilkinson).

    Parameters
    ----------
    V : float64 array, shape (n, n)
        The matrix; receives the eigenvectors, one a row, in no particular order.
    d : float64 array, shape (n,)
        Receives the eigenvalues. NaN in the matrix gives NaN.
    e : float64 array, shape (n,)
        Scratch array.

    Examples
    --------
    >>> import numpy as np
    >>> V, values = np.array([[2.0, 1.0], [1.0, 2.0]]), np.zeros(2)
    >>> eigenvectors(V, values, np.zeros(2))
    >>> sorted(values.round(9).tolist())
    [1.0, 3.0]
    """
    if len(d) > 0:
        _to_tridiagonal(V, d, e)
        _rotations(V, d, e)
        _to_diagonal(V, d, e)


@exact
def _to_tridiagonal(V, d, e):
    """Reduce the matrix to a tridiagonal one; rows of V keep the reflections."""
    n = len(d)
    for j in range(n):
        d[j] = V[j, n - 1]
    for i in range(n - 1, 0, -1):
        scale, h = 0.0, 0.0
        for k in range(i):
            scale += abs(d[k])
        if scale == 0.0:
            e[i] = d[i - 1]
            for j in range(i):
                d[j] = V[j, i - 1]
                V[j, i] = 0.0
                V[i, j] = 0.0
        else:
            for k in range(i):
                d[k] /= scale
                h += d[k] * d[k]
            f = d[i - 1]
            g = -math.sqrt(h) if f > 0.0 else math.sqrt(h)
            e[i] = scale * g
            h -= f * g
            d[i - 1] = f - g
            for j in range(i):
                e[j] = 0.0
            for j in range(i):
                f = d[j]
                V[i, j] = f
                g = e[j] + V[j, j] * f
                for k in range(j + 1, i):
                    g += V[j, k] * d[k]
                    e[k] += V[j, k] * f
                e[j] = g
            f = 0.0
            for j in range(i):
                e[j] /= h
                f += e[j] * d[j]
            half = f / (h + h)
            for j in range(i):
                e[j] -= half * d[j]
            for j in range(i):
                f, g = d[j], e[j]
                for k in range(j, i):
                    V[j, k] -= f * e[k] + g * d[k]
                d[j] = V[j, i - 1]
                V[j, i] = 0.0
        d[i] = h


@exact
def _rotations(V, d, e):
    """Multiply the reflections."""
    n = len(d)
    for i in range(n - 1):
        V[i, n - 1] = V[i, i]
        V[i, i] = 1.0
        h = d[i + 1]
        if h != 0.0:
            for k in range(i + 1):
                d[k] = V[i + 1, k] / h
            for j in range(i + 1):
                g = 0.0
                for k in range(i + 1):
                    g += V[i + 1, k] * V[j, k]
                for k in range(i + 1):
                    V[j, k] -= g * d[k]
        for k in range(i + 1):
            V[i + 1, k] = 0.0
    for j in range(n):
        d[j] = V[j, n - 1]
        V[j, n - 1] = 0.0
    V[n - 1, n - 1] = 1.0
    for i in range(1, n):
        e[i - 1] = e[i]
    e[n - 1] = 0.0


@exact
def _to_diagonal(V, d, e):
    """Rotate the tridiagonal matrix until it is diagonal."""
    n = len(d)
    shift, largest = 0.0, 0.0
    for low in range(n):
        largest = max(largest, abs(d[low]) + abs(e[low]))
        m = low
        while m < n - 1 and abs(e[m]) > _EPS * largest:
            m += 1
        sweeps = 0
        while m > low and sweeps < MOST_SWEEPS:
            sweeps += 1
            g = d[low]
            p = (d[low + 1] - g) / (2.0 * e[low])
            r = math.hypot(p, 1.0)
            r = -r if p < 0.0 else r
            d[low] = e[low] / (p + r)
            d[low + 1] = e[low] * (p + r)
            after = d[low + 1]
            h = g - d[low]
            for i in range(low + 2, n):
                d[i] -= h
            shift += h
            p = d[m]
            c, c2, c3, s, s2 = 1.0, 1.0, 1.0, 0.0, 0.0
            first = e[low + 1]
            for i in range(m - 1, low - 1, -1):
                c3, c2, s2 = c2, c, s
                g = c * e[i]
                h = c * p
                r = math.hypot(p, e[i])
                e[i + 1] = s * r
                s = e[i] / r
                c = p / r
                p = c * d[i] - s * g
                d[i + 1] = h + s * (c * g + s * d[i])
                for k in range(n):
                    h = V[i + 1, k]
                    V[i + 1, k] = s * V[i, k] + c * h
                    V[i, k] = c * V[i, k] - s * h
            p = -s * s2 * c3 * first * e[low] / after
            e[low] = s * p
            d[low] = c * p
            if not abs(e[low]) > _EPS * largest:
                break
        d[low] += shift
        e[low] = 0.0


@exact
def place_of_rank(values, n, rank):
    """Index of the value that has ``rank`` larger ones among the first n; of equals the first.

    Without such a value, among NaN, it is 0.

    Examples
    --------
    >>> import numpy as np
    >>> [place_of_rank(np.array([1.0, 3.0, 3.0]), 3, rank) for rank in range(3)]
    [1, 2, 0]
    """
    for i in range(n):
        before = 0
        for j in range(n):
            before += values[j] > values[i] or (values[j] == values[i] and j < i)
        if before == rank:
            return i
    return 0
