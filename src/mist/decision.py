"""The label that is predicted, given the probabilities of the classes; both before learning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from mist.adaptation.calibration import calibrated
from mist.labels import Labels
from mist.locking import ReadWriteLock
from mist.rows import Array, CheckedRows

__all__ = ["Deciding", "check_decision", "decide", "running_totals"]

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

    Raises
    ------
    TypeError, ValueError
        As `check_decision` does.

    Examples
    --------
    >>> shares, classes = np.array([[0.8, 0.2]]), np.array(["fine", "fraud"])
    >>> for decision in ("counts", "balanced", {"fraud": 5}):
    ...     decide(shares, decision, np.array([90.0, 10.0]), classes)
    array([0])
    array([1])
    array([1])
    """
    check_decision(decision)
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


class Deciding:
    """A classifier that chooses labels by its parameter ``decision``."""

    decision: Any
    classes_: Array
    _labels: Labels
    _lock: ReadWriteLock

    def prequential_many(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        indicators: Mapping[Any, Any] | None = None,
    ) -> Array:
        """Test-then-train on rows with named columns: `prequential` for the input of `learn_many`.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31; a row of weight 0 is predicted only.
        indicators : mapping or None, default=None
            As for `learn_many`.

        Returns
        -------
        ndarray, shape (n,)
            The prediction for every row, made before the row was learnt.
        """
        return self._lock.write(
            lambda: self._test_then_train(self._table_to_follow(X, y, sample_weight, indicators))
        )

    def prequential_proba(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Test-then-train with probabilities: `prequential`, and how sure each prediction was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31; a row of weight 0 is predicted only.

        Returns
        -------
        labels : ndarray, shape (n,)
            As `prequential` returns them.
        shares : ndarray of float64, shape (n, n_classes)
            The probability of every class for each row before the row was learnt, as it comes next
            in the stream. Columns follow ``classes_`` after the call. Rows sum to 1; rows before
            the first learnt one are 0. A probability below 1e-5 may be 0.

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> X, y = [[0.0], [9.0], [0.1], [9.1]], [0, 1, 0, 1]
        >>> labels, shares = MistClassifier("gaussian").prequential_proba(X, y)
        >>> labels.tolist(), shares[:2].tolist()
        ([0, 0, 0, 1], [[0.0, 0.0], [1.0, 0.0]])
        """
        return self._lock.write(
            lambda: self._proba_then_train(self._rows_to_follow(X, y, sample_weight))
        )

    def prequential_proba_many(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        indicators: Mapping[Any, Any] | None = None,
    ) -> tuple[Array, Array]:
        """`prequential_proba` on rows with named columns, for the input of `learn_many`.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31; a row of weight 0 is predicted only.
        indicators : mapping or None, default=None
            As for `learn_many`.

        Returns
        -------
        labels : ndarray, shape (n,)
        shares : ndarray of float64, shape (n, n_classes)
            As for `prequential_proba`.
        """
        return self._lock.write(
            lambda: self._proba_then_train(self._table_to_follow(X, y, sample_weight, indicators))
        )

    def _rows_to_follow(self, X: Any, y: Any, sample_weight: Any) -> CheckedRows:
        """Validate rows that are predicted and learnt."""
        raise NotImplementedError

    def _table_to_follow(
        self, X: Any, y: Any, sample_weight: Any, indicators: Mapping[Any, Any] | None
    ) -> CheckedRows:
        """Validate rows with named columns that are predicted and learnt."""
        raise NotImplementedError

    def _test_then_train(self, batch: CheckedRows) -> Array:
        """Predict and learn validated rows; returns as `prequential` does."""
        raise NotImplementedError

    def _proba_then_train(self, batch: CheckedRows) -> tuple[Array, Array]:
        """Predict and learn validated rows; returns as `prequential_proba` does."""
        raise NotImplementedError

    def _is_balanced(self) -> bool:
        """Whether its probabilities are those of classes that are equally frequent."""
        raise NotImplementedError

    def _totals(self) -> Array:
        """Weight of the rows of each class so far, in the order of ``classes_``."""
        raise NotImplementedError

    def _calibration(self) -> Array | None:
        """Return what was learnt of how sure the model may be; see `calibrated`."""
        raise NotImplementedError

    def _by_label(self, of_codes: Array) -> Array:
        """Put values of the first class codes into the order of ``classes_``; 0 for the others."""
        out = np.zeros(len(self.classes_))
        out[self._labels.ranks[: len(of_codes)]] = of_codes
        return out

    def _calibrated(self, shares: Array, totals: Array, calibration: Array | None = None) -> Array:
        """Turn probabilities into those of the stream; see `calibrated`."""
        if self._is_balanced():
            return calibrated(shares, totals, self._labels.ranks, calibration)
        if calibration is None:
            return shares
        return calibrated(shares, np.ones_like(totals), self._labels.ranks, calibration)

    def _decide(self, shares: Array, totals: Array) -> Array:
        """Return the place in ``classes_`` that ``decision`` chooses for each row."""
        return decide(shares, self.decision, totals, self.classes_)

    def _before_learning(
        self, shares: Array, before: Array, codes: Array, weights: Array, *, of_stream: bool
    ) -> tuple[Array, Array]:
        """Return probabilities of rows that were learnt since, each with what was known before it.

        Parameters
        ----------
        shares : ndarray of float64, shape (n, n_classes)
            Probabilities of each row before it was learnt.
        before : ndarray of float64, shape (n_classes,)
            What `_totals` returned before the first row.
        codes, weights : ndarray, shape (n,)
            Class codes and weights of the rows.
        of_stream : bool
            Whether the probabilities are those of the stream.

        Returns
        -------
        shares : ndarray of float64, shape (n, n_classes)
            Probabilities of the stream.
        totals : ndarray of float64, shape (n, n_classes)
            Weight of the rows of each class before each row.
        """
        totals = running_totals(before, self._labels.ranks[codes], weights)
        return (shares if of_stream else self._calibrated(shares, totals)), totals
