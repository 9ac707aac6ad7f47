"""How rows per second change with columns, classes, rows and leaves."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

from .clock import Task
from .records import Rates
from .streams import Shape

REFERENCE = Shape(20, 10, 20_000, together=True)
VALUES = {
    "columns": (5, 10, 20, 50, 100, 200, 500, 2_000, 20_000),
    "classes": (2, 5, 10, 20, 50, 100, 1_000, 10_000),
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 10_000_000),
    "leaves": (1, 2, 4, 8, 16, 32, 100, 1_000),
}
ALL_UP_TO = {"columns": 500, "classes": 100, "rows": 300_000, "leaves": 32}
LARGE = "MIST-G"
"""The method that is measured beyond those sizes as well."""

MOST_NUMBERS = 40_000_000
"""Rows times columns of a wide stream."""

ROWS_A_CLASS = 3
ROWS_A_LEAF = 400
"""A stream has so many rows at least."""

METHODS = {"limit kernel": "limit", "MIST-G": "mist", "MIST-K": "mist", "MIST": "mist"}
LOOKS = {
    "limit kernel": {"color": "black", "linestyle": ":", "marker": "x"},
    "MIST-G": {"color": "black", "linestyle": "-", "marker": "o"},
    "MIST-K": {"color": "0.35", "linestyle": "--", "marker": "s"},
    "MIST": {"color": "0.55", "linestyle": "-.", "marker": "^"},
}
"""Told apart by line, mark and grey: the drawing has no colours."""


class Point(NamedTuple):
    """A stream, and options of the tree."""

    panel: str
    value: int

    @property
    def name(self):
        return f"{self.panel}={self.value}"

    @property
    def shape(self):
        if self.panel == "leaves":
            return REFERENCE._replace(rows=max(REFERENCE.rows, ROWS_A_LEAF * self.value))
        shape = REFERENCE._replace(**{self.panel: self.value})
        if self.panel == "rows":
            return shape
        least = max(shape.rows, ROWS_A_CLASS * shape.classes)
        return shape._replace(rows=min(least, MOST_NUMBERS // shape.columns))

    @property
    def options(self):
        """A tree that splits as soon as it may, up to so many leaves."""
        if self.panel != "leaves":
            return {}
        return {"split_test": "schedule", "rows_per_split": 200, "max_leaves": self.value}


POINTS = [Point(panel, value) for panel, values in VALUES.items() for value in values]


def tasks(point, seconds):
    """What is measured at a point."""
    return [
        Task(library, method, "prequential", point.shape, seconds, False, point.options)
        for method, library in METHODS.items()
        if method == LARGE or point.value <= ALL_UP_TO[point.panel]
    ]


def draw(records):
    """Rows per second of every method, a panel for each size."""
    rates = Rates(records)
    matplotlib.rcParams["svg.hashsalt"] = "mist"  # the same file for the same figures
    chart = Figure(figsize=(7.2, 5.4), layout="constrained")
    for axes, panel in zip(chart.subplots(2, 2, sharey=True).flat, VALUES, strict=True):
        for method, look in LOOKS.items():
            line = [_place(point, method, rates) for point in POINTS if point.panel == panel]
            line = [place for place in line if place is not None]
            axes.plot(
                *zip(*line, strict=True), **look, label=method, lw=1.4, ms=4
            ) if line else None
        axes.set(xscale="log", yscale="log", xlabel=panel)
        # Every other one is named where there are many: names must not touch.
        named = VALUES[panel][:: 1 + len(VALUES[panel]) // 7]
        axes.set_xticks(named, [f"{value:,}" for value in named], fontsize=7)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in chart.axes[::2]:
        axes.set_ylabel("rows per CPU second")
    chart.axes[0].legend(frameon=False, fontsize=8)
    return chart


def _place(point, method, rates):
    """Size and rate of a measurement; leaves as they came out."""
    key = point.name, method, "prequential"
    rate, record = rates.rate(key), rates.record(key)
    if rate is None:
        return None
    known = point.panel == "leaves" and record["leaves"]
    return (record["leaves"] if known else point.value), rate.median
