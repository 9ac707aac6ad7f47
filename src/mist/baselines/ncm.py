"""Nearest class mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mist.baselines.base import WeightedStreamClassifier, widened
from mist.engine.compiled import exact, summed
from mist.rows import Array


class NCMState(NamedTuple):
    """Weights and means of the classes."""

    mass: Array
    """Weight of each class, shape (K,)."""

    means: Array
    """Mean of each class, shape (K, d)."""


@summed
def squared_distance(a: Array, b: Array) -> float:
    """Squared Euclidean distance of two vectors."""
    total = 0.0
    for j in range(len(a)):
        total += (a[j] - b[j]) ** 2
    return total


@exact
def run(
    mass: Array, means: Array, X: Array, codes: Array, weights: Array, n_known: int, scores: Array
) -> None:
    """Score each row if ``scores`` has rows, then learn it if its code >= 0."""
    for i in range(len(X)):
        if len(scores):
            for c in range(n_known):
                scores[i, c] = -0.5 * squared_distance(X[i], means[c])
        c = codes[i]
        if c >= 0:
            n_known = max(n_known, c + 1)
            mass[c] += weights[i]
            share = weights[i] / mass[c]
            for j in range(X.shape[1]):
                means[c, j] += (X[i, j] - means[c, j]) * share


class NCM(WeightedStreamClassifier):
    r"""Nearest class mean: running class means, Euclidean distance.

    The score of class c, with mean :math:`\mu_c`, is
    :math:`-\tfrac{1}{2} \lVert x - \mu_c \rVert^2`: the log-likelihood under one unit Gaussian
    per class, without priors. `predict_proba` is the softmax of the scores.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    nbytes : int
        Exact bytes of the state.

    Notes
    -----
    Learning n rows in one call equals n calls with one row, bit for bit.

    References
    ----------
    Mensink, Verbeek, Perronnin and Csurka, "Distance-Based Image Classification:
    Generalizing to New Classes at Near-Zero Cost", PAMI 2013.

    Examples
    --------
    >>> from mist.baselines import NCM
    >>> model = NCM().partial_fit([[0.0], [2.0]], ["low", "low"])
    >>> model = model.partial_fit([[8.0]], ["high"])
    >>> model.predict([[4.0], [5.0]])
    array(['low', 'high'], dtype='<U4')
    """

    def _new_state(self, n_features: int) -> NCMState:
        return NCMState(mass=np.zeros(0), means=np.zeros((0, n_features)))

    def _grown(self, state: NCMState, n_codes: int) -> NCMState:
        return NCMState(*(widened(array, n_codes) for array in state))

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        run(*self._state, X, codes, weights, n_known, scores)
