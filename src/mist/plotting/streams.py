"""Plots of runs over a stream: accuracy, growth and forgetting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.evaluation import StreamResult
from mist.evaluation.metrics import window_length
from mist.evaluation.stream_record import Baseline
from mist.plotting.changes import mark_changes
from mist.plotting.shares import add_colour_bar, draw_shares
from mist.plotting.text_layout import short
from mist.plotting.theme import GREY, axes_for, line_styles, mark_rows, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_accuracy", "plot_accuracy_matrix", "plot_forgetting", "plot_growth"]

_CURVE_POINTS = 400
_BASELINE_DASHES: tuple[Any, ...] = ((0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
_MOST_WRITTEN_TASKS = 10


@names_as_they_are()
def plot_accuracy(
    results: StreamResult | Sequence[StreamResult],
    ax: Axes | None = None,
    *,
    borders: Iterable[float] | None = None,
    border_labels: Sequence[str] = (),
    border_title: str | None = None,
    baselines: Sequence[Baseline] = (),
    changes: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw prequential accuracy over the stream, one line per model.

    Each row is predicted before it is learnt. A point is the mean over the last rows, with the
    window of `mist.evaluation.metrics.window_length`.

    Parameters
    ----------
    results : StreamResult or sequence of StreamResult
        Runs over the same stream, at least one.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    borders : iterable of float or None, default=None
        Rows to mark with dotted lines; None means the ends of tasks.
    border_labels : sequence of str, default=()
        One label for each border, or empty for no labels.
    border_title : str or None, default=None
        What the borders are, for the legend.
    baselines : sequence of mist.evaluation.stream_record.Baseline, default=()
        Predictions without a model, drawn as thin grey lines.
    changes : bool, default=True
        Whether to mark the changes that the models found (`StreamResult.changes`) with thin lines.
        At most 20 lines are drawn.
    legend : bool, default=True
        Whether to name the models in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: rows learnt on the x-axis, accuracy from 0 to 1 on the y-axis.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `results` is empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mist.baselines import NCM
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> result = evaluate(NCM(), stream, model_name="NCM")
    >>> ax = plot_accuracy(result, Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.lines[0].get_label()
    ('rows learnt', 'accuracy', 'NCM')
    """
    runs = _several(results)
    ax = axes_for(ax)
    for run, line in zip(runs, line_styles(len(runs)), strict=True):
        rows, shares = _windowed(run)
        ax.plot(rows, shares, label=short(run.model), **line)
    for baseline, dashes in zip(baselines, _BASELINE_DASHES, strict=False):
        rows, shares = _windowed(baseline)
        ax.plot(
            rows,
            shares,
            label=baseline.model,
            color=GREY,
            linewidth=1.2,
            linestyle=dashes,
            zorder=1.5,
        )
    ax.set_ylim(-0.02, 1.02)
    ax.set_ylabel("accuracy")
    if changes:
        mark_changes(ax, runs)
    _finish(ax, runs, borders, border_labels, legend, border_title)
    return ax


