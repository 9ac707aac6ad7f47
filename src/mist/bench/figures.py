"""The plots of a comparison as SVG texts: mean ranks, and accuracy against memory and speed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.bench.ranks import cliques
from mist.report.style import INK, PALETTE, WIDTH, style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Point", "front", "plot_pareto", "plot_ranks"]

# All lengths are in inches, sizes of letters in points.
_EDGE = 0.1
_LINE = 0.2
_TRACK = 0.11
_LETTERS = 9.5
_TEXT: dict[str, Any] = {"fontsize": _LETTERS, "va": "center_baseline"}
_SHORTEST_AXIS = 4.0
_PANEL_HEIGHT = 3.6
_SMALL = 8.5
_MOST_NAMED_POINTS = 8

_NEAREST = 0.08
_RAYS = np.array(
    [
        (radius * math.cos(angle), radius * math.sin(angle))
        for radius in (_NEAREST, 0.14, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8)
        for angle in np.arange(16) * math.pi / 8
    ]
)
"""From a point to the edge of its label, in order of preference."""

_GROUPS = {
    "ours": ("MIST trees", PALETTE[0], "o", 7.5),
    "tree": ("other trees", PALETTE[1], "s", 6.5),
    "other": ("no trees", PALETTE[2], "^", 7.5),
    "ablation": ("MIST with a part exchanged", PALETTE[3], "D", 6.0),
}
"""Name, colour, marker and its size in points of each group of `mist.baselines.METHODS`."""


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
    """Name for people."""

    group: str
    """Group of the method, as in `mist.baselines.METHODS`."""

    accuracy: float
    """Mean over data sets and seeds."""

    kilobytes: float | None
    """Size of the model in units of 1,024 bytes; None if it is not known."""

    rows_per_second: float | None
    """Rows tested and then learnt in a second; None if it is not known."""

    def __post_init__(self) -> None:
        if self.group not in _GROUPS:
            raise ValueError(
                f"group of {self.title!r} must be one of {', '.join(_GROUPS)}, got {self.group!r}"
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
        Numbers of the rows, by rising first column; rows alike by rising number.

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


@style()
def plot_ranks(titles: Sequence[str], mean_ranks: ArrayLike, difference: float) -> str:
    """Draw mean ranks on an axis and join methods that do not differ (Demsar 2006, figure 1).

    Parameters
    ----------
    titles : sequence of str of length n_methods
        Names of the methods, at least two.
    mean_ranks : array-like of shape (n_methods,)
        Their mean ranks, between 1 and ``n_methods``; 1 is the best.
    difference : float
        Critical difference, positive.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        If there are fewer than two methods, the lengths differ, a rank is out of range, or the
        difference is not positive.

    Examples
    --------
    >>> plot_ranks(["MIST-G", "VFDT", "NCM"], [1.2, 2.1, 2.7], 0.7).startswith("<svg")
    True
    """
    from matplotlib.figure import Figure

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
    names = [_flat(titles[i]) for i in order]
    n_left = (n_methods + 1) // 2
    number = max(_length(f"{value:.2f}") for value in ranks) + 0.12
    left = max(map(_length, names[:n_left])) + number + 0.25
    right = max(map(_length, names[n_left:])) + number + 0.25
    # Long names make the drawing wider, not the axis shorter than one can read.
    width = max(WIDTH, left + _SHORTEST_AXIS + right + 2 * _EDGE)
    start, end = left + _EDGE, width - right - _EDGE
    # The bar of the critical difference may be longer than the axis.
    scale = min((end - start) / (n_methods - 1), (width - _EDGE - start) / difference)

    def place(rank: float) -> float:
        return start + (rank - 1) * scale

    end = place(n_methods)
    joined = cliques(ranks, difference)
    tracks = _stack([(place(ranks[i]), place(ranks[j])) for i, j in joined])
    axis = 0.82
    first_track = axis + 0.2
    first_line = first_track + _TRACK * max(tracks, default=-1) + 0.28
    height = first_line + _LINE * (n_left - 1) + 0.2
    figure = Figure(figsize=(width, height))
    canvas = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    canvas.set_axis_off()

    bar: dict[str, Any] = {"color": INK, "linewidth": 1.2, "solid_capstyle": "butt"}
    canvas.text(start, 0.14, f"critical difference {difference:.2f}", va="center", fontsize=9)
    canvas.plot([start, place(1 + difference)], [0.32, 0.32], **bar)
    for x in (start, place(1 + difference)):
        canvas.plot([x, x], [0.27, 0.37], **bar)

    canvas.plot([start, end], [axis, axis], **bar)
    step = next(s for s in (1, 2, 5, 10, 20, 50, n_methods) if s * scale >= 0.25 or s >= n_methods)
    for value in range(1, n_methods + 1):
        named = (value - 1) % step == 0
        canvas.plot([place(value)] * 2, [axis, axis - (0.08 if named else 0.04)], **bar)
        if named:
            canvas.text(place(value), axis - 0.11, str(value), ha="center", fontsize=9)

    for (i, j), track in zip(joined, tracks, strict=True):
        canvas.plot(
            [place(ranks[i]) - 0.04, place(ranks[j]) + 0.04],
            [first_track + _TRACK * track] * 2,
            color=PALETTE[0],
            linewidth=4,
            solid_capstyle="butt",
            zorder=3,
        )

    for i, (name, value) in enumerate(zip(names, ranks, strict=True)):
        at_left = i < n_left
        outwards = -1 if at_left else 1
        y = first_line + _LINE * (i if at_left else n_methods - 1 - i)
        corner = (start if at_left else end) + outwards * 0.15
        canvas.plot(
            [place(value), place(value), corner],
            [axis, y, y],
            color=INK,
            alpha=0.55,
            linewidth=0.8,
            zorder=2,
        )
        canvas.plot(place(value), axis, marker="o", markersize=3.5, color=INK, zorder=4)
        side = "right" if at_left else "left"
        canvas.text(corner + outwards * 0.05, y, f"{value:.2f}", alpha=0.7, ha=side, **_TEXT)
        canvas.text(corner + outwards * (number + 0.05), y, name, ha=side, **_TEXT)
    return to_svg(figure)


@style()
def plot_pareto(points: Sequence[Point], accuracy: str = "mean accuracy") -> str:
    """Draw accuracy against the size of the model and against rows per second.

    Up to eight methods are named beside their points. More are numbered in the order of accuracy,
    with a list below the panels. Filled markers and the line through them are the Pareto set of
    the panel. Methods whose size or rate is not known are left out of it.

    Parameters
    ----------
    points : sequence of Point
        One a method, at least one.
    accuracy : str, default="mean accuracy"
        Name of the vertical axis.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    ValueError
        If there is no point.

    Examples
    --------
    >>> points = [Point("MIST-G", "ours", 0.9, 900.0, 2e5), Point("NCM", "other", 0.7, 2.0, 3e5)]
    >>> plot_pareto(points).startswith("<svg")
    True
    """
    from matplotlib.figure import Figure

    if not points:
        raise ValueError("a plot of accuracy against costs needs at least one method")
    ordered = sorted(points, key=lambda point: -point.accuracy)
    names = [_flat(point.title) for point in ordered]
    numbered = len(names) > _MOST_NAMED_POINTS
    labels = [str(i + 1) for i in range(len(names))] if numbered else names
    n_columns = max(1, math.floor((WIDTH - 2 * _EDGE) / (max(map(_length, names)) + 0.75)))
    n_lines = math.ceil(len(names) / n_columns) if numbered else 0
    legend = _LINE * (n_lines + 1.4) + 0.1
    below = legend + 0.65
    height = _PANEL_HEIGHT + below + 0.15
    figure = Figure(figsize=(WIDTH, height))
    left, gap = 0.8, 0.35
    panel = (WIDTH - left - gap - 0.2) / 2
    low = min(point.accuracy for point in points)
    high = max(point.accuracy for point in points)
    margin = 0.08 * (high - low) or 0.05
    sides = (
        ("size of the model, KB (further left is better)", -1, [p.kilobytes for p in ordered]),
        (
            "rows/s, test then train (further right is better)",
            1,
            [p.rows_per_second for p in ordered],
        ),
    )
    for number, (title, sign, costs) in enumerate(sides):
        axes = figure.add_axes(
            (
                (left + number * (panel + gap)) / WIDTH,
                below / height,
                panel / WIDTH,
                _PANEL_HEIGHT / height,
            ),
            ylim=(low - margin, high + margin),
            xlabel=title,
        )
        axes.tick_params(labelleft=number == 0)
        if number == 0:
            axes.set_ylabel(accuracy)
        _draw_panel(axes, ordered, costs, labels, sign)
    canvas = figure.add_axes(
        (_EDGE / WIDTH, 0, 1 - 2 * _EDGE / WIDTH, legend / height),
        xlim=(0, WIDTH - 2 * _EDGE),
        ylim=(legend, 0),
    )
    canvas.set_axis_off()
    _draw_groups(canvas, {point.group for point in points})
    if numbered:
        _draw_list(canvas, ordered, names, n_columns)
    return to_svg(figure)


def _draw_panel(
    axes: Axes,
    points: Sequence[Point],
    costs: Sequence[float | None],
    labels: Sequence[str],
    sign: int,
) -> None:
    known = [(i, cost) for i, cost in enumerate(costs) if cost is not None]
    if not known:
        axes.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
        axes.text(0.5, 0.5, "not known of any method", ha="center", transform=axes.transAxes)
        return
    axes.set_xscale("log")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    x = np.array([cost for _, cost in known])
    y = np.array([points[i].accuracy for i, _ in known])
    _set_decades(axes, x)
    best = front(np.column_stack([sign * x, y]))[::sign]
    line = _steps(x[best], y[best], sign)
    axes.plot(*line.T, color=INK, alpha=0.45, linewidth=1.2)
    for j, (i, _) in enumerate(known):
        _mark(axes, x[j], y[j], points[i].group, filled=j in best)
    _label(axes, np.column_stack([x, y]), [labels[i] for i, _ in known], line)


def _steps(x: NDArray[np.float64], y: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
    """Corners of the line below which a member of the Pareto set is the better choice.

    Between two members the best one can get is the one that costs less.
    """
    corners = np.column_stack([x[1:], y[:-1]] if sign < 0 else [x[:-1], y[1:]])
    line = np.empty((2 * len(x) - 1, 2))
    line[::2], line[1::2] = np.column_stack([x, y]), corners
    return line


def _set_decades(axes: Axes, x: NDArray[np.float64]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = float(np.log10(x.min())), float(np.log10(x.max()))
    # One decade at least, so that there are ticks; room for numbers at either end.
    spare = max(0.12, 0.08 * (high - low), (1 - (high - low)) / 2)
    axes.set_xlim(10 ** (low - spare), 10 ** (high + spare))
    few = high - low + 2 * spare < 2
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _write_cost(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _write_cost(value: float) -> str:
    """A round number; millions in short, since the last one would not fit beside the panel."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value:,.12g}"


