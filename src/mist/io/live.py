"""Live sources: streams that are read once and may never end."""

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
"""Seconds without a record after which a live source yields an empty batch."""

_Item = TypeVar("_Item")


class Records(NamedTuple):
    """Some records of a live source, column by column.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Row numbers for messages: line numbers for text, else counted from 1.
    columns : dict
        The n cells of each column that at least one record has.
    """

    rows: NDArray[np.int64]
    columns: dict[str, Cells]


class LiveSource:
    """A stream of records that is read once."""

    name: str
    """Name of the stream, for messages."""

    @property
    def fixed(self) -> Sequence[str] | None:
        """The columns of all records, known after the first record; None if they vary."""
        return None

    def batches(self, size: int, limit: int | None = None) -> Iterator[Records]:
        """Yield records as soon as any arrive, at most `size` at a time and `limit` in all.

        While none arrive, empty records are yielded every `PAUSE` seconds, so that the reader can
        do other things.
        """
        raise NotImplementedError

    def position(self) -> Any:
        """Position from which `resume` can continue, as plain values; None without one."""
        return None

    def resume(self, position: Any) -> None:
        """Begin at the position of an earlier run; called before the first batch."""

    def acknowledge(self, position: Any) -> None:
        """Report that all rows up to a position were learnt and need not be sent again."""

    def close(self) -> None:
        """Close what is open."""


def make_records(rows: Sequence[int], records: Sequence[Mapping[str, Any]]) -> Records:
    """Turn objects into records.

    Parameters
    ----------
    rows : sequence of int
        Row numbers of the objects.
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
    """Turn objects into records, in several parts if they have too many different keys.

    Parameters
    ----------
    rows : sequence of int
        Row numbers of the objects.
    records : sequence of mapping
        Plain values by column.

    Yields
    ------
    Records
        All objects; one part without rows if there are none.

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
    """Reads ahead in its own thread, so that waiting for the next item can time out.

    Parameters
    ----------
    items : iterable
        The items to read; reading may block.
    most : int
        Most total weight of the buffered items; reading waits above it.
    weigh : callable
        Weight of an item, called right after it was read.

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
        # A daemon: a blocked read must not keep the process alive.
        Thread(target=self._fill, args=(items,), daemon=True).start()

    def take(self, most: int, patience: float = PAUSE) -> list[_Item] | None:
        """Take the buffered items; wait only for the first one.

        Parameters
        ----------
        most : int
            Most items to take.
        patience : float
            Seconds to wait for the first item.

        Returns
        -------
        list or None
            The items, empty after a time-out; None at the end.

        Raises
        ------
        Exception
            The error of reading, after all items before it were taken.
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
