"""The changes that a model has found in its stream."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

__all__ = ["CLASS_MOVED", "COMMON_SHIFT", "CUT_BACK", "MOST_KEPT", "Change", "agreed"]

CLASS_MOVED = "class moved"
COMMON_SHIFT = "common shift"
CUT_BACK = "cut back"

MOST_KEPT = 1000
"""Changes that a model keeps: the last ones."""


class Change(NamedTuple):
    """One change that a model has found in its stream.

    Attributes
    ----------
    row : int
        Rows that the model had learnt when it found the change.
    kind : {"class moved", "common shift", "cut back"}
        What changed. "cut back": splits that no longer separated the classes were taken back.
    label : object or None
        The class that moved, else None.
    size : float or None
        Length of the common shift, in standard deviations within classes (Mahalanobis); number of
        splits that were taken back; None for a class.
    """

    row: int
    kind: str
    label: Any
    size: float | None


_TOGETHER = 500


def agreed(found: Sequence[Sequence[Change]]) -> list[Change]:
    """Changes of the stream that more than half of several models have found within 500 rows.

    Splits that a tree has taken back are its own affair.

    Parameters
    ----------
    found : sequence of sequence of Change
        The changes of each model, in order of time.

    Returns
    -------
    list of Change
        In order of time, each at the row at which more than half had found it.

    Examples
    --------
    >>> one, other = Change(50, CLASS_MOVED, "a", None), Change(100, CLASS_MOVED, "a", None)
    >>> agreed([[one], [other], []])
    [Change(row=100, kind='class moved', label='a', size=None)]
    """
    every = sorted(
        (
            (change.row, number, change)
            for number, each in enumerate(found)
            for change in each
            if change.kind != CUT_BACK
        ),
        key=lambda entry: entry[:2],
    )
    out: list[Change] = []
    open_groups: dict[Any, tuple[int, dict[int, float | None]]] = {}
    for row, number, change in every:
        key = change.kind, change.label
        first, group = open_groups.get(key, (row, {}))
        if row - first > _TOGETHER:
            first, group = row, {}
        open_groups[key] = first, group
        if number in group:
            continue
        group[number] = change.size
        if len(group) == len(found) // 2 + 1:
            sizes = [size for size in group.values() if size is not None]
            out.append(change._replace(size=median(sizes) if sizes else None))
    return out
