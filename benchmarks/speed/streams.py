"""Generated streams of Gaussian classes: two classes a task, or all of them at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """What a stream is generated from."""

    columns: int
    classes: int
    rows: int
    sigma: float = 1.0  # standard deviation within a class
    number: int = 0  # another one, other means
    together: bool = False  # all classes from the start


class Stream(NamedTuple):
    """Training rows and labels in stream order, then held-out rows and labels of all classes."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


SHAPES = {
    "S1": Shape(54, 6, 20_000, number=1),
    "S2": Shape(50, 10, 20_000, number=2),
    "S3": Shape(10, 50, 50_000, 0.3, number=3),
    "S4": Shape(561, 6, 7_000, number=4),
}


def make(shape, seed=20240, n_test=1000):
    """The stream of a shape, or of a name in `SHAPES`."""
    if isinstance(shape, str):
        shape = SHAPES[shape]
    rng = np.random.default_rng(seed + shape.number)
    means = rng.uniform(0.0, 5.0, size=(shape.classes, shape.columns))
    y = labels(shape, rng)
    X = means[y] + shape.sigma * rng.standard_normal((shape.rows, shape.columns))
    y_test = rng.integers(0, shape.classes, size=n_test)
    noise = shape.sigma * rng.standard_normal((n_test, shape.columns))
    return Stream(X, y, means[y_test] + noise, y_test)


def labels(shape, rng):
    """Labels task by task, the rows of a task shuffled."""
    label = np.arange(shape.rows) % shape.classes
    if shape.together:
        return rng.permutation(label)
    task = np.sort(label) // 2
    return np.concatenate(
        [
            rng.permutation(2 * t + np.arange(np.sum(task == t)) % 2)
            for t in range((shape.classes + 1) // 2)
        ]
    )


@lru_cache(maxsize=1)
def latest(shape):
    """`make`, which a worker asks for again and again."""
    return make(shape)
