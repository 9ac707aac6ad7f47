"""`FolderLock`: one writer of a folder at a time, among all processes."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

__all__ = ["FolderLock"]

_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_PAUSE = 0.02
_PATIENCE = 60.0
_BEHIND = 1 << 20
"""Position of the byte that is locked on Windows, where locked bytes cannot be read."""


class FolderLock:
    """Lock of a folder, from its making to `close` or the end of the process.

    It is a lock on the file ``lock`` in the folder. The file stays; while a process that keeps the
    lock for long has it, the file says which one.

    Parameters
    ----------
    folder : Path
        The folder; it is created.
    holder : str, default=""
        Who keeps the lock for long, such as ``"mist serve"``: others are then refused at once.
        Empty for one step, for which others wait.
    patience : float, default=60.0
        Seconds to wait for the steps of others.

    Raises
    ------
    ValueError
        If another process, or another lock of this one, keeps the folder.
    OSError
        If the file cannot be opened or locked.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, FolderLock(Path(folder), "a run"):
    ...     FolderLock(Path(folder))
    Traceback (most recent call last):
    ValueError: ... is in use by a run (process ...): stop it first, or give another folder
    """

    def __init__(self, folder: Path, holder: str = "", patience: float = _PATIENCE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        self._open = True
        try:
            self._wait(monotonic() + patience)
        except BaseException:
            self._open = False
            os.close(self._file)
            raise
        self._say(f"{holder} (process {os.getpid()})" if holder else "")

    def __enter__(self) -> Self:
        """Return the lock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others write."""
        self.close()

    def close(self) -> None:
        """Let others write."""
        if self._open:
            self._open = False
            self._say("")
            os.close(self._file)

    def _wait(self, end: float) -> None:
        while True:
            try:
                _lock(self._file)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise OSError(error.errno, error.strerror, str(self._path)) from error
            else:
                return
            holder = self._holder()
            if holder or monotonic() > end:
                raise ValueError(
                    f"{self._path.parent} is in use by {holder or 'another process'}: stop it "
                    "first, or give another folder"
                )
            sleep(_PAUSE)

    def _holder(self) -> str:
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, 200).decode("utf-8", "replace").strip()

    def _say(self, text: str) -> None:
        """Write who has the lock; it holds without, on a full disk."""
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, text.encode())


def _lock(file: int) -> None:
    """Lock a file until it is closed; an `OSError` if it is locked."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(file, _BEHIND, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
