"""The folder of a grid: one small file per run, written atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from mist import __version__
from mist.files import write_text
from mist_bench.record import Experiment, Record, Run, Task
from mist_bench.work import describe

__all__ = [
    "StoreError",
    "forget",
    "path_of",
    "read_record",
    "read_records",
    "write_record",
]

_FORMAT = 1

AnyTask = TypeVar("AnyTask", Run, Experiment, Task)


class StoreError(ValueError):
    """A result file was written under settings other than those requested.

    Examples
    --------
    >>> issubclass(StoreError, ValueError)
    True
    """


def path_of(folder: Path, run: Task) -> Path:
    """Return the path of the result file of a run.

    Parameters
    ----------
    folder : Path
        Folder of the grid.
    run : Run or Experiment
        The run.

    Returns
    -------
    Path
        ``folder/runs/PROTOCOL/DATASET/METHOD-SEED.json`` for a run, and for an experiment
        ``folder/experiments/FUNCTION/ARGUMENTS-SEED.json``.

    Examples
    --------
    >>> path_of(Path("out"), Run("iris", "ncm", 42, "paper")).as_posix()
    'out/runs/paper/iris/ncm-42.json'
    >>> path_of(Path("out"), Experiment("mist.x:f", (("n", 2),), 7)).as_posix()
    'out/experiments/mist.x.f/n=2-7.json'
    """
    kind = "runs" if isinstance(run, Run) else "experiments"
    # Names may hold options, and options may hold any character.
    *place, name, seed = (quote(part, safe="+=,") for part in run.parts)
    return folder.joinpath(kind, *place, f"{name}-{seed}.json")


def write_record(folder: Path, record: Record) -> Path:
    """Write the result file of a run.

    Parameters
    ----------
    folder : Path
        Folder of the grid.
    record : Record
        Outcome of the run.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If it cannot be written; an earlier file is then unchanged.
    """
    path = path_of(folder, record.run)
    content = {
        "format": _FORMAT,
        "mist": __version__,
        "settings": describe(record.run),
        "record": asdict(record),
    }
    write_text(path, json.dumps(content, allow_nan=False, indent=1) + "\n")
    return path


def read_record(folder: Path, run: Task) -> Record | None:
    """Read the result file of a run.

    Parameters
    ----------
    folder : Path
        Folder of the grid.
    run : Run or Experiment
        The run.

    Returns
    -------
    Record or None
        None if the run has not been done, or its file is damaged; the run is then to be repeated.

    Raises
    ------
    StoreError
        If the file was written by another version of the library or under other settings, which
        must not be mixed with new results.
    """
    path = path_of(folder, run)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        made_by = (content["format"], content["mist"])
        settings, fields = content["settings"], content["record"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):
        return None
    wanted = (_FORMAT, __version__)
    if made_by != wanted or settings != _through_json(describe(run)):
        difference = (
            f"by version {made_by[1]} (format {made_by[0]}), this is {__version__} ({_FORMAT})"
            if made_by != wanted
            else "under other settings"
        )
        raise StoreError(
            f"{path} was written {difference}: choose another folder, or run everything again "
            "(--fresh, or fresh=True in Python)"
        )
    return _parse(run, fields)


def _parse(run: Task, fields: Any) -> Record | None:
    # Through JSON like the contents of the file: JSON turns tuples into lists.
    if not isinstance(fields, dict) or fields.get("run") != _through_json(asdict(run)):
        return None
    try:
        return Record(**{**fields, "run": run})
    except TypeError:
        return None


def _through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def forget(folder: Path, runs: Iterable[Task]) -> None:
    """Delete the result files of runs, so that all of them are done again.

    Parameters
    ----------
    folder : Path
        Folder of the grid.
    runs : iterable of Run or Experiment
        The plan.

    Raises
    ------
    OSError
        If one cannot be deleted.
    """
    for run in runs:
        path_of(folder, run).unlink(missing_ok=True)


def read_records(folder: Path, runs: Iterable[AnyTask]) -> dict[AnyTask, Record]:
    """Read the result files of all runs that have been done.

    Parameters
    ----------
    folder : Path
        Folder of the grid.
    runs : iterable of Run or Experiment
        The plan.

    Returns
    -------
    dict of Run or Experiment to Record
        In the order of the plan.

    Raises
    ------
    StoreError
        As `read_record`.
    """
    found = {run: read_record(folder, run) for run in runs}
    return {run: record for run, record in found.items() if record is not None}
