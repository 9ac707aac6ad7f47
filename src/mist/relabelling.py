"""Classes that a user renames, joins or drops after they were learnt."""

from __future__ import annotations

from typing import Any

from mist.adaptation.follower import Follower
from mist.engine.cut_back import renumber
from mist.engine.growth import Split
from mist.engine.relabel import drop_class, join_class, move_code
from mist.engine.state import State
from mist.labels import Labels

__all__ = ["drop", "find_label", "rename"]


def find_label(labels: Labels, label: Any) -> Any:
    """Return a label of a model as a plain value.

    Raises
    ------
    ValueError
        If no row had it and it was not declared.
    """
    (plain,) = labels.plain([label])
    if plain not in labels.codes and plain not in labels.declared:
        known = labels.classes.tolist()
        shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
        raise ValueError(f"no class has the label {label!r}; classes_ holds {shown}")
    return plain


def rename(
    labels: Labels, state: State, follower: Follower | None, log: list[Split], old: Any, new: Any
) -> None:
    """Rename a class, or join it with the class that has the new label.

    Parameters
    ----------
    labels, state, follower, log : Labels, State, Follower or None, list of Split
        Of the model; changed in place.
    old, new : label
        Plain labels; ``old`` is known.
    """
    if old == new:
        return
    if old in labels.declared:
        drop(labels, state, follower, log, old)
        labels.add((), [] if new in labels.codes else [new])
    elif new not in labels.codes:
        labels.rename(old, new)
    else:
        codes = labels.codes[old], labels.codes[new]
        join_class(state, *codes)
        if follower is not None:
            follower.join_class(*codes, state)
        _take_code(labels, state, follower, old)


def drop(
    labels: Labels, state: State, follower: Follower | None, log: list[Split], label: Any
) -> None:
    """Remove a class and all that was learnt of it; parameters as for `rename`."""
    if label in labels.declared:
        labels.undeclare(label)
        return
    number = drop_class(state, labels.codes[label])
    renumber(log, number, state)
    _take_code(labels, state, follower, label)


def _take_code(labels: Labels, state: State, follower: Follower | None, label: Any) -> None:
    """Remove a label whose class is in no leaf; the class with the last code gets its code."""
    last = len(labels.codes) - 1
    code = labels.remove(label)
    if code != last:
        move_code(state, last, code)
    if follower is not None:
        follower.drop_code(code, last)
