"""Texts in plots: size, shortening and length."""

from __future__ import annotations

from typing import Any

from mist.texts import printable

__all__ = ["LINE", "SMALL", "TEXT", "flat", "length", "short"]

# Lengths are in inches, font sizes in points.
LINE = 0.2
"""Height of a line."""

SMALL = 8.5
_LETTERS = 9.5
TEXT: dict[str, Any] = {"fontsize": _LETTERS, "va": "center_baseline"}
"""Text properties of names."""


def flat(title: str) -> str:
    r"""Write a name on one line.

    Parameters
    ----------
    title : str

    Returns
    -------
    str
        The name with single spaces for white space, and other control characters written out.

    Examples
    --------
    >>> flat("two\nlines")
    'two lines'
    """
    return printable(" ".join(title.split()))


def short(name: str, most: int = 40) -> str:
    """Cut the middle out of a name that is too long for a plot.

    Parameters
    ----------
    name : str
    most : int, default=40
        Most characters.

    Returns
    -------
    str
        The name on one line, or its two ends around an ellipsis.

    Examples
    --------
    >>> short("MIST-G"), short("abcdefghij", 5)
    ('MIST-G', 'ab…ij')
    """
    name = flat(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def length(text: str, letters: float = _LETTERS) -> float:
    """Return the length of a text in the font of the drawing.

    Parameters
    ----------
    text : str
        One line.
    letters : float, default=9.5
        Font size in points.

    Returns
    -------
    float
        Length in inches.

    Examples
    --------
    >>> 0 < length("i") < length("mm")
    True
    """
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=letters).get_extents().x1) / 72
