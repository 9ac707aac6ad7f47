"""Gini gain or gain in likelihood for naive Bayes leaves: mean class recall after a stream.

    MIST_DATA=FOLDER python benchmarks/criteria.py [--seeds 1 2 3 4 5]

On streams cut from the training rows of each set, with development seeds. Leaves split on a
schedule with joint inheritance; figures are the recall and, in brackets, the splits.
"""

from __future__ import annotations

import argparse

import numpy as np
from scaling import training_rows

from mist import MistClassifier
from mist.evaluation import ClassIncrementalStream, class_recall
from mist_bench import SETTINGS

SETS = ("pendigits", "letter", "satimage", "digits", "shuttle", "covertype")
LEAVES = ("gaussian", "sketch")
RULES = (
    ("no split", {"max_leaves": 1}),
    *(
        (f"{criterion}, {rows} rows", {"criterion": criterion, "rows_per_split": rows})
        for criterion in ("gini", "likelihood")
        for rows in (500, 200, 50)
    ),
)
COMMON = {
    "split_test": "schedule",
    "inheritance": "joint",
    "discount": 1.0,
    "class_prior": "balanced",
    "grace_period": 50,
}


def recall_and_splits(name, seed, options):
    X, y = training_rows(name, seed)
    per_task = SETTINGS[name].classes_per_task
    stream = ClassIncrementalStream(X, y, classes_per_task=per_task, protocol="honest", seed=seed)
    X_test = np.vstack([task.X_test for task in stream])
    y_test = np.concatenate([task.y_test for task in stream])
    model = MistClassifier.from_settings(**COMMON, **options).partial_fit(
        stream.X_train, stream.y_train
    )
    return class_recall(y_test, model.predict(X_test))[1].mean(), model.n_splits_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    seeds = parser.parse_args().seeds
    print("| leaf | rule |", " | ".join(SETS), "|")
    print("|---|---|", "|".join(["--:"] * len(SETS)), "|", sep="")
    for leaf in LEAVES:
        for rule, options in RULES:
            cells = []
            for name in SETS:
                runs = [recall_and_splits(name, seed, {"leaf": leaf, **options}) for seed in seeds]
                recall, splits = np.mean(runs, axis=0)
                cells.append(f"{recall:.3f} ({splits:.0f})")
            print(f"| {leaf} | {rule} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
