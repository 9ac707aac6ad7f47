"""From cells to numbers: columns of texts become 0/1 columns, labels become integers or texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mist.io.source import MISSING, Batch, Cells, Column, TableError, as_texts
from mist.io.targets import Targets

__all__ = ["MAX_CATEGORIES", "Chunk", "Encoder"]

MAX_CATEGORIES = 1000
"""A column with more different texts than this is refused: it is an identifier or free text."""

# The squares of larger numbers leave the range of float64.
_LARGEST = 1e150


class Chunk(NamedTuple):
    """Some rows of a table, ready for a classifier.

    Attributes
    ----------
    X : ndarray of float64, shape (n, d)
        The columns named in ``names``; NaN where a value is missing.
    y : ndarray, shape (n,)
        Labels, int64 or texts.
    names : tuple of str
        Names of the d columns; a 0/1 column of a text is called ``"column=text"``.
    rows : ndarray of int64, shape (n,)
        Row numbers: the line of the file for text formats, else counted from 1.
    fraction : float
        How much of the file has been read, between 0 and 1.
    known : ndarray of bool, shape (n,), or None
        Where there is a label; ``y`` holds 0 or an empty text elsewhere. None if all rows have one.
    file : str
        The file they are from, where several files are read as one.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    names: tuple[str, ...]
    rows: NDArray[np.int64]
    fraction: float
    known: NDArray[np.bool_] | None = None
    file: str = ""

    def places(self) -> list[Any]:
        """Return for each row where it is from: its number, or file and number."""
        rows: list[int] = self.rows.tolist()
        return [f"{self.file}:{row}" for row in rows] if self.file else rows


class Encoder:
    """Decides from the first rows what each column is, then turns batches into chunks.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the file, with the target among them.
    target : int
        Position of the target.
    first : Batch
        The first rows.
    text_columns : collection of str
        Columns that are texts, whatever their cells look like.
    ignore : collection of str
        Columns to leave out.
    unlabelled : bool
        Whether rows may lack a label.

    Notes
    -----
    A column the file says nothing about is text when more than half of the cells that are not
    missing in the first batch are no numbers. Otherwise it is numeric, and a cell that is no
    number is an error, from the first row on.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        target: int,
        first: Batch,
        text_columns: Collection[str] = (),
        ignore: Collection[str] = (),
        unlabelled: bool = False,
    ) -> None:
        self._columns = columns
        self._target = target
        self._used = [
            j for j, column in enumerate(columns) if j != target and column.name not in ignore
        ]
        # Per text column, its categories in order of appearance. A dict keeps them in order.
        self._codes: dict[int, dict[str, int]] = {
            j: {text: i for i, text in enumerate(columns[j].categories or ())}
            for j in self._used
            if _is_text(columns[j], first.columns[j], columns[j].name in text_columns)
        }
        self._targets = Targets(
            columns[target], as_texts=columns[target].name in text_columns, unlabelled=unlabelled
        )

    @property
    def open_columns(self) -> list[str]:
        """Names of the text columns whose categories have to be collected from the rows."""
        return [self._columns[j].name for j in self._open()]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        names: list[str] = []
        for j in self._used:
            name = self._columns[j].name
            codes = self._codes.get(j)
            names.extend([name] if codes is None else [f"{name}={text}" for text in codes])
        return tuple(names)

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the 0/1 columns among the encoded columns."""
        positions: list[int] = []
        start = 0
        for j in self._used:
            codes = self._codes.get(j)
            width = 1 if codes is None else len(codes)
            if codes is not None:
                positions.extend(range(start, start + width))
            start += width
        return tuple(positions)

    def collect(self, batch: Batch) -> None:
        """Add the texts of a batch to the categories of the open columns.

        Parameters
        ----------
        batch : Batch
            Rows of the file.

        Raises
        ------
        TableError
            If a column has more than `MAX_CATEGORIES` different texts.
        """
        for j in self._open():
            codes = self._codes[j]
            texts = as_texts(batch.columns[j])
            if codes.keys() >= set(texts) - MISSING:
                continue
            for row, text in zip(batch.rows, texts, strict=True):
                if text not in codes and text not in MISSING:
                    if len(codes) == MAX_CATEGORIES:
                        raise TableError(
                            f"row {row}, column {self._columns[j].name!r}: more than "
                            f"{MAX_CATEGORIES} different texts; leave this column out (ignore it)"
                        )
                    codes[text] = len(codes)

    def encode(self, batch: Batch, names: tuple[str, ...]) -> Chunk:
        """Turn a batch into numbers and labels.

        Parameters
        ----------
        batch : Batch
            Rows of the file.
        names : tuple of str
            The encoded columns, as given by ``names`` once all categories are known.

        Returns
        -------
        Chunk
            The same rows.

        Raises
        ------
        TableError
            If a cell is no number, is infinite or is an unknown text, or a label is missing;
            the message names row and column.
        """
        X = np.empty((len(batch.rows), len(names)))
        owners = np.empty(len(names), dtype=np.intp)
        start = 0
        for j in self._used:
            name, cells = self._columns[j].name, batch.columns[j]
            codes = self._codes.get(j)
            width = 1 if codes is None else len(codes)
            block = X[:, start : start + width]
            owners[start : start + width] = j
            if codes is None:
                block[:, 0] = _numbers(cells, batch.rows, name)
            else:
                _one_hot(cells, codes, batch.rows, name, block)
            start += width
        outside = np.abs(X) > _LARGEST
        if outside.any():
            i, k = np.argwhere(outside)[0]
            what = "infinity is not allowed" if np.isinf(X[i, k]) else f"{X[i, k]} is too large"
            raise TableError(
                f"row {batch.rows[i]}, column {self._columns[owners[k]].name!r}: {what}; "
                "leave the cell empty if the value is missing"
            )
        y, known = self._targets.read(batch.columns[self._target], batch.rows)
        return Chunk(X, y, names, batch.rows, batch.fraction, known, batch.file)

    def _open(self) -> list[int]:
        return [j for j in self._codes if self._columns[j].categories is None]


def _is_text(column: Column, cells: Cells, named: bool) -> bool:
    if named:
        return True
    if column.kind != "open" or isinstance(cells, np.ndarray):
        return column.kind == "text"
    known = [text for text in map(str.strip, cells) if text not in MISSING]
    return 2 * sum(_number(text) is None for text in known) > len(known)


def _number(text: str) -> float | None:
    # float() takes underscores between digits, which no data file means as a number.
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _numbers(cells: Cells, rows: NDArray[np.int64], name: str) -> NDArray[np.float64]:
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    else:
        if "_" not in "".join(cells):
            return values
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        text = cell.strip()
        value = np.nan if text in MISSING else _number(text)
        if value is None:
            raise TableError(
                f"row {rows[i]}, column {name!r}: {text!r} is not a number "
                f"(declare {name!r} a text column if that is meant)"
            )
        values[i] = value
    return values


def _one_hot(
    cells: Cells,
    codes: Mapping[str, int],
    rows: NDArray[np.int64],
    name: str,
    out: NDArray[np.float64],
) -> None:
    texts = as_texts(cells)
    index = np.fromiter((codes.get(text, -1) for text in texts), np.intp, len(texts))
    known = np.flatnonzero(index >= 0)
    out[:] = 0.0
    out[known, index[known]] = 1.0
    for i in np.flatnonzero(index < 0):
        if texts[i] not in MISSING:
            raise TableError(f"row {rows[i]}, column {name!r}: unknown category {texts[i]!r}")
        out[i] = np.nan
