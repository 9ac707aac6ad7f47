"""`EventLog`: events of a stream as JSON lines, each once, also after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mist.files import naming, write_all

__all__ = ["EventLog"]


class EventLog:
    """A file of events that grows.

    Parameters
    ----------
    path : Path or None
        The file; None writes nothing. An incomplete last line is cut.
    after : int, default=0
        Number of the last event that a checkpoint holds. Events with later numbers are written by
        `write_missing` only if they are not in the file yet.

    Attributes
    ----------
    last : int
        Number of the last event in the file when it was opened; 0 if there was none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = EventLog(Path(folder, "events.jsonl"))
    ...     log.write([{"n": 1, "row": 1, "event": "new class", "label": "cat"}])
    ...     again = EventLog(Path(folder, "events.jsonl"))
    ...     again.last
    1
    """

    def __init__(self, path: Path | None, after: int = 0) -> None:
        self.last = 0
        self._later: set[bytes] = set()
        self._path = path
        self._file = -1
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with naming(path, "nothing was written"):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._cut(after)

    def _cut(self, after: int) -> None:
        """Find the events behind a number, and cut a line that a crash left incomplete."""
        assert self._path is not None
        size = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                size += len(line)
                try:
                    self.last = int(json.loads(line)["n"])
                except (LookupError, TypeError, ValueError):
                    raise ValueError(
                        f"{self._path} is not a file of events of mist serve: give another --events"
                    ) from None
                if self.last > after:
                    self._later.add(line)
        os.ftruncate(self._file, size)

    def write(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Write events; other processes see them at once.

        Raises
        ------
        OSError
            If they cannot be written; then none of them is in the file.
        """
        data = b"".join(map(_line_of, events))
        if self._file < 0 or not data:
            return
        assert self._path is not None
        with naming(self._path, "the server continues, events are missing in the file"):
            size = os.fstat(self._file).st_size
            try:
                write_all(self._file, data)
            except OSError:
                # Half a line would be glued to the next event.
                os.ftruncate(self._file, size)
                raise

    def write_missing(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Write those events of the log of calls that are not in the file yet.

        Whole lines are compared: the file may also hold events of another server, which have the
        same numbers.
        """
        self.write([event for event in events if _line_of(event) not in self._later])

    def forget(self) -> None:
        """Forget what was in the file: a checkpoint holds the events."""
        self._later = set()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def sync(self) -> None:
        """Flush the file to the disk, before a checkpoint forgets how its events came about."""
        if self._file >= 0:
            os.fsync(self._file)


def _line_of(event: Mapping[str, Any]) -> bytes:
    return (json.dumps(event) + "\n").encode("ascii")
