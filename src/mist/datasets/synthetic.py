"""Generators of classes that are Gaussians or mixtures of Gaussians."""

import numpy as np
from numpy.typing import NDArray

from mist.datasets.sampling import balanced_labels, check_counts

_MODE_DISTANCE = 6.0
"""Distance of the two closest modes in standard deviations: they hardly overlap."""


def make_gaussian_classes(
    n_samples: int = 5000,
    n_classes: int = 10,
    n_features: int = 10,
    spread: float = 1.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes that are round Gaussians with means drawn uniformly from [0, 5) per feature.

    Parameters
    ----------
    n_samples : int, default=5000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=10
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    spread : float, default=1.0
        Standard deviation of every feature within a class, at least 0.
    seed : int, default=0
        Seed of means, rows and their order.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in random order.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows than classes, or `spread` is negative.

    Examples
    --------
    >>> from mist.datasets import make_gaussian_classes
    >>> X, y = make_gaussian_classes(n_samples=200, n_classes=4, n_features=3, spread=0.5)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 3), [0, 1, 2, 3])
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    if not spread >= 0:
        raise ValueError(f"spread={spread} must be a standard deviation, at least 0")
    rng = np.random.default_rng(seed)
    means = rng.uniform(0, 5, (n_classes, n_features))
    y = balanced_labels(n_samples, n_classes, rng)
    return rng.normal(means[y], spread), y


def make_multimodal(
    n_samples: int = 4000, n_classes: int = 8, n_features: int = 10, modes: int = 3, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes that are mixtures of well-separated Gaussian modes.

    Every mode is a round Gaussian of unit variance. Their centres point in random directions and
    are scaled so that the closest two of all classes are 6 standard deviations apart. One Gaussian
    per class cannot describe such classes. This is the setting of the Multimodal stress test of
    the paper (there K = 8, d = 10, 3 modes), which does not state the distance of the modes.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    modes : int, default=3
        Modes of each class, equally likely.
    seed : int, default=0
        Seed of centres, rows and their order.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in random order.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1 or there are fewer rows than classes.

    Examples
    --------
    >>> from mist.datasets import make_multimodal
    >>> X, y = make_multimodal(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 10), 7)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features, modes=modes)
    rng = np.random.default_rng(seed)
    centres = _spaced_centres(n_classes * modes, n_features, rng)
    y = balanced_labels(n_samples, n_classes, rng)
    mode = rng.integers(modes, size=n_samples)
    return rng.normal(centres[y * modes + mode]), y


def _spaced_centres(
    n_centres: int, n_features: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw random centres whose closest pair is `_MODE_DISTANCE` apart."""
    centres = rng.standard_normal((n_centres, n_features))
    if n_centres == 1:
        return centres
    distance = np.linalg.norm(centres[:, None] - centres, axis=-1)
    closest = float(distance[~np.eye(n_centres, dtype=bool)].min())
    return centres * (_MODE_DISTANCE / closest)
