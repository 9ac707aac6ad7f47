"""What several tests of the classifier share: eager options, mixed rows, the bytes of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mist.engine.state import State

EAGER = {
    "grace_period": 20,
    "split_test": "gain",
    "union_bound": False,
    "delta": 0.5,
    "tie_threshold": 1.0,
}
"""Splits on any gain once 40 rows were seen at a leaf."""

BINARY = 1
"""The 0/1 column of `mixed_rows`."""


def mixed_rows(
    seed: int, n: int = 300, n_classes: int = 4, holes: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three numeric columns and one 0/1 column, some values missing, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    centres = rng.uniform(0, 6, (n_classes, 4))
    X = rng.normal(centres[y], 1.0)
    X[:, BINARY] = rng.random(n) < (y + 1) / (n_classes + 1)
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def by_trees(model: Any, X: Any) -> np.ndarray:
    """Class probabilities by the trees alone: classes equally frequent, and not calibrated."""
    checked, _ = model._rows_to_predict(X)
    if hasattr(model, "trees_"):
        return np.concatenate(list(model._means(checked)))
    return model._predict_proba(checked)


def most_probable(model: Any, X: Any) -> np.ndarray:
    """Labels that a model predicts if it is to take the most probable ones."""
    if not hasattr(model, "decision"):
        return model.predict(X)
    rule = model.decision
    labels = model.set_params(decision="counts").predict(X)
    model.set_params(decision=rule)
    return labels


def arrays(part: Any) -> Iterator[np.ndarray]:
    """All arrays in nested tuples, dicts and states."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        for piece in part:
            yield from arrays(piece)
    elif isinstance(part, dict):
        yield from arrays(tuple(part.values()))
    elif isinstance(part, State):
        yield from arrays(tuple(vars(part).values()))


def state_arrays(model: Any) -> list[np.ndarray]:
    """All arrays that hold what a model has learnt."""
    return list(arrays(model._state))


def fingerprint(model: Any) -> tuple[Any, ...]:
    """Everything a model has learnt, comparable bit for bit."""
    return (
        [(array.shape, array.tobytes()) for array in state_arrays(model)],
        tuple(model._state.options),
        model.classes_.tolist(),
        model.split_log_,
        model.n_features_in_,
        list(getattr(model, "feature_names_in_", [])),
    )
