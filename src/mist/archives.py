"""Checks on arrays in zip archives before they are read, and the errors of reading them."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["ARCHIVE_ERRORS", "Header", "check_packing", "check_texts", "read_header"]

ARCHIVE_ERRORS = (
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or forged zip of arrays may raise."""

_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LAST_CODE = 0x10FFFF
_SURROGATES = np.uint32(0xD800 >> 11)


class Header(NamedTuple):
    """The header of an array in the format of NumPy.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array.
    fortran : bool
        Whether it is stored column by column.
    dtype : dtype
        Type of its values.
    """

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def check_packing(member: zipfile.ZipInfo) -> None:
    """Refuse a compression method that NumPy does not use: some use memory without limit.

    Parameters
    ----------
    member : ZipInfo
        Member of the archive.

    Raises
    ------
    ValueError
        The message names the member.
    """
    if member.compress_type not in _PACKINGS:
        raise ValueError(f"member {member.filename!r} is compressed by an unknown method")


def read_header(file: IO[bytes]) -> Header:
    """Read the header of an array in the format of NumPy.

    Parameters
    ----------
    file : binary file
        Afterwards positioned at the values of the array.

    Returns
    -------
    Header
        Shape, order and type.

    Raises
    ------
    ValueError
        If the header cannot be read.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> np.save(file, np.zeros((2, 3)))
    >>> _ = file.seek(0)
    >>> read_header(file).shape
    (2, 3)
    """
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        version = npy.read_magic(file)
        if version not in readers:
            raise ValueError(f"version {version} of the format is unknown")
        header = Header(*readers[version](file))
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error):
        raise  # an error of the file
    # NumPy uses the tokenizer and parser of Python, which raise errors of many kinds.
    except Exception as error:
        raise ValueError(f"{error}" or type(error).__name__) from error
    if min(header.shape, default=0) < 0:
        raise ValueError(f"the shape {header.shape} is negative")
    return header


def check_texts(array: NDArray[Any], *, whole: bool = False) -> None:
    """Refuse texts that are not valid Unicode, which NumPy does not check.

    Parameters
    ----------
    array : ndarray
        Array of any type.
    whole : bool, default=False
        Whether lone surrogates are refused, too: they cannot be written or printed.

    Raises
    ------
    ValueError
        If there is such a text.

    Examples
    --------
    >>> check_texts(np.array(["a", "b"]))
    """
    for name in array.dtype.names or ():
        check_texts(array[name], whole=whole)
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    code = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    codes = np.ascontiguousarray(array).reshape(-1).view(code)
    if codes.max() > _LAST_CODE or (whole and (codes >> 11 == _SURROGATES).any()):
        raise ValueError("a text is not Unicode")
