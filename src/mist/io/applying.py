"""Rows for a trained model, read and encoded like the rows that it learnt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from mist.io.bounds import rows_at_once
from mist.io.encode import Chunk, Encoder
from mist.io.growing import GrowingEncoder
from mist.io.live import Records, make_records
from mist.io.livetable import is_live, open_stream
from mist.io.numerals import cell_rules, is_format
from mist.io.opening import open_source
from mist.io.source import Cells, Column, RawRows, TableError
from mist.io.table import naming
from mist.io.targets import Targets

__all__ = ["apply_encoding", "encode_one", "is_encoding"]

_Encode = Callable[[Records, str], Chunk]


def apply_encoding(
    encoding: Mapping[str, Any],
    paths: Sequence[str],
    *,
    chunk_rows: int = 10_000,
    header: bool | None = None,
    kind: str | None = None,
    separator: str | None = None,
) -> Iterator[Chunk]:
    """Read rows for a trained model.

    Parameters
    ----------
    encoding : mapping
        Returned by ``plain`` of the table that the model learnt.
    paths : sequence of str
        Files, or one live stream.
    chunk_rows : int, default=10_000
        Most rows in a chunk.
    header : bool or None, default=None
        Whether delimited text begins with the names of its columns; None: it does, and a first row
        that looks like data is refused.
    kind : str or None, default=None
        Kind of the files; None to use their endings.
    separator : str or None, default=None
        See `mist.io.open_table`.

    Yields
    ------
    Chunk
        Columns as the model learnt them, by position or by name; labels where there are some. A
        stream yields a chunk without rows when none arrive for a while.

    Raises
    ------
    TableError
        If the rows cannot be read, or a column that the model learnt is absent.
    """
    needed, encode = _encoder(encoding)
    # Columns that the model does not need may hold anything.
    ignore = _AllBut({encoding["target"], *_learnt(encoding)})
    if is_live(paths):
        source = open_stream(paths[0], kind, header, separator, ignore)
        checked = False
        try:
            for records in source.batches(chunk_rows):
                if len(records.rows) and not checked:
                    checked = True
                    _check(source.name, source.fixed, needed)
                yield encode(records, "")
        finally:
            source.close()
        return
    table = open_source(
        paths,
        header=header,
        kind=kind,
        labels=encoding["target"],
        separator=separator,
        ignore=ignore,
        rules=cell_rules(encoding)[0],
    )
    names = [column.name for column in table.columns]
    _check(table.path.name, None if table.sparse else names, needed)
    for batch in table.batches(rows_at_once(chunk_rows, max(len(names), len(needed)))):
        records = Records(batch.rows, dict(zip(names, batch.columns, strict=True)))
        with naming(batch.file):
            chunk = encode(records, batch.file)
        yield chunk


def is_encoding(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value has the form of an encoding that ``plain`` of a table returns.

    Parameters
    ----------
    value : object
        From a file, which may be untrusted.

    Returns
    -------
    bool
        True if rows can be encoded with it.

    Examples
    --------
    >>> encoding = {"target": "y", "columns": ["a"], "texts": {}, "integers": None}
    >>> is_encoding(encoding), is_encoding({**encoding, "texts": {"b": []}})
    (True, False)
    """
    if not isinstance(value, dict) or type(value.get("target")) is not str:
        return False
    if value.get("integers") not in (None, False, True):
        return False
    formats = value.get("formats", {})
    if not (isinstance(formats, dict) and all(map(is_format, formats.values()))):
        return False
    if not (_are_names(value.get("missing", [])) and _are_names(value.get("hashed", []))):
        return False
    texts = value.get("texts")
    if "columns" in value:
        columns = value["columns"]
        if not (isinstance(texts, dict) and _are_names(columns) and "integers" in value):
            return False
        return set(texts) <= set(columns) and all(map(_are_names, texts.values()))
    if not (isinstance(texts, list) and all(isinstance(t, list) and len(t) == 2 for t in texts)):
        return False
    if not (_are_names(value.get("names")) and _are_names(value.get("seen"))):
        return False
    columns = [name for name, _ in texts]
    each = all(codes is None or _are_names(codes) for _, codes in texts)
    return _are_names(columns) and set(columns) <= set(value["seen"]) and each


def _are_names(value: Any) -> bool:
    texts = isinstance(value, list) and all(type(name) is str for name in value)
    return texts and len(set(value)) == len(value)


def encode_one(encoding: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, float]:
    """Encode one row for a trained model.

    Parameters
    ----------
    encoding : mapping
        Returned by ``plain`` of the table that the model learnt.
    record : mapping
        Cells by column: texts, numbers, bools or None. A label is ignored.

    Returns
    -------
    dict
        Values by the names that the model learnt, in their order; NaN where one is missing.

    Raises
    ------
    TableError
        If a cell of a numeric column is not a number, or none of the columns was learnt.

    Examples
    --------
    >>> encoding = {"target": "y", "columns": ["hot"], "texts": {"hot": ["true"]}, "integers": None}
    >>> encode_one(encoding, {"hot": True})
    {'hot=true': 1.0}
    """
    known = _learnt(encoding)
    cells = {name: cell for name, cell in record.items() if name in known}
    if not cells:
        raise TableError(
            f"the row has none of the model's columns, which are {', '.join(known[:5])}, ..."
        )
    _, encode = _encoder(encoding)
    columns = encode(make_records([1], [cells]), "").columns()
    return {name: float(values[0]) for name, values in columns.items()}


class _AllBut:
    """A container of all names except some."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        return name not in self._names


def _learnt(encoding: Mapping[str, Any]) -> list[str]:
    """Names of the columns that a model has learnt."""
    return encoding.get("columns") or [name for name, _ in encoding["texts"]]


def _check(name: str, names: Sequence[str] | None, needed: Sequence[str]) -> None:
    lacking = [] if names is None else [column for column in needed if column not in names]
    if lacking:
        raise TableError(
            f"{name} has no column {lacking[0]!r}, which the model has learnt; add it with empty "
            "cells if its values are unknown"
        )


def _encoder(encoding: Mapping[str, Any]) -> tuple[Sequence[str], _Encode]:
    """Names of required columns, and a function from records to a chunk."""
    target = encoding["target"]
    if "columns" in encoding:
        encoder = Encoder.from_dict(encoding)
        names = [*encoding["columns"], target]

        def by_place(records: Records, file: str) -> Chunk:
            columns = [_cells(records, name) for name in names]
            return encoder.encode(RawRows(records.rows, columns, 0.0, file), allow_new=True)

        return encoding["columns"], by_place
    growing = GrowingEncoder()
    growing.restore(encoding)
    targets = Targets(Column(target), unlabelled=True)
    targets.integers = encoding.get("integers")

    def by_name(records: Records, file: str) -> Chunk:
        y, known = targets.read(_cells(records, target), records.rows)
        X = growing.apply(records)
        return Chunk(X, y, tuple(growing.names), records.rows, 0.0, known, file)

    return (), by_name


def _cells(records: Records, name: str) -> Cells:
    return records.columns.get(name, np.full(len(records.rows), np.nan))
