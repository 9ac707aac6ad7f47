"""Progress of a running grid on the terminal: a bar, errors, and how to resume."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console

from mist.commands.output import make_progress
from mist.commands.screen import Screen
from mist_bench import Progress, iter_grid
from mist_bench.record import Task

__all__ = ["GridOptions", "follow", "tell_failures"]

_NOTICE_SECONDS = 30.0
_DASK = "dask://"
_CONNECT_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """The options of every command that runs a grid.

    Examples
    --------
    >>> GridOptions(jobs=2).fresh
    False
    """

    jobs: int | str = -1
    out: Path = Path()
    fresh: bool = False
    retry_failed: bool = False

    def check(self) -> None:
        """Raise ValueError if `jobs` is 0 or a text that is not the address of a Dask scheduler."""
        if self.jobs == 0 or (isinstance(self.jobs, str) and not self.jobs.startswith(_DASK)):
            raise ValueError(
                f"--jobs {self.jobs}: give the number of runs at a time, or -1 for one per "
                "processor, or the address of a Dask scheduler, such as dask://localhost:8786"
            )


def follow(tasks: Sequence[Task], name: str, options: GridOptions) -> Progress:
    """Do the runs of a grid that its folder does not hold, and show the progress.

    Parameters
    ----------
    tasks : sequence of Run or Experiment
        The plan.
    name : str
        Text before the bar.
    options : GridOptions
        Options of the runs, and the folder of their results.

    Returns
    -------
    Progress
        The last step.

    Raises
    ------
    ValueError
        If the folder holds results that must not be mixed with these.
    OSError
        If a result cannot be written, or no Dask scheduler answers.
    ImportError
        If the runs are to be done by a Dask cluster and dask.distributed is not installed.
    """
    with _workers(options.jobs) as jobs:
        return _follow(tasks, name, options, jobs)


def _follow(tasks: Sequence[Task], name: str, options: GridOptions, jobs: int | None) -> Progress:
    steps = iter_grid(
        tasks, options.out, jobs=jobs, fresh=options.fresh, retry_failed=options.retry_failed
    )
    # Checked now, not after the first run.
    options.out.mkdir(parents=True, exist_ok=True)
    notices = Screen(stderr=True)
    done = 0
    errors: set[str | None] = set()
    try:
        # Data sets that have to be downloaded show bars of their own, one after another.
        step = first = next(steps)
        with closing(steps), make_progress() as bar:
            task = bar.add_task(name, total=len(tasks), note="")
            last = monotonic()
            for step in chain([first], steps):
                done = step.done
                note = _note(step)
                bar.update(task, completed=done, note=note)
                # A missing data set fails every run on it with the same error.
                if step.record is not None and step.record.error not in errors | {None}:
                    errors.add(step.record.error)
                    _print(bar.console, f"failed: {step.record.run.key}: {step.record.error}")
                if not notices.is_terminal and monotonic() - last > _NOTICE_SECONDS:
                    last = monotonic()
                    notices.print(note)
    except KeyboardInterrupt:
        again = "the same command without --fresh" if options.fresh else "the same command"
        _print(notices, f"{done} of {len(tasks)} runs are kept in {options.out}: {again} goes on")
        raise
    return step


def tell_failures(step: Progress, console: Console) -> bool:
    """Say how many runs failed.

    Parameters
    ----------
    step : Progress
        The last step of a grid.
    console : rich.console.Console
        Console to print to.

    Returns
    -------
    bool
        Whether every run succeeded.
    """
    if step.failed:
        console.print(f"{step.failed} of {step.total} runs failed; --retry-failed does them again")
    return step.failed == 0


@contextmanager
def _workers(jobs: int | str) -> Iterator[int | None]:
    """Use local processes or a Dask cluster; yields the jobs for joblib."""
    from joblib import parallel_config

    if isinstance(jobs, str):
        with _connected(jobs), parallel_config(backend="dask"):
            yield None
        return
    # Ctrl-C reaches every process of a terminal: this one ends the others silently.
    quiet = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
    with warnings.catch_warnings(), parallel_config(backend="loky", **quiet):
        warnings.filterwarnings("ignore", "[0-9]+ tasks which were still being processed")
        yield jobs


def _connected(jobs: str) -> Any:
    """A client of the Dask scheduler at an address such as dask://localhost:8786."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            f"--jobs {jobs} needs dask.distributed: pip install 'mist-tree[dask]'",
            name="distributed",
        ) from error
    try:
        return Client(f"tcp://{jobs.removeprefix(_DASK)}", timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise OSError(f"--jobs {jobs}: no Dask scheduler answers there ({error})") from error


def _print(console: Console, text: str) -> None:
    """Print a text that may hold brackets, such as an error or a path."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _note(step: Progress) -> str:
    so_far = f"{step.done} of {step.total} runs, "
    if step.failed:
        so_far += f"{step.failed} failed, "
    if step.done == step.total:
        return so_far.removesuffix(", ")
    if step.seconds_left is None:
        return f"{so_far}time left unknown"
    minutes, seconds = divmod(round(step.seconds_left), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{so_far}about {clock} left"
