"""What streams that never end hand over: records as they come, and a sign when none come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Condition, Thread
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mist.io.bounds import MOST_CELLS, check_width
from mist.io.jsonl import gather
from mist.io.source import Cells

__all__ = ["PAUSE", "Ahead", "LiveSource", "Records", "make_records", "records_of_few_cells"]

PAUSE = 0.5
"""Seconds without a record after which a live source says so."""

_Item = TypeVar("_Item")


class Records(NamedTuple):
    """Some records of a live source, column by column.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Row numbers for messages: the line for text, else counted from 1.
    columns : dict
        For each column that one of the records has its n cells.
    """

    rows: NDArray[np.int64]
    columns: dict[str, Cells]


class LiveSource:
    """A stream of records that is read once."""

    name: str
    """What it is called."""

    @property
    def fixed(self) -> Sequence[str] | None:
        """The columns of all records, known once there are some; None if they come and go."""
        return None

    def batches(self, size: int, limit: int | None = None) -> Iterator[Records]:
        """Yield records as soon as there are any, at most `size` at a time and `limit` in all.

        While none come, records without rows are yielded every `PAUSE` seconds, so that whoever
        reads can look after other things.
        """
        raise NotImplementedError

    def position(self) -> Any:
        """Where the stream can be taken up again, as plain values; None if nowhere."""
        return None

    def resume(self, position: Any) -> None:
        """Begin at a position that an earlier run told; called before the first batch."""

    def acknowledge(self, position: Any) -> None:
        """All up to a position has been learnt and need not come again."""

    def close(self) -> None:
        """Let go of what is open."""


def make_records(rows: Sequence[int], records: Sequence[Mapping[str, Any]]) -> Records:
    """Turn objects into records.

    Parameters
    ----------
    rows : sequence of int
        Their row numbers.
    records : sequence of mapping
        Plain values by column.

    Returns
    -------
    Records
        Columns in the order in which they appear, row after row.

    Examples
    --------
    >>> make_records([1, 2], [{"a": 1}, {"b": "x", "a": 2}]).columns
    {'a': array([1, 2]), 'b': ['', 'x']}
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = dict(zip(names, gather(records, names), strict=True))
    return Records(np.array(rows, dtype=np.int64), columns)


def records_of_few_cells(
    rows: Sequence[int], records: Sequence[Mapping[str, Any]]
) -> Iterator[Records]:
    """Turn objects into records, in parts if they have too many different keys for one.

    Parameters
    ----------
    rows : sequence of int
        Their row numbers.
    records : sequence of mapping
        Plain values by column.

    Yields
    ------
    Records
        All of them; of no records one without rows.

    Raises
    ------
    TableError
        If there are more keys than a table may have columns.
    """
    begin, names = 0, set[str]()
    for end, record in enumerate(records):
        check_width(len(record), f"row {rows[end]}")
        names.update(record)
        if (end + 1 - begin) * len(names) > MOST_CELLS and end > begin:
            yield make_records(rows[begin:end], records[begin:end])
            begin, names = end, set(record)
    yield make_records(rows[begin:], records[begin:])


class Ahead(Generic[_Item]):
    """Reads ahead in a thread of its own, so that waiting for the next item can be cut short.

    Parameters
    ----------
    items : iterable
        What is read; it may block.
    most : int
        What the items that are kept may weigh; then reading waits.
    weigh : callable
        Weight of an item, asked for right after it was read.

    Examples
    --------
    >>> ahead = Ahead(range(3), most=10)
    >>> taken = []
    >>> while (some := ahead.take(2)) is not None:
    ...     taken += some
    >>> taken
    [0, 1, 2]
    """

    def __init__(
        self, items: Iterable[_Item], most: int, weigh: Callable[[_Item], int] = lambda item: 1
    ) -> None:
        self._ready: list[tuple[_Item, int]] = []
        self._most = most
        self._weigh = weigh
        self._held = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = Condition()
        # A daemon: a read that blocks must not keep the process from ending.
        Thread(target=self._fill, args=(items,), daemon=True).start()

    def take(self, most: int, patience: float = PAUSE) -> list[_Item] | None:
        """Take what is there, waiting for the first item only.

        Parameters
        ----------
        most : int
            Items to take at most.
        patience : float
            Seconds to wait for the first.

        Returns
        -------
        list or None
            The items, none if none came in time; None once there will be no more.

        Raises
        ------
        Exception
            What reading raised, after all items before it were taken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended, patience)
            if not self._ready and self._ended:
                if self._error is not None:
                    raise self._error
                return None
            taken = self._ready[:most]
            del self._ready[:most]
            self._held -= sum(weight for _, weight in taken)
            self._changed.notify()
        return [item for item, _ in taken]

    def _fill(self, items: Iterable[_Item]) -> None:
        try:
            for item in items:
                weight = self._weigh(item)
                with self._changed:
                    self._changed.wait_for(lambda: self._held < self._most)
                    self._ready.append((item, weight))
                    self._held += weight
                    if len(self._ready) == 1:
                        self._changed.notify()
        except Exception as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify()
