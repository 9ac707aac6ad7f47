"""The drawings of a grid's report as SVG texts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from mist.plotting.curves import Curve, plot_curves
from mist.plotting.shares import heat_map_height, plot_tasks
from mist.plotting.text_layout import LINE, TEXT, length, short
from mist.report.style import WIDTH, new_figure, style, to_svg
from mist_bench.plotting.costs import (
    GROUPS,
    PARETO,
    Cost,
    Point,
    are_numbered,
    by_accuracy,
    mark,
    plot_costs,
)
from mist_bench.plotting.rank_plot import lay_out_ranks, plot_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["costs_svg", "curves_svg", "ranks_svg", "tasks_svg"]

# All lengths are in inches.
_EDGE = 0.1
_PANEL_HEIGHT = 3.6
_HALF = (6.0, 3.4)
"""Size of a plot that shares the width of the page with another."""


@style()
def curves_svg(
    curves: Sequence[Curve], label: str, borders: Sequence[float], *, dots: bool = False
) -> str:
    """Draw means over the stream with their legend below.

    Parameters
    ----------
    curves, label, borders, dots
        As for `mist.plotting.plot_curves`.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        If there is no curve.

    Examples
    --------
    >>> from mist.plotting import average_curves
    >>> curve = average_curves("SLDA", [([10, 20], [0.4, 0.8])])
    >>> curves_svg([curve], "accuracy", [10]).startswith("<svg")
    True
    """
    figure, axes = new_figure(_HALF[1])
    figure.set_size_inches(_HALF)
    plot_curves(curves, axes, label=label, borders=borders, dots=dots, legend=False)
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return to_svg(figure)


@style()
def tasks_svg(titles: Sequence[str], shares: ArrayLike) -> str:
    """Draw the accuracy of methods on each task as a heat map.

    Parameters
    ----------
    titles, shares
        As for `mist.plotting.plot_tasks`.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        If there is nothing to draw, or the shapes do not fit.

    Examples
    --------
    >>> tasks_svg(["SLDA", "NCM"], [[0.9, 0.8, 0.7], [0.5, 0.4, 0.6]]).startswith("<svg")
    True
    """
    figure, axes = new_figure(heat_map_height(len(titles)))
    plot_tasks(titles, shares, axes)
    return to_svg(figure)


@style()
def ranks_svg(titles: Sequence[str], mean_ranks: ArrayLike, difference: float) -> str:
    """Draw mean ranks with their critical difference.

    Parameters
    ----------
    titles, mean_ranks, difference
        As for `mist_bench.plotting.plot_ranks`.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        As `mist_bench.plotting.plot_ranks`.

    Examples
    --------
    >>> ranks_svg(["MIST-G", "VFDT", "NCM"], [1.2, 2.1, 2.7], 0.7).startswith("<svg")
    True
    """
    from matplotlib.figure import Figure

    layout = lay_out_ranks(titles, mean_ranks, difference, WIDTH)
    figure = Figure(figsize=(layout.width, layout.height))
    plot_ranks(titles, mean_ranks, difference, figure.add_axes((0, 0, 1, 1)))
    return to_svg(figure)


@style()
def costs_svg(points: Sequence[Point], label: str = "mean accuracy") -> str:
    """Draw accuracy against the size of the model and against rows per second.

    More than eight methods are numbered, with a list below the panels.

    Parameters
    ----------
    points, label
        As for `mist_bench.plotting.plot_costs`.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        If there is no point.

    Examples
    --------
    >>> points = [Point("MIST-G", "ours", 0.9, 900.0, 2e5), Point("NCM", "other", 0.7, 2.0, 3e5)]
    >>> costs_svg(points).startswith("<svg")
    True
    """
    from matplotlib.figure import Figure

    ordered = by_accuracy(points)
    names = [short(point.title) for point in ordered]
    numbered = are_numbered(ordered)
    longest = max(map(length, names), default=0)
    n_columns = max(1, math.floor((WIDTH - 2 * _EDGE) / (longest + 0.75)))
    n_lines = math.ceil(len(names) / n_columns) if numbered else 0
    legend = LINE * (n_lines + 1.4) + 0.1
    below = legend + 0.65
    height = _PANEL_HEIGHT + below + 0.15
    figure = Figure(figsize=(WIDTH, height))
    left, gap = 0.8, 0.35
    panel = (WIDTH - left - gap - 0.2) / 2
    sides: tuple[Cost, ...] = ("kilobytes", "rows_per_second")
    for number, against in enumerate(sides):
        axes = figure.add_axes(
            (
                (left + number * (panel + gap)) / WIDTH,
                below / height,
                panel / WIDTH,
                _PANEL_HEIGHT / height,
            )
        )
        plot_costs(points, axes, against=against, label=label, legend=False)
        if number:
            axes.tick_params(labelleft=False)
            axes.set_ylabel("")
    canvas = figure.add_axes(
        (_EDGE / WIDTH, 0, 1 - 2 * _EDGE / WIDTH, legend / height),
        xlim=(0, WIDTH - 2 * _EDGE),
        ylim=(legend, 0),
    )
    canvas.set_axis_off()
    _draw_groups(canvas, {point.group for point in points})
    if numbered:
        _draw_list(canvas, ordered, names, n_columns)
    return to_svg(figure)


def _draw_groups(canvas: Axes, groups: Collection[str]) -> None:
    x = 0.4
    for group, (title, *_) in GROUPS.items():
        if group in groups:
            mark(canvas, x, 0.1, group)
            canvas.text(x + 0.15, 0.1, title, **TEXT)
            x += length(title) + 0.5
    canvas.text(x, 0.1, PARETO, alpha=0.7, **TEXT)


def _draw_list(canvas: Axes, points: Sequence[Point], names: Sequence[str], n_columns: int) -> None:
    n_lines = math.ceil(len(names) / n_columns)
    for i, (point, name) in enumerate(zip(points, names, strict=True)):
        x = (i // n_lines) * (WIDTH - 2 * _EDGE) / n_columns
        y = 0.1 + LINE * (i % n_lines + 1.4)
        canvas.text(x + 0.25, y, str(i + 1), ha="right", **TEXT)
        mark(canvas, x + 0.4, y, point.group)
        canvas.text(x + 0.55, y, name, **TEXT)
