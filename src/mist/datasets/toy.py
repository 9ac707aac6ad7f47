"""Small data sets that need no download."""

from typing import Any

import numpy as np

from mist.datasets.dataset import Dataset
from mist.datasets.synthetic import make_multimodal

_BUNDLED = {
    "digits": "Optical Recognition of Handwritten Digits (test part), UCI Machine Learning "
    "Repository, as bundled with scikit-learn",
    "wine": "Wine, UCI Machine Learning Repository, as bundled with scikit-learn",
    "iris": "Iris, UCI Machine Learning Repository, as bundled with scikit-learn",
}


def load_toy(name: str) -> Dataset:
    """Load a small data set without a download.

    Parameters
    ----------
    name : {"digits", "wine", "iris", "multimodal"}
        The first three are bundled with scikit-learn; "multimodal" is made by
        `mist.datasets.make_multimodal` with its defaults.

    Returns
    -------
    Dataset
        The table with integer labels 0 to K - 1.

    Raises
    ------
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> from mist.datasets import load_toy
    >>> iris = load_toy("iris")
    >>> iris.X.shape, iris.class_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    if name == "multimodal":
        return _multimodal()
    if name in _BUNDLED:
        return _bundled(name)
    known = ", ".join([*_BUNDLED, "multimodal"])
    raise ValueError(f"no toy data set called {name!r}: choose one of {known}")


def _bundled(name: str) -> Dataset:
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=np.asarray(bunch.data, dtype=np.float64),
        y=bunch.target,
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
        source=_BUNDLED[name],
        licence="CC BY 4.0",
    )


def _multimodal() -> Dataset:
    X, y = make_multimodal()
    return Dataset(
        name="multimodal",
        X=X,
        y=y,
        feature_names=tuple(f"x{column}" for column in range(X.shape[1])),
        class_names=tuple(f"class_{label}" for label in range(y.max() + 1)),
        source="made by mist.datasets.make_multimodal",
        licence="BSD-3-Clause",
    )
