"""What the plots of a page share: ink, size, settings of matplotlib and the way to SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mist.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from mist.texts import without_controls

__all__ = ["INK", "WIDTH", "new_figure", "style", "to_png", "to_svg"]

INK = "#0a0b0c"
"""Stands for the text colour of the page: replaced by ``currentColor`` in the SVG."""

WIDTH = 9.0
"""Width of a plot, in inches."""


@contextmanager
def style() -> Iterator[None]:
    """Set matplotlib up for plots of a page, for as long as the context lasts.

    Also serves as a decorator: what a plot adds later has to be drawn in the same style.

    Yields
    ------
    None
        Nothing.

    Examples
    --------
    >>> import matplotlib
    >>> with style():
    ...     print(matplotlib.rcParams["text.color"] == INK)
    True
    """
    import matplotlib

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = dict.fromkeys(inked, INK)
    with matplotlib.rc_context(
        settings
        | {
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "grid.color": INK,
            "grid.alpha": 0.12,
            "legend.frameon": False,
            "svg.fonttype": "none",
            # Names of classes and models are texts, whatever dollar signs are in them.
            "text.parse_math": False,
            "svg.hashsalt": "mist",
        }
    ):
        yield


def new_figure(height: float) -> tuple[Figure, Axes]:
    """Return a figure over the whole width with one plot and faint horizontal lines.

    Parameters
    ----------
    height : float
        In inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    axes : matplotlib.axes.Axes
        Its only plot.

    Examples
    --------
    >>> figure, axes = new_figure(3.0)
    >>> float(figure.get_figheight()), figure.axes == [axes]
    (3.0, True)
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return figure, axes


def to_svg(figure: Figure, ink: str = "currentColor") -> str:
    """Write a figure as an element of a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn within `style`.
    ink : str, default="currentColor"
        Colour of texts and axes: that of the page, which a file of its own does not have.

    Returns
    -------
    str
        An ``<svg>`` element as wide as the page lets it be.

    Examples
    --------
    >>> with style():
    ...     svg = to_svg(new_figure(3.0)[0])
    >>> svg.startswith("<svg"), "currentColor" in svg, INK in svg
    (True, True, False)
    """
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=nothing)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, ink)
    # XML may not hold control characters, which names of users can have.
    svg = without_controls(svg)
    # The page decides on the width; the drawing keeps its proportions.
    return re.sub(r'(<svg [^>]*?)\s(?:width|height)="[^"]*pt"', r"\1", svg, count=1)


def to_png(figure: Figure, path: Path) -> None:
    """Write a figure as a picture on white.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn within `style`.
    path : Path
        The file.

    Raises
    ------
    OSError
        If it cannot be written; an earlier file is then as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, style():
    ...     to_png(new_figure(3.0)[0], Path(folder, "empty.png"))
    ...     Path(folder, "empty.png").read_bytes()[1:4]
    b'PNG'
    """
    with replacing(path) as file:
        # No version of a library in the file: the same figure gives the same bytes.
        figure.savefig(file, format="png", dpi=150, facecolor="white", metadata={"Software": None})
