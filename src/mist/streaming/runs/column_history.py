"""How far each column separates the classes of a stream, from sums over its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Outlier"]

MOST_CELLS = 1 << 21
"""Most pairs of a class and a column; above it the separation is not computed."""

FAR = 6.0
"""Standard deviations from the mean at which a value is an outlier. Of normal values one in 500
million is."""

_ENOUGH_VALUES = 100
_MOST_OUTLIERS = 10

Array = NDArray[np.float64]


class Outlier(NamedTuple):
    """A value far from the values of its column in earlier rows.

    Attributes
    ----------
    row, column : int
        Its position.
    distance : float
        Distance from the mean in standard deviations.
    reason : str
        The value, and the values before, in words.
    """

    row: int
    column: int
    distance: float
    reason: str


class Columns:
    """Sums of each column by class.

    Parameters
    ----------
    state : mapping or None
        Result of `state` in an earlier run, to continue it.

    Examples
    --------
    >>> columns = Columns()
    >>> columns.add(np.array([[1.0, 3.0], [1.0, 5.0], [9.0, 4.0]]), np.array([0, 0, 1]))
    >>> share, furthest = columns.separation()
    >>> share, furthest
    (array([1., 0.]), array([1, 0]))
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.names: list[str] = [] if state is None else list(state["names"])
        self._given_up = 0 if state is None else state["given_up"]
        empty = np.zeros(0)
        # Values count from the first one of their column, so that sums of squares keep digits.
        self._origin: Array = empty if state is None else state["origin"]
        self._squares: Array = empty if state is None else state["squares"]
        shape = (-1, len(self._origin)) if len(self._origin) else (0, 0)
        self._sums: Array = (empty if state is None else state["sums"]).reshape(shape)
        self._weights: Array = (empty if state is None else state["weights"]).reshape(shape)

    def add(self, X: NDArray[np.float64] | Mapping[str, Any], codes: NDArray[np.int64]) -> None:
        """Add the next rows and their class codes; a column that is absent is missing."""
        if self._given_up or not len(codes):
            return
        rows = self._as_table(X, len(codes)) if isinstance(X, Mapping) else X
        n_classes = max(int(codes.max()) + 1, len(self._sums))
        if n_classes * rows.shape[1] > MOST_CELLS:
            self._give_up()
            return
        self._reach(n_classes, rows.shape[1])
        known = ~np.isnan(rows)
        fresh = np.isnan(self._origin) & known.any(axis=0)
        if fresh.any():
            first = known.argmax(axis=0)
            self._origin = np.where(fresh, rows[first, np.arange(len(first))], self._origin)
        order = np.argsort(codes, kind="stable")
        found, starts = np.unique(codes[order], return_index=True)
        values = rows[order] - self._origin
        if known.all():
            self._weights[found] += np.diff([*starts, len(codes)])[:, None]
        else:
            known = known[order]
            values[~known] = 0.0
            self._weights[found] += np.add.reduceat(known.astype(np.float64), starts, axis=0)
        self._sums[found] += np.add.reduceat(values, starts, axis=0)
        self._squares += np.einsum("ij,ij->j", values, values)

    @property
    def n_classes(self) -> int:
        """Number of classes that the sums reach to."""
        return len(self._sums)

    def separation(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the share of variance between classes, and the class furthest from the mean.

        Returns
        -------
        share : ndarray of float64, shape (d,)
            Between 0 and 1; NaN for a constant column.
        furthest : ndarray of int64, shape (d,)
            Class codes.
        """
        if not len(self._sums):
            return np.zeros(0), np.zeros(0, dtype=np.int64)
        weight = self._weights.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = self._sums / self._weights
            mean = self._sums.sum(axis=0) / weight
            between = np.nansum(self._weights * (means - mean) ** 2, axis=0)
            total = self._squares - weight * mean**2
            # Below it the variance is rounding.
            varies = total > 1e-12 * self._squares
            share = np.where(varies, np.clip(between / total, 0.0, 1.0), np.nan)
        distance = np.where(self._weights > 0, np.abs(means - mean), -1.0)
        return share, distance.argmax(axis=0)

    def outliers(
        self, X: NDArray[np.float64] | Mapping[str, Any], names: Sequence[str]
    ) -> list[Outlier]:
        """Return the most extreme values of rows that were not added yet, one per column.

        The mean and the standard deviation are those of all rows added, and of the row.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d), or mapping of names to columns
            The rows.
        names : sequence of str
            Names of the columns; not used if ``X`` has them.

        Returns
        -------
        list of Outlier
            At most 10, the furthest first.
        """
        d = len(self._origin)
        n = self._weights.sum(axis=0)
        if not (n >= _ENOUGH_VALUES).any():
            return []
        if isinstance(X, Mapping):
            n_rows = len(next(iter(X.values())))
            X, names = self._as_table(X, n_rows), self.names
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self._sums.sum(axis=0) / n
            variance = np.maximum(self._squares / n - mean**2, 0.0)
            gap = np.abs(X[:, :d] - self._origin - mean)
            # With the row itself the variance is above 0, also in a column that was constant.
            spread = np.sqrt((n * variance + gap**2 * n / (n + 1)) / (n + 1))
            distance = gap * (n / (n + 1)) / spread
        distance[:, n < _ENOUGH_VALUES] = np.nan
        distance = np.nan_to_num(distance, nan=-1.0)
        rows = distance.argmax(axis=0)
        furthest = distance[rows, np.arange(d)]
        found = np.argsort(-furthest, kind="stable")[:_MOST_OUTLIERS]
        return [
            Outlier(
                int(rows[j]),
                j,
                float(furthest[j]),
                f"{names[j]} = {X[rows[j], j]:.6g}, {furthest[j]:,.0f} SD from the mean "
                f"{self._origin[j] + mean[j]:.4g}",
            )
            for j in found.tolist()
            if furthest[j] >= FAR
        ]

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "names": list(self.names),
            "given_up": self._given_up,
            "origin": self._origin,
            "squares": self._squares,
            "sums": self._sums.ravel(),
            "weights": self._weights.ravel(),
        }

    def _give_up(self) -> None:
        self._given_up = 1
        self._origin = self._squares = np.zeros(0)
        self._sums = self._weights = np.zeros((0, 0))

    def _as_table(self, X: Mapping[str, Any], n_rows: int) -> Array:
        self.names += [name for name in X if name not in set(self.names)]
        table = np.full((n_rows, len(self.names)), np.nan)
        for j, name in enumerate(self.names):
            if name in X:
                table[:, j] = X[name]
        return table

    def _reach(self, n_classes: int, n_columns: int) -> None:
        lines, columns = n_classes - len(self._sums), n_columns - len(self._origin)
        if columns:
            self._origin = np.concatenate([self._origin, np.full(columns, np.nan)])
            self._squares = np.concatenate([self._squares, np.zeros(columns)])
        if lines or columns:
            self._sums, self._weights = (
                np.pad(each, ((0, lines), (0, columns))) for each in (self._sums, self._weights)
            )
