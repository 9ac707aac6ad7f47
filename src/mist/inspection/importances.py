"""Importances of columns: their shares in the gain of the splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mist.fitted import FittedTree
from mist.inspection.nodes import one_tree

__all__ = ["feature_importances", "mean_importances"]

Array = np.ndarray[Any, Any]


def feature_importances(model: FittedTree) -> Array:
    """Return the share of each column in the total gain of the splits.

    As in scikit-learn: for each column, the sum over its splits of the share of the tree's mass at
    the split times the gain when the split was made, normalised to a total of 1. The mass at a
    split is the mass that the node inherited plus that of all rows it has passed on since.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.

    Returns
    -------
    ndarray of float64, shape (n_features_in_,)
        At least 0; all are 0 before the first split. They show which columns divide the tree, not
        which columns matter to predictions: a leaf uses all columns.

    Raises
    ------
    TypeError
        For a forest; its ``feature_importances_`` is the mean over its trees.
    NotFittedError
        If nothing was learnt yet.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> model = MistClassifier.paper(grace_period=8, tie_threshold=9.0)
    >>> rows = [[v, 1.0] for v in (0, 1, 2, 3, 10, 11, 12, 13)]
    >>> feature_importances(model.partial_fit(rows, ["dry"] * 4 + ["wet"] * 4))
    array([1., 0.])
    """
    mass = one_tree(model).tree.nodes.mass
    gains = np.zeros(model.n_features_in_)
    for split in model.split_log_:
        gains[split.feature] += mass[split.node] / mass[0] * split.gain
    return _normalised(gains)


def mean_importances(trees: Iterable[Array], n_features: int) -> Array:
    """Return the mean of the importances of several trees, without trees that have no split.

    Parameters
    ----------
    trees : iterable of ndarray of float64, shape (n_features,)
        Results of `feature_importances`.
    n_features : int
        Number of columns.

    Returns
    -------
    ndarray of float64, shape (n_features,)
        Zeros if no tree has a split.

    Examples
    --------
    >>> mean_importances([np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.zeros(2)], 2)
    array([0.75, 0.25])
    """
    return _normalised(sum(trees, start=np.zeros(n_features)))


def _normalised(gains: Array) -> Array:
    total = gains.sum()
    return gains / total if total > 0.0 else gains
