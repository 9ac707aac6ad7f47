"""Differences between methods on the same data set with the same seed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from mist.evaluation import nested_paired_difference
from mist_bench.cells import NOTHING, find_rules, write_figure
from mist_bench.outcomes import Cell, Outcomes, group_of, known, title_of
from mist_bench.record import MEASURES
from mist_bench.result_tables import Table
from mist_bench.scores import headline_of

__all__ = ["pair_tables"]


def pair_tables(
    outcomes: Outcomes,
    *,
    reference: str | None = None,
    measure: str | None = None,
    level: float = 0.95,
) -> list[Table]:
    """Return the table of differences between each method and a reference method.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    reference : str or None, default=None
        Key of the method that the others are compared with. None means MIST-G, or, if it is not
        in the grid, the first of ours, else the first of all. A method picked for its
        results would look better than it is.
    measure : str or None, default=None
        A key of `mist_bench.MEASURES`; None for that of `mist_bench.scores.headline_of`.
    level : float, default=0.95
        Nominal coverage of the bootstrap intervals.

    Returns
    -------
    list of Table
        One table; empty if there is nothing to compare.

    Raises
    ------
    ValueError
        If the reference is not one of the methods.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> plan = [Run("wine", m, seed, "honest") for m in ("mist-g", "ncm") for seed in (42, 123)]
    >>> records = [
    ...     Record(run, measures={"final_accuracy": accuracy})
    ...     for run, accuracy in zip(plan, (0.9, 0.92, 0.85, 0.89))
    ... ]
    >>> outcomes = arrange(records, datasets=["wine"], planned=plan)
    >>> pair_tables(outcomes)[0].rows
    (('NCM', '-0.040', '-0.050', '-0.030', '2', '0/0/1'),)
    """
    measure = headline_of(outcomes) if measure is None else measure
    if reference is None:
        reference = _default_reference(outcomes.methods)
    elif reference not in outcomes.methods:
        raise ValueError(
            f"reference {reference!r} is not one of the methods: {', '.join(outcomes.methods)}"
        )
    others = [method for method in outcomes.methods if method != reference]
    rows = {
        method: row
        for method in others
        if (row := _compare(outcomes, method, reference, measure, level))
    }
    if not rows:
        return []
    return [
        Table(
            name="differences",
            title=f"Differences to {title_of(reference)} in {MEASURES[measure].title}",
            caption=f"Method minus {title_of(reference)} on the same data set with the same seed: "
            f"mean and its {100 * level:g} % percentile bootstrap interval, {_explain(outcomes)} "
            "Won, tied and lost count data sets by their means over seeds.",
            headings=(
                "method",
                "difference",
                "from",
                "to",
                "pairs",
                "won/tied/lost",
            ),
            rows=tuple(rows.values()),
            rules=find_rules(list(rows)),
        )
    ]


def _default_reference(methods: Sequence[str]) -> str:
    if "mist-g" in methods:
        return "mist-g"
    return next((method for method in methods if group_of(method) == "ours"), methods[0])


def _explain(outcomes: Outcomes) -> str:
    if len(outcomes.datasets) == 1:
        return "over the seeds of this data set only."
    return (
        "data sets drawn first, then seeds within each; with few data sets the interval is too "
        "short. Data sets weigh equally."
    )


def _compare(
    outcomes: Outcomes, method: str, reference: str, key: str, level: float
) -> tuple[str, ...] | None:
    measure = MEASURES[key]
    sign = -1 if measure.best == "low" else 1
    mine, its, places, gaps = [], [], [], []
    for dataset in outcomes.datasets:
        a, b = (_by_seed(outcomes.cell(m, dataset), key) for m in (method, reference))
        seeds = [seed for seed in a if seed in b]
        mine += [a[seed] for seed in seeds]
        its += [b[seed] for seed in seeds]
        places += [dataset] * len(seeds)
        if seeds:
            gap = fmean(a[seed] for seed in seeds) - fmean(b[seed] for seed in seeds)
            # Figures that tables show as equal are tied.
            gaps.append(sign * gap if re.search("[1-9]", measure.write(gap)) else 0.0)
    if not mine:
        return None
    if len(mine) > 1:
        found = nested_paired_difference(mine, its, places, level=level)
        texts = [write_figure(figure, measure) for figure in found]
    else:
        texts = [write_figure(mine[0] - its[0], measure), NOTHING, NOTHING]
    counts = (sum(g > 0 for g in gaps), sum(g == 0 for g in gaps), sum(g < 0 for g in gaps))
    return (title_of(method), *texts, str(len(mine)), "/".join(map(str, counts)))


def _by_seed(cell: Cell, measure: str) -> dict[int, float]:
    found = ((r.run.seed, known([r.measures.get(measure)])) for r in cell.done)
    return {seed: figure[0] for seed, figure in found if figure}
