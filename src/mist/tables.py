"""Reading of tables in memory: column names, cells and numbers.

Data frames are recognised by the libraries that are already loaded; none is imported here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

Array = np.ndarray[Any, Any]

__all__ = [
    "MOST_DENSE",
    "PLAIN_NUMBERS",
    "as_frame",
    "as_numbers",
    "cells_of",
    "dense",
    "encodable_cells",
    "frame_columns",
    "is_category",
    "is_missing",
    "is_number",
    "named_columns",
    "number_in",
    "numbers",
    "plain_row",
    "plain_rows",
    "read_cells",
    "refuse_lazy",
    "row_by_name",
    "unmasked",
]

MOST_DENSE = 2**30
"""Most bytes of a sparse matrix in dense form: 1 GiB."""

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}

_ROWS_AT_ONCE = 1024
_NUMBERS = "biuf"
_TIMES = "mM"
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
_UNREAD = ("collect", "compute", "execute", "to_table", "read_all")
"""Methods that make a table of an object that has none yet."""
PLAIN_NUMBERS = frozenset(
    {int, float, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.uint8}
)
"""Types of cells that NumPy converts to numbers as it should; not all types are listed."""
_MISSING_TYPES = {"NAType", "NaTType", "MaskedConstant"}


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


def cells_of(column: Any, name: Any) -> Array:
    """Cells of a column as an array, of objects if there is no narrower type.

    Parameters
    ----------
    column : sequence or column of a data frame
        The cells; categories are decoded, and masked cells are missing.
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
        cells = unmasked(column)
    else:
        refuse_lazy(column, f"column {name!r}")
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
    return np.fromiter(column, dtype=object, count=len(column))


def unmasked(X: Any) -> Any:
    """Make a plain array of a masked one, with missing values; return anything else unchanged.

    Examples
    --------
    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, True])), unmasked("a")
    (array([ 1., nan]), 'a')
    """
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.array(X)  # NumPy would read what is behind the masks of the rows
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X)
    plain = np.array(X.data, dtype=X.dtype if X.dtype.kind == "f" else object)
    plain[np.ma.getmaskarray(X)] = np.nan if X.dtype.kind == "f" else None
    return plain


def refuse_lazy(X: Any, what: str) -> None:
    """Refuse objects without cells, such as lazy frames and generators.

    Parameters
    ----------
    X : object
        What should be a table, an array or a list.
    what : str
        Its name in the error message.

    Raises
    ------
    TypeError
        The message says how to get the cells.
    """
    if hasattr(X, "__array__"):
        return
    for method in _UNREAD:
        if callable(getattr(X, method, None)):
            raise TypeError(
                f"{what} is lazy, a {type(X).__name__} without rows: call .{method}() first and "
                "pass the result"
            )
    if isinstance(X, Iterator | AnySet):
        raise TypeError(f"{what} is a {type(X).__name__}: give a list or an array")


def is_category(column: Any) -> bool:
    """Whether a column of a data frame is declared to hold categories."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if hasattr(dtype, "value_type") and hasattr(dtype, "index_type"):
        return True
    return str(dtype).partition("(")[0] in {"category", "Categorical", "Enum"}


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, or the missing value of a library."""
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, float | np.floating) and math.isnan(cell)


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
        raise ValueError(_dates_refused(name))
    if cells.dtype.kind == "c":
        raise ValueError(_complex_refused(name))
    return np.array([number_in(cell, name, row) for row, cell in enumerate(cells.tolist())], float)


def number_in(cell: Any, name: Any, row: int) -> float:
    """Read a cell as a number, NaN if it is missing.

    Raises
    ------
    ValueError, TypeError
        If it is not a number; the message names the column and the row.

    Examples
    --------
    >>> number_in(3, "a", 0), number_in("1.5", "a", 0), number_in(None, "a", 0)
    (3.0, 1.5, nan)
    """
    if type(cell) is float:
        return cell
    if is_missing(cell):
        return math.nan
    refused = _cell_refused(cell, name, row)
    if refused is not None:
        raise refused
    try:
        return float(cell)
    except OverflowError:
        raise ValueError(
            f"column {name!r} holds a number at row {row} that is too large for float64; replace "
            "it, or use NaN for a missing value"
        ) from None
    except ValueError:
        raise ValueError(
            f"column {name!r} holds the text {cell!r} at row {row} (could not convert string to "
            "float); models learn numbers: encode it with mist.preprocessing.StreamEncoder, or "
            "leave it out"
        ) from None
    except TypeError:
        raise TypeError(
            f"column {name!r} holds {_shown(cell)} at row {row}, which is not a number "
            "(argument must be a string or a number): convert it, or leave the column out"
        ) from None


def encodable_cells(column: Any, name: Any) -> Array:
    """Cells of a column that holds numbers or texts; dates, bytes and containers are refused.

    Parameters
    ----------
    column, name
        As for `cells_of`.

    Raises
    ------
    ValueError, TypeError
        The message names the column and the row.
    """
    cells = cells_of(column, name)
    if cells.dtype.kind in _TIMES:
        raise ValueError(_dates_refused(name))
    if cells.dtype.kind not in "OS":
        return cells
    found = cells.tolist()
    if set(map(type, found)) <= {str, int, float, bool, type(None)}:
        return cells
    for row, cell in enumerate(found):
        if isinstance(cell, bytes | bytearray):
            raise TypeError(
                f"column {name!r} holds {_shown(cell)} at row {row}: decode it to a text first"
            )
        refused = None if is_missing(cell) else _cell_refused(cell, name, row)
        if refused is not None:
            raise refused
    return cells


def _cell_refused(cell: Any, name: Any, row: int) -> Exception | None:
    """Error for a cell that must not be read as a number or a text, else None."""
    if isinstance(cell, str | bytes | int | float):
        return None
    if isinstance(cell, _DATES):
        return ValueError(_dates_refused(name))
    if isinstance(cell, complex | np.complexfloating):
        return ValueError(_complex_refused(name))
    # An array without dimensions is a number.
    if isinstance(cell, Iterable) and getattr(cell, "ndim", 1) != 0:
        return TypeError(
            f"column {name!r} holds {_shown(cell)} at row {row} (argument must be a string or a "
            "number); a cell is one value: give each of its values a column of its own, or leave "
            "the column out"
        )
    return None


def _shown(cell: Any) -> str:
    """Type and start of a cell, for error messages."""
    return f"a cell of type {type(cell).__name__!r} ({str(cell)[:40]})"


def _dates_refused(name: Any) -> str:
    return (
        f"column {name!r} holds dates or times; convert them to numbers first, for instance "
        "seconds since a fixed day"
    )


def _complex_refused(name: Any) -> str:
    return f"Complex data not supported: column {name!r} holds complex numbers"


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
        If X is a mapping, because other methods take columns by name, or lazy.
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
        if X.dtype.names is not None:
            raise TypeError(
                "X is a structured array: make a data frame of it, for instance "
                "pandas.DataFrame(X), or give {name: X[name] for name in X.dtype.names} to the "
                "methods with '_many'"
            )
        if X.ndim != 2 or X.dtype.kind in _NUMBERS + "c":
            return X
        if X.dtype.kind in _TIMES:
            raise ValueError(_dates_refused(0))
        return read_cells(X.tolist())
    if not isinstance(X, list | tuple):
        return X
    for place, row in enumerate(X):
        if isinstance(row, Mapping):
            raise TypeError(
                f"row {place} of X is a {type(row).__name__}: give rows by name to learn_one and "
                "predict_one, or a mapping of names to columns to the methods with '_many'"
            )
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
