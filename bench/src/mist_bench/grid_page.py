"""The report of a grid: one self-contained HTML page and its tables as files."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mist.files import write_text
from mist.report.document import render
from mist_bench.cells import NOTHING
from mist_bench.outcomes import Outcomes, arrange, heading_of
from mist_bench.plots import Plot, cost_plots, curve_plots, rank_plots, task_plots
from mist_bench.record import MEASURES, Record, Run
from mist_bench.result_tables import Table, to_csv, to_latex, to_markdown
from mist_bench.scores import scores
from mist_bench.sentences import describe, headline, state, write_hours
from mist_bench.summary import all_tables, recall_tables

__all__ = ["render_bench", "write_reports"]

_COSTS = ("nbytes", *(key for key, measure in MEASURES.items() if measure.timed))
_FORMATS: tuple[tuple[str, Callable[[Table], str]], ...] = (
    (".csv", to_csv),
    (".md", to_markdown),
    (".tex", to_latex),
)


@dataclass(frozen=True)
class _Section:
    heading: str
    description: str
    curves: Sequence[Plot]
    tasks: Sequence[Plot]
    recall: Table | None


def render_bench(
    title: str,
    intro: str,
    records: Iterable[Record],
    *,
    datasets: Sequence[str],
    planned: Sequence[Run],
    made: datetime | None = None,
    comparison: Sequence[Table] = (),
) -> str:
    """Return the report of a grid as one self-contained HTML page.

    Its only script sorts tables. The page is complete without scripts.

    Parameters
    ----------
    title : str
        Heading of the page.
    intro : str
        A sentence or two below it.
    records : iterable of Record
        Outcomes in any order, including failures; runs may be missing.
    datasets : sequence of str
        Data sets in the order of the report.
    planned : sequence of Run
        All runs of the grid, under one protocol.
    made : datetime or None, default=None
        Time shown in the footer; None means now.
    comparison : sequence of Table, default=()
        Tables that compare with figures from elsewhere.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ValueError
        If nothing is planned on these data sets, a run is planned or recorded twice, or the plan
        holds more than one protocol.

    Examples
    --------
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, measures={"final_accuracy": 0.9})]
    >>> page = render_bench("Benchmark", "", records, datasets=["wine"], planned=[run])
    >>> "SLDA reaches a final accuracy of 0.900 on Wine." in page
    True
    """
    outcomes = arrange(records, datasets=datasets, planned=planned)
    return _render(title, intro, outcomes, all_tables(outcomes), made, comparison)


def write_reports(
    folder: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    title: str,
    intro: str,
    datasets: Sequence[str],
    planned: Sequence[Run],
    made: datetime | None = None,
    comparison: Sequence[Table] = (),
) -> list[Path]:
    """Write the report of a grid and each of its tables.

    Parameters
    ----------
    folder : path-like
        Folder of ``report.html`` and ``tables/``; created if missing. Files of the same names are
        replaced atomically. Tables of an earlier report that are not in this one are removed.
    records, title, intro, datasets, planned, made, comparison
        As for `render_bench`.

    Returns
    -------
    list of Path
        The report, then each table as ``.csv``, ``.md`` and ``.tex``.

    Raises
    ------
    ValueError
        As `render_bench`; or if two tables have one name.
    OSError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, measures={"final_accuracy": 0.9})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_reports(
    ...         folder, records, title="Benchmark", intro="", datasets=["wine"], planned=[run]
    ...     )
    >>> paths[0].name, paths[1].name
    ('report.html', 'final-accuracy.csv')
    """
    outcomes = arrange(records, datasets=datasets, planned=planned)
    tables = all_tables(outcomes)
    files = {Path("report.html"): _render(title, intro, outcomes, tables, made, comparison)}
    for table in (*tables, *comparison):
        for suffix, write in _FORMATS:
            path = Path("tables", table.name + suffix)
            if path in files:
                raise ValueError(f"two tables are named {table.name!r}: rename one")
            files[path] = write(table)
    for path, text in files.items():
        write_text(Path(folder, path), text)
    for suffix, _ in _FORMATS:
        for old in Path(folder, "tables").glob(f"*{suffix}"):
            if old.relative_to(folder) not in files:
                old.unlink()
    return [Path(folder, path) for path in files]


def _render(
    title: str,
    intro: str,
    outcomes: Outcomes,
    tables: Sequence[Table],
    made: datetime | None,
    comparison: Sequence[Table],
) -> str:
    figures = scores(outcomes)
    recalls = recall_tables(outcomes)
    named = {table.name: table for table in tables}
    of_measures = {key: named.get(key.replace("_", "-")) for key in MEASURES}
    return render(
        "page.html.j2",
        packages=("mist_bench",),
        made=made,
        title=title,
        intro=intro,
        nothing=(NOTHING, "failed", "not run"),
        headline=headline(outcomes, figures),
        state=state(outcomes, figures),
        accuracy=of_measures[figures.measure],
        ranks=named.get("ranks"),
        rank_plots=rank_plots(figures),
        differences=named.get("differences"),
        cost_plots=cost_plots(outcomes, figures),
        costs=[table for key in _COSTS if (table := of_measures[key])],
        hours=write_hours(outcomes),
        measures=[
            table
            for key, table in of_measures.items()
            if table and key not in (figures.measure, *_COSTS)
        ],
        datasets=named["data-sets"],
        sections=[
            _section(outcomes, i, recalls.get(dataset))
            for i, dataset in enumerate(outcomes.datasets)
        ],
        comparison=comparison,
        failures=named["failures"],
        progress=named.get("progress"),
        settings=named["settings"],
        machine=f"{platform.system()} on {platform.machine()}",
        n_processors=os.cpu_count() or 1,
    )


def _section(outcomes: Outcomes, number: int, recall: Table | None) -> _Section:
    dataset = outcomes.datasets[number]
    heading = heading_of(dataset)
    return _Section(
        heading,
        describe(outcomes, dataset),
        curve_plots(outcomes, dataset, f"d{number}"),
        task_plots(outcomes, dataset, f"d{number}"),
        recall,
    )
