"""How often predictions were right, by the probability that a model gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mist.plotting.theme import GREY, axes_for, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_reliability"]

_LARGEST = 12.0
"""Diameter of the largest point."""

_SMALLEST = 3.0


def plot_reliability(
    probability: ArrayLike,
    right: ArrayLike,
    rows: ArrayLike,
    ax: Axes | None = None,
    **line: Any,
) -> Axes:
    """Draw how often predictions were right, by the probability that a model gave them.

    Parameters
    ----------
    probability : array-like of shape (n_bins,)
        Mean probability of the predictions in each bin.
    right : array-like of shape (n_bins,)
        Share of them that were right.
    rows : array-like of shape (n_bins,)
        Number of predictions. A bin without any is not drawn. The area of a point is in proportion,
        and the bar is a 95 % interval.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on, which may have the lines of other models; None makes a pyplot figure.
    **line
        Arguments of ``Axes.plot``; by default those of the first model in other plots.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with the probability on the x-axis. Points of a well calibrated model are on the
        grey diagonal.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If the arrays do not have the same length, or no bin has a prediction.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_reliability([0.55, 0.9], [0.5, 0.8], [40, 160], Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('probability of the prediction', 'share of right predictions')
    """
    given = [np.asarray(each, dtype=np.float64) for each in (probability, right, rows)]
    if len({each.shape for each in given}) > 1 or given[0].ndim != 1:
        shapes = ", ".join(str(each.shape) for each in given)
        raise ValueError(f"probability, right and rows must be lists of one length, got {shapes}")
    used = given[2] > 0
    if not used.any():
        raise ValueError("rows are all 0: there is no prediction to draw")
    x, y, n = (each[used] for each in given)
    ax = axes_for(ax, 4.6, 4.6)
    look = next(line_styles(1)) | line
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
    # Agresti and Coull: two more right and two more wrong, so that a share of 1 has a bar, too.
    centre = (y * n + 2) / (n + 4)
    reach = 1.96 * np.sqrt(centre * (1 - centre) / (n + 4))
    ax.vlines(x, centre - reach, centre + reach, color=look["color"], linewidth=1, alpha=0.6)
    ax.plot(x, y, **look)
    area = np.maximum(_LARGEST**2 * n / n.max(), _SMALLEST**2)
    ax.scatter(x, y, area, color=look["color"], linewidths=0, zorder=3)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("probability of the prediction")
    ax.set_ylabel("share of right predictions")
    return ax
