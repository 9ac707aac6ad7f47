"""Interface of the file formats: named columns and batches of their cells."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mist.onehot import text_of
from mist.texts import one_line

__all__ = [
    "DOUBTFUL",
    "MISSING",
    "NO_LABEL",
    "Cells",
    "Column",
    "RawRows",
    "Source",
    "TableError",
    "as_number",
    "as_texts",
    "find_column",
    "is_doubtful",
]

MISSING = frozenset({"", "?", "-", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL"})
"""Texts of cells that mean a missing value, unless the user gives others."""

DOUBTFUL = "NA"
"""One of these texts that may as well be a text, such as the code of a country."""

NO_LABEL = frozenset({"", "?", "NaN", "nan"})
"""Texts that mean a missing label: "-" and "NA" may be names of classes."""

Cells = Sequence[str] | NDArray[Any]
"""The cells of one column: texts, or an array of numbers or labels."""

_NAMES_SHOWN = 8
_NAMES_COMPARED = 1000


class TableError(ValueError):
    r"""A table that cannot be read; the message is one line naming the row and the column.

    Unprintable characters in the message are escaped. The middle of a very long message is left
    out.

    Parameters
    ----------
    message : str
        What is wrong, and how to fix it.

    Examples
    --------
    >>> raise TableError("row 3, column 'age': 'abc' is not a number")
    Traceback (most recent call last):
    mist.io.source.TableError: row 3, column 'age': 'abc' is not a number
    >>> print(TableError("no column 'y'; columns: \x1b[31ma, b"))
    no column 'y'; columns: \x1b[31ma, b
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class Column(NamedTuple):
    """One column of a file.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "text", "open"}
        Type of the cells if the file declares it, ``"open"`` if it does not (CSV).
    categories : tuple of str or None
        The only texts allowed, where the file declares them (nominal attributes of ARFF).
    """

    name: str
    kind: Literal["number", "text", "open"] = "open"
    categories: tuple[str, ...] | None = None


class RawRows(NamedTuple):
    """Some rows of a file, column by column.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Row numbers for messages: line numbers for text formats, else counted from 1.
    columns : sequence of Cells
        One entry per column, n cells each.
    fraction : float
        How much of the file has been read, between 0 and 1.
    file : str
        The file of the rows, if several files are read as one.
    """

    rows: NDArray[np.int64]
    columns: Sequence[Cells]
    fraction: float
    file: str = ""


def as_texts(cells: Cells) -> list[str]:
    """Return cells as texts without spaces around them; a whole number has no decimal point.

    Parameters
    ----------
    cells : Cells
        Texts or an array.

    Returns
    -------
    list of str
        One text per cell.

    Examples
    --------
    >>> as_texts(np.array([1.0, 2.5])), as_texts([" a "])
    (['1', '2.5'], ['a'])
    """
    if not isinstance(cells, np.ndarray):
        return [cell.strip() for cell in cells]
    if cells.dtype.kind == "f":
        return [text_of(value) for value in cells.tolist()]
    return [str(value).strip() for value in cells.tolist()]


def is_doubtful(cells: Cells, missing: frozenset[str]) -> bool:
    """Whether `DOUBTFUL` is among the texts of a column, and taken as missing."""
    return DOUBTFUL in missing and not isinstance(cells, np.ndarray) and DOUBTFUL in cells


def as_number(text: str) -> float | None:
    """Return the number that a text represents, None if it is not a number.

    Parameters
    ----------
    text : str
        A cell.

    Returns
    -------
    float or None
        Its number.

    Examples
    --------
    >>> as_number("1e3"), as_number("1_000")
    (1000.0, None)
    """
    # float() accepts underscores between digits, which data files do not use in numbers.
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


class Source(ABC):
    """A file that can be read from the start any number of times."""

    path: Path
    """The file."""

    columns: tuple[Column, ...]
    """All columns in file order, including the labels."""

    label: int | None = None
    """Position of the labels, if the file determines it."""

    sparse: bool = False
    """Whether rows may lack columns, whose values are then missing."""

    @abstractmethod
    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""


def find_column(names: Sequence[str], wanted: str | int, path: Path) -> int:
    """Find a column by name, or by position (negative: from the end).

    An integer text that is not the name of a column is a position.

    Parameters
    ----------
    names : sequence of str
        The columns of the file.
    wanted : str or int
        Name or position, counted from 0.
    path : Path
        The file, for the message.

    Returns
    -------
    int
        Position of the column.

    Raises
    ------
    TableError
        If there is no such column.

    Examples
    --------
    >>> find_column(["a", "b", "c"], "b", Path("x.csv"))
    1
    >>> find_column(["a", "b", "c"], "-1", Path("x.csv"))
    2
    """
    if isinstance(wanted, str):
        if wanted in names:
            return list(names).index(wanted)
        try:
            wanted = int(wanted)
        except ValueError:
            close = difflib.get_close_matches(str(wanted), names[:_NAMES_COMPARED], n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            raise TableError(
                f"{path.name} has no column {wanted!r}; {hint}columns: {shown}"
            ) from None
    if not -len(names) <= wanted < len(names):
        raise TableError(
            f"{path.name} has no column {wanted}; positions run from 0 to {len(names) - 1}"
        )
    return wanted % len(names)
