"""Methods compared by their ranks over several data sets (Demsar, JMLR 7, 2006)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cliques", "critical_difference", "friedman", "rank"]


def rank(scores: ArrayLike) -> NDArray[np.float64]:
    """Rank the methods on every data set.

    Scores are compared as they are: round them first if differences of a few ulp should not
    count.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        The higher the better.

    Returns
    -------
    ndarray of float64, shape (n_datasets, n_methods)
        1 for the best method of a row; ties share the mean of their ranks.

    Raises
    ------
    ValueError
        If `scores` is not such a table, is empty, or has a cell that is not a number.

    Examples
    --------
    >>> rank([[0.9, 0.7, 0.8], [0.5, 0.5, 0.1]])
    array([[1. , 3. , 2. ],
           [1.5, 1.5, 3. ]])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-_read(scores), method="average", axis=1), dtype=np.float64)


def friedman(scores: ArrayLike) -> tuple[float, float]:
    """Test whether all methods are alike, by the statistic of Iman and Davenport.

    With Friedman's statistic corrected for ties, chi2, over N data sets and k methods it is::

        F = (N - 1) chi2 / (N (k - 1) - chi2),

    distributed as F with k - 1 and (k - 1)(N - 1) degrees of freedom if all methods are alike.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        The higher the better; at least 2 rows and 2 columns.

    Returns
    -------
    statistic : float
        F; infinite if all data sets rank the methods alike, 0 if all methods tie everywhere.
    p : float
        Probability of an F at least as large if all methods are alike.

    Raises
    ------
    ValueError
        If `scores` is not such a table, is too small, or has a cell that is not a number.

    References
    ----------
    Iman and Davenport, Approximations of the critical region of the Friedman statistic,
    Communications in Statistics 9, 1980.

    Examples
    --------
    >>> statistic, p = friedman([[0.9, 0.7, 0.8], [0.6, 0.5, 0.1], [0.8, 0.6, 0.7]])
    >>> round(statistic, 3), round(p, 3)
    (7.0, 0.049)
    """
    from scipy.stats import f

    ranks = rank(scores)
    n_datasets, n_methods = ranks.shape
    if n_datasets < 2 or n_methods < 2:
        raise ValueError(
            f"the Friedman test needs at least 2 data sets and 2 methods, "
            f"got {n_datasets} and {n_methods}"
        )
    # Ranks are multiples of a half, so these sums of squares are exact.
    centred = ranks - (n_methods + 1) / 2
    total = n_datasets * float((centred**2).sum())
    between = float((centred.sum(axis=0) ** 2).sum())
    if between == 0:
        return 0.0, 1.0
    within = total - between
    statistic = (n_datasets - 1) * between / within if within > 0 else math.inf
    return statistic, float(f.sf(statistic, n_methods - 1, (n_methods - 1) * (n_datasets - 1)))


def critical_difference(n_methods: int, n_datasets: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks from which on two methods differ (Nemenyi).

    It is ``q sqrt(k (k + 1) / (6 N))`` for k methods on N data sets, with q the upper quantile
    of the studentized range of k means over ``sqrt(2)`` (Demsar 2006, section 3.2.2).

    Parameters
    ----------
    n_methods : int
        At least 2.
    n_datasets : int
        At least 1.
    level : float, default=0.05
        Probability, in (0, 1), that any two of a set of like methods differ by that much.

    Returns
    -------
    float
        In ranks.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    if n_methods < 2 or n_datasets < 1:
        raise ValueError(
            "a critical difference needs at least 2 methods and 1 data set, "
            f"got n_methods={n_methods} and n_datasets={n_datasets}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    quantile = float(studentized_range.ppf(1 - level, n_methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def cliques(mean_ranks: ArrayLike, difference: float) -> list[tuple[int, int]]:
    """Return the largest groups of methods within which no two differ.

    Parameters
    ----------
    mean_ranks : array-like of shape (n_methods,)
        Mean rank of every method, in any order.
    difference : float
        Critical difference: methods differ if their mean ranks are that far apart or more.

    Returns
    -------
    list of tuple of int
        First and last member of each group of two or more, both included, as positions in
        the order of rising mean rank. No group is part of another.

    Raises
    ------
    ValueError
        If `mean_ranks` is not one row of numbers.

    Examples
    --------
    >>> cliques([4.0, 1.0, 1.5, 2.2], difference=1.25)
    [(0, 2)]
    >>> cliques([1.0, 2.0, 3.0], difference=1.5)
    [(0, 1), (1, 2)]
    """
    ranks = np.sort(np.asarray(mean_ranks, dtype=np.float64))
    if ranks.ndim != 1 or np.isnan(ranks).any():
        raise ValueError(f"mean_ranks must be one row of numbers, got {mean_ranks!r}")
    found: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = int(np.flatnonzero(ranks - low < difference)[-1]) if difference > 0 else first
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def _read(scores: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            "scores must be a table of at least one data set (row) and one method (column), "
            f"got an array of shape {table.shape}"
        )
    missing = np.argwhere(np.isnan(table))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"scores of row {row} (data set), column {column} (method) are not a number; "
            "leave out data sets or methods without a result"
        )
    return table
