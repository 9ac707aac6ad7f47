"""Named synthetic sets: a generator with fixed settings, and a seed."""

from importlib import import_module

import numpy as np

from mist.datasets.catalogue import Entry
from mist.datasets.dataset import Dataset


def generate(entry: Entry, rows: int | None, seed: int, n_classes: int | None) -> Dataset:
    """Make a named synthetic set.

    Parameters
    ----------
    entry : Entry
        A registry entry of kind "generated".
    rows : int or None
        Rows n; by default as many per class as in the registry.
    seed : int
        Seed of the generator.
    n_classes : int or None
        Classes K, by default those of the registry.

    Returns
    -------
    Dataset
        Rows in the order of the generator.

    Raises
    ------
    ValueError
        If there are fewer rows than classes.
    """
    module, _, function = entry.generator.partition(":")
    make = getattr(import_module(module), function)
    n_classes = entry.n_classes if n_classes is None else n_classes
    rows = entry.rows // entry.n_classes * n_classes if rows is None else rows
    X, y = make(
        n_samples=rows, n_classes=n_classes, n_features=entry.columns, seed=seed, **entry.settings
    )
    chosen = "".join(f", {option}={value}" for option, value in entry.settings.items())
    return Dataset(
        name=entry.name,
        X=X,
        y=y,
        feature_names=tuple(f"x{column}" for column in range(entry.columns)),
        class_names=tuple(f"class_{label}" for label in range(n_classes)),
        categorical=np.zeros(entry.columns, dtype=bool),
        source=f"made by {module}.{function}(n_samples={rows}, n_classes={n_classes}, "
        f"n_features={entry.columns}, seed={seed}{chosen}), version {entry.version}",
        licence=entry.licence,
    )
