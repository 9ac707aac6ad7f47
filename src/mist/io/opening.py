"""Opening files as a source of rows, by the kind of each file."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

from mist.io.arff import ArffSource
from mist.io.compressed import COMPRESSIONS, plain_ending
from mist.io.csv import CsvSource, delimiter_of
from mist.io.jsonl import JsonlSource
from mist.io.many import ManySource, PartitionedSource, partitions
from mist.io.npz import NpzSource
from mist.io.numerals import CellRules
from mist.io.parquet import ParquetSource
from mist.io.paths import PARQUET, find_files
from mist.io.source import Source, TableError

__all__ = ["KINDS", "check_file", "kind_of", "open_source"]

KINDS = ("csv", "tsv", "jsonl", "arff", "parquet", "npz")
"""Kinds of files that can be read."""

_ENDINGS = {
    **dict.fromkeys((".csv", ".data", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys(PARQUET, "parquet"),
    ".arff": "arff",
    ".npz": "npz",
}
_UNPACKED = {"csv", "tsv", "jsonl", "arff"}
"""Kinds whose files may be compressed; the others are compressed inside."""


def open_source(
    paths: str | Path | Sequence[str | Path],
    *,
    header: bool | None = None,
    kind: str | None = None,
    limit: int | None = None,
    labels: str | int | None = None,
    separator: str | None = None,
    ignore: Container[str] = (),
    rules: CellRules = CellRules(),  # noqa: B008, immutable
) -> Source:
    """Open files as one source of rows.

    Parameters
    ----------
    paths : str, Path, or a sequence of them
        Files, patterns, or folders of Parquet files; see `mist.io.paths.find_files`.
    header : bool or None
        Whether delimited text begins with the names of its columns; None: it does, and a first row
        that looks like data is refused.
    kind : str or None
        One of `KINDS`; None to take it from the name of each file.
    limit : int or None
        Number of rows to read; None for all.
    labels : str, int or None
        For an NPZ archive, the name of the array of labels; None for ``"y"``.
    separator : str or None
        What is between the cells of delimited text, see `mist.io.csv.delimiter_of`.
    ignore : container of str
        Columns that are not read, whatever their type.
    rules : CellRules
        What cells mean.

    Returns
    -------
    Source
        All rows of the files, one file after another.

    Raises
    ------
    TableError
        If a file does not exist or cannot be read as a table.
    """
    found = find_files([paths] if isinstance(paths, str | Path) else paths)
    sources = []
    options = _Options(header, limit, labels, delimiter_of(separator), ignore, rules)
    further = partitions([below for _, below in found])
    for (path, _), constants in zip(found, further, strict=True):
        check_file(path)
        source = _open_one(path, kind_of(path, kind), options)
        sources.append(PartitionedSource(source, constants) if constants else source)
    return sources[0] if len(sources) == 1 else ManySource(sources)


def kind_of(path: Path, kind: str | None = None) -> str:
    """Return the kind of a file.

    Parameters
    ----------
    path : Path
        The file.
    kind : str or None
        Kind given by the user; None to use the name.

    Returns
    -------
    str
        One of `KINDS`.

    Raises
    ------
    TableError
        If its ending is unknown, or this kind cannot be read compressed.

    Examples
    --------
    >>> kind_of(Path("a.jsonl.gz")), kind_of(Path("a.log"), "csv")
    ('jsonl', 'csv')
    """
    ending = plain_ending(path)
    kind = kind or _ENDINGS.get(ending)
    if kind is None:
        known = ", ".join(sorted(_ENDINGS))
        raise TableError(
            f"{path.name}: unknown kind of file; known endings: {known}, for text also followed by "
            ".gz or .zst (give the kind with --format)"
        )
    if kind not in _UNPACKED and path.suffix.lower() in COMPRESSIONS:
        raise TableError(f"{path.name}: {kind} files are compressed inside; unpack this one first")
    return kind


def check_file(path: str | Path) -> Path:
    """Refuse a path that is not a file with content.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Path
        The same.

    Raises
    ------
    TableError
        If it does not exist, is not a regular file, or is empty.
    """
    path = Path(path)
    if not path.exists():
        raise TableError(f"there is no file {str(path)!r}")
    # A pipe cannot be read twice.
    if not path.is_file():
        raise TableError(f"{str(path)!r} is not a regular file")
    if not path.stat().st_size:
        raise TableError(f"{path.name} is empty")
    return path


class _Options(NamedTuple):
    header: bool | None
    limit: int | None
    labels: str | int | None
    delimiter: str | None
    ignore: Container[str]
    rules: CellRules


def _open_one(path: Path, kind: str, options: _Options) -> Source:
    if kind == "npz":
        return NpzSource(path, "y" if options.labels is None else str(options.labels))
    if kind == "jsonl":
        return JsonlSource(path, options.limit, options.ignore, options.rules)
    if kind == "parquet":
        return ParquetSource(path, options.ignore)
    if kind == "arff":
        return ArffSource(path, options.ignore)
    tabs = kind == "tsv" and options.delimiter is None
    return CsvSource(path, options.header, "\t" if tabs else options.delimiter)
