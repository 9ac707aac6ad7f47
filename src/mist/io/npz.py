"""NPZ archives with arrays ``X`` and ``y``, read in blocks of rows."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mist.archives import ARCHIVE_ERRORS, check_packing, check_texts, read_header
from mist.io.bounds import MOST_WHOLE, check_width
from mist.io.source import Cells, Column, RawRows, Source, TableError

__all__ = ["NpzSource"]

_SCAN_ROWS = 1 << 16
_LONGEST_TEXT = 1 << 12
_MOST_BESIDE = 1 << 28
"""Most bytes of an array of names or factors."""


class NpzSource(Source):
    """A NumPy archive with a matrix ``X`` and one or more arrays of labels.

    Further arrays are used if they fit: ``scale`` (one number, or one per column) multiplies
    ``X``, ``features`` names the columns, ``classes[y]`` names the labels.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        Name of the array of labels, usually ``"y"``.

    Raises
    ------
    TableError
        If the archive is damaged, holds pickled objects, or its arrays do not fit together.

    Notes
    -----
    Rows are unpacked when they are needed. Only a matrix stored column by column (Fortran order)
    is read completely.
    """

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        with self._reading() as archive:
            names = [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
            for name in ("X", target):
                if name not in names:
                    raise TableError(
                        f"{path.name} has no array {name!r}; arrays: {', '.join(names) or 'none'}"
                    )
            with _Member(archive, "X", path) as matrix, _Member(archive, target, path) as labels:
                _check_shapes(matrix, labels, path)
                n_columns = matrix.shape[1]
                check_width(n_columns, path.name)
                self._rows = matrix.shape[0]
            self._label = target
            self._scale = np.array(1.0)
            if "scale" in names:
                with _Member(archive, "scale", path) as member:
                    if member.dtype.kind not in "iuf" or member.shape not in {(), (n_columns,)}:
                        raise TableError(
                            f"{path.name}: 'scale' must be one number or {n_columns} numbers, one "
                            "per column"
                        )
                    self._scale = member.all()
            self.columns = tuple(
                Column(name, "number") for name in _column_names(archive, names, n_columns, path)
            )
            self._classes = self._read_classes(archive, names)
        self.columns += (Column(target),)
        self.label = n_columns

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with (
            self._reading() as archive,
            _Member(archive, "X", self.path) as matrix,
            _Member(archive, self._label, self.path) as labels,
        ):
            for start in range(0, self._rows, size):
                count = min(size, self._rows - start)
                # Infinite results are refused, with row and column, when they are encoded.
                with np.errstate(over="ignore", invalid="ignore"):
                    block = matrix.read(count).astype(np.float64) * self._scale
                y = labels.read(count)
                columns: list[Cells] = list(block.T)
                columns.append(y if self._classes is None else self._classes[y])
                rows = np.arange(start + 1, start + count + 1)
                yield RawRows(rows, columns, (start + count) / self._rows)

    def _reading(self) -> _Archive:
        return _Archive(self.path)

    def _read_classes(
        self, archive: zipfile.ZipFile, names: Collection[str]
    ) -> NDArray[Any] | None:
        """Names of the labels; None unless every label is an index into them (one cheap pass)."""
        if "classes" not in names:
            return None
        with _Member(archive, "classes", self.path) as member:
            if len(member.shape) != 1 or member.dtype.kind != "U":
                return None
            classes = member.all()
        with _Member(archive, self._label, self.path) as labels:
            if labels.dtype.kind not in "iu":
                return None
            for start in range(0, self._rows, _SCAN_ROWS):
                y = labels.read(min(_SCAN_ROWS, self._rows - start))
                if y.min() < 0 or y.max() >= len(classes):
                    return None
        return classes


def _column_names(
    archive: zipfile.ZipFile, names: Collection[str], n_columns: int, path: Path
) -> list[str]:
    if "features" in names:
        with _Member(archive, "features", path) as member:
            if member.shape == (n_columns,):
                return [str(name) for name in member.all()]
    return [f"x{i}" for i in range(n_columns)]


class _Archive:
    """The zip file, whose errors become a TableError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> zipfile.ZipFile:
        try:
            self._archive = zipfile.ZipFile(self._path)
        except ARCHIVE_ERRORS as error:
            raise TableError(f"{self._path.name} is not an NPZ archive") from error
        return self._archive

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._archive.close()
        if isinstance(error, ARCHIVE_ERRORS) and not isinstance(error, TableError):
            raise TableError(f"{self._path.name} is damaged: {error}") from error


class _Member:
    """One array of the archive, read from its start in blocks of rows."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path) -> None:
        self._name = name
        self._file = path.name
        check_packing(archive.getinfo(f"{name}.npy"))
        self._stream: IO[bytes] = archive.open(f"{name}.npy")
        try:
            self.shape, self._fortran, self.dtype = read_header(self._stream)
        except ValueError as error:
            raise TableError(
                f"{self._file}: array {name!r} is not a valid .npy: {error}"
            ) from error
        if self.dtype.hasobject or self.dtype.kind not in "biufU" or not self.dtype.itemsize:
            raise TableError(
                f"{self._file}: array {name!r} has type {self.dtype}; only numbers, and texts as "
                "labels, are read, not pickled objects"
            )
        if self.dtype.kind == "U" and self.dtype.itemsize > 4 * _LONGEST_TEXT:
            raise TableError(
                f"{self._file}: array {name!r} has type {self.dtype}; texts of more than "
                f"{_LONGEST_TEXT:,} characters are not read"
            )
        self._whole: NDArray[Any] | None = None
        self._next = 0

    def read(self, count: int) -> NDArray[Any]:
        """Return the next `count` rows."""
        if not self._fortran:
            return self._take(count).reshape(count, *self.shape[1:])
        if self._whole is None:
            self.check_size(
                MOST_WHOLE, "and is stored column by column: save its np.ascontiguousarray"
            )
            self._whole = self._take(self.shape[0]).reshape(self.shape, order="F")
        self._next += count
        return self._whole[self._next - count : self._next]

    def all(self) -> NDArray[Any]:
        """Return all values of a small array."""
        self.check_size(_MOST_BESIDE, "more than are read of such an array")
        return self.read(self.shape[0]) if self.shape else self._take(1).reshape(())

    def check_size(self, most: int, why: str) -> None:
        """Refuse an array of more than ``most`` bytes."""
        size = math.prod(self.shape) * self.dtype.itemsize
        if size > most:
            raise TableError(f"{self._file}: array {self._name!r} takes {size:,} bytes, {why}")

    def _take(self, rows: int) -> NDArray[Any]:
        size = rows * math.prod(self.shape[1:]) * self.dtype.itemsize
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError(f"array {self._name!r} ends early")
        out = np.frombuffer(data, dtype=self.dtype)
        check_texts(out, whole=True)
        return out

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()


def _check_shapes(matrix: _Member, labels: _Member, path: Path) -> None:
    if len(matrix.shape) != 2:
        raise TableError(
            f"{path.name}: 'X' must be a matrix (rows, columns), but has shape {matrix.shape}"
        )
    if matrix.dtype.kind == "U":
        raise TableError(f"{path.name}: 'X' holds texts; only numbers are read")
    if len(labels.shape) != 1:
        raise TableError(
            f"{path.name}: the labels {labels._name!r} must be one-dimensional, "
            f"but have shape {labels.shape}"
        )
    if labels.shape[0] != matrix.shape[0]:
        raise TableError(
            f"{path.name}: 'X' has {matrix.shape[0]} rows, "
            f"but there are {labels.shape[0]} labels in {labels._name!r}"
        )
