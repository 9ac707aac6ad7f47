"""Verdicts of the checks, and their shares and figures as texts."""

from __future__ import annotations

import math

__all__ = ["FAILS", "HOLDS", "NO_GUARANTEE", "interval", "proportion", "round_down", "verdict"]

HOLDS = "holds"
"""No counterexample beyond chance."""

FAILS = "fails"
"""A counterexample to what the paper states."""

NO_GUARANTEE = "no guarantee"
"""Not covered by a theorem, or by one whose premise is not met."""


def verdict(holds: bool) -> str:
    """Return the verdict on a statement.

    Parameters
    ----------
    holds : bool
        Whether no counterexample was found.

    Returns
    -------
    str
        `HOLDS` or `FAILS`.

    Examples
    --------
    >>> verdict(1.5 < 2.0)
    'holds'
    """
    return HOLDS if holds else FAILS


def interval(k: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson of a share.

    Parameters
    ----------
    k, n : int
        Cases counted, and all of them.

    Returns
    -------
    tuple of float
        Its ends.

    Examples
    --------
    >>> low, high = interval(0, 1000)
    >>> low, round(high, 4)
    (0.0, 0.0037)
    """
    from scipy.stats import binomtest

    low, high = binomtest(k, n).proportion_ci(method="exact")
    return float(low), float(high)


def proportion(k: int, n: int) -> str:
    """Write a share with its 95 % interval.

    Parameters
    ----------
    k, n : int
        Cases counted, and all of them.

    Returns
    -------
    str
        Both, with three digits.

    Examples
    --------
    >>> proportion(5, 1000)
    '0.005 (0.002 to 0.012)'
    """
    low, high = interval(k, n)
    return f"{k / n:.3f} ({low:.3f} to {high:.3f})"


def round_down(value: float, digits: int = 4) -> str:
    """Write a figure rounded down, so that a figure below a bound does not seem to reach it.

    Parameters
    ----------
    value : float
        The figure, not negative.
    digits : int, default=4
        Digits after the point.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> round_down(3.99999), round_down(4.0)
    ('3.9999', '4.0000')
    """
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"
