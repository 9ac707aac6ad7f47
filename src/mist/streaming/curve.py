"""`Curves`: figures over a stream of any length, in a bounded number of points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Curves"]


class Curves:
    """Means of some figures over blocks of rows; pairs of blocks are merged when there are many.

    Parameters
    ----------
    names : sequence of str
        Names of the figures.
    each : int, default=100
        Rows in a block at first.
    most : int, default=240
        Most blocks, an even number.
    state : mapping or None, default=None
        Result of `state` earlier.

    Examples
    --------
    >>> curves = Curves(["accuracy"], each=1, most=4)
    >>> for row in range(5):
    ...     curves.add([float(row)])
    >>> curves.each, curves.points("accuracy")
    (2, [(2, 0.5), (4, 2.5), (5, 4.0)])
    """

    def __init__(
        self,
        names: Sequence[str],
        each: int = 100,
        most: int = 240,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self._names = list(names)
        self.each = each
        self._most = most
        self._blocks: list[list[float]] = []
        self._open = [0.0] * len(names)
        self._count = 0
        if state is not None and list(state["names"]) == self._names:
            self.each = int(state["each"])
            self._blocks = [[float(v) for v in block] for block in state["blocks"]]
            self._open = [float(v) for v in state["open"]]
            self._count = int(state["count"])

    def add(self, values: Sequence[float]) -> None:
        """Add the figures of one row."""
        for place, value in enumerate(values):
            self._open[place] += value
        self._count += 1
        if self._count < self.each:
            return
        self._blocks.append([total / self._count for total in self._open])
        self._open = [0.0] * len(self._names)
        self._count = 0
        if len(self._blocks) >= self._most:
            pairs = zip(self._blocks[::2], self._blocks[1::2], strict=True)
            self._blocks = [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in pairs]
            self.each *= 2

    def points(self, name: str) -> list[tuple[int, float]]:
        """Return the last row of each block and the mean of a figure; the newest may be short."""
        place = self._names.index(name)
        points = [(self.each * (i + 1), block[place]) for i, block in enumerate(self._blocks)]
        if self._count:
            last = self.each * len(self._blocks) + self._count
            points.append((last, self._open[place] / self._count))
        return [(row, value) for row, value in points if math.isfinite(value)]

    def state(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "names": list(self._names),
            "each": self.each,
            "blocks": [list(block) for block in self._blocks],
            "open": list(self._open),
            "count": self._count,
        }
