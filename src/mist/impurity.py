"""Purity of the leaves of a tree, from the masses of the classes there."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def gini_impurity(masses: NDArray[np.float64]) -> Any:
    """Return 1 minus the sum of squared class shares.

    Parameters
    ----------
    masses : ndarray of float64, shape (..., K)
        Masses of the classes, not all 0.

    Returns
    -------
    ndarray of float64, shape (...), or float
        From 0, for a single class, to 1 - 1/K.

    Examples
    --------
    >>> print(gini_impurity(np.array([[3.0, 1.0], [0.0, 7.0]])))
    [0.375 0.   ]
    """
    shares = masses / masses.sum(axis=-1, keepdims=True)
    return 1 - (shares * shares).sum(axis=-1)


def weighted_impurity(masses: ArrayLike) -> float:
    """Return the mean Gini impurity of the leaves of a tree, weighted with their masses.

    Computes ``sum_l (m_l / m) G_l``, where leaf l has mass m_l and Gini impurity
    ``G_l = 1 - sum_c (m_lc / m_l)^2``, and m is the mass of all leaves.

    Parameters
    ----------
    masses : array-like of shape (L, K)
        Mass of each class at each leaf.

    Returns
    -------
    float
        From 0, if every leaf has one class, to 1 - 1/K.

    Raises
    ------
    ValueError
        If `masses` is not a matrix, has a negative or non-finite number, or is all 0.

    Examples
    --------
    >>> from mist.evaluation import weighted_impurity
    >>> weighted_impurity([[3.0, 1.0], [0.0, 4.0]])
    0.1875
    """
    matrix = _masses(masses)
    total = matrix.sum(axis=1)
    held = total > 0
    return float(np.average(gini_impurity(matrix[held]), weights=total[held]))


def mean_classes(masses: ArrayLike) -> float:
    """Return the mean number of classes with mass at a leaf of a tree (mean K_local).

    All leaves have the same weight.

    Parameters
    ----------
    masses : array-like of shape (L, K)
        Mass of each class at each leaf.

    Returns
    -------
    float
        At most K.

    Raises
    ------
    ValueError
        If `masses` is not a matrix, has a negative or non-finite number, or is all 0.

    Examples
    --------
    >>> from mist.evaluation import mean_classes
    >>> mean_classes([[3.0, 1.0], [0.0, 4.0]])
    1.5
    """
    return float(np.count_nonzero(_masses(masses), axis=1).mean())


def _masses(masses: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(masses, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(
            "masses must have a row for every leaf and a column for every class, "
            f"got shape {matrix.shape}"
        )
    if not (np.isfinite(matrix) & (matrix >= 0)).all() or not matrix.any():
        raise ValueError("masses must be finite numbers, 0 or more, and not all 0")
    return matrix
