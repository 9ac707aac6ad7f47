"""Tables of data sets, settings, failures and missing runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from mist.report.document import write_setting
from mist_bench.cells import NOTHING, collect, find_rules, list_names
from mist_bench.outcomes import Outcomes, heading_of, title_of
from mist_bench.record import Record
from mist_bench.result_tables import Table

__all__ = ["dataset_table", "failure_table", "progress_tables", "setting_table", "shape_of"]


def dataset_table(outcomes: Outcomes) -> Table:
    """Return the table of the data sets: rows, columns, classes and tasks.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    Table
        One row per data set; dashes if no run succeeded.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> shape = {"rows": 142, "held_out": 36, "columns": 13, "classes": 3, "tasks": 3}
    >>> dataset_table(arrange([Record(run, shape=shape)], datasets=["wine"], planned=[run])).rows
    (('Wine', '142', '36', '13', '3', '3'),)
    """
    keys = ("rows", "held_out", "columns", "classes", "tasks")
    rows = []
    for dataset in outcomes.datasets:
        shape = shape_of(outcomes, dataset)
        rows.append(
            (heading_of(dataset), *(f"{shape[k]:,}" if k in shape else NOTHING for k in keys))
        )
    return Table(
        name="data-sets",
        title="Data sets",
        caption="Rows learnt and held out under one seed.",
        headings=("data set", "rows learnt", "held out", "columns", "classes", "tasks"),
        rows=tuple(rows),
    )


def shape_of(outcomes: Outcomes, dataset: str) -> Mapping[str, int]:
    """Return the size of a data set in its first successful run.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    dataset : str
        Key of the data set.

    Returns
    -------
    mapping of str to int
        As `mist_bench.Record.shape`; empty if no run succeeded.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> outcomes = arrange([Record(run, shape={"rows": 142})], datasets=["wine"], planned=[run])
    >>> shape_of(outcomes, "wine")
    {'rows': 142}
    """
    shapes = (r.shape for m in outcomes.methods for r in outcomes.cell(m, dataset).done if r.shape)
    return next(shapes, {})


def setting_table(outcomes: Outcomes) -> Table:
    """Return the table of parameters that are not the defaults of their method.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    Table
        One row for each method and parameter.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "vfdt", 42, "honest")
    >>> records = [Record(run, settings={"bound": "hoeffding", "random_state": 42})]
    >>> setting_table(arrange(records, datasets=["wine"], planned=[run])).rows
    (('VFDT', 'bound', "'hoeffding'"), ('VFDT', 'random_state', 'seed of the run'))
    """
    rows = []
    of_rows = []
    for method in outcomes.methods:
        done = [r for dataset in outcomes.datasets for r in outcomes.cell(method, dataset).done]
        names = list(dict.fromkeys(name for record in done for name in record.settings))
        lines = [(name, _write_settings(name, done)) for name in names]
        if done and not lines:
            lines = [("(all defaults)", "")]
        rows += [(title_of(method), *line) for line in lines]
        of_rows += [method] * len(lines)
    return Table(
        name="settings",
        title="Settings",
        caption="Parameters of each method that are not its defaults.",
        headings=("method", "parameter", "value"),
        rows=tuple(rows),
        n_text=3,
        rules=frozenset(i + 1 for i, (a, b) in enumerate(pairwise(of_rows)) if a != b),
    )


def _write_settings(name: str, done: Sequence[Record]) -> str:
    values = [record.settings.get(name, NOTHING) for record in done]
    if name == "random_state" and values == [record.run.seed for record in done]:
        return "seed of the run"
    texts = {write_setting(value) for value in values}
    if len(texts) == 1:
        return texts.pop()
    by_dataset = collect(
        (write_setting(record.settings.get(name, NOTHING)), heading_of(record.run.dataset))
        for record in done
    )
    return "; ".join(
        f"{text} on {list_names(list(dict.fromkeys(names)))}" for text, names in by_dataset.items()
    )


def failure_table(outcomes: Outcomes) -> Table:
    """Return the table of runs that ended with an error.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    Table
        One row for each method, data set and error; without rows if nothing failed.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> plan = [Run("wine", "arf", seed, "honest") for seed in (42, 123, 456)]
    >>> records = [Record(run, error="MemoryError: too large") for run in plan[:2]]
    >>> failure_table(arrange(records, datasets=["wine"], planned=plan)).rows
    (('ARF', 'Wine', '42, 123', '2 of 3', 'MemoryError: too large'),)
    """
    rows = []
    of_rows = []
    for method in outcomes.methods:
        for dataset in outcomes.datasets:
            cell = outcomes.cell(method, dataset)
            errors = collect((record.error or "", str(record.run.seed)) for record in cell.failed)
            for error, seeds in errors.items():
                share = f"{len(seeds)} of {len(cell.seeds)}"
                rows.append((title_of(method), heading_of(dataset), ", ".join(seeds), share, error))
                of_rows.append(method)
    return Table(
        name="failures",
        title="Failures",
        caption="Runs that ended with an error; all other figures are without them.",
        headings=("method", "data set", "seeds", "runs", "error"),
        rows=tuple(rows),
        n_text=5,
        rules=find_rules(of_rows),
    )


def progress_tables(outcomes: Outcomes) -> list[Table]:
    """Return the table of runs that have an outcome, if some have none.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    list of Table
        One table; empty if every run was done.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> plan = [Run("wine", "slda", seed, "honest") for seed in (42, 123, 456)]
    >>> progress_tables(arrange([Record(plan[0])], datasets=["wine"], planned=plan))[0].rows
    (('SLDA', '1 of 3'),)
    """
    if not outcomes.n_missing:
        return []
    rows = []
    for method in outcomes.methods:
        cells = [outcomes.cell(method, dataset) for dataset in outcomes.datasets]
        made = [
            f"{len(c.seeds) - len(c.missing)} of {len(c.seeds)}" if c.seeds else NOTHING
            for c in cells
        ]
        rows.append((title_of(method), *made))
    made_runs = outcomes.n_planned - outcomes.n_missing
    return [
        Table(
            name="progress",
            title="Runs made so far",
            caption=f"Seeds with an outcome, failures among them: {made_runs:,} of "
            f"{outcomes.n_planned:,} runs.",
            headings=("method", *(heading_of(dataset) for dataset in outcomes.datasets)),
            rows=tuple(rows),
            rules=find_rules(outcomes.methods),
        )
    ]
