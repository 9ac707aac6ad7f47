"""From names of files to the source that reads them."""

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
"""Kinds of files that are read."""

_ENDINGS = {
    **dict.fromkeys((".csv", ".data", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys(PARQUET, "parquet"),
    ".arff": "arff",
    ".npz": "npz",
}
_UNPACKED = {"csv", "tsv", "jsonl", "arff"}
"""Kinds that may be compressed as a whole; the others are compressed inside."""


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
        One of `KINDS`; None to tell it from the name of each file.
    limit : int or None
        Rows that will be read; None for all.
    labels : str, int or None
        In an NPZ archive the name of the array of labels, ``"y"`` when None.

    Returns
    -------
    Source
        All rows of the files, one file after another.

    Raises
    ------
    TableError
        If a file is not there or cannot be read as a table.
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
    """Tell the kind of a file.

    Parameters
    ----------
    path : Path
        The file.
    kind : str or None
        What the user says it is.

    Returns
    -------
    str
        One of `KINDS`.

    Raises
    ------
    TableError
        If its ending is unknown, or it is compressed and cannot be read so.

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
            f"{path.name}: unknown kind of file; known endings: {known}, those of texts also with "
            ".gz or .zst behind them (--format says what it is)"
        )
    if kind not in _UNPACKED and path.suffix.lower() in COMPRESSIONS:
        raise TableError(f"{path.name}: {kind} files are compressed inside; unpack this one first")
    return kind


def check_file(path: str | Path) -> Path:
    """Refuse what is no file with something in it.

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
        If it is not there, is no regular file, or is empty.
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
