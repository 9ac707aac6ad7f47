"""The plots of the report as SVG texts in the text colour of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.evaluation.stream_record import Baseline, ModelRecord, Reliability
from mist.plotting import (
    line_styles,
    plot_accuracy,
    plot_accuracy_matrix,
    plot_class_recall,
    plot_confusions,
    plot_growth,
    plot_reliability,
)
from mist.plotting.changes import CHANGE_LABEL
from mist.plotting.shares import add_colour_bar
from mist.plotting.text_layout import short
from mist.plotting.theme import mark_rows
from mist.report.style import WIDTH, new_figure, style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "FEWEST_ROWS",
    "accuracy_svg",
    "confusions_svg",
    "cost_svg",
    "growth_svg",
    "matrices_svg",
    "recall_svg",
    "reliability_svg",
]

FEWEST_ROWS = 10
"""Rows of a bin of probabilities that make its share of right predictions worth a point."""

_MOST_RATES = 40
_SIDE = 4.6
"""Least side of a square plot in inches; the page enlarges a smaller one, and its letters."""
_FAR = 20


def accuracy_svg(
    results: Sequence[StreamResult],
    borders: NDArray[Any],
    labels: Sequence[str],
    *,
    title: str | None = None,
    baselines: Sequence[Baseline] = (),
    width: float = WIDTH,
) -> str:
    """Draw windowed prequential accuracy over the stream, one line per model.

    Parameters
    ----------
    results : sequence of StreamResult
        Runs over the same stream.
    borders : ndarray
        Rows at which a task or class begins.
    labels : sequence of str
        One label for each border.
    title : str or None, default=None
        What the borders are, for the legend.
    baselines : sequence of Baseline, default=()
        Predictions without a model, for comparison.
    width : float, default=WIDTH
        Width in inches.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    plot = partial(plot_accuracy, border_title=title, baselines=baselines)
    return _over_the_stream(plot, 3.6, results, borders, labels, width)


def growth_svg(
    results: Sequence[StreamResult],
    borders: NDArray[Any],
    labels: Sequence[str],
    *,
    width: float = WIDTH,
) -> str:
    """Draw the number of leaves over the stream, one line per model.

    Parameters
    ----------
    results, borders, labels, width
        As for `accuracy_svg`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    return _over_the_stream(plot_growth, 2.5, results, borders, labels, width)


@style()
def _over_the_stream(
    plot: Callable[..., Axes],
    height: float,
    results: Sequence[StreamResult],
    borders: NDArray[Any],
    labels: Sequence[str],
    width: float,
) -> str:
    figure, axes = new_figure(height, width)
    # There is no space for labels on a phone.
    shown = labels if width == WIDTH else ()
    plot(results, axes, borders=borders, border_labels=shown, legend=False)
    if width < WIDTH:
        axes.locator_params(axis="x", nbins=4)
        for text in [text for text in axes.texts if text.get_gid() == CHANGE_LABEL]:
            text.remove()
    figure.legend(loc="outside lower center", ncols=4 if width == WIDTH else 2)
    return to_svg(figure)


@style()
def recall_svg(
    labels: Sequence[Any],
    recall: NDArray[np.float64],
    *,
    n_rows: int,
    rows_per_bin: int,
    width: float = WIDTH,
) -> str:
    """Draw the recall of classes over the stream as a heat map.

    Parameters
    ----------
    labels, recall, n_rows, rows_per_bin
        See `mist.plotting.plot_class_recall`.
    width : float, default=WIDTH
        Width in inches.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 0.9 + 0.22 * len(labels)), layout="constrained")
    axes = figure.subplots()
    plot_class_recall(
        labels, recall, axes, n_rows=n_rows, rows_per_bin=rows_per_bin, colorbar=width == WIDTH
    )
    # As an image: thousands of cells are hundreds of kilobytes of shapes.
    axes.collections[0].set_rasterized(True)
    if width < WIDTH:
        axes.locator_params(axis="x", nbins=4)
    return to_svg(figure)


