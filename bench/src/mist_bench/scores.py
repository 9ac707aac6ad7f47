"""Means over seeds without gaps, and the ranks of methods computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mist_bench.cells import collect, list_names, write_figure
from mist_bench.outcomes import Outcomes, heading_of, title_of
from mist_bench.ranks import rank
from mist_bench.record import MEASURES
from mist_bench.result_tables import Table

__all__ = ["HEADLINE", "Scores", "headline_of", "rank_tables", "ranks_of", "scores"]

HEADLINE = "final_accuracy"
"""The measure by which methods are ranked on streams of tasks."""

IN_ORDER = "prequential_accuracy"
"""Likewise on streams in their own order, which have no tasks."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Means over seeds without gaps, from which ranks can be computed. Made by `scores`.

    Examples
    --------
    >>> Scores("final_accuracy", ("slda",), ("wine",), np.array([[0.9]]), ()).matrix.shape
    (1, 1)
    """

    measure: str
    """A key of `mist_bench.MEASURES`."""

    methods: tuple[str, ...]
    """Methods with a figure on each of these data sets."""

    datasets: tuple[str, ...]
    """Data sets with a figure of each of these methods."""

    matrix: NDArray[np.float64]
    """Means over seeds, shape (data sets, methods)."""

    left_out: tuple[str, ...]
    """Each method and data set left out, with the reason."""

    @property
    def note(self) -> str:
        """Sentence on what was left out; empty if nothing was."""
        return f"Left out: {'; '.join(self.left_out)}." if self.left_out else ""


def headline_of(outcomes: Outcomes) -> str:
    """Choose the measure by which methods are ranked.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    str
        ``"prequential_accuracy"`` if no run has a final accuracy but some have a prequential one,
        else ``"final_accuracy"``.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("sea", "hat", 42, "honest")
    >>> records = [Record(run, measures={"prequential_accuracy": 0.9})]
    >>> headline_of(arrange(records, datasets=["sea"], planned=[run]))
    'prequential_accuracy'
    """
    cells = outcomes.cells.values()
    return next(
        (key for key in (HEADLINE, IN_ORDER) if any(c.values(key) for c in cells)), HEADLINE
    )


def scores(outcomes: Outcomes, measure: str | None = None) -> Scores:
    """Return means over seeds of the methods and data sets that have no gap.

    While there is a gap, the method or data set with the largest share of gaps is left out. Among
    ties, a data set goes before a method, and the last before the first.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    measure : str or None, default=None
        A key of `mist_bench.MEASURES`; None for that of `headline_of`.

    Returns
    -------
    Scores
        The remaining means, possibly none, and what was left out.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> plan = [Run("wine", method, 42, "honest") for method in ("mist-g", "slda", "sqda")]
    >>> records = [Record(run, measures={"final_accuracy": 0.9}) for run in plan[:2]]
    >>> outcomes = arrange(records, datasets=["wine"], planned=plan)
    >>> scores(outcomes).methods, scores(outcomes).note
    (('mist-g', 'slda'), 'Left out: SQDA (not run on Wine).')
    """
    measure = headline_of(outcomes) if measure is None else measure
    methods, datasets = list(outcomes.methods), list(outcomes.datasets)
    gaps = {
        (method, dataset)
        for method in methods
        for dataset in datasets
        if not outcomes.cell(method, dataset).values(measure)
    }
    left_out = []
    while any((m, d) in gaps for m in methods for d in datasets):
        of_method = [sum((m, d) in gaps for d in datasets) / len(datasets) for m in methods]
        of_dataset = [sum((m, d) in gaps for m in methods) / len(methods) for d in datasets]
        if max(of_method) > max(of_dataset):
            method = methods.pop(_last(of_method))
            where = [d for d in datasets if (method, d) in gaps]
            reasons = collect((outcomes.cell(method, d).state, heading_of(d)) for d in where)
            left_out.append(
                f"{title_of(method)} ("
                + ", ".join(f"{state} on {list_names(names)}" for state, names in reasons.items())
                + ")"
            )
        else:
            dataset = datasets.pop(_last(of_dataset))
            who = [m for m in methods if (m, dataset) in gaps]
            reasons = collect((outcomes.cell(m, dataset).state, m) for m in who)
            left_out.append(
                f"{heading_of(dataset)} ("
                + ", ".join(f"{state}: {_methods(names)}" for state, names in reasons.items())
                + ")"
            )
    if not datasets:
        methods = []
    matrix = [[fmean(outcomes.cell(m, d).values(measure)) for m in methods] for d in datasets]
    return Scores(
        measure,
        tuple(methods),
        tuple(datasets),
        np.array(matrix, dtype=np.float64).reshape(len(datasets), len(methods)),
        tuple(left_out),
    )


def _last(shares: Sequence[float]) -> int:
    return max(range(len(shares)), key=lambda i: (shares[i], i))


def _methods(keys: Sequence[str]) -> str:
    return list_names([title_of(key) for key in keys])


def rank_tables(figures: Scores) -> list[Table]:
    """Return the table of mean ranks, the best method first.

    Parameters
    ----------
    figures : Scores
        Means without gaps.

    Returns
    -------
    list of Table
        One table; empty with fewer than two methods.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.8], [0.7, 0.7]])
    >>> figures = Scores("final_accuracy", ("slda", "ncm"), ("wine", "iris"), matrix, ())
    >>> rank_tables(figures)[0].rows
    (('SLDA', '1.25', '2', '0.800'), ('NCM', '1.75', '1', '0.750'))
    """
    if len(figures.methods) < 2 or not figures.datasets:
        return []
    measure = MEASURES[figures.measure]
    ranks = ranks_of(figures)
    won = (ranks == ranks.min(axis=1, keepdims=True)).sum(axis=0)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    several = len(figures.datasets) > 1
    return [
        Table(
            name="ranks",
            title=f"Mean ranks on {measure.title}",
            caption=f"{_explain(figures)} {figures.note}".rstrip(),
            headings=(
                "method",
                "mean rank" if several else "rank",
                "first on",
                f"mean {measure.title}" if several else measure.title,
            ),
            rows=tuple(
                (
                    title_of(figures.methods[i]),
                    f"{ranks[:, i].mean():.2f}",
                    str(won[i]),
                    write_figure(float(figures.matrix[:, i].mean()), measure),
                )
                for i in order
            ),
        )
    ]


def _explain(figures: Scores) -> str:
    ties = "ties share the mean of their ranks."
    if len(figures.datasets) == 1:
        return f"Ranks on {heading_of(figures.datasets[0])}; {ties}"
    return (
        f"Rank among {len(figures.methods)} methods, mean over {len(figures.datasets)} data sets; "
        + ties
    )


def ranks_of(figures: Scores) -> NDArray[np.float64]:
    """Rank methods on each data set, the better end of the measure first.

    Parameters
    ----------
    figures : Scores
        Means without gaps of a measure that has a better end.

    Returns
    -------
    ndarray of shape (data sets, methods)
        1 is the best; ties share the mean of their ranks.

    Examples
    --------
    >>> matrix = np.array([[0.1, 0.3, 0.2]])
    >>> ranks_of(Scores("average_forgetting", ("a", "b", "c"), ("wine",), matrix, ()))
    array([[1., 3., 2.]])
    """
    sign = -1 if MEASURES[figures.measure].best == "low" else 1
    # Figures that differ only in the last bits are equal.
    return rank(np.round(sign * figures.matrix, 12))
