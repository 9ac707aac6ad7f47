"""How cost and size of the mixture tree grow with columns, classes and components; writes a page.

    python benchmarks/growth.py [--rows 500] [--rounds 5] [--docs docs]

One of the three is changed at a time, the others stay as at the reference of the same panel. Rows
per second of test-then-train are a ratio: in every round the reference and then each point run on
a fresh model, and the median over the rounds is told. Bytes are those of the model at the end of
the stream and do not depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mist.engine.leaves.lowrank import LowRankLeaves
from mist.presets import make_model
from mist_bench.result_tables import Table, to_markdown

MODEL = "mist"
MODES = 32
"""Clusters of a class: as many as the largest mixture may have components."""

PER_COMPONENT = 4
"""The panel of components has so many times as many rows: components are grown from rows."""

INTRO = """\
# How the mixture tree grows

This page shows how the speed and the size of the default tree (preset `{model}`, mixture leaves)
depend on columns, classes and components. The tables have rows per second of test-then-train, and
bytes at the end of the stream. The rows are generated: {modes} Gaussian clusters per class in
random order, {rows:,} rows of each class, and {more:,} in the table of components. One number
changes at a time; the others stay as in the reference, the row in bold. Rates are ratios to the
reference. The reference and the row of the table ran in turn for {rounds} rounds, and the median
is given. The distance of the reference from 1 shows the noise. Components are the mean number of
components of a class in a leaf. Components and bytes do not depend on the machine. A class
proposes new components until it has the largest number, and until then most of its bytes belong to
the proposals. Beyond 100 columns a class has one low-rank Gaussian. Made by `{command}`; nothing
here is edited by hand.

{machine}

