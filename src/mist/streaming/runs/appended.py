"""Files that a run writes piece by piece, and continues behind a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from mist.files import naming

__all__ = ["Appended", "open_appended"]


_KEPT = "a checkpoint, if there is one, is unchanged, and the same command continues from there"


class Appended:
    """A text file that grows; does nothing without a file.

    Parameters
    ----------
    handle : TextIOWrapper or None
        The open file.
    path : Path
        Its name, for error messages.
    """

    def __init__(self, handle: TextIOWrapper | None, path: Path = Path()) -> None:
        self._handle = handle
        self._path = path

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Name the file in errors of the block."""
        with naming(self._path, _KEPT):
            yield

    def flush(self) -> None:
        """Flush the file, so that other processes see what was written."""
        if self._handle is not None:
            with self._writing():
                self._handle.flush()

    def length(self) -> int:
        """Return the size of the file in bytes, after syncing it to disk."""
        if self._handle is None:
            return 0
        with self._writing():
            self._handle.flush()
            os.fsync(self._handle.fileno())
        return os.fstat(self._handle.fileno()).st_size


@contextmanager
def open_appended(path: Path, what: str, kept: int | None = None) -> Iterator[TextIOWrapper]:
    """Open a new file, or an earlier one behind the part that a checkpoint covers.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Its content, for error messages.
    kept : int or None, default=None
        Bytes of an earlier run to keep; None starts a new file.

    Yields
    ------
    TextIOWrapper
        The open file.

    Raises
    ------
    ValueError
        If the file is shorter than ``kept``.
    """
    if kept is not None:
        if not path.is_file() or path.stat().st_size < kept:
            raise ValueError(
                f"{path} does not have the {kept:,} bytes of {what} that go with the checkpoint; "
                "delete the checkpoint to start again"
            )
        # What was written after the checkpoint is written again.
        os.truncate(path, kept)
    mode = "w" if kept is None else "a"
    handle: TextIOWrapper = path.open(mode, newline="", encoding="utf-8")  # type: ignore[assignment]
    try:
        yield handle
    finally:
        with naming(path, _KEPT):
            handle.close()
