"""Streaming quadratic discriminant analysis."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.baselines.base import WeightedStreamClassifier, add_multiple, widened
from mist.baselines.slda import factorise, learn_scatter
from mist.engine.compiled import allocating, inlined
from mist.rows import Array


class SQDAState(NamedTuple):
    """Mean and scatter of each class, and the factor of its covariance."""

    mass: Array
    """Weight of each class, shape (K,)."""

    means: Array
    """Mean of each class, shape (K, d)."""

    scatters: Array
    """Scatter of each class, not divided by its mass, upper triangle, shape (K, d, d)."""

    factors: Array
    """Packed Cholesky factor of each covariance, row by row, shape (K, d (d + 1) / 2)."""

    log_dets: Array
    """Log-determinant of each covariance, shape (K,); valid unless stale."""

    stale: Array
    """Whether the class has learnt since its factor was computed, bool, shape (K,)."""


@allocating
def _prepare(mass: float, scatter: Array, factor: Array, shrinkage: float) -> float:
    """Factorise the covariance of a class; returns its log-determinant."""
    d = len(scatter)
    U = np.empty((d, d))
    for i in range(d):
        for j in range(i, d):
            U[i, j] = (1.0 - shrinkage) / mass * scatter[i, j]
        U[i, i] += shrinkage
    factorise(U, shrinkage)
    log_det = 0.0
    at = 0
    for k in range(d):
        log_det += 2.0 * math.log(U[k, k])
        factor[at : at + d - k] = U[k, k:]
        at += d - k
    return log_det


@inlined
def _squared_mahalanobis(x: Array, mean: Array, factor: Array, rest: Array) -> float:
    """Return the squared Mahalanobis distance, by forward substitution with the packed factor."""
    d = len(x)
    for j in range(d):
        rest[j] = x[j] - mean[j]
    total = 0.0
    at = 0
    for k in range(d):
        v = rest[k] / factor[at]
        total += v * v
        add_multiple(rest[k + 1 :], -v, factor[at + 1 : at + d - k])
        at += d - k
    return total


@allocating
def run(
    mass: Array,
    means: Array,
    scatters: Array,
    factors: Array,
    log_dets: Array,
    stale: Array,
    shrinkage: float,
    X: Array,
    codes: Array,
    weights: Array,
    n_known: int,
    scores: Array,
) -> None:
    """Score each row if ``scores`` has rows, then learn it if its code >= 0."""
    rest = np.empty(X.shape[1])
    for i in range(len(X)):
        if len(scores):
            for c in range(n_known):
                if stale[c]:
                    log_dets[c] = _prepare(mass[c], scatters[c], factors[c], shrinkage)
                    stale[c] = False
                distance = _squared_mahalanobis(X[i], means[c], factors[c], rest)
                scores[i, c] = -0.5 * (distance + log_dets[c])
        c = codes[i]
        if c >= 0:
            n_known = max(n_known, c + 1)
            mass[c] += weights[i]
            learn_scatter(X[i], means[c], scatters[c], weights[i], weights[i] / mass[c])
            stale[c] = True


class SQDA(WeightedStreamClassifier):
    r"""Streaming quadratic discriminant analysis: a running mean and covariance per class.

    With the class means :math:`\mu_c` and the scatter :math:`S_c` of the :math:`n_c` rows of
    class c, the score is

    .. math::
        -\tfrac{1}{2} \left[ (x - \mu_c)^\top C_c^{-1} (x - \mu_c) + \log \det C_c \right],
        \qquad C_c = (1 - s) S_c / n_c + s I,

    without priors. `predict_proba` is the softmax of the scores: the posterior of Gaussian
    classes that are equally frequent.

    Parameters
    ----------
    shrinkage : float, default=1e-4
        Share s of the identity in every covariance, in (0, 1]. Raise it if classes have few rows.

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
    A class with one row has the covariance s I. Learning a row changes one class, so a
    prediction after it costs one factorisation, :math:`O(d^3)`, and one substitution per class,
    :math:`O(K d^2)`. See `SLDA` for why a factor cannot be updated instead.

    Learning n rows in one call equals n calls with one row, bit for bit.

    References
    ----------
    Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning", 2nd edition,
    section 4.3. The shrinkage is that of Hayes and Kanan, see `SLDA`.

    Examples
    --------
    >>> import numpy as np
    >>> from mist.baselines import SQDA
    >>> angle = np.linspace(0.0, 6.0, 25)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = SQDA().partial_fit(0.1 * ring, ["core"] * 25)
    >>> model = model.partial_fit(ring, ["ring"] * 25)
    >>> model.predict([[0.1, 0.0], [0.0, -1.0]])
    array(['core', 'ring'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [Interval(Real, 0, 1, closed="right")]
    }

    def __init__(self, *, shrinkage: float = 1e-4) -> None:
        self.shrinkage = shrinkage

    def _new_state(self, n_features: int) -> SQDAState:
        return SQDAState(
            mass=np.zeros(0),
            means=np.zeros((0, n_features)),
            scatters=np.zeros((0, n_features, n_features)),
            factors=np.zeros((0, n_features * (n_features + 1) // 2)),
            log_dets=np.zeros(0),
            stale=np.zeros(0, dtype=np.bool_),
        )

    def _grown(self, state: SQDAState, n_codes: int) -> SQDAState:
        return SQDAState(*(widened(array, n_codes) for array in state))

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        run(*self._state, float(self.shrinkage), X, codes, weights, n_known, scores)
