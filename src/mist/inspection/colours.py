"""Colours of classes: the palette of all plots, lightened as a background for text."""

from __future__ import annotations

from mist.plotting.theme import PALETTE

__all__ = ["ON_TINT", "tint"]

ON_TINT = "#101418"
"""Colour of text on a tint."""

_LIGHT = 0.6
"""Share of white."""


def tint(place: int) -> str:
    """Return the light colour of the class at an index of ``classes_``; colours repeat after 5.

    Examples
    --------
    >>> tint(0), tint(5)
    ('#a1c1f5', '#a1c1f5')
    """
    colour = PALETTE[place % len(PALETTE)]
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * _LIGHT):02x}" for part in parts)
