"""Whether two classifiers can be merged, and the class codes of one in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mist.fitted import FittedTree
from mist.rows import Array

if TYPE_CHECKING:
    from mist.labels import Labels

__all__ = ["check_alike", "check_partner", "codes_in"]


def check_partner(model: Any, other: Any) -> None:
    """Refuse to merge a model with one of another kind, or with itself.

    Raises
    ------
    TypeError
        If the kinds differ.
    ValueError
        If both are one.
    """
    if type(model) is not type(other):
        raise TypeError(
            f"a {type(model).__name__} is merged with a model of its kind, "
            f"not with a {type(other).__name__}"
        )
    if model is other:
        raise ValueError("a model is merged with another one, not with itself")


def check_alike(model: FittedTree, other: FittedTree) -> None:
    """Refuse to merge trees that differ in what they keep, or that hold the same rows.

    Parameters
    ----------
    model, other : MistClassifier
        Both know their columns.

    Raises
    ------
    ValueError
        Names the option or the column in which they differ.
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
            "column in one and numeric in the other"
        )
    copies = model._splits[:1] == other._splits[:1] != []
    if copies and model._state.began is None and other._state.began is None:
        raise ValueError(
            "both models made their first split at the same row, so they are copies of one model, "
            "and what that had learnt would count twice; let forks of it learn (fork), and merge "
            "those"
        )


def codes_in(labels: Labels, others: Labels) -> Array:
    """Take in the labels of another model; returns the code here of every code there.

    Raises
    ------
    ValueError
        If text and numbers would mix; then nothing is taken in.
    """
    learnt = labels.plain(others.codes)
    declared = labels.plain(others.declared)
    labels.add(learnt, declared)
    return labels.encode(learnt)


def _categorical(model: FittedTree) -> Array:
    columns: Array = model._order[model._state.options.n_numeric :]
    return columns
