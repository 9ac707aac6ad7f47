"""The changes that a model has found during a run, and texts about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mist.adaptation.changes import CLASS_MOVED, COMMON_SHIFT, CUT_BACK, MOST_KEPT, Change
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
    >>> describe(Change(90, "cut back", None, 3.0))
    '3 splits cut back'
    """
    if change.kind == CLASS_MOVED:
        return f"{printable(change.label)} moved"
    if change.kind == CUT_BACK and change.size is not None:
        return f"{change.size:.0f} split{'s' if change.size > 1 else ''} cut back"
    return change.kind if change.size is None else f"{change.kind} ({change.size:.2g})"


def in_words(changes: Sequence[Change]) -> str:
    """Return how many classes moved, how many common shifts there were, and splits cut back.

    Examples
    --------
    >>> moved = Change(50, "class moved", "cat", None)
    >>> in_words([moved]), in_words([moved, moved, Change(90, "common shift", None, 2.0)])
    ('1 class moved', '1 class moved, 2 moves in all; 1 common shift')
    >>> in_words([Change(90, "cut back", None, 1.0), Change(95, "cut back", None, 2.0)])
    '3 splits cut back'
    """
    labels = [change.label for change in changes if change.kind == CLASS_MOVED]
    n_classes = len(set(labels))
    n_shifts = sum(change.kind == COMMON_SHIFT for change in changes)
    n_cut = sum(change.size or 0.0 for change in changes if change.kind == CUT_BACK)
    parts = []
    if labels:
        moves = f", {len(labels):,} moves in all" if len(labels) > n_classes else ""
        parts.append(f"{n_classes:,} class{'es' if n_classes > 1 else ''} moved{moves}")
    if n_shifts:
        parts.append(f"{n_shifts:,} common shift{'s' if n_shifts > 1 else ''}")
    if n_cut:
        parts.append(f"{n_cut:,.0f} split{'s' if n_cut > 1 else ''} cut back")
    text = "; ".join(parts)
    return f"{text} (the last {MOST_KEPT:,} changes)" if len(changes) >= MOST_KEPT else text
