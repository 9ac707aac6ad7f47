"""`LateLabels`: rows of a table that wait for their labels, which come as rows of their own."""

from __future__ import annotations

import copy
from collections.abc import Collection, Container, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from mist.io.jsonl import cells_of
from mist.io.source import NO_LABEL, Cells, TableError, as_texts
from mist.streaming.kept_rows import Kept, KeptRows

__all__ = ["LateLabels", "LateRow", "check_ids"]

_LONGEST_ID = 1000


class LateRow(NamedTuple):
    """What a row is to the rows that wait.

    Attributes
    ----------
    id : str
        Its id; empty if it has none.
    role : {"asked", "answer", "unknown", ""}
        A row that waits from now on, the label of a row that waited, a label whose row is not
        there, or an ordinary row.
    kept : Kept or None
        The row that waits or waited. Its ``shares`` are for the predictions of it.
    """

    id: str
    role: str
    kept: Kept | None


class LateLabels:
    """Rows that wait for their labels, by the id in one of their columns.

    A row with an id and no label waits. A later row with the same id and a label is its label: the
    cells are replaced by those of the row that waited. If no row waits, a row that has a value in
    another column is an ordinary one, and a label without its row is counted as unknown.

    Parameters
    ----------
    column : str
        Column of the ids.
    most : int, default=100_000
        Most rows that wait; above it the oldest is dropped.
    rows : int or None, default=None
        Rows of the table after which a row no longer waits; None for no limit. Rows and not
        seconds, so that reading a table again gives the same.
    state : mapping or None, default=None
        Result of `state` earlier.

    Attributes
    ----------
    column : str
        Column of the ids.
    asked, answered, unknown : int
        Rows that waited, labels of such rows, and labels whose row was not there.
    without : int
        Rows that were taken before the first one with an id; those of an earlier run do not count.
    met : bool
        Whether a row that was taken had an id.

    Examples
    --------
    >>> late = LateLabels("id")
    >>> table = {"id": ["a", "b", "a"], "size": ["1", "2", ""], "pet": ["", "", "cat"]}
    >>> columns, rows = late.fill(table, [2, 3, 4], "pet")
    >>> columns["size"], [row.role for row in rows]
    (['1', '2', '1'], ['asked', 'asked', 'answer'])
    >>> len(late), late.summary()
    (1, '2 rows asked, 1 answered, 1 waits')
    """

    def __init__(
        self,
        column: str,
        most: int = 100_000,
        rows: int | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        given: Mapping[str, Any] = {} if state is None else state
        self.column = column
        self.asked, self.answered, self.unknown, self._row = (
            int(given.get(name, 0)) for name in ("asked", "answered", "unknown", "row")
        )
        self._waiting = KeptRows(most, rows, given.get("waiting"))
        self.without, self.met = 0, False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def dropped(self) -> dict[str, int]:
        """Rows that left without a label: ``"full"``, ``"old"``, or ``"replaced"``."""
        return dict(self._waiting.dropped)

    def fill(
        self,
        columns: Mapping[str, Cells],
        rows: Sequence[Any],
        target: str,
        leave_out: Collection[str] = (),
    ) -> tuple[dict[str, Cells], list[LateRow]]:
        """Take the next rows of the table, and give labels the rows that waited for them.

        Parameters
        ----------
        columns : mapping of str to Cells
            The rows, column by column.
        rows : sequence of n
            Their numbers, for messages.
        target : str
            Column of the labels.
        leave_out : collection of str, default=()
            Columns that are not kept.

        Returns
        -------
        columns : dict of str to Cells
            The rows to predict and learn.
        late : list of LateRow
            What each of them is.

        Raises
        ------
        TableError
            If an id is too long.
        """
        n = len(rows)
        out = dict(columns)
        ids, labels = (_texts(columns.get(name), n) for name in (self.column, target))
        names = [
            name for name in columns if name not in (self.column, target) and name not in leave_out
        ]
        late: list[LateRow] = []
        filled: dict[int, dict[str, Any]] = {}
        for place, (id, label) in enumerate(zip(ids, labels, strict=True)):
            self._row += 1
            self._waiting.expire(self._row)
            if len(id) > _LONGEST_ID:
                raise TableError(
                    f"row {rows[place]}, column {self.column!r}: the id has {len(id):,} characters "
                    f"and may have {_LONGEST_ID:,}: name the column of the ids, --id COLUMN"
                )
            late.append(self._take(id, label, columns, names, place))
            if late[-1].role == "answer" and (kept := late[-1].kept) is not None:
                filled[place] = kept.row
        if filled:
            out |= _filled(columns, filled, names)
        unknown = [place for place, row in enumerate(late) if row.role == "unknown"]
        if unknown:
            without = list(labels)
            for place in unknown:
                without[place] = ""
            out[target] = without
        return out, late

    def _take(
        self, id: str, label: str, columns: Mapping[str, Cells], names: Sequence[str], place: int
    ) -> LateRow:
        if not id:
            self.without += not self.met
            return LateRow("", "", None)
        self.met = True
        if label in NO_LABEL:
            kept = Kept(_row_at(columns, names, place), [], float(self._row))
            self._waiting.keep(id, kept)
            self.asked += 1
            return LateRow(id, "asked", kept)
        found = self._waiting.take(id)
        if found is not None:
            self.answered += 1
            return LateRow(id, "answer", found)
        if _row_at(columns, names, place):
            return LateRow(id, "", None)
        self.unknown += 1
        return LateRow(id, "unknown", None)

    def copy(self) -> LateLabels:
        """Return the same rows and counts, to go back to."""
        other = copy.copy(self)
        other._waiting = self._waiting.copy()
        return other

    def go_back(self, to: LateLabels) -> None:
        """Become what `copy` returned before: rows since then were not read."""
        vars(self).update(vars(to))

    def state(self) -> dict[str, Any]:
        """Return rows and counts as plain values and an array, for `mist.persistence.save`."""
        return {
            "asked": self.asked,
            "answered": self.answered,
            "unknown": self.unknown,
            "row": self._row,
            "waiting": self._waiting.state(),
        }

    def summary(self) -> str:
        """Say how many rows waited, and what became of them."""
        dropped = self.dropped
        parts = [
            f"{_counted(self.asked, 'row')} asked",
            f"{self.answered:,} answered",
            f"{len(self):,} {'waits' if len(self) == 1 else 'wait'}",
        ]
        rare = {
            f"{dropped['full']:,} dropped because too many waited": dropped["full"],
            f"{dropped['old']:,} dropped after too many rows": dropped["old"],
            f"{dropped['replaced']:,} replaced by a row with the same id": dropped["replaced"],
            f"{_counted(self.unknown, 'label')} without a row": self.unknown,
        }
        parts += [words for words, count in rare.items() if count]
        return ", ".join(parts)


def check_ids(
    column: str, target: str, hashed: Container[str] = (), text_columns: Container[str] = ()
) -> None:
    """Refuse a column of ids that is the column of the labels, or is to be encoded.

    Raises
    ------
    TableError
        If it is.
    """
    if column == target:
        raise TableError(
            f"column {column!r} is the target and the id: name two columns, --target and --id"
        )
    for option, names in (("--hash", hashed), ("--text", text_columns)):
        if column in names:
            raise TableError(
                f"column {column!r} is the id, which the model does not learn: omit {option} "
                f"{quote(column)}, or name another column, --id COLUMN"
            )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else f'{what}s'}"


