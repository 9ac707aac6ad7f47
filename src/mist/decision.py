"""The label that is predicted, given the probabilities of the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from mist.rows import Array

__all__ = ["check_decision", "decide", "running_totals"]

_ALLOWED = "allowed are 'balanced', 'counts', a mapping of labels to costs, and None"


def check_decision(decision: Any) -> None:
    """Refuse an unknown rule for decisions.

    Parameters
    ----------
    decision : object
        The parameter of the estimator.

    Raises
    ------
    TypeError
        If it is neither text nor a mapping nor None.
    ValueError
        If the text is unknown, or a cost is not a positive finite number.

    Examples
    --------
    >>> check_decision({"fraud": 20.0})
    >>> check_decision({"fraud": -1})
    Traceback (most recent call last):
    ValueError: decision: the cost of 'fraud' is -1, and must be a finite number above 0
    """
    if decision is None or (isinstance(decision, str) and decision in ("balanced", "counts")):
        return
    if isinstance(decision, str):
        raise ValueError(f"decision={decision!r} is unknown; {_ALLOWED}")
    if not isinstance(decision, Mapping):
        raise TypeError(f"decision is a {type(decision).__name__}; {_ALLOWED}")
    for label, cost in decision.items():
        number = isinstance(cost, Real) and not isinstance(cost, bool)
        if not (number and 0.0 < float(cost) < math.inf):
            raise ValueError(
                f"decision: the cost of {label!r} is {cost!r}, and must be a finite number above 0"
            )


def decide(shares: Array, decision: Any, frequencies: Array, classes: Array) -> Array:
    """Choose a class for every row.

    Parameters
    ----------
    shares : ndarray of float64, shape (n, n_classes)
        Probabilities of the classes, as frequent as they are in the stream.
    decision : {"balanced", "counts"} or mapping
        As for `MistClassifier`.
    frequencies : ndarray of float64, shape (n_classes,) or (n, n_classes)
        Weight of the rows of each class.
    classes : ndarray, shape (n_classes,)
        Labels.

    Returns
    -------
    ndarray of int64, shape (n,)
        Numbers of classes; the first of those that tie.

    Examples
    --------
    >>> shares, classes = np.array([[0.8, 0.2]]), np.array(["fine", "fraud"])
    >>> for decision in ("counts", "balanced", {"fraud": 5}):
    ...     decide(shares, decision, np.array([90.0, 10.0]), classes)
    array([0])
    array([1])
    array([1])
    """
    if isinstance(decision, str):
        if decision == "counts":
            return shares.argmax(axis=1)
        seen = np.broadcast_to(frequencies > 0.0, shares.shape)
        return np.divide(shares, frequencies, out=np.zeros_like(shares), where=seen).argmax(axis=1)
    costs = np.array([float(decision.get(label, 1.0)) for label in classes.tolist()])
    return (shares * costs).argmax(axis=1)


def running_totals(before: Array, places: Array, weights: Array) -> Array:
    """Return the weight of the rows of each class before each of some rows.

    Parameters
    ----------
    before : ndarray of float64, shape (n_classes,)
        Weights before the first row.
    places : ndarray of int64, shape (n,)
        Number of the class of each row; anything where the weight is 0.
    weights : ndarray of float64, shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)

    Examples
    --------
    >>> running_totals(np.zeros(2), np.array([1, 1, 0]), np.ones(3))
    array([[0., 0.],
           [0., 1.],
           [0., 2.]])
    """
    out = np.zeros((len(places), len(before)))
    learnt = np.flatnonzero(weights[:-1] > 0.0)
    out[learnt + 1, places[learnt]] = weights[learnt]
    if len(out):
        out[0] = before
    return out.cumsum(axis=0)
