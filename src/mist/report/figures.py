"""The plots of the report as SVG texts that take their ink from the page around them."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult, prequential_accuracy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_accuracy", "plot_growth", "plot_matrices", "window_length"]

_INK = "#0a0b0c"
"""Stands for the text colour of the page: replaced by ``currentColor`` in the SVG."""

# Told apart by people with any kind of colour vision and legible on white and near-black;
# the dashes say the same once more.
_LINES = (
    ("#2f7fd1", "-"),
    ("#d9661f", (0, (6, 2))),
    ("#1f9e77", (0, (2, 1.5))),
    ("#a05fc9", (0, (7, 2, 1.5, 2))),
    ("#c2497d", (0, (1, 1))),
)
_SHADES = ("#f3e9dc", "#9cc3e6", "#0f3d75")
_WIDTH = 9.0
_CURVE_POINTS = 400
_MOST_BORDERS = 60
_MOST_BORDER_LABELS = 24
_MOST_WRITTEN_TASKS = 10


@contextmanager
def _style() -> Iterator[None]:
    # Also serves as a decorator: what a plot adds later has to be drawn in the same style.
    import matplotlib

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = dict.fromkeys(inked, _INK)
    with matplotlib.rc_context(
        settings
        | {
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "grid.color": _INK,
            "grid.alpha": 0.12,
            "legend.frameon": False,
            "svg.fonttype": "none",
            # Names of classes and models are texts, whatever dollar signs are in them.
            "text.parse_math": False,
            "svg.hashsalt": "mist",
        }
    ):
        yield


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


@_style()
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
    figure, axes = _new_figure(3.2)
    for result, style in zip(results, _styles(len(results)), strict=True):
        rows, shares = _windowed(result.correct)
        axes.plot(rows, shares, label=result.model, **style)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("accuracy")
    _finish(figure, axes, len(results[0].correct), borders, labels)
    return _to_svg(figure)


@_style()
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

    figure, axes = _new_figure(2.5)
    for result, style in zip(results, _styles(len(results)), strict=True):
        # Every tree starts as one leaf, before the first checkpoint.
        rows = np.concatenate([[0], result.checkpoints])
        leaves = np.concatenate([[1], result.leaves_curve])
        axes.plot(rows, leaves, drawstyle="steps-post", label=result.model, **style)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylabel("leaves")
    _finish(figure, axes, len(results[0].correct), borders, labels)
    return _to_svg(figure)


@_style()
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
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    across = 3  # also for fewer models, so that all panels are of one size
    down = math.ceil(len(results) / across)
    colours = LinearSegmentedColormap.from_list("mist", _SHADES)
    figure = Figure(figsize=(_WIDTH, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(results) :]:
        panel.set_axis_off()
    for panel, result in zip(panels, results, strict=False):
        mesh = _draw_matrix(panel, result.accuracy_matrix, colours)
        panel.set_title(result.model, fontsize=10)
    bar = figure.colorbar(mesh, ax=list(panels[: len(results)]), shrink=0.8, aspect=25)
    bar.outline.set_visible(False)
    bar.set_label("accuracy")
    return _to_svg(figure)


def _draw_matrix(axes: Axes, matrix: NDArray[np.float64], colours: Any) -> Any:
    n_tasks = len(matrix)
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(matrix), cmap=colours, vmin=0, vmax=1, edgecolors="none"
    )
    axes.set_aspect("equal")
    axes.invert_yaxis()
    step = math.ceil(n_tasks / 10)
    shown = np.arange(0, n_tasks, step)
    axes.set_xticks(shown + 0.5, [str(task + 1) for task in shown])
    axes.set_yticks(shown + 0.5, [str(task + 1) for task in shown])
    axes.tick_params(length=0)
    axes.set_xlabel("tested on task")
    axes.set_ylabel("after learning task")
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if n_tasks <= _MOST_WRITTEN_TASKS:
        for i, j in np.argwhere(np.isfinite(matrix)):
            axes.text(
                j + 0.5,
                i + 0.5,
                f"{matrix[i, j]:.2f}",
                ha="center",
                va="center",
                fontsize=9 if n_tasks <= 6 else 7,
                color="white" if matrix[i, j] > 0.75 else "#101418",
            )
    return mesh


def _windowed(correct: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    # Only the points that are drawn: a cumulative sum would cost 8 bytes for each row.
    n_rows = len(correct)
    window = window_length(n_rows)
    ends = np.unique(np.linspace(1, n_rows, min(n_rows, _CURVE_POINTS)).astype(np.int64))
    shares = [prequential_accuracy(correct[max(0, end - window) : end]) for end in ends]
    return ends, np.array(shares)


def _styles(n_models: int) -> Iterator[dict[str, Any]]:
    for i in range(n_models):
        colour, dashes = _LINES[i % len(_LINES)]
        yield {"color": colour, "linestyle": dashes, "linewidth": 1.8}


def _new_figure(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return figure, axes


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
            axes.axvline(
                float(border), color=_INK, alpha=0.35, linewidth=0.8, linestyle=(0, (2, 3))
            )
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


def _to_svg(figure: Figure) -> str:
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=nothing)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    # The page decides on the width; the drawing keeps its proportions.
    return re.sub(r'(<svg [^>]*?)\s(?:width|height)="[^"]*pt"', r"\1", svg, count=1)
