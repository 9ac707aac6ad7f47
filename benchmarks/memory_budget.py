"""Recall, size and speed of the default model under memory budgets, written as a Markdown table.

Each set is learnt in class-incremental order, two classes at a time, as by `calibration.py`, with
0/1 columns declared. Recall is the mean recall over the held-out rows of all classes at the end.
The size is the largest after any call, which may not exceed the budget. A first run, which is not
measured, loads compiled code.

    python benchmarks/memory_budget.py                    # all sets, five seeds
    python benchmarks/memory_budget.py letter --seeds 42 --megabytes 1 8
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from calibration import binary_columns, stream_of

from mist import MistClassifier
from mist_bench.suites import SEEDS

Array = np.ndarray[Any, Any]

SETS = ("letter", "covertype", "mnist")
MEGABYTES = (1, 8, 64)
MB = 2**20
_BATCH = 500
_WARM_UP = 2000


def recall(model: MistClassifier, X: Array, y: Array) -> float:
    """Mean recall over the classes."""
    right = model.predict(X) == y
    return float(np.mean([right[y == label].mean() for label in np.unique(y)]))


def measure(
    name: str, seed: int, max_bytes: int | None, most_rows: int | None
) -> tuple[float, ...]:
    """Mean recall, largest bytes after a call, rows per second and leaves."""
    tasks, X, y = stream_of(name, seed)
    binary = binary_columns(name, seed)
    model = MistClassifier(max_bytes=max_bytes, categorical_features=binary)
    largest, seconds, n_rows = 0, 0.0, 0
    for rows, labels in tasks:
        for start in range(0, len(rows) if most_rows is None else most_rows, _BATCH):
            part = slice(start, start + _BATCH)
            if not len(rows[part]):
                break
            began = time.perf_counter()
            model.partial_fit(rows[part], labels[part])
            seconds += time.perf_counter() - began
            n_rows += len(rows[part])
            largest = max(largest, model.nbytes)
    if max_bytes is not None and largest > max_bytes:
        raise AssertionError(f"{largest} bytes exceed the budget of {max_bytes}")
    return recall(model, X, y), largest, n_rows / seconds, model.n_leaves_


def row_of(name: str, megabytes: int | None, seeds: list[int], most_rows: int | None) -> str:
    """One row of the table."""
    max_bytes = None if megabytes is None else megabytes * MB
    try:
        found = np.array([measure(name, seed, max_bytes, most_rows) for seed in seeds])
    except ValueError as error:
        if "max_bytes" not in str(error):
            raise
        return f"| {name} | {megabytes} MB | refused | | | |"
    mean = found.mean(axis=0)
    budget = "none" if megabytes is None else f"{megabytes} MB"
    size = f"{found[:, 1].max() / MB:.2f} MB"
    return f"| {name} | {budget} | {mean[0]:.3f} | {size} | {mean[2]:,.0f} | {mean[3]:.0f} |"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--megabytes", nargs="+", type=int, default=list(MEGABYTES))
    parser.add_argument("--most-rows", type=int, help="rows of each task, the first ones")
    given = parser.parse_args()
    print("| set | budget | mean recall | largest size | rows/s | leaves |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in given.names:
        measure(name, given.seeds[0], None, _WARM_UP)
        for megabytes in (*given.megabytes, None):
            print(row_of(name, megabytes, given.seeds, given.most_rows), flush=True)


if __name__ == "__main__":
    main()
