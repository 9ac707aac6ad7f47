"""`QuantileSketch`: the quantile sketch of the leaves as an object of its own."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np

from mist.cells import as_numbers, cells_of
from mist.classifier import MistClassifier
from mist.engine import kll
from mist.rows import Array
from mist.tables import plain_rows

__all__ = ["QuantileSketch"]

_NEVER = 2**62
"""Grace period of a tree that never attempts a split."""


class QuantileSketch:
    """Quantiles and ranks of a stream of numbers, in bounded memory.

    The columnar KLL sketch that a leaf keeps for each class, for use without a model.

    Parameters
    ----------
    size : int, default=256
        Capacity k of the top level; the error of a rank is about 1.6/k. Raise it for more exact
        answers; memory grows with it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random bits; None means 0. Give sketches that will be merged different seeds,
        so that their errors are independent.

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
            Numbers, or rows of d columns; each column is a separate stream. NaN is missing.
        weight : array-like, shape (n,), float or None
            Weights from 0 to 2**31. Fractional weights are rounded up or down at random, so that
            they are exact on average.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For infinite values, a different number of columns or weights out of range. The sketch
            is then unchanged.
        """
        if np.ndim(values) not in (1, 2):
            raise ValueError(
                f"values have shape {np.shape(values)}: give numbers (n,) or rows (n, d)"
            )
        flat = np.ndim(values) == 1
        given = as_numbers(cells_of(values, "values"), "values") if flat else plain_rows(values)
        X = np.asarray(given, dtype=np.float64)
        if len(X) == 0:
            return self
        X = np.ascontiguousarray(X.reshape(len(X), -1))
        self._tree.partial_fit(X, np.zeros(len(X), dtype=np.int64), sample_weight=weight)
        self._flat = flat
        return self

    def merge(self, other: Self) -> Self:
        """Add the values of another sketch.

        Parameters
        ----------
        other : QuantileSketch
            A sketch with the same size and number of columns; it is not changed.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If `other` is not a sketch.
        ValueError
            If the sketches differ in size or columns, or are the same object.
        """
        if not isinstance(other, QuantileSketch):
            raise TypeError(f"other must be a QuantileSketch, got {type(other).__name__}")
        if other._has_learnt():
            flat = self._flat if self._has_learnt() else other._flat
            self._tree.merge(other._tree)
            self._flat = flat
        return self

    @property
    def n(self) -> Any:
        """Number of values learnt, without missing ones; after rows, of each column.

        With weights it is the sum of the rounded weights, or the rounded sum of the weights once a
        value was missing. Beyond 2**42 it may be less, as a full last level drops half of its
        values.

        Examples
        --------
        >>> QuantileSketch().update([1.0, np.nan, 3.0]).n
        2
        >>> QuantileSketch().update([[1.0, np.nan], [2.0, 3.0]]).n
        array([2, 1])
        """
        if not self._has_learnt():
            return 0
        state = self._state
        counts = np.full(state.n_features, kll.total_weight(state.sketch, 0))
        if state.observed is not None:
            counts = np.round(state.observed.cell[0]).astype(np.int64)
        return int(counts[0]) if self._flat else counts

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._tree.nbytes

    def quantile(self, q: Any) -> Any:
        """Return the values at ranks.

        Parameters
        ----------
        q : float or array-like, shape (m,)
            Ranks from 0 to 1; 0 and 1 give the exact minimum and maximum.

        Returns
        -------
        float or ndarray of float64
            One value per rank: shape (m,), or (m, d) after rows; a single rank drops the first
            axis. NaN if only missing values, or nothing, were learnt.

        Raises
        ------
        ValueError
            If a rank is not from 0 to 1.
        """
        ranks = np.asarray(q, dtype=np.float64)
        bad = ranks[~((ranks >= 0.0) & (ranks <= 1.0))]
        if bad.size:
            raise ValueError(f"q has the rank {float(bad.flat[0])!r}: ranks must be from 0 to 1")
        room = int(self._state.tree.cells.used[0]) + 1 if self._has_learnt() else 0
        return self._of_each(ranks, kll.quantile, np.empty(room), np.empty(room), empty=np.nan)

    def rank(self, values: Any) -> Any:
        """Return the share of the values learnt that are at most as large as given values.

        Parameters
        ----------
        values : float or array-like, shape (m,)
            Numbers; each is looked up in every column.

        Returns
        -------
        float or ndarray of float64
            From 0 to 1, in the shapes of `quantile`; 0 if nothing was learnt.
        """
        return self._of_each(np.asarray(values, dtype=np.float64), kll.rank, empty=0.0)

    def _of_each(
        self, asked: Array, tell: Callable[..., float], *buffers: Array, empty: float
    ) -> Any:
        """Look up each number in each column."""
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

    def __copy__(self) -> Self:
        return deepcopy(self)

    def __repr__(self) -> str:
        size = self._tree.settings()["sketch_size"]
        return f"QuantileSketch(size={size})  # {np.sum(self.n):,} values"
