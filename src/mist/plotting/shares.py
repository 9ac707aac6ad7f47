"""Heat maps of shares between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.plotting.text_layout import short
from mist.plotting.theme import axes_for, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["add_colour_bar", "draw_shares", "heat_map_height", "plot_tasks"]

_SHADES = ("#f3e9dc", "#9cc3e6", "#0f3d75")
"""From pale to dark, so that the order is visible without colours."""

_DARK, _PALE, _SWITCH = "#010101", "white", 0.775
"""Colours of numbers up to the share `_SWITCH` and above it, legible on every shade."""

_LINE_HEIGHT = 0.24
_MOST_WRITTEN_TASKS = 14


def draw_shares(
    ax: Axes,
    shares: NDArray[np.float64],
    letters: float | None,
    least: float = 0.0,
    *,
    edges: NDArray[np.float64] | None = None,
) -> Any:
    """Draw a matrix of shares as a heat map, with the first row on top.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on; cell (i, j) is centred at ``(j + 0.5, i + 0.5)``.
    shares : ndarray of shape (n, m)
        Numbers from 0 to 1; cells with NaN stay empty.
    letters : float or None
        Font size, in points, of the numbers in the cells; None writes no numbers.
    least : float, default=0.0
        Least share that is written.
    edges : ndarray of shape (m + 1,) or None, default=None
        Left and right ends of the columns; None means 0 to m.

    Returns
    -------
    matplotlib.collections.QuadMesh
        The heat map, for `add_colour_bar`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> draw_shares(ax, np.array([[0.5, np.nan]]), 9).get_clim(), ax.texts[0].get_text()
    ((0.0, 1.0), '0.50')
    """
    from matplotlib.colors import LinearSegmentedColormap

    n, m = shares.shape
    mesh = ax.pcolormesh(
        np.arange(m + 1) if edges is None else edges,
        np.arange(n + 1),
        np.ma.masked_invalid(shares),
        cmap=LinearSegmentedColormap.from_list("mist", _SHADES),
        vmin=0,
        vmax=1,
        # Without edges, hairlines of the page show between the cells of an SVG.
        edgecolors="face",
        linewidth=0.3,
    )
    ax.set_xlim(0, shares.shape[1])
    ax.set_ylim(shares.shape[0], 0)
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if letters is not None:
        for i, j in np.argwhere(shares >= least):
            ax.text(
                j + 0.5,
                i + 0.5,
                f"{shares[i, j]:.2f}",
                ha="center",
                va="center",
                fontsize=letters,
                color=_PALE if shares[i, j] > _SWITCH else _DARK,
            )
    return mesh


def add_colour_bar(
    mesh: Any, ax: Axes | Sequence[Axes], label: str = "accuracy", **options: Any
) -> None:
    """Add a colour bar to a heat map.

    Parameters
    ----------
    mesh : matplotlib.collections.QuadMesh
        Result of `draw_shares`.
    ax : matplotlib.axes.Axes or sequence of them
        Axes that the bar belongs to.
    label : str, default="accuracy"
        What the shares are.
    **options
        Options of ``Figure.colorbar``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> ax = figure.subplots()
    >>> add_colour_bar(draw_shares(ax, np.eye(2), None), ax)
    >>> figure.axes[1].get_ylabel()
    'accuracy'
    """
    first = ax[0] if isinstance(ax, Sequence) else ax
    bar = first.figure.colorbar(mesh, ax=ax, **options)
    bar.outline.set_visible(False)
    bar.set_label(label)


def heat_map_height(n_lines: int) -> float:
    """Return the figure height for `plot_tasks`.

    Parameters
    ----------
    n_lines : int
        Number of methods.

    Returns
    -------
    float
        Height in inches.

    Examples
    --------
    >>> heat_map_height(10)
    3.15
    """
    return 0.75 + _LINE_HEIGHT * n_lines


@names_as_they_are()
def plot_tasks(
    titles: Sequence[str], shares: ArrayLike, ax: Axes | None = None, *, colorbar: bool = True
) -> Axes:
    """Draw the accuracy of methods on each task as a heat map.

    Parameters
    ----------
    titles : sequence of str
        Names of the methods, at least one.
    shares : array-like of shape (n_methods, n_tasks)
        Accuracies from 0 to 1, or NaN.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    colorbar : bool, default=True
        Whether to add a colour bar.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: tasks on the x-axis, methods on the y-axis, the first on top.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `shares` is empty, or its shape does not match `titles`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> shares = [[0.9, 0.8, 0.7], [0.5, 0.4, 0.6]]
    >>> ax = plot_tasks(["SLDA", "NCM"], shares, Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['SLDA', 'NCM']
    """
    matrix = np.asarray(shares, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or len(matrix) != len(titles):
        raise ValueError(
            f"shares must have one row for each of the {len(titles)} titles, got {matrix.shape}"
        )
    n_methods, n_tasks = matrix.shape
    ax = axes_for(ax, 9.0, heat_map_height(n_methods))
    mesh = draw_shares(ax, matrix, 8.5 if n_tasks <= _MOST_WRITTEN_TASKS else None)
    shown = np.arange(0, n_tasks, -(-n_tasks // 25))
    ax.set_xticks(shown + 0.5, [str(task + 1) for task in shown])
    ax.set_yticks(np.arange(n_methods) + 0.5, [short(title) for title in titles], parse_math=False)
    ax.set_xlabel("task, in order of arrival")
    if colorbar:
        add_colour_bar(mesh, ax, aspect=20, pad=0.015, ticks=[0, 0.5, 1])
    return ax
