"""``mist bench``: methods over data sets and seeds, resumable, with tables, plots and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from mist.commands.output import make_console, print_path
from mist.datasets.cache import locate
from mist.datasets.catalogue import find_entry
from mist_bench import SETTINGS, SUITES, Run, default_methods, plan
from mist_bench.extras import EXTRAS, installed
from mist_bench.follow import GridOptions, follow, tell_failures
from mist_bench.grid_page import write_reports
from mist_bench.inventory import failure_table
from mist_bench.methods import METHODS, RIVALS
from mist_bench.outcomes import arrange
from mist_bench.result_tables import to_rich
from mist_bench.schedule import find_absent
from mist_bench.scores import HEADLINE, headline_of
from mist_bench.store import path_of, read_records
from mist_bench.summary import score_tables
from mist_paper.comparison import compare, comparison_tables, figures_of

__all__ = ["BenchOptions", "bench", "list_all"]

_SHOWN = ("final_accuracy", "average_forgetting", "nbytes", "rows_per_second")
_SHOWN_IN_ORDER = (
    *("prequential_accuracy", "kappa", "kappa_temporal", "prequential_recall", "recovery_rows"),
    *("mean_class_recall", "nbytes", "rows_per_second"),
)


@dataclass(frozen=True, kw_only=True)
class BenchOptions(GridOptions):
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
    out: Path = Path("mist-bench")


def bench(options: BenchOptions) -> bool:
    """Do the runs without a result, print the tables and write the report.

    Rivals are not run here: their results are shown if the folder holds them.

    Parameters
    ----------
    options : BenchOptions
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
    ImportError
        If a method that was named needs an extra that is not installed.
    OSError
        If a result cannot be written.
    """
    options.check()
    console = make_console()
    runs = _plan(options, console)
    step = follow([run for run in runs if run.method not in RIVALS], "bench", options)
    _report(runs, options, console)
    return tell_failures(step, console)


def _plan(options: BenchOptions, console: Console) -> list[Run]:
    methods = list(options.methods)
    for name in methods:
        extra = METHODS[name].needs if name in METHODS else None
        if extra is not None and not installed(extra):
            raise ImportError(
                f"{name} needs {EXTRAS[extra]}: pip install 'mist-tree[{extra}]'",
                name=EXTRAS[extra],
            )
    if not methods and options.suite in SUITES:
        methods = default_methods(options.suite)
        for extra, library in EXTRAS.items():
            left_out = [name for name in methods if METHODS[name].needs == extra]
            if left_out and not installed(extra):
                methods = [name for name in methods if name not in left_out]
                console.print(
                    f"{library} is not installed, so these are left out: {', '.join(left_out)} "
                    f"(pip install 'mist-tree[{extra}]')"
                )
    datasets = list(options.datasets)
    if not datasets and options.suite == "drift":
        # Each stream is a result of its own, so the others are worth having without it.
        absent = find_absent(SUITES["drift"])
        datasets = [name for name in SUITES["drift"] if name not in absent]
        for name, reason in absent.items():
            console.print(f"{name} is left out: {reason}", markup=False, soft_wrap=True)
    chosen = {"seeds": options.seeds} if options.seeds else {}
    runs = plan(
        options.suite,
        methods=methods or None,
        datasets=datasets or None,
        protocol=options.protocol,
        **chosen,
    )
    if options.methods:
        return runs
    of_rivals = dict.fromkeys(replace(run, method=rival) for rival in RIVALS for run in runs)
    done = {run.method for run in of_rivals if path_of(options.out, run).exists()}
    return [*runs, *(run for run in of_rivals if run.method in done)]


def _report(runs: Sequence[Run], options: BenchOptions, console: Console) -> None:
    records = list(read_records(options.out, runs).values())
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    outcomes = arrange(records, datasets=datasets, planned=runs)
    shown = _SHOWN if headline_of(outcomes) == HEADLINE else _SHOWN_IN_ORDER
    for table in score_tables(outcomes, shown):
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
    if options.suite == "drift":
        return (
            "Streams in their own order: one pass, every row predicted before it is learnt, drifts "
            "not shown. Only the streams of changing classes have held-out rows."
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
        ready = method.needs is None or installed(method.needs)
        status = "ready" if ready else f"needs mist-tree[{method.needs}]"
        methods.add_row(key, method.title, method.group, status)
    methods.add_section()
    for key, method in RIVALS.items():
        methods.add_row(key, method.title, method.group, "mist_bench.capymoa_rivals")
    console.print(methods)
    console.print()
    datasets = _table("data set", "name", "suites", "tasks of", "data")
    for key, setting in SETTINGS.items():
        classes = setting.classes_per_task
        in_tasks = f"{classes} class{'es' if classes > 1 else ''}"
        datasets.add_row(
            key,
            setting.title,
            ", ".join(name for name, keys in SUITES.items() if key in keys and name != "all"),
            in_tasks if setting.order == "tasks" else "its own order",
            _state(setting.dataset),
        )
    console.print(datasets)


def _state(dataset: str) -> str:
    """Whether a table is here; generators that need none always are."""
    if not dataset:
        return "here"
    entry = find_entry(dataset)
    found = entry.kind != "file" or locate(entry) is not None
    return "here" if found else "to be downloaded" if entry.download else "not here"


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading in {"method", "data set"})
    return table
