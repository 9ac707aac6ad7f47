"""Options of ``mist bench``. The command itself is imported when it runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mist.cli import tidy_errors

__all__ = ["FAILED", "JOBS", "app", "read_jobs", "read_seeds", "split_names"]

FAILED = 1
"""Exit code if a run failed."""

JOBS = "Runs at a time; -1: one per processor; dask://HOST:PORT: run on a Dask cluster."
"""Help of the option ``--jobs``."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Suite(StrEnum):
    """Named groups of data sets."""

    QUICK = "quick"
    STANDARD = "standard"
    STRESS = "stress"
    REAL = "real"
    UNSEEN = "unseen"
    DRIFT = "drift"
    ALL = "all"


class Protocol(StrEnum):
    """How `mist bench` prepares data."""

    HONEST = "honest"
    PAPER = "paper"


@app.command()
def bench(
    suite: Annotated[
        Suite, typer.Option(help="Data sets, and methods unless some are named.")
    ] = Suite.QUICK,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Method to run; repeatable, or names joined by commas. See --list."
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Data set in place of those of the suite; repeatable, or commas."
        ),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Seed; repeatable, or commas.  [default: 42,123,456,789,3330]",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(help="Fit nothing outside the stream, or prepare the data as the paper does."),
    ] = Protocol.HONEST,
    jobs: Annotated[str, typer.Option(help=JOBS)] = "-1",
    out: Annotated[
        Path, typer.Option(help="Folder of the results; an interrupted grid resumes from it.")
    ] = Path("mist-bench"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do every run again, whatever the folder holds.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do failed runs again.")
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="List methods and data sets, and exit.")
    ] = False,
) -> None:
    """Compare methods over data sets and seeds; write tables, plots and a report."""
    with tidy_errors():
        from mist_bench import command

        if list_only:
            command.list_all()
            return
        complete = command.bench(
            command.BenchOptions(
                suite=suite.value,
                methods=split_names("--models", models),
                datasets=split_names("--datasets", datasets),
                seeds=read_seeds("--seeds", seeds),
                protocol=protocol.value,
                jobs=read_jobs(jobs),
                out=out,
                fresh=fresh,
                retry_failed=retry_failed,
            )
        )
    if not complete:
        raise typer.Exit(FAILED)


def split_names(option: str, names: list[str] | None) -> list[str]:
    """Names given to an option that may be repeated, or hold several joined by commas."""
    parts = [part for name in names or [] for part in name.replace(",", " ").split()]
    if names and not parts:
        raise ValueError(f"{option} has no name")
    return parts


def read_jobs(given: str) -> int | str:
    """A number, or the address of a cluster."""
    try:
        return int(given)
    except ValueError:
        return given


def read_seeds(option: str, given: list[str] | None) -> list[int]:
    """The seeds of an option, as `split_names` has them."""
    texts = split_names(option, given)
    for text in texts:
        if not text.isdecimal():
            raise ValueError(f"{option} {text}: a seed must be a whole number, 0 or more")
    return [int(text) for text in texts]
