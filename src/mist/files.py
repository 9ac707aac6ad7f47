"""Writing files atomically: a file is complete or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["naming", "replacing", "write_all", "write_text"]


def write_all(file: int, data: bytes) -> None:
    """Write all bytes to a file descriptor: one call of the system may write only a part.

    Raises
    ------
    OSError
        If they cannot be written; then a part of them may be in the file.
    """
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


@contextmanager
def naming(path: Path, kept: str) -> Iterator[None]:
    """Add to a write error in the block the file name and the state of existing data.

    Parameters
    ----------
    path : Path
        The file that is written.
    kept : str
        What is still true after an error, as a sentence without a full stop.

    Raises
    ------
    OSError
        Of the same kind. An error that names another file is not changed.

    Examples
    --------
    >>> with naming(Path("a.csv"), "nothing is lost"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device; nothing is lost. ...: 'a.csv'
    """
    try:
        yield
    except OSError as error:
        own = error.filename is None or Path(error.filename).parent == path.parent
        if error.errno is None or not own:
            raise
        what = f"{error.strerror}; {kept}. Free space or give a path that can be written to"
        raise OSError(error.errno, what, str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` once it is complete and on the disk.

    A device or a pipe, such as ``/dev/null``, is written to and not replaced.

    Parameters
    ----------
    path : Path
        The file; a missing folder is created.

    Yields
    ------
    file
        Open for writing bytes, in the folder of `path`, with a name that begins with a dot.

    Raises
    ------
    OSError
        If it cannot be written; the message names the file. An existing file is then unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a", "b.txt")) as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "a", "b.txt").read_text()
    'whole'
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with naming(path, "it may be incomplete"), path.open("wb") as device:
            yield device
        return
    with naming(path, "an existing file is unchanged"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not with tempfile, whose files only their owner can read.
        part = path.with_name(f".{path.name}-{os.getpid()}-{uuid4().hex}.part")
        # "x" follows no link and opens no existing file, which could be somebody else's.
        part_file = part.open("xb")
        try:
            with part_file as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    _clear(path)


def _clear(path: Path) -> None:
    """Remove the partial files of processes that were killed while writing this file."""
    for left in path.parent.glob(f".{escape(path.name)}-*.part"):
        writer = left.name.removeprefix(f".{path.name}-").split("-")[0]
        if not (writer.isdecimal() and _runs(int(writer))):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether a process with this number exists on this machine, as far as is known."""
    if sys.platform == "win32":  # a file that is being written cannot be removed there
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def write_text(path: Path, text: str) -> None:
    r"""Write a text file as UTF-8, completely or not at all.

    Parameters
    ----------
    path : Path
        The file; a missing folder is created.
    text : str
        Its content.

    Raises
    ------
    OSError
        If it cannot be written; an existing file is then unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_text(Path(folder, "a.txt"), "two lines\n")
    ...     Path(folder, "a.txt").read_text()
    'two lines\n'
    """
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
