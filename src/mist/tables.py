"""Reading of tables in memory: column names, cells and numbers.

Data frames are recognised by the libraries that are already loaded; none is imported here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

Array = np.ndarray[Any, Any]

__all__ = [
    "MOST_DENSE",
    "as_frame",
    "as_numbers",
    "cells_of",
    "dense",
    "frame_columns",
    "is_category",
    "is_missing",
    "is_number",
    "named_columns",
    "numbers",
    "text_refused",
]

MOST_DENSE = 2**30
"""Most bytes of a sparse matrix in dense form: 1 GiB."""

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}

_ROWS_AT_ONCE = 1024
_NUMBERS = "biuf"
_TIMES = "mM"


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


def cells_of(column: Any, name: Any) -> Array:
    """Cells of a column as an array, of objects if there is no narrower type.

    Parameters
    ----------
    column : sequence or column of a data frame
        The cells; categories are decoded.
    name : label
        Its name, for the error message.

    Raises
    ------
    ValueError
        If the column is not one-dimensional.
    """
    kind = getattr(column, "type", None)
    if kind is not None:
        # Category codes of pyarrow, read as numbers, lose missing values.
        cells = np.asarray(column.cast(kind.value_type) if is_category(column) else column)
    elif hasattr(column, "to_numpy"):
        cells = column.to_numpy()
    elif isinstance(column, np.ndarray):
        cells = column
    else:
        cells = _array_of(column)
    if cells.ndim != 1:
        raise ValueError(
            f"column {name!r} has shape {cells.shape}: give one value a row (learn_one and "
            "predict_one take single rows)"
        )
    return cells


def _array_of(column: Any) -> Array:
    """Make an array of a list; of objects if NumPy would turn other cells into text."""
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        return np.empty(())
    column = list(column)
    if all(isinstance(cell, int | float | np.number | np.bool_) for cell in column):
        return np.asarray(column)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    return cells


def is_category(column: Any) -> bool:
    """Whether a column of a data frame is declared to hold categories."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if hasattr(dtype, "value_type") and hasattr(dtype, "index_type"):
        return True
    return str(dtype).partition("(")[0] in {"category", "Categorical", "Enum"}


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, or the missing value of a library."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(cell, float) and math.isnan(cell)


def is_number(cell: Any) -> bool:
    """Whether a cell is a number of Python, NumPy or another type, such as a decimal."""
    return not isinstance(cell, str | bytes) and hasattr(cell, "__float__")


def as_numbers(cells: Array, name: Any) -> Array:
    """Cells of a column as float64, NaN where a value is missing.

    Parameters
    ----------
    cells : ndarray, shape (n,)
        As from `cells_of`.
    name : label
        The column's name, for the error message.

    Raises
    ------
    ValueError, TypeError
        If a cell is not a number; the message names the column and the row.
    """
    if cells.dtype.kind in _NUMBERS:
        return cells.astype(np.float64, copy=False)
    if cells.dtype.kind in _TIMES:
        raise ValueError(
            f"column {name!r} holds dates or times; convert them to numbers first, for "
            "instance seconds since a fixed day"
        )
    if cells.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} holds complex numbers")
    out = np.empty(len(cells))
    for row, cell in enumerate(cells.tolist()):
        try:
            out[row] = np.nan if is_missing(cell) else float(cell)
        except ValueError:
            raise ValueError(_text_refused(name, row, cell)) from None
        except (TypeError, OverflowError) as fault:
            raise type(fault)(f"column {name!r}, row {row}: {fault}") from None
    return out


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
    """Convert a sparse matrix to a dense array; return anything else unchanged.

    Raises
    ------
    TypeError
        If X is a mapping: other methods take columns by name.
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
        return X
    n_rows, n_columns = X.shape
    most = max(1, MOST_DENSE // (8 * max(1, n_columns)))
    if n_rows > most:
        raise ValueError(
            f"the sparse X has shape {X.shape}: as a dense array it would take "
            f"{8 * n_rows * n_columns / 2**30:.1f} GiB of at most {MOST_DENSE / 2**30:g}; pass at "
            f"most {most} rows at a time"
        )
    return X.toarray()


def text_refused(X: Any) -> str | None:
    """Error message for the first cell of an array that is a text; None without such a cell."""
    for row, cells in enumerate(np.asarray(X, dtype=object)):
        for column, cell in enumerate(cells):
            try:
                float(cell)
            except ValueError:
                return _text_refused(column, row, cell)
            except (TypeError, OverflowError):
                continue
    return None


def _text_refused(name: Any, row: int, text: Any) -> str:
    return (
        f"column {name!r} holds the text {text!r} at row {row} (could not convert string to "
        "float); models learn numbers: encode it with mist.preprocessing.StreamEncoder, or "
        "leave it out"
    )
