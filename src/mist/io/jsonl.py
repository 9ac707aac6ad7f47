"""JSON lines: one object per line, whose keys are the columns and may vary."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

from mist.io.bounds import check_width
from mist.io.numerals import CellRules, is_number
from mist.io.source import Cells, Column, RawRows, Source, TableError
from mist.io.text import gathered, open_text
from mist.onehot import text_of

__all__ = ["ARRAY", "JsonlSource", "gather", "parse_line", "read_objects"]

ARRAY = (
    "is one JSON array: give every row a line of its own, with one object (jq -c '.[]' FILE > "
    "ROWS.jsonl)"
)
"""What is said of a text that is one list of rows."""


class JsonlSource(Source):
    """A file of JSON lines.

    The file is read once when it is opened, to find the keys. A key with more texts and booleans
    than numbers is a text column; a text that is a number counts as a number.

    Parameters
    ----------
    path : Path
        The file.
    limit : int or None
        Number of rows to read; None for all.
    ignore : container of str
        Keys whose values are not read.
    rules : CellRules
        What the values mean.

    Raises
    ------
    TableError
        If a line is not a JSON object, or a value is a list or an object.
    """

    sparse = True

    def __init__(
        self,
        path: Path,
        limit: int | None = None,
        ignore: Container[str] = (),
        rules: CellRules = CellRules(),  # noqa: B008, immutable
    ) -> None:
        self.path = path
        self._limit = limit
        self._ignore = ignore
        # How many numeric values and how many texts each key has.
        counts: dict[str, list[int]] = {}
        with open_text(path) as text:
            if text.lines.begins_with("["):
                raise TableError(f"{path.name} {ARRAY}")
        with open_text(path) as text:
            for _, record in islice(read_objects(text.lines, ignore), limit):
                for key, value in record.items():
                    seen = counts.setdefault(key, [0, 0])
                    if not _is_missing(value, rules):
                        seen[_is_text(value, rules)] += 1
                check_width(len(counts), path.name)
        if not counts:
            raise TableError(f"{path.name} is empty")
        self.columns = tuple(Column(key, _kind(*seen)) for key, seen in counts.items())

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with open_text(self.path) as text:
            objects = islice(read_objects(text.lines, self._ignore), self._limit)
            for group in gathered(objects, size, text.lines):
                lines, records = zip(*group, strict=True)
                columns = gather(records, [column.name for column in self.columns])
                yield RawRows(np.array(lines, dtype=np.int64), columns, text.share())


def read_objects(
    lines: Iterable[str], ignore: Container[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Parse JSON lines; blank lines are skipped but counted.

    Parameters
    ----------
    lines : iterable of str
        The lines.
    ignore : container of str
        Keys whose values are not read.

    Yields
    ------
    line : int
        Number of the line, counted from 1.
    record : dict
        Its object.

    Raises
    ------
    TableError
        If a line is not a JSON object, or a value is a list or an object.

    Examples
    --------
    >>> list(read_objects(['{"a": 1}\n', "\n", '{"a": null, "b": "x"}\n']))
    [(1, {'a': 1}), (3, {'a': None, 'b': 'x'})]
    """
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            yield number, parse_line(line, number, ignore)


def parse_line(line: str | bytes, number: int, ignore: Container[str] = ()) -> dict[str, Any]:
    """Parse the object of one row.

    Parameters
    ----------
    line : str or bytes
        JSON text.
    number : int
        Number of the row, for messages.
    ignore : container of str
        Keys whose values are not read.

    Returns
    -------
    dict
        The object; ignored keys are None.

    Raises
    ------
    TableError
        If it is not a JSON object, or a value is a list or an object.
    """
    try:
        record = json.loads(line)
        if isinstance(line, bytes) or "\\u" in line:
            # A lone surrogate cannot be written or printed.
            json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"row {number}: not valid JSON: {error}; every line must hold one object"
        ) from error
    if not isinstance(record, dict):
        raise TableError(
            f'row {number}: a row must be an object, {{"column": value, ...}}, '
            f"not {_NOUNS[type(record)]}"
        )
    for key, value in record.items():
        if key in ignore:
            record[key] = None
        elif isinstance(value, list | dict):
            raise TableError(
                f"row {number}, column {key!r}: a cell cannot be {_NOUNS[type(value)]}, only a "
                "number, a text, true, false or null: give every value its own key, or leave the "
                f"column out: --ignore {quote(key)}"
            )
    return record


_NOUNS = {
    list: "a list",
    dict: "an object",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def gather(records: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[Cells]:
    """Turn objects into columns.

    Parameters
    ----------
    records : sequence of mapping
        Objects with plain values.
    names : iterable of str
        The keys to return.

    Returns
    -------
    list of Cells
        For each name, an array of numbers if all values are numbers or missing, else texts.

    Examples
    --------
    >>> gather([{"a": 1, "b": "x"}, {"b": True}], "ab")
    [array([ 1., nan]), ['x', 'true']]
    """
    return [cells_of([record.get(name) for record in records]) for name in names]


def cells_of(values: list[Any]) -> Cells:
    """Plain values as one column: an array if all are numbers or None, else texts.

    Examples
    --------
    >>> cells_of([1, None]), cells_of(["x", 2.0, None])
    (array([ 1., nan]), ['x', '2', ''])
    """
    kinds = set(map(type, values))
    try:
        if kinds == {int}:
            return np.array(values, dtype=np.int64)
        if kinds <= {int, float, type(None)}:
            # None becomes NaN.
            return np.array(values, dtype=np.float64)
    except OverflowError:
        pass
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text_of(value)


def _is_missing(value: Any, rules: CellRules) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in rules.missing)


def _is_text(value: Any, rules: CellRules) -> bool:
    if isinstance(value, str):
        return not is_number(value.strip(), rules)
    return isinstance(value, bool)


def _kind(numbers: int, texts: int) -> Literal["number", "text", "open"]:
    if numbers == texts == 0:
        return "open"
    return "text" if texts > numbers else "number"
