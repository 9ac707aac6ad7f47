"""Finding the files for paths, patterns and folders that users give."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mist.io.source import TableError

__all__ = ["PARQUET", "Found", "find_files", "natural"]

PARQUET = (".parquet", ".pq")
"""Endings of Parquet files."""


class Found(NamedTuple):
    """A file that was found.

    Attributes
    ----------
    path : Path
        The file.
    below : tuple of str
        The folders between the given folder and the file.
    """

    path: Path
    below: tuple[str, ...] = ()


def find_files(paths: Iterable[str | Path]) -> list[Found]:
    """Find the files for paths, patterns and folders of Parquet files.

    Parameters
    ----------
    paths : iterable of str or Path
        A file, a pattern such as ``logs/*.csv.gz`` (``**`` matches folders of any depth), or a
        folder, which is searched with its subfolders for Parquet files.

    Returns
    -------
    list of Found
        The files in the order of the paths; those of one pattern or folder by name, numbers in
        names by value. In a folder, names that begin with a dot or an underscore are skipped.

    Raises
    ------
    TableError
        If no file matches a pattern, or a folder has no Parquet file.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name in ("a10.csv", "a9.csv"):
    ...     _ = Path(folder.name, name).write_text("x,y")
    >>> [found.path.name for found in find_files([folder.name + "/*.csv"])]
    ['a9.csv', 'a10.csv']
    >>> folder.cleanup()
    """
    files: list[Found] = []
    for path in map(Path, paths):
        if path.is_dir():
            files.extend(_in_folder(path))
        elif path.exists() or not glob.has_magic(str(path)):
            files.append(Found(path))
        else:
            matches = [Path(name) for name in glob.glob(str(path), recursive=True)]
            matches = [match for match in matches if match.is_file()]
            if not matches:
                raise TableError(f"no file matches {str(path)!r}")
            files.extend(Found(match) for match in sorted(matches, key=natural))
    return files


def natural(path: Path) -> list[tuple[bool, int, str]]:
    """Return a sort key that orders numbers in names by value.

    Parameters
    ----------
    path : Path
        A file.

    Returns
    -------
    list of tuple
        The name in parts, digits as numbers.

    Examples
    --------
    >>> sorted([Path("a10"), Path("a9"), Path("a")], key=natural)
    [PosixPath('a'), PosixPath('a9'), PosixPath('a10')]
    """
    parts = re.split(r"([0-9]+)", path.as_posix())
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _in_folder(folder: Path) -> list[Found]:
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in PARQUET
        and path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise TableError(
            f"{str(folder)!r} is a folder without Parquet files; give other files by a pattern, "
            f"such as '{folder}/*.csv'"
        )
    return [Found(p, p.relative_to(folder).parts[:-1]) for p in sorted(found, key=natural)]
