"""Streams in which known things change, and a model's state next to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from material import arrays
from mist import MistClassifier

CENTRES = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [9.0, 9.0, 0.0]])
OFFSET = np.array([1.2, -1.2, 1.2])


def draw(rng: np.random.Generator, y: Any, centres: np.ndarray = CENTRES) -> np.ndarray:
    return rng.normal(centres[np.asarray(y)], 1.0)


def shuffled(rng: np.random.Generator, labels: list[int], n: int) -> np.ndarray:
    """So many rows of each label, in any order."""
    return rng.permutation(np.repeat(labels, n))


def eventful(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes; then all shift, seen on two of them; then one of the others moves."""
    rng = np.random.default_rng(seed)
    y = [shuffled(rng, [0, 1, 2, 3], 150), shuffled(rng, [2, 3], 80), shuffled(rng, [0, 1], 60)]
    X = [draw(rng, part) for part in y]
    X[1] += OFFSET
    X[2] += OFFSET
    X[2][y[2] == 1] += [0.0, 0.0, 9.0]
    return np.concatenate(X), np.concatenate(y)


def follower_arrays(model: MistClassifier) -> list[np.ndarray]:
    follower = model._follower
    if follower is None:
        return []
    parts: list[Any] = [follower.moved, follower.common]
    if follower.expectation is not None:
        parts.append(follower.expectation.state)
    return list(arrays(tuple(parts)))


def everything(model: MistClassifier) -> tuple[Any, ...]:
    """All that was learnt, comparable bit for bit; classes without rows do not count."""
    follower = model._follower
    rows = None if follower is None else follower.rows
    return (
        [(array.shape, array.tobytes()) for array in arrays(model._state)],
        [(array.shape, array.tobytes()) for array in follower_arrays(model)],
        model.changes_,
        model.split_log_,
        rows,
    )


def recall(model: MistClassifier, X: np.ndarray, y: np.ndarray) -> dict[int, float]:
    predicted = model.predict(X)
    return {int(k): float(np.mean(predicted[y == k] == k)) for k in np.unique(y)}
