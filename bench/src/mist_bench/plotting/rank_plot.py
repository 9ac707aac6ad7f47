"""Plot of mean ranks with their critical difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.plotting.text_layout import LINE, TEXT, flat, length
from mist.plotting.theme import PALETTE, axes_for, ink, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankLayout", "lay_out_ranks", "plot_ranks"]

# All lengths are in inches.
_EDGE = 0.1
_TRACK = 0.11
_SHORTEST_AXIS = 4.0
_AXIS = 0.82
_FIRST_TRACK = _AXIS + 0.2


@dataclass(frozen=True, eq=False)
class RankLayout:
    """Layout of a rank plot, in inches from its upper left corner.

    Examples
    --------
    >>> layout = lay_out_ranks(["NCM", "MIST-G"], [1.7, 1.3], 0.5)
    >>> layout.names, layout.width, layout.height
    (['MIST-G', 'NCM'], 9.0, 1.5)
    """

    names: list[str]
    """Names of the methods, the best first."""

    ranks: NDArray[np.float64]
    """Mean ranks, rising."""

    difference: float
    """Critical difference."""

    width: float
    """Width of the drawing."""

    height: float
    """Height of the drawing."""

    start: float
    """Position of rank 1."""

    scale: float
    """Distance from one rank to the next."""

    number: float
    """Space for a mean rank."""

    bars: list[tuple[float, float, float]]
    """Start, end and height of the bars that join methods."""

    first_line: float
    """Height of the first name."""

    def place(self, rank: float) -> float:
        """Return the position of a rank on the axis.

        Parameters
        ----------
        rank : float
            The rank, at least 1.

        Returns
        -------
        float
            Distance from the left.
        """
        return self.start + (rank - 1) * self.scale


def lay_out_ranks(
    titles: Sequence[str], mean_ranks: ArrayLike, difference: float, width: float = 9.0
) -> RankLayout:
    """Compute the size of a rank plot and the positions of its parts.

    Parameters
    ----------
    titles, mean_ranks, difference
        As for `plot_ranks`.
    width : float, default=9.0
        Width of the drawing, in inches; long names make it wider, so that the axis stays readable.

    Returns
    -------
    RankLayout
        The layout.

    Raises
    ------
    ValueError
        As `plot_ranks`.
    """
    from mist_bench.ranks import cliques

    ranks = np.asarray(mean_ranks, dtype=np.float64)
    n_methods = len(titles)
    if ranks.shape != (n_methods,) or n_methods < 2:
        raise ValueError(
            "a plot of ranks needs a title and a mean rank for each of two methods or more, "
            f"got {n_methods} titles and ranks of shape {ranks.shape}"
        )
    if not ((ranks >= 1) & (ranks <= n_methods)).all():
        raise ValueError(f"mean ranks must lie between 1 and {n_methods}, got {ranks.tolist()}")
    if not 0 < difference < math.inf:
        raise ValueError(f"difference must be positive and finite, got {difference}")
    order = np.argsort(ranks, kind="stable")
    ranks = ranks[order]
    names = [flat(titles[i]) for i in order]
    n_left = (n_methods + 1) // 2
    number = max(length(f"{value:.2f}") for value in ranks) + 0.12
    left = max(map(length, names[:n_left])) + number + 0.25
    right = max(map(length, names[n_left:])) + number + 0.25
    width = max(width, left + _SHORTEST_AXIS + right + 2 * _EDGE)
    start, end = left + _EDGE, width - right - _EDGE
    # The bar of the critical difference may be longer than the axis.
    scale = min((end - start) / (n_methods - 1), (width - _EDGE - start) / difference)
    spans = [
        (start + (ranks[i] - 1) * scale, start + (ranks[j] - 1) * scale)
        for i, j in cliques(ranks, difference)
    ]
    tracks = _stack(spans)
    first_line = _FIRST_TRACK + _TRACK * max(tracks, default=-1) + 0.28
    return RankLayout(
        names=names,
        ranks=ranks,
        difference=difference,
        width=width,
        height=first_line + LINE * (n_left - 1) + 0.2,
        start=start,
        scale=scale,
        number=number,
        bars=[
            (low - 0.04, high + 0.04, _FIRST_TRACK + _TRACK * track)
            for (low, high), track in zip(spans, tracks, strict=True)
        ],
        first_line=first_line,
    )


@names_as_they_are()
def plot_ranks(
    titles: Sequence[str], mean_ranks: ArrayLike, difference: float, ax: Axes | None = None
) -> Axes:
    """Draw mean ranks on an axis and join methods that do not differ (Demsar 2006, figure 1).

    Parameters
    ----------
    titles : sequence of str of length n_methods
        Names of the methods, at least two.
    mean_ranks : array-like of shape (n_methods,)
        Their mean ranks, between 1 and ``n_methods``; 1 is the best.
    difference : float
        Critical difference, positive; see `mist_bench.ranks.critical_difference`.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None creates a pyplot figure of the size it needs. On axes smaller than
        `lay_out_ranks` gives, texts may overlap.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Its data are inches from its upper left corner; its own axes are off.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If there are fewer than two methods, the lengths differ, a rank is out of range, or the
        difference is not positive.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> canvas = Figure(figsize=(9, 2)).add_axes((0, 0, 1, 1))
    >>> ax = plot_ranks(["MIST-G", "VFDT", "NCM"], [1.2, 2.1, 2.7], 0.7, canvas)
    >>> ax.texts[0].get_text()
    'critical difference 0.70'
    """
    if ax is None:
        layout = lay_out_ranks(titles, mean_ranks, difference)
        ax = axes_for(None, layout.width, layout.height)
    else:
        canvas = axes_for(ax)
        layout = lay_out_ranks(titles, mean_ranks, difference, canvas.bbox.width / _dots(canvas))
    ax.set_xlim(0, layout.width)
    ax.set_ylim(max(layout.height, ax.bbox.height / _dots(ax)), 0)
    ax.set_axis_off()
    _draw_scale(ax, layout)
    for low, high, track in layout.bars:
        ax.plot(
            [low, high],
            [track, track],
            color=PALETTE[0],
            linewidth=4,
            solid_capstyle="butt",
            zorder=3,
        )
    _draw_names(ax, layout)
    return ax


def _dots(ax: Axes) -> float:
    return float(ax.figure.dpi)


def _draw_scale(ax: Axes, layout: RankLayout) -> None:
    bar: dict[str, Any] = {"color": ink(), "linewidth": 1.2, "solid_capstyle": "butt"}
    start, place, n_methods = layout.start, layout.place, len(layout.names)
    difference = f"critical difference {layout.difference:.2f}"
    ax.text(start, 0.14, difference, va="center", fontsize=9)
    ax.plot([start, place(1 + layout.difference)], [0.32, 0.32], **bar)
    for x in (start, place(1 + layout.difference)):
        ax.plot([x, x], [0.27, 0.37], **bar)
    ax.plot([start, place(n_methods)], [_AXIS, _AXIS], **bar)
    steps = (1, 2, 5, 10, 20, 50, n_methods)
    step = next(s for s in steps if s * layout.scale >= 0.25 or s >= n_methods)
    for value in range(1, n_methods + 1):
        named = (value - 1) % step == 0
        ax.plot([place(value)] * 2, [_AXIS, _AXIS - (0.08 if named else 0.04)], **bar)
        if named:
            ax.text(place(value), _AXIS - 0.11, str(value), ha="center", fontsize=9)


def _draw_names(ax: Axes, layout: RankLayout) -> None:
    n_methods = len(layout.names)
    n_left = (n_methods + 1) // 2
    for i, (name, value) in enumerate(zip(layout.names, layout.ranks, strict=True)):
        at_left = i < n_left
        outwards = -1 if at_left else 1
        y = layout.first_line + LINE * (i if at_left else n_methods - 1 - i)
        corner = layout.place(1 if at_left else n_methods) + outwards * 0.15
        x = layout.place(value)
        ax.plot([x, x, corner], [_AXIS, y, y], color=ink(), alpha=0.55, linewidth=0.8, zorder=2)
        ax.plot(x, _AXIS, marker="o", markersize=3.5, color=ink(), zorder=4)
        side = "right" if at_left else "left"
        ax.text(corner + outwards * 0.05, y, f"{value:.2f}", alpha=0.7, ha=side, **TEXT)
        ax.text(corner + outwards * (layout.number + 0.05), y, name, ha=side, **TEXT)


def _stack(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Give each span, in order of its start, the first track on which it touches no other."""
    ends: list[float] = []
    tracks = []
    for start, end in spans:
        track = next((i for i, last in enumerate(ends) if last + 0.2 < start), len(ends))
        ends[track : track + 1] = [end]
        tracks.append(track)
    return tracks
