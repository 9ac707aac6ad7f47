"""Changes that models have found, as lines in a plot over the stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from mist.evaluation import StreamResult
from mist.evaluation.changes import describe
from mist.plotting.text_layout import short
from mist.plotting.theme import PALETTE, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_DRAWN", "mark_changes"]

MOST_DRAWN = 20
"""Most lines in a plot, over all models."""

_NEAREST = 0.022
"""Least distance of two labels, as a share of the axis."""

_LONGEST = 22


def mark_changes(ax: Axes, results: Sequence[StreamResult]) -> None:
    """Draw a thin line with a label at each change; changes of a model at one row share a line.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        A plot over the stream, with its limits.
    results : sequence of StreamResult
        The runs. If there are several, lines have the colours of their curves.

    Notes
    -----
    At most 20 lines are drawn, evenly chosen, and the number of the other changes is written above
    the right end. A label that would overlap another one is left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> mark_changes(ax, [])
    >>> len(ax.lines)
    0
    """
    n_rows = max((run.n_rows for run in results), default=0)
    several = len(results) > 1
    found = [
        (row, PALETTE[i % len(PALETTE)] if several else ink(), [describe(each) for each in group])
        for i, run in enumerate(results)
        for row, group in groupby(run.changes, key=lambda change: change.row)
    ]
    found.sort(key=lambda each: each[0])
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_DRAWN)).astype(int))
    more, last = sum(len(texts) for _, _, texts in found), -float("inf")
    for row, colour, texts in (found[i] for i in chosen):
        more -= len(texts)
        line = ax.axvline(row, color=colour, alpha=0.6, linewidth=0.7, zorder=1)
        line.set_gid("change")
        if row - last < _NEAREST * n_rows:
            continue
        last = row
        ax.annotate(
            short(", ".join(texts), _LONGEST),
            (row, 0),
            xycoords=("data", "axes fraction"),
            xytext=(1.5, 3),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            color=colour,
            alpha=0.85,
            va="bottom",
        )
    if more:
        ax.annotate(
            f"and {more:,} more changes",
            (1, 1),
            xycoords="axes fraction",
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7,
            alpha=0.85,
            ha="right",
            va="bottom",
        )
