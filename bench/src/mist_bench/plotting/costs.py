"""Plot of accuracy against memory or speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.plotting.text_layout import SMALL, length, short
from mist.plotting.theme import PALETTE, axes_for, ink, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cost = Literal["kilobytes", "rows_per_second"]

__all__ = [
    "GROUPS",
    "PARETO",
    "Cost",
    "Point",
    "are_numbered",
    "by_accuracy",
    "front",
    "mark",
    "plot_costs",
]

_MOST_NAMED_POINTS = 8

# Lengths are in inches.
_NEAREST = 0.08
_RAYS = np.array(
    [
        (radius * math.cos(angle), radius * math.sin(angle))
        for radius in (_NEAREST, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8)
        for angle in np.arange(16) * math.pi / 8
    ]
)
"""Offsets from a point to the edge of its label, in order of preference."""

GROUPS = {
    "ours": ("MIST trees", PALETTE[0], "o", 7.5),
    "tree": ("other trees", PALETTE[1], "s", 6.5),
    "other": ("no trees", PALETTE[2], "^", 7.5),
    "ablation": ("MIST with a part exchanged", PALETTE[3], "D", 6.0),
}
"""Name, colour, marker and its size in points of each group of `mist_bench.methods.METHODS`."""

PARETO = "filled, with line: Pareto set"

_COSTS = {
    "kilobytes": ("size of the model, KB (further left is better)", -1),
    "rows_per_second": ("rows/s, test then train (further right is better)", 1),
}


@dataclass(frozen=True)
class Point:
    """A method in the plot of accuracy against its costs.

    Raises
    ------
    ValueError
        If the group is unknown, the accuracy is not finite, or a cost is not positive.

    Examples
    --------
    >>> Point("NCM", "other", 0.81, kilobytes=1.5, rows_per_second=None).title
    'NCM'
    """

    title: str
    """Display name."""

    group: str
    """Group of the method, as in `mist_bench.methods.METHODS`."""

    accuracy: float
    """Mean over data sets and seeds."""

    kilobytes: float | None
    """Size of the model in units of 1,024 bytes; None if it is not known."""

    rows_per_second: float | None
    """Rows tested and then learnt in a second; None if it is not known."""

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise ValueError(
                f"group of {self.title!r} must be one of {', '.join(GROUPS)}, got {self.group!r}"
            )
        if not math.isfinite(self.accuracy):
            raise ValueError(f"accuracy of {self.title!r} must be finite, got {self.accuracy}")
        for name in ("kilobytes", "rows_per_second"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(
                    f"{name} of {self.title!r} must be positive and finite, got {value}; "
                    "None stands for not known"
                )


def front(places: ArrayLike) -> list[int]:
    """Return the Pareto set: the rows that no other row beats.

    A row beats another if it is at least as high in both columns and higher in one.

    Parameters
    ----------
    places : array-like of shape (n_points, 2)
        More is better in both columns.

    Returns
    -------
    list of int
        Numbers of the rows, by rising first column; equal rows by rising number.

    Examples
    --------
    >>> front([(1.0, 0.9), (2.0, 0.8), (2.0, 0.7), (0.5, 0.9)])
    [0, 1]
    """
    table = np.asarray(places, dtype=np.float64).reshape(-1, 2)
    at_least = (table[:, None] >= table[None]).all(axis=2)
    above = (table[:, None] > table[None]).any(axis=2)
    beaten = np.asarray((at_least & above).any(axis=0))
    order = np.argsort(table[:, 0], kind="stable")
    return [int(i) for i in order if not beaten[i]]


def are_numbered(points: Sequence[Point]) -> bool:
    """Return whether there are too many methods to name them in the plot.

    Parameters
    ----------
    points : sequence of Point
        One per method.

    Returns
    -------
    bool
        True for more than eight.
    """
    return len(points) > _MOST_NAMED_POINTS


def by_accuracy(points: Sequence[Point]) -> list[Point]:
    """Put methods into the order in which they are numbered.

    Parameters
    ----------
    points : sequence of Point
        One per method.

    Returns
    -------
    list of Point
        The most accurate first.
    """
    return sorted(points, key=lambda point: -point.accuracy)


@names_as_they_are()
def plot_costs(
    points: Sequence[Point],
    ax: Axes | None = None,
    *,
    against: Cost = "kilobytes",
    label: str = "mean accuracy",
    legend: bool = True,
) -> Axes:
    """Draw accuracy against the size of the model or against rows per second.

    Up to eight methods are named next to their points; more are numbered in the order of accuracy,
    and the legend names them. Filled markers and the line through them are the Pareto set. Methods
    whose size or rate is not known are left out.

    Parameters
    ----------
    points : sequence of Point
        One per method, at least one.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None creates a pyplot figure. Set its size before: labels are placed
        for the current size.
    against : {"kilobytes", "rows_per_second"}, default="kilobytes"
        Cost on the horizontal, logarithmic axis.
    label : str, default="mean accuracy"
        Name of the vertical axis.
    legend : bool, default=True
        Whether to explain markers, or numbers, in a legend to the right.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If there is no point, or `against` is not a cost.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> points = [Point("MIST-G", "ours", 0.9, 900.0, 2e5), Point("NCM", "other", 0.7, 2.0, 3e5)]
    >>> ax = plot_costs(points, Figure().subplots(), against="rows_per_second")
    >>> ax.get_ylabel(), [text.get_text() for text in ax.texts]
    ('mean accuracy', ['MIST-G', 'NCM'])
    """
    if not points:
        raise ValueError("a plot of accuracy against costs needs at least one method")
    if against not in _COSTS:
        raise ValueError(f"against must be one of {', '.join(_COSTS)}, got {against!r}")
    ax = axes_for(ax, 7.5, 4.2)
    ordered = by_accuracy(points)
    numbered = are_numbered(ordered)
    names = [short(point.title) for point in ordered]
    low, high = ordered[-1].accuracy, ordered[0].accuracy
    margin = 0.08 * (high - low) or 0.05
    ax.set_ylim(low - margin, high + margin)
    ax.set_ylabel(label)
    title, sign = _COSTS[against]
    ax.set_xlabel(title)
    known = [i for i, point in enumerate(ordered) if getattr(point, against) is not None]
    if known:
        labels = [str(i + 1) if numbered else names[i] for i in known]
        _draw_points(ax, [ordered[i] for i in known], against, labels, sign)
    else:
        ax.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
        ax.text(0.5, 0.5, "not known of any method", ha="center", transform=ax.transAxes)
    if legend:
        _explain(ax, ordered, names, numbered)
    return ax


def _draw_points(
    ax: Axes, points: Sequence[Point], against: str, labels: Sequence[str], sign: int
) -> None:
    ax.set_xscale("log")
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    x = np.array([getattr(point, against) for point in points])
    y = np.array([point.accuracy for point in points])
    _set_decades(ax, x)
    best = front(np.column_stack([sign * x, y]))[::sign]
    line = _steps(x[best], y[best], sign)
    ax.plot(*line.T, color=ink(), alpha=0.45, linewidth=1.2)
    for i, point in enumerate(points):
        mark(ax, x[i], y[i], point.group, filled=i in best)
    _label(ax, np.column_stack([x, y]), labels, line)


def _explain(ax: Axes, points: Sequence[Point], names: Sequence[str], numbered: bool) -> None:
    from matplotlib.lines import Line2D

    def handle(group: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **_look(group, filled=True))

    groups = {point.group for point in points}
    handles = [handle(key, title) for key, (title, *_) in GROUPS.items() if key in groups]
    handles.append(Line2D([], [], color=ink(), alpha=0.45, linewidth=1.2, label=PARETO))
    if numbered:
        rows = enumerate(zip(points, names, strict=True), 1)
        handles += [handle(point.group, f"{i} {name}") for i, (point, name) in rows]
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, fontsize=SMALL
    )


def _steps(x: NDArray[np.float64], y: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
    """Corners of the line below which a member of the Pareto set is the better choice.

    Between two members the best choice is the one that costs less.
    """
    corners = np.column_stack([x[1:], y[:-1]] if sign < 0 else [x[:-1], y[1:]])
    line = np.empty((2 * len(x) - 1, 2))
    line[::2], line[1::2] = np.column_stack([x, y]), corners
    return line


def _set_decades(axes: Axes, x: NDArray[np.float64]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = float(np.log10(x.min())), float(np.log10(x.max()))
    # At least one decade, so that there are ticks; margins for numbers at both ends.
    spare = max(0.12, 0.08 * (high - low), (1 - (high - low)) / 2)
    axes.set_xlim(10 ** (low - spare), 10 ** (high + spare))
    few = high - low + 2 * spare < 2
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _write_cost(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _write_cost(value: float) -> str:
    """A round number; millions are abbreviated, since the last one would not fit the panel."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value:,.12g}"


