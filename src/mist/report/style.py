"""What all plots share: ink, colours, settings of matplotlib and the way to SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "PALETTE",
    "WIDTH",
    "draw_shares",
    "line_styles",
    "new_figure",
    "style",
    "to_png",
    "to_svg",
]

INK = "#0a0b0c"
"""Stands for the text colour of the page: replaced by ``currentColor`` in the SVG."""

PALETTE = ("#2f7fd1", "#d9661f", "#1f9e77", "#a05fc9", "#c2497d")
"""Told apart by people with any kind of colour vision and legible on white and near-black."""

WIDTH = 9.0
"""Width of a plot, in inches."""

# They say once more what the colours say. One more than colours, so that a colour comes back with
# another dash, until all pairs of the two have been used.
_DASHES = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 1.5, 2)),
    (0, (1, 1)),
    (0, (10, 2, 1.5, 2, 1.5, 2)),
)
_SHADES = ("#f3e9dc", "#9cc3e6", "#0f3d75")


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


def line_styles(n_lines: int) -> Iterator[dict[str, Any]]:
    """Yield colours and dashes that tell lines apart.

    Parameters
    ----------
    n_lines : int
        Number of lines; from the 31st on, styles repeat.

    Yields
    ------
    dict
        Arguments of ``Axes.plot``.

    Examples
    --------
    >>> [line["color"] for line in line_styles(2)]
    ['#2f7fd1', '#d9661f']
    """
    for i in range(n_lines):
        yield {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": _DASHES[i % len(_DASHES)],
            "linewidth": 1.8,
        }


def draw_shares(axes: Axes, shares: NDArray[np.float64], letters: float | None) -> Any:
    """Draw a matrix of shares as a heat map, the first row on top.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw; cell (i, j) is centred at ``(j + 0.5, i + 0.5)``.
    shares : ndarray of shape (n, m)
        Numbers from 0 to 1; cells of NaN stay empty.
    letters : float or None
        Size in points of the numbers written into the cells; None writes none.

    Returns
    -------
    matplotlib.collections.QuadMesh
        For a colour bar.

    Examples
    --------
    >>> figure, axes = new_figure(2.0)
    >>> draw_shares(axes, np.array([[0.5, np.nan]]), 9).get_clim(), axes.texts[0].get_text()
    ((0.0, 1.0), '0.50')
    """
    from matplotlib.colors import LinearSegmentedColormap

    mesh = axes.pcolormesh(
        np.ma.masked_invalid(shares),
        cmap=LinearSegmentedColormap.from_list("mist", _SHADES),
        vmin=0,
        vmax=1,
        edgecolors="none",
    )
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if letters is not None:
        for i, j in np.argwhere(np.isfinite(shares)):
            axes.text(
                j + 0.5,
                i + 0.5,
                f"{shares[i, j]:.2f}",
                ha="center",
                va="center",
                fontsize=letters,
                color="white" if shares[i, j] > 0.75 else "#101418",
            )
    return mesh


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
