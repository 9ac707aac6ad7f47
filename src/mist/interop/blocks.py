"""Data of Dask and Parquet as blocks of rows that are read one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mist.io.many import check_same_columns, partitions
from mist.io.opening import check_file
from mist.io.paths import Found, find_files
from mist.io.source import MISSING, NO_LABEL, Column
from mist.io.targets import Targets

__all__ = ["Block", "Cut", "as_blocks", "cuts_of", "read"]


class Block(NamedTuple):
    """Rows that are read together: a row group of a Parquet file or a partition.

    Attributes
    ----------
    rows : int
        Number of rows.
    source : object
        A `RowGroup`, or an object that Dask computes.
    """

    rows: int
    source: Any


class RowGroup(NamedTuple):
    """A row group of a Parquet file, with the columns that its folders name.

    Attributes
    ----------
    path : str
        The file.
    number : int
        The row group in it.
    columns : tuple of str
        All columns in the order of the first file, including the label column.
    constants : tuple of (str, object)
        Columns that are constant in the file, and their values.
    """

    path: str
    number: int
    columns: tuple[str, ...]
    constants: tuple[tuple[str, Any], ...]


class Cut(NamedTuple):
    """Rows ``start`` to ``stop`` (excluded) of a block."""

    block: int
    start: int
    stop: int


def as_blocks(
    data: Any, y: Any, target: Any, lengths: Callable[[Sequence[Any]], Sequence[int]]
) -> list[Block]:
    """Return the blocks of the data, in order.

    Parameters
    ----------
    data : path, sequence of paths, Dask data frame or Dask array
        As for `mist.interop.dask.fit_stream`.
    y : Dask array or None
        The labels of an array.
    target : str or None
        The label column of files and frames.
    lengths : callable
        Returns the numbers of rows of delayed frames.

    Returns
    -------
    list of Block
        Blocks without rows are left out.

    Raises
    ------
    ValueError
        If a Parquet file, the label column or one of `y` and `target` is missing, a file has
        other columns than the first one, or folders name texts of a column to learn.
    """
    files = _paths(data)
    if (y is None) == (target is None) or (files and y is not None):
        raise ValueError(
            "give target, the name of the label column, with Parquet files and data frames, "
            "and y, a Dask array, with a Dask array"
        )
    if files:
        blocks = list(_row_groups(files, str(target)))
    elif target is not None:
        if target not in data.columns:
            raise ValueError(f"the data frame has no column {target!r}: {list(data.columns)[:8]}")
        parts = data.to_delayed()
        blocks = [Block(int(n), part) for n, part in zip(lengths(parts), parts, strict=True)]
    else:
        blocks = _array_blocks(data, y)
    return [block for block in blocks if block.rows]


def _paths(data: Any) -> list[Found]:
    """The Parquet files of the paths, in order; empty if the data are not paths."""
    if isinstance(data, str | PathLike):
        data = [data]
    if not (isinstance(data, Sequence) and all(isinstance(f, str | PathLike) for f in data)):
        return []
    files = find_files(data)
    if not files:
        raise ValueError("the list of Parquet files is empty")
    for file in files:
        check_file(file.path)
    return files


def _row_groups(files: Sequence[Found], target: Any) -> Iterator[Block]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'mist-tree[frames]'", name="pyarrow"
        ) from error
    columns: tuple[str, ...] = ()
    named = partitions([below for _, below in files])
    labels = _labels(target, named)
    for (path, _), pairs in zip(files, named, strict=True):
        try:
            with ParquetFile(path) as file:
                # The index of a frame of pandas is in the file, but is not a column.
                names = list(file.schema_arrow.empty_table().to_pandas().columns)
                metadata = file.metadata
        except ArrowException as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from error
        # As in `mist run`, a column of the file has priority over one in its path.
        further = [(column, value) for column, value in pairs if column.name not in names]
        constants = tuple(
            (c.name, _label(labels, value, path) if c.name == target else _number(c, value, path))
            for c, value in further
        )
        names += [name for name, _ in constants]
        if target not in names:
            raise ValueError(f"{path} has no column {target!r}: {names[:8]}")
        columns = columns or tuple(names)
        check_same_columns(columns, names, files[0].path, path)
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            # Workers may have other working directories.
            yield Block(rows, RowGroup(str(path.resolve()), number, columns, constants))


def _labels(target: Any, named: Sequence[Sequence[tuple[Column, str]]]) -> dict[str, Any]:
    """Labels by their texts in the names of folders: integers if all are, as in `mist run`."""
    texts = [text for pairs in named for column, text in pairs if column.name == target]
    texts = [text for text in dict.fromkeys(texts) if text not in NO_LABEL]
    read, _ = Targets(Column(str(target))).read(texts, np.arange(len(texts)))
    return dict(zip(texts, read.tolist(), strict=True))


def _label(labels: dict[str, Any], text: str, path: Path) -> Any:
    if text not in labels:
        raise ValueError(f"{path}: its folder names no label: leave the file out")
    return labels[text]


def _number(column: Column, value: str, path: Path) -> float:
    """Value of a column to learn that a folder names; NaN if it is missing."""
    if column.kind == "text":
        raise ValueError(
            f"{path}: the folders of column {column.name!r} have texts, and models learn numbers: "
            "encode it before you write the files"
        )
    return float("nan") if value in MISSING else float(value)


def _array_blocks(X: Any, y: Any) -> list[Block]:
    from dask.delayed import delayed

    if any(n != n for n in X.chunks[0]):
        X = X.compute_chunk_sizes()
    if any(n != n for n in y.chunks[0]):
        y = y.compute_chunk_sizes()
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise ValueError(f"X must have shape (n, d) and y (n,), got {X.shape} and {y.shape}")
    X = X.rechunk({1: -1})
    y = y.rechunk((X.chunks[0],))
    pairs = zip(X.chunks[0], X.to_delayed().ravel(), y.to_delayed(), strict=True)
    return [Block(int(n), delayed(_pair)(rows, labels)) for n, rows, labels in pairs]


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    return X, y


def read(block: Any, target: Any, start: int, stop: int) -> tuple[Any, Any]:
    """Rows and labels of a part of a block.

    Parameters
    ----------
    block : RowGroup, data frame, or tuple of arrays
        The computed `Block.source`, on a worker.
    target : str or None
        The label column; None for a tuple.
    start, stop : int
        First row, and the row after the last one.
    """
    if isinstance(block, RowGroup):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(block.path) as file:
            rows = file.read_row_group(block.number).slice(start, stop - start).to_pandas()
        # Files may have their columns in another order.
        block = rows.assign(**dict(block.constants))[list(block.columns)]
    elif isinstance(block, tuple):
        return block[0][start:stop], block[1][start:stop]
    else:
        block = block.iloc[start:stop]
    return block.drop(columns=target), block[target].to_numpy()


def cuts_of(blocks: Sequence[Block], first: int, last: int) -> list[Cut]:
    """The rows ``first`` to ``last`` (excluded), block by block.

    Examples
    --------
    >>> cuts_of([Block(10, None), Block(5, None)], 8, 12)
    [Cut(block=0, start=8, stop=10), Cut(block=1, start=0, stop=2)]
    """
    cuts, begin = [], 0
    for number, block in enumerate(blocks):
        start, stop = max(first - begin, 0), min(last - begin, block.rows)
        if start < stop:
            cuts.append(Cut(number, start, stop))
        begin += block.rows
    return cuts
