"""Encoding of records in one pass, with new columns and texts at any time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.io.bounds import check_width
from mist.io.encode import known_texts
from mist.io.live import Records
from mist.io.numerals import (
    PLAIN,
    CellRules,
    NumberFormat,
    as_numbers,
    cell_rules,
    check_range,
    find_format,
    rules_as_plain,
)
from mist.io.source import Cells, TableError, as_number, as_texts, is_doubtful
from mist.onehot import codes_of, new_texts, write_one_hot

__all__ = ["MOST_TEXTS", "GrowingEncoder"]

MOST_TEXTS = 100
"""Most texts of a column that get 0/1 columns; later texts are 0 in all of them."""

_TEXTS_TRIED = 5
"""Texts after which a column is refused if only the first of them is not a number."""

_Columns = dict[str, NDArray[np.float64]]


class GrowingEncoder:
    """Turns records into numeric columns by name, and adds columns when they are needed.

    The first non-missing cell of a column decides whether it holds numbers or texts. The first
    occurrence of a text adds a 0/1 column, called ``"column=text"``.

    Parameters
    ----------
    text_columns : collection of str
        Columns that are always read as text.
    leave_out : collection of str
        Columns that are not encoded: the labels and ignored columns.
    rules : CellRules
        What the cells mean.

    Attributes
    ----------
    names : dict
        Keys are the names of the encoded columns so far, in order of appearance.
    crowded : dict
        The first text without a 0/1 column, by column with more than `MOST_TEXTS` texts.
    doubtful : dict
        Keys are the columns of texts in which `DOUBTFUL` is taken as missing.

    Examples
    --------
    >>> encoder = GrowingEncoder()
    >>> records = Records(np.arange(3), {"size": ["1", "", "3"], "coat": ["short", "long", ""]})
    >>> for rows, columns in encoder.encode(records):
    ...     print(rows, columns)
    slice(0, 1, None) {'size': array([1.]), 'coat=short': array([1.])}
    slice(1, 3, None) {'size': array([nan,  3.]), 'coat=short': array([ 0., nan]),
                       'coat=long': array([ 1., nan])}
    """

    def __init__(
        self,
        text_columns: Collection[str] = (),
        leave_out: Collection[str] = (),
        rules: CellRules = CellRules(),  # noqa: B008, immutable
    ) -> None:
        self.names: dict[str, None] = {}
        self.crowded: dict[str, str] = {}
        self.doubtful: dict[str, None] = {}
        self._text_columns = text_columns
        self._leave_out = leave_out
        self._seen: dict[str, None] = {}
        # The codes of a text column, None for a numeric column.
        self._texts: dict[str, dict[str, int] | None] = {}
        self._rules = rules
        # How the numbers of a column are written, where they are not plain.
        self._formats: dict[str, NumberFormat] = {}

    def encode(self, records: Records) -> Iterator[tuple[slice, _Columns]]:
        """Turn records into numbers.

        Parameters
        ----------
        records : Records
            At least one row.

        Yields
        ------
        rows : slice
            Rows that have the same columns. A new column begins with the first row that has it, so
            the result does not depend on how rows were batched.
        columns : dict
            Float64 arrays by name, NaN where a value is missing.

        Raises
        ------
        TableError
            If a numeric column holds something else, infinity or too large a number, a text
            would add a column that exists, or a column holds dates, or numbers after one text.
            Then the state is unchanged.
        """
        before = self.plain()
        try:
            columns, begins = self._take(records)
        except TableError:
            self.restore(before)
            raise
        borders = sorted({0, *begins.values()})
        for begin, end in zip(borders, [*borders[1:], len(records.rows)], strict=True):
            rows = slice(begin, end)
            self.names.update((name, None) for name in columns if begins[name] <= begin)
            here = {name: v[rows] for name, v in columns.items() if begins[name] <= begin}
            yield rows, here or self._nothing(end - begin)

    def _take(self, records: Records) -> tuple[_Columns, dict[str, int]]:
        """Encoded columns, and the first row of each; 0 for columns that existed before."""
        columns: _Columns = {}
        begins: dict[str, int] = {}
        self._seen.update(dict.fromkeys(records.columns))
        check_width(len(self._seen), "the stream")
        # In the order of first appearance, which does not depend on batches.
        for name in self._seen:
            if name in records.columns and name not in self._leave_out:
                cells = records.columns[name]
                for encoded, values, begin in self._encode_column(name, cells, records.rows):
                    if encoded in columns:
                        raise _twice(encoded)
                    columns[encoded] = values
                    begins[encoded] = begin
        return columns, begins

    def apply(self, records: Records) -> _Columns:
        """Turn records into the existing columns; nothing is added.

        Parameters
        ----------
        records : Records
            At least one row. A new text is 0 in all columns.

        Returns
        -------
        dict
            Float64 arrays by name.

        Raises
        ------
        TableError
            As for `encode`.
        """
        columns: _Columns = {}
        for name, cells in records.columns.items():
            if name in self._texts and name not in self._leave_out:
                texts = self._texts[name]
                if texts is None:
                    columns[name] = self._numbers(name, cells, records.rows)
                else:
                    found = known_texts(name, cells, texts, self._rules)
                    columns.update(_one_hot(name, found, texts))
        return columns or self._nothing(len(records.rows))

    @property
    def indicators(self) -> dict[str, str]:
        """The text column of each 0/1 column so far, by name."""
        return {
            f"{name}={text}": name for name, texts in self._texts.items() for text in texts or ()
        }

    def plain(self) -> dict[str, Any]:
        """Return kinds and categories as lists and texts that can be written to a file."""
        texts = [(name, self._texts[name]) for name in self._seen if name in self._texts]
        return {
            "names": list(self.names),
            "seen": list(self._seen),
            "texts": [[name, None if codes is None else list(codes)] for name, codes in texts],
            **rules_as_plain(self._rules, self._formats),
        }

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Continue from the state of another encoder, returned by its `plain`."""
        self.names = dict.fromkeys(plain["names"])
        self._seen = dict.fromkeys(plain["seen"])
        self._texts = {
            name: None if texts is None else {text: i for i, text in enumerate(texts)}
            for name, texts in plain["texts"]
        }
        rules, self._formats = cell_rules(plain)
        self._rules = rules._replace(decimal=self._rules.decimal)

    def _encode_column(
        self, name: str, cells: Cells, rows: NDArray[np.int64]
    ) -> Iterator[tuple[str, NDArray[np.float64], int]]:
        """Encoded columns of one, and the first row of each; 0 if it existed before."""
        if name not in self._texts:
            first = self._first_value(cells)
            if first is None:
                return
            named = name in self._text_columns or name in self._rules.hashed
            form = None if named else find_format([first], self._rules, name)
            is_text = form is None
            if form not in (None, PLAIN):
                self._formats[name] = form
            if not is_text and name in self.names:
                raise _twice(name)
            self._texts[name] = {} if is_text else None
        texts = self._texts[name]
        if texts is None:
            values = self._numbers(name, cells, rows)
            begin = 0 if name in self.names else int(np.argmax(~np.isnan(values)))
            yield name, values, begin
            return
        found = known_texts(name, cells, texts, self._rules)
        if is_doubtful(cells, self._rules.missing):
            self.doubtful[name] = None
        begins = dict.fromkeys(texts, 0)
        new, room = new_texts(found, texts), MOST_TEXTS - len(texts)
        if len(new) > room:
            self.crowded.setdefault(name, new[room][1])
        for row, text in new[:room]:
            if f"{name}={text}" in self.names:
                raise _twice(f"{name}={text}")
            texts[text], begins[text] = len(texts), row
            if len(texts) == _TEXTS_TRIED and name not in self._text_columns:
                _check_kind(list(texts), name, rows[row])
        for (encoded, values), begin in zip(
            _one_hot(name, found, texts).items(), begins.values(), strict=True
        ):
            yield encoded, values, begin

    def _nothing(self, n_rows: int) -> _Columns:
        """Rows with missing values in one existing column; no column if there is none yet."""
        return {name: np.full(n_rows, np.nan) for name in list(self.names)[:1]}

    def _numbers(self, name: str, cells: Cells, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        form = self._formats.get(name, PLAIN)
        values = as_numbers(cells, rows, name, form, self._rules.missing)
        check_range(values, rows, name)
        return values

    def _first_value(self, cells: Cells) -> str | None:
        return next((text for text in as_texts(cells) if text not in self._rules.missing), None)


def _twice(name: str) -> TableError:
    return TableError(
        f"two columns would be called {name!r}, one of them a text of another column; rename or "
        "ignore one"
    )


def _one_hot(name: str, found: Sequence[str | None], texts: Mapping[str, int]) -> _Columns:
    out = np.empty((len(found), len(texts)))
    write_one_hot(codes_of(found, texts), range(len(texts)), out)
    return {f"{name}={text}": out[:, place] for text, place in texts.items()}


def _check_kind(texts: Sequence[str], name: str, row: int) -> None:
    """Refuse a column of numbers that began with a word for a missing value."""
    first, *others = texts
    if as_number(first) is None and all(as_number(text) is not None for text in others):
        raise TableError(
            f"row {row}, column {name!r} began with {first!r}, but now has numbers; say that "
            f"{first!r} means a missing value, --missing {quote(first)}, or that the column holds "
            f"text, --text {quote(name)}"
        )
