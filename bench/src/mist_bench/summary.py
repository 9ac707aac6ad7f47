"""All tables of a grid, those of scores and recalls among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import fmean

from mist_bench.cells import NOTHING, find_best, find_rules, write_figure, write_mean
from mist_bench.inventory import dataset_table, failure_table, progress_tables, setting_table
from mist_bench.outcomes import Cell, Outcomes, heading_of, known, title_of
from mist_bench.pairs import pair_tables
from mist_bench.record import MEASURES, Measure
from mist_bench.result_tables import Table
from mist_bench.scores import rank_tables, scores

__all__ = ["all_tables", "recall_tables", "score_tables"]


def score_tables(outcomes: Outcomes, measures: Iterable[str] = MEASURES) -> list[Table]:
    """Return one table per measure: methods by data sets.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    measures : iterable of str, default=MEASURES
        Keys of `mist_bench.MEASURES`.

    Returns
    -------
    list of Table
        In the order of the measures, without measures that no run has. Two runs of the same grid
        give equal tables, except for times (``Measure.timed``).

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> plan = [Run("wine", "slda", seed, "honest") for seed in (42, 123)]
    >>> records = [Record(plan[0], measures={"final_accuracy": 0.9}), Record(plan[1], error="E: e")]
    >>> outcomes = arrange(records, datasets=["wine"], planned=plan)
    >>> score_tables(outcomes)[0].rows
    (('SLDA', '0.900 (1)'),)
    """
    return [
        _score_table(outcomes, measure)
        for measure in measures
        if any(cell.values(measure) for cell in outcomes.cells.values())
    ]


def _score_table(outcomes: Outcomes, key: str) -> Table:
    measure = MEASURES[key]
    several = len(outcomes.datasets) > 1
    means: list[list[float | None]] = []
    rows = []
    for method in outcomes.methods:
        cells = [outcomes.cell(method, dataset) for dataset in outcomes.datasets]
        own = [fmean(values) if (values := cell.values(key)) else None for cell in cells]
        row = [title_of(method), *(_write_cell(cell, key) for cell in cells)]
        if several:
            whole = [mean for mean in own if mean is not None]
            own.append(fmean(whole) if len(whole) == len(cells) else None)
            row.append(NOTHING if own[-1] is None else write_figure(own[-1], measure))
        means.append(own)
        rows.append(tuple(row))
    return Table(
        name=key.replace("_", "-"),
        title=measure.title[:1].upper() + measure.title[1:],
        caption=_explain(outcomes, key, rows),
        headings=("method", *_headings(outcomes), *(["mean"] if several else [])),
        rows=tuple(rows),
        best=find_best(means, measure),
        rules=find_rules(outcomes.methods),
    )


def _headings(outcomes: Outcomes) -> list[str]:
    return [heading_of(dataset) for dataset in outcomes.datasets]


def _write_cell(cell: Cell, key: str) -> str:
    values = cell.values(key)
    if not values and cell.state != "no figure":
        return cell.state
    return write_mean(values, len(cell.seeds), MEASURES[key])


def _explain(outcomes: Outcomes, key: str, rows: Sequence[Sequence[str]]) -> str:
    measure = MEASURES[key]
    cells = [cell for row in rows for cell in row[1:]]
    n_seeds = len(outcomes.seeds)
    sentences = (
        [f"Mean ± population standard deviation over {n_seeds} seeds."]
        if n_seeds > 1
        else [f"One seed: {outcomes.seeds[0]}."]
    )
    if any(cell.endswith(")") for cell in cells):
        sentences.append(f"(n): only n of {n_seeds} seeds have a figure.")
    if measure.best is not None and len(rows) > 1:
        sentences.append(
            f"Bold: {'highest' if measure.best == 'high' else 'lowest'} of the column."
        )
    if "failed" in cells:
        sentences.append("failed: every run ended with an error.")
    if "not run" in cells:
        sentences.append("not run: no result yet.")
    if NOTHING in cells:
        mean = "; no mean without all data sets" if len(outcomes.datasets) > 1 else ""
        sentences.append(f"{NOTHING}: no such figure{mean}.")
    return " ".join(sentences)


def recall_tables(outcomes: Outcomes) -> dict[str, Table]:
    """Return one table for each data set: methods by classes.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    dict of str to Table
        By data set, means over seeds of the recall of each class, in the order of the records; no
        table for a data set without recalls.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, recall={"0": 1.0, "1": 0.9, "2": None})]
    >>> recall_tables(arrange(records, datasets=["wine"], planned=[run]))["wine"].rows
    (('SLDA', '1.000', '0.900', '–'),)
    """  # noqa: RUF002 (an en dash is meant)
    stems = _name_files(outcomes.datasets)
    tables = {d: _recall_table(outcomes, d, stem) for d, stem in stems.items()}
    return {dataset: table for dataset, table in tables.items() if table is not None}


def _recall_table(outcomes: Outcomes, dataset: str, stem: str) -> Table | None:
    recall = Measure("recall", "high")
    done = {method: outcomes.cell(method, dataset).done for method in outcomes.methods}
    classes = list(dict.fromkeys(c for runs in done.values() for run in runs for c in run.recall))
    if not classes:
        return None
    methods = [method for method in outcomes.methods if done[method]]
    means: list[list[float | None]] = []
    for method in methods:
        recalls = [known(run.recall.get(c) for run in done[method]) for c in classes]
        means.append([fmean(own) if own else None for own in recalls])
    return Table(
        name=f"recall-{stem}",
        title=f"Recall of each class of {heading_of(dataset)}",
        caption="Share of the held-out rows of each class that are recognised at the end, mean "
        f"over seeds. {NOTHING}: no held-out row of the class.",
        headings=("method", *classes),
        rows=tuple(
            (title_of(method), *(NOTHING if v is None else write_figure(v, recall) for v in own))
            for method, own in zip(methods, means, strict=True)
        ),
        best=find_best(means, recall),
        rules=find_rules(methods),
    )


def _name_files(datasets: Sequence[str]) -> dict[str, str]:
    stems: dict[str, str] = {}
    for dataset in datasets:
        plain = re.sub(r"[^a-z0-9]+", "-", dataset.lower()).strip("-") or "data"
        stem, number = plain, 2
        while stem in stems.values():
            stem, number = f"{plain}-{number}", number + 1
        stems[dataset] = stem
    return stems


def all_tables(outcomes: Outcomes) -> list[Table]:
    """Return every table of a grid, in the order of the report.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    list of Table
        Tables of different names; those whose name is that of a measure with ``Measure.timed``
        are the only ones that differ between two runs of one grid.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, measures={"final_accuracy": 0.9})]
    >>> [t.name for t in all_tables(arrange(records, datasets=["wine"], planned=[run]))]
    ['final-accuracy', 'data-sets', 'settings', 'failures']
    """
    return [
        *score_tables(outcomes),
        *rank_tables(scores(outcomes)),
        *pair_tables(outcomes),
        *recall_tables(outcomes).values(),
        dataset_table(outcomes),
        setting_table(outcomes),
        failure_table(outcomes),
        *progress_tables(outcomes),
    ]
