"""The eight stress streams seen along their first two principal components (fig:stress-vis)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mist.plotting import plot_classes
from mist_bench.outcomes import heading_of
from mist_bench.record import Task
from mist_bench.suites import SUITES
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ITEM"]

_PER_CLASS = 50


def plan(scope: Scope) -> Sequence[Task]:
    """Nothing is run: rows are generated and plotted."""
    return ()


def show(scope: Scope, records: Records) -> Exhibit:
    """Draw 50 rows of each class of each stream."""
    panels = [partial(_draw, name=name, seed=scope.seeds[0]) for name in SUITES["stress"]]
    return Exhibit(
        drawings=(
            Drawing(
                "stress-views",
                "The stress streams",
                panels,
                "Scatter plots of the eight stress streams along two principal components, a "
                "colour and marker a class.",
                f"{_PER_CLASS} rows of each class along the first two principal components of all "
                "rows, the middle 98 %. A colour and marker a class.",
                height=2.3,
                n_columns=4,
                legend="none",
            ),
        )
    )


def _draw(ax: Axes, name: str, seed: int) -> None:
    from mist.datasets import load

    table = load(name, seed=seed)
    plot_classes(table.X, table.y, ax, rows_per_class=_PER_CLASS, seed=seed, legend=False)
    ax.set_title(heading_of(name))


ITEM = Item("The stress streams", "figure", "fig:stress-vis", plan, show)
