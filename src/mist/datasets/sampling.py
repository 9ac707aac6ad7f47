"""Random draws and checks for the generators of synthetic classes."""

import numpy as np
from numpy.typing import NDArray


def check_counts(**counts: int) -> None:
    """Refuse sizes below 1 and fewer rows than classes."""
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name}={count} must be at least 1")
    if counts["n_samples"] < counts["n_classes"]:
        raise ValueError(
            f"n_samples={counts['n_samples']} is too few: each of the "
            f"{counts['n_classes']} classes needs a row"
        )


def check_positive(**values: float) -> None:
    """Refuse values that are not above 0."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name}={value} must be above 0")


def balanced_labels(n_samples: int, n_classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw labels in random order, the classes as equal in size as possible."""
    return rng.permutation(np.arange(n_samples, dtype=np.int64) % n_classes)


def directions(n_directions: int, n_features: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw random unit vectors, one a row."""
    return normalise(rng.standard_normal((n_directions, n_features)))


def normalise(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale every row to length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
