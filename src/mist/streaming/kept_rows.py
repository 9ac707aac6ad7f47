"""`KeptRows`: a bounded buffer of rows that wait for their labels."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Kept", "KeptRows"]

_COUNTS = ("full", "old", "replaced")
_PER_ROW, _PER_CELL = 600, 100
"""Bytes that Python needs for a row and for a cell, roughly."""

_PIECE = 200
"""Rows that one call writes as JSON; it lets no other thread run."""


class Kept(NamedTuple):
    """A row that waits for its label.

    Attributes
    ----------
    row : dict
        Values by column name.
    shares : list
        Pairs of a label and its probability, as predicted when the row came.
    time : float
        Seconds since 1970 when the row came.
    """

    row: dict[str, Any]
    shares: list[Any]
    time: float


class KeptRows:
    """Rows by id, the oldest first; the oldest are dropped above a number or an age.

    Parameters
    ----------
    most : int, default=100_000
        Most rows to keep.
    seconds : float or None, default=None
        Greatest age of a row in seconds; None for no limit.
    state : mapping or None, default=None
        Result of `state` earlier, to continue from it.
    most_bytes : int, default=2**29
        Most bytes that the rows take, roughly.

    Attributes
    ----------
    dropped : dict of str to int
        Rows that were dropped, by reason: ``"full"``, ``"old"``, and ``"replaced"`` by another row
        with the same id.

    Notes
    -----
    The caller gives the time, so the same calls always leave the same rows. Its unit may be
    another one than seconds.

    Examples
    --------
    >>> rows = KeptRows(most=2, seconds=60)
    >>> for number in range(3):
    ...     rows.keep(f"row {number}", Kept({"size": number}, [], 10.0 * number))
    >>> [id for id in rows], rows.dropped["full"]
    (['row 1', 'row 2'], 1)
    >>> rows.expire(75.0)
    >>> rows.take("row 1") is None, rows.take("row 2").row
    (True, {'size': 2})
    """

    def __init__(
        self,
        most: int = 100_000,
        seconds: float | None = None,
        state: Mapping[str, Any] | None = None,
        most_bytes: int = 1 << 29,
    ) -> None:
        if most < 1:
            raise ValueError(f"most={most!r}: give a number of rows of at least 1")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds={seconds!r}: give an age above 0, or None")
        self.most = most
        self.seconds = seconds
        self.dropped = dict.fromkeys(_COUNTS, 0)
        # A dict keeps the order of insertion, which is that of time.
        self._rows: dict[str, Kept] = {}
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self._most_bytes = most_bytes
        if state is not None:
            self._restore(state)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, id: object) -> bool:
        return id in self._rows

    def keep(self, id: str, kept: Kept) -> None:
        """Add a row as the newest; the same id again replaces its row."""
        if self.take(id) is not None:
            self.dropped["replaced"] += 1
        self._add(id, kept)
        self.expire(kept.time)

    def _add(self, id: str, kept: Kept) -> None:
        self._rows[id] = kept
        self._sizes[id] = _size_of(kept)
        self._bytes += self._sizes[id]

    def expire(self, now: float) -> None:
        """Drop the oldest rows that are too many or too old at a time."""
        while len(self._rows) > self.most or self._bytes > self._most_bytes:
            self._drop("full")
        while self.seconds is not None and self._rows:
            oldest = next(iter(self._rows.values()))
            if now - oldest.time <= self.seconds:
                break
            self._drop("old")

    def _drop(self, reason: str) -> None:
        self.take(next(iter(self._rows)))
        self.dropped[reason] += 1

    def get(self, id: str) -> Kept | None:
        """Return a row; None if it is not there."""
        return self._rows.get(id)

    def take(self, id: str) -> Kept | None:
        """Remove a row and return it; None if it is not there."""
        self._bytes -= self._sizes.pop(id, 0)
        return self._rows.pop(id, None)

    def copy(self) -> KeptRows:
        """Return a buffer with the same rows."""
        other = copy.copy(self)
        other._rows, other._sizes = dict(self._rows), dict(self._sizes)
        other.dropped = dict(self.dropped)
        return other

    def state(self) -> dict[str, Any]:
        """Return the content as plain values and an array, for `mist.persistence.save`."""
        # One text for all rows: a file of models describes every value, this one is short.
        text = f"[{', '.join(self._pieces())}]"
        return {
            "rows": np.frombuffer(text.encode("ascii"), dtype=np.uint8).copy(),
            "dropped": dict(self.dropped),
        }

    def _pieces(self) -> Iterator[str]:
        """Yield some rows at a time as JSON, so that other threads run in between."""
        rows = iter(self._rows.items())
        while piece := list(islice(rows, _PIECE)):
            yield json.dumps([[id, *kept] for id, kept in piece])[1:-1]

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            rows = json.loads(np.asarray(state["rows"], dtype=np.uint8).tobytes())
            for id, row, shares, time in rows:
                self._add(str(id), Kept(dict(row), list(shares), float(time)))
            self.dropped = {name: int(state["dropped"][name]) for name in _COUNTS}
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise ValueError("the state has no valid rows that wait for labels") from error


def _size_of(kept: Kept) -> int:
    """Bytes of a row in memory, roughly."""
    texts = sum(len(cell) for cell in kept.row.values() if isinstance(cell, str))
    names = sum(map(len, kept.row))
    cells = len(kept.row) + sum(2 + len(part) for part in kept.shares if isinstance(part, list))
    return _PER_ROW + _PER_CELL * cells + texts + names
