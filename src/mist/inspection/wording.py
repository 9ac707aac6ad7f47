"""Numbers as short texts."""

from __future__ import annotations

import math

__all__ = ["count", "nats", "number"]

_DIGITS = 3
"""Significant digits of a number that is small compared with the spread of its column."""

_MOST_PLACES = 9


def count(value: float) -> str:
    """Format a weight of rows, with a fraction only if it has one.

    Examples
    --------
    >>> count(12000.0), count(4.25), count(0.0004)
    ('12,000', '4.2', '0.0004')
    """
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 1 else f"{value:.1g}"


def nats(evidence: float) -> str:
    """Format evidence with its sign.

    Examples
    --------
    >>> nats(1.234), nats(-1.0), nats(-0.001)
    ('+1.23', '-1.00', '+0.00')
    """
    return f"{round(evidence, 2) + 0.0:+.2f}"


def number(value: float, spread: float) -> str:
    """Format a value with enough digits to distinguish it from other values of its column.

    Parameters
    ----------
    value : float
        The value.
    spread : float
        Standard deviation of the column, 0 if unknown.

    Examples
    --------
    >>> number(1013.24987, 0.05), number(2451545.31, 800.0), number(0.31234, 800.0)
    ('1013.2499', '2451545', '0.312')
    """
    if not math.isfinite(value) or value == 0.0 or not 0.0 < spread < math.inf:
        return f"{value:.6g}"
    places = max(2 - math.floor(math.log10(spread)), 0)
    places = max(places, _DIGITS - 1 - math.floor(math.log10(abs(value))))
    if places > _MOST_PLACES or abs(value) >= 10.0**_MOST_PLACES:
        return f"{value:.6g}"
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
