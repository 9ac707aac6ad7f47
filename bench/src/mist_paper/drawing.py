"""A drawing of the report on the paper: panels in rows and columns that share a legend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from mist.report.style import WIDTH, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Drawing", "Panel"]

Panel = Callable[["Axes"], Any]
"""Draws on axes, whose labels it sets."""

_SMALL: dict[Any, Any] = {
    "axes.labelsize": 9,
    "axes.titlesize": 9,
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with its caption and its text alternative.

    Examples
    --------
    >>> panel = lambda ax: ax.plot([1, 2], label="a line")
    >>> drawing = Drawing("lines", "Lines", (panel, panel), "Two lines.", "", n_columns=2)
    >>> len(drawing.figure.axes), len(drawing.figure.legends)
    (2, 1)
    """

    name: str
    """File stem."""

    title: str
    """Heading."""

    panels: Sequence[Panel]
    """Its plots, row by row."""

    alt: str
    """Text alternative, for people who do not see it."""

    caption: str
    """Caption."""

    height: float = 3.6
    """Height of a row, in inches."""

    n_columns: int = 1
    """Panels per row."""

    legend: Literal["below", "right", "none"] = "below"
    """Position of the legend, which has the lines of all panels."""

    @cached_property
    def figure(self) -> Figure:
        """The figure over the full width of the page, drawn at first use."""
        import matplotlib

        with style():
            if len(self.panels) == 1:
                figure, axes = new_figure(self.height)
                self.panels[0](axes)
            else:
                with matplotlib.rc_context(_SMALL):
                    figure = self._draw_panels()
            self._name_lines(figure)
        return figure

    def _draw_panels(self) -> Figure:
        from matplotlib.figure import Figure

        n_rows = -(-len(self.panels) // self.n_columns)
        figure = Figure(figsize=(WIDTH, n_rows * self.height), layout="constrained")
        grid = figure.subplots(n_rows, self.n_columns, squeeze=False)
        for ax in grid.flat:
            ax.grid(axis="y")
            ax.set_axisbelow(True)
            ax.tick_params(labelsize=8)
        for ax, panel in zip(grid.flat, self.panels, strict=True):
            panel(ax)
        # Axis labels that all panels share are written once, at the edge.
        if len({ax.get_xlabel() for ax in grid.flat}) == 1:
            for ax in grid[:-1].flat:
                ax.set_xlabel("")
        if len({ax.get_ylabel() for ax in grid.flat}) == 1:
            for ax in grid[:, 1:].flat:
                ax.set_ylabel("")
        return figure

    def _name_lines(self, figure: Figure) -> None:
        found = [ax.get_legend_handles_labels() for ax in figure.axes]
        handles, labels = max(found, key=lambda pair: len(pair[0]))
        if not handles or self.legend == "none":
            return
        size = {"fontsize": 9} if len(self.panels) > 1 else {}
        if self.legend == "below":
            figure.legend(handles, labels, loc="outside lower center", ncols=3, **size)
        else:
            figure.legend(handles, labels, loc="outside right upper", **size)
