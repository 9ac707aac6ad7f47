"""Generators of streams that drift, with the rows at which they do.

Rows are in stream order: shuffling them removes the drift. Concepts come in blocks of equal size.
The same seed and options give the same stream.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets.sampling import balanced_labels, check_counts, check_positive, directions


@dataclass(frozen=True, eq=False)
class DriftStream:
    """A labelled stream in its order, and where it drifts.

    Examples
    --------
    >>> from mist.datasets import make_sea
    >>> stream = make_sea(n_samples=1000)
    >>> stream.name, stream.X.shape, stream.drifts
    ('sea', (1000, 3), array([250, 500, 750]))
    """

    name: str
    """Short name."""
    X: NDArray[np.float64]
    """Rows in stream order, shape (n, d)."""
    y: NDArray[Any]
    """Labels, shape (n,)."""
    drifts: NDArray[np.int64]
    """First row of each new concept, or middle of a gradual change; empty where none is known."""
    categorical: NDArray[np.bool_]
    """Whether each column holds only 0 and 1, shape (d,)."""
    X_test: NDArray[np.float64] | None = None
    """Held-out rows as they are at the end of the stream, shape (m, d); None without any."""
    y_test: NDArray[Any] | None = None
    """Labels of the held-out rows, shape (m,)."""


def make_sea(n_samples: int = 60_000, noise: float = 0.1, seed: int = 0) -> DriftStream:
    """Make SEA: class 1 if the sum of two columns is at most a limit, which changes.

    The limits are 8, 9, 7 and 9.5 (Street and Kim, KDD 2001).

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n, at least 4.
    noise : float, default=0.1
        Share of rows with the other label.
    seed : int, default=0
        Seed of rows and noise.

    Returns
    -------
    DriftStream
        Three columns, uniform in [0, 10), the last irrelevant; 2 classes; three abrupt drifts.

    Raises
    ------
    ValueError
        If there are fewer than 4 rows, or `noise` is not a share.

    Examples
    --------
    >>> from mist.datasets import make_sea
    >>> make_sea(n_samples=8).drifts
    array([2, 4, 6])
    """
    block, drifts = concept_blocks(n_samples, 4)
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n_samples, 3))
    y = X[:, 0] + X[:, 1] <= np.array([8.0, 9.0, 7.0, 9.5])[block]
    return as_stream("sea", X, y ^ draw_noise(noise, rng, n_samples), drifts)


def make_rbf_drift(
    n_samples: int = 60_000,
    n_classes: int = 5,
    n_features: int = 10,
    n_centroids: int = 50,
    speed: float = 1e-4,
    seed: int = 0,
) -> DriftStream:
    """Make classes around centroids that move through the unit cube and bounce off its sides.

    A row has a random direction from a centroid drawn by weight, and a normal distance. Weights and
    deviations of centroids are uniform in [0, 1) (Bifet et al., MOA, JMLR 11, 2010).

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n.
    n_classes : int, default=5
        Classes K, at most n.
    n_features : int, default=10
        Columns d.
    n_centroids : int, default=50
        Centroids, at least K. The classes have as equal numbers of them as possible.
    speed : float, default=1e-4
        Distance that each centroid moves per row: 1e-4 is "moderate", 1e-3 "fast".
    seed : int, default=0
        Seed of centroids and rows.

    Returns
    -------
    DriftStream
        No drift points, since the change never stops.

    Raises
    ------
    ValueError
        If a count is below 1, there are fewer rows or centroids than classes, or `speed` is not
        above 0.

    Examples
    --------
    >>> from mist.datasets import make_rbf_drift
    >>> make_rbf_drift(n_samples=100, speed=1e-3).X.shape
    (100, 10)
    """
    check_counts(n_samples=n_samples, n_classes=n_classes, n_features=n_features)
    check_counts(n_samples=n_centroids, n_classes=n_classes)
    check_positive(speed=speed)
    rng = np.random.default_rng(seed)
    label = balanced_labels(n_centroids, n_classes, rng)
    start, way = rng.random((n_centroids, n_features)), directions(n_centroids, n_features, rng)
    deviation, weight = rng.random((2, n_centroids))
    own = rng.choice(n_centroids, n_samples, p=weight / weight.sum())
    unfolded = start[own] + way[own] * (speed * np.arange(n_samples)[:, None])
    centre = 1 - np.abs(1 - unfolded % 2)
    X = centre + rng.normal(0, deviation[own])[:, None] * directions(n_samples, n_features, rng)
    return as_stream("rbf_drift", X, label[own])


def make_hyperplane(
    n_samples: int = 60_000,
    n_features: int = 10,
    noise: float = 0.05,
    speed: float = 1e-3,
    seed: int = 0,
) -> DriftStream:
    """Make two classes on the sides of a hyperplane that turns all the time.

    A row x is of class 1 if ``w @ x >= sum(w) / 2``. Each weight starts uniform in [0, 1), moves by
    `speed` after each row, and then turns round with probability 0.1 (Hulten et al., KDD 2001).

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n.
    n_features : int, default=10
        Columns d.
    noise : float, default=0.05
        Share of rows with the other label.
    speed : float, default=1e-3
        Change of each weight per row.
    seed : int, default=0
        Seed of weights, rows and noise.

    Returns
    -------
    DriftStream
        Columns uniform in [0, 1); no drift points, since the change never stops.

    Raises
    ------
    ValueError
        If a count is below 1, `noise` is not a share, or `speed` is not above 0.

    Examples
    --------
    >>> from mist.datasets import make_hyperplane
    >>> make_hyperplane(n_samples=100).X.shape
    (100, 10)
    """
    check_counts(n_samples=n_samples, n_classes=1, n_features=n_features)
    check_positive(speed=speed)
    rng = np.random.default_rng(seed)
    X, start = rng.random((n_samples, n_features)), rng.random(n_features)
    turns = np.where(rng.random((n_samples, n_features)) < 0.1, -1, 1)
    way = np.vstack([np.zeros(n_features), np.ones(n_features), np.cumprod(turns[:-2], axis=0)])
    weights = start + speed * np.cumsum(way[:n_samples], axis=0)
    y = (X * weights).sum(axis=1) >= weights.sum(axis=1) / 2
    return as_stream("hyperplane", X, y ^ draw_noise(noise, rng, n_samples))


def concept_blocks(n_samples: int, n_blocks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the block of each row, and the first row of every block but the first."""
    if n_samples < n_blocks:
        raise ValueError(f"n_samples={n_samples} is too few: {n_blocks} concepts need a row each")
    block = np.arange(n_samples, dtype=np.int64) * n_blocks // n_samples
    return block, np.flatnonzero(np.diff(block)) + 1


def draw_noise(noise: float, rng: np.random.Generator, *shape: int) -> NDArray[np.bool_]:
    """Draw which labels or bits are inverted."""
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise} must be a share between 0 and 1")
    return rng.random(shape) < noise


def as_stream(
    name: str,
    X: NDArray[np.float64],
    y: NDArray[Any],
    drifts: Iterable[int] = (),
    columns_0_1: Iterable[int] = (),
) -> DriftStream:
    """Put a stream together; the labels become integers."""
    categorical = np.isin(np.arange(X.shape[1]), list(columns_0_1))
    return DriftStream(name, X, y.astype(np.int64), np.array(list(drifts), np.int64), categorical)
