"""Streaming linear discriminant analysis, and the Cholesky factor shared with SQDA."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval

from mist.baselines.base import WeightedStreamClassifier, add_multiple, dot, widened
from mist.engine.compiled import allocating
from mist.rows import Array

_PANEL = 32
_WIDE = 192
_BLOCK = 64
_FEW = 16


class SLDAState(NamedTuple):
    """Class means, shared scatter, and the linear classifier computed from them."""

    mass: Array
    """Weight of each class, shape (K,)."""

    means: Array
    """Mean of each class, shape (K, d)."""

    coefs: Array
    """Weights of the linear scores, shape (K, d); valid unless stale."""

    biases: Array
    """Constants of the linear scores, shape (K,); valid unless stale."""

    scatter: Array
    """Within-class scatter, not divided by the mass, upper triangle, shape (d, d)."""

    stale: Array
    """Whether rows were learnt since the scores were computed, bool, shape (1,)."""


@allocating
def _cholesky(A: Array, least: float) -> bool:
    """Overwrite the upper triangle of A with U, where U'U = A, unless a pivot is below least.

    The algorithm is blocked, so that nearly all work is in matrix products.
    """
    d = len(A)
    for start in range(0, d, _PANEL):
        stop = min(start + _PANEL, d)
        for k in range(start, stop):
            if not A[k, k] >= least:
                return False
            factor = 1.0 / math.sqrt(A[k, k])
            for j in range(k, d):
                A[k, j] *= factor
            for i in range(k + 1, stop):
                add_multiple(A[i, i:], -A[k, i], A[k, i:])
        for first in range(stop, d, _PANEL):
            last = min(first + _PANEL, d)
            left = np.ascontiguousarray(A[start:stop, first:last].T)
            A[first:last, first:] -= np.dot(left, np.ascontiguousarray(A[start:stop, first:]))
    return True


@allocating
def factorise(A: Array, shrinkage: float) -> None:
    """Overwrite the upper triangle of a covariance A with its Cholesky factor U: U'U = A.

    In exact arithmetic no eigenvalue of A, and so no pivot, is smaller than the shrinkage. If it is
    because of rounding, as with columns of very different scale, the factor is computed from the
    eigenvectors.
    """
    d = len(A)
    whole = A.copy()
    if _cholesky(A, 0.5 * shrinkage):
        return
    for i in range(d):
        for j in range(i):
            whole[i, j] = whole[j, i]
    values, basis = np.linalg.eigh(whole)
    for k in range(d):
        whole[k] = math.sqrt(max(values[k], shrinkage)) * basis[:, k]
    A[:] = np.linalg.qr(whole)[1]
    for k in range(d):
        if A[k, k] < 0.0:
            A[k] = -A[k]


@allocating
def learn_scatter(x: Array, mean: Array, scatter: Array, weight: float, share: float) -> None:
    """Add a row to the upper triangle of a scatter matrix, then move the mean by a share."""
    step = weight * (1.0 - share)
    delta = x - mean
    for i in range(len(x)):
        add_multiple(scatter[i, i:], step * delta[i], delta[i:])
        mean[i] += share * delta[i]


@allocating
def _prepare(
    mass: Array,
    means: Array,
    coefs: Array,
    biases: Array,
    scatter: Array,
    shrinkage: float,
    n_known: int,
) -> None:
    """Solve for the linear scores of the known classes."""
    d = len(scatter)
    scale = (1.0 - shrinkage) / mass[:n_known].sum()
    U = np.empty((d, d))
    for i in range(d):
        for j in range(i, d):
            U[i, j] = scale * scatter[i, j]
        U[i, i] += shrinkage
    factorise(U, shrinkage)
    W = means[:n_known].copy()
    for k in range(d):
        for c in range(n_known):
            W[c, k] /= U[k, k]
            add_multiple(W[c, k + 1 :], -W[c, k], U[k, k + 1 :])
    for k in range(d - 1, -1, -1):
        for c in range(n_known):
            W[c, k] = (W[c, k] - dot(U[k, k + 1 :], W[c, k + 1 :])) / U[k, k]
    # Another thread may predict at the same time and must see only finished scores.
    coefs[:n_known] = W
    for c in range(n_known):
        biases[c] = -0.5 * dot(means[c], W[c])


@allocating
def run(
    mass: Array,
    means: Array,
    coefs: Array,
    biases: Array,
    scatter: Array,
    stale: Array,
    shrinkage: float,
    X: Array,
    codes: Array,
    weights: Array,
    n_known: int,
    scores: Array,
) -> None:
    """Score each row if ``scores`` has rows, then learn it if its code >= 0."""
    for i in range(len(X)):
        if len(scores) and n_known:
            if stale[0]:
                _prepare(mass, means, coefs, biases, scatter, shrinkage, n_known)
                stale[0] = False
            for c in range(n_known):
                scores[i, c] = dot(coefs[c], X[i]) + biases[c]
        c = codes[i]
        if c >= 0:
            n_known = max(n_known, c + 1)
            mass[c] += weights[i]
            learn_scatter(X[i], means[c], scatter, weights[i], weights[i] / mass[c])
            stale[0] = True


def wide_scores(
    state: SLDAState, shrinkage: float, X: Array, codes: Array, weights: Array, n_known: int
) -> Array:
    """Return test-then-train scores of a block, each from the rows before; does not learn.

    The identity is the same in every basis. In the basis of the eigenvectors of the scatter at the
    start of the block, each later covariance is a diagonal plus the outer products of the earlier
    rows of the block. The Woodbury identity solves it: one eigenproblem per block instead of one
    factorisation per row.
    """
    values, basis = np.linalg.eigh(state.scatter, UPLO="U")
    values = np.maximum(values, 0.0)
    mass, means, rows = state.mass.copy(), state.means @ basis, X @ basis
    deviations = np.empty_like(rows)
    scores = np.full((len(X), len(mass)), -np.inf)
    n = 0
    for i, (x, c, weight) in enumerate(zip(rows, codes, weights, strict=True)):
        if n_known:
            scale = (1.0 - shrinkage) / mass.sum()
            inverse = 1.0 / (scale * values + shrinkage)
            M = means[:n_known]
            W = M * inverse
            scores[i, :n_known] = W @ x - 0.5 * (W * M).sum(axis=1)
            if n and scale > 0.0:
                D = deviations[:n] * inverse
                inner = D @ deviations[:n].T
                inner.flat[:: n + 1] += 1.0 / scale
                along = D @ M.T
                solved = cho_solve(cho_factor(inner), along)
                scores[i, :n_known] -= (D @ x) @ solved - 0.5 * (along * solved).sum(axis=0)
        if c >= 0:
            n_known = max(n_known, c + 1)
            mass[c] += weight
            share = weight / mass[c]
            deviations[n] = np.sqrt(weight * (1.0 - share)) * (x - means[c])
            means[c] += share * (x - means[c])
            n += 1
    return scores


class SLDA(WeightedStreamClassifier):
    r"""Streaming linear discriminant analysis: running class means, one shared covariance.

    With the class means :math:`\mu_c`, the within-class scatter S and the number of rows n,

    .. math::
        \Lambda = \left[ (1 - s) S / n + s I \right]^{-1}, \quad
        w_c = \Lambda \mu_c, \quad b_c = -\tfrac{1}{2} \mu_c^\top \Lambda \mu_c,

    and the score of class c is :math:`w_c^\top x + b_c`, without priors. `predict_proba` is
    the softmax of the scores: the posterior of Gaussian classes that are equally frequent.

    Parameters
    ----------
    shrinkage : float, default=1e-4
        Share s of the identity in the covariance, in (0, 1]. Raise it if classes have few rows. The
        default is that of Hayes and Kanan.

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
    A row x of a class with :math:`n_c` rows adds
    :math:`\frac{n_c}{n_c + 1} (x - \mu_c)(x - \mu_c)^\top` to S, so S / n is exactly the
    pooled covariance of all rows so far, whatever their order. The update published by Hayes
    and Kanan has :math:`\frac{n}{n + 1}` instead, with the count of all rows: it depends on the
    order, and counts the first row of a class as a deviation from 0 if means start at 0.

    The weight of the identity relative to S changes with every row, so a rank-one update of a
    factor would not be exact. A row costs :math:`O(d^2)` to learn; the scores are computed in
    :math:`O(d^3)` when a prediction follows a learnt row. Only `prequential` on 192 columns or
    more shares this work among 64 rows, with equal scores up to rounding.

    Learning n rows in one call equals n calls with one row, bit for bit.

    References
    ----------
    Hayes and Kanan, "Lifelong Machine Learning with Deep Streaming Linear Discriminant
    Analysis", CVPR Workshops 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mist.baselines import SLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SLDA()
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> round(model.score(X, y), 2)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [Interval(Real, 0, 1, closed="right")]
    }

    def __init__(self, *, shrinkage: float = 1e-4) -> None:
        self.shrinkage = shrinkage

    def _new_state(self, n_features: int) -> SLDAState:
        return SLDAState(
            mass=np.zeros(0),
            means=np.zeros((0, n_features)),
            coefs=np.zeros((0, n_features)),
            biases=np.zeros(0),
            scatter=np.zeros((n_features, n_features)),
            stale=np.zeros(1, dtype=np.bool_),
        )

    def _grown(self, state: SLDAState, n_codes: int) -> SLDAState:
        return state._replace(
            mass=widened(state.mass, n_codes),
            means=widened(state.means, n_codes),
            coefs=widened(state.coefs, n_codes),
            biases=widened(state.biases, n_codes),
        )

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        state, shrinkage = self._state, float(self.shrinkage)
        wide = X.shape[1] >= _WIDE and len(scores) >= _FEW and bool((codes >= 0).any())
        if not wide:
            run(*state, shrinkage, X, codes, weights, n_known, scores)
            return
        for rows in gen_batches(len(X), _BLOCK, min_batch_size=_FEW):
            block = X[rows], codes[rows], weights[rows], n_known
            try:
                scores[rows] = wide_scores(state, shrinkage, *block)
                asked = scores[:0]
            except np.linalg.LinAlgError:  # columns so large that rounding removes the shrinkage
                asked = scores[rows]
            run(*state, shrinkage, *block, asked)
            n_known = max(n_known, 1 + int(codes[rows].max()))
