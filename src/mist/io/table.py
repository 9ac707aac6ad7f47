"""Tables on disk as streams of chunks."""

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
from mist.io.late_labels import LateLabels, check_ids
from mist.io.numerals import CellRules
from mist.io.opening import check_file, open_source
from mist.io.source import RawRows, Source, TableError, find_column

__all__ = ["Table", "join", "load_csv", "naming", "open_table"]


_LATE_ROWS = 1000
"""Rows that are taken together if rows wait for labels: none is taken before it is learnt."""


class Table:
    """Rows of a file as chunks of numbers and labels; can be iterated any number of times.

    Made by :func:`open_table`. Memory is bounded by the chunk, whatever the size of the file.

    Parameters
    ----------
    source : Source
        The file.
    target : str or int
        The label column by name or position.
    chunk_rows : int, default=10_000
        Most rows in a chunk; fewer if there are very many columns.
    limit : int or None, default=None
        Most rows to read.
    text_columns : collection of str, default=()
        Columns that are always read as text.
    ignore : collection of str, default=()
        Columns to leave out.
    unlabelled : bool, default=False
        Whether rows may lack a label.
    on_scan : callable or None, default=None
        Called with the share of the file read, while a first pass collects categories.
    rules : CellRules
        What the cells mean.
    late : LateLabels or None, default=None
        Rows that wait for their labels, by an id column; needs ``unlabelled``.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Name of the file.
    target : str
        Name of the label column.
    names : tuple of str
        Names of the columns of ``X``.
    categorical : tuple of int
        Positions of the 0/1 columns made from texts.
    text_columns : tuple of str
        Columns whose categories were collected in a first pass.
    doubtful : tuple of str
        Columns of texts in which NA is taken as missing.
    scanned : int
        Rows read in that first pass; 0 without one.
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
        rules: CellRules = CellRules(),  # noqa: B008, immutable
        late: LateLabels | None = None,
    ) -> None:
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows must be at least 1, got {chunk_rows}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        self._source = source
        self.path = source.path
        self.name = source.path.name
        self._limit = limit
        names = [column.name for column in source.columns]
        place = find_column(names, target, source.path)
        self.target = names[place]
        text_columns, ignore, hashed = (
            {names[find_column(names, name, source.path)] for name in given}
            for given in (text_columns, ignore, rules.hashed)
        )
        rules = rules._replace(hashed=frozenset(hashed))
        self._late, self._leave_out = late, ignore
        if late is not None:
            late.column = names[find_column(names, late.column, source.path)]
            check_ids(late.column, self.target, hashed, text_columns)
            ignore = {*ignore, late.column}
        self._rows_at_once = rows_at_once(chunk_rows, len(names))
        first = next(self._batches(), None)
        if first is None:
            raise TableError(f"{self.path.name} is empty: it has columns, but no rows")
        self._encoder = Encoder.decide(
            source.columns, place, first, text_columns, ignore, unlabelled, rules
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
            self._encoder.check_texts()
        self.doubtful = tuple(self._encoder.doubtful)
        self.names = self._encoder.names
        self.categorical = self._encoder.categorical
        self._check_names()

    def _check_names(self) -> None:
        """Refuse columns that are too many, none, or two of one name."""
        check_width(len(self.names), self.path.name)
        # Text columns may have made the table wider.
        self._rows_at_once = rows_at_once(self._rows_at_once, len(self.names))
        twice = first_twice(self.names)
        if twice is not None:
            raise TableError(
                f"{self.path.name}: two columns would be called {twice!r}, one of them a text of "
                "another column; rename or ignore one"
            )
        if not self.names:
            raise TableError(
                f"{self.path.name} has no column except the target {self.target!r}; if columns are "
                "there, give what separates them: --separator"
            )

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks from the first row on."""
        return self.chunks()

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Yield the chunks after the first rows.

        Parameters
        ----------
        skip : int, default=0
            Number of rows to skip.

        Yields
        ------
        Chunk
            The same chunks as without ``skip``; the first may be the rest of a chunk.
        """
        for batch in self._batches():
            if skip >= len(batch.rows):
                skip -= len(batch.rows)
                continue
            with naming(batch.file):
                yield from self._encode(_rows_of(batch, slice(skip, None)) if skip else batch)
            skip = 0

    def _encode(self, batch: RawRows) -> Iterator[Chunk]:
        """Encode a batch; with rows that wait for labels in parts, each when it is learnt."""
        if self._late is None:
            yield self._encoder.encode(batch, self.names)
            return
        names = [column.name for column in self._source.columns]
        for begin in range(0, len(batch.rows), _LATE_ROWS):
            part = _rows_of(batch, slice(begin, begin + _LATE_ROWS))
            columns = dict(zip(names, part.columns, strict=True))
            columns, late = self._late.fill(
                columns, part.rows.tolist(), self.target, self._leave_out
            )
            part = part._replace(columns=[columns[name] for name in names])
            yield self._encoder.encode(part, self.names)._replace(late=late)

    @property
    def unmet(self) -> set[str]:
        """Labels to rename that no row has had so far."""
        return self._encoder.unmet

    settled = True
    columns_known = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the file that are learnt from."""
        return tuple(self._encoder.plain()["columns"])

    def position(self) -> Any:
        """None: reading of a file is resumed by the number of rows."""
        return None

    def acknowledge(self) -> None:
        """Report that all rows so far were learnt; does nothing for files."""

    def plain(self) -> dict[str, Any]:
        """Return how rows are encoded, as plain values; see `Encoder.plain`."""
        return self._encoder.plain()

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Encode rows like an earlier run; see `Encoder.restore`."""
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

    def _batches(self) -> Iterator[RawRows]:
        left = self._limit
        for batch in self._source.batches(self._rows_at_once):
            if left is None or len(batch.rows) < left:
                yield batch
                left = None if left is None else left - len(batch.rows)
            else:
                yield _rows_of(batch, slice(left))._replace(fraction=1.0)
                return


def _rows_of(batch: RawRows, rows: slice) -> RawRows:
    """Return some rows of a batch."""
    return batch._replace(rows=batch.rows[rows], columns=[cells[rows] for cells in batch.columns])


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks of one table.

    Parameters
    ----------
    chunks : sequence of Chunk
        At least one chunk, with a label in every row.

    Returns
    -------
    Chunk
        Their rows, without the file of each row.
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
    """Add the file name to errors if rows come from several files.

    Parameters
    ----------
    file : str
        The file; empty if there is only one.

    Raises
    ------
    TableError
        The error of the block, preceded by the file.
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
    header: bool | None = None,
    limit: int | None = None,
    text_columns: Collection[str] = (),
    ignore: Collection[str] = (),
    kind: str | None = None,
    unlabelled: bool = False,
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    separator: str | None = None,
    hashed: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    late: LateLabels | None = None,
    on_scan: Callable[[float], None] | None = None,
) -> Table:
    r"""Open CSV, JSON lines, ARFF, Parquet or NPZ files as a stream of chunks.

    The file is read once. If it has text columns, a first pass collects their categories, so that
    the width of ``X`` is known before learning begins. Missing values are NaN; in text formats an
    empty cell and the words of `mist.io.source.MISSING` mean a missing value. How numbers may be
    written, and what is refused, is in "Mixed data".

    Parameters
    ----------
    path : str, Path, or a sequence of them
        The file. ``.csv``, ``.tsv``, ``.txt`` and ``.data`` are delimited text (comma,
        semicolon, tab or spaces, detected), ``.jsonl`` and ``.ndjson`` are JSON lines; ``.arff``,
        ``.parquet``, ``.pq`` and ``.npz`` are read, too. Text may be compressed by gzip (``.gz``)
        or Zstandard (``.zst``). Several files, a pattern such as ``logs/*.csv.gz`` or a folder of
        Parquet files are read as one table; folders named ``column=value`` add a column.
    target : str, int or None
        The label column by name, or by position counted from 0 (negative: from the end). For an
        NPZ archive, the name of the array of labels; None for ``"y"``.
    chunk_rows : int, default=10_000
        Most rows in a chunk.
    header : bool or None, default=None
        Whether the first record of a delimited file holds the names; None: it does, and is refused
        if it looks like data. Without names the columns are called ``"0"``, ``"1"`` and so on.
    limit : int or None, default=None
        Most rows to read.
    text_columns : collection of str, default=()
        Columns that are always read as text.
    ignore : collection of str, default=()
        Columns to leave out.
    kind : {"csv", "tsv", "jsonl", "arff", "parquet", "npz"} or None, default=None
        Kind of the file; None to use its ending.
    unlabelled : bool, default=False
        Whether rows may lack a label; `Chunk.known` then says which have one.
    missing : sequence of str or None, default=None
        The words that mean a missing value, in addition to empty cells; None for the default.
    decimal : {".", ","} or None, default=None
        The decimal mark; None to take it from the first rows, column by column.
    separator : str or None, default=None
        What is between the cells of delimited text: a character, or comma, semicolon, tab or space
        (any run of spaces and tabs); None to detect it.
    hashed : collection of str, default=()
        Columns whose texts become 64 0/1 columns by their hash.
    renamed : mapping of str to str or None, default=None
        Labels that are read as others, such as a word that was typed wrong.
    late : LateLabels or None, default=None
        Rows that wait for their labels, by an id column; needs ``unlabelled``.
    on_scan : callable or None, default=None
        Called with the share of the file read during a first pass.

    Returns
    -------
    Table
        Iterable of chunks ``(X, y, names, rows, fraction, ...)``.

    Raises
    ------
    TableError
        If the file cannot be read as a table. Errors in later rows are raised while iterating.
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
    rules = CellRules.of(missing, decimal, hashed, renamed)
    source = open_source(
        path,
        header=header,
        kind=kind,
        limit=limit,
        labels=target,
        separator=separator,
        ignore=[name for name in ignore if name not in (target, late and late.column)],
        rules=rules,
    )
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
        rules=rules,
        late=late,
    )


def load_csv(
    path: str | Path, target: str | int, header: bool | None = None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    r"""Read a delimited text file into memory.

    Parameters
    ----------
    path : str or Path
        The file, with any ending.
    target : str or int
        Name or position (negative: from the end) of the label column.
    header : bool or None, default=None
        Whether the first record holds the names of the columns; None: it does, and is refused if
        it looks like data.

    Returns
    -------
    X : ndarray of float64, shape (n_rows, n_columns)
        Numbers, one-hot encoded texts, and NaN for missing cells.
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
