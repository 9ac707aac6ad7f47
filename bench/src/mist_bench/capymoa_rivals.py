"""``python -m mist_bench.capymoa_rivals``: CapyMOA's classifiers next to those of ``mist bench``.

CapyMOA needs Java and an older pandas than the library, so this runs in an environment of its own:
``make bench-capymoa ARGS="--out FOLDER"``. It writes the records of its runs into a folder of
``mist bench``, which shows them in its tables and curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mist.cli import tidy_errors
from mist.commands.output import make_console
from mist_bench.capymoa_runs import perform_rival, start_java
from mist_bench.cli import FAILED, Suite, read_seeds, split_names
from mist_bench.grid import plan
from mist_bench.methods import RIVALS
from mist_bench.record import Record, Run
from mist_bench.schedule import find_absent
from mist_bench.store import forget, read_records, write_record
from mist_bench.suites import SEEDS, SUITES

__all__ = ["RivalOptions", "app", "run_rivals"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, kw_only=True)
class RivalOptions:
    """The options of the command.

    Examples
    --------
    >>> RivalOptions(seeds=[1, 2]).suite
    'drift'
    """

    suite: str = "drift"
    methods: Sequence[str] = ()
    datasets: Sequence[str] = ()
    seeds: Sequence[int] = ()
    out: Path = Path("mist-bench")
    fresh: bool = False
    retry_failed: bool = False


@app.command()
def main(
    suite: Annotated[
        Suite, typer.Option(help="Streams unless some are named; drift is the one of streams.")
    ] = Suite.DRIFT,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Rival to run; repeatable, or names joined by commas."),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Stream in place of those of the suite; likewise."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Seed; likewise.  [default: 42,123,456,789,3330]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of `mist bench`; runs in it are kept.")] = Path(
        "mist-bench"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Do every run of a rival again.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do failed runs again.")
    ] = False,
) -> None:
    """Run CapyMOA's classifiers on streams in their own order."""
    with tidy_errors():
        complete = run_rivals(
            RivalOptions(
                suite=suite.value,
                methods=split_names("--models", models),
                datasets=split_names("--datasets", datasets),
                seeds=read_seeds("--seeds", seeds),
                out=out,
                fresh=fresh,
                retry_failed=retry_failed,
            )
        )
    if not complete:
        raise typer.Exit(FAILED)


def run_rivals(options: RivalOptions) -> bool:
    """Do the runs without a result, one after another, and write a record of each.

    Parameters
    ----------
    options : RivalOptions
        What to run and where to keep it.

    Returns
    -------
    bool
        Whether every run succeeded.

    Raises
    ------
    ValueError
        If a name is not known or not that of a rival, a stream comes in tasks, or the folder holds
        results that must not be mixed with these.
    ImportError
        If CapyMOA is not installed.
    OSError
        If a result cannot be written.
    """
    console = make_console()
    runs = _plan(options, console)
    if options.fresh:
        forget(options.out, runs)
    known = read_records(options.out, runs)
    if options.retry_failed:
        known = {run: record for run, record in known.items() if not record.failed}
    left = [run for run in runs if run not in known]
    if left:
        start_java()
    for number, run in enumerate(left, 1):
        record = known[run] = perform_rival(run)
        write_record(options.out, record)
        text = f"{number} of {len(left)}: {run.key}: {_outcome(record)}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    n_failed = sum(record.failed for record in known.values())
    console.print(f"{len(runs)} runs are in {options.out}, {n_failed} failed", soft_wrap=True)
    return n_failed == 0


def _plan(options: RivalOptions, console: Console) -> list[Run]:
    for name in options.methods:
        if name not in RIVALS:
            raise ValueError(f"--models {name}: choose one of {', '.join(RIVALS)}")
    datasets = list(options.datasets)
    if not datasets:
        absent = find_absent(SUITES[options.suite])
        datasets = [name for name in SUITES[options.suite] if name not in absent]
        for name, reason in absent.items():
            console.print(f"{name} is left out: {reason}", markup=False, soft_wrap=True)
    methods = list(options.methods) or [*RIVALS]
    return plan(methods=methods, datasets=datasets, seeds=options.seeds or SEEDS)


def _outcome(record: Record) -> str:
    if record.failed:
        return f"failed: {record.error}"
    accuracy, rate = (
        record.measures[key] or 0.0 for key in ("prequential_accuracy", "rows_per_second")
    )
    return f"prequential accuracy {accuracy:.3f}, {rate:,.0f} rows/s"


if __name__ == "__main__":
    app()
