"""The drawings of the paper's tables, figures and theorems, a panel at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mist.plotting.theme import axes_for, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mist_paper.drawing import Drawing

__all__ = ["plot_panel"]


@names_as_they_are()
def plot_panel(
    drawing: Drawing, ax: Axes | None = None, *, panel: int = 0, legend: bool = True
) -> Axes:
    """Draw one panel of a drawing of `mist paper`.

    Parameters
    ----------
    drawing : mist_paper.drawing.Drawing
        One of `mist_paper.exhibit.Exhibit.drawings`.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None creates a pyplot figure.
    panel : int, default=0
        Number of the panel, row by row.
    legend : bool, default=True
        Whether to name the lines in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    TypeError
        If `ax` is neither axes nor None.
    ValueError
        If the drawing has no such panel.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mist_bench.record import Record
    >>> from mist_paper.items import ITEMS
    >>> from mist_paper.exhibit import Scope
    >>> item, scope = ITEMS["truncation"], Scope.quick()
    >>> few = [each for each in item.plan(scope) if "moment_errors" in each.function][:2]
    >>> exhibit = item.show(scope, {each: Record(each, result=each.call()) for each in few})
    >>> ax = plot_panel(exhibit.drawings[0], Figure().subplots())
    >>> ax.get_ylabel()
    'relative error'
    """
    if not 0 <= panel < len(drawing.panels):
        raise ValueError(
            f"drawing {drawing.name!r} has panels 0 to {len(drawing.panels) - 1}, got {panel}"
        )
    ax = axes_for(ax)
    drawing.panels[panel](ax)
    if legend and ax.get_legend() is None and ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax
