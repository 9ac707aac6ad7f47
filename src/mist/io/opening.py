"""Opening files as a source of rows, by the kind of each file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mist.io.arff import ArffSource
from mist.io.compressed import COMPRESSIONS, plain_ending
from mist.io.csv import CsvSource
from mist.io.jsonl import JsonlSource
from mist.io.many import ManySource, PartitionedSource, partitions
from mist.io.npz import NpzSource
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
    header: bool = True,
    kind: str | None = None,
    limit: int | None = None,
    labels: str | int | None = None,
) -> Source:
    """Open files as one source of rows.

    Parameters
    ----------
    paths : str, Path, or a sequence of them
        Files, patterns, or folders of Parquet files; see `mist.io.paths.find_files`.
    header : bool
        Whether delimited text begins with the names of its columns.
    kind : str or None
        One of `KINDS`; None to take it from the name of each file.
    limit : int or None
        Number of rows to read; None for all.
    labels : str, int or None
        For an NPZ archive, the name of the array of labels; None for ``"y"``.

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
    further = partitions([below for _, below in found])
    for (path, _), constants in zip(found, further, strict=True):
        check_file(path)
        source = _open_one(path, kind_of(path, kind), header, limit, labels)
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


def _open_one(
    path: Path, kind: str, header: bool, limit: int | None, labels: str | int | None
) -> Source:
    if kind == "npz":
        return NpzSource(path, "y" if labels is None else str(labels))
    if kind == "jsonl":
        return JsonlSource(path, limit)
    if kind == "parquet":
        return ParquetSource(path)
    if kind == "arff":
        return ArffSource(path)
    return CsvSource(path, header, "\t" if kind == "tsv" else None)
