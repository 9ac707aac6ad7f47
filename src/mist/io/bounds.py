"""How much of a file is in memory at once, however large it is or says it is."""

from __future__ import annotations

from collections.abc import Sequence

from mist.io.source import TableError

__all__ = [
    "MOST_AT_ONCE",
    "MOST_CELLS",
    "MOST_CHARACTERS",
    "MOST_COLUMNS",
    "MOST_WHOLE",
    "check_width",
    "first_twice",
    "rows_at_once",
]

MOST_CHARACTERS = 2**24
"""Characters of a line, or of a record that takes several lines."""

MOST_AT_ONCE = 2**26
"""Characters after which a batch ends, however few rows it has."""

MOST_CELLS = 2**26
"""Cells of a chunk of more than one row: half a gigabyte as numbers."""

MOST_COLUMNS = 2**20
"""Columns of a table, those made from texts among them."""

MOST_WHOLE = 2**32
"""Bytes of an array that cannot be read in parts."""


def check_width(n_columns: int, name: str) -> None:
    """Refuse a table with more columns than anything could be learnt from.

    Parameters
    ----------
    n_columns : int
        How many it has.
    name : str
        What the file is called.

    Raises
    ------
    TableError
        If there are more than `MOST_COLUMNS`.
    """
    if n_columns > MOST_COLUMNS:
        raise TableError(f"{name} has more than {MOST_COLUMNS:,} columns; write fewer of them")


def rows_at_once(rows: int, n_columns: int) -> int:
    """Return how many rows a chunk may have so that its cells are few enough.

    Parameters
    ----------
    rows : int
        Rows that are wanted.
    n_columns : int
        Columns of the table.

    Returns
    -------
    int
        As many, or fewer of a very wide table; at least 1.

    Examples
    --------
    >>> rows_at_once(10_000, 100), rows_at_once(10_000, 2**20)
    (10000, 64)
    """
    return max(1, min(rows, MOST_CELLS // max(1, n_columns)))


def first_twice(names: Sequence[str]) -> str | None:
    """Return the first name that was there before, None if all differ.

    Parameters
    ----------
    names : sequence of str
        Any names.

    Returns
    -------
    str or None
        The name.

    Examples
    --------
    >>> first_twice(["a", "b", "a"]), first_twice(["a"])
    ('a', None)
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
