"""Heat maps of a model's classes: recall over the stream, and confusions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.plotting.shares import add_colour_bar, draw_shares
from mist.plotting.text_layout import short
from mist.plotting.theme import axes_for, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_class_recall", "plot_confusions"]

_LONGEST = 18
_MOST_WRITTEN_CLASSES = 12
_LEAST_WRITTEN = 0.005


@names_as_they_are()
def plot_class_recall(
    labels: Sequence[Any],
    recall: ArrayLike,
    ax: Axes | None = None,
    *,
    n_rows: float,
    rows_per_bin: float,
    colorbar: bool = True,
) -> Axes:
    """Draw the recall of each class over the stream as a heat map.

    Parameters
    ----------
    labels : sequence
        The classes, from top to bottom.
    recall : array-like of shape (n_classes, n_bins)
        Recall of each class in equal parts of the stream; NaN where the class has no rows.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    n_rows : float
        Length of the stream.
    rows_per_bin : float
        Length of a part.
    colorbar : bool, default=True
        Whether to add a colour bar.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with rows learnt on the x-axis.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `recall` does not have one line for each of the labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_class_recall(
    ...     ["cat", "dog"],
    ...     [[0.5, 1.0], [float("nan"), 0.8]],
    ...     Figure().subplots(),
    ...     n_rows=200,
    ...     rows_per_bin=100,
    ... )
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['cat', 'dog'], 'rows learnt')
    """
    shares = _one_line_each(labels, recall)
    ax = axes_for(ax, height=0.9 + 0.22 * len(shares))
    edges = np.arange(shares.shape[1] + 1) * rows_per_bin
    mesh = draw_shares(ax, shares, None, edges=np.minimum(edges, n_rows))
    ax.set_xlim(0, n_rows)
    ax.set_yticks(np.arange(len(shares)) + 0.5, _names(labels), parse_math=False)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set_xlabel("rows learnt")
    if colorbar:
        add_colour_bar(mesh, ax, "recall", aspect=20, pad=0.015, ticks=[0, 0.5, 1])
    return ax


@names_as_they_are()
def plot_confusions(labels: Sequence[Any], rows: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw how the rows of each class were predicted as a heat map of shares.

    Parameters
    ----------
    labels : sequence
        The classes.
    rows : array-like of shape (n_classes, n_classes)
        Entry (i, j) is the number of rows of class i that were predicted as class j.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: predicted class on the x-axis, true class on the y-axis. Shares are of the rows
        of the true class.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `rows` is not square, with one line for each of the labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_confusions(["cat", "dog"], [[9, 1], [0, 5]], Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['0.90', '0.10', '1.00']
    """
    counts = _one_line_each(labels, rows)
    if counts.shape[0] != counts.shape[1]:
        raise ValueError(f"rows must be square, one column per class, got shape {counts.shape}")
    ax = axes_for(ax, 4.6, 4.6)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    small = len(shares) <= _MOST_WRITTEN_CLASSES
    draw_shares(ax, shares, (9 if len(shares) <= 8 else 8) if small else None, _LEAST_WRITTEN)
    ax.set_aspect("equal")
    names, places = _names(labels), np.arange(len(shares)) + 0.5
    upright = max(map(len, names)) > 3
    ax.set_xticks(places, names, rotation=90 if upright else 0, parse_math=False)
    ax.set_yticks(places, names, parse_math=False)
    ax.set_xlabel("predicted class")
    ax.set_ylabel("true class")
    return ax


def _one_line_each(labels: Sequence[Any], values: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or len(matrix) != len(labels):
        raise ValueError(
            f"there must be one line of numbers for each of the {len(labels)} labels, got an array "
            f"of shape {matrix.shape}"
        )
    return matrix


def _names(labels: Sequence[Any]) -> list[str]:
    return [short(str(label), _LONGEST) for label in labels]
