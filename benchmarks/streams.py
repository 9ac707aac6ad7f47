"""Class-incremental Gaussian streams on which models are compared: two classes a task."""

from __future__ import annotations

import numpy as np

# name: columns, classes, rows, standard deviation within a class
SHAPES = {
    "S1": (54, 6, 20_000, 1.0),
    "S2": (50, 10, 20_000, 1.0),
    "S3": (10, 50, 50_000, 0.3),
    "S4": (561, 6, 7_000, 1.0),
}


def make(name, seed=20240, n_test=1000):
    """Training rows and labels in stream order, then held-out rows and labels of all classes."""
    d, n_classes, n, sigma = SHAPES[name]
    rng = np.random.default_rng(seed + int(name[1:]))
    means = rng.uniform(0.0, 5.0, size=(n_classes, d))
    task = np.sort(np.arange(n) % n_classes) // 2
    y = np.concatenate(
        [
            rng.permutation(2 * t + np.arange(np.sum(task == t)) % 2)
            for t in range((n_classes + 1) // 2)
        ]
    )
    X = means[y] + sigma * rng.standard_normal((n, d))
    y_test = rng.integers(0, n_classes, size=n_test)
    return X, y, means[y_test] + sigma * rng.standard_normal((n_test, d)), y_test
