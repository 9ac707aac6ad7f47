"""Standardise the columns of a stream without using later rows."""

import numpy as np
from numpy.typing import NDArray


def standardise(X: NDArray[np.float64], seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale columns by the mean and the standard deviation of the rows seen.

    Parameters
    ----------
    X : ndarray of float64, shape (m, d)
        Rows to scale; NaN stays NaN.
    seen : ndarray of float64, shape (n, d)
        Rows that set the scale, at least one; NaN is left out.

    Returns
    -------
    ndarray of float64, shape (m, d)
        ``(X - mean) / sd``. For a constant column only the mean is subtracted; a column without a
        value in `seen` is unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from mist.evaluation.scaling import standardise
    >>> standardise(np.array([[3.0, 7.0]]), seen=np.array([[0.0, 5.0], [2.0, 5.0]]))
    array([[2., 2.]])
    """
    known = ~np.isnan(seen)
    n = np.maximum(known.sum(axis=0), 1)
    # Deviations from a row of the data have less rounding error than the values themselves.
    origin = _first_known(seen)
    deviation = np.where(known, seen - origin, 0.0)
    mean = deviation.sum(axis=0) / n
    spread = np.sqrt((np.where(known, deviation - mean, 0.0) ** 2).sum(axis=0) / n)
    return (X - origin - mean) / _or_one(spread)


def standardise_as_they_come(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each row by the mean and the standard deviation of the rows up to itself.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        Rows in order of arrival; NaN stays NaN and is left out of the scale.

    Returns
    -------
    ndarray of float64, shape (n, d)
        Row i is ``standardise(X[i : i + 1], X[: i + 1])``. A row is part of its own scale, which
        keeps values below the square root of i + 1. Labels are not used.

    Examples
    --------
    >>> import numpy as np
    >>> from mist.evaluation.scaling import standardise_as_they_come
    >>> standardise_as_they_come(np.array([[3.0], [5.0], [4.0]])).ravel()
    array([0., 1., 0.])
    """
    origin = _first_known(X)
    deviation = X - origin
    known = ~np.isnan(deviation)
    filled = np.where(known, deviation, 0.0)
    n = np.maximum(np.cumsum(known, axis=0), 1)
    mean = np.cumsum(filled, axis=0) / n
    mean_square = np.cumsum(filled * filled, axis=0) / n
    # The origin is one of the values, so the spread is at least the mean over the square root of n
    # and the difference is not lost to rounding.
    spread = np.sqrt(np.maximum(mean_square - mean * mean, 0.0))
    return (deviation - mean) / _or_one(spread)


def _first_known(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first value of each column; 0 if there is none."""
    known = ~np.isnan(X)
    first = X[known.argmax(axis=0), np.arange(X.shape[1])]
    return np.where(known.any(axis=0), first, 0.0)


def _or_one(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviations; 1 if a column does not vary."""
    return np.where(spread > 0, spread, 1.0)
