"""The plots of the report as SVG texts that take their ink from the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.report.style import INK, WIDTH, draw_shares, line_styles, new_figure, style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_accuracy", "plot_growth", "plot_matrices", "window_length"]

_CURVE_POINTS = 400
_MOST_BORDERS = 60
_MOST_BORDER_LABELS = 24
_MOST_WRITTEN_TASKS = 10


def window_length(n_rows: int) -> int:
    """Return the rows over which the plot of accuracy averages.

    Parameters
    ----------
    n_rows : int
        Length of the stream.

    Returns
    -------
    int
        A twenty-fifth of the stream, within 10 and 5,000 rows.

    Examples
    --------
    >>> window_length(100), window_length(2_000), window_length(10**7)
    (10, 80, 5000)
    """
    return min(5_000, max(10, n_rows // 25))


@style()
def plot_accuracy(
    results: Sequence[StreamResult], borders: NDArray[np.int64], labels: Sequence[str]
) -> str:
    """Draw windowed prequential accuracy over the stream, one line a model.

    Parameters
    ----------
    results : sequence of StreamResult
        Runs over the same stream.
    borders : ndarray of int64
        Rows at which something new begins.
    labels : sequence of str
        What begins there.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    figure, axes = new_figure(3.2)
    for result, line in zip(results, line_styles(len(results)), strict=True):
        rows, shares = _windowed(result.correct, result.rows_per_answer)
        axes.plot(rows, shares, label=result.model, **line)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("accuracy")
    _finish(figure, axes, _length(results[0]), borders, labels)
    return to_svg(figure)


@style()
def plot_growth(
    results: Sequence[StreamResult], borders: NDArray[np.int64], labels: Sequence[str]
) -> str:
    """Draw the number of leaves over the stream, one line a model.

    Parameters
    ----------
    results : sequence of StreamResult
        Runs over the same stream.
    borders : ndarray of int64
        Rows at which something new begins.
    labels : sequence of str
        What begins there.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_figure(2.5)
    for result, line in zip(results, line_styles(len(results)), strict=True):
        # Every tree starts as one leaf, before the first checkpoint.
        rows = np.concatenate([[0], result.checkpoints])
        leaves = np.concatenate([[1], result.leaves_curve])
        axes.plot(rows, leaves, drawstyle="steps-post", label=result.model, **line)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylabel("leaves")
    _finish(figure, axes, _length(results[0]), borders, labels)
    return to_svg(figure)


@style()
def plot_matrices(results: Sequence[StreamResult]) -> str:
    """Draw the accuracy matrix of every model as a heat map.

    Parameters
    ----------
    results : sequence of StreamResult
        Runs over the same tasks.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    from matplotlib.figure import Figure

    across = 3  # also for fewer models, so that all panels are of one size
    down = math.ceil(len(results) / across)
    figure = Figure(figsize=(WIDTH, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(results) :]:
        panel.set_axis_off()
    for panel, result in zip(panels, results, strict=False):
        mesh = _draw_matrix(panel, result.accuracy_matrix)
        panel.set_title(result.model, fontsize=10)
    bar = figure.colorbar(mesh, ax=list(panels[: len(results)]), shrink=0.8, aspect=25)
    bar.outline.set_visible(False)
    bar.set_label("accuracy")
    return to_svg(figure)


def _draw_matrix(axes: Axes, matrix: NDArray[np.float64]) -> Any:
    n_tasks = len(matrix)
    letters = (9 if n_tasks <= 6 else 7) if n_tasks <= _MOST_WRITTEN_TASKS else None
    mesh = draw_shares(axes, matrix, letters)
    axes.set_aspect("equal")
    step = math.ceil(n_tasks / 10)
    shown = np.arange(0, n_tasks, step)
    axes.set_xticks(shown + 0.5, [str(task + 1) for task in shown])
    axes.set_yticks(shown + 0.5, [str(task + 1) for task in shown])
    axes.set_xlabel("tested on task")
    axes.set_ylabel("after learning task")
    return mesh


def _length(result: StreamResult) -> int:
    return len(result.correct) * result.rows_per_answer


def _windowed(
    correct: NDArray[Any], rows_each: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    # Only the points that are drawn: a cumulative sum would cost 8 bytes for each row.
    n_answers = len(correct)
    window = max(1, window_length(n_answers * rows_each) // rows_each)
    ends = np.unique(np.linspace(1, n_answers, min(n_answers, _CURVE_POINTS)).astype(np.int64))
    shares = [correct[max(0, end - window) : end].mean() for end in ends]
    return ends * rows_each, np.array(shares)


def _finish(
    figure: Figure,
    axes: Axes,
    n_rows: int,
    borders: NDArray[np.int64],
    labels: Sequence[str],
) -> None:
    axes.set_xlim(0, n_rows)
    axes.set_xlabel("rows learnt")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if len(borders) <= _MOST_BORDERS:
        for border in borders:
            axes.axvline(float(border), color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (2, 3)))
    if len(borders) <= _MOST_BORDER_LABELS:
        last = -math.inf
        for border, label in zip(borders, labels, strict=True):
            # A label too close to its left neighbour would be printed over it.
            if border - last < 0.012 * n_rows * (len(label) + 1):
                continue
            last = float(border)
            axes.annotate(
                label,
                (float(border), 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -2),
                textcoords="offset points",
                fontsize=8,
                alpha=0.75,
                va="bottom",
            )
    figure.legend(loc="outside lower center", ncols=3)
