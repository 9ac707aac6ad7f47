"""Rows for models under test: classes around centres, values missing, columns of any scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray

WEIGHTS = [[1.0], [0.0, 1.0, 2.5], [1e-9, 0.3, 1.0], [1.0, 7.0, 2.0**20, 2.0**31]]

LARGE = [1.0, 1e-100, 1e100]

_MOST = 110


class Rows(NamedTuple):
    """Rows that may be learnt."""

    X: Array
    y: Array
    weights: Array


class World:
    """Where rows come from; the same seeds give the same rows."""

    def __init__(self, seed: int, columns: int, binary: int, missing: float, scales: bool) -> None:
        rng = np.random.default_rng(seed)
        self.binary = binary  # the first columns hold 0 and 1
        self.missing = missing
        self.scale = rng.choice(LARGE, _MOST) if scales else np.ones(_MOST)
        self.centres = rng.normal(size=(60, _MOST)) * rng.choice([1.0, 4.0, 20.0])
        self.columns = columns
        self.text = bool(rng.integers(2))
        self.classes = int(rng.integers(1, 4))

    def rows(self, seed: int, n: int, weights: list[float], outlying: bool = False) -> Rows:
        """So many rows of the classes there are."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, self.classes, n)
        d = self.columns
        X = self.centres[codes, :d] + np.round(rng.normal(size=(n, d)), int(rng.choice([0, 12])))
        if outlying:
            X[rng.random((n, d)) < 0.2] *= rng.choice([-1e6, 1e-6, 0.0])
        X *= self.scale[:d]
        X[:, : self.binary] = X[:, : self.binary] > 0
        X[rng.random((n, d)) < self.missing] = np.nan
        names = (codes * 37) % 61  # they do not sort as they appear
        return Rows(X, names.astype(str) if self.text else names, rng.choice(weights, n))

    def questions(self, seed: int) -> Array:
        """Rows that may be asked for, the last one without some values."""
        X = self.rows(seed, 3, [1.0]).X
        X[-1, np.random.default_rng(seed).integers(self.columns)] = np.nan
        return X

    def grow(self, n: int) -> None:
        """More columns."""
        self.columns += n
