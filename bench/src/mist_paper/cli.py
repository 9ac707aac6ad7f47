"""Options of ``mist paper``. The command itself is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mist.cli import tidy_errors
from mist_bench.cli import FAILED, JOBS, read_jobs, read_seeds, split_names

__all__ = ["app"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[list] [NAME...]",
            help="Tables, figures and theorems by name or by their label in the paper; `tables`, "
            "`figures`, `theory` and `all` stand for several. `list`, or no name, shows the names.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Seed of streams; repeatable, or commas. The theorems and the choice of constants "
            "have their own.  [default: 42,123,456,789,3330]",
            show_default=False,
        ),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast",
            help="A first look: two seeds, fewer repetitions of experiments, none of other "
            "libraries' trees on large sets.",
        ),
    ] = False,
    jobs: Annotated[str, typer.Option(help=JOBS)] = "-1",
    out: Annotated[
        Path, typer.Option(help="Folder of the results; interrupted runs resume from it.")
    ] = Path("mist-paper"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do every run again, whatever the folder holds.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do failed runs again.")
    ] = False,
) -> None:
    """Run the paper's tables, figures and theorems again; write them next to what is printed."""
    with tidy_errors():
        from mist_paper import command

        asked = split_names("NAME", names)
        options = command.PaperOptions(
            names=[name for name in asked if name != "list"],
            seeds=read_seeds("--seeds", seeds),
            fast=fast,
            jobs=read_jobs(jobs),
            out=out,
            fresh=fresh,
            retry_failed=retry_failed,
        )
        if "list" in asked or not asked:
            command.list_items(options)
            return
        complete = command.paper(options)
    if not complete:
        raise typer.Exit(FAILED)
