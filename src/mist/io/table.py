"""A table on disk as a stream of chunks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.io.bounds import check_width, first_twice, rows_at_once
from mist.io.csv import CsvSource
from mist.io.encode import Chunk, Encoder
from mist.io.opening import check_file, open_source
from mist.io.source import Batch, Source, TableError, find_column

__all__ = ["Table", "join", "load_csv", "naming", "open_table"]


class Table:
    """Rows of a file as chunks of numbers and labels; iterate over it as often as you like.

    Made by :func:`open_table`. Memory is bounded by the chunk, whatever the size of the file.

    Parameters
    ----------
    source : Source
        The file.
    target : str or int
        The label column by name or position.
    chunk_rows : int, default=10_000
        Most rows in a chunk; a chunk of very many columns has fewer.
    limit : int or None, default=None
        Stop after so many rows.
    text_columns : collection of str, default=()
        Columns that are texts, whatever their cells look like.
    ignore : collection of str, default=()
        Columns to leave out.
    unlabelled : bool, default=False
        Whether rows may lack a label.
    on_scan : callable or None, default=None
        Called with the share of the file read, while a first pass collects categories.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        What it is called.
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
        target: str | int,
        *,
        chunk_rows: int = 10_000,
        limit: int | None = None,
        text_columns: Collection[str] = (),
        ignore: Collection[str] = (),
        unlabelled: bool = False,
        on_scan: Callable[[float], None] | None = None,
    ) -> None:
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows has to be at least 1, not {chunk_rows}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit has to be at least 1, not {limit}")
        self._source = source
        self.path = source.path
        self.name = source.path.name
        self._limit = limit
        names = [column.name for column in source.columns]
        place = find_column(names, target, source.path)
        self.target = names[place]
        for name in (*text_columns, *ignore):
            find_column(names, name, source.path)
        self._rows_at_once = rows_at_once(chunk_rows, len(names))
        first = next(self._batches(), None)
        if first is None:
            raise TableError(f"{self.path.name} is empty: it has columns, but no rows")
        self._encoder = Encoder.decide(
            source.columns, place, first, text_columns, ignore, unlabelled
        )
        self.text_columns = tuple(self._encoder.open_columns)
        self.scanned = 0
        if self.text_columns:
            for batch in self._batches():
                with naming(batch.file):
                    self._encoder.collect(batch)
                self.scanned += len(batch.rows)
                if on_scan is not None:
                    on_scan(batch.fraction)
        self.names = self._encoder.names
        self.categorical = self._encoder.categorical
        check_width(len(self.names), self.path.name)
        # Texts may have made it wider.
        self._rows_at_once = rows_at_once(self._rows_at_once, len(self.names))
        twice = first_twice(self.names)
        if twice is not None:
            raise TableError(
                f"{self.path.name}: two columns would be called {twice!r}, one of them a text of "
                "another column; rename one, or ignore it"
            )
        if not self.names:
            raise TableError(f"{self.path.name} has no column besides the target {self.target!r}")

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks from the first row on."""
        return self.chunks()

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Yield the chunks behind the first rows.

        Parameters
        ----------
        skip : int, default=0
            Rows to leave out.

        Yields
        ------
        Chunk
            As when all rows are read; the first may be what is left of one.
        """
        for batch in self._batches():
            if skip >= len(batch.rows):
                skip -= len(batch.rows)
                continue
            with naming(batch.file):
                chunk = self._encoder.encode(batch, self.names)
            yield chunk.part(slice(skip, None)) if skip else chunk
            skip = 0

    settled = True

    def position(self) -> Any:
        """None: a file is taken up by the number of rows read."""
        return None

    def acknowledge(self) -> None:
        """All rows so far have been learnt: of a file nothing follows from it."""

    def plain(self) -> dict[str, Any]:
        """How rows are encoded, as plain values; see `Encoder.plain`."""
        return self._encoder.plain()

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Encode rows as an earlier run did; see `Encoder.restore`."""
        self._encoder.restore(plain)

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
        return join(chunks)

    def _batches(self) -> Iterator[Batch]:
        left = self._limit
        for batch in self._source.batches(self._rows_at_once):
            if left is None or len(batch.rows) < left:
                yield batch
                left = None if left is None else left - len(batch.rows)
            else:
                columns = [cells[:left] for cells in batch.columns]
                yield Batch(batch.rows[:left], columns, 1.0, batch.file)
                return


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Put chunks of one table together.

    Parameters
    ----------
    chunks : sequence of Chunk
        At least one, all rows with a label.

    Returns
    -------
    Chunk
        Their rows; of what file a row is from is left out.
    """
    return Chunk(
        np.concatenate([chunk.X for chunk in chunks]),
        np.concatenate([chunk.y for chunk in chunks]),
        chunks[0].names,
        np.concatenate([chunk.rows for chunk in chunks]),
        1.0,
    )


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let errors name the file where rows come from several.

    Parameters
    ----------
    file : str
        The file; empty if there is but one.

    Raises
    ------
    TableError
        What was raised inside the block, with the file before it.
    """
    try:
        yield
    except TableError as error:
        if not file:
            raise
        raise TableError(f"{file}, {error}") from error


def open_table(
    path: str | Path | Sequence[str | Path],
    target: str | int | None = None,
    *,
    chunk_rows: int = 10_000,
    header: bool = True,
    limit: int | None = None,
    text_columns: Collection[str] = (),
    ignore: Collection[str] = (),
    kind: str | None = None,
    unlabelled: bool = False,
    on_scan: Callable[[float], None] | None = None,
) -> Table:
    r"""Open CSV, JSON lines, ARFF, Parquet or NPZ files as a stream of chunks.

    The file is read once, unless it has columns of texts: then a first pass collects their
    categories, so that the width of ``X`` is known before anything is learnt. Missing values are
    NaN; in text formats an empty cell, ``?``, ``NA``, ``NaN``, ``nan`` and ``-`` stand for one.

    Parameters
    ----------
    path : str, Path, or a sequence of them
        The file. ``.csv``, ``.tsv``, ``.txt`` and ``.data`` are delimited text (comma,
        semicolon or tab, found out), ``.jsonl`` and ``.ndjson`` are JSON lines; ``.arff``,
        ``.parquet``, ``.pq`` and ``.npz`` are themselves. Text may be compressed by gzip (``.gz``)
        or Zstandard (``.zst``). Several files, a pattern such as ``logs/*.csv.gz`` or a folder of
        Parquet files are read as one table; folders named ``column=value`` add a column.
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
        Columns that are texts although most of their cells are numbers.
    ignore : collection of str, default=()
        Columns to leave out.
    kind : {"csv", "tsv", "jsonl", "arff", "parquet", "npz"} or None, default=None
        What the file is, whatever its name ends in.
    unlabelled : bool, default=False
        Whether rows may lack a label; `Chunk.known` then tells which have one.
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
    source = open_source(path, header=header, kind=kind, limit=limit, labels=target)
    place = target if source.label is None else source.label
    if place is None:
        raise TableError(
            "the target is not given: name the column that holds the labels, --target COLUMN"
        )
    return Table(
        source,
        place,
        chunk_rows=chunk_rows,
        limit=limit,
        text_columns=text_columns,
        ignore=ignore,
        unlabelled=unlabelled,
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
    table = Table(CsvSource(check_file(path), header), target).load()
    return table.X, table.y
