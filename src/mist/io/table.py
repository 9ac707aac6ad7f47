"""A table on disk as a stream of chunks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.io.arff import ArffSource
from mist.io.csv import CsvSource
from mist.io.encode import Chunk, Encoder
from mist.io.npz import NpzSource
from mist.io.parquet import ParquetSource
from mist.io.source import Batch, Source, TableError, find_column

__all__ = ["Table", "load_csv", "open_table"]

_CSV = {".csv", ".tsv", ".txt", ".data"}
_PARQUET = {".parquet", ".pq"}


class Table:
    """Rows of a file as chunks of numbers and labels; iterate over it as often as you like.

    Made by :func:`open_table`. Memory is bounded by the chunk, whatever the size of the file.

    Parameters
    ----------
    source : Source
        The file.
    chunk_rows : int, default=10_000
        Most rows in a chunk.
    limit : int or None, default=None
        Stop after so many rows.
    text_columns : collection of str, default=()
        Columns that are texts, whatever their cells look like.
    ignore : collection of str, default=()
        Columns to leave out.
    on_scan : callable or None, default=None
        Called with the share of the file read, while a first pass collects categories.

    Attributes
    ----------
    path : Path
        The file.
    target : str
        Name of the label column.
    names : tuple of str
        Names of the columns of ``X``.
    categorical : tuple of int
        Positions of the 0/1 columns made from texts.
    text_columns : tuple of str
        The columns whose categories were collected in a first pass.
    scanned : int
        Rows read in that first pass; 0 when none was needed.
    """

    def __init__(
        self,
        source: Source,
        *,
        chunk_rows: int = 10_000,
        limit: int | None = None,
        text_columns: Collection[str] = (),
        ignore: Collection[str] = (),
        on_scan: Callable[[float], None] | None = None,
    ) -> None:
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows has to be at least 1, not {chunk_rows}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit has to be at least 1, not {limit}")
        self._source = source
        self.path = source.path
        self._chunk_rows = chunk_rows
        self._limit = limit
        self.target = source.columns[source.target].name
        first = next(self._batches(), None)
        if first is None:
            raise TableError(f"{self.path.name} is empty: it has columns, but no rows")
        self._encoder = Encoder(source.columns, source.target, first, text_columns, ignore)
        self.text_columns = tuple(self._encoder.open_columns)
        self.scanned = 0
        if self.text_columns:
            for batch in self._batches():
                self._encoder.collect(batch)
                self.scanned += len(batch.rows)
                if on_scan is not None:
                    on_scan(batch.fraction)
        self.names = self._encoder.names
        self.categorical = self._encoder.categorical
        if not self.names:
            raise TableError(f"{self.path.name} has no column besides the target {self.target!r}")

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks from the first row on."""
        for batch in self._batches():
            yield self._encoder.encode(batch, self.names)

    def load(self, on_read: Callable[[float], None] | None = None) -> Chunk:
        """Read all rows into memory.

        Parameters
        ----------
        on_read : callable or None, default=None
            Called with the share of the file read after each chunk.

        Returns
        -------
        Chunk
            All rows as one chunk.
        """
        chunks = []
        for chunk in self:
            chunks.append(chunk)
            if on_read is not None:
                on_read(chunk.fraction)
        return Chunk(
            np.concatenate([chunk.X for chunk in chunks]),
            np.concatenate([chunk.y for chunk in chunks]),
            self.names,
            np.concatenate([chunk.rows for chunk in chunks]),
            1.0,
        )

    def _batches(self) -> Iterator[Batch]:
        left = self._limit
        for batch in self._source.batches(self._chunk_rows):
            if left is None or len(batch.rows) < left:
                yield batch
                left = None if left is None else left - len(batch.rows)
            else:
                yield Batch(batch.rows[:left], [cells[:left] for cells in batch.columns], 1.0)
                return


