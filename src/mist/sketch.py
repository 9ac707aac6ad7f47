"""`QuantileSketch`: the quantile sketch of the leaves, by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mist.classifier import MistClassifier
from mist.engine import kll
from mist.rows import Array

__all__ = ["QuantileSketch"]

_NEVER = 2**62
"""Grace period of a tree that is not examined."""


class QuantileSketch:
    """Quantiles and ranks of a stream of numbers, in bounded memory.

    The columnar KLL sketch that the leaves of a tree keep for each class, for use beside a model.

    Parameters
    ----------
    size : int, default=256
        Capacity k of the top level; the error of a rank is about 1.6/k.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random bits; None stands for 0. Sketches that are to be merged are better
        made with different seeds: then their errors are independent.

    Raises
    ------
    ValueError
        At the first update, if an option is out of range.

    References
    ----------
    Karnin, Lang and Liberty, "Optimal quantile approximation in streams", 2016.

    Examples
    --------
    >>> sketch = QuantileSketch().update(np.arange(101.0))
    >>> sketch.quantile(0.5)
    50.0
    >>> sketch.rank([-1.0, 50.0, 100.0]).round(3)
    array([0.   , 0.505, 1.   ])
    >>> sketch.merge(QuantileSketch(random_state=1).update(np.arange(200.0, 301.0))).n
    202
    """

    def __init__(self, size: int = 256, *, random_state: Any = None) -> None:
        self._tree = MistClassifier.paper(
            "G", sketch_size=size, max_leaves=1, grace_period=_NEVER, random_state=random_state
        )
        self._flat = True

    def update(self, values: Any, weight: Any = None) -> Self:
        """Learn values.

        Parameters
        ----------
        values : array-like, shape (n,) or (n, d)
            Numbers, or rows of d columns, each of which is a stream of its own; NaN is missing.
        weight : array-like, shape (n,), float or None
            Weights from 0 to 2**31; those that are no whole numbers are rounded at random, so that
            they are kept on average.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values, another number of columns or weights out of range; then nothing is
            learnt.
        """
        X = np.asarray(values, dtype=np.float64)
        if X.ndim not in (1, 2):
            raise ValueError(f"values have shape {X.shape}: give numbers (n,) or rows (n, d)")
        flat = X.ndim == 1
        if len(X) == 0:
            return self
        X = np.ascontiguousarray(X.reshape(len(X), -1))
        self._tree.partial_fit(X, np.zeros(len(X), dtype=np.int64), sample_weight=weight)
        self._flat = flat
        return self

    def merge(self, other: Self) -> Self:
        """Learn what another sketch has learnt.

        Parameters
        ----------
        other : QuantileSketch
            Of the same size and as many columns; it is not changed.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the other is no sketch.
        ValueError
            If the sketches differ in size or columns, or are one; then nothing is changed.
        """
        if not isinstance(other, QuantileSketch):
            raise TypeError(f"a sketch is merged with a sketch, not with a {type(other).__name__}")
        if other._has_learnt():
            flat = self._flat if self._has_learnt() else other._flat
            self._tree.merge(other._tree)
            self._flat = flat
        return self

    @property
    def n(self) -> int:
        """Values learnt, missing ones included; with weights, their sum as rounded.

        Beyond 2**42 it may be less: half of what stands on the last level is forgotten.
        """
        return int(kll.total_weight(self._state.sketch, 0)) if self._has_learnt() else 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._tree.nbytes

    def quantile(self, q: Any) -> Any:
        """Values at ranks.

        Parameters
        ----------
        q : float or array-like, shape (m,)
            Ranks from 0 to 1; the ends are exact.

        Returns
        -------
        float or ndarray of float64
            One for each rank, of shape (m,), or (m, d) after rows; for a single rank without the
            first axis. NaN if nothing, or nothing but missing values, was learnt.

        Raises
        ------
        ValueError
            If a rank is not from 0 to 1.
        """
        ranks = np.asarray(q, dtype=np.float64)
        bad = ranks[~((ranks >= 0.0) & (ranks <= 1.0))]
        if bad.size:
            raise ValueError(f"q holds {float(bad.flat[0])!r}: ranks go from 0 to 1")
        room = int(self._state.tree.cells.used[0]) + 1 if self._has_learnt() else 0
        return self._of_each(ranks, kll.quantile, np.empty(room), np.empty(room), empty=np.nan)

    def rank(self, values: Any) -> Any:
        """Share of the values learnt that are at most so large.

        Parameters
        ----------
        values : float or array-like, shape (m,)
            Numbers; with several columns each is looked up in all of them.

        Returns
        -------
        float or ndarray of float64
            From 0 to 1, in shapes as of `quantile`; 0 if nothing was learnt.
        """
        return self._of_each(np.asarray(values, dtype=np.float64), kll.rank, empty=0.0)

    def _of_each(
        self, asked: Array, tell: Callable[..., float], *buffers: Array, empty: float
    ) -> Any:
        """What is told of each number in each column."""
        state = self._state if self._has_learnt() else None
        out = np.full((asked.size, 1 if state is None else state.n_features), empty)
        if state is not None:
            for i, number in enumerate(asked.ravel()):
                for j in range(state.n_features):
                    out[i, j] = tell(state.tree.cells, state.sketch, 0, j, number, *buffers)
        out = out[:, 0] if self._flat else out
        if asked.ndim == 0:
            return float(out[0]) if out.ndim == 1 else out[0]
        return out

    def _has_learnt(self) -> bool:
        return self._tree.__sklearn_is_fitted__()

    @property
    def _state(self) -> Any:
        return self._tree._state

    def __repr__(self) -> str:
        return f"QuantileSketch(size={self._tree.sketch_size})  # {self.n:,} values"
