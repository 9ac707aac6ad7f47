"""The memory budget of a tree, ``max_bytes``: what counts, and the refusal of what cannot fit."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from mist.engine.conformity import bytes_for_classes, trim_classes
from mist.engine.giving_back import least_bytes, new_budget
from mist.engine.leafmodel import kind_of
from mist.fitted import FittedTree

__all__ = [
    "check_max_bytes",
    "give_back",
    "keep_budget",
    "least_bytes_of",
    "refuse_candidate_splits",
    "too_small",
]


def check_max_bytes(value: Any) -> None:
    """Refuse a budget that is neither None nor a whole number of bytes.

    Raises
    ------
    ValueError
        Names the value.

    Examples
    --------
    >>> check_max_bytes(2**20)
    >>> check_max_bytes("1 MB")
    Traceback (most recent call last):
    ValueError: max_bytes='1 MB' must be None or a whole number >= 1
    """
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if value is not None and not (whole and int(value) >= 1):
        raise ValueError(f"max_bytes={value!r} must be None or a whole number >= 1")


def refuse_candidate_splits(split_test: Any) -> None:
    """Refuse a budget for trees whose candidate splits are copies of leaves that learn.

    Raises
    ------
    ValueError
        Names the split test and the way out.

    Examples
    --------
    >>> refuse_candidate_splits("gap")
    """
    if getattr(split_test, "rule", split_test) == "eprocess":
        raise ValueError(
            "max_bytes cannot limit split_test='eprocess', whose candidate splits are trees that "
            "learn: use split_test='gap' or 'schedule', or max_bytes=None"
        )


def least_bytes_of(
    tree: FittedTree, n_classes: int, n_columns: int, n_binary: int, *, missing: bool
) -> int:
    """Bytes that a tree has at least: one leaf with one Gaussian a class, and what follows it.

    Parameters
    ----------
    tree : MistClassifier
        A tree that knows its columns.
    n_classes, n_columns : int
        Classes and columns that it is to have.
    n_binary : int
        How many of its new columns are 0/1 columns.
    missing : bool
        Whether a row with a missing value is to be learnt.
    """
    state, follower = tree._state, tree._follower
    new = n_columns - len(tree._order)
    n_numeric = state.options.n_numeric + new - n_binary
    if follower is not None and new:
        follower = deepcopy(follower)
        follower.widen(n_numeric, n_columns)
    least = least_bytes(
        state.options._replace(n_numeric=n_numeric),
        n_columns,
        tree._sketch_size(),
        kind_of(state.model),
        n_classes,
        observed=missing or new > 0 or state.observed is not None,
    )
    beside = 0 if follower is None else follower.nbytes_for(n_classes)
    return least + bytes_for_classes(state, n_classes) + beside


def too_small(max_bytes: int, n_classes: int, n_columns: int, needed: int, what: str) -> ValueError:
    """Return the error for a budget into which the least model does not fit."""
    return ValueError(
        f"max_bytes={max_bytes} is too small for {n_classes} classes in {n_columns} columns: "
        f"{what} with one Gaussian a class at a single leaf takes {needed} bytes; set max_bytes to "
        "that or more, use leaf='gaussian', or fewer columns"
    )


def keep_budget(tree: FittedTree, limit: Callable[[int], int] | None, given: Any, n: int) -> None:
    """Give the state of a tree its budget, a changed one or none.

    Parameters
    ----------
    tree : MistClassifier
        A tree that knows its columns. Nothing is given back yet.
    limit : callable or None
        The most bytes of the tree, given the number of its classes.
    given : object
        What the limit was made of: equal if it is the same.
    n : int
        Classes before the rows to learn.
    """
    state, follower = tree._state, tree._follower
    # A fork holds what is to be merged; the model it is merged into gives back.
    if limit is None or state.began is not None:
        if state.budget is not None:
            state.budget = None
        return
    if state.budget is None or state.budget.given != given:

        def most(n_codes: int) -> int:
            beside = 0 if follower is None else follower.nbytes_for(n_codes)
            return limit(n_codes) - bytes_for_classes(state, n_codes) - beside

        state.budget = new_budget(most, n, given)
        trim_classes(state, len(tree._labels.ranks))
    state.budget.n_codes = n


def give_back(tree: FittedTree) -> None:
    """Let a tree give back what is beyond its budget, if it has one."""
    budget = tree._state.budget
    if budget is not None:
        budget.logs = (tree._splits,)
        budget.make_room(tree._state)
