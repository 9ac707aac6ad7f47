"""`RecentWindow`: accuracy, log loss and calibration over the last rows, kept up to date."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["RecentWindow"]

_BINS = 10


class RecentWindow:
    """Figures of the last predictions, each in constant time.

    Parameters
    ----------
    rows : int, default=1000
        Rows in the window.
    state : mapping or None, default=None
        Result of `state` earlier.

    Attributes
    ----------
    count : int
        Rows in the window so far.

    Examples
    --------
    >>> window = RecentWindow(2)
    >>> for hit, confidence in [(True, 0.9), (True, 0.9), (False, 0.9)]:
    ...     window.add(hit, confidence, loss=0.1, novel=False)
    >>> window.accuracy, round(window.calibration_error, 2), round(window.log_loss, 2)
    (0.5, 0.4, 0.1)
    """

    def __init__(self, rows: int = 1000, state: Mapping[str, Any] | None = None) -> None:
        if rows < 1:
            raise ValueError(f"window={rows!r}: give a number of rows of at least 1")
        self.rows = rows
        # hit, confidence, loss, novel: one line for each row, the oldest is overwritten
        self._lines = np.zeros((rows, 4))
        self.count = 0
        self._next = 0
        self._sums = [0.0] * 4
        self._bins = [[0.0, 0.0, 0.0] for _ in range(_BINS)]  # rows, hits, confidence
        if state is not None:
            for line in np.asarray(state["lines"], dtype=np.float64).reshape(-1, 4)[-rows:]:
                self.add(bool(line[0]), float(line[1]), float(line[2]), bool(line[3]))

    def add(self, hit: bool, confidence: float, loss: float, novel: bool) -> None:
        """Add the newest row; the oldest leaves a full window.

        Parameters
        ----------
        hit : bool
            Whether the prediction was right.
        confidence : float
            Probability of the predicted class.
        loss : float
            Negative logarithm of the probability of the true class.
        novel : bool
            Whether the row was novel.
        """
        place = self._next
        if self.count == self.rows:
            self._count(self._lines[place].tolist(), -1.0)
        else:
            self.count += 1
        line = [float(hit), confidence, loss, float(novel)]
        self._lines[place] = line
        self._count(line, 1.0)
        self._next = (place + 1) % self.rows
        if not self._next:
            self._sum_again()

    def _count(self, line: list[float], sign: float) -> None:
        for place, value in enumerate(line):
            self._sums[place] += sign * value
        entry = self._bins[min(_BINS - 1, int(_BINS * line[1]))]
        entry[0] += sign
        entry[1] += sign * line[0]
        entry[2] += sign * line[1]

    def _sum_again(self) -> None:
        """Start the sums again, so that rounding errors do not add up over months."""
        self._sums = [0.0] * 4
        self._bins = [[0.0, 0.0, 0.0] for _ in range(_BINS)]
        for line in self._lines[: self.count].tolist():
            self._count(line, 1.0)

    def _mean(self, place: int) -> float:
        return self._sums[place] / self.count if self.count else math.nan

    @property
    def full(self) -> bool:
        """Whether the window has all its rows."""
        return self.count == self.rows

    @property
    def accuracy(self) -> float:
        """Share of right predictions; NaN without rows."""
        return self._mean(0)

    @property
    def confidence(self) -> float:
        """Mean probability of the predicted class."""
        return self._mean(1)

    @property
    def log_loss(self) -> float:
        """Mean negative logarithm of the probability of the true class, in nats."""
        return self._mean(2)

    @property
    def novel(self) -> float:
        """Share of novel rows."""
        return self._mean(3)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean distance of confidence and accuracy over ten bins."""
        if not self.count:
            return math.nan
        return sum(abs(hits - sure) for _, hits, sure in self._bins) / self.count

    def state(self) -> dict[str, Any]:
        """Return the rows, oldest first, as an array."""
        order = np.arange(self._next - self.count, self._next) % self.rows
        return {"lines": self._lines[order]}
