"""From records to numbers in one pass: columns and texts come as they come."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.io.bounds import check_width
from mist.io.encode import as_numbers, check_range, known_texts
from mist.io.live import Records
from mist.io.source import MISSING, Cells, TableError, as_number, as_texts
from mist.onehot import codes_of, new_texts, write_one_hot

__all__ = ["MOST_TEXTS", "GrowingEncoder"]

MOST_TEXTS = 100
"""Texts of a column that get columns of 0/1; those that come later are none of them."""

_Columns = dict[str, NDArray[np.float64]]


class GrowingEncoder:
    """Turns records into columns of numbers by name, adding columns as they are needed.

    The first cell of a column that is not missing decides whether it holds numbers or texts. A
    text that turns up for the first time adds a column of 0/1, called ``"column=text"``.

    Parameters
    ----------
    text_columns : collection of str
        Columns that are texts, whatever their cells look like.
    leave_out : collection of str
        Columns that are not encoded: the labels, and those to be ignored.

    Attributes
    ----------
    names : dict
        Names of the encoded columns so far, in order of appearance, with None.
    crowded : dict
        Columns that brought more texts than get columns of 0/1, likewise.

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

    def __init__(self, text_columns: Collection[str] = (), leave_out: Collection[str] = ()) -> None:
        self.names: dict[str, None] = {}
        self.crowded: dict[str, None] = {}
        self._text_columns = text_columns
        self._leave_out = leave_out
        self._seen: dict[str, None] = {}
        # Of a column of texts their codes, of one of numbers None.
        self._texts: dict[str, dict[str, int] | None] = {}

    def encode(self, records: Records) -> Iterator[tuple[slice, _Columns]]:
        """Turn records into numbers.

        Parameters
        ----------
        records : Records
            At least one row.

        Yields
        ------
        rows : slice
            Rows that have the same columns; a new column begins with the row that brought it, so
            that nothing depends on how rows were batched.
        columns : dict
            Float64 arrays by name, NaN where a value is missing.

        Raises
        ------
        TableError
            If a column of numbers holds something else, infinity or too large a number, or a text
            would add a column that is there. Then nothing of the records is remembered.
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
        """Encoded columns, and the row that brought each; 0 for those there were before."""
        columns: _Columns = {}
        begins: dict[str, int] = {}
        self._seen.update(dict.fromkeys(records.columns))
        check_width(len(self._seen), "the stream")
        # In the order in which they were first seen, which no batch changes.
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
        """Turn records into the columns there are; nothing is added.

        Parameters
        ----------
        records : Records
            At least one row. Of a text that is new all columns are 0.

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
                    columns.update(_one_hot(name, known_texts(cells, texts), texts))
        return columns or self._nothing(len(records.rows))

    def plain(self) -> dict[str, Any]:
        """What was decided and collected, as lists and texts that can be written to a file."""
        texts = [(name, self._texts[name]) for name in self._seen if name in self._texts]
        return {
            "names": list(self.names),
            "seen": list(self._seen),
            "texts": [[name, None if codes is None else list(codes)] for name, codes in texts],
        }

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on where another encoder was that told `plain`."""
        self.names = dict.fromkeys(plain["names"])
        self._seen = dict.fromkeys(plain["seen"])
        self._texts = {
            name: None if texts is None else {text: i for i, text in enumerate(texts)}
            for name, texts in plain["texts"]
        }

    def _encode_column(
        self, name: str, cells: Cells, rows: NDArray[np.int64]
    ) -> Iterator[tuple[str, NDArray[np.float64], int]]:
        """Encoded columns of one, and the row that brought each; 0 for those there were before."""
        if name not in self._texts:
            first = _first_value(cells)
            if first is None:
                return
            is_text = name in self._text_columns or as_number(first) is None
            if not is_text and name in self.names:
                raise _twice(name)
            self._texts[name] = {} if is_text else None
        texts = self._texts[name]
        if texts is None:
            values = self._numbers(name, cells, rows)
            begin = 0 if name in self.names else int(np.argmax(~np.isnan(values)))
            yield name, values, begin
            return
        found = known_texts(cells, texts)
        begins = dict.fromkeys(texts, 0)
        new, room = new_texts(found, texts), MOST_TEXTS - len(texts)
        if len(new) > room:
            self.crowded[name] = None
        for row, text in new[:room]:
            if f"{name}={text}" in self.names:
                raise _twice(f"{name}={text}")
            texts[text], begins[text] = len(texts), row
        for (encoded, values), begin in zip(
            _one_hot(name, found, texts).items(), begins.values(), strict=True
        ):
            yield encoded, values, begin

    def _nothing(self, n_rows: int) -> _Columns:
        """Rows in which every column is missing; no column if there is none yet."""
        return {name: np.full(n_rows, np.nan) for name in list(self.names)[:1]}

    def _numbers(self, name: str, cells: Cells, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values = as_numbers(cells, rows, name)
        check_range(values, rows, name)
        return values


def _first_value(cells: Cells) -> str | None:
    return next((text for text in as_texts(cells) if text not in MISSING), None)


def _twice(name: str) -> TableError:
    return TableError(
        f"two columns would be called {name!r}, one of them a text of another column; rename one, "
        "or ignore it"
    )


def _one_hot(name: str, found: Sequence[str | None], texts: Mapping[str, int]) -> _Columns:
    out = np.empty((len(found), len(texts)))
    write_one_hot(codes_of(found, texts), range(len(texts)), out)
    return {f"{name}={text}": out[:, place] for text, place in texts.items()}
