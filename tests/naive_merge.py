"""The slow and obvious twin of merging: full matrices, every pair weighed, sketches row by row.

It is written to be read beside `mist.engine.merge` and shares no code with the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from naive import Sketch

Array = np.ndarray


@dataclass
class Component:
    """A Gaussian over the first columns and chances of a 1 in the others."""

    mass: float
    n: float
    mean: Array
    M: Array  # sum of products of deviations, numeric columns only

    def join(self, other: Component) -> Component:
        """Chan's formula for two."""
        a, n = len(self.M), self.n + other.n
        delta = other.mean - self.mean
        M = self.M + other.M + np.outer(delta[:a], delta[:a]) * self.n * other.n / n
        return Component(self.mass + other.mass, n, self.mean + delta * other.n / n, M)

    def length(self, prior: Array, q: float) -> float:
        """Mass times half the log determinant and the entropy of the 0/1 columns."""
        S = (self.M + q * prior) / (self.n + q)
        p = np.clip((self.n * self.mean[len(S) :] + 0.5) / (self.n + 1), 1e-4, 1 - 1e-4)
        entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
        return self.mass * (0.5 * np.linalg.slogdet(S)[1] + entropy)


def whole(parts: list[Component]) -> Component:
    """All components joined into one."""
    first, *others = parts
    for other in others:
        first = first.join(other)
    return first


def reduce(parts: list[Component], most: int) -> list[Component]:
    """Join the pair that loses least until few enough remain."""
    together = whole(parts)
    a, n = len(together.M), together.n
    prior = sum(k.M for k in parts) / n + 0.03 * np.diag(np.diag(together.M)) / n
    q = 0.1 * a

    def loss(i: int, j: int) -> float:
        k, m = parts[i], parts[j]
        return k.join(m).length(prior, q) - k.length(prior, q) - m.length(prior, q)

    while len(parts) > most:
        i, j = min(combinations(range(len(parts)), 2), key=lambda pair: loss(*pair))
        new = parts[i].join(parts[j])
        parts = [new if k == i else part for k, part in enumerate(parts) if k != j]
    return parts


def merge_sketches(one: Sketch, other: Sketch) -> Sketch:
    """The levels of both, the lowest full one compacted until they fit; `one` is changed."""
    while len(one.levels) < len(other.levels):
        one.levels.append([])
    for mine, theirs in zip(one.levels, other.levels, strict=False):
        mine += theirs
    one.compactions += other.compactions
    one.low = [min(pair) for pair in zip(one.low, other.low, strict=True)]
    one.high = [max(pair) for pair in zip(one.high, other.high, strict=True)]
    while sum(map(len, one.levels)) >= sum(one.capacity(h) for h in range(len(one.levels))):
        one.compact()
    return one
