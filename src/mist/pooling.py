"""Pooling of class probabilities: mean over trees, and blend with a discriminant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from mist.rows import Array

__all__ = ["blend", "blend_votes", "mean_posterior", "reweighted"]

FLOOR = 1e-6
"""Lower limit of probabilities in a blend, so that no model rules out a class."""


def mean_posterior(posteriors: Sequence[Array]) -> tuple[Array, Array]:
    """Return the mean of class probabilities over the trees that vote on a row.

    Parameters
    ----------
    posteriors : sequence of ndarray of float64, shape (n, n_classes)
        One array per tree. A tree abstains from a row if a value is not finite or all are 0.

    Returns
    -------
    means : ndarray of float64, shape (n, n_classes)
        Zeros where all trees abstain.
    votes : ndarray of int64, shape (n,)
        Number of trees that vote.

    Examples
    --------
    >>> import numpy as np
    >>> from mist.pooling import mean_posterior
    >>> one, other = np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [np.nan, 1.0]])
    >>> means, votes = mean_posterior([one, other])
    >>> means.tolist(), votes.tolist()
    ([[0.75, 0.25], [0.0, 1.0]], [2, 1])
    """
    total = np.zeros_like(posteriors[0])
    votes = np.zeros(len(total), dtype=np.int64)
    for shares in posteriors:  # in a fixed order, so that rounding does not depend on threads
        voting: Array = np.isfinite(shares.sum(axis=1)) & shares.any(axis=1)
        total += np.where(voting[:, None], shares, 0.0)
        votes += voting
    return total / np.maximum(votes, 1)[:, None], votes


def blend(trees: Array, features: Array, weights: Array) -> Array:
    r"""Pool the probabilities of trees with those of a discriminant on random features.

    The pool is logarithmic: with the probabilities p of the trees and q of the discriminant, and
    the weight w of a row, class k gets a probability proportional to
    :math:`\max(p_k, 10^{-6}) \max(q_k, 10^{-6})^w`, and 0 if both models give it 0.

    Parameters
    ----------
    trees, features : ndarray of float64, shape (n, n_classes)
        Class probabilities. If a row of ``features`` is all 0 or not finite, the result is that of
        the trees.
    weights : ndarray of float64, shape (n,)
        Weight of the discriminant relative to the trees, for each row.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> blend(np.array([[0.5, 0.5]]), np.array([[0.9, 0.1]]), np.array([1.0])).round(3).tolist()
    [[0.9, 0.1]]
    """
    asked = np.asarray(np.isfinite(features).all(axis=1) & features.any(axis=1))
    out = trees.copy()
    p, q = trees[asked], features[asked]
    scores = np.log(np.maximum(p, FLOOR)) + weights[asked, None] * np.log(np.maximum(q, FLOOR))
    out[asked] = softmax(np.where(p + q > 0.0, scores, -np.inf), axis=1)
    return out


def blend_votes(base: Array, votes: Array, known: Array, weight: float) -> Array:
    r"""Pool the votes of trees that know some of the classes with the probabilities of a model.

    The classes that the trees know share the probability that the model gives to all of them. Each
    gets a share proportional to :math:`(v_k + 1/2) \max(p_k, 10^{-6})^w`, with v_k votes and the
    probability p_k of the model. Other classes keep their probability.

    Parameters
    ----------
    base : ndarray of float64, shape (n, n_classes)
        Class probabilities of the model.
    votes : ndarray of float64, shape (n, n_classes)
        Number of trees that vote for each class.
    known : ndarray of bool, shape (n_classes,)
        The classes that the trees know. If there are none, the result is ``base``.
    weight : float
        Weight w of the log probabilities of the model.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows sum to 1 where those of ``base`` do.

    Examples
    --------
    >>> import numpy as np
    >>> base, votes = np.array([[0.5, 0.25, 0.25]]), np.array([[0.0, 1.0, 0.0]])
    >>> blend_votes(base, votes, np.array([True, True, False]), 0.0).round(4).tolist()
    [[0.1875, 0.5625, 0.25]]
    """
    out = base.copy()
    if known.any():
        p = base[:, known]
        scores = np.log(votes[:, known] + 0.5) + weight * np.log(np.maximum(p, FLOOR))
        out[:, known] = softmax(scores, axis=1) * p.sum(axis=1, keepdims=True)
    return out


def reweighted(probabilities: Array, before: Array, after: Array) -> Array:
    """Change class probabilities in the ratio in which those of another model changed.

    Parameters
    ----------
    probabilities, before, after : ndarray of float64, shape (n, n_classes)
        Class probabilities.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows sum to 1; rows of zeros stay.

    Examples
    --------
    >>> import numpy as np
    >>> even = np.array([[0.5, 0.5]])
    >>> reweighted(even, even, np.array([[0.8, 0.2]])).round(3).tolist()
    [[0.8, 0.2]]
    """
    out = probabilities * (np.maximum(after, FLOOR) / np.maximum(before, FLOOR))
    total = out.sum(axis=1, keepdims=True)
    return np.divide(out, total, out=np.zeros_like(out), where=total > 0.0)
