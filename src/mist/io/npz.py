"""NPZ archives with arrays ``X`` and ``y``, streamed without unpacking them whole."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mist.io.source import Batch, Cells, Column, Source, TableError

__all__ = ["NpzSource"]

_SCAN_ROWS = 1 << 16


class NpzSource(Source):
    """A NumPy archive with a matrix ``X`` and one or more arrays of labels.

    Further arrays are used where they fit: ``scale`` (a number, or one a column) multiplies
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
    Rows are taken from the packed stream as they are needed. Only a matrix stored column by
    column (Fortran order) has to be read whole.
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
                self._rows = matrix.shape[0]
            self._label = target
            small = {
                name: _load(archive, name, path)
                for name in ("scale", "features", "classes")
                if name in names
            }
            self._scale = small.get("scale", np.array(1.0))
            if self._scale.dtype.kind not in "iuf" or self._scale.shape not in {(), (n_columns,)}:
                raise TableError(
                    f"{path.name}: 'scale' has to be one number or {n_columns}, one a column"
                )
            features = small.get("features", np.array([]))
            self._classes = self._fitting(small.get("classes"), archive)
        if features.shape == (n_columns,):
            columns = [str(name) for name in features]
        else:
            columns = [f"x{i}" for i in range(n_columns)]
        self.columns = (*(Column(name, "number") for name in columns), Column(target))
        self.label = n_columns

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with (
            self._reading() as archive,
            _Member(archive, "X", self.path) as matrix,
            _Member(archive, self._label, self.path) as labels,
        ):
            for start in range(0, self._rows, size):
                count = min(size, self._rows - start)
                block = matrix.read(count).astype(np.float64) * self._scale
                y = labels.read(count)
                columns: list[Cells] = list(block.T)
                columns.append(y if self._classes is None else self._classes[y])
                rows = np.arange(start + 1, start + count + 1)
                yield Batch(rows, columns, (start + count) / self._rows)

    def _reading(self) -> _Archive:
        return _Archive(self.path)

    def _fitting(
        self, classes: NDArray[Any] | None, archive: zipfile.ZipFile
    ) -> NDArray[Any] | None:
        # Names apply only if every label is a position in them: one cheap pass over the labels.
        if classes is None or classes.ndim != 1 or classes.dtype.kind != "U":
            return None
        with _Member(archive, self._label, self.path) as labels:
            if labels.dtype.kind not in "iu":
                return None
            for start in range(0, self._rows, _SCAN_ROWS):
                y = labels.read(min(_SCAN_ROWS, self._rows - start))
                if y.min() < 0 or y.max() >= len(classes):
                    return None
        return classes


class _Archive:
    """The zip file, its errors turned into a TableError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> zipfile.ZipFile:
        try:
            self._archive = zipfile.ZipFile(self._path)
        except zipfile.BadZipFile as error:
            raise TableError(f"{self._path.name} is no NPZ archive") from error
        return self._archive

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._archive.close()
        if isinstance(error, (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)):
            raise TableError(f"{self._path.name} is damaged: {error}") from error


class _Member:
    """One array of the archive, read from its start in blocks of rows."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path) -> None:
        self._name = name
        self._file = path.name
        self._stream: IO[bytes] = archive.open(f"{name}.npy")
        self.shape, self._fortran, self.dtype = self._header()
        if self.dtype.hasobject or self.dtype.kind not in "biufU":
            raise TableError(
                f"{self._file}: array {name!r} has type {self.dtype}; only plain numbers are read "
                "(and texts as labels), no pickled objects"
            )
        self._whole: NDArray[Any] | None = None
        self._next = 0

    def _header(self) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        try:
            version = np.lib.format.read_magic(self._stream)
            return readers[version](self._stream)
        except (ValueError, KeyError) as error:
            raise TableError(
                f"{self._file}: array {self._name!r} is no readable .npy: {error}"
            ) from error

    def read(self, count: int) -> NDArray[Any]:
        """Return the next `count` rows."""
        if not self._fortran:
            return self._take(count).reshape(count, *self.shape[1:])
        if self._whole is None:
            self._whole = self._take(self.shape[0]).reshape(self.shape, order="F")
        self._next += count
        return self._whole[self._next - count : self._next]

    def _take(self, rows: int) -> NDArray[Any]:
        size = rows * int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError(f"array {self._name!r} ends early")
        return np.frombuffer(data, dtype=self.dtype)

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()


def _load(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    with _Member(archive, name, path) as member:
        if not member.shape:
            return member._take(1).reshape(())
        return member.read(member.shape[0])


def _check_shapes(matrix: _Member, labels: _Member, path: Path) -> None:
    if len(matrix.shape) != 2:
        raise TableError(
            f"{path.name}: 'X' has to be a matrix (rows, columns), not of shape {matrix.shape}"
        )
    if matrix.dtype.kind == "U":
        raise TableError(f"{path.name}: 'X' holds texts; only numbers are read")
    if len(labels.shape) != 1:
        raise TableError(
            f"{path.name}: the labels {labels._name!r} have to be one row of values, "
            f"not of shape {labels.shape}"
        )
    if labels.shape[0] != matrix.shape[0]:
        raise TableError(
            f"{path.name}: 'X' has {matrix.shape[0]} rows, "
            f"but there are {labels.shape[0]} labels in {labels._name!r}"
        )
