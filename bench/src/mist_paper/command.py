"""``mist paper``: the paper's tables, figures and theorems, run again, with a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from mist.commands.output import make_console, print_path
from mist_bench.extras import installed
from mist_bench.follow import GridOptions, follow, tell_failures
from mist_bench.grid import check_seeds
from mist_bench.methods import METHODS
from mist_bench.record import Run, Task
from mist_bench.result_tables import to_rich
from mist_bench.store import path_of, read_records
from mist_paper.exhibit import Scope
from mist_paper.items import GROUPS, ITEMS, choose, plan_of
from mist_paper.report import count_tables, write_report

__all__ = ["PaperOptions", "list_items", "paper"]


@dataclass(frozen=True, kw_only=True)
class PaperOptions(GridOptions):
    """The options of the command.

    Examples
    --------
    >>> PaperOptions(names=["stress"], fast=True).scope().seeds
    (42, 123)
    """

    names: Sequence[str] = ()
    seeds: Sequence[int] = ()
    fast: bool = False
    out: Path = Path("mist-paper")

    def scope(self) -> Scope:
        """Return how much is run; ValueError if a seed is out of range or given twice."""
        plain = Scope.quick() if self.fast else Scope()
        seeds = tuple(self.seeds) or plain.seeds
        check_seeds(seeds)
        return Scope(seeds, self.fast)


def paper(options: PaperOptions) -> bool:
    """Run what the items need and the folder does not hold, print the tables, write the report.

    Parameters
    ----------
    options : PaperOptions
        What to run and where to keep it.

    Returns
    -------
    bool
        Whether every run succeeded.

    Raises
    ------
    ValueError
        If a name is not known, `jobs` is 0, or the folder holds results that must not be mixed with
        these.
    OSError
        If a result cannot be written.
    """
    options.check()
    console = make_console()
    scope, names = options.scope(), choose(options.names)
    tasks = plan_of(names, scope)
    runnable = _runnable(tasks, console)
    step = follow(runnable, "paper", options)
    records = read_records(options.out, tasks)
    exhibits = {name: (ITEMS[name], ITEMS[name].show(scope, records)) for name in names}
    # Tables of items named by group are only on the page.
    single = choose(name for name in options.names if name not in GROUPS)
    shown = [exhibits[name][1].tables[:1] for name in single]
    for table in chain(*shown, count_tables(exhibits)):
        console.print(to_rich(table))
        console.print()
    page = write_report(options.out, exhibits, note=_note(scope))
    print_path(console, "Report", page)
    for folder in ("tables", "figures"):
        print_path(console, folder.title(), options.out / folder)
    return tell_failures(step, console)


def _note(scope: Scope) -> str:
    seeds = ", ".join(map(str, scope.seeds))
    less = (
        " A first look: fewer repetitions, and no trees of other libraries on large sets."
        if scope.fast
        else ""
    )
    return f"Seeds {seeds}.{less}"


def _runnable(tasks: Sequence[Task], console: Console) -> list[Task]:
    """Leave out methods of libraries that are not installed, and print their names."""
    left_out = {
        task.method
        for task in tasks
        if isinstance(task, Run)
        and (extra := METHODS[task.method].needs) is not None
        and not installed(extra)
    }
    if left_out:
        console.print(
            f"river is not installed, so these are left out: {', '.join(sorted(left_out))} "
            "(pip install 'mist-tree[bench]')"
        )
    return [task for task in tasks if not (isinstance(task, Run) and task.method in left_out)]


def list_items(options: PaperOptions) -> None:
    """Print items, all if none is named, and how many of their runs the folder holds.

    Parameters
    ----------
    options : PaperOptions
        Scope and folder.
    """
    scope, names = options.scope(), choose(options.names or ["all"])
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("name", "shows", "in the paper", "runs"):
        table.add_column(
            heading, no_wrap=heading == "name", justify="right" if heading == "runs" else "left"
        )
    kind = None
    for name in names:
        item = ITEMS[name]
        if kind not in (None, item.kind):
            table.add_section()
        kind = item.kind
        table.add_row(name, item.title, item.label, _count([name], scope, options.out))
    table.add_section()
    table.add_row("", "all of these, which share runs", "", _count(names, scope, options.out))
    make_console().print(table)


def _count(names: Sequence[str], scope: Scope, out: Path) -> str:
    """How many runs of some items there are, and how many the folder holds."""
    tasks = plan_of(names, scope)
    done = sum(path_of(out, task).exists() for task in tasks)
    return f"{done:,} of {len(tasks):,}" if tasks else ""