def _label(
    ax: Axes, places: NDArray[np.float64], labels: Sequence[str], line: NDArray[np.float64]
) -> None:
    """Write a label next to each point, with a line to it if the label is further away."""
    from matplotlib.transforms import ScaledTranslation

    inches, data = ax.figure.dpi_scale_trans, cast(Any, ax.transData)
    to_inches = data + inches.inverted()
    points, corners = to_inches.transform(places), to_inches.transform(line)
    panel = inches.inverted().transform(ax.bbox)
    along = np.linspace(corners[:-1], corners[1:], 60).reshape(-1, 2)
    halves = np.array([(length(label, SMALL) / 2 + 0.025, 0.065) for label in labels])
    centres, rays = _place(points, halves, panel, along)
    look: dict[str, Any] = {"fontsize": SMALL, "ha": "center", "va": "center_baseline", "zorder": 4}
    for i, (ray, label) in enumerate(zip(rays, labels, strict=True)):
        # In inches from the point, so that a label goes where its point goes.
        x, y = places[i]
        near = inches + ScaledTranslation(x, y, data)
        far = np.hypot(*ray)
        if far > _NEAREST + 0.01:
            ends = np.array([_NEAREST / far * ray, ray])
            ax.plot(*ends.T, transform=near, color=ink(), alpha=0.45, linewidth=0.6)
        across, up = centres[i] - points[i]
        ax.text(across, up, label, transform=near, **look)


