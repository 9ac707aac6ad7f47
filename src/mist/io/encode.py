"""Encoding of cells: text columns become 0/1 columns, labels become integers or texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mist.io.late_labels import LateRow
from mist.io.numerals import (
    BUCKETS,
    PLAIN,
    AmbiguousNumbers,
    CellRules,
    NumberFormat,
    as_numbers,
    cell_rules,
    check_range,
    find_format,
    rules_as_plain,
)
from mist.io.source import Cells, Column, RawRows, TableError, as_texts, is_doubtful
from mist.io.targets import Targets
from mist.onehot import UNKNOWN, buckets_of, codes_of, new_texts, write_one_hot

__all__ = ["MAX_CATEGORIES", "Chunk", "Encoder", "known_texts"]

MAX_CATEGORIES = 1000
"""Most texts of a column: one with more is refused as an identifier or free text."""

_FEW_TEXTS = 50
"""Texts of a column that are never too many for its rows."""


class Chunk(NamedTuple):
    """Some rows of a table, ready for a classifier.

    Attributes
    ----------
    X : ndarray of float64, shape (n, d), or mapping of names to columns
        The columns named in ``names``; for a live stream, the columns of these rows by name. NaN
        where a value is missing.
    y : ndarray, shape (n,)
        Labels, int64 or texts.
    names : tuple of str
        Names of the d columns; a 0/1 column of a text is called ``"column=text"``.
    rows : ndarray of int64, shape (n,)
        Row numbers: line numbers of the file for text formats, else counted from 1.
    fraction : float
        How much of the file has been read, between 0 and 1.
    known : ndarray of bool, shape (n,), or None
        Where there is a label; ``y`` holds 0 or an empty text elsewhere. None if all rows have one.
    file : str
        The file of the rows, if several files are read as one.
    indicators : mapping
        For a live stream the text column of each 0/1 column, see `MistClassifier.learn_many`.
    late : sequence of LateRow, n of them, or None
        What each row is to the rows that wait for their labels; None without an id column.
    """

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...]
    rows: NDArray[np.int64]
    fraction: float
    known: NDArray[np.bool_] | None = None
    file: str = ""
    indicators: Mapping[str, str] = MappingProxyType({})
    late: Sequence[LateRow] | None = None

    def places(self) -> list[Any]:
        """Return the origin of each row: its number, or file and number."""
        rows: list[int] = self.rows.tolist()
        return [f"{self.file}:{row}" for row in rows] if self.file else rows

    def labels(self) -> list[Any]:
        """Return the label of each row, an empty text where there is none."""
        labels: list[Any] = self.y.tolist()
        if self.known is None:
            return labels
        return [label if there else "" for label, there in zip(labels, self.known, strict=True)]

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns of ``X`` by name."""
        return self.X if isinstance(self.X, dict) else dict(zip(self.names, self.X.T, strict=True))

    def has_missing(self) -> bool:
        """Whether a value is missing."""
        columns = self.X.values() if isinstance(self.X, dict) else [self.X]
        return any(np.isnan(column).any() for column in columns)

    def part(self, rows: slice) -> Chunk:
        """Return some of the rows.

        Parameters
        ----------
        rows : slice
            The rows.

        Returns
        -------
        Chunk
            These rows with the same columns.
        """
        known = None if self.known is None else self.known[rows]
        X = {n: v[rows] for n, v in self.X.items()} if isinstance(self.X, dict) else self.X[rows]
        late = None if self.late is None else self.late[rows]
        return self._replace(X=X, y=self.y[rows], rows=self.rows[rows], known=known, late=late)


