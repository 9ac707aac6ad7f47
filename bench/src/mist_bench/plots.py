"""Plots of a report, with captions and text alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mist.report.document import embed
from mist_bench.inventory import shape_of
from mist_bench.outcomes import Outcomes, group_of, heading_of, known, title_of
from mist_bench.ranks import critical_difference, friedman
from mist_bench.record import MEASURES
from mist_bench.scores import Scores, headline_of, ranks_of
from mist_bench.sentences import plural

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Plot", "cost_plots", "curve_plots", "rank_plots", "task_plots"]

_MOST_LINES = 5


@dataclass(frozen=True)
class Plot:
    """A plot on the page.

    Examples
    --------
    >>> from mist.report.document import embed
    >>> Plot("Nothing", embed("<svg />", "p", "Nothing."), "Shows nothing.").title
    'Nothing'
    """

    title: str
    """Heading."""

    svg: Markup
    """An ``<svg>`` element with a text alternative."""

    caption: str
    """Explanation of the plot."""


def rank_plots(figures: Scores) -> list[Plot]:
    """Draw mean ranks with their critical difference.

    Parameters
    ----------
    figures : Scores
        Means of the measure of the ranks without gaps.

    Returns
    -------
    list of Plot
        One plot; empty with fewer than two methods or data sets.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.8], [0.7, 0.6]])
    >>> rank_plots(Scores("final_accuracy", ("slda", "ncm"), ("wine", "iris"), matrix, ()))[0].title
    'Mean ranks and critical difference'
    """
    if len(figures.methods) < 2 or len(figures.datasets) < 2:
        return []
    from mist_bench.grid_figures import ranks_svg

    titles = [title_of(method) for method in figures.methods]
    ranks = ranks_of(figures).mean(axis=0)
    difference = critical_difference(len(titles), len(figures.datasets))
    statistic, p = friedman(np.round(figures.matrix, 12))
    order = np.argsort(ranks, kind="stable")
    what = MEASURES[figures.measure].title
    listed = ", ".join(f"{titles[i]} {ranks[i]:.2f}" for i in order)
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return [
        Plot(
            "Mean ranks and critical difference",
            embed(
                ranks_svg(titles, ranks, difference),
                "ranks",
                f"Critical-difference plot of mean ranks on {what}: {listed}. "
                f"The critical difference is {difference:.2f}.",
            ),
            f"Mean rank on {what} over {len(figures.datasets)} data sets, the best at the "
            "left. Methods that share a bar do not differ at the 5 % level (Nemenyi test). "
            f"Friedman test in the form of Iman and Davenport: F = {statistic:.2f}, {chance}.",
        )
    ]


def cost_plots(outcomes: Outcomes, figures: Scores) -> list[Plot]:
    """Draw accuracy against memory and speed.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    figures : Scores
        Means of the measure of the ranks without gaps.

    Returns
    -------
    list of Plot
        One plot; empty with fewer than two methods or without costs.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> from mist_bench.scores import scores
    >>> plan = [Run("wine", method, 42, "honest") for method in ("slda", "ncm")]
    >>> records = [Record(run, measures={"final_accuracy": 0.9, "nbytes": 2048.0}) for run in plan]
    >>> outcomes = arrange(records, datasets=["wine"], planned=plan)
    >>> cost_plots(outcomes, scores(outcomes))[0].title
    'Accuracy against memory and speed'
    """
    if len(figures.methods) < 2:
        return []
    from mist_bench.grid_figures import costs_svg
    from mist_bench.plotting import Point

    points = [
        Point(
            title_of(method),
            group_of(method),
            float(figures.matrix[:, i].mean()),
            kilobytes=_cost(outcomes, figures, method, "nbytes"),
            rows_per_second=_cost(outcomes, figures, method, "rows_per_second"),
        )
        for i, method in enumerate(figures.methods)
    ]
    if all(point.kilobytes is None and point.rows_per_second is None for point in points):
        return []
    listed = "; ".join(
        f"{p.title} {p.accuracy:.3f}"
        + (f", {p.kilobytes:,.1f} KB" if p.kilobytes else "")
        + (f", {p.rows_per_second:,.0f} rows/s" if p.rows_per_second else "")
        for p in points
    )
    return [
        Plot(
            "Accuracy against memory and speed",
            embed(
                costs_svg(points),
                "costs",
                f"Scatter plots of mean {MEASURES[figures.measure].title} against the size of the "
                f"model and against rows per second, methods at the front filled: {listed}.",
            ),
            f"Means over {plural(len(figures.datasets), 'data set')}. Filled: methods that no "
            "other beats in accuracy and cost at once.",
        )
    ]


def _cost(outcomes: Outcomes, figures: Scores, method: str, key: str) -> float | None:
    values = [outcomes.cell(method, dataset).values(key) for dataset in figures.datasets]
    if not all(values):
        return None
    mean = fmean(fmean(own) for own in values) / MEASURES[key].unit
    return mean if mean > 0 else None


def curve_plots(outcomes: Outcomes, dataset: str, prefix: str) -> list[Plot]:
    """Draw prequential accuracy and accuracy on the seen classes over the stream.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    dataset : str
        Key of the data set.
    prefix : str
        Prefix of the ids of the drawings. No other id of the page starts with it.

    Returns
    -------
    list of Plot
        One for each kind of curve in the records.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> curves = {"rows": [1, 90], "windowed_accuracy": [0.0, 0.9]}
    >>> outcomes = arrange([Record(run, curves=curves)], datasets=["wine"], planned=[run])
    >>> [plot.title for plot in curve_plots(outcomes, "wine", "d0")]
    ['Prequential accuracy over the stream']
    """
    from mist.evaluation.metrics import window_length
    from mist.plotting import average_curves
    from mist_bench.grid_figures import curves_svg

    shown, note = _choose(outcomes, dataset)
    borders, moved = _borders(outcomes, dataset)
    n_rows = shape_of(outcomes, dataset).get("rows")
    window = f"{window_length(n_rows):,} " if n_rows else ""
    lines = "drifts" if "drifts" in shape_of(outcomes, dataset) else "ends of tasks"
    ends = f"Dotted lines: {lines}" + (", at their mean over seeds." if moved else ".")
    kinds = (
        (
            "Prequential accuracy over the stream",
            "windowed accuracy",
            ("rows", "windowed_accuracy"),
            f"Each row is predicted before it is learnt; mean over the last {window}rows",
        ),
        (
            "Accuracy on the classes seen so far",
            "accuracy",
            ("evaluation_rows", "seen_accuracy"),
            "On held-out rows of all classes that had arrived",
        ),
    )
    plots = []
    for letter, (title, label, (rows, figures), what) in zip("ps", kinds, strict=True):
        curves = [
            curve
            for method in shown
            if (
                curve := average_curves(
                    title_of(method),
                    [
                        (record.curves[rows], record.curves[figures])
                        for record in outcomes.cell(method, dataset).done
                        if rows in record.curves and figures in record.curves
                    ],
                )
            )
        ]
        if not curves:
            continue
        last = ", ".join(f"{curve.title} {curve.mean[-1]:.3f}" for curve in curves)
        band = "; band: ± standard deviation" if any(c.spread.any() for c in curves) else ""
        svg = curves_svg(curves, label, borders, dots=letter == "s")
        plots.append(
            Plot(
                title,
                embed(
                    svg,
                    prefix + letter,
                    f"Line chart: {title.lower()} of {heading_of(dataset)}. At the end: {last}.",
                ),
                f"{what}. Mean over seeds{band}. {ends} {note}".rstrip(),
            )
        )
    return plots


def _choose(outcomes: Outcomes, dataset: str) -> tuple[list[str], str]:
    """Methods whose curves are drawn, and a sentence on those left out."""
    headline = headline_of(outcomes)
    means = {
        method: fmean(cell.values(headline) or [0.0])
        for method in outcomes.methods
        if (cell := outcomes.cell(method, dataset)).done
    }
    if len(means) <= _MOST_LINES:
        return list(means), ""
    groups: dict[str, list[str]] = {}
    for method in means:
        groups.setdefault(group_of(method), []).append(method)
    best = {max(own, key=lambda m: means[m]) for group, own in groups.items() if group != "ours"}
    shown = [method for method in means if group_of(method) == "ours" or method in best]
    return shown, (
        f"Of {len(means)} methods: ours, and the most accurate at the end of each other group."
    )


def _borders(outcomes: Outcomes, dataset: str) -> tuple[list[float], bool]:
    found = [
        tuple(record.boundaries)
        for method in outcomes.methods
        for record in outcomes.cell(method, dataset).done
        if record.boundaries
    ]
    alike = [borders for borders in found if len(borders) == len(found[0])]
    # The last task ends at the end of the plot.
    means = np.array(alike, dtype=np.float64).mean(axis=0)[:-1].tolist() if alike else []
    return means, len(set(alike)) > 1


def task_plots(outcomes: Outcomes, dataset: str, prefix: str) -> list[Plot]:
    """Draw the accuracy on each task at the end.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    dataset : str
        Key of the data set.
    prefix : str
        Prefix of the ids of the drawings. No other id of the page starts with it.

    Returns
    -------
    list of Plot
        One plot; empty with fewer than two tasks.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, accuracy_matrix=[[1.0, None], [0.8, 0.9]])]
    >>> outcomes = arrange(records, datasets=["wine"], planned=[run])
    >>> [plot.title for plot in task_plots(outcomes, "wine", "d0")]
    ['Accuracy by task at the end']
    """
    from mist_bench.grid_figures import tasks_svg

    rows = {method: _last_row(outcomes, method, dataset) for method in outcomes.methods}
    n_tasks = max(len(row) for row in rows.values())
    rows = {method: row for method, row in rows.items() if len(row) == n_tasks}
    if n_tasks < 2:
        return []
    titles = [title_of(method) for method in rows]
    matrix = np.array(list(rows.values()))
    listed = "; ".join(
        f"{title} " + ", ".join("none" if np.isnan(v) else f"{v:.2f}" for v in row)
        for title, row in zip(titles, matrix, strict=True)
    )
    return [
        Plot(
            "Accuracy by task at the end",
            embed(
                tasks_svg(titles, matrix),
                f"{prefix}t",
                f"Heat map of final accuracy on each task of {heading_of(dataset)}: {listed}.",
            ),
            "Accuracy on the held-out rows of each task after the last one was learnt, mean over "
            "seeds. A method that pales to the left has forgotten its first tasks.",
        )
    ]


def _last_row(outcomes: Outcomes, method: str, dataset: str) -> NDArray[np.float64]:
    rows = [r.accuracy_matrix[-1] for r in outcomes.cell(method, dataset).done if r.accuracy_matrix]
    n_tasks = max(map(len, rows), default=0)
    means = []
    for task in range(n_tasks):
        values = known(row[task] for row in rows if len(row) == n_tasks)
        means.append(fmean(values) if values else np.nan)
    return np.array(means)
