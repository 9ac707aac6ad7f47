"""Draw docs/images/forgetting.svg: accuracy on all classes seen so far while classes arrive.

    python benchmarks/forgetting.py [--out docs/images/forgetting.svg]

Stream S3 of speed/streams.py: 50 classes, two at a time. After every task each model answers the
held-out rows of the classes that have arrived. One MIST-G is made to split early and often, with
and without inheritance, to show what a split costs.
"""

from __future__ import annotations

import argparse

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from river import tree
from speed.streams import make

from mist import MistClassifier

EAGER = {"grace_period": 20, "split_test": "gain", "union_bound": False}


class River:
    """river's tree behind the two calls that are needed here."""

    def __init__(self):
        self.model = tree.HoeffdingTreeClassifier()

    def partial_fit(self, X, y):
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)

    def predict(self, X):
        return np.array([self.model.predict_one(dict(enumerate(x))) for x in X.tolist()])

    @property
    def n_leaves_(self):
        return self.model.n_leaves


MODELS = {
    "MIST": (MistClassifier, {}, "#1f6fb4", "-"),
    "MIST-G, made to split often": (MistClassifier.paper, EAGER, "#2a9d8f", "--"),
    "the same without inheritance": (
        MistClassifier.paper,
        {**EAGER, "inheritance": None},
        "#d95f0e",
        "--",
    ),
    "river, Hoeffding tree": (River, {}, "#777777", "-"),
}


def curve(model, stream):
    """Classes seen and accuracy on them, after every task."""
    X, y, X_test, y_test = stream
    seen, accuracy = [], []
    for first in range(0, int(y.max()) + 1, 2):
        rows = (y == first) | (y == first + 1)
        model.partial_fit(X[rows], y[rows])
        held_out = y_test <= first + 1
        if held_out.any():
            seen.append(first + 2)
            accuracy.append(np.mean(model.predict(X_test[held_out]) == y_test[held_out]))
    return seen, accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="docs/images/forgetting.svg")
    stream = make("S3", n_test=3000)
    matplotlib.rcParams["svg.hashsalt"] = "mist"  # the same file at every run
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for name, (kind, options, colour, style) in MODELS.items():
        model = kind(**options)
        seen, accuracy = curve(model, stream)
        axes.plot(seen, accuracy, style, color=colour, label=name, lw=1.8)
        print(f"{name}: {accuracy[-1]:.3f} at the end, {model.n_leaves_} leaves")
    axes.set(xlabel="classes that have arrived", ylabel="held-out accuracy on all of them")
    axes.set(ylim=(0, 1.03), xlim=(2, 50))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=10, loc="upper right", bbox_to_anchor=(1, 0.93))
    figure.savefig(parser.parse_args().out, metadata={"Date": None})


if __name__ == "__main__":
    main()