class Encoder:
    """Turns batches into chunks, given the kind of each column.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the batches.
    used : sequence of int
        Positions of the columns that become columns of ``X``.
    codes : dict
        Codes of the texts, from 0 on, by position of the text column.
    target : int
        Position of the label column.
    targets : Targets
        Reader of the labels.
    rules : CellRules
        What the cells mean.
    formats : mapping
        How the numbers of a column are written, by position, where they are not plain.

    Attributes
    ----------
    doubtful : dict
        Keys are the columns of texts in which `DOUBTFUL` is taken as missing.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        used: Sequence[int],
        codes: dict[int, dict[str, int]],
        target: int,
        targets: Targets,
        rules: CellRules = CellRules(),  # noqa: B008, immutable
        formats: Mapping[int, NumberFormat] | None = None,
    ) -> None:
        self._columns = columns
        self._used = used
        # A dict keeps texts in order of appearance.
        self._codes = codes
        self._target = target
        self._targets = targets
        self._rules = rules
        self._formats = formats or {}
        # Non-missing cells of the open columns, and the columns that are text in any case.
        self._filled = dict.fromkeys(codes, 0)
        self._wanted: Collection[str] = ()
        self.doubtful: dict[str, None] = {}

    @classmethod
    def decide(
        cls,
        columns: Sequence[Column],
        target: int,
        first: RawRows,
        text_columns: Collection[str] = (),
        ignore: Collection[str] = (),
        unlabelled: bool = False,
        rules: CellRules = CellRules(),  # noqa: B008, immutable
    ) -> Encoder:
        """Make an encoder that takes the kinds of the columns from the first rows.

        If the file does not declare a column, it is text when more than half of its non-missing
        cells in the first batch are not numbers in any format. Otherwise it is numeric, and a
        cell that is not a number in the format of the most is an error, from the first row on.

        Parameters
        ----------
        columns : sequence of Column
            The columns of the file, including the target.
        target : int
            Position of the target.
        first : Batch
            The first rows.
        text_columns : collection of str
            Columns that are always read as text; may include the target.
        ignore : collection of str
            Columns to leave out.
        unlabelled : bool
            Whether rows may lack a label.
        rules : CellRules
            What the cells mean.

        Returns
        -------
        Encoder
            It knows only the categories that the file declares.

        Raises
        ------
        TableError
            If a column holds dates, or numbers that can be read in two ways.
        """
        used = [j for j, column in enumerate(columns) if j != target and column.name not in ignore]
        codes: dict[int, dict[str, int]] = {}
        formats: dict[int, NumberFormat] = {}
        unclear: dict[int, AmbiguousNumbers] = {}
        for j in used:
            name = columns[j].name
            if name in rules.hashed:
                codes[j] = {f"#{bucket}": bucket for bucket in range(BUCKETS)}
                continue
            try:
                named = name in text_columns
                form = None if named else _format_of(columns[j], first.columns[j], rules)
            except AmbiguousNumbers as fault:
                unclear[j] = fault
                continue
            if form is None:
                codes[j] = {text: i for i, text in enumerate(columns[j].categories or ())}
            elif form != PLAIN:
                formats[j] = form
        marks = {form.decimal for form in formats.values()}
        for j, error in unclear.items():
            # Other columns may say what a comma is in this file.
            if len(marks) != 1:
                raise error
            formats[j] = NumberFormat(*marks)
        targets = Targets(
            columns[target],
            as_texts=columns[target].name in text_columns,
            unlabelled=unlabelled,
            renamed=rules.renamed,
        )
        targets.look(first.columns[target])
        encoder = cls(columns, used, codes, target, targets, rules, formats)
        encoder._wanted = text_columns
        return encoder

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Encoder:
        """Make an encoder from the output of `plain`; its rows may lack a label.

        Parameters
        ----------
        plain : mapping
            From `plain`.

        Returns
        -------
        Encoder
            For batches with the columns of ``X``, followed by the labels.
        """
        texts = plain["texts"]
        columns = [
            *(Column(name, "text" if name in texts else "number") for name in plain["columns"]),
            Column(plain["target"]),
        ]
        codes = {
            j: {text: i for i, text in enumerate(texts[name])}
            for j, name in enumerate(plain["columns"])
            if name in texts
        }
        targets = Targets(columns[-1], unlabelled=True)
        targets.integers = plain["integers"]
        rules, by_name = cell_rules(plain)
        formats = {j: by_name[n] for j, n in enumerate(plain["columns"]) if n in by_name}
        used = range(len(columns) - 1)
        return cls(columns, used, codes, len(columns) - 1, targets, rules, formats)

    def plain(self) -> dict[str, Any]:
        """Return kinds and categories as lists and texts that can be written to a file.

        Returns
        -------
        dict
            ``target`` and ``columns`` by name, the ``texts`` of each text column, and whether
            labels are ``integers``; ``missing`` and ``formats`` where they are not the default.
        """
        names = {j: self._columns[j].name for j in self._used}
        return {
            "target": self._columns[self._target].name,
            "columns": list(names.values()),
            "texts": {names[j]: list(codes) for j, codes in self._codes.items()},
            "integers": self._targets.integers,
            **rules_as_plain(self._rules, {names[j]: form for j, form in self._formats.items()}),
        }

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier encoder of the same table.

        Parameters
        ----------
        plain : mapping
            Returned by its `plain`.

        Raises
        ------
        TableError
            If the table has other columns or other texts.
        """
        mine = self.plain()
        for key in ("target", "columns", "texts", "formats", "missing", "hashed"):
            if mine.get(key) != plain.get(key):
                raise TableError(
                    "the table has other columns or texts than at the checkpoint; delete the "
                    "checkpoint to start again"
                )
        self._targets.integers = plain["integers"]

    @property
    def open_columns(self) -> list[str]:
        """Names of the text columns whose categories must be collected from the rows."""
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

    def collect(self, batch: RawRows) -> None:
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
            codes, name = self._codes[j], self._columns[j].name
            texts = known_texts(name, batch.columns[j], codes, self._rules)
            self._filled[j] += len(texts) - texts.count(None)
            if name not in self.doubtful and is_doubtful(batch.columns[j], self._rules.missing):
                self.doubtful[name] = None
            for place, text in new_texts(texts, codes):
                if len(codes) == MAX_CATEGORIES:
                    raise TableError(
                        f"row {batch.rows[place]}, column {name!r}: more than {MAX_CATEGORIES} "
                        f"different texts; leave this column out: --ignore {quote(name)} (or "
                        f"--hash {quote(name)})"
                    )
                codes[text] = len(codes)

    def check_texts(self) -> None:
        """Refuse a column in which most rows have a text of their own, once all are collected.

        Raises
        ------
        TableError
            If there is one that was not declared as text by the user.
        """
        for j in self._open():
            name, n_texts, filled = self._columns[j].name, len(self._codes[j]), self._filled[j]
            if name not in self._wanted and n_texts > _FEW_TEXTS and 2 * n_texts > filled:
                example = next(iter(self._codes[j]))
                raise TableError(
                    f"column {name!r} has {n_texts} different texts in {filled} rows, such as "
                    f"{example!r}: it names rows rather than groups of them; leave it out: "
                    f"--ignore {quote(name)} (--hash {quote(name)} makes {BUCKETS} groups of them, "
                    f"--text {quote(name)} a column for each)"
                )

    def encode(
        self, batch: RawRows, names: tuple[str, ...] | None = None, *, allow_new: bool = False
    ) -> Chunk:
        """Turn a batch into numbers and labels.

        Parameters
        ----------
        batch : Batch
            Rows of the file.
        names : tuple of str or None
            The encoded columns, as given by ``names`` once all categories are known.
        allow_new : bool, default=False
            Whether texts that were not collected are allowed: all their 0/1 columns are 0.

        Returns
        -------
        Chunk
            The same rows.

        Raises
        ------
        TableError
            If a cell is not a number, is infinite or is an unknown text, or a label is missing;
            the message names row and column.
        """
        names = self.names if names is None else names
        X = np.empty((len(batch.rows), len(names)))
        start = 0
        for j in self._used:
            name, cells = self._columns[j].name, batch.columns[j]
            codes = self._codes.get(j)
            width = 1 if codes is None else len(codes)
            block = X[:, start : start + width]
            if codes is None:
                form = self._formats.get(j, PLAIN)
                block[:, 0] = as_numbers(cells, batch.rows, name, form, self._rules.missing)
                check_range(block[:, 0], batch.rows, name)
            else:
                texts = known_texts(name, cells, codes, self._rules)
                _one_hot(texts, codes, batch.rows, name, block, allow_new)
            start += width
        y, known = self._targets.read(batch.columns[self._target], batch.rows)
        return Chunk(X, y, names, batch.rows, batch.fraction, known, batch.file)

    @property
    def unmet(self) -> set[str]:
        """Labels to rename that have not come so far."""
        return self._targets.unmet

    def _open(self) -> list[int]:
        hashed = self._rules.hashed
        return [
            j
            for j in self._codes
            if self._columns[j].categories is None and self._columns[j].name not in hashed
        ]


