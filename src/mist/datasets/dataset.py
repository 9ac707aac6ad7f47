"""A labelled table with its names and its origin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled table, the names in it and where it comes from.

    Examples
    --------
    >>> from mist.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.feature_names[0], wine.class_names
    ((178, 13), 'alcohol', ('class_0', 'class_1', 'class_2'))
    """

    name: str
    """Short name."""

    X: NDArray[np.float64]
    """Rows, shape (n, d)."""

    y: NDArray[Any]
    """Labels, shape (n,); K different ones."""

    feature_names: tuple[str, ...]
    """Names of the d columns."""

    class_names: tuple[str, ...]
    """Names of the K classes, in label order: those of ``numpy.unique(y)``."""

    categorical: NDArray[np.bool_]
    """Columns that hold nothing but 0 and 1, shape (d,)."""

    source: str
    """Where the table comes from."""

    licence: str
    """Terms under which it may be used."""

    citation: str = ""
    """What to cite when using it; empty for what this package makes itself."""

    n_train: int | None = None
    """The first so many rows are the customary training part; None where there is no such part."""
