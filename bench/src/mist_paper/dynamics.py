"""How trees grow over a stream: leaves, splits, impurity and classes a leaf (fig:tree-size)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mist.plotting import plot_curves
from mist_bench.outcomes import heading_of
from mist_bench.record import Task
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, runs
from mist_paper.panels import borders_of, curves_of

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
    """Draw four panels per data set."""
    drawings = []
    for dataset in DATASETS:
        drawing = _draw(dataset, scope, records)
        if drawing is not None:
            drawings.append(drawing)
    return Exhibit(
        drawings=drawings,
        notes=(
            "The classes of a leaf include inherited ones. Without inheritance, as in VFDT, a leaf "
            "knows only the classes that arrived at it after it was made, so its impurity and its "
            "number of classes are too low.",
        ),
    )


def _draw(dataset: str, scope: Scope, records: Records) -> Drawing | None:
    panels, ends = [], []
    for key, label in PANELS.items():
        curves = curves_of(records, METHODS, dataset, scope.seeds, "growth_rows", key)
        if not curves:
            return None
        borders = borders_of(records, dataset)
        panels.append(
            partial(plot_curves, curves, label=label, borders=borders, share=False, legend=False)
        )
        if key == "leaves":
            ends = [f"{curve.title} {curve.mean[-1]:.1f}" for curve in curves]
    title = heading_of(dataset)
    return Drawing(
        f"tree-size-{dataset}",
        title,
        panels,
        f"Leaves, splits, impurity and classes a leaf over {title}. Leaves at the end: "
        f"{', '.join(ends)}.",
        "Mean over seeds, band: ± standard deviation; dotted lines: ends of tasks.",
        height=2.5,
        n_columns=2,
    )


ITEM = Item("How trees grow over the stream", "figure", "fig:tree-size", plan, show)
