"""Recursive least squares to one-hot targets."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.baselines.base import WeightedStreamClassifier, dot, widened
from mist.engine.compiled import allocating, summed
from mist.rows import Array

_BLOCK = 16


class RLSState(NamedTuple):
    """The normal equations A W = T of ridge regression, factorised: A = L D L'."""

    factor: Array
    """D on the diagonal, L' above it, shape (p, p); p counts the columns and the constant."""

    targets: Array
    """Z, the solution of L D Z = T, one column per class, shape (p, K)."""


@summed
def _rotate(rest: Array, row: Array, v: float, step: float) -> None:
    """Subtract v times a factor row from the rest, then add ``step`` times the rest to the row."""
    for j in range(len(row)):
        left = rest[j] - v * row[j]
        rest[j] = left
        row[j] += step * left


@allocating
def run(
    factor: Array,
    targets: Array,
    Z: Array,
    codes: Array,
    weights: Array,
    n_known: int,
    scores: Array,
) -> None:
    """Score each row if ``scores`` has rows, then learn it if its code >= 0.

    All rows of a block update one row of the factor before the next one, so the factor row stays in
    the cache. Each row uses the result of the rows before it, so the arithmetic is the same as for
    one row at a time.
    """
    p, n_codes = targets.shape
    rest = np.empty((_BLOCK, p))
    residual = np.empty((_BLOCK, n_codes))
    gain = np.empty(_BLOCK)
    for start in range(0, len(Z), _BLOCK):
        stop = min(start + _BLOCK, len(Z))
        for i in range(start, stop):
            b = i - start
            rest[b] = Z[i]
            residual[b] = 0.0
            gain[b] = 0.0
            if codes[i] >= 0:
                residual[b, codes[i]] = 1.0
                gain[b] = weights[i]
        for k in range(p):
            for b in range(stop - start):
                # Bennett's update of L D L' by gain * x x', with one-hot targets as additional
                # columns of L'. The remainder of the targets is the prediction error.
                v = rest[b, k]
                pivot = factor[k, k] + gain[b] * v * v
                step = gain[b] * v / pivot
                gain[b] *= factor[k, k] / pivot
                factor[k, k] = pivot
                _rotate(rest[b, k + 1 :], factor[k, k + 1 :], v, step)
                _rotate(residual[b], targets[k], v, step)
        for i in range(start, stop):
            if len(scores):
                for c in range(n_known):
                    scores[i, c] = (1.0 if c == codes[i] else 0.0) - residual[i - start, c]
            n_known = max(n_known, codes[i] + 1)


@allocating
def coefficients(factor: Array, targets: Array) -> Array:
    """Return weights of linear scores, one row per class: backward substitution of L' W = Z."""
    W = targets.T.copy()
    for k in range(len(factor) - 1, -1, -1):
        for c in range(len(W)):
            W[c, k] -= dot(factor[k, k + 1 :], W[c, k + 1 :])
    return W


class RLS(WeightedStreamClassifier):
    r"""Recursive least squares: ridge regression to one-hot targets, one row at a time.

    With the rows :math:`z_i = (x_i, 1)` and one-hot targets :math:`e_{y_i}`, the scores of a
    row are :math:`W^\top z`, where

    .. math::
        W = A^{-1} T, \qquad A = \lambda I + \sum_i z_i z_i^\top, \qquad
        T = \sum_i z_i e_{y_i}^\top .

    The constant is penalised like the other columns. `predict_proba` is the softmax of the
    scores; it is not calibrated.

    Parameters
    ----------
    ridge : float, default=1.0
        The penalty :math:`\lambda`, greater than 0.
    fit_intercept : bool, default=True
        Whether a column with the constant 1 is added. False reproduces the figures for RLS in the
        MIST paper.

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
    A class that arrives late is exact: A does not contain targets, and every row before the first
    of class c has the target 0 for it, so column c of T, and of any linear image of T, is 0 until
    then. A new class is a column of zeros.

    The state is the factor :math:`A = L D L^\top` and :math:`Z = D^{-1} L^{-1} T`, so that
    :math:`L^\top W = Z`. A row updates both by Bennett's method, which only adds positive
    terms and needs no inverse; its by-product :math:`L^{-1} z` gives :math:`W^\top z` before
    the row is learnt at no extra cost. Test-then-train costs :math:`O(d^2 + d K)` per row.

    Learning n rows in one call equals n calls with one row, bit for bit.

    References
    ----------
    Bennett, "Triangular Factors of Modified Matrices", Numerische Mathematik 7, 1965.
    Gill, Golub, Murray and Saunders, "Methods for Modifying Matrix Factorizations",
    Mathematics of Computation 28, 1974, method C1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mist.baselines import RLS
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RLS()
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> round(model.score(X, y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, ridge: float = 1.0, fit_intercept: bool = True) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept

    def _new_state(self, n_features: int) -> Any:
        p = n_features + bool(self.fit_intercept)
        return RLSState(factor=np.diag(np.full(p, float(self.ridge))), targets=np.zeros((p, 0)))

    def _grown(self, state: Any, n_codes: int) -> Any:
        return state._replace(targets=widened(state.targets, n_codes, axis=1))

    def _design(self, X: Array) -> Array:
        """Return the rows as input of the regression."""
        return np.pad(X, ((0, 0), (0, 1)), constant_values=1.0) if self.fit_intercept else X

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        factor, targets = self._state.factor, self._state.targets
        run(factor, targets, self._design(X), codes, weights, n_known, scores)

    def _scores(self, X: Array) -> Array:
        factor, targets = self._state.factor, self._state.targets
        return self._design(X) @ coefficients(factor, targets).T
