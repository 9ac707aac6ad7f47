"""Records made up for the tests of tables and pages."""

import numpy as np

from mist_bench import Record, Run

SEEDS = (42, 123, 456)


def plan(methods=("mist-g", "vfdt", "slda"), datasets=("wine", "iris"), seeds=SEEDS):
    return [Run(d, m, s, "honest") for d in datasets for s in seeds for m in methods]


def record(run, accuracy=0.8, *, tasks=3, classes=("0", "1", "2"), measures=None, **changes):
    rng = np.random.default_rng(run.seed)
    matrix = rng.uniform(0.4, 0.6, (tasks, tasks)).tolist()
    fields = {
        "measures": {
            "final_accuracy": accuracy,
            "average_forgetting": 0.0625,
            "leaves": 5.0 if run.method in ("mist-g", "mist-k", "vfdt") else None,
            "nbytes": 2048.0,
            "rows_per_second": 1234.0 + run.seed,
            **(measures or {}),
        },
        "accuracy_matrix": [
            [value if j <= i else None for j, value in enumerate(row)]
            for i, row in enumerate(matrix)
        ],
        "boundaries": [100 * (task + 1) for task in range(tasks)],
        "curves": {
            "rows": [1, 150, 300],
            "windowed_accuracy": [0.0, 0.5, accuracy],
            "evaluation_rows": [150, 300],
            "seen_accuracy": [0.9, accuracy],
        },
        "recall": dict.fromkeys(classes, accuracy),
        "shape": {
            "rows": 300,
            "held_out": 60,
            "columns": 13,
            "classes": len(classes),
            "tasks": tasks,
        },
        "settings": {"delta": 0.1, "random_state": run.seed},
        "seconds": 1.5,
    }
    return Record(run, **(fields | changes))


def records_of(runs, accuracies=None):
    """One record a run; accuracy by method, a hundredth more with each seed."""
    accuracies = accuracies or {"mist-g": 0.9, "vfdt": 0.7, "slda": 0.8}
    seeds = sorted({run.seed for run in runs})
    return [
        record(run, accuracies.get(run.method, 0.5) + 0.01 * seeds.index(run.seed)) for run in runs
    ]
