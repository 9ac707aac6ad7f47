"""The plots of the report as SVG texts in the text colour of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.plotting import plot_accuracy, plot_accuracy_matrix, plot_growth
from mist.plotting.shares import add_colour_bar
from mist.report.style import WIDTH, new_figure, style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["accuracy_svg", "growth_svg", "matrices_svg"]


def accuracy_svg(
    results: Sequence[StreamResult], borders: NDArray[Any], labels: Sequence[str]
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

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    return _over_the_stream(plot_accuracy, 3.2, results, borders, labels)


def growth_svg(
    results: Sequence[StreamResult], borders: NDArray[Any], labels: Sequence[str]
) -> str:
    """Draw the number of leaves over the stream, one line per model.

    Parameters
    ----------
    results, borders, labels
        As for `accuracy_svg`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    return _over_the_stream(plot_growth, 2.5, results, borders, labels)


@style()
def _over_the_stream(
    plot: Callable[..., Axes],
    height: float,
    results: Sequence[StreamResult],
    borders: NDArray[Any],
    labels: Sequence[str],
) -> str:
    figure, axes = new_figure(height)
    plot(results, axes, borders=borders, border_labels=labels, legend=False)
    figure.legend(loc="outside lower center", ncols=3)
    return to_svg(figure)


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
