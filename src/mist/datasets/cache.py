"""Finding, reading, writing and verifying the files of data sets."""

import hashlib
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.archives import ARCHIVE_ERRORS, check_packing, read_header
from mist.datasets.catalogue import Entry
from mist.files import replacing

ENVIRONMENT = "MIST_DATA"
"""Environment variable that names a folder of ``.npz`` files."""

DOWNLOADED = "origin"
"""Key in the files that this package writes: the source of the download."""

Arrays = Mapping[str, NDArray[Any]]


class DatasetError(OSError):
    """A data set is absent and cannot be downloaded, or its file cannot be used.

    Examples
    --------
    >>> from mist.datasets import DatasetError
    >>> issubclass(DatasetError, OSError)
    True
    """


def data_folder() -> Path | None:
    """Return the folder named by ``MIST_DATA``; None if the variable is not set."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    r"""Return the cache folder of the user for data sets, which need not exist yet.

    Returns
    -------
    Path
        ``%LOCALAPPDATA%\mist`` on Windows, else ``$XDG_CACHE_HOME/mist`` or ``~/.cache/mist``.

    Raises
    ------
    DatasetError
        If there is no home folder.
    """
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path must be ignored.
    if named and Path(named).is_absolute():
        return Path(named) / "mist"
    try:
        return Path.home() / ".cache" / "mist"
    except RuntimeError:
        raise DatasetError(
            f"there is no home folder for data sets: set {ENVIRONMENT} to a folder"
        ) from None


def locate(entry: Entry) -> tuple[str, Path] | None:
    """Find the file of a data set.

    Parameters
    ----------
    entry : Entry
        A registry entry of kind "file".

    Returns
    -------
    tuple of str and Path, or None
        ``"MIST_DATA"`` or ``"cache"``, and the path; None if the file is in neither.
    """
    for place, find in ((ENVIRONMENT, data_folder), ("cache", cache_folder)):
        folder = find()
        if folder is not None and (folder / entry.file).is_file():
            return place, folder / entry.file
    return None


def expected_places(entry: Entry) -> str:
    """Return a text with the folders that may hold the file of a data set."""
    named = data_folder()
    chosen = f"{named}" if named else "not set"
    return f"the folder named by {ENVIRONMENT} ({chosen}) or {cache_folder()}"


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a data set file.

    Parameters
    ----------
    path : Path
        An ``.npz`` file with at least ``X`` and ``y``.

    Returns
    -------
    dict
        Its arrays.

    Raises
    ------
    DatasetError
        If it is damaged, holds pickled objects, or lacks ``X`` or ``y``.
    """
    try:
        with zipfile.ZipFile(path) as members:
            for member in members.infolist():
                check_packing(member)
                with members.open(member) as file:
                    read_header(file)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (OSError, *ARCHIVE_ERRORS) as error:
        raise DatasetError(f"{path} cannot be read ({error}): replace or delete it") from error
    for key in ("X", "y"):
        if key not in arrays:
            raise DatasetError(f"{path} has no array {key!r}: replace or delete it")
    return arrays


def write(path: Path, arrays: Arrays) -> None:
    """Write a data set file completely or not at all.

    Parameters
    ----------
    path : Path
        The file; a missing folder is created.
    arrays : mapping of str to ndarray
        Its arrays.
    """
    named: dict[str, Any] = dict(arrays)
    with replacing(path) as file:
        np.savez_compressed(file, **named)


def differences(entry: Entry, arrays: Arrays) -> list[str]:
    """Compare a table with its entry in the registry.

    Parameters
    ----------
    entry : Entry
        The entry.
    arrays : mapping of str to ndarray
        ``X`` and ``y``.

    Returns
    -------
    list of str
        Expected and found values that differ; empty if none do.
    """
    X, y = arrays["X"], arrays["y"]
    found = []
    if X.shape != (entry.rows, entry.columns):
        found.append(f"expected shape {(entry.rows, entry.columns)}, found {X.shape}")
    if y.shape != X.shape[:1]:
        return [*found, f"expected one label a row, found {y.shape} labels and {X.shape} rows"]
    labels, counts = np.unique(y, return_counts=True)
    if labels.tolist() != list(entry.labels):
        found.append(f"expected labels {list(entry.labels)}, found {labels.tolist()}")
    elif entry.counts is not None and counts.tolist() != list(entry.counts):
        found.append(f"expected class counts {list(entry.counts)}, found {counts.tolist()}")
    return found


def verify(entry: Entry, path: Path, arrays: Arrays) -> list[str]:
    """Compare a file with the reference copy, by checksum if possible, else by content.

    Parameters
    ----------
    entry : Entry
        The entry.
    path : Path
        The file.
    arrays : mapping of str to ndarray
        The arrays in it.

    Returns
    -------
    list of str
        Expected and found values that differ; empty if none do.
    """
    # A downloaded file has the same values in other bytes.
    if entry.sha256 is not None and DOWNLOADED not in arrays:
        found = checksum(path)
        if found == entry.sha256:
            return []
        return [f"expected sha256 {entry.sha256}, found {found}", *differences(entry, arrays)]
    return differences(entry, arrays)