def _format_of(column: Column, cells: Cells, rules: CellRules) -> NumberFormat | None:
    """The format of the numbers of a column, None for a column of texts."""
    if isinstance(cells, np.ndarray):
        return None if column.kind == "text" else PLAIN
    if column.categories is not None:
        return None
    known = [text for text in map(str.strip, cells) if text not in rules.missing]
    form = find_format(known, rules, column.name)
    if column.kind == "open":
        return form
    return None if column.kind == "text" else form or PLAIN


def _one_hot(
    texts: Sequence[str | None],
    codes: Mapping[str, int],
    rows: NDArray[np.int64],
    name: str,
    out: NDArray[np.float64],
    allow_new: bool,
) -> None:
    found = codes_of(texts, codes)
    if not allow_new:
        for i in np.flatnonzero(found == UNKNOWN):
            raise TableError(f"row {rows[i]}, column {name!r}: unknown category {texts[int(i)]!r}")
    write_one_hot(found, np.arange(len(codes)), out)


def known_texts(
    name: str, cells: Cells, codes: Collection[str], rules: CellRules
) -> list[str | None]:
    """Return the texts of cells, None where one is missing.

    Parameters
    ----------
    name : str
        Name of the column.
    cells : Cells
        Texts or an array.
    codes : collection of str
        Known texts, which are never taken as missing.
    rules : CellRules
        What the cells mean.

    Returns
    -------
    list of str or None
        One entry per cell; for a hashed column, the group of the text.

    Examples
    --------
    >>> known_texts("t", ["a", "?", "NA"], {"NA": 0}, CellRules())
    ['a', None, 'NA']
    """
    marks = rules.missing.difference(codes)
    texts = [None if text in marks else text for text in as_texts(cells)]
    if name not in rules.hashed:
        return texts
    buckets = buckets_of(texts, BUCKETS)
    return [None if text is None else f"#{buckets[text]}" for text in texts]
