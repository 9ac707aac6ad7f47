"""Parquet files, read batch by batch (needs the extra ``frames``)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

from mist.io.bounds import MOST_AT_ONCE, check_width
from mist.io.source import Cells, Column, RawRows, Source, TableError

__all__ = ["ParquetSource"]


class ParquetSource(Source):
    """A Parquet file with columns of numbers, booleans and texts.

    Parameters
    ----------
    path : Path
        The file.
    ignore : container of str
        Columns that are not read, whatever their type.

    Raises
    ------
    TableError
        If pyarrow is not installed, the file is not a Parquet file, or a column has another type
        (dates, lists, ...).
    """

    def __init__(self, path: Path, ignore: Container[str] = ()) -> None:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise TableError(
                "Parquet files need pyarrow: pip install 'mist-tree[frames]'"
            ) from error
        self.path = path
        # ValueError is raised for a text that is not UTF-8.
        self._errors = (pa.ArrowException, OSError, ValueError)
        self._file = parquet.ParquetFile
        with self._reading(), self._file(path) as file:
            schema = file.schema_arrow
            check_width(len(schema), path.name)
            self._left_out = frozenset(name for name in schema.names if name in ignore)
            self.columns = tuple(
                Column(field.name, "number" if field.name in ignore else _kind(field))
                for field in schema
            )

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        done = 0
        # A text of many rows is then stored once.
        texts = [column.name for column in self.columns if column.kind == "text"]
        with self._reading(), self._file(self.path, read_dictionary=texts) as file:
            total = file.metadata.num_rows
            for batch in file.iter_batches(batch_size=min(size, _rows_at_once(file.metadata))):
                if not batch.num_rows:
                    continue
                rows = np.arange(done + 1, done + batch.num_rows + 1)
                done += batch.num_rows
                nothing = np.full(batch.num_rows, np.nan)
                cells = [
                    nothing if column.name in self._left_out else _cells(array, column)
                    for array, column in zip(batch.columns, self.columns, strict=True)
                ]
                yield RawRows(rows, cells, done / total)

    def _reading(self) -> _Translate:
        return _Translate(self._errors, self.path)


class _Translate:
    """Turns errors of pyarrow inside a ``with`` block into a TableError."""

    def __init__(self, errors: tuple[type[Exception], ...], path: Path) -> None:
        self._errors = errors
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, self._errors) and not isinstance(error, TableError):
            line = str(error).splitlines()[0]
            raise TableError(f"{self._path.name} is not a valid Parquet file: {line}") from error


def _kind(field: Any) -> Literal["number", "text"]:
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if any(test(kind) for test in numeric):
        return "number"
    # A boolean is a text of two categories, like in a CSV file.
    if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        return "text"
    raise TableError(
        f"column {field.name!r} has type {field.type}; only numbers, booleans and texts are read: "
        f"leave it out: --ignore {quote(field.name)}"
    )


def _rows_at_once(metadata: Any) -> int:
    """Most rows of a batch, fewer if they are long."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    longest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=1)
    return max(1, MOST_AT_ONCE // max(1, longest))


def _cells(array: Any, column: Column) -> Cells:
    import pyarrow as pa

    # pyarrow has not checked that the codes in the file are indices into its dictionary.
    array.validate(full=True)
    if column.kind == "text":
        return _texts(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_integer(array.type) and not array.null_count:
        integers: Cells = array.to_numpy(zero_copy_only=False)
        return integers
    numbers: Cells = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _texts(array: Any) -> list[str]:
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        # Strip here, once per different text, rather than in every row.
        return ["" if value is None else str(value).strip() for value in array.to_pylist()]
    known = _texts(array.dictionary)
    return ["" if code is None else known[code] for code in array.indices.to_pylist()]
