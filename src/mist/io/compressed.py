"""Reading of files compressed with gzip or Zstandard."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, NamedTuple
from zlib import error as ZlibError

from mist.io.source import TableError

__all__ = ["COMPRESSIONS", "Unpacked", "open_bytes", "plain_ending"]

_PACKED_AT_ONCE = 512
"""Bytes of Zstandard unpacked at a time: 4 bytes can expand to 128 kB, so these to 16 MB."""

COMPRESSIONS = (".gz", ".zst", ".zstd")
"""Endings of compressed files."""


class Unpacked(NamedTuple):
    """An open file, unpacked if it was compressed.

    Attributes
    ----------
    stream : binary file
        The bytes inside.
    share : callable
        Returns how much of the file on disk has been read, between 0 and 1.
    """

    stream: IO[bytes]
    share: Callable[[], float]


def plain_ending(path: Path) -> str:
    """Return the ending that gives the kind of a file, without an ending of compression.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        In lower case, with its dot.

    Examples
    --------
    >>> plain_ending(Path("log.2024.CSV.gz")), plain_ending(Path("log.csv"))
    ('.csv', '.csv')
    """
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return endings[-1] if endings else ""


@contextmanager
def open_bytes(path: Path) -> Iterator[Unpacked]:
    """Open a file for reading and unpack it if its name says that it is compressed.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    Unpacked
        The bytes inside, and the share of the file that was read.

    Raises
    ------
    TableError
        If the file is damaged, or no library for Zstandard is installed.

    Examples
    --------
    >>> import gzip, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name, "a.txt.gz")
    >>> _ = file.write_bytes(gzip.compress(b"text"))
    >>> with open_bytes(file) as unpacked:
    ...     unpacked.stream.read(), unpacked.share()
    (b'text', 1.0)
    >>> folder.cleanup()
    """
    total = max(1, path.stat().st_size)
    with path.open("rb") as raw:
        # Buffered bytes count as read, so the position in the file gives the share.
        def share() -> float:
            return min(1.0, raw.tell() / total)

        unpack, errors = _unpacker(path)
        try:
            yield Unpacked(unpack(raw), share)
        except errors as error:
            raise TableError(f"{path.name} is not a valid {path.suffix} file: {error}") from error


def _unpacker(path: Path) -> tuple[Callable[[Any], Any], tuple[type[Exception], ...]]:
    """The function that unpacks a file, and the errors of a damaged file."""
    ending = path.suffix.lower()
    if ending == ".gz":
        import gzip

        return (lambda raw: gzip.GzipFile(fileobj=raw)), (gzip.BadGzipFile, EOFError, ZlibError)
    if ending not in COMPRESSIONS:
        return (lambda raw: raw), ()
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile, (zstd.ZstdError, EOFError)
    try:
        import zstandard
    except ImportError as error:
        raise TableError(
            f"{path.name}: Zstandard files need zstandard: pip install 'mist-tree[zstd]'"
        ) from error
    return _unpack_zstandard, (zstandard.ZstdError, EOFError)


def _unpack_zstandard(raw: IO[bytes]) -> IO[bytes]:
    return BufferedReader(_Frames(raw))


class _Frames(RawIOBase):
    """The frames of a Zstandard file; the reader of zstandard accepts a truncated file."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._raw.read(_PACKED_AT_ONCE)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a frame")
                return 0
            self._ready = memoryview(self._unpack(packed))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unpack(self, packed: bytes) -> bytes:
        import zstandard

        parts = []
        while packed:
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(self._frame.decompress(packed))
            packed = b""
            if self._frame.eof:
                packed, self._frame = self._frame.unused_data, None
        return b"".join(parts)
