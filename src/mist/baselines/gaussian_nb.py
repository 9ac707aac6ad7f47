"""Gaussian naive Bayes over a stream."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.baselines.base import WeightedStreamClassifier, widened
from mist.engine.compiled import allocating, exact, inlined, summed
from mist.rows import Array


class GaussianNBState(NamedTuple):
    """Moments of each class, and of all rows together."""

    mass: Array
    """Weight of each class, shape (K,)."""

    means: Array
    """Mean of each class, shape (K, d)."""

    squares: Array
    """Sum of squared deviations from the mean of each class, shape (K, d)."""

    total_mass: Array
    """Weight of all rows, shape (1,)."""

    total_means: Array
    """Mean of all rows, shape (1, d)."""

    total_squares: Array
    """Sum of squared deviations of all rows from their mean, shape (1, d)."""


@inlined
def _learn(mass: Array, means: Array, squares: Array, c: int, x: Array, weight: float) -> None:
    """Welford's update with a weight."""
    mass[c] += weight
    share = weight / mass[c]
    for j in range(len(x)):
        delta = x[j] - means[c, j]
        means[c, j] += delta * share
        squares[c, j] += weight * delta * (x[j] - means[c, j])


@summed
def _weighted_distance(x: Array, mean: Array, precision: Array) -> float:
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - mean[j]) ** 2 * precision[j]
    return total


@exact
def _prepare(
    mass: Array, squares: Array, floor: float, n_known: int, precision: Array, offset: Array
) -> None:
    """Compute the precisions of all classes, and the part of their scores that is constant."""
    for c in range(n_known):
        offset[c] = math.log(mass[c])
        for j in range(squares.shape[1]):
            variance = squares[c, j] / mass[c] + floor
            precision[c, j] = 1.0 / variance
            offset[c] -= 0.5 * math.log(2.0 * math.pi * variance)


@allocating
def run(
    mass: Array,
    means: Array,
    squares: Array,
    total_mass: Array,
    total_means: Array,
    total_squares: Array,
    var_smoothing: float,
    X: Array,
    codes: Array,
    weights: Array,
    n_known: int,
    scores: Array,
) -> None:
    """Score each row if ``scores`` has rows, then learn it if its code >= 0."""
    precision = np.empty_like(means)
    offset = np.empty_like(mass)
    stale = True
    for i in range(len(X)):
        if len(scores) and n_known:
            if stale:
                widest = total_squares.max() / total_mass[0]
                floor = var_smoothing * (widest if widest > 0.0 else 1.0)
                _prepare(mass, squares, floor, n_known, precision, offset)
                stale = False
            for c in range(n_known):
                scores[i, c] = offset[c] - 0.5 * _weighted_distance(X[i], means[c], precision[c])
        if codes[i] >= 0:
            n_known = max(n_known, codes[i] + 1)
            _learn(mass, means, squares, codes[i], X[i], weights[i])
            _learn(total_mass, total_means, total_squares, 0, X[i], weights[i])
            stale = True


class GaussianNB(WeightedStreamClassifier):
    r"""Gaussian naive Bayes: a mean and a variance per class and column, priors by counts.

    The score of class c with weight :math:`n_c` is

    .. math::
        \log n_c - \tfrac{1}{2} \sum_j \left[ \log 2 \pi v_{cj}
        + \frac{(x_j - \mu_{cj})^2}{v_{cj}} \right], \qquad
        v_{cj} = s_{cj}^2 + \epsilon \max_j s_j^2,

    where :math:`s_j^2` is the variance of column j over all rows so far. `predict_proba` is
    the softmax of the scores, which is the posterior.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        The factor :math:`\epsilon` above, greater than 0. Raise it if classes have few rows. The
        default is scikit-learn's.

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
    The model equals ``sklearn.naive_bayes.GaussianNB().fit`` on all rows so far. The
    `partial_fit` of scikit-learn takes the variance floor from the last batch and so depends on
    the batches; here learning n rows in one call equals n calls with one row, bit for bit. While
    all rows are equal, the floor is ``var_smoothing`` itself.

    References
    ----------
    Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
    Variances", COMPSTAT 1982.

    Examples
    --------
    >>> from mist.baselines import GaussianNB
    >>> model = GaussianNB().partial_fit([[0.0], [2.0]], ["low", "low"])
    >>> model = model.partial_fit([[8.0], [14.0]], ["high", "high"])
    >>> model.predict([[1.0], [5.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "var_smoothing": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, *, var_smoothing: float = 1e-9) -> None:
        self.var_smoothing = var_smoothing

    def _new_state(self, n_features: int) -> GaussianNBState:
        return GaussianNBState(
            mass=np.zeros(0),
            means=np.zeros((0, n_features)),
            squares=np.zeros((0, n_features)),
            total_mass=np.zeros(1),
            total_means=np.zeros((1, n_features)),
            total_squares=np.zeros((1, n_features)),
        )

    def _grown(self, state: GaussianNBState, n_codes: int) -> GaussianNBState:
        return state._replace(
            mass=widened(state.mass, n_codes),
            means=widened(state.means, n_codes),
            squares=widened(state.squares, n_codes),
        )

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        run(*self._state, float(self.var_smoothing), X, codes, weights, n_known, scores)
