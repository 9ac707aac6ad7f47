"""Limits on the part of a file that is in memory at a time."""

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
"""Most characters of a line, or of a record of several lines."""

MOST_AT_ONCE = 2**26
"""Characters after which a batch ends, whatever its number of rows."""

MOST_CELLS = 2**26
"""Most cells of a chunk of several rows: half a gigabyte as numbers."""

MOST_COLUMNS = 2**20
"""Most columns of a table, including those made from texts."""

MOST_WHOLE = 2**32
"""Most bytes of an array that cannot be read in parts."""


def check_width(n_columns: int, name: str) -> None:
    """Refuse a table with too many columns.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    name : str
        Name of the file.

    Raises
    ------
    TableError
        If there are more than `MOST_COLUMNS`.
    """
    if n_columns > MOST_COLUMNS:
        raise TableError(f"{name} has more than {MOST_COLUMNS:,} columns; save fewer columns")


def rows_at_once(rows: int, n_columns: int) -> int:
    """Return how many rows a chunk may have so that its cells are few enough.

    Parameters
    ----------
    rows : int
        Rows that the caller wants.
    n_columns : int
        Columns of the table.

    Returns
    -------
    int
        The same, or fewer for a very wide table; at least 1.

    Examples
    --------
    >>> rows_at_once(10_000, 100), rows_at_once(10_000, 2**20)
    (10000, 64)
    """
    return max(1, min(rows, MOST_CELLS // max(1, n_columns)))


def first_twice(names: Sequence[str]) -> str | None:
    """Return the first name that occurs a second time, None if all differ.

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
