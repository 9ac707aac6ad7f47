"""What is remembered of a stream for its report, in bounded memory however long it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_ANSWERS", "MOST_POINTS", "Answers", "Curve"]

MOST_ANSWERS = 1 << 22
"""Entries of `Answers`; when there are more, each comes to stand for twice as many rows."""

MOST_POINTS = 1 << 14
"""Points of a `Curve`; when there are more, every other one is dropped."""

_FEWEST_ROWS = 1000


class Answers:
    """Which rows were answered right: each for itself, in a long stream the shares of blocks.

    Parameters
    ----------
    shares : ndarray or None
        Entries of an earlier run.
    rest : ndarray or None
        Its rows that did not fill a block.
    rows_each : int
        Rows that one entry stands for.
    most : int
        Entries that are kept at most.

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
        # The array has room for more; doubling it costs less than a list of small ones.
        self._kept: NDArray[Any] = np.zeros(0, dtype=bool) if shares is None else shares
        self._count = len(self._kept)
        self._rest: NDArray[Any] = np.zeros(0, dtype=bool) if rest is None else rest

    def add(self, correct: NDArray[np.bool_]) -> None:
        """Take in whether the next rows were answered right.

        Parameters
        ----------
        correct : ndarray of bool, shape (n,)
            One entry a row.
        """
        rows: NDArray[Any] = np.concatenate([self._rest, correct])
        whole = len(rows) // self.rows_each * self.rows_each
        self._append(_means(rows[:whole], self.rows_each))
        self._rest = rows[whole:]
        while self._count > self._most:
            self._halve()

    def shares(self) -> NDArray[Any]:
        """The entries: bools while each is of one row, then shares; the last may be of fewer."""
        rest = self._rest.mean(keepdims=True) if len(self._rest) else self._rest
        return np.concatenate([self._kept[: self._count], rest])

    def state(self) -> dict[str, Any]:
        """The arguments that make a copy."""
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
    """A number that changes over a stream.

    Parameters
    ----------
    rows, values : ndarray of int64, shape (m,), or None
        Points of an earlier run.
    stride : int
        Rows between two points at least.
    last : sequence of int
        The newest row and its value, which stay even where they are nearer than the stride.
    most : int
        Points that are kept at most.

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
        """Take in the value after so many rows."""
        self._last = (row, value)
        if self._rows and row - self._rows[-1] < self._stride:
            return
        self._rows.append(row)
        self._values.append(value)
        if len(self._rows) > self._most:
            self._rows, self._values = self._rows[::2], self._values[::2]
            self._stride = max(_FEWEST_ROWS, 2 * self._stride)

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and values of the points that were kept, and of the newest."""
        rows, values = list(self._rows), list(self._values)
        if self._last and self._last[0] > rows[-1]:
            rows.append(self._last[0])
            values.append(self._last[1])
        return np.array(rows, dtype=np.int64), np.array(values, dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """The arguments that make a copy."""
        return {
            "rows": np.array(self._rows, dtype=np.int64),
            "values": np.array(self._values, dtype=np.int64),
            "stride": self._stride,
            "last": self._last,
        }


def _means(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Means of blocks; rows as they are if each is a block."""
    return rows if size == 1 else rows.reshape(-1, size).mean(axis=1, dtype=np.float32)