def _label(
    axes: Axes, places: NDArray[np.float64], labels: Sequence[str], line: NDArray[np.float64]
) -> None:
    """Write a label beside each place, with a stalk to it where it is further away."""
    inches = axes.figure.dpi_scale_trans
    to_inches = axes.transData + inches.inverted()
    points, corners = to_inches.transform(places), to_inches.transform(line)
    panel = inches.inverted().transform(axes.bbox)
    along = np.linspace(corners[:-1], corners[1:], 60).reshape(-1, 2)
    halves = np.array([(_length(label, _SMALL) / 2 + 0.025, 0.065) for label in labels])
    centres, rays = _place(points, halves, panel, along)
    for point, ray, (across, up), label in zip(points, rays, centres, labels, strict=True):
        length = np.hypot(*ray)
        if length > _NEAREST + 0.01:
            ends = np.array([point + _NEAREST / length * ray, point + ray])
            axes.plot(*ends.T, transform=inches, color=INK, alpha=0.45, linewidth=0.6)
        look: dict[str, Any] = {
            "fontsize": _SMALL,
            "ha": "center",
            "va": "center_baseline",
            "zorder": 4,
        }
        axes.text(across, up, label, transform=inches, **look)


def _place(
    points: NDArray[np.float64],
    halves: NDArray[np.float64],
    panel: NDArray[np.float64],
    others: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find room for a box at each point, clear of all points and other boxes where it can be.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        In inches.
    halves : ndarray of shape (n, 2)
        Half the width and height of each box.
    panel : ndarray of shape (2, 2)
        Lower left and upper right corner within which the boxes lie.
    others : ndarray of shape (m, 2)
        Further places that boxes keep off.

    Returns
    -------
    centres : ndarray of shape (n, 2)
        Of the boxes.
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
        # Later boxes keep off the line to this one as well.
        line = point + np.outer([0.25, 0.5, 0.75], rays[i])
        taken = np.vstack([taken, places[best], line])
        taken_halves = np.vstack([taken_halves, half, np.full_like(line, 0.01)])
    return centres, rays


def _draw_groups(canvas: Axes, groups: Collection[str]) -> None:
    x = 0.4
    for group, (title, *_) in _GROUPS.items():
        if group in groups:
            _mark(canvas, x, 0.1, group)
            canvas.text(x + 0.15, 0.1, title, **_TEXT)
            x += _length(title) + 0.5
    canvas.text(x, 0.1, "filled, with line: Pareto set", alpha=0.7, **_TEXT)


def _draw_list(canvas: Axes, points: Sequence[Point], names: Sequence[str], n_columns: int) -> None:
    n_lines = math.ceil(len(names) / n_columns)
    for i, (point, name) in enumerate(zip(points, names, strict=True)):
        x = (i // n_lines) * (WIDTH - 2 * _EDGE) / n_columns
        y = 0.1 + _LINE * (i % n_lines + 1.4)
        canvas.text(x + 0.25, y, str(i + 1), ha="right", **_TEXT)
        _mark(canvas, x + 0.4, y, point.group)
        canvas.text(x + 0.55, y, name, **_TEXT)


def _mark(axes: Axes, x: float, y: float, group: str, *, filled: bool = True) -> None:
    _, colour, marker, size = _GROUPS[group]
    axes.plot(
        x,
        y,
        marker=marker,
        markersize=size,
        markeredgecolor=colour,
        markerfacecolor=colour if filled else "none",
        markeredgewidth=1.4,
        zorder=3,
    )


def _stack(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Give each span, in order of its start, the first track on which it touches no other."""
    ends: list[float] = []
    tracks = []
    for start, end in spans:
        track = next((i for i, last in enumerate(ends) if last + 0.2 < start), len(ends))
        ends[track : track + 1] = [end]
        tracks.append(track)
    return tracks


def _flat(title: str) -> str:
    return " ".join(title.split())


def _length(text: str, letters: float = _LETTERS) -> float:
    """Inches that a text takes in the font of the drawing."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=letters).get_extents().x1) / 72
