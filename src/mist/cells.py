"""Reading of single cells and of columns of cells, of whatever library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AnySet
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

__all__ = [
    "DATE_KINDS",
    "NUMBER_KINDS",
    "PLAIN_NUMBERS",
    "as_numbers",
    "cells_of",
    "dates_refused",
    "encodable_cells",
    "is_category",
    "is_missing",
    "is_number",
    "number_in",
    "refuse_lazy",
    "unmasked",
]

NUMBER_KINDS = "biuf"
DATE_KINDS = "mM"
"""Kinds of arrays: of numbers, and of dates or times."""

PLAIN_NUMBERS = frozenset(
    {int, float, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.uint8}
)
"""Types of cells that NumPy converts to numbers as it should; not all types are listed."""

_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
_MISSING_TYPES = {"NAType", "NaTType", "MaskedConstant"}
_UNREAD = ("collect", "compute", "execute", "to_table", "read_all")  # methods that make a table


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
    # Lazy arrays are computed as they are read; a lazy frame would lose its names.
    if hasattr(X, "__array__") and not hasattr(X, "columns"):
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
    if cells.dtype.kind in NUMBER_KINDS:
        return cells.astype(np.float64, copy=False)
    if cells.dtype.kind in DATE_KINDS:
        raise ValueError(dates_refused(name))
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
    """Cells of a column that holds numbers or texts; dates, bytes and other objects are refused.

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
    if cells.dtype.kind in DATE_KINDS:
        raise ValueError(dates_refused(name))
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
        if refused is None and not _has_text(cell):
            refused = TypeError(
                f"column {name!r} holds {_shown(cell)} at row {row}, which is neither a number nor "
                "a text: convert it, or leave the column out"
            )
        if refused is not None:
            raise refused
    return cells


def _has_text(cell: Any) -> bool:
    """Whether the text of a cell is about its value: that of a function has an address in it."""
    kind: Any = type(cell)
    shown = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    return shown and not callable(cell)


def _cell_refused(cell: Any, name: Any, row: int) -> Exception | None:
    """Error for a cell that must not be read as a number or a text, else None."""
    if isinstance(cell, str | bytes | int | float):
        return None
    if isinstance(cell, _DATES):
        return ValueError(dates_refused(name))
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


def dates_refused(name: Any) -> str:
    """Error message for a column of dates."""
    return (
        f"column {name!r} holds dates or times; convert them to numbers first, for instance "
        "seconds since a fixed day"
    )


def _complex_refused(name: Any) -> str:
    return f"Complex data not supported: column {name!r} holds complex numbers"