@names_as_they_are()
def plot_growth(
    results: StreamResult | Sequence[StreamResult],
    ax: Axes | None = None,
    *,
    borders: Iterable[float] | None = None,
    border_labels: Sequence[str] = (),
    changes: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the number of leaves over the stream, one line per model.

    Parameters
    ----------
    results, ax, borders, border_labels, changes, legend
        As for `plot_accuracy`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: rows learnt on the x-axis, leaves on the y-axis.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `results` is empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mist import MistClassifier
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> result = evaluate(MistClassifier("gaussian"), stream)
    >>> ax = plot_growth(result, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_ydata()[-1] == result.n_leaves[-1]
    ('leaves', np.True_)
    """
    from matplotlib.ticker import MaxNLocator

    runs = _several(results)
    ax = axes_for(ax, height=3.0)
    for run, line in zip(runs, line_styles(len(runs)), strict=True):
        # Every tree starts as one leaf, before the first checkpoint.
        rows = np.concatenate([[0], run.checkpoints])
        leaves = np.concatenate([[1], run.leaves_curve])
        ax.plot(rows, leaves, drawstyle="steps-post", label=short(run.model), **line)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    ax.set_ylabel("leaves")
    if changes:
        mark_changes(ax, runs)
    _finish(ax, runs, borders, border_labels, legend)
    return ax


@names_as_they_are()
def plot_accuracy_matrix(
    result: StreamResult | ArrayLike, ax: Axes | None = None, *, colorbar: bool = True
) -> Axes:
    """Draw the accuracy on each task after each task as a heat map.

    A column that gets paler downwards shows a task that is forgotten.

    Parameters
    ----------
    result : StreamResult or array-like of shape (n_tasks, n_tasks)
        A run, or an accuracy matrix such as `mist.evaluation.StreamResult.accuracy_matrix`: entry
        (i, j) is the accuracy on task j after task i, or NaN.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    colorbar : bool, default=True
        Whether to add a colour bar.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Cell (i, j) is centred at ``(j + 0.5, i + 0.5)``.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If there are no tasks, or the matrix is not square.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_accuracy_matrix([[0.9, float("nan")], [0.6, 0.8]], Figure().subplots())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('tested on task', ['0.90', '0.60', '0.80'])
    """
    matrix = _matrix_of(result)
    ax = axes_for(ax, 4.6, 4.0)
    n_tasks = len(matrix)
    letters = (9 if n_tasks <= 6 else 7) if n_tasks <= _MOST_WRITTEN_TASKS else None
    mesh = draw_shares(ax, matrix, letters)
    ax.set_aspect("equal")
    shown = np.arange(0, n_tasks, math.ceil(n_tasks / 10))
    ax.set_xticks(shown + 0.5, [str(task + 1) for task in shown])
    ax.set_yticks(shown + 0.5, [str(task + 1) for task in shown])
    ax.set_xlabel("tested on task")
    ax.set_ylabel("after learning task")
    if isinstance(result, StreamResult):
        ax.set_title(short(result.model, 28), fontsize=10, parse_math=False)
    if colorbar:
        add_colour_bar(mesh, ax, shrink=0.8, aspect=25)
    return ax


def plot_forgetting(
    result: StreamResult | ArrayLike, ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw the accuracy on each task while further tasks are learnt, one line per task.

    A falling line shows a task that is forgotten.

    Parameters
    ----------
    result : StreamResult or array-like of shape (n_tasks, n_tasks)
        As for `plot_accuracy_matrix`.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    legend : bool, default=True
        Whether to name the tasks in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: tasks learnt on the x-axis, accuracy from 0 to 1 on the y-axis.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If there are no tasks, or the matrix is not square.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_forgetting([[0.9, float("nan")], [0.6, 0.8]], Figure().subplots())
    >>> [line.get_label() for line in ax.lines], ax.lines[0].get_ydata()
    (['task 1', 'task 2'], array([0.9, 0.6]))
    """
    matrix = _matrix_of(result)
    ax = axes_for(ax)
    n_tasks = len(matrix)
    for task, line in zip(range(n_tasks), line_styles(n_tasks), strict=True):
        after = np.arange(task, n_tasks) + 1
        look: dict[str, Any] = {"marker": "o", "markersize": 3} | line
        ax.plot(after, matrix[task:, task], label=f"task {task + 1}", **look)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xticks(np.arange(0, n_tasks, math.ceil(n_tasks / 20)) + 1)
    ax.set_xlabel("tasks learnt")
    ax.set_ylabel("accuracy on the task")
    if legend:
        ax.legend(ncols=2)
    return ax


def _several(results: StreamResult | Sequence[StreamResult]) -> list[StreamResult]:
    runs = [results] if isinstance(results, StreamResult) else list(results)
    if not runs:
        raise ValueError("results is empty: give at least one run to draw")
    return runs


def _matrix_of(result: StreamResult | ArrayLike) -> NDArray[np.float64]:
    given = result.accuracy_matrix if isinstance(result, StreamResult) else result
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(
            "an accuracy matrix must have a row and a column per task, at least one, got shape "
            f"{matrix.shape}: evaluate on held-out rows of tasks"
        )
    return matrix


def _windowed(run: StreamResult | Baseline) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    # Only the drawn points are computed: a cumulative sum would take 8 bytes per row.
    correct, each = run.correct, run.rows_per_answer
    window = max(1, window_length(run.n_rows) // each)
    ends = np.unique(
        np.linspace(1, len(correct), min(len(correct), _CURVE_POINTS)).astype(np.int64)
    )
    shares = [correct[max(0, end - window) : end].mean() for end in ends]
    return ends * each, np.array(shares)


def _finish(
    ax: Axes,
    runs: Sequence[StreamResult],
    borders: Iterable[float] | None,
    labels: Sequence[str],
    legend: bool,
    title: str | None = None,
) -> None:
    # The last task ends where the plot does.
    given: Any = runs[0].boundaries[:-1] if borders is None else borders
    mark_rows(ax, max(run.n_rows for run in runs), given, labels, title)
    if legend:
        ax.legend()
