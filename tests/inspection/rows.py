"""Trees and rows that the tests of inspection look at."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from material import BINARY, EAGER, mixed_rows
from mist import MistClassifier
from naive import NaiveMist
from published import paper_tree

LABELS = np.array(["ash", "beech", "cedar", "date"])


def rows(seed: int, n: int, holes: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three numeric columns and one 0/1 column, and their classes."""
    X, y = mixed_rows(seed, n, holes=holes)
    return X, LABELS[y]


@cache
def grown(leaf: str, **options: Any) -> MistClassifier:
    """A tree of several leaves; nobody may let it learn."""
    settings = {"categorical_features": (BINARY,), **EAGER, **options}
    return paper_tree(leaf, **settings).partial_fit(*rows(1, 400, 0.0))


@cache
def twin(leaf: str) -> NaiveMist:
    """The slow twin of `grown`."""
    slow = NaiveMist(leaf, categorical_features=[BINARY], **EAGER)
    X, y = rows(1, 400, 0.0)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        slow.learn_row(x, label)
    return slow


def tiny(**options: Any) -> MistClassifier:
    """Eight rows of two classes, one split between them."""
    X = [[v, 1.0] for v in (0, 1, 2, 3, 10, 11, 12, 13)]
    return paper_tree(grace_period=8, tie_threshold=9.0, **options).partial_fit(
        X, ["dry"] * 4 + ["soaked"] * 4
    )