![Rates and bytes against columns, classes and components](../images/growth.svg)"""
SHARED = (
    "Measured on {n} processors that were **shared with other work** (load {load:.1f} before the "
    "run): rows per second are rough, ratios less so, because both sides ran under that load."
)
ALONE = "Measured on {n} processors with a load of {load:.1f} before the run."
BUSY = 0.5
"""From this load on, the machine counts as shared."""

LOOKS = (
    ("#1f6fb4", (0.1, 0.2, 0.5, 1, 2, 5)),
    ("#d95f0e", (0.03, 0.1, 0.3, 1, 3, 10, 30)),
)
"""Colour and marks of the two rows of the drawing."""


class Point(NamedTuple):
    """A stream and a model."""

    columns: int = 16
    classes: int = 10
    most: int = 16
    rows: int = 0  # of each class


class Panel(NamedTuple):
    """Points that differ in one number."""

    field: str
    heading: str
    values: tuple[int, ...]
    more: int  # multiplies the rows of a class


PANELS = (
    Panel("columns", "columns", (2, 4, 8, 16, 32, 64, 100, 200, 500, 1000), 1),
    Panel("classes", "classes", (2, 5, 10, 20, 50, 100, 200), 1),
    Panel("most", "components at most", (1, 2, 4, 8, 16, 32), PER_COMPONENT),
)


class Figures(NamedTuple):
    """What was measured of a point."""

    speed: float  # ratio to the reference
    rate: float  # rows per second
    size: int  # bytes
    components: float


def stream(point):
    """Rows and labels; the same ones for equal points."""
    rng = np.random.default_rng(20240)
    d, n = point.columns, point.rows * point.classes
    y = rng.permutation(np.arange(n) % point.classes)
    means = rng.normal(scale=3.0, size=(point.classes, MODES, d))
    return means[y, rng.integers(0, MODES, n)] + rng.standard_normal((n, d)), y


def run(point, X, y):
    """Seconds of test-then-train, and the model after it."""
    model = make_model(f"{MODEL}+max_components={point.most}", seed=1)
    start = time.perf_counter()
    model.prequential(X, y)
    return time.perf_counter() - start, model


def components(model):
    """Mean number of components of a class in a leaf."""
    state = model._state
    if isinstance(state.model, LowRankLeaves):
        return 1.0
    n = state.model.cells.n[state.tree.cells.leaf >= 0]
    return float(n[n > 0].mean())


def measure(panel, rows, rounds):
    """Figures of every point of a panel, by value."""
    reference = Point(rows=rows * panel.more)
    base = getattr(reference, panel.field)
    points = {value: reference._replace(**{panel.field: value}) for value in panel.values}
    streams = {value: stream(point) for value, point in points.items()}
    times = {value: [] for value in points}
    ratios = {value: [] for value in points}
    ends = {}
    run(points[base], *streams[base])  # compiles
    for _ in range(rounds):
        for value, point in points.items():
            X, y = streams[base]
            per_row = run(points[base], X, y)[0] / len(X)
            X, y = streams[value]
            seconds, model = run(point, X, y)
            times[value].append(seconds / len(X))
            ratios[value].append(per_row * len(X) / seconds)
            ends[value] = model.nbytes, components(model)
    return {
        value: Figures(
            statistics.median(ratios[value]),
            1.0 / statistics.median(times[value]),
            *ends[value],
        )
        for value in points
    }


def table(panel, figures):
    """A panel as a table, the reference in bold."""
    reference = Point()
    base = getattr(reference, panel.field)
    headings = (
        *(panel.heading, "rows/s, ratio", "rows/s", "components"),
        *("bytes, ratio", "KB", "KB a class"),
    )
    rows = []
    for value, own in figures.items():
        n_classes = value if panel.field == "classes" else reference.classes
        kilobytes = own.size / 1000.0
        rows.append(
            (
                *(str(value), f"{own.speed:.2f}", f"{own.rate:,.0f}", f"{own.components:.1f}"),
                f"{own.size / figures[base].size:.2f}",
                *(f"{kilobytes:,.0f}", f"{kilobytes / n_classes:,.1f}"),
            )
        )
    fixed = {
        other.field: f"{getattr(reference, other.field)} {other.heading}"
        for other in PANELS
        if other != panel
    }
    row = list(figures).index(base)
    return Table(
        name=f"growth-{panel.field}",
        title=f"By {panel.heading}",
        caption=f"With {' and '.join(fixed.values())}.",
        headings=headings,
        rows=tuple(rows),
        best=frozenset((row, column) for column in range(len(headings))),
    )


def draw(results):
    """Rates and bytes against what is changed."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots(2, len(PANELS), sharex="col", sharey="row")
    for column, panel in enumerate(PANELS):
        figures = results[panel.field]
        size = figures[getattr(Point(), panel.field)].size
        lines = (
            [own.speed for own in figures.values()],
            [own.size / size for own in figures.values()],
        )
        for axis, line, (colour, marks) in zip(axes[:, column], lines, LOOKS, strict=True):
            axis.axhline(1.0, color="#777777", lw=0.8, ls=":")
            axis.plot(list(figures), line, "o-", color=colour, ms=4, lw=1.8)
            axis.set(xscale="log", yscale="log")
            # Every other one is named where there are many: names must not touch.
            named = panel.values[:: 1 + len(panel.values) // 8]
            axis.set_xticks(named, [str(value) for value in named], fontsize=8)
            axis.set_yticks(marks, [f"{mark:g}" for mark in marks], fontsize=8)
            axis.minorticks_off()
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
        axes[1, column].set_xlabel(panel.heading)
    axes[0, 0].set_ylabel("rows/s, ratio")
    axes[1, 0].set_ylabel("bytes, ratio")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500, help="rows of each class")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    options = parser.parse_args()
    load = os.getloadavg()[0]
    results = {}
    for panel in PANELS:
        results[panel.field] = measure(panel, options.rows, options.rounds)
        print(to_markdown(table(panel, results[panel.field])), flush=True)
    machine = (SHARED if load > BUSY else ALONE).format(n=os.cpu_count(), load=load)
    text = INTRO.format(
        model=MODEL,
        modes=MODES,
        rounds=options.rounds,
        rows=options.rows,
        more=PER_COMPONENT * options.rows,
        command=f"benchmarks/growth.py --rows {options.rows} --rounds {options.rounds}",
        machine=machine,
    )
    tables = [to_markdown(table(panel, results[panel.field])).strip() for panel in PANELS]
    page, image = options.docs / "results" / "growth.md", options.docs / "images" / "growth.svg"
    for path in (page, image):
        path.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join([text, *tables]) + "\n", encoding="utf-8")
    matplotlib.rcParams["svg.hashsalt"] = "mist"  # the same file for the same figures
    draw(results).savefig(image, metadata={"Date": None})
    print(page, image, sep="\n")


if __name__ == "__main__":
    main()
