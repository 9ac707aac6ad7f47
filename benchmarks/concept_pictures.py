"""Draw the pictures of docs/concepts: the split test, inheritance, sketches.

    python benchmarks/concept_pictures.py [--out docs/images]

Every curve comes from the engine: radii and gains from its criterion, the two children from a tree
that splits, the sketch from a leaf that has learnt. Colours are told once more by dashes, and texts
take the light or dark scheme of whoever looks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mist import MistClassifier
from mist.engine.criterion import radius
from mist.engine.joint import class_covariance
from mist.engine.kll import total_weight
from mist.engine.state import M2, MEAN, leaf_cells
from mist.files import write_text
from mist.report.style import INK, WIDTH, style, to_svg
from mist_paper.theory.sensitivity import climb
from mist_paper.theory.sketches import class_sketches, stored_column

SCHEME = "<style>svg{color:#24272b}@media(prefers-color-scheme:dark){svg{color:#d9dce1}}</style>"
BLUE, ORANGE, GREEN = "#2f7fd1", "#d9661f", "#1f9e77"
LINES = (
    {"color": BLUE, "linestyle": "-", "linewidth": 2.3},
    {"color": ORANGE, "linestyle": (0, (6, 2)), "linewidth": 2.3},
    {"color": GREEN, "linestyle": (0, (2, 1.5)), "linewidth": 2.3},
)
DELTA = 0.1
COLUMNS = 10


def panels(n, height, **kw):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    axes = figure.subplots(1, n, **kw)
    for ax in axes:
        ax.title.set_size(10.5)
    return figure, axes


def split_test():
    """What one row can change, and the radius that follows, against the number of classes."""
    figure, (left, right) = panels(2, 3.2)
    classes = [2, 3, 5, 8, 12, 20]
    found = [climb(1000, k, 4, 1) for k in classes]
    most = [max(change["same"]["value"], change["cross"]["value"]) for change in found]
    left.axhline(4, color=INK, lw=1.2, ls=(0, (6, 3)))
    left.text(20, 4.08, "limit for any number of classes: 4", ha="right", va="bottom")
    left.plot(classes, most, "o", color=BLUE, ms=7)
    left.set(ylim=(0, 5), xlim=(0, 21), xticks=[2, 5, 10, 15, 20], xlabel="classes at the leaf")
    left.set_title(
        "Largest change of the Gini gain when one of\n1,000 rows is replaced, times 1,000"
    )

    many = np.unique(np.geomspace(2, 1000, 60).astype(int))
    shared = {"delta": DELTA, "n_features": COLUMNS}
    curves = {
        "McDiarmid, Gini gain (MIST)": [
            radius("mcdiarmid", 1, n_thresholds=k - 1, **shared) for k in many
        ],
        "Hoeffding, information gain": [
            radius("hoeffding", 1, n_thresholds=k - 1, n_classes=k, entropy=True, **shared)
            for k in many
        ],
    }
    for line, (name, values) in zip(LINES, curves.items(), strict=False):
        growth = np.divide(values, values[0])
        right.plot(many, growth, **line)
        above = growth[-1] > 5
        where = (150, 8.2) if above else (150, 1.85)
        right.text(*where, name, ha="right" if above else "center", color=INK)
        print(f"{name}: grows to {growth[-1]:.2f} times at 1,000 classes")
    right.set_xscale("log")
    right.set(ylim=(0, 10.5), xlim=(2, 1000), xlabel="classes at the leaf")
    right.set_xticks([2, 10, 100, 1000], ["2", "10", "100", "1,000"])
    right.set_title("Radius of the split test,\nin units of that with two classes")
    return figure


NAMES = "ABC"
MEANS = ([0.3, 0.3], [-1.9, 1.6], [2.4, 0.1])
SPREAD = [[1.0, 0.8], [0.8, 1.0]]


def before_and_after(inheritance):
    """Rows and classes, and what a tree knows just before and just after its first split.

    Class A comes first and has ended long before the split; 600 rows of each class.
    """
    rng = np.random.default_rng(3)
    parts = [rng.multivariate_normal(mean, SPREAD, 600) for mean in MEANS]
    mixed = rng.permutation(1200)
    X = np.vstack([parts[0], np.vstack(parts[1:])[mixed]])
    y = np.concatenate([np.zeros(600, int), np.repeat([1, 2], 600)[mixed]])
    model = MistClassifier.paper(
        inheritance=inheritance,
        discount=1.0,
        split_test="schedule",
        rows_per_split=len(X),
        grace_period=len(X),
    )
    parent = cells_of(model.partial_fit(X[:-1], y[:-1]))
    children = cells_of(model.partial_fit(X[-1:], y[-1:]))
    (split,) = model.split_log_
    assert split.feature == 0
    return X, y, split.threshold, parent[0], children


def cells_of(model):
    """For every leaf: class -> mass, mean and covariance."""
    state = model._state
    joint = model.settings()["inheritance"] == "joint"
    leaves = []
    for leaf in range(model.n_leaves_):
        known = {}
        for cell in leaf_cells(state.tree, leaf):
            record = state.tree.cells[cell]
            variance = state.tree.stats[cell, M2] / record.weight
            spread = class_covariance(state, cell) if joint else np.diag(variance)
            known[int(record.code)] = (record.mass, state.tree.stats[cell, MEAN].copy(), spread)
        leaves.append(known)
    return leaves


def inheritance():
    """The classes of a leaf in the split column, and those of its two children."""
    _, _, threshold, parent, children = before_and_after("gaussian")
    figure, axes = panels(3, 3.0, sharey=True)
    x = np.linspace(-6, 6.5, 600)
    titles = ("The leaf before its split", "Left child, no row yet", "Right child, no row yet")
    for ax, title, cells in zip(axes, titles, [parent, *children], strict=True):
        for code, line in enumerate(LINES):
            if code in cells:
                mass, mean, spread = cells[code]
                density = mass * np.exp(-((x - mean[0]) ** 2) / (2 * spread[0, 0]))
                density /= np.sqrt(2 * np.pi * spread[0, 0])
                ax.plot(x, density, **line)
                top = density.argmax()
                ax.text(x[top], density[top] + 8, NAMES[code], ha="center", va="bottom")
        ax.axvline(threshold, color=INK, lw=1.2, ls=(0, (2, 2)))
        ax.set_title(title)
        ax.set(xlabel="split column", yticks=[], xlim=(-6, 6.5))
        ax.spines["left"].set_visible(False)
    top = axes[0].get_ylim()[1]
    axes[0].set_ylim(0, 1.12 * top)
    axes[2].text(threshold - 0.2, top, "threshold", ha="right", va="top")
    for cells in children:
        print("child:", {NAMES[k]: (round(m), mean.round(2)) for k, (m, mean, _) in cells.items()})
    return figure


def joint():
    """The class that has ended, in two columns: what the children know of it, and where it lies."""
    figure, axes = panels(2, 3.9, sharey=True, sharex=True)
    titles = {
        "gaussian": "inheritance='gaussian':\nthe split column alone changes",
        "joint": "inheritance='joint':\nall columns follow",
    }
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = 2 * np.vstack([np.cos(turn), np.sin(turn)])
    for ax, (kind, title) in zip(axes, titles.items(), strict=True):
        X, y, threshold, _, children = before_and_after(kind)
        rows = X[y == 0][::3]
        ax.plot(*rows.T, ".", color=INK, ms=2.5, alpha=0.45)
        for cells, line in zip(children, LINES, strict=False):
            _, mean, spread = cells[0]
            outline = mean[:, None] + np.linalg.cholesky(spread) @ circle
            ax.plot(*outline, **line)
            ax.plot(*mean, marker="P", ms=9, color=line["color"])
        ax.axvline(threshold, color=INK, lw=1.2, ls=(0, (2, 2)))
        ax.set_title(title)
        ax.set(xlabel="split column", xlim=(-3.5, 4), ylim=(-3.5, 4))
        ax.set_aspect("equal")
    axes[0].set_ylabel("another column")
    axes[0].text(threshold + 0.12, -3.3, "threshold")
    return figure


def sketch():
    """How many rows a sketch holds, and the distribution function it stands for."""
    figure, (left, right) = panels(2, 3.2)
    rng = np.random.default_rng(5)
    rows = np.where(
        rng.random(200_000) < 0.6, rng.normal(0, 1, 200_000), rng.gamma(2.0, 1.5, 200_000) + 2
    )
    learnt = np.unique(np.geomspace(10, 200_000, 40).astype(int))
    held = []
    for n in learnt:
        state = class_sketches(rows[:n, None], np.zeros(n, int), 64, 0)
        assert total_weight(state.sketch, 0) == n
        held.append(len(stored_column(state, 0, 0)[0]))
    left.plot(learnt, learnt, color=INK, lw=1.2, ls=(0, (6, 3)))
    left.plot(learnt, held, color=BLUE, lw=2.2)
    left.text(40, 105, "all rows", rotation=63, ha="center", va="center")
    left.text(6000, max(held) * 1.06, f"sketch: {held[-1]} rows", ha="center")
    left.set(xscale="log", ylim=(0, 300), xlim=(10, 200_000), xlabel="rows of the class learnt")
    left.set_xticks([10, 1000, 100_000], ["10", "1,000", "100,000"])
    left.set_title("Values kept of a column")

    n = 20_000
    values, ranks = stored_column(class_sketches(rows[:n, None], np.zeros(n, int), 64, 0), 0, 0)
    exact = np.sort(rows[:n])
    error = np.abs(ranks - np.searchsorted(exact, values, side="right") / n).max()
    right.step(values, ranks, where="post", color=ORANGE, lw=2.4, label="")
    right.plot(
        exact[:: n // 400],
        np.linspace(0, 1, 400, endpoint=False),
        color=INK,
        lw=1.1,
        ls=(0, (4, 2)),
    )
    right.text(
        5.2,
        0.62,
        f"dashed: all {n:,} rows\nsteps: sketch of {len(values)} values\n"
        f"largest error of a rank: {error:.3f}",
    )
    right.set(xlim=(-4, 14), ylim=(0, 1.02), xlabel="value")
    right.set_title("Share of the rows up to a value")
    print(f"sketch: {held[-1]} values after 200,000 rows; largest rank error {error:.4f}")
    return figure


PICTURES = {
    "concept-split-test": split_test,
    "concept-inheritance": inheritance,
    "concept-joint": joint,
    "concept-sketch": sketch,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    folder = parser.parse_args().out
    for name, draw in PICTURES.items():
        with style():
            svg = to_svg(draw())
        end_of_tag = svg.index(">") + 1
        write_text(folder / f"{name}.svg", svg[:end_of_tag] + SCHEME + svg[end_of_tag:] + "\n")


if __name__ == "__main__":
    main()
