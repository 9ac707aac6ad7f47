"""How much each column has contributed to the splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mist.fitted import FittedTree
from mist.inspection.nodes import one_tree

__all__ = ["feature_importances", "mean_importances"]

Array = np.ndarray[Any, Any]


def feature_importances(model: FittedTree) -> Array:
    """Share of each column in what the splits have gained.

    As in scikit-learn: the sum over the splits by a column of the share of the tree's mass that
    is at the split, times the gain of the split when it was made; normalised to a sum of 1. The
    mass at a split is what the node inherited, and all rows that it has passed on since.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.

    Returns
    -------
    ndarray of float64, shape (n_features_in_,)
        At least 0; all are 0 as long as no leaf has split. They tell which columns divide the
        tree, not which of them its leaves answer from: a leaf looks at all columns.

    Raises
    ------
    TypeError
        For a forest, which has the mean of its trees as ``feature_importances_``.
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
    """Mean of the importances of several trees; trees without a split are left out.

    Parameters
    ----------
    trees : iterable of ndarray of float64, shape (n_features,)
        What `feature_importances` says of each.
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
