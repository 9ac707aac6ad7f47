"""Common style of the plots of a page: colour, size, matplotlib settings, SVG and PNG output."""

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

__all__ = ["INK", "NARROW", "WIDTH", "new_figure", "style", "to_png", "to_svg"]

INK = "#0a0b0c"
"""Placeholder of the text colour of the page; replaced by ``currentColor`` in the SVG."""

WIDTH = 9.0
"""Width of a plot, in inches."""

NARROW = 4.3
"""Width of a plot on a phone, in inches."""


@contextmanager
def style() -> Iterator[None]:
    """Set up matplotlib for plots of a page, within a context.

    Can also be used as a decorator, as later additions to a plot need the same style.

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


def new_figure(height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return a figure with one plot and faint horizontal lines.

    Parameters
    ----------
    height : float
        Height in inches.
    width : float, default=WIDTH
        Width in inches.

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

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    return figure, axes


def to_svg(figure: Figure, ink: str = "currentColor") -> str:
    """Write a figure as an element of a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Figure drawn within `style`.
    ink : str, default="currentColor"
        Colour of texts and axes. The default is that of the page; a separate file needs another.

    Returns
    -------
    str
        An ``<svg>`` element whose width is set by the page.

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
    # XML must not have control characters, which names from users may have.
    svg = without_controls(svg)
    # The page sets the width; the drawing keeps its proportions.
    return re.sub(r'(<svg [^>]*?)\s(?:width|height)="[^"]*pt"', r"\1", svg, count=1)


def to_png(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file with a white background.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn within `style`.
    path : Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file is then unchanged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, style():
    ...     to_png(new_figure(3.0)[0], Path(folder, "empty.png"))
    ...     Path(folder, "empty.png").read_bytes()[1:4]
    b'PNG'
    """
    with replacing(path) as file:
        # Without the version of matplotlib the same figure gives the same bytes.
        figure.savefig(file, format="png", dpi=150, facecolor="white", metadata={"Software": None})
