"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["naming", "replacing", "write_text"]


@contextmanager
def naming(path: Path, kept: str) -> Iterator[None]:
    """Give an error of writing in the block the name of the file, and say what is still there.

    Parameters
    ----------
    path : Path
        The file that is written.
    kept : str
        What holds after an error, as a sentence without an end.

    Raises
    ------
    OSError
        Of the same kind. An error that names another file is left as it is.

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
        what = f"{error.strerror}; {kept}. Make room, or give a path that can be written to"
        raise OSError(error.errno, what, str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once it is written and on the disk.

    Parameters
    ----------
    path : Path
        The file; its folder is made if need be.

    Yields
    ------
    file
        Open for writing bytes, beside `path`, under a name that begins with a dot.

    Raises
    ------
    OSError
        If it cannot be written; the file is named. After any error an earlier file is as it was.

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
    with naming(path, "an earlier file is as it was"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by tempfile: its files are for the owner only, these for all whom the folder is open
        # to.
        part = path.with_name(f".{path.name}-{os.getpid()}-{uuid4().hex}.part")
        # Neither through a link nor into a file that is there: that would be somebody else's.
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
    """Remove the parts that processes have left who were killed while they wrote this file."""
    for left in path.parent.glob(f".{escape(path.name)}-*.part"):
        writer = left.name.removeprefix(f".{path.name}-").split("-")[0]
        if not (writer.isdecimal() and _runs(int(writer))):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether there is such a process here, as far as can be told without a signal."""
    if sys.platform == "win32":  # where a file that is being written cannot be removed
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def write_text(path: Path, text: str) -> None:
    r"""Write a text file as UTF-8, whole or not at all.

    Parameters
    ----------
    path : Path
        The file; its folder is made if need be.
    text : str
        What goes into it.

    Raises
    ------
    OSError
        If it cannot be written; an earlier file is then as it was.

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
