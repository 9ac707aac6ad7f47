"""``mist bench``: methods over data sets and seeds, resumable, with tables, plots and a report."""

from __future__ import annotations

import importlib.util
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic

from rich import box
from rich.console import Console
from rich.table import Table

from mist.baselines import METHODS
from mist.bench import SETTINGS, SUITES, Progress, Run, default_methods, iter_grid, plan
from mist.bench.inventory import failure_table
from mist.bench.outcomes import arrange
from mist.bench.page import write_reports
from mist.bench.store import read_records
from mist.bench.summary import score_tables
from mist.bench.tables import to_rich
from mist.commands.output import make_console, make_progress, print_path
from mist.datasets.registry import REGISTRY
from mist.datasets.store import locate
from mist.paper.comparison import compare, comparison_tables, figures_of

__all__ = ["BenchOptions", "bench", "list_all"]

_SHOWN = ("final_accuracy", "average_forgetting", "nbytes", "rows_per_second")
_NOTICE_SECONDS = 30.0
_EXTRAS = {"bench": "river"}
"""What the extra of a method brings."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The options of the command.

    Examples
    --------
    >>> BenchOptions(seeds=[1, 2]).suite
    'quick'
    """

    suite: str = "quick"
    methods: Sequence[str] = ()
    datasets: Sequence[str] = ()
    seeds: Sequence[int] = ()
    protocol: str = "honest"
    jobs: int = -1
    out: Path = Path("mist-bench")
    fresh: bool = False
    retry_failed: bool = False


def bench(options: BenchOptions) -> bool:
    """Do the runs that are not done yet, print the tables and write the report.

    Parameters
    ----------
    options : BenchOptions
        What to run and where to keep it.

    Returns
    -------
    bool
        Whether every run went through.

    Raises
    ------
    ValueError
        If a name is not known, there are to be no processes, or the folder holds results that must
        not be mixed with these.
    ImportError
        If a method that was named needs an extra that is not installed.
    OSError
        If a result cannot be written.
    """
    if options.jobs == 0:
        raise ValueError("--jobs 0: give the number of runs at a time, or -1 for one a processor")
    console = make_console()
    runs = _plan(options, console)
    notices = Console(stderr=True, highlight=False)
    steps = iter_grid(
        runs,
        options.out,
        jobs=options.jobs,
        fresh=options.fresh,
        retry_failed=options.retry_failed,
    )
    # Found out now, not after the first run.
    options.out.mkdir(parents=True, exist_ok=True)
    done = 0
    errors: set[str | None] = set()
    try:
        # Data sets that have to be downloaded show bars of their own, one after another.
        first = next(steps)
        with _quiet_interrupts(), make_progress() as bar:
            task = bar.add_task("bench", total=len(runs), note="")
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
        again = "the same command without --fresh" if options.fresh else "the same command"
        _print(notices, f"{done} of {len(runs)} runs are kept in {options.out}: {again} goes on")
        raise
    _report(runs, options, console)
    if step.failed:
        console.print(f"{step.failed} of {step.total} runs failed; --retry-failed does them again")
    return step.failed == 0


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


def _plan(options: BenchOptions, console: Console) -> list[Run]:
    methods = list(options.methods)
    for name in methods:
        extra = METHODS[name].needs if name in METHODS else None
        if extra is not None and not _installed(extra):
            raise ImportError(
                f"{name} needs {_EXTRAS[extra]}: pip install 'mist-tree[{extra}]'",
                name=_EXTRAS[extra],
            )
    if not methods and options.suite in SUITES:
        methods = default_methods(options.suite)
        for extra, library in _EXTRAS.items():
            left_out = [name for name in methods if METHODS[name].needs == extra]
            if left_out and not _installed(extra):
                methods = [name for name in methods if name not in left_out]
                console.print(
                    f"{library} is not installed, so these are left out: {', '.join(left_out)} "
                    f"(pip install 'mist-tree\\[{extra}]')"
                )
    chosen = {"seeds": options.seeds} if options.seeds else {}
    return plan(
        options.suite,
        methods=methods or None,
        datasets=options.datasets or None,
        protocol=options.protocol,
        **chosen,
    )


def _installed(extra: str) -> bool:
    return importlib.util.find_spec(_EXTRAS[extra]) is not None


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


def _report(runs: Sequence[Run], options: BenchOptions, console: Console) -> None:
    records = list(read_records(options.out, runs).values())
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    outcomes = arrange(records, datasets=datasets, planned=runs)
    for table in score_tables(outcomes, _SHOWN):
        console.print(to_rich(table))
        console.print()
    failures = failure_table(outcomes)
    if failures.rows:
        console.print(to_rich(failures))
        console.print()
    compared = compare(figures_of(records)) if options.protocol == "paper" else []
    paths = write_reports(
        options.out,
        records,
        title="MIST benchmark",
        intro=_intro(options),
        datasets=datasets,
        planned=runs,
        comparison=comparison_tables(compared),
    )
    print_path(console, "Report", paths[0])
    print_path(console, "Tables", paths[0].parent / "tables")


def _intro(options: BenchOptions) -> str:
    if options.protocol == "paper":
        return (
            "Class-incremental streams prepared as in the MIST paper, so that figures can be "
            "compared: classes that do not fill a task are dropped, and where the paper scales "
            "columns the scale is fitted on all rows, held-out ones among them."
        )
    return (
        "Class-incremental streams: one pass, task after task, every row predicted before it is "
        "learnt, task borders not shown. Nothing is fitted outside the stream."
    )


def list_all() -> None:
    """Print the methods and the task set-ups, and which of them can be run here."""
    console = make_console()
    methods = _table("method", "name", "group", "status")
    group = None
    for key, method in METHODS.items():
        if group not in (None, method.group):
            methods.add_section()
        group = method.group
        ready = method.needs is None or _installed(method.needs)
        status = "ready" if ready else f"needs mist-tree\\[{method.needs}]"
        methods.add_row(key, method.title, method.group, status)
    console.print(methods)
    console.print()
    datasets = _table("data set", "name", "suites", "tasks of", "data")
    for key, setting in SETTINGS.items():
        entry = REGISTRY[setting.dataset]
        found = entry.kind != "file" or locate(entry) is not None
        state = "here" if found else "to be downloaded" if entry.download else "not here"
        classes = setting.classes_per_task
        datasets.add_row(
            key,
            setting.title,
            ", ".join(name for name, keys in SUITES.items() if key in keys and name != "all"),
            f"{classes} class{'es' if classes > 1 else ''}",
            state,
        )
    console.print(datasets)


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading in {"method", "data set"})
    return table
