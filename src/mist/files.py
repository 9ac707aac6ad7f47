"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["replacing", "write_text"]


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
        If it cannot be written. After any error an earlier file is as it was.

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
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by tempfile: its files are for the owner only, these for all whom the folder is open to.
    part = path.with_name(f".{path.name}-{uuid4().hex}.part")
    # Neither through a link nor into a file that is there: that would be somebody else's.
    part_file = part.open("xb")
    try:
        with part_file as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    # A process that was killed while it wrote this file has left its part behind.
    for left in path.parent.glob(f".{escape(path.name)}-*.part"):
        left.unlink(missing_ok=True)


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