@style()
def confusions_svg(labels: Sequence[Any], rows: NDArray[np.int64]) -> str:
    """Draw how the rows of each class were predicted.

    Parameters
    ----------
    labels, rows
        See `mist.plotting.plot_confusions`.

    Returns
    -------
    str
        An ``<svg>`` element, about square.
    """
    from matplotlib.figure import Figure

    side = max(2.6 + 0.24 * len(labels), _SIDE)
    figure = Figure(figsize=(side, side), layout="constrained")
    plot_confusions(labels, rows, figure.subplots())
    return to_svg(figure)


@style()
def reliability_svg(models: Sequence[Reliability], names: Sequence[str]) -> str:
    """Draw how often predictions were right, by their probability, one line per model.

    Parameters
    ----------
    models : sequence of Reliability
        One per model, each with bins of `FEWEST_ROWS` rows; smaller ones are not drawn.
    names : sequence of str
        Names of the models.

    Returns
    -------
    str
        An ``<svg>`` element, about square.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_SIDE, _SIDE), layout="constrained")
    axes = figure.subplots()
    axes.grid()
    axes.set_axisbelow(True)
    for model, name, line in zip(models, names, line_styles(len(names)), strict=True):
        used = model.rows >= FEWEST_ROWS
        rows = model.rows[used]
        given = model.probability[used] / rows, model.right[used] / rows, rows
        plot_reliability(*given, axes, label=short(name), **line)
    if len(names) > 1:
        axes.legend(loc="upper left")
    return to_svg(figure)


@style()
def cost_svg(records: Sequence[ModelRecord], names: Sequence[str], *, width: float = WIDTH) -> str:
    """Draw memory and speed over the stream, one line per model.

    Parameters
    ----------
    records : sequence of ModelRecord
        One per model.
    names : sequence of str
        Names of the models.
    width : float, default=WIDTH
        Width in inches.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    from matplotlib.figure import Figure

    wide = width == WIDTH
    figure = Figure(figsize=(width, 2.6 if wide else 4.6), layout="constrained")
    panels = figure.subplots(1, 2) if wide else figure.subplots(2, 1)
    for record, name, line in zip(records, names, line_styles(len(names)), strict=True):
        panels[0].plot(record.cost_rows, record.nbytes / 1024, label=short(name), **line)
        panels[1].plot(*_rates(record), **line)
    for panel, title in zip(panels, ("KB", "rows/s"), strict=True):
        panel.grid(axis="y")
        panel.set_ylabel(title)
        if len(names) > 1 and _far_apart(panel):
            panel.set_yscale("log")
        else:
            panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        mark_rows(panel, max(int(record.cost_rows[-1]) for record in records), ())
        panel.locator_params(axis="x", nbins=4)
    if len(names) > 1:
        figure.legend(loc="outside lower center", ncols=4 if wide else 2)
    return to_svg(figure)


def _far_apart(panel: Axes) -> bool:
    """Return whether the lines of a plot need a logarithmic axis to be told apart."""
    means = [np.mean(np.asarray(line.get_ydata(), dtype=np.float64)) for line in panel.lines]
    return bool(min(means) > 0 and max(means) > _FAR * min(means))


def _rates(record: ModelRecord) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows and rates between a few dozen points of the stream."""
    rows = np.concatenate([[0], record.cost_rows])
    seconds = np.concatenate([[0], record.microseconds]) / 1e6
    chosen = np.unique(np.linspace(0, len(rows) - 1, _MOST_RATES + 1).astype(np.int64))
    rows, seconds = rows[chosen], seconds[chosen]
    return rows[1:], np.diff(rows) / np.maximum(np.diff(seconds), 1e-6)


@style()
def matrices_svg(results: Sequence[StreamResult]) -> str:
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

    across = 3  # also for fewer models, so that all panels have the same size
    down = math.ceil(len(results) / across)
    figure = Figure(figsize=(WIDTH, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(results) :]:
        panel.set_axis_off()
    used = list(panels[: len(results)])
    for panel, result in zip(used, results, strict=True):
        plot_accuracy_matrix(result, panel, colorbar=False)
    add_colour_bar(used[0].collections[0], used, shrink=0.8, aspect=25)
    return to_svg(figure)
