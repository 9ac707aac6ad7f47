"""Changes that models have found, as lines in a plot over the stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from mist.adaptation.changes import CLASS_MOVED, COMMON_SHIFT, CUT_BACK
from mist.evaluation import StreamResult
from mist.evaluation.changes import describe
from mist.plotting.text_layout import short
from mist.plotting.theme import PALETTE, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CHANGE_LABEL", "MOST_DRAWN", "mark_changes"]

CHANGE_LABEL = "change-label"
"""Id of the labels of changes."""

MOST_DRAWN = 20
"""Most lines in a plot, over all models."""

_NEAREST = 0.022
"""Least distance of two labels, as a share of the axis."""

_LONGEST = 22

_DASHES: dict[str, Any] = {CLASS_MOVED: "-", COMMON_SHIFT: (0, (7, 2)), CUT_BACK: (0, (1, 1))}
_NAMES = {CUT_BACK: "splits cut back"}


def mark_changes(ax: Axes, results: Sequence[StreamResult]) -> None:
    """Draw a thin line with a label at each change; changes of a model at one row share a line.

    The first line of each kind has an entry in the legend.

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
        (row, PALETTE[i % len(PALETTE)] if several else ink(), list(group))
        for i, run in enumerate(results)
        for row, group in groupby(run.changes, key=lambda change: change.row)
    ]
    found.sort(key=lambda each: each[0])
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_DRAWN)).astype(int))
    more, last = sum(len(group) for _, _, group in found), -float("inf")
    kinds: set[str] = set()
    for row, colour, group in (found[i] for i in chosen):
        more -= len(group)
        kind = group[0].kind
        line = ax.axvline(
            row, color=colour, alpha=0.6, linewidth=0.8, linestyle=_DASHES.get(kind, "-"), zorder=1
        )
        line.set_gid("change")
        if kind not in kinds:
            line.set_label(_NAMES.get(kind, kind))
            kinds.add(kind)
        if row - last < _NEAREST * n_rows:
            continue
        last = row
        label = ax.annotate(
            short(", ".join(map(describe, group)), _LONGEST),
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
        label.set_gid(CHANGE_LABEL)
    if more:
        ax.annotate(
            f"and {more:,} more changes",
            (1, 1),
            xycoords="axes fraction",
            xytext=(0, 11),  # above the labels of borders
            textcoords="offset points",
            fontsize=7,
            alpha=0.85,
            ha="right",
            va="bottom",
        )
