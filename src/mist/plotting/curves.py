"""Plots of measures over the stream, as means over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.plotting.text_layout import short
from mist.plotting.theme import axes_for, line_styles, mark_rows, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "average_curves", "plot_curves"]

_MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class Curve:
    """A measure over the stream: mean and spread over seeds.

    Examples
    --------
    >>> Curve("SLDA", np.array([10, 20]), np.array([0.5, 0.8]), np.zeros(2)).mean[-1]
    np.float64(0.8)
    """

    title: str
    """Name of the method."""

    rows: NDArray[np.float64]
    """Rows learnt, increasing."""

    mean: NDArray[np.float64]
    """Mean over seeds, one for each entry of `rows`."""

    spread: NDArray[np.float64]
    """Population standard deviation over seeds, one for each entry of `rows`."""


def average_curves(title: str, runs: Sequence[tuple[ArrayLike, ArrayLike]]) -> Curve | None:
    """Average curves over seeds.

    Parameters
    ----------
    title : str
        Name of the method.
    runs : sequence of tuple of array-like
        One pair per seed: rows learnt, and values at these rows. Values that are not finite are
        left out; if seeds were measured at different rows, values are interpolated.

    Returns
    -------
    Curve or None
        The curve at the rows of the first seed, at most 200 of them; None if there is no value.

    Examples
    --------
    >>> curve = average_curves("SLDA", [([10, 20], [0.4, 0.8]), ([10, 20], [0.6, 0.8])])
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


@names_as_they_are()
def plot_curves(
    curves: Sequence[Curve],
    ax: Axes | None = None,
    *,
    label: str = "accuracy",
    borders: Iterable[float] = (),
    dots: bool = False,
    share: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw means over the stream with bands of one standard deviation on either side.

    Parameters
    ----------
    curves : sequence of Curve
        One per method, at least one.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    label : str, default="accuracy"
        Label of the y-axis.
    borders : iterable of float, default=()
        Rows at which a task ends, drawn as dotted lines unless there are more than 60.
    dots : bool, default=False
        Whether to mark the points of the curves, for curves with few points.
    share : bool, default=True
        Whether the values are shares, so that the y-axis goes from 0 to 1.
    legend : bool, default=True
        Whether to name the methods in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with rows learnt on the x-axis.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `curves` is empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> curve = average_curves("SLDA", [([10, 20], [0.4, 0.8])])
    >>> ax = plot_curves([curve], Figure().subplots(), borders=[10])
    >>> ax.get_xlim(), ax.get_ylabel(), ax.lines[0].get_label()
    ((np.float64(0.0), np.float64(20.0)), 'accuracy', 'SLDA')
    """
    if not curves:
        raise ValueError("curves is empty: give at least one curve to draw")
    ax = axes_for(ax)
    for curve, line in zip(curves, line_styles(len(curves)), strict=True):
        low, high = curve.mean - curve.spread, curve.mean + curve.spread
        if curve.spread.any():
            ax.fill_between(
                curve.rows,
                np.maximum(low, 0),
                # Shares end at 1; other values have no upper limit.
                np.minimum(high, 1) if share else high,
                color=line["color"],
                alpha=0.16,
                linewidth=0,
            )
        marker = "o" if dots or len(curve.rows) == 1 else ""
        look: dict[str, Any] = {"marker": marker, "markersize": 3.5} | line
        ax.plot(curve.rows, curve.mean, label=short(curve.title), **look)
    mark_rows(ax, max(curve.rows[-1] for curve in curves), borders)
    ax.set_ylim(*(-0.02, 1.02) if share else (0, None))
    ax.set_ylabel(label)
    if legend:
        ax.legend()
    return ax
