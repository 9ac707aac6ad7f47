"""The file format: a zip of one JSON header and one npy member per array, with a checksum.

The comment of the zip, at the end of the file, holds the SHA-256 of all bytes before it. The
header gives the size and the SHA-256 of each member. No more of a member is read than its size,
and no member is read if their total size exceeds the limit of the caller.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from mist.archives import ARCHIVE_ERRORS, check_packing, check_texts, read_header
from mist.files import replacing
from mist.persistence.codec import Unreadable, is_plain
from mist.texts import one_line

Array = np.ndarray[Any, Any]

__all__ = [
    "FORMAT",
    "MOST_BYTES",
    "VERSION",
    "Contents",
    "member_name",
    "read_contents",
    "write_contents",
]

FORMAT = "mist-model"
VERSION = 1

_HEADER = "header.json"
_MEMBER = re.compile(r"header\.json|arrays/(0|[1-9][0-9]{0,8})\.npy")
_SEAL = b"MIST sha256 "
_DIGITS = 64
_CHUNK = 2**20
_ZIP64 = 2**31 - 2**16
_START = b"PK\x03\x04"
_LEVEL = 1  # higher levels save little: the last digits of most numbers are noise

MOST_BYTES = 2**32
"""Default limit on the total bytes of the members of a file."""


class Contents(NamedTuple):
    """The content of a file before it is decoded to a model.

    Attributes
    ----------
    header : dict
        The header: format, versions, class, classes, and the model as `mist.persistence.codec`
        writes it.
    arrays : list of ndarray
        The arrays.
    sizes : dict
        Bytes of every member by name.
    """

    header: dict[str, Any]
    arrays: list[Array]
    sizes: dict[str, int]


def member_name(number: int) -> str:
    """Name of the member that holds the array with this number."""
    return f"arrays/{number}.npy"


def write_contents(path: Path, header: Mapping[str, Any], arrays: Sequence[Array]) -> None:
    """Write a file completely or not at all.

    Parameters
    ----------
    path : Path
        The file; a missing folder is created.
    header : mapping
        JSON values of the header, in addition to format, version and members.
    arrays : sequence of ndarray
        Arrays of numbers, bools, text or records.

    Raises
    ------
    OSError
        If it cannot be written; an existing file is then unchanged.
    """
    members = {}
    with replacing(path) as file:
        deflated = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(file, "w", deflated, compresslevel=_LEVEL) as archive:
            for number, array in enumerate(arrays):
                name = member_name(number)
                members[name] = _write_array(archive, name, array)
            whole = {"format": FORMAT, "version": VERSION, **header, "members": members}
            text = json.dumps(whole, allow_nan=False, separators=(",", ":"))
            with archive.open(_HEADER, "w") as member:
                member.write(text.encode("ascii"))
            archive.comment = _SEAL + _DIGITS * b"0"
        file.flush()
        with open(file.name, "rb") as written:
            digest = _digest(written)
        file.seek(-_DIGITS, os.SEEK_END)
        file.write(digest)


class _Counted:
    """An append-only file with the size and checksum of the written bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.size, self.sum = file, 0, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.sum.update(data)
        return int(self.file.write(data))


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> dict[str, Any]:
    """Write an array and return its entry in the header."""
    plain = np.asarray(array)
    large = plain.nbytes > _ZIP64
    with archive.open(name, "w", force_zip64=large) as member:
        file: Any = _Counted(member)
        npy.write_array(file, plain, allow_pickle=False)
    return {
        "bytes": file.size,
        "sha256": file.sum.hexdigest(),
        "dtype": _described(plain.dtype),
        "shape": list(plain.shape),
    }


def _described(dtype: np.dtype[Any]) -> Any:
    """The type of an array as JSON values."""
    if dtype.fields is None:
        return dtype.str
    return [[name, part[0].str] for name, part in dtype.fields.items()]


def _digest(file: BinaryIO) -> bytes:
    """SHA-256 of all bytes before the checksum at the end, as hexadecimal digits."""
    left = file.seek(0, os.SEEK_END) - _DIGITS
    file.seek(0)
    total = hashlib.sha256()
    while left > 0:
        data = file.read(min(left, _CHUNK))
        if not data:
            break
        total.update(data)
        left -= len(data)
    return total.hexdigest().encode("ascii")


