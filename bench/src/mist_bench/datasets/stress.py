"""The paper's stress tests: generators of classes with shapes that some models cannot fit.

The paper names the shapes, K and d. Everything else was chosen on development seeds so that plain
Gaussian models reach the paper's accuracies; see the page on data sets in the documentation.
"""

import numpy as np
from numpy.typing import NDArray

from mist.datasets.sampling import (
    balanced_labels,
    check_counts,
    check_positive,
    directions,
    normalise,
)

_MINORITY = 0.1
"""Share of the smaller mode of a skewed class."""

_DEGREES_OF_FREEDOM = 2
"""Degrees of freedom of Student's t: the mean exists, the variance does not."""

_CAP_WIDTH = 0.25
"""Standard deviation of the directions of a class on its shell, per axis."""

_SHELL_THICKNESS = 0.5
"""Standard deviation of the distance from the origin."""

_ARCS = 3
"""Sectors a class: the fewest for which the covariance on the plane is a multiple of I."""


def make_skewed(
    n_samples: int = 4000,
    n_classes: int = 8,
    n_features: int = 10,
    spread: float = 3.0,
    distance: float = 6.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes with a large mode, and a small mode next to another class.

    The large mode has nine rows in ten and its centre is drawn from a spherical Gaussian. The
    small mode of class c is in a random direction from the large mode of class c + 1 (of class 0
    for the last class). Every mode is a spherical Gaussian of unit variance.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    spread : float, default=3.0
        Standard deviation of the large modes' centres, per feature.
    distance : float, default=6.0
        Distance from a small mode to the large mode next to it, in standard deviations of a mode.
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
        If a count is below 1, there are fewer rows than classes, or a length is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_skewed
    >>> X, y = make_skewed(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 10), 7)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    check_positive(spread=spread, distance=distance)
    rng = np.random.default_rng(seed)
    large = rng.normal(0, spread, (n_classes, n_features))
    small = np.roll(large, -1, axis=0) + distance * directions(n_classes, n_features, rng)
    y = balanced_labels(n_samples, n_classes, rng)
    minority = rng.random(n_samples) < _MINORITY
    return rng.normal(np.where(minority[:, None], small[y], large[y])), y


def make_angular_sectors(
    n_samples: int = 2000,
    n_classes: int = 4,
    n_features: int = 8,
    noise: float = 0.2,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes that are sectors of one ring and have the same mean and covariance.

    Features 0 and 1 are on the unit circle. Each class has three sectors of 120 / K degrees,
    120 degrees apart. A turn by 120 degrees maps a class onto itself, so its mean is zero and its
    covariance on the plane is I / 2, whatever the class: no model of means and covariances can
    separate the classes. The other features are standard normal noise.

    Parameters
    ----------
    n_samples : int, default=2000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=4
        Classes K, at most n.
    n_features : int, default=8
        Columns d, at least 2.
    noise : float, default=0.2
        Standard deviation of the noise on features 0 and 1, at least 0.
    seed : int, default=0
        Seed of rows and their order.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in random order.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows than classes or than 2 features, or `noise` is
        negative.

    Examples
    --------
    >>> from mist_bench.datasets import make_angular_sectors
    >>> X, y = make_angular_sectors(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 8), 3)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    if n_features < 2:
        raise ValueError(f"n_features={n_features} is too few: a ring needs 2")
    if not noise >= 0:
        raise ValueError(f"noise={noise} must be a standard deviation, at least 0")
    rng = np.random.default_rng(seed)
    y = balanced_labels(n_samples, n_classes, rng)
    arc = rng.integers(_ARCS, size=n_samples)
    angle = 2 * np.pi / _ARCS * ((y + rng.random(n_samples)) / n_classes + arc)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = rng.standard_normal((n_samples, n_features))
    X[:, :2] = ring + noise * X[:, :2]
    return X, y


