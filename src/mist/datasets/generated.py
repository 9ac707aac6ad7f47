"""Named synthetic sets: a generator, its frozen settings, a seed."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets.dataset import Dataset
from mist.datasets.registry import Entry
from mist.datasets.synthetic import make_gaussian_classes, make_multimodal
from mist_bench.datasets.marginals import (
    make_exponential,
    make_lognormal,
    make_outliers,
    make_pareto,
)
from mist_bench.datasets.stress import (
    make_angular_sectors,
    make_antipodal,
    make_concept_drift,
    make_heavy_tail,
    make_noisy_features,
    make_ring,
    make_skewed,
)

_SIGMA = {"spread": 0.3}
"""Of all sets of round Gaussians: the paper states it for the random-means streams."""

_GENERATORS: dict[str, tuple[Callable[..., tuple[NDArray[Any], NDArray[Any]]], dict[str, Any]]] = {
    "synth10": (make_gaussian_classes, _SIGMA),
    "synth50": (make_gaussian_classes, _SIGMA),
    "random_means": (make_gaussian_classes, _SIGMA),
    "multimodal": (make_multimodal, {}),
    "skewed": (make_skewed, {}),
    "angular_sectors": (make_angular_sectors, {}),
    "antipodal": (make_antipodal, {}),
    "ring": (make_ring, {}),
    "heavy_tail": (make_heavy_tail, {}),
    "noisy_features": (make_noisy_features, {}),
    "concept_drift": (make_concept_drift, {}),
    "pareto": (make_pareto, {}),
    "lognormal": (make_lognormal, {}),
    "exponential": (make_exponential, {}),
    "outlier5": (make_outliers, {}),
}


def generate(entry: Entry, rows: int | None, seed: int, n_classes: int | None) -> Dataset:
    """Make a named synthetic set.

    Parameters
    ----------
    entry : Entry
        A registry entry of kind "generated".
    rows : int or None
        Rows n; by default as many a class as in the registry.
    seed : int
        Seed of the generator.
    n_classes : int or None
        Classes K, by default those of the registry.

    Returns
    -------
    Dataset
        Rows as the generator orders them.

    Raises
    ------
    ValueError
        If there are fewer rows than classes.
    """
    make, settings = _GENERATORS[entry.name]
    n_classes = entry.n_classes if n_classes is None else n_classes
    rows = entry.rows // entry.n_classes * n_classes if rows is None else rows
    X, y = make(
        n_samples=rows, n_classes=n_classes, n_features=entry.columns, seed=seed, **settings
    )
    chosen = "".join(f", {option}={value}" for option, value in settings.items())
    return Dataset(
        name=entry.name,
        X=X,
        y=y,
        feature_names=tuple(f"x{column}" for column in range(entry.columns)),
        class_names=tuple(f"class_{label}" for label in range(n_classes)),
        categorical=np.zeros(entry.columns, dtype=bool),
        source=f"made by mist.datasets.{make.__name__}(n_samples={rows}, n_classes={n_classes}, "
        f"n_features={entry.columns}, seed={seed}{chosen}), version {entry.version}",
        licence=entry.licence,
    )