def _place(
    points: NDArray[np.float64],
    halves: NDArray[np.float64],
    panel: NDArray[np.float64],
    others: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Place a box near each point, clear of all points and other boxes if possible.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        In inches.
    halves : ndarray of shape (n, 2)
        Half the width and height of each box.
    panel : ndarray of shape (2, 2)
        Lower left and upper right corner of the area of the boxes.
    others : ndarray of shape (m, 2)
        Further points that boxes avoid.

    Returns
    -------
    centres : ndarray of shape (n, 2)
        Centres of the boxes.
    rays : ndarray of shape (n, 2)
        From each point to the edge of its box.
    """
    taken = np.vstack([points, others])
    taken_halves = np.vstack([np.full_like(points, 0.06), np.full_like(others, 0.01)])
    directions = _RAYS / np.hypot(*_RAYS.T)[:, None]
    centres, rays = np.empty_like(points), np.empty_like(points)
    for i, (point, half) in enumerate(zip(points, halves, strict=True)):
        places = point + _RAYS + half * np.clip(1.5 * directions, -1, 1)
        covered = (np.abs(places[:, None] - taken) < taken_halves + half).all(axis=2).sum(axis=1)
        outside = ((places - half < panel[0]) | (places + half > panel[1])).any(axis=1)
        best = int(np.argmin(covered + 10 * outside))
        centres[i], rays[i] = places[best], _RAYS[best]
        # Later boxes also avoid the line to this one.
        line = point + np.outer([0.25, 0.5, 0.75], rays[i])
        taken = np.vstack([taken, places[best], line])
        taken_halves = np.vstack([taken_halves, half, np.full_like(line, 0.01)])
    return centres, rays


def mark(ax: Axes, x: float, y: float, group: str, *, filled: bool = True) -> None:
    """Draw the marker of a group.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x, y : float
        Position.
    group : str
        Key of `GROUPS`.
    filled : bool, default=True
        Whether the method is in the Pareto set.
    """
    ax.plot(x, y, zorder=3, **_look(group, filled=filled))


def _look(group: str, *, filled: bool) -> dict[str, Any]:
    _, colour, marker, size = GROUPS[group]
    return {
        "marker": marker,
        "markersize": size,
        "markeredgecolor": colour,
        "markerfacecolor": colour if filled else "none",
        "markeredgewidth": 1.4,
    }
