"""Plots of a data set: accuracy over the stream and accuracy by task, as means over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.report.style import INK, WIDTH, draw_shares, line_styles, new_figure, style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "average", "draw_curves", "plot_curves", "plot_tasks"]

_MOST_POINTS = 200
_MOST_BORDERS = 60
_MOST_WRITTEN_TASKS = 14
_LINE_HEIGHT = 0.24
_HALF = (6.0, 3.4)
"""Size in inches of a plot that shares the width of the page with another."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A figure over the stream: mean and spread over seeds.

    Examples
    --------
    >>> Curve("SLDA", np.array([10, 20]), np.array([0.5, 0.8]), np.zeros(2)).mean[-1]
    np.float64(0.8)
    """

    title: str
    """Name of the method."""

    rows: NDArray[np.float64]
    """Rows learnt, rising."""

    mean: NDArray[np.float64]
    """Mean over seeds, one a row."""

    spread: NDArray[np.float64]
    """Population standard deviation over seeds, one a row."""


def average(title: str, runs: Sequence[tuple[ArrayLike, ArrayLike]]) -> Curve | None:
    """Average curves over seeds.

    Parameters
    ----------
    title : str
        Name of the method.
    runs : sequence of tuple of array-like
        Rows learnt and figures there, a pair a seed. Figures that are not finite are left out;
        where seeds have been measured at different rows, figures in between are interpolated.

    Returns
    -------
    Curve or None
        At the rows of the first seed, a few hundred at most; None without any figure.

    Examples
    --------
    >>> curve = average("SLDA", [([10, 20], [0.4, 0.8]), ([10, 20], [0.6, 0.8])])
    >>> curve.mean, curve.spread
    (array([0.5, 0.8]), array([0.1, 0. ]))
    """
    clean = []
    for rows, figures in runs:
        x, y = np.asarray(rows, dtype=np.float64), np.asarray(figures, dtype=np.float64)
        finite = np.isfinite(y)
        if finite.any():
            clean.append((x[finite], y[finite]))
    if not clean:
        return None
    grid = clean[0][0]
    if len(grid) > _MOST_POINTS:
        grid = grid[np.linspace(0, len(grid) - 1, _MOST_POINTS).astype(np.int64)]
    values = np.array([np.interp(grid, x, y) for x, y in clean])
    return Curve(title, grid, values.mean(axis=0), values.std(axis=0))


@style()
def plot_curves(
    curves: Sequence[Curve], label: str, borders: Sequence[float], *, dots: bool = False
) -> str:
    """Draw means over the stream with bands of one standard deviation to either side.

    Parameters
    ----------
    curves : sequence of Curve
        One a method, at least one.
    label : str
        Name of the vertical axis, which goes from 0 to 1.
    borders : sequence of float
        Rows at which a task ends, drawn as dotted lines unless there are very many.
    dots : bool, default=False
        Whether to mark the points of the curves, for curves of few points.

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
    >>> curve = average("SLDA", [([10, 20], [0.4, 0.8])])
    >>> plot_curves([curve], "accuracy", [10]).startswith("<svg")
    True
    """
    if not curves:
        raise ValueError("a plot of curves needs at least one curve")
    figure, axes = new_figure(_HALF[1])
    figure.set_size_inches(_HALF)
    draw_curves(axes, curves, borders, dots=dots)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("rows learnt")
    axes.set_ylabel(label)
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return to_svg(figure)


def draw_curves(
    axes: Axes, curves: Sequence[Curve], borders: Sequence[float], *, dots: bool = False
) -> None:
    """Draw means over the stream with bands of one standard deviation into a plot.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    curves, borders, dots
        As for `plot_curves`.

    Examples
    --------
    >>> axes = new_figure(2.0)[1]
    >>> draw_curves(axes, [Curve("SLDA", np.array([10, 20]), np.ones(2), np.zeros(2))], [10])
    >>> axes.get_xlim()
    (np.float64(0.0), np.float64(20.0))
    """
    for curve, line in zip(curves, line_styles(len(curves)), strict=True):
        low, high = curve.mean - curve.spread, curve.mean + curve.spread
        if curve.spread.any():
            axes.fill_between(
                curve.rows,
                np.maximum(low, 0),
                # A share is none above 1; other figures have no end.
                np.minimum(high, max(1, curve.mean.max())),
                color=line["color"],
                alpha=0.16,
                linewidth=0,
            )
        marker = "o" if dots or len(curve.rows) == 1 else ""
        axes.plot(curve.rows, curve.mean, label=curve.title, marker=marker, markersize=3.5, **line)
    if len(borders) <= _MOST_BORDERS:
        for border in borders:
            axes.axvline(border, color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.set_xlim(0, max(curve.rows[-1] for curve in curves))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


@style()
def plot_tasks(titles: Sequence[str], shares: ArrayLike) -> str:
    """Draw the accuracy of methods on each task as a heat map.

    Parameters
    ----------
    titles : sequence of str
        Names of the methods, at least one.
    shares : array-like of shape (methods, tasks)
        Accuracies from 0 to 1; NaN where there is none.

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
    >>> plot_tasks(["SLDA", "NCM"], [[0.9, 0.8, 0.7], [0.5, 0.4, 0.6]]).startswith("<svg")
    True
    """
    from matplotlib.figure import Figure

    matrix = np.asarray(shares, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or len(matrix) != len(titles):
        raise ValueError(
            f"a heat map of {len(titles)} methods cannot be drawn from shape {matrix.shape}"
        )
    n_methods, n_tasks = matrix.shape
    figure = Figure(figsize=(WIDTH, 0.75 + _LINE_HEIGHT * n_methods), layout="constrained")
    axes = figure.subplots()
    mesh = draw_shares(axes, matrix, 8.5 if n_tasks <= _MOST_WRITTEN_TASKS else None)
    shown = np.arange(0, n_tasks, -(-n_tasks // 25))
    axes.set_xticks(shown + 0.5, [str(task + 1) for task in shown])
    axes.set_yticks(np.arange(n_methods) + 0.5, list(titles))
    axes.set_xlabel("task, in order of arrival")
    bar = figure.colorbar(mesh, ax=axes, aspect=20, pad=0.015, ticks=[0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.set_label("accuracy")
    return to_svg(figure)
