"""Checks before two classifiers are merged, and the mapping of their class codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mist.fitted import FittedTree
from mist.rows import Array

if TYPE_CHECKING:
    from mist.labels import Labels

__all__ = ["check_alike", "check_partner", "codes_in"]


def check_partner(model: Any, other: Any) -> None:
    """Refuse to merge a model with one of another type, or with itself.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If both are the same object.
    """
    if type(model) is not type(other):
        raise TypeError(
            f"a {type(model).__name__} can only be merged with a model of the same type, "
            f"got {type(other).__name__}"
        )
    if model is other:
        raise ValueError("a model cannot be merged with itself: give another model")


def check_alike(model: FittedTree, other: FittedTree) -> None:
    """Refuse to merge trees with different options or columns, or with the same rows.

    Parameters
    ----------
    model, other : MistClassifier
        Models that have learnt columns.

    Raises
    ------
    ValueError
        Names the option or the column that differs.
    """
    for name, value in model._options.items():
        if other._options[name] != value:
            raise ValueError(
                f"models to be merged differ in {name}: {value!r} and {other._options[name]!r}; "
                "let both learn with the same options"
            )
    if model.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"models to be merged differ in their columns: {model.n_features_in_} and "
            f"{other.n_features_in_}; let both learn the same columns"
        )
    if model._has_names() and other._has_names():
        for at, (mine, theirs) in enumerate(zip(model._names(), other._names(), strict=True)):
            if mine != theirs:
                raise ValueError(
                    f"models to be merged differ in their columns: column {at} is {mine!r} in one "
                    f"and {theirs!r} in the other; give both the same columns in the same order"
                )
    different = np.setxor1d(_categorical(model), _categorical(other))
    if different.size:
        raise ValueError(
            f"models to be merged differ in categorical_features: column {different[0]} is a 0/1 "
            "column in one and numeric in the other; give both the same categorical_features"
        )
    copies = model._splits[:1] == other._splits[:1] != []
    if copies and model._state.began is None and other._state.began is None:
        raise ValueError(
            "both models made their first split at the same row, so they are copies of one model "
            "and its rows would count twice: learn with forks of it (model.fork()) and merge "
            "those"
        )


def codes_in(labels: Labels, others: Labels) -> Array:
    """Add the labels of another model; returns the code in ``labels`` of each of its codes.

    Raises
    ------
    ValueError
        If text and numbers would mix; no label is then added.
    """
    learnt = labels.plain(others.codes)
    declared = labels.plain(others.declared)
    labels.add(learnt, declared)
    return labels.encode(learnt)


def _categorical(model: FittedTree) -> Array:
    columns: Array = model._order[model._state.options.n_numeric :]
    return columns
