"""Results made up for the tests of the report on runs and its plots."""

import math

import numpy as np

from mist.evaluation import StreamResult
from mist.report import Section


def result(
    model="MIST-G", dataset="wine", n_rows=300, tasks=3, leaves=(1, 2, 4), seed=0, **changes
):
    rng = np.random.default_rng(seed)
    matrix = np.tril(rng.uniform(0.5, 1, (tasks, tasks)))
    matrix[np.triu_indices(tasks, 1)] = np.nan
    correct = rng.random(n_rows) < 0.8
    fields = {
        "model": model,
        "dataset": dataset,
        "seed": 42,
        "accuracy_matrix": matrix,
        "final_accuracy": 0.91236,
        "mean_class_recall": 0.9,
        "average_forgetting": -0.0125,
        "backward_transfer": 0.0,
        "prequential_accuracy": float(correct.mean()),
        "correct": correct,
        "boundaries": np.array([100, 200, 300]),
        "n_leaves": np.array(leaves),
        "n_splits": np.array(leaves) - 1,
        "checkpoints": np.array([100, 200, 300]),
        "leaves_curve": np.array(leaves),
        "nbytes": 2048,
        "seconds": 0.5,
        "rows_per_second": 123456.7,
    }
    return StreamResult(**(fields | changes))


def without_tasks(**changes):
    return result(
        accuracy_matrix=np.zeros((0, 0)),
        final_accuracy=math.nan,
        average_forgetting=math.nan,
        **changes,
    )


def section(*results, **changes):
    fields = {
        "dataset": "wine",
        "description": "300 rows.",
        "results": results or (result(), result("MIST-K", seed=1)),
        "borders": np.array([100, 200]),
        "border_labels": ["task 2", "task 3"],
    }
    return Section(**(fields | changes))


SETTINGS = {
    "MIST-G": {"leaf": "gaussian", "delta": 0.1, "categorical_features": list(range(50))},
    "MIST-K": {"leaf": "sketch", "delta": 0.1, "categorical_features": None},
}
