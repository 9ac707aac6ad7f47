"""The changes that a model has found in its stream."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["CLASS_MOVED", "COMMON_SHIFT", "MOST_KEPT", "Change"]

CLASS_MOVED = "class moved"
COMMON_SHIFT = "common shift"

MOST_KEPT = 1000
"""Changes that a model keeps: the last ones."""


class Change(NamedTuple):
    """One change that a model has found in its stream.

    Attributes
    ----------
    row : int
        Rows that the model had learnt when it found the change.
    kind : {"class moved", "common shift"}
        What changed.
    label : object or None
        The class that moved; None for a common shift.
    size : float or None
        Length of the common shift, in standard deviations within classes (Mahalanobis); None for a
        class.
    """

    row: int
    kind: str
    label: Any
    size: float | None
