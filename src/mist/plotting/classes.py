"""Plot of labelled rows along their first two principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mist.plotting.text_layout import short
from mist.plotting.theme import MARKERS, PALETTE, axes_for, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_classes"]


@names_as_they_are()
def plot_classes(
    X: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    rows_per_class: int = 50,
    seed: int = 0,
    legend: bool = True,
) -> Axes:
    """Draw rows of each class in the plane of the first two principal components of all rows.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Finite numbers, at least two rows and two columns.
    y : array-like of shape (n_rows,)
        Labels. Up to forty classes have distinct pairs of colour and marker.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a pyplot figure.
    rows_per_class : int, default=50
        Number of rows to draw of each class, chosen at random.
    seed : int, default=0
        Seed of that choice.
    legend : bool, default=True
        Whether to name the classes in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, limited to the middle 98 % of all rows, so that outliers do not shrink the rest to
        one dot.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If `X` has too few rows or columns or is not finite, or `y` has another length.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mist.datasets import load_toy
    >>> iris = load_toy("iris")
    >>> ax = plot_classes(iris.X, iris.y, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.collections)
    ('first principal component', 3)
    """
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if rows.ndim != 2 or min(rows.shape) < 2 or labels.shape != rows.shape[:1]:
        raise ValueError(
            "X must have at least two rows and columns, and y a label for each row, got shapes "
            f"{rows.shape} and {labels.shape}"
        )
    if not np.isfinite(rows).all():
        raise ValueError("X has missing or infinite values: leave those rows out")
    ax = axes_for(ax, 4.8, 4.0)
    from sklearn.decomposition import PCA

    places = PCA(2, random_state=0).fit_transform(rows)
    rng = np.random.default_rng(seed)
    for i, label in enumerate(np.unique(labels)):
        chosen = rng.permutation(np.flatnonzero(labels == label))[:rows_per_class]
        ax.scatter(
            places[chosen, 0],
            places[chosen, 1],
            s=7,
            marker=MARKERS[i % len(MARKERS)],
            color=PALETTE[i % len(PALETTE)],
            alpha=0.75,
            lw=0,
            label=short(str(label)),
        )
    low, high = np.percentile(places, [1, 99], axis=0)
    room = np.where(high > low, 0.1 * (high - low), 1.0)
    ax.set_xlim(low[0] - room[0], high[0] + room[0])
    ax.set_ylim(low[1] - room[1], high[1] + room[1])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("first principal component")
    ax.set_ylabel("second principal component")
    if legend:
        ax.legend(markerscale=2)
    return ax
