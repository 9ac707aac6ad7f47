"""A live source as a stream of chunks."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mist.io.csv import delimiter_of
from mist.io.encode import Chunk
from mist.io.growing import GrowingEncoder
from mist.io.kafka import KafkaSource
from mist.io.late_labels import LateLabels, check_ids
from mist.io.live import LiveSource, Records
from mist.io.numerals import CellRules
from mist.io.pipe import is_pipe, open_pipe
from mist.io.source import Cells, Column, TableError, find_column
from mist.io.targets import Targets

__all__ = ["LiveTable", "is_live", "open_live", "open_stream"]

_KAFKA = "kafka://"
_TRIED = 1000
"""Most rows to wait for the label column, if the columns are not known in advance."""


class LiveTable:
    """Rows of a stream that is read once, as chunks with columns by name.

    Made by :func:`open_live`.

    Parameters
    ----------
    source : LiveSource
        The stream.
    target : str
        The label column.
    text_columns : collection of str, default=()
        Columns that are always read as text.
    ignore : collection of str, default=()
        Columns to leave out.
    unlabelled : bool, default=True
        Whether rows may lack a label.
    limit : int or None, default=None
        Most rows to read.
    rules : CellRules
        What the cells mean.
    late : LateLabels or None, default=None
        Rows that wait for their labels, by an id column; needs ``unlabelled``.

    Attributes
    ----------
    name : str
        Name of the stream, for messages.
    target : str
        Name of the label column.
    categorical : tuple of int
        Empty: the text columns are not known in advance.
    settled : bool
        Whether the chunks so far contain all rows that the source has yielded; otherwise
        `position` is that of an earlier row.
    """

    categorical: tuple[int, ...] = ()

    def __init__(
        self,
        source: LiveSource,
        target: str,
        *,
        text_columns: Collection[str] = (),
        ignore: Collection[str] = (),
        unlabelled: bool = True,
        limit: int | None = None,
        rules: CellRules = CellRules(),  # noqa: B008, immutable
        late: LateLabels | None = None,
    ) -> None:
        self.name = source.name
        self._late = late
        self.target = target
        self._source = source
        self._text_columns = text_columns
        self._ignore = ignore
        self._unlabelled = unlabelled
        self._limit = limit
        self._rules = rules
        self.settled = True
        self._encoder: GrowingEncoder | None = None
        self._targets: Targets | None = None
        self._restored: Mapping[str, Any] | None = None
        self._position: Any = None
        self._seen: set[str] = set()
        self._rows = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns so far."""
        return () if self._encoder is None else tuple(self._encoder.names)

    @property
    def columns_known(self) -> bool:
        """Whether `columns` are all columns of the stream; else rows may bring new ones."""
        return self._source.fixed is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the stream that are learnt from, as far as they are known."""
        if self._encoder is None:
            return ()
        late = None if self._late is None else self._late.column
        left_out = {self.target, late, *self._ignore}
        names = self._source.fixed or self._encoder.plain()["seen"]
        return tuple(name for name in names if name not in left_out)

    @property
    def crowded(self) -> Mapping[str, str]:
        """Columns with more texts so far than get 0/1 columns, and the first without one."""
        return {} if self._encoder is None else self._encoder.crowded

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Columns of texts so far in which NA is taken as missing."""
        return () if self._encoder is None else tuple(self._encoder.doubtful)

    @property
    def unmet(self) -> set[str]:
        """Labels to rename that no row has had so far."""
        return set(self._rules.renamed) if self._targets is None else self._targets.unmet

    def chunks(self, size: int, position: Any = None, skip: int = 0) -> Iterator[Chunk]:
        """Yield rows as they arrive, and a chunk without rows when none arrive for a while.

        Parameters
        ----------
        size : int
            Most rows in a chunk.
        position : object
            Where to begin, from `position` of an earlier run; None for the start of the source.
        skip : int
            Number of rows to skip.

        Yields
        ------
        Chunk
            ``X`` is a mapping of names to columns, and ``fraction`` is 0.
        """
        if position is not None:
            self._source.resume(position)
            self._position = position
        limit = None if self._limit is None else skip + self._limit
        try:
            for records in self._source.batches(size, limit):
                if skip:
                    records, skip = _behind(records, skip)
                if not len(records.rows):
                    yield Chunk({}, np.zeros(0), self.names, records.rows, 0.0)
                    continue
                try:
                    chunks = self._encode_all(records)
                except TableError:
                    # A source that can be read again is not learnt in part; a pipe is.
                    if self._source.position() is None:
                        yield from self._up_to_fault(records)
                    raise
                self.settled = False
                yield from chunks[:-1]
                # Taken now: the source may read on before the last chunk is learnt.
                self._position = self._source.position()
                self.settled = True
                yield chunks[-1]
        finally:
            self._source.close()

    def position(self) -> Any:
        """Position from which a later run can continue; None if the source has none."""
        return self._position

    def acknowledge(self) -> None:
        """Report that all rows up to `position` were learnt and need not be sent again."""
        self._source.acknowledge(self._position)

    def plain(self) -> dict[str, Any]:
        """Return how rows are encoded, as plain values that can be written to a file."""
        if self._encoder is None or self._targets is None:
            return dict(self._restored or GrowingEncoder().plain(), target=self.target)
        integers = self._targets.integers
        return {"target": self.target, "integers": integers, **self._encoder.plain()}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Encode rows like an earlier run, given the output of its `plain`."""
        self._restored = plain
        self.target = plain["target"]

    def _encode_all(self, records: Records) -> list[Chunk]:
        """Encode records; after an error no row waits that did not wait before."""
        before = None if self._late is None else self._late.copy()
        try:
            return list(self._encode(records))
        except TableError:
            if self._late is not None and before is not None:
                self._late.go_back(before)
            raise

    def _encode(self, records: Records) -> Iterator[Chunk]:
        if self._encoder is None or self._targets is None:
            self._begin(self._source.fixed)
        assert self._encoder is not None
        assert self._targets is not None
        self._check_target(records)
        late = None
        if self._late is not None:
            columns, late = self._late.fill(
                records.columns, records.rows.tolist(), self.target, self._ignore
            )
            records = records._replace(columns=columns)
        cells: Cells = records.columns.get(self.target, np.full(len(records.rows), np.nan))
        y, known = self._targets.read(cells, records.rows)
        for rows, X in self._encoder.encode(records):
            there = None if known is None else known[rows]
            yield Chunk(
                X,
                y[rows],
                self.names,
                records.rows[rows],
                0.0,
                there,
                indicators=self._encoder.indicators,
                late=None if late is None else late[rows],
            )

    def _up_to_fault(self, records: Records) -> Iterator[Chunk]:
        """Rows before the first invalid one, so that the model does not depend on pauses."""
        for row in range(len(records.rows)):
            columns = {name: cells[row : row + 1] for name, cells in records.columns.items()}
            try:
                chunks = self._encode_all(Records(records.rows[row : row + 1], columns))
            except TableError:
                return
            yield from chunks

    def _begin(self, fixed: Sequence[str] | None) -> None:
        if fixed is not None:
            where = Path(self.name)
            self.target = fixed[find_column(fixed, self.target, where)]
            self._text_columns, self._ignore = (
                {fixed[find_column(fixed, name, where)] for name in given}
                for given in (self._text_columns, self._ignore)
            )
            if self._late is not None:
                self._late.column = fixed[find_column(fixed, self._late.column, where)]
            hashed = (fixed[find_column(fixed, name, where)] for name in self._rules.hashed)
            self._rules = self._rules._replace(hashed=frozenset(hashed))
        self._targets = Targets(
            Column(self.target),
            as_texts=self.target in self._text_columns,
            unlabelled=self._unlabelled,
            renamed=self._rules.renamed,
        )
        leave_out = {self.target, *self._ignore}
        if self._late is not None:
            check_ids(self._late.column, self.target, self._rules.hashed, self._text_columns)
            leave_out.add(self._late.column)
        self._encoder = GrowingEncoder(self._text_columns, leave_out, self._rules)
        if self._restored is not None:
            self._encoder.restore(self._restored)
            self._targets.integers = self._restored.get("integers")

    def _check_target(self, records: Records) -> None:
        """Refuse a label column that no row has: its name may be misspelt."""
        if self._rows > _TRIED:
            return
        self._rows += len(records.rows)
        self._seen.update(records.columns)
        if self.target in self._seen:
            self._rows = _TRIED + 1
        elif self._rows > _TRIED:
            close = [name for name in self._seen if name.casefold() == self.target.casefold()]
            close = close or difflib.get_close_matches(self.target, self._seen, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TableError(
                f"{self.name}: no row so far has the column {self.target!r} with the labels{hint}"
            )


def is_live(paths: Sequence[str]) -> bool:
    """Whether a path is a stream that can be read only once: standard input, a pipe, a topic.

    Parameters
    ----------
    paths : sequence of str
        Paths given by the user.

    Returns
    -------
    bool
        True if so.

    Raises
    ------
    TableError
        If such a stream is given together with other paths.

    Examples
    --------
    >>> is_live(["-"]), is_live(["kafka://host:9092/topic"]), is_live(["a.csv", "b.csv"])
    (True, True, False)
    """
    live = [path for path in paths if path.startswith(_KAFKA) or is_pipe(path)]
    if live and len(paths) > 1:
        raise TableError(f"{live[0]} is a stream: give it alone, not with other files")
    return bool(live)


def open_live(
    path: str,
    target: str | None,
    *,
    kind: str | None = None,
    header: bool | None = None,
    limit: int | None = None,
    text_columns: Collection[str] = (),
    ignore: Collection[str] = (),
    unlabelled: bool = True,
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    separator: str | None = None,
    hashed: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    late: LateLabels | None = None,
) -> LiveTable:
    """Open standard input, a pipe or a topic of Kafka as a stream of chunks.

    Parameters
    ----------
    path : str
        ``-`` for standard input, a named pipe, or ``kafka://HOST:PORT/TOPIC?...``, see
        `mist.io.kafka.read_address`.
    target : str or None
        The label column.
    kind : {"csv", "tsv", "jsonl"} or None, default=None
        Format of the pipe; None to detect it from the first line.
    header : bool or None, default=None
        Whether delimited text begins with the names of its columns; None: it does, and a first row
        that looks like data is refused.
    limit : int or None, default=None
        Most rows to read.
    text_columns : collection of str, default=()
        Columns that are always read as text.
    ignore : collection of str, default=()
        Columns to leave out.
    unlabelled : bool, default=True
        Whether rows may lack a label; `Chunk.known` then says which have one.
    missing, decimal, separator, hashed, renamed, late
        See `mist.io.open_table`.

    Returns
    -------
    LiveTable
        Its chunks have columns by name, for ``prequential_many``.

    Raises
    ------
    TableError
        If the target is not given, or the stream cannot be opened.
    """
    if target is None:
        raise TableError(
            "the target is not given: name the column that holds the labels, --target COLUMN"
        )
    read = (target, late and late.column)
    return LiveTable(
        open_stream(path, kind, header, separator, [name for name in ignore if name not in read]),
        target,
        text_columns=text_columns,
        ignore=ignore,
        unlabelled=unlabelled,
        limit=limit,
        rules=CellRules.of(missing, decimal, hashed, renamed),
        late=late,
    )


def open_stream(
    path: str,
    kind: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    ignore: Container[str] = (),
) -> LiveSource:
    """Open a live source.

    Parameters
    ----------
    path, kind, header, separator
        See `open_live`.
    ignore : container of str
        Columns that are not read.

    Returns
    -------
    LiveSource
        Its records.

    Raises
    ------
    TableError
        If it cannot be opened.
    """
    if not path.startswith(_KAFKA):
        return open_pipe(path, kind, header, delimiter_of(separator), ignore)
    if kind is not None or header is False or separator is not None:
        raise TableError(f"{path}: give the format of messages in the address: ?format=csv")
    return KafkaSource(path, ignore)


def _behind(records: Records, skip: int) -> tuple[Records, int]:
    count = min(skip, len(records.rows))
    columns = {name: cells[count:] for name, cells in records.columns.items()}
    return Records(records.rows[count:], columns), skip - count
