"""The container of a data set: rows, labels, names and origin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled table with its names and its origin.

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
    """Labels, shape (n,), with K different values."""

    feature_names: tuple[str, ...]
    """Names of the d columns."""

    class_names: tuple[str, ...]
    """Names of the K classes, in label order: those of ``numpy.unique(y)``."""

    categorical: NDArray[np.bool_]
    """Whether each column holds only 0 and 1, shape (d,)."""

    source: str
    """Origin of the table."""

    licence: str
    """Terms of use."""

    citation: str = ""
    """What to cite when using it; empty for generated sets."""

    n_train: int | None = None
    """Rows of the customary training part, which come first; None without such a part."""