def make_antipodal(
    n_samples: int = 4000,
    n_classes: int = 8,
    n_features: int = 10,
    radius: float = 6.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes of two opposite clusters on a sphere.

    The two clusters of a class have equal size and unit variance, on opposite sides of the origin.
    So all class means are zero and only the covariances differ.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes, and the clusters in them, are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    radius : float, default=6.0
        Distance from the origin to every cluster, in standard deviations of a cluster.
    seed : int, default=0
        Seed of directions, rows and their order.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in random order.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows than classes, or `radius` is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_antipodal
    >>> X, y = make_antipodal(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 10), 7)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    check_positive(radius=radius)
    rng = np.random.default_rng(seed)
    centres = radius * directions(n_classes, n_features, rng)
    order = rng.permutation(np.arange(n_samples, dtype=np.int64))
    y = order % n_classes
    side = 1 - 2 * (order // n_classes % 2)
    return rng.normal(side[:, None] * centres[y]), y


def make_ring(
    n_samples: int = 3000,
    n_classes: int = 6,
    n_features: int = 8,
    inner: float = 3.0,
    outer: float = 6.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes that are caps of concentric hyperspheres.

    Class c is on the shell whose radius is the c-th of K steps from `inner` to `outer`, around a
    random direction. The distance from the origin is Gaussian with standard deviation 0.5.

    Parameters
    ----------
    n_samples : int, default=3000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=6
        Classes K, at most n.
    n_features : int, default=8
        Columns d.
    inner, outer : float, default=3.0 and 6.0
        Radius of the first and the last shell.
    seed : int, default=0
        Seed of directions, rows and their order.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in random order.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows than classes, or a radius is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_ring
    >>> X, y = make_ring(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 8), 5)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    check_positive(inner=inner, outer=outer)
    rng = np.random.default_rng(seed)
    poles = directions(n_classes, n_features, rng)
    radius = np.linspace(inner, outer, n_classes)
    y = balanced_labels(n_samples, n_classes, rng)
    points = normalise(rng.normal(poles[y], _CAP_WIDTH))
    return points * rng.normal(radius[y], _SHELL_THICKNESS)[:, None], y


def make_heavy_tail(
    n_samples: int = 4000,
    n_classes: int = 8,
    n_features: int = 10,
    spread: float = 2.5,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes with Student-t noise of 2 degrees of freedom around random centres.

    The noise has no variance, so the few largest values dominate a sample variance.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    spread : float, default=2.5
        Standard deviation of the centres, per feature.
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
        If a count is below 1, there are fewer rows than classes, or `spread` is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_heavy_tail
    >>> X, y = make_heavy_tail(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 10), 7)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    check_positive(spread=spread)
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, spread, (n_classes, n_features))
    y = balanced_labels(n_samples, n_classes, rng)
    return centres[y] + rng.standard_t(_DEGREES_OF_FREEDOM, (n_samples, n_features)), y


def make_noisy_features(
    n_samples: int = 4000,
    n_classes: int = 8,
    n_features: int = 20,
    n_informative: int = 2,
    spread: float = 4.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make classes that differ in a few features; the others are standard normal noise.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=20
        Columns d.
    n_informative : int, default=2
        Number of leading columns that depend on the class, at most d.
    spread : float, default=4.0
        Standard deviation of the class means in those columns; within a class it is 1.
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
        If a count is below 1, there are fewer rows than classes or fewer columns than
        `n_informative`, or `spread` is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_noisy_features
    >>> X, y = make_noisy_features(n_samples=100)
    >>> X.shape, int(y.max())
    ((100, 20), 7)
    """
    check_counts(
        n_samples=n_samples,
        n_classes=n_classes,
        n_features=n_features,
        n_informative=n_informative,
    )
    check_positive(spread=spread)
    if n_informative > n_features:
        raise ValueError(f"n_informative={n_informative} is more than n_features={n_features}")
    rng = np.random.default_rng(seed)
    means = rng.normal(0, spread, (n_classes, n_informative))
    y = balanced_labels(n_samples, n_classes, rng)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :n_informative] += means[y]
    return X, y


def make_concept_drift(
    n_samples: int = 4000,
    n_classes: int = 8,
    n_features: int = 10,
    classes_per_task: int = 2,
    drift: float = 1.5,
    spread: float = 2.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make a stream of Gaussian classes, task after task, that all drift along feature 0.

    At position p of task t, with p running from 0 to 1, every class mean is shifted by
    ``drift * (t + p)`` along feature 0. The order of rows carries the drift: shuffle them only
    within their task. Held-out rows drawn from the same table come from the time of their own task.

    Parameters
    ----------
    n_samples : int, default=4000
        Rows n. Classes are as equal in size as n allows.
    n_classes : int, default=8
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    classes_per_task : int, default=2
        Classes that arrive together, in label order; the last task takes the rest.
    drift : float, default=1.5
        Shift per task; 0 for none.
    spread : float, default=2.0
        Standard deviation of the class means before the shift; within a class it is 1.
    seed : int, default=0
        Seed of means, rows and their order within a task.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
        Rows in the order of the stream.
    y : ndarray of int64, shape (n,)
        Labels 0 to K - 1.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows than classes, or `spread` is not above 0.

    Examples
    --------
    >>> from mist_bench.datasets import make_concept_drift
    >>> X, y = make_concept_drift(n_samples=100)
    >>> sorted(set(y[:20].tolist()))
    [0, 1]
    """
    check_counts(
        n_samples=n_samples,
        n_classes=n_classes,
        n_features=n_features,
        classes_per_task=classes_per_task,
    )
    check_positive(spread=spread)
    rng = np.random.default_rng(seed)
    means = rng.normal(0, spread, (n_classes, n_features))
    labels = balanced_labels(n_samples, n_classes, rng)
    n_tasks = max(1, n_classes // classes_per_task)
    task = np.minimum(labels // classes_per_task, n_tasks - 1)
    in_order = np.argsort(task, kind="stable")
    y, task = labels[in_order], task[in_order]
    sizes = np.bincount(task, minlength=n_tasks)
    position = (np.arange(n_samples) - (np.cumsum(sizes) - sizes)[task]) / sizes[task]
    X = rng.normal(means[y])
    X[:, 0] += drift * (task + position)
    return X, y
