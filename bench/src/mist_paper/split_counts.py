"""Readings of the split test, compared by the numbers of splits that the paper gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mist_bench.outcomes import heading_of, title_of
from mist_bench.record import Task
from mist_bench.result_tables import Table
from mist_paper.comparison import Figures, figures_of, mean_of
from mist_paper.exhibit import Exhibit, Item, Records, Scope, runs
from mist_paper.values import read_paper

__all__ = ["ITEM"]

READINGS = {
    "mist-g": "as written: gap test, union bound, 32, tie rule",
    "mist-g+union_bound=False": "gap test without union bound",
    "mist-g-gain-test": "gain test",
    "mist-g-gain-test-no-union": "gain test without union bound",
    "mist-g+bound=rutkowski+split_test=gain": "gain test, Rutkowski's radius",
    "mist-g-hoeffding": "gap test, Hoeffding's radius for a range of 1",
    "mist-g-hoeffding+tie_threshold=0.0": "the same without tie rule",
    "mist-g-hoeffding+split_test=gain": "gain test, Hoeffding's radius",
    "mist-g-hoeffding+criterion=info_gain": "gap test on information gain, Hoeffding's radius",
}
"""Methods and their reading of the test."""


def _printed() -> dict[str, float]:
    """Splits that the paper gives, by data set; for its random means one less than the leaves."""
    cells = [c for c in read_paper() if c.measure == "splits"]
    counts = {c.dataset: c.mean for c in cells}
    leaves = [c for c in read_paper() if c.measure == "leaves"]
    return counts | {c.dataset: c.mean - 1 for c in leaves}


def plan(scope: Scope) -> Sequence[Task]:
    """List the runs of the table."""
    return runs(READINGS, _printed(), scope.seeds)


def show(scope: Scope, records: Records) -> Exhibit:
    """Compare the splits of every reading with the paper's, and name the nearest."""
    figures = figures_of(records[task] for task in plan(scope) if task in records)
    printed = _printed()
    datasets = [d for d in printed if any((m, d, "splits") in figures for m in READINGS)]
    if not datasets:
        return Exhibit()
    rows = [("as printed", *(f"{printed[d]:.1f}" for d in datasets), "", "")]
    distances = {}
    for method in READINGS:
        if any((method, dataset, "splits") not in figures for dataset in datasets):
            continue
        counts = [mean_of(figures, method, dataset, "splits") for dataset in datasets]
        off = [
            abs(math.log((n + 1) / (printed[d] + 1))) for n, d in zip(counts, datasets, strict=True)
        ]
        distances[method] = float(np.mean(off))
        mean = float(np.mean([mean_of(figures, method, d, "final_accuracy") for d in datasets]))
        rows.append(
            (
                READINGS[method],
                *(f"{n:.1f}" for n in counts),
                f"x {math.exp(distances[method]):.1f}",
                f"{mean:.3f}",
            )
        )
    if not distances:
        return Exhibit()
    nearest = min(distances, key=lambda method: distances[method])
    return Exhibit(
        tables=(
            Table(
                "split-counts",
                "Splits of every reading of the split test",
                "Mean over seeds. Off by: typical factor between ours + 1 and the paper's + 1. "
                "Accuracy: mean over these sets.",
                ("reading", *(heading_of(dataset) for dataset in datasets), "off by", "accuracy"),
                tuple(rows),
            ),
        ),
        notes=(
            "The paper gives splits in its tables on inheritance, and leaves in that on classes at "
            f"a leaf. Of the readings tried, {READINGS[nearest]!r} ({title_of(nearest)}) comes "
            f"nearest; {_within(figures, printed, nearest, datasets)}",
        ),
    )


def _within(
    figures: Figures, printed: dict[str, float], method: str, datasets: Sequence[str]
) -> str:
    """On how many sets a reading has about as many splits as the paper."""
    near = [
        dataset
        for dataset in datasets
        if abs(mean_of(figures, method, dataset, "splits") - printed[dataset]) <= 1
    ]
    names = ", ".join(heading_of(dataset) for dataset in near) or "none"
    return f"it is within one split on {len(near)} of {len(datasets)} sets ({names})."


ITEM = Item("Which split test the paper's counts come from", "table", "", plan, show)
