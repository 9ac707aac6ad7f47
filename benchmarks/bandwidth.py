"""Sweep the bandwidth of MIST-K on training rows only; the default lies on the plateau.

    python benchmarks/bandwidth.py

For the seeds 1 to 5 the training part of each data set (80 %, stratified) is divided once
more in the same way: MIST-K learns the one part and is tested on the other. Prints mean class
recall for every set and bandwidth, and for MIST-G beside it. The data sets must be at hand,
see `mist data list`.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

from mist import MistClassifier
from mist.datasets import load

BANDWIDTHS = [0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0, 2.0]
NAMES = [
    "wine",
    "iris",
    "pendigits",
    "letter",
    "satimage",
    "optdigits",
    "shuttle",
    "outdoor",
    "electricity",
    "covertype",
    "hapt",
    "isolet_1_5",
]
MOST_ROWS, MOST_WIDE_ROWS = 6000, 2500


def parts(X, y, seed):
    """Rows to learn and rows to test, both from the training part of the split."""
    X, _, y, _ = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    most = MOST_ROWS if X.shape[1] < 100 else MOST_WIDE_ROWS
    rows = np.random.default_rng(seed).permutation(len(y))[:most]
    X, y = X[rows], y[rows]
    labels, counts = np.unique(y, return_counts=True)
    common = np.isin(y, labels[counts >= 5])
    X, y = X[common], y[common]
    return train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)


def recall(model, split):
    """Mean class recall on the test rows after one pass over the rows to learn."""
    X, X_test, y, y_test = split
    answers = model.partial_fit(X, y).predict(X_test)
    return np.mean([np.mean(answers[y_test == label] == label) for label in np.unique(y_test)])


def main():
    table = Table("data set", *(str(b) for b in BANDWIDTHS), "MIST-G")
    rows = []
    for name in NAMES:
        data = load(name)
        splits = [parts(data.X, data.y, seed) for seed in range(1, 6)]
        models = [("K", {"bandwidth": b}) for b in BANDWIDTHS] + [("G", {})]
        rows.append(
            [
                np.mean([recall(MistClassifier.paper(kind, **options), split) for split in splits])
                for kind, options in models
            ]
        )
        table.add_row(name, *(f"{v:.3f}" for v in rows[-1]))
    table.add_section()
    table.add_row("mean", *(f"{v:.3f}" for v in np.mean(rows, axis=0)))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
