"""Common style of all plots: colours, dashes and markers, and the axes to draw on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mist.plotting.text_layout import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GREY",
    "MARKERS",
    "PALETTE",
    "axes_for",
    "ink",
    "line_styles",
    "mark_rows",
    "names_as_they_are",
]

PALETTE = ("#1563e6", "#e07000", "#0aa37a", "#a377b2", "#9c5a30")
"""Distinct with any kind of colour vision, and legible on white and near-black."""

GREY = "#808890"
"""Of lines that are not models, legible on white and near-black."""

MARKERS = ("o", "s", "^", "D", "v", "P", "*", "X")
"""Distinct by outline alone."""

# Dashes repeat the information of colours, for print without colours. There is one more dash than
# colours, so that a colour repeats with another dash until all pairs are used.
_DASHES = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1, 1)),
    (0, (3.5, 1, 1, 1, 1, 1)),
)
_MOST_BORDERS = 60
_MOST_BORDER_LABELS = 24


def line_styles(n_lines: int) -> Iterator[dict[str, Any]]:
    """Yield colours, dashes and markers that distinguish lines, also without colours.

    Up to six lines differ in their dashes, further lines in dashes and markers together.

    Parameters
    ----------
    n_lines : int
        Number of lines; from the 49th on, dashes and markers repeat.

    Yields
    ------
    dict
        Arguments of ``Axes.plot``.

    Examples
    --------
    >>> [line["color"] for line in line_styles(2)]
    ['#1563e6', '#e07000']
    """
    for i in range(n_lines):
        line: dict[str, Any] = {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": _DASHES[i % len(_DASHES)],
            "linewidth": 1.8,
        }
        if i >= len(_DASHES):
            # The first marker is reserved for plots that mark every point of their lines.
            marker = MARKERS[1 + (i // len(_DASHES) - 1) % (len(MARKERS) - 1)]
            # Shares of the width, so that a curve with many points is not a row of markers.
            line |= {"marker": marker, "markersize": 5, "markevery": (0.01 * (i % 6), 0.1)}
        yield line


def ink() -> Any:
    """Return the colour of texts, and of lines that are not data.

    Returns
    -------
    colour
        The text colour of the matplotlib settings.

    Examples
    --------
    >>> import matplotlib
    >>> with matplotlib.rc_context({"text.color": "red"}):
    ...     ink()
    'red'
    """
    import matplotlib

    return matplotlib.rcParams["text.color"]


@contextmanager
def names_as_they_are() -> Iterator[None]:
    """Draw texts literally: dollar signs in names do not start formulas.

    Can also be used as a decorator.

    Examples
    --------
    >>> import matplotlib
    >>> with names_as_they_are():
    ...     matplotlib.rcParams["text.parse_math"]
    False
    """
    import matplotlib

    with matplotlib.rc_context({"text.parse_math": False}):
        yield


def axes_for(ax: Axes | None, width: float = 6.4, height: float = 3.6) -> Axes:
    """Return the given axes, or those of a new pyplot figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The given axes.
    width, height : float
        Size of a new figure, in inches.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If `ax` has another type, such as a figure or an array of axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> axes_for(ax) is ax
    True
    >>> axes_for(Figure())
    Traceback (most recent call last):
    ...
    TypeError: ax must be matplotlib axes or None, got Figure: pass one of its axes
    """
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be matplotlib axes or None, got {type(ax).__name__}: pass one of its axes"
        )
    return ax


def mark_rows(
    ax: Axes,
    n_rows: float,
    borders: Iterable[float],
    labels: Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Set up the x-axis for rows learnt, and mark borders.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        A plot over the stream.
    n_rows : float
        End of the axis.
    borders : iterable of float
        Rows to mark with dotted lines; none are drawn if there are more than 60.
    labels : sequence of str, default=()
        One label for each border, or none; labels that do not fit are left out, and all labels if
        there are more than 24 borders.
    title : str or None, default=None
        What the borders are, for the legend.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> mark_rows(ax, 300, [100, 200], ["task 2", "task 3"])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('rows learnt', ['task 2', 'task 3'])
    """
    borders = [float(border) for border in borders]
    ax.set_xlim(0, n_rows)
    ax.set_xlabel("rows learnt")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if len(borders) > _MOST_BORDERS:
        return
    for i, border in enumerate(borders):
        line = ax.axvline(border, color=ink(), alpha=0.35, linewidth=0.8, linestyle=(0, (2, 3)))
        if i == 0 and title is not None:
            line.set_label(title)
    if len(borders) > _MOST_BORDER_LABELS:
        return
    last = -float("inf")
    for border, label in zip(borders, map(short, labels), strict=False):
        # A label too close to its left neighbour would overlap it.
        if border - last < 0.012 * n_rows * (len(label) + 1):
            continue
        last = border
        ax.annotate(
            label,
            (border, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2),
            textcoords="offset points",
            fontsize=8,
            alpha=0.75,
            va="bottom",
        )
