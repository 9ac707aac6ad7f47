"""What is seen of a grid while it runs: a bar, errors as they come, the way back."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import monotonic

from rich.console import Console

from mist.bench import Progress
from mist.commands.output import make_progress

__all__ = ["follow"]

_NOTICE_SECONDS = 30.0


def follow(
    steps: Iterator[Progress], total: int, name: str, folder: Path, *, fresh: bool = False
) -> Progress:
    """Go through the steps of a grid, and show how far it is.

    Parameters
    ----------
    steps : iterator of Progress
        From `mist.bench.iter_grid`.
    total : int
        Runs of the grid.
    name : str
        Stands before the bar.
    folder : Path
        Where results are kept, for the notice after an interruption.
    fresh : bool, default=False
        Whether the command was told to do every run again.

    Returns
    -------
    Progress
        The last step.
    """
    notices = Console(stderr=True, highlight=False)
    done = 0
    errors: set[str | None] = set()
    try:
        # Data sets that have to be downloaded show bars of their own, one after another.
        step = first = next(steps)
        with _quiet_interrupts(), make_progress() as bar:
            task = bar.add_task(name, total=total, note="")
            last = monotonic()
            for step in chain([first], steps):
                done = step.done
                note = _note(step)
                bar.update(task, completed=done, note=note)
                # A data set that is not there fails every run on it, with one and the same error.
                if step.record is not None and step.record.error not in errors | {None}:
                    errors.add(step.record.error)
                    _print(bar.console, f"failed: {step.record.run.key}: {step.record.error}")
                if not notices.is_terminal and monotonic() - last > _NOTICE_SECONDS:
                    last = monotonic()
                    notices.print(note)
    except KeyboardInterrupt:
        again = "the same command without --fresh" if fresh else "the same command"
        _print(notices, f"{done} of {total} runs are kept in {folder}: {again} goes on")
        raise
    return step


@contextmanager
def _quiet_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal: let this one end the others without a word."""
    from joblib import parallel_config

    with (
        warnings.catch_warnings(),
        parallel_config(
            backend="loky", initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
        ),
    ):
        warnings.filterwarnings("ignore", "[0-9]+ tasks which were still being processed")
        yield


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
