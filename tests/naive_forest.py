"""A slow and obvious forest: a loop over trees that know nothing of one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mist import MistClassifier
from naive import draw, uniform


def poisson(u: float) -> int:
    """Smallest number whose Poisson(1) distribution function is above u."""
    copies = 0
    while u >= sum(math.exp(-1) / math.factorial(k) for k in range(copies + 1)):
        copies += 1
    return copies


class NaiveForest:
    """Independent trees, taught row by row; the answer is the mean of their probabilities."""

    def __init__(self, tree: Mapping[str, Any], n_trees: int, bootstrap: bool, seed: int) -> None:
        self.seeds = [draw(seed, 5, number, 0, 0) >> 1 for number in range(n_trees)]
        self.trees = [
            MistClassifier.from_settings(**{**tree, "adapt": None}, random_state=seed)
            for seed in self.seeds
        ]
        self.bootstrap = bootstrap
        self.rows = 0
        self.masses: dict[Any, float] = {}

    def learn_row(self, x: Sequence[float], label: Any, weight: float = 1.0) -> None:
        """Teach a row to every tree."""
        if weight == 0.0:
            return
        for seed, tree in zip(self.seeds, self.trees, strict=True):
            copies = poisson(uniform(seed, 6, self.rows, 0, 0)) if self.bootstrap else 1
            tree.partial_fit([x], [label], classes=[label], sample_weight=[weight * copies])
        self.rows += 1
        self.masses[label] = self.masses.get(label, 0.0) + weight

    def answer(self, x: Sequence[float]) -> dict[Any, float]:
        """Probability of every class."""
        votes = []
        for tree in self.trees:
            if tree.__sklearn_is_fitted__():
                row = tree._engine_order(np.array([x], dtype=np.float64))
                shares = tree._predict_proba(row)[0].tolist()
                if all(math.isfinite(share) for share in shares):
                    votes.append(dict(zip(tree.classes_.tolist(), shares, strict=True)))
        if not votes:
            total = sum(self.masses.values())
            return {label: self.masses[label] / total for label in sorted(self.masses)}
        answer = {}
        for label in sorted(self.masses):
            # Not by `sum`, which carries what rounding takes from Python 3.12 on.
            total = 0.0
            for vote in votes:
                total += vote[label]
            answer[label] = total / len(votes)
        return answer
