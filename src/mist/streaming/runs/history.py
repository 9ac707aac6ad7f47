"""History of a stream for its report, in bounded memory for any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_ANSWERS", "MOST_POINTS", "Answers", "Cost", "Curve"]

MOST_ANSWERS = 1 << 22
"""Most entries of `Answers`; above it pairs of entries are merged."""

MOST_POINTS = 1 << 14
"""Most points of a `Curve`; above it every other point is dropped."""

_FEWEST_ROWS = 1000
_MOST_COSTS = 512


class Answers:
    """Which predictions were right: for each row, or in a long stream the share for each block.

    Parameters
    ----------
    shares : ndarray or None
        Entries of an earlier run.
    rest : ndarray or None
        Rows of the earlier run that did not fill a block.
    rows_each : int
        Rows per entry.
    most : int
        Most entries to keep.

    Examples
    --------
    >>> answers = Answers(most=4)
    >>> answers.add(np.array([True, True, False, True, False]))
    >>> answers.shares().tolist(), answers.rows_each
    ([1.0, 0.5, 0.0], 2)
    """

    def __init__(
        self,
        shares: NDArray[Any] | None = None,
        rest: NDArray[Any] | None = None,
        rows_each: int = 1,
        most: int = MOST_ANSWERS,
    ) -> None:
        self.rows_each = rows_each
        self._most = most
        # The array has spare capacity; doubling it is cheaper than a list of small arrays.
        self._kept: NDArray[Any] = np.zeros(0, dtype=bool) if shares is None else shares
        self._count = len(self._kept)
        self._rest: NDArray[Any] = np.zeros(0, dtype=bool) if rest is None else rest

    def add(self, correct: NDArray[np.bool_]) -> None:
        """Add the next rows.

        Parameters
        ----------
        correct : ndarray of bool, shape (n,)
            Whether the prediction of each row was right.
        """
        rows: NDArray[Any] = np.concatenate([self._rest, correct])
        whole = len(rows) // self.rows_each * self.rows_each
        self._append(_means(rows[:whole], self.rows_each))
        self._rest = rows[whole:]
        while self._count > self._most:
            self._halve()

    def shares(self) -> NDArray[Any]:
        """Return the entries: bools for single rows, else shares; the last block may be shorter."""
        rest = self._rest.mean(keepdims=True) if len(self._rest) else self._rest
        return np.concatenate([self._kept[: self._count], rest])

    def state(self) -> dict[str, Any]:
        """Return the constructor arguments of a copy."""
        return {
            "shares": self._kept[: self._count].copy(),
            "rest": self._rest,
            "rows_each": self.rows_each,
        }

    def _append(self, entries: NDArray[Any]) -> None:
        needed = self._count + len(entries)
        if needed > len(self._kept):
            room = np.zeros(max(needed, 2 * len(self._kept)), dtype=self._kept.dtype)
            room[: self._count] = self._kept[: self._count]
            self._kept = room
        self._kept[self._count : needed] = entries
        self._count = needed

    def _halve(self) -> None:
        even = self._count // 2 * 2
        odd = np.repeat(self._kept[even : self._count], self.rows_each)
        self._rest = np.concatenate([odd, self._rest])
        self._kept = _means(self._kept[:even], 2)
        self._count = len(self._kept)
        self.rows_each *= 2


class Curve:
    """A number over the course of a stream.

    Parameters
    ----------
    rows, values : ndarray of int64, shape (m,), or None
        Points of an earlier run.
    stride : int
        Least number of rows between two points.
    last : sequence of int
        The newest row and its value, which are kept even within the stride.
    most : int
        Most points to keep.

    Examples
    --------
    >>> curve = Curve(most=2)
    >>> for row in (1, 2, 3, 900, 1100, 1200):
    ...     curve.add(row, 10 * row)
    >>> curve.points()
    (array([   1, 1100, 1200]), array([   10, 11000, 12000]))
    """

    def __init__(
        self,
        rows: NDArray[np.int64] | None = None,
        values: NDArray[np.int64] | None = None,
        stride: int = 1,
        last: Sequence[int] = (),
        most: int = MOST_POINTS,
    ) -> None:
        self._rows: list[int] = [] if rows is None else rows.tolist()
        self._values: list[int] = [] if values is None else values.tolist()
        self._stride = stride
        self._last = tuple(last)
        self._most = most

    def add(self, row: int, value: int) -> None:
        """Add the value after ``row`` rows."""
        self._last = (row, value)
        if self._rows and row - self._rows[-1] < self._stride:
            return
        self._rows.append(row)
        self._values.append(value)
        if len(self._rows) > self._most:
            self._rows, self._values = self._rows[::2], self._values[::2]
            self._stride = max(_FEWEST_ROWS, 2 * self._stride)

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return rows and values of the kept points and of the newest."""
        rows, values = list(self._rows), list(self._values)
        if self._last and self._last[0] > rows[-1]:
            rows.append(self._last[0])
            values.append(self._last[1])
        return np.array(rows, dtype=np.int64), np.array(values, dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """Return the constructor arguments of a copy."""
        return {
            "rows": np.array(self._rows, dtype=np.int64),
            "values": np.array(self._values, dtype=np.int64),
            "stride": self._stride,
            "last": self._last,
        }


class Cost:
    """Memory and time of a model over a stream.

    Parameters
    ----------
    state : mapping or None
        Result of `state` in an earlier run, to continue it.

    Examples
    --------
    >>> cost = Cost()
    >>> cost.add(1000, 4096, 0.25)
    >>> [values.tolist() for values in cost.points()]
    [[1000], [4096], [250000]]
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        given = {"nbytes": {}, "microseconds": {}} if state is None else state
        self._nbytes = Curve(**given["nbytes"], most=_MOST_COSTS)
        self._microseconds = Curve(**given["microseconds"], most=_MOST_COSTS)

    def add(self, row: int, nbytes: int, seconds: float) -> None:
        """Add the size of the model and the time spent so far, after ``row`` rows."""
        self._nbytes.add(row, nbytes)
        self._microseconds.add(row, round(1e6 * seconds))

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return rows, bytes and microseconds."""
        rows, nbytes = self._nbytes.points()
        return rows, nbytes, self._microseconds.points()[1]

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {"nbytes": self._nbytes.state(), "microseconds": self._microseconds.state()}


def _means(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the means of blocks; the rows themselves if the block size is 1."""
    return rows if size == 1 else rows.reshape(-1, size).mean(axis=1, dtype=np.float32)
