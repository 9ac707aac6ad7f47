"""How columns are best standardised on a stream: mean class recall after it.

    MIST_DATA=FOLDER python benchmarks/scaling.py [--seeds 1 2 3]

Methods that need columns of like scale, on streams cut from the training rows of each set, with
development seeds. raw: as they are. running: by the rows so far, all along. first: by the rows so
far, frozen after the first task or 1,000 rows, as `ClassIncrementalStream(scale=True)` does it.
all: by all rows, held-out ones among them, which no stream allows.
"""

from __future__ import annotations

import argparse

import numpy as np

from mist.datasets import load
from mist.evaluation import ClassIncrementalStream, class_recall
from mist.evaluation.scaling import standardise, standardise_as_they_come
from mist_bench import SETTINGS
from mist_bench.methods import make

METHODS = ("ncm", "rls", "random-feature-rls", "pec")
SETS = ("iris", "wine", "digits", "satimage", "pendigits", "letter", "shuttle", "covertype")
MOST_ROWS = 4000
FEWEST_ROWS = 5


def training_rows(name, seed):
    """Rows of the training part only: the held-out ones are for comparisons."""
    setting = SETTINGS[name]
    table = load(setting.dataset, **setting.load_options(seed, "honest"))
    stream = ClassIncrementalStream(table.X, table.y, seed=seed)
    kept = np.random.default_rng(seed).permutation(stream.n_rows)[:MOST_ROWS]
    X, y = stream.X_train[kept], stream.y_train[kept]
    classes, counts = np.unique(y, return_counts=True)
    common = np.isin(y, classes[counts >= FEWEST_ROWS])
    return X[common], y[common]


def recall(method, name, how, seed):
    X, y = training_rows(name, seed)
    stream = ClassIncrementalStream(
        X,
        y,
        classes_per_task=SETTINGS[name].classes_per_task,
        protocol="honest",
        scale=how == "first",
        seed=seed,
    )
    X_test = np.vstack([stream.prepare(task.X_test, stream.n_rows) for task in stream])
    y_test = np.concatenate([task.y_test for task in stream])
    X_train = stream.X_train
    if how == "running":
        X_test, X_train = standardise(X_test, X_train), standardise_as_they_come(X_train)
    elif how == "all":
        X_test, X_train = standardise(X_test, X), standardise(X_train, X)
    model = make(method, seed=seed).partial_fit(X_train, stream.y_train)
    return class_recall(y_test, model.predict(X_test))[1].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    seeds = parser.parse_args().seeds
    ways = ("raw", "running", "first", "all")
    print("| method | data set |", " | ".join(ways), "|")
    print("|---|---|", "|".join(["--:"] * len(ways)), "|", sep="")
    for method in METHODS:
        total = []
        for name in SETS:
            means = [np.mean([recall(method, name, how, seed) for seed in seeds]) for how in ways]
            total.append(means)
            print(f"| {method} | {name} |", " | ".join(f"{m:.3f}" for m in means), "|", flush=True)
        print(f"| {method} | mean |", " | ".join(f"{m:.3f}" for m in np.mean(total, axis=0)), "|")


if __name__ == "__main__":
    main()