def _texts(cells: Cells | None, n: int) -> list[str]:
    """Cells as texts; empty where there is no value."""
    if cells is None:
        return [""] * n
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        texts = as_texts(cells)
        return ["" if text == "nan" else text for text in texts]
    return as_texts(cells)


def _row_at(columns: Mapping[str, Cells], names: Sequence[str], place: int) -> dict[str, Any]:
    """Values of a row by column, without those that are empty."""
    row = {}
    for name in names:
        value = columns[name][place]
        if isinstance(value, np.generic):
            value = value.item()
        if value is not None and value == value and (not isinstance(value, str) or value.strip()):
            row[name] = value
    return row


def _filled(
    columns: Mapping[str, Cells], rows: Mapping[int, Mapping[str, Any]], names: Sequence[str]
) -> dict[str, Cells]:
    """The columns with other rows in some places."""
    n = len(next(iter(columns.values())))
    out: dict[str, Cells] = {}
    for name in dict.fromkeys([*names, *(name for row in rows.values() for name in row)]):
        cells = columns.get(name)
        array = cells is None or isinstance(cells, np.ndarray)
        values: list[Any] = _values(cells, n)
        for place, row in rows.items():
            values[place] = row.get(name, None if array else "")
        out[name] = cells_of(values)
    return out


def _values(cells: Cells | None, n: int) -> list[Any]:
    """Cells as plain values, None where an array has no number."""
    if cells is None:
        return [None] * n
    if isinstance(cells, np.ndarray):
        return [None if value != value else value for value in cells.tolist()]
    return list(cells)
