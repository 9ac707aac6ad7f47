"""A betting martingale: evidence, valid at every row, that a score is positive on average.

A gambler stakes a fixed part of a capital of 1 on every row. If the score's conditional mean is
never above 0, the expected capital never grows, and by Ville's inequality it ever exceeds 1/delta
with probability at most delta: rows need be neither independent nor alike, and one may look at
every one of them. Four gamblers with stakes from small to large share the money, because the best
stake depends on the unknown mean (Waudby-Smith and Ramdas, JRSS B 86, 2024).
"""

from __future__ import annotations

from mist.engine.compiled import exact

BETS = (0.05, 0.12, 0.3, 0.7)
"""Part of the capital that each gambler stakes on a row."""

LEAST, MOST = 1e-300, 1e300
"""A capital is kept between these."""


@exact
def bet(capital, x):
    """Stake every gambler's part on one row's score.

    A capital is held between `LEAST` and `MOST`, so that however many rows come none overflows
    and none is lost for good. The upper end only takes evidence away; the lower one adds at most
    `LEAST` a row to the expected capital.

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
    """The gamblers' mean capital: evidence that is significant at delta above 1/delta.

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
