"""The changes that a model has found during a run, and texts about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mist.adaptation.changes import CLASS_MOVED, MOST_KEPT, Change
from mist.texts import printable

__all__ = ["changes_after", "describe", "in_words"]


def changes_after(model: Any, row: int) -> list[Change]:
    """Return the changes that a model has found after so many rows.

    Parameters
    ----------
    model : object
        Any model; one without ``changes_`` has found none.
    row : int
        Rows that the model had learnt.

    Returns
    -------
    list of Change
        In order of time.

    Examples
    --------
    >>> from mist.baselines import NCM
    >>> changes_after(NCM(), 0)
    []
    """
    # NotFittedError is an AttributeError.
    return [change for change in getattr(model, "changes_", ()) if change.row > row]


def describe(change: Change) -> str:
    """Return one change as a short text.

    Examples
    --------
    >>> describe(Change(50, "class moved", "cat", None)), describe(Change(90, "shift", None, 2.0))
    ('cat moved', 'shift (2)')
    """
    if change.kind == CLASS_MOVED:
        return f"{printable(change.label)} moved"
    return change.kind if change.size is None else f"{change.kind} ({change.size:.2g})"


def in_words(changes: Sequence[Change]) -> str:
    """Return how many classes moved, and how many common shifts there were.

    Examples
    --------
    >>> moved = Change(50, "class moved", "cat", None)
    >>> in_words([moved]), in_words([moved, moved, Change(90, "common shift", None, 2.0)])
    ('1 class moved', '1 class moved, 2 moves in all; 1 common shift')
    """
    labels = [change.label for change in changes if change.kind == CLASS_MOVED]
    n_classes, n_shifts = len(set(labels)), len(changes) - len(labels)
    parts = []
    if labels:
        moves = f", {len(labels):,} moves in all" if len(labels) > n_classes else ""
        parts.append(f"{n_classes:,} class{'es' if n_classes > 1 else ''} moved{moves}")
    if n_shifts:
        parts.append(f"{n_shifts:,} common shift{'s' if n_shifts > 1 else ''}")
    text = "; ".join(parts)
    return f"{text} (the last {MOST_KEPT:,} changes)" if len(changes) >= MOST_KEPT else text