def open_table(
    path: str | Path,
    target: str | int | None = None,
    *,
    chunk_rows: int = 10_000,
    header: bool = True,
    limit: int | None = None,
    text_columns: Collection[str] = (),
    ignore: Collection[str] = (),
    on_scan: Callable[[float], None] | None = None,
) -> Table:
    r"""Open a CSV, ARFF, Parquet or NPZ file as a stream of chunks.

    The file is read once, unless it has columns of texts: then a first pass collects their
    categories, so that the width of ``X`` is known before anything is learnt. Missing values are
    NaN; in text formats an empty cell, ``?``, ``NA``, ``NaN``, ``nan`` and ``-`` stand for one.

    Parameters
    ----------
    path : str or Path
        The file. ``.csv``, ``.tsv``, ``.txt`` and ``.data`` are delimited text (comma,
        semicolon or tab, found out); ``.arff``, ``.parquet``, ``.pq`` and ``.npz`` are themselves.
    target : str, int or None
        The label column by name, or by position counted from 0 (negative: from the end). In an NPZ
        archive the name of the array of labels, ``"y"`` when None.
    chunk_rows : int, default=10_000
        Most rows in a chunk.
    header : bool, default=True
        Whether the first record of a delimited file holds the names. Without, the columns are
        called ``"0"``, ``"1"`` and so on.
    limit : int or None, default=None
        Stop after so many rows.
    text_columns : collection of str, default=()
        Columns of a delimited file that are texts although most of their cells are numbers.
    ignore : collection of str, default=()
        Columns to leave out.
    on_scan : callable or None, default=None
        Called with the share of the file read during the first pass, if there is one.

    Returns
    -------
    Table
        Iterate over it for chunks ``(X, y, names, rows, fraction)``.

    Raises
    ------
    TableError
        If the file cannot be read as a table. Errors in later rows come while iterating.
    ValueError
        If `chunk_rows` or `limit` is less than 1.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name, "pets.csv")
    >>> _ = file.write_text("weight,coat,pet\n4.1,short,cat\n?,long,dog\n8,short,dog\n")
    >>> table = open_table(file, "pet", chunk_rows=2)
    >>> table.names, table.categorical
    (('weight', 'coat=short', 'coat=long'), (1, 2))
    >>> for chunk in table:
    ...     print(chunk.rows, chunk.y, chunk.X[:, 0])
    [2 3] ['cat' 'dog'] [4.1 nan]
    [4] ['dog'] [8.]
    >>> folder.cleanup()
    """
    path = _check_file(path)
    source = _open_source(path, target, header)
    names = [column.name for column in source.columns]
    for name in (*text_columns, *ignore):
        find_column(names, name, path)
    return Table(
        source,
        chunk_rows=chunk_rows,
        limit=limit,
        text_columns=text_columns,
        ignore=ignore,
        on_scan=on_scan,
    )


def load_csv(
    path: str | Path, target: str | int, header: bool = True
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    r"""Read a whole delimited text file into memory.

    Parameters
    ----------
    path : str or Path
        The file, whatever its name ends in.
    target : str or int
        Name or position (negative: from the end) of the label column.
    header : bool, default=True
        Whether the first record holds the names of the columns.

    Returns
    -------
    X : ndarray of float64, shape (n_rows, n_columns)
        Numbers as they are, texts one-hot encoded, missing cells as NaN.
    y : ndarray, shape (n_rows,)
        Labels: int64 when all of the first rows are integers, else texts.

    Raises
    ------
    TableError
        If the file cannot be read as a table; the message names row and column.

    See Also
    --------
    mist.io.open_table : the same in chunks, for files of any size.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name, "pets.csv")
    >>> _ = file.write_text("weight,coat,pet\n4.1,short,cat\n?,long,dog\n")
    >>> X, y = load_csv(file, "pet")
    >>> X
    array([[4.1, 1. , 0. ],
           [nan, 0. , 1. ]])
    >>> y.tolist()
    ['cat', 'dog']
    >>> folder.cleanup()
    """
    table = Table(CsvSource(_check_file(path), target, header)).load()
    return table.X, table.y


def _open_source(path: Path, target: str | int | None, header: bool) -> Source:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return NpzSource(path, "y" if target is None else str(target))
    if suffix not in _CSV | _PARQUET | {".arff"}:
        known = ", ".join(sorted(_CSV | _PARQUET | {".arff", ".npz"}))
        raise TableError(f"{path.name}: unknown kind of file; known endings: {known}")
    if target is None:
        raise TableError(
            "the target is not given: name the column that holds the labels, --target COLUMN"
        )
    if suffix in _CSV:
        return CsvSource(path, target, header)
    if suffix in _PARQUET:
        return ParquetSource(path, target)
    return ArffSource(path, target)


def _check_file(path: str | Path) -> Path:
    path = Path(path)
    if not path.exists():
        raise TableError(f"there is no file {str(path)!r}")
    # A pipe cannot be read twice.
    if not path.is_file():
        raise TableError(f"{str(path)!r} is not a regular file")
    if not path.stat().st_size:
        raise TableError(f"{path.name} is empty")
    return path
