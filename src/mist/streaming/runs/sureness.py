"""How sure a model was of its predictions, and the rows to look at, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mist.evaluation.stream_record import NotableRow, Reliability
from mist.streaming.runs.column_history import Outlier

__all__ = ["MOST_ROWS", "NotedRows", "Sureness"]

MOST_ROWS = 10
"""Most rows of each kind that are kept."""

FIRST_ROWS = 100
"""Rows at the start of a stream, of which a model can know little: none of them is noted."""

_BINS = 15

Array = NDArray[np.float64]


class _Noted(NamedTuple):
    place: Any
    label: Any
    predicted: Any
    chance: float
    key: int
    rank: float
    reason: str


class NotedRows:
    """The rows of highest rank.

    Parameters
    ----------
    state : mapping or None, default=None
        Result of `state` in an earlier run, to continue it.

    Examples
    --------
    >>> noted = NotedRows()
    >>> for line, rank in enumerate([3.0, 9.0, 5.0]):
    ...     noted.add(line, "a", "b", 0.5, rank, key=line % 2)
    >>> [row.place for row in noted.rows()]
    [1, 2]
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self._rows: list[_Noted] = []
        if state is not None:
            columns = [getattr(part, "tolist", lambda part=part: part)() for part in state.values()]
            self._rows = [_Noted(*cells) for cells in zip(*columns, strict=True)]

    @property
    def least(self) -> float:
        """Rank that a row has to exceed."""
        return self._rows[-1].rank if len(self._rows) == MOST_ROWS else -math.inf

    def add(
        self,
        place: Any,
        label: Any,
        predicted: Any,
        chance: float,
        rank: float,
        *,
        key: int = -1,
        reason: str = "",
    ) -> None:
        """Note a row if its rank is high enough, each row and each key >= 0 once."""
        row = _Noted(place, label, predicted, chance, key, rank, reason)
        same = [each for each in self._rows if each.place == place or 0 <= key == each.key]
        if not rank > max([self.least, *(each.rank for each in same)]):
            return
        self._rows = [each for each in self._rows if each not in same]
        self._rows = sorted([*self._rows, row], key=lambda each: -each.rank)[:MOST_ROWS]

    def rows(self) -> list[NotableRow]:
        """Return the rows, the one of highest rank first."""
        return [
            NotableRow(each.place, each.label, each.predicted, each.chance, each.reason)
            for each in self._rows
        ]

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        columns = {name: [getattr(row, name) for row in self._rows] for name in _Noted._fields}
        numbers = {"chance": np.float64, "key": np.int64, "rank": np.float64}
        return columns | {
            name: np.array(columns[name], dtype=dtype) for name, dtype in numbers.items()
        }


class Sureness:
    """How sure a model was of its predictions over a stream, and the rows to look at.

    Parameters
    ----------
    state : mapping or None, default=None
        Result of `state` in an earlier run, to continue it.

    Examples
    --------
    >>> sureness = Sureness()
    >>> sureness.add([1, 2], ["a", "b"], ["a", "a"], np.array([0.9, 0.7]), [], [])
    >>> reliability = sureness.reliability()
    >>> reliability.n_rows, round(reliability.error, 3)
    (2, 0.4)
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        given: Mapping[str, Any] = {} if state is None else state
        self._done = given.get("done", 0)
        self._rows, self._right = (
            given.get(name, np.zeros(_BINS, dtype=np.int64)) for name in ("rows", "right")
        )
        self._sums: Array = given.get("sums", np.zeros(_BINS))
        if {len(self._rows), len(self._right), len(self._sums)} != {_BINS}:
            raise ValueError("the counts of probabilities have the wrong length")
        self._unsure, self._first, self._outliers = (
            NotedRows(given.get(name)) for name in ("unsure", "first", "outliers")
        )

    def add(
        self,
        places: Sequence[Any],
        labels: Sequence[Any],
        predicted: Sequence[Any],
        chances: Array,
        first: Sequence[int],
        outliers: Sequence[Outlier],
    ) -> None:
        """Add the next rows.

        Parameters
        ----------
        places : sequence of n
            Origins of the rows, as error messages name them.
        labels, predicted : sequence of n
            Labels and predictions.
        chances : ndarray of float64, shape (n,)
            Probability of each prediction; NaN where it is not known.
        first : sequence of int
            Which rows are the first ones of a class.
        outliers : sequence of Outlier
            Rows with values far from all before.
        """
        right = np.array([a == b for a, b in zip(labels, predicted, strict=True)], dtype=bool)
        self._count(chances, right)

        def note(noted: NotedRows, row: int, rank: float, **more: Any) -> None:
            if self._done + row >= FIRST_ROWS:
                chance = float(chances[row])
                noted.add(places[row], labels[row], predicted[row], chance, rank, **more)

        doubts = np.where(np.isnan(chances), -math.inf, -chances)
        doubts[: max(0, FIRST_ROWS - self._done)] = -math.inf
        for row in np.argsort(-doubts, kind="stable")[:MOST_ROWS].tolist():
            note(self._unsure, row, float(doubts[row]))
        for row in first:
            note(self._first, row, -float(self._done + row), reason="first row of its class")
        for outlier in outliers:
            more = {"key": outlier.column, "reason": outlier.reason}
            note(self._outliers, outlier.row, outlier.distance, **more)
        self._done += len(right)

    def reliability(self) -> Reliability:
        """Return how often predictions were right, by their probability."""
        return Reliability(self._rows.copy(), self._sums.copy(), self._right.copy())

    def unsure(self) -> list[NotableRow]:
        """Return the rows with the least probable predictions, the least first."""
        return self._unsure.rows()

    def novel(self) -> list[NotableRow]:
        """Return first rows of classes, then rows with values far from all before."""
        return [*self._first.rows(), *self._outliers.rows()]

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "done": self._done,
            "rows": self._rows,
            "sums": self._sums,
            "right": self._right,
            "unsure": self._unsure.state(),
            "first": self._first.state(),
            "outliers": self._outliers.state(),
        }

    def _count(self, chances: Array, right: NDArray[np.bool_]) -> None:
        known = ~np.isnan(chances)
        chances, right = chances[known], right[known]
        bins = np.minimum((chances * _BINS).astype(np.int64), _BINS - 1)
        self._rows = self._rows + np.bincount(bins, minlength=_BINS)
        self._sums = self._sums + np.bincount(bins, chances, minlength=_BINS)
        self._right = self._right + np.bincount(bins[right], minlength=_BINS)