def read_contents(path: Path, *, max_bytes: int = MOST_BYTES) -> Contents:
    """Read a file and check that it is unchanged.

    Parameters
    ----------
    path : Path
        The file.
    max_bytes : int
        Limit on the total bytes of its members; a larger file is refused before they are read.

    Returns
    -------
    Contents
        Header, arrays, and the size of each member.

    Raises
    ------
    ValueError
        If it is not a model file, has a newer format, or is truncated, altered or inconsistent.
        The message names the file.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        try:
            _check_seal(file)
            with zipfile.ZipFile(file) as archive:
                return _read(archive, max_bytes)
        except Unreadable as error:
            raise ValueError(f"{path}: {one_line(str(error))}") from error
        except ARCHIVE_ERRORS as error:
            raise ValueError(f"{path}: the file is damaged: {one_line(str(error))}") from error


def _check_seal(file: BinaryIO) -> None:
    """Refuse a file that was changed after it was written."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(_START)) != _START:
        raise Unreadable("this is not a MIST model file: `mist run --save` writes one")
    file.seek(max(0, size - len(_SEAL) - _DIGITS))
    end = file.read()
    if not end.startswith(_SEAL):
        raise Unreadable("this is not a MIST model file, or it is truncated")
    if end[len(_SEAL) :] != _digest(file):
        raise Unreadable("the file was altered or damaged: its checksum differs")


def _read(archive: zipfile.ZipFile, max_bytes: int) -> Contents:
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    for member in members:
        if not _MEMBER.fullmatch(member.filename):
            raise Unreadable(f"the file has the unexpected member {member.filename!r}")
        check_packing(member)
    if len(sizes) < len(members):
        raise Unreadable("the file has the same member twice")
    total = sum(sizes.values())
    if total > max_bytes:
        raise Unreadable(
            f"its content takes {total:,} bytes, more than max_bytes={max_bytes:,}: if you trust "
            "the file, pass a larger max_bytes"
        )
    if _HEADER not in sizes:
        raise Unreadable(f"member {_HEADER!r} is missing")
    header = _parsed(_bytes(archive, _HEADER, sizes[_HEADER]))
    declared = header["members"]
    wanted = {member_name(number) for number in range(len(declared))}
    for name in sorted(wanted | set(declared) | set(sizes) - {_HEADER}):
        if name not in sizes or name not in declared or name not in wanted:
            there = "missing" if name not in sizes else "not listed in the header"
            raise Unreadable(f"member {name!r} is {there}")
        if declared[name]["bytes"] != sizes[name]:
            raise Unreadable(f"the size of member {name!r} differs from the header")
    arrays = []
    for number in range(len(declared)):
        name = member_name(number)
        data = _bytes(archive, name, sizes[name])
        if hashlib.sha256(data).hexdigest() != declared[name]["sha256"]:
            raise Unreadable(f"member {name!r} was altered: its checksum differs")
        arrays.append(_array(name, data, declared[name]))
    return Contents(header, arrays, sizes)


def _bytes(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    with archive.open(name) as member:
        data = member.read(size + 1)
    if len(data) != size:
        raise Unreadable(f"the size of member {name!r} differs from the zip directory")
    return data


def _parsed(data: bytes) -> dict[str, Any]:
    header = json.loads(data, parse_constant=_no_constant)
    if type(header) is not dict or header.get("format") != FORMAT:
        raise Unreadable("the file has an unknown format")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise Unreadable(f"the file has the unknown format version {version!r}")
    if type(header.get("library")) is not str:
        raise Unreadable("the header does not say which version of MIST wrote the file")
    if version > VERSION:
        raise Unreadable(
            f"the file has format version {version}, but this MIST reads versions up to "
            f"{VERSION}: use MIST {header.get('library')}, which wrote the file, or a newer one"
        )
    return header


def _no_constant(text: str) -> Any:
    raise Unreadable(f"{text} is not allowed in the header")


def _array(name: str, data: bytes, declared: Mapping[str, Any]) -> Array:
    """Read the array of a member and check it against the header."""
    file = io.BytesIO(data)
    shape, fortran, dtype = read_header(file)
    if not is_plain(dtype):
        raise Unreadable(f"member {name!r} holds values of the unsupported type {dtype}")
    if _described(dtype) != declared["dtype"] or list(shape) != declared["shape"]:
        raise Unreadable(f"member {name!r} differs in type or shape from the header")
    count = int(np.prod(shape, dtype=object))
    if len(data) - file.tell() != count * dtype.itemsize:
        raise Unreadable(f"member {name!r} has more or fewer bytes than its shape needs")
    flat = np.frombuffer(data, dtype, count, file.tell()) if count else np.empty(0, dtype)
    check_texts(flat)
    out = flat.astype(dtype.newbyteorder("="))
    return out.reshape(shape[::-1]).transpose() if fortran else out.reshape(shape)
