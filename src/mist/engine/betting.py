"""A betting martingale: evidence, valid at every row, that a score is positive on average.

A gambler starts with a capital of 1 and stakes a fixed share of it on every row. If the score's
conditional mean is never above 0, the expected capital never grows. By Ville's inequality it then
exceeds 1/delta at any time with probability at most delta. Rows need be neither independent nor
identically distributed, and the capital may be checked after every row. Four gamblers with stakes
from small to large are averaged, because the best stake depends on the unknown mean (Waudby-Smith
and Ramdas, JRSS B 86, 2024).
"""

from __future__ import annotations

from mist.engine.compiled import exact

BETS = (0.05, 0.12, 0.3, 0.7)
"""Share of the capital that each gambler stakes on a row."""

LEAST, MOST = 1e-300, 1e300
"""Bounds of a capital."""


@exact
def bet(capital, x):
    """Stake every gambler's share on one row's score.

    A capital is clipped to [`LEAST`, `MOST`], so that it neither overflows nor becomes 0 for good.
    The upper bound can only take evidence away; the lower one adds at most `LEAST` a row to the
    expected capital.

    Parameters
    ----------
    capital : float64 array, shape (4,)
        One entry for each of `BETS`, ones before the first row; changed in place.
    x : float
        The score, in [-1, 1], of a row before anything learnt from it.

    Examples
    --------
    >>> import numpy as np
    >>> capital = np.ones(4)
    >>> bet(capital, 1.0)
    >>> bet(capital, -0.5)
    >>> capital
    array([1.02375, 1.0528 , 1.105  , 1.105  ])
    """
    for k in range(len(BETS)):
        capital[k] = min(max(capital[k] * (1.0 + BETS[k] * x), LEAST), MOST)


@exact
def wealth(capital):
    """Mean capital of the gamblers; above 1/delta it is significant at level delta.

    Parameters
    ----------
    capital : float64 array, shape (4,)
        As `bet` leaves it.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> wealth(np.array([1.0, 2.0, 3.0, 6.0]))
    3.0
    """
    total = 0.0
    for k in range(len(BETS)):
        total += capital[k]
    return total / len(BETS)
