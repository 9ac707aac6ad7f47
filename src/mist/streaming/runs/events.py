"""Changes that models find in their streams: a file of them, and one line about all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from mist.adaptation.changes import Change
from mist.evaluation import StreamResult
from mist.evaluation.changes import in_words
from mist.streaming.runs.appended import Appended, open_appended

__all__ = ["Events", "open_events", "summary"]


class Events(Appended):
    """Writer of the file of changes, as JSON lines; does nothing without a file.

    Parameters
    ----------
    handle : TextIOWrapper or None
        The open file.
    path : Path
        Its name, for error messages.
    several : bool, default=False
        Whether each line also names its model.
    """

    def __init__(
        self, handle: TextIOWrapper | None, path: Path = Path(), several: bool = False
    ) -> None:
        super().__init__(handle, path)
        self._several = several

    def write(self, model: str, changes: Sequence[Change]) -> None:
        """Write one line per change, and flush the file."""
        if self._handle is None or not changes:
            return
        whose = {"model": model} if self._several else {}
        with self._writing():
            for change in changes:
                self._handle.write(json.dumps({**whose, **change._asdict()}) + "\n")
        self.flush()


@contextmanager
def open_events(
    path: Path | None, models: Sequence[str], kept: int | None = None
) -> Iterator[Events]:
    """Open the file of changes.

    Parameters
    ----------
    path : Path or None
        The file; None writes nothing.
    models : sequence of str
        Names of the models.
    kept : int or None, default=None
        Bytes of an earlier run to keep; None starts a new file.

    Yields
    ------
    Events
        The writer.

    Raises
    ------
    ValueError
        If the file is shorter than ``kept``.
    """
    if path is None:
        yield Events(None)
        return
    with open_appended(path, "changes", kept) as handle:
        yield Events(handle, path, len(models) > 1)


def summary(results: Sequence[StreamResult]) -> str:
    """Return the changes that each model has found, as one line; empty if there are none.

    Examples
    --------
    >>> summary([])
    ''
    """
    several = len(results) > 1
    found = [
        f"{result.model}: {in_words(result.changes)}" if several else in_words(result.changes)
        for result in results
        if result.changes
    ]
    return f"Changes found: {'; '.join(found)}" if found else ""
