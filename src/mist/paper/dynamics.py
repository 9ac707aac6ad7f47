"""How trees grow over a stream: leaves, splits, impurity and classes a leaf (fig:tree-size)."""

from __future__ import annotations

from collections.abc import Sequence

from mist.bench.curves import draw_curves
from mist.bench.outcomes import heading_of
from mist.bench.record import Task
from mist.paper.exhibit import Drawing, Exhibit, Item, Records, Scope, runs
from mist.paper.panels import borders_of, curves_of, new_panels, share_legend
from mist.report.style import style

__all__ = ["ITEM"]

METHODS = (
    "mist-g",
    "mist-g-hoeffding",
    "mist-g-gain-test",
    "mist-g-gain-test-no-union",
    "vfdt",
)
DATASETS = ("synth50", "covertype", "mnist")
PANELS = {
    "leaves": "leaves",
    "splits": "splits so far",
    "leaf_impurity": "weighted leaf impurity",
    "classes_per_leaf": "classes a leaf (mean K_local)",
}


def plan(scope: Scope) -> Sequence[Task]:
    """List the runs of the figure."""
    return runs(METHODS, DATASETS, scope.seeds)


def show(scope: Scope, records: Records) -> Exhibit:
    """Draw four panels a data set."""
    drawings = []
    for dataset in DATASETS:
        drawing = _draw(dataset, scope, records)
        if drawing is not None:
            drawings.append(drawing)
    return Exhibit(
        drawings=drawings,
        notes=(
            "The classes a leaf count its inherited ones. Without inheritance, as in VFDT, a leaf "
            "knows only the classes that arrived at it after it was born, which makes its "
            "impurity and its classes few for the wrong reason.",
        ),
    )


@style()
def _draw(dataset: str, scope: Scope, records: Records) -> Drawing | None:
    figure, axes = new_panels(2, 2, 2.5)
    ends = []
    for ax, (key, label) in zip(axes.flat, PANELS.items(), strict=True):
        curves = curves_of(records, METHODS, dataset, scope.seeds, "growth_rows", key)
        if not curves:
            return None
        draw_curves(ax, curves, borders_of(records, dataset))
        ax.set_ylabel(label, fontsize=9)
        ax.set_ylim(bottom=0)
        if key == "leaves":
            ends = [f"{curve.title} {curve.mean[-1]:.1f}" for curve in curves]
    for ax in axes[1]:
        ax.set_xlabel("rows learnt", fontsize=9)
    share_legend(figure, axes[0, 0])
    title = heading_of(dataset)
    return Drawing(
        f"tree-size-{dataset}",
        title,
        figure,
        f"Leaves, splits, impurity and classes a leaf over {title}. Leaves at the end: "
        f"{', '.join(ends)}.",
        "Mean over seeds, band: ± standard deviation; dotted lines: ends of tasks.",
    )


ITEM = Item("How trees grow over the stream", "figure", "fig:tree-size", plan, show)
