"""Reading of tables in memory: column names and numbers.

Data frames are recognised by the libraries that are already loaded; none is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from mist.cells import (
    DATE_KINDS,
    NUMBER_KINDS,
    PLAIN_NUMBERS,
    as_numbers,
    cells_of,
    dates_refused,
    number_in,
    refuse_lazy,
    unmasked,
)

Array = np.ndarray[Any, Any]

__all__ = [
    "MOST_DENSE",
    "as_frame",
    "dense",
    "frame_columns",
    "named_columns",
    "numbers",
    "plain_row",
    "plain_rows",
    "read_cells",
    "row_by_name",
]

MOST_DENSE = 2**30
"""Most bytes of a sparse matrix in dense form: 1 GiB."""

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}

_ROWS_AT_ONCE = 1024


def as_frame(X: Any) -> Any:
    """X if it is a data frame of pandas or polars or a table of pyarrow, else None.

    A record batch of pyarrow becomes a table.
    """
    for library, kind in _FRAMES.items():
        if isinstance(X, getattr(sys.modules.get(library), kind, ())):
            return X
    arrow = sys.modules.get("pyarrow")
    if isinstance(X, getattr(arrow, "RecordBatch", ())):
        return arrow.Table.from_batches([X])  # type: ignore[union-attr]
    return None


def frame_columns(X: Any) -> tuple[list[Any], list[Any]]:
    """Names and columns of a data frame, in its order.

    Examples
    --------
    >>> import pandas
    >>> names, columns = frame_columns(pandas.DataFrame({"a": [1, 2], "b": [3.0, 4.0]}))
    >>> names, [column.tolist() for column in columns]
    (['a', 'b'], [[1, 2], [3.0, 4.0]])
    """
    if hasattr(X, "iloc"):
        return list(X.columns), [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.columns), X.get_columns()
    return list(X.column_names), list(X.columns)


def named_columns(X: Any, method: str) -> dict[Any, Any]:
    """Columns of a table by name, for a method that takes them in any order.

    Parameters
    ----------
    X : data frame or mapping
        The table; a mapping gives a column for each name.
    method : str
        What the method does, for the error message.

    Returns
    -------
    dict
        Columns of equal length with at least one row.

    Raises
    ------
    TypeError
        If the columns have no names.
    ValueError
        If a name occurs twice, there are no rows, or the lengths differ.
    """
    if isinstance(X, Mapping):
        table = {name: cells_of(column, name) for name, column in X.items()}
    elif (frame := as_frame(X)) is not None:
        names, columns = frame_columns(frame)
        table = dict(zip(names, columns, strict=True))
        if len(table) < len(names):
            twice = next(name for j, name in enumerate(names) if name in names[:j])
            raise ValueError(f"X has two columns named {twice!r}; give each a name of its own")
    else:
        refuse_lazy(X, "X")
        raise TypeError(
            f"{method} finds columns by name and got {type(X).__name__}: give a data frame or a "
            "mapping of names to columns; methods without '_many' take arrays"
        )
    if not table:
        raise ValueError("X has no columns: give at least one column by name")
    first = next(iter(table))
    for name, column in table.items():
        if len(column) != len(table[first]):
            raise ValueError(
                f"column {name!r} has {len(column)} rows, but column {first!r} has "
                f"{len(table[first])}"
            )
    if len(table[first]) == 0:
        raise ValueError("X has no rows: give at least one")
    return table


def numbers(columns: Sequence[Any], names: Sequence[Any], n_rows: int) -> Array:
    """Columns as a C-ordered float64 array, NaN where a value or a column is missing.

    Parameters
    ----------
    columns : sequence of columns or None
        None for a column that is absent.
    names : sequence
        Their names.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> numbers([[1, None], None, [True, False]], ["a", "b", "c"], 2)
    array([[ 1., nan,  1.],
           [nan, nan,  0.]])
    """
    out = np.full((n_rows, len(names)), np.nan)
    there = [
        (j, as_numbers(cells_of(column, name), name))
        for j, (column, name) in enumerate(zip(columns, names, strict=True))
        if column is not None
    ]
    # Write some rows at a time, so that they stay in the cache of the processor.
    for rows in gen_batches(n_rows, _ROWS_AT_ONCE):
        for j, values in there:
            out[rows, j] = values[rows]
    return out


def dense(X: Any) -> Any:
    """Make a plain array of a sparse matrix or a masked array; return anything else unchanged.

    Raises
    ------
    TypeError
        If X is a mapping or has rows by name, because other methods take columns by name, or lazy.
    ValueError
        If the dense array would take more than `MOST_DENSE` bytes.
    """
    # Sparse matrices in DOK format are mappings, too.
    if isinstance(X, Mapping) and not issparse(X):
        raise TypeError(
            f"this method takes arrays and data frames and got a {type(X).__name__}: give a "
            "mapping of names to columns to the methods with '_many', such as learn_many and "
            "predict_many"
        )
    if not issparse(X):
        refuse_lazy(X, "X")
        _check_form(X)
        return unmasked(X)
    n_rows, n_columns = X.shape
    most = max(1, MOST_DENSE // (8 * max(1, n_columns)))
    if n_rows > most:
        raise ValueError(
            f"the sparse X has shape {X.shape}: as a dense array it would take "
            f"{8 * n_rows * n_columns / 2**30:.1f} GiB of at most {MOST_DENSE / 2**30:g}; pass at "
            f"most {most} rows at a time"
        )
    return X.toarray()


def _check_form(X: Any) -> None:
    """Refuse arrays of records, and lists of mappings or of rows that differ in length."""
    if getattr(getattr(X, "dtype", None), "names", None) is not None:
        raise TypeError(
            "X is a structured array: make a data frame of it, for instance pandas.DataFrame(X), "
            "or give {name: X[name] for name in X.dtype.names} to the methods with '_many'"
        )
    for place, row in enumerate(X if isinstance(X, list | tuple) else ()):
        if isinstance(row, Mapping):
            raise TypeError(
                f"row {place} of X is a {type(row).__name__}: give rows by name to learn_one and "
                "predict_one, or a mapping of names to columns to the methods with '_many'"
            )
        both = isinstance(row, list | tuple) and isinstance(X[0], list | tuple)
        if both and len(row) != len(X[0]):
            raise ValueError(
                f"row {place} of X has {len(row)} values, but row 0 has {len(X[0])}: give all rows "
                "the same columns, with NaN for a missing value"
            )


def plain_rows(X: Any) -> Any:
    """Rows without names as an array or a list that NumPy converts to numbers without loss.

    Parameters
    ----------
    X : array-like or sparse matrix
        Rows; missing cells of all kinds become NaN.

    Raises
    ------
    ValueError, TypeError
        If a cell is not a number; the message names the column and the row.

    Examples
    --------
    >>> plain_rows([[1, "2.5"], [None, 3]])
    [[1.0, 2.5], [nan, 3.0]]
    """
    X = dense(X)
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.dtype.kind in NUMBER_KINDS + "c":
            return X
        if X.dtype.kind in DATE_KINDS:
            raise ValueError(dates_refused(0))
        return read_cells(X.tolist())
    if not isinstance(X, list | tuple):
        return X
    if all(isinstance(row, list | tuple) and PLAIN_NUMBERS.issuperset(map(type, row)) for row in X):
        return X
    return read_cells(X)


def plain_row(x: Any) -> Any:
    """One row without names, of shape (d,) or (1, d), as rows for NumPy, see `plain_rows`."""
    x = unmasked(x)
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return plain_rows(x[np.newaxis])
    if isinstance(x, list | tuple) and not all(
        isinstance(cell, Sequence | np.ndarray) for cell in x
    ):
        return read_cells([x])
    return plain_rows(x)


def row_by_name(x: Mapping[Any, Any], names: Sequence[Any]) -> Array:
    """One row by name as numbers, shape (1, d); NaN where a value is missing or absent.

    Raises
    ------
    ValueError, TypeError
        If a value is not a number; the message names the column.

    Examples
    --------
    >>> row_by_name({"b": 2, "a": True}, ["a", "b", "c"])
    array([[ 1.,  2., nan]])
    """
    return np.array([[number_in(x.get(name), name, 0) for name in names]], dtype=np.float64)


def read_cells(rows: Any) -> Any:
    """Read each cell of a list of rows as a number; return the rows unchanged if some are not rows.

    Raises
    ------
    ValueError, TypeError
        If a cell is not a number; the message names the column and the row.
    """
    if not all(isinstance(row, list | tuple) or np.ndim(row) == 1 for row in rows):
        return rows
    return [
        [number_in(cell, column, place) for column, cell in enumerate(row)]
        for place, row in enumerate(rows)
    ]
