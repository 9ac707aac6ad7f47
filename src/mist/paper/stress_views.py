"""The eight stress streams seen along their first two principal components (fig:stress-vis)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mist.bench.outcomes import heading_of
from mist.bench.record import Task
from mist.bench.suites import SUITES
from mist.paper.exhibit import Drawing, Exhibit, Item, Records, Scope
from mist.paper.panels import new_panels
from mist.report.style import PALETTE, style

__all__ = ["ITEM"]

_PER_CLASS = 50
_MARKERS = "osD^vP*X"


def plan(scope: Scope) -> Sequence[Task]:
    """Nothing is run: rows are made and looked at."""
    return ()


@style()
def show(scope: Scope, records: Records) -> Exhibit:
    """Draw 50 rows of each class of each stream."""
    from sklearn.decomposition import PCA

    from mist.datasets import load

    figure, axes = new_panels(2, 4, 2.3)
    for ax, name in zip(axes.flat, SUITES["stress"], strict=True):
        table = load(name, seed=scope.seeds[0])
        places = PCA(2, random_state=0).fit(table.X)
        rng = np.random.default_rng(scope.seeds[0])
        for i, label in enumerate(np.unique(table.y)):
            rows = rng.permutation(np.flatnonzero(table.y == label))[:_PER_CLASS]
            x, y = places.transform(table.X[rows]).T
            ax.scatter(
                x, y, s=7, marker=_MARKERS[i], color=PALETTE[i % len(PALETTE)], alpha=0.75, lw=0
            )
        ax.set_title(heading_of(name), fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
        # A few rows far out would leave the rest one dot.
        low, high = np.percentile(places.transform(table.X), [1, 99], axis=0)
        room = 0.1 * (high - low)
        ax.set_xlim(low[0] - room[0], high[0] + room[0])
        ax.set_ylim(low[1] - room[1], high[1] + room[1])
    return Exhibit(
        drawings=(
            Drawing(
                "stress-views",
                "The stress streams",
                figure,
                "Scatter plots of the eight stress streams along two principal components, a "
                "colour and marker a class.",
                f"{_PER_CLASS} rows of each class along the first two principal components of all "
                "rows, the middle 98 %. A colour and marker a class.",
            ),
        )
    )


ITEM = Item("The stress streams", "figure", "fig:stress-vis", plan, show)
