"""`RunStore`: versions of the model of one run, in a folder that has no other model's."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mist.io import LiveTable, Table
from mist.persistence import Store, Version
from mist.streaming.runs.checkpoint import save_version

__all__ = ["RunStore"]

_SERVER, _RUN = "mist serve", "mist run"


class RunStore:
    """Versions of the model of one run; the folder is held inside a ``with``.

    Parameters
    ----------
    folder : Path
        The folder of ``--store``.
    keep : int
        Versions to keep.
    model : str
        Name of the model.
    goes_on : bool
        Whether the run goes on from a checkpoint. A run that does not is a model of its own: its
        first version has no parent, and its columns must be those of the versions that are there.

    Raises
    ------
    ValueError
        If the folder is something else, or has versions that no run has written.
    """

    def __init__(self, folder: Path, keep: int, model: str, goes_on: bool) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"--store {folder}: it is not a folder, give another name")
        self._folder, self._model, self._goes_on = folder, model, goes_on
        self._anew = not goes_on
        self._store = Store(folder, keep)
        self._checked = False
        self._check_writers()

    def __enter__(self) -> Self:
        """Keep others from changing the folder.

        Raises
        ------
        ValueError
            If another run or a server writes to it.
        """
        self._store.hold("mist run --store")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others change the folder."""
        self._store.release()

    def check(self, table: Table | LiveTable) -> None:
        """Refuse a folder with versions of another target or other columns.

        A stream whose columns are not known in advance is compared once it has one, and refused if
        the versions have none of its columns: its rows need not have all of them.

        Parameters
        ----------
        table : Table or LiveTable
            The rows of the run.

        Raises
        ------
        ValueError
            If there are such versions.
        """
        columns = set(table.columns)
        if self._checked or not columns:
            return
        self._check_writers()
        for version in self._store.list():
            target, before = version.about["target"], set(version.about["columns"])
            if target != table.target:
                what = f"for the target {target!r}, and this run has {table.target!r}"
            elif not self._goes_on and not (
                columns == before if table.columns_known else columns & before
            ):
                what = f"with other columns: {_difference(before, columns)}"
            else:
                continue
            raise ValueError(
                f"--store {self._folder} has versions of a model {what}; they would be removed "
                "after --keep-versions. Give another folder"
            )
        self._checked = True

    def save(self, model: Any, table: Table | LiveTable, accuracy: float, note: str) -> None:
        """Add the model.

        Parameters
        ----------
        model : object
            The model.
        table : Table or LiveTable
            The rows that it has learnt.
        accuracy : float
            Share of rows predicted right so far; NaN if it is not known.
        note : str
            What to keep as a note.
        """
        about = {
            "by": _RUN,
            "target": table.target,
            "model": self._model,
            "columns": list(table.columns),
        }
        save_version(self._store, model, table.plain(), accuracy, note, about, self._anew)
        self._anew = False

    def _check_writers(self) -> None:
        """Refuse versions of a server, or that a program has saved."""
        for version in self._store.list():
            if version.about.get("by") == _SERVER:
                raise ValueError(
                    f"--store {self._folder}: mist serve keeps its versions there, give another one"
                )
            if not _of_a_run(version):
                raise ValueError(
                    f"--store {self._folder} has versions that mist run has not written (version "
                    f"{version.number}): give another folder"
                )


def _of_a_run(version: Version) -> bool:
    about = version.about
    return about.get("by") == _RUN and {"target", "columns"} <= set(about)


def _difference(before: set[str], now: set[str]) -> str:
    """Name a column that only one of two models has."""
    gone, new = sorted(before - now), sorted(now - before)
    parts = [f"they have {gone[0]!r}"] if gone else []
    parts += [f"this run has {new[0]!r}"] if new else []
    return ", ".join(parts)
