"""Base classes of baselines: validation, labels, and predictions from class scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted

from mist.engine.compiled import summed
from mist.estimator import Saveable, StreamScorer, take_over, without_trace
from mist.labels import Labels
from mist.locking import uninterrupted
from mist.rows import Array, check_classes, check_labels, check_rows, check_weights

_BATCH = 1024
_FAR = 1e300
_LEARNT = ("_state", "_labels", "classes_", "n_features_in_", "feature_names_in_")


def widened(array: Array, n: int, axis: int = 0) -> Array:
    """Pad an array with zeros to n entries along an axis."""
    short = n - array.shape[axis]
    if short <= 0:
        return array
    return np.pad(array, [(0, short if k == axis else 0) for k in range(array.ndim)])


@summed
def add_multiple(a: Array, factor: float, b: Array) -> None:
    """Add a multiple of b to a."""
    for j in range(len(a)):
        a[j] += factor * b[j]


@summed
def dot(a: Array, b: Array) -> float:
    """Sum of products."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


class StreamClassifier(StreamScorer, Saveable, BaseEstimator, ABC):
    """Base class of the baselines: a state of arrays, and one score per class.

    A baseline implements `_new_state`, `_grown` and `_run`. Classes have codes, counted from 0 in
    order of first appearance; the arrays are indexed by code.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # False where another library learns: nothing is to be compiled.
    _compiled: ClassVar[bool] = True
    _state: Any
    _labels: Labels
    classes_: Array

    @abstractmethod
    def _new_state(self, n_features: int) -> Any:
        """Return a NamedTuple of arrays without classes."""

    @abstractmethod
    def _grown(self, state: Any, n_codes: int) -> Any:
        """Return the state with space for ``n_codes`` classes."""

    @abstractmethod
    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        """Test-then-train: score each row if ``scores`` has rows, then learn it if its code >= 0.

        Only classes learnt before the row get a score; ``n_known`` is their number before the first
        row. The other entries of ``scores`` stay -inf.
        """

    def predict(self, X: Any) -> Array:
        """Return the label with the highest score; ties go to the label that sorts first.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.

        Returns
        -------
        ndarray, shape (n,)
            Labels.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            If the number of columns is wrong or a value is NaN or infinite; names row and column.
        """
        return self._lock.write(lambda: self._labels_of(self._checked(X)))

    def _labels_of(self, X: Array) -> Array:
        codes = [self._winners(self._scores(X[rows])) for rows in gen_batches(len(X), _BATCH)]
        return self._labels.decode(np.concatenate(codes))

    def predict_proba(self, X: Any) -> Array:
        """Return the softmax of the class scores, which the class documents.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``; each row sums to 1. A declared class without a row has
            probability 0.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            If the number of columns is wrong or a value is NaN or infinite; names row and column.
        """
        return self._lock.write(lambda: self._shares_of(self._checked(X)))

    def _shares_of(self, X: Array) -> Array:
        shares = np.zeros((len(X), len(self.classes_)))
        for rows in gen_batches(len(X), _BATCH):
            shares[rows, self._labels.ranks] = softmax(self._scores(X[rows]), axis=1)
        return shares

    @property
    def nbytes(self) -> int:
        """Exact bytes of all arrays that hold what was learnt, including random weights."""
        check_is_fitted(self)
        return sum(array.nbytes for array in self._state)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn with an unfitted copy and take over its state."""
        fresh = type(self)(**self.get_params(deep=False))
        fresh._learn(X, y, None, sample_weight)
        if not fresh.__sklearn_is_fitted__():
            raise ValueError("every sample_weight is zero: give at least one row a weight above 0")
        self._lock.write(lambda: take_over(self, fresh, _LEARNT))
        return self

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, predict: bool = False
    ) -> list[Array]:
        """Check everything, then learn; with ``predict`` returns the class scores before that.

        Scores are in batches of rows. A refused call does not change the model, not even the
        column names of a first call.
        """
        with without_trace(self):
            self._validate_params()
            first = not hasattr(self, "_state")
            X = check_rows(self, X, reset=first, missing=False)
            y = check_labels(X, y)
            weights = check_weights(X, sample_weight)
            if first:
                self._labels = Labels()
                self._state = self._new_state(X.shape[1])
            n_known = len(self._labels.ranks)
            learnt = weights > 0
            if predict and not n_known and not learnt.any():
                raise ValueError("every sample_weight is zero, so there is no class to predict yet")
            declared = check_classes(classes)
            codes = np.full(len(X), -1, dtype=np.int64)
            codes[learnt] = self._labels.take(y[learnt], declared)
        self.classes_ = self._labels.classes
        n_codes = len(self._labels.ranks)
        self._state = self._grown(self._state, n_codes)
        if not (predict or learnt.all()):
            X, codes, weights = X[learnt], codes[learnt], weights[learnt]
        batches = []
        for start in range(0, len(X), _BATCH):
            rows = slice(start, start + _BATCH)
            scores = np.full((len(X[rows]) if predict else 0, n_codes), -np.inf)
            with uninterrupted():
                self._run(X[rows], codes[rows], weights[rows], n_known, scores)
            known = np.maximum.accumulate(np.append(n_known, 1 + codes[rows]))
            if predict:
                _keep_finite(scores, np.arange(n_codes) < known[:-1, None])
            n_known = int(known[-1])
            batches.append(scores)
        return batches

    def _prequential(self, X: Any, y: Any, sample_weight: Any) -> Array:
        """Return labels predicted before each row was learnt; ``classes_[0]`` if none was known."""
        return self._lock.write(lambda: self._labels_before(X, y, sample_weight))

    def _labels_before(self, X: Any, y: Any, sample_weight: Any) -> Array:
        batches = self._learn(X, y, None, sample_weight, predict=True)
        answers = []
        for scores in batches:
            labels = self._labels.decode(self._winners(scores))
            labels[np.isneginf(scores).all(axis=1)] = self.classes_[0]
            answers.append(labels)
        return np.concatenate(answers)

    def _prequential_proba(self, X: Any, y: Any, sample_weight: Any) -> Array:
        """Return class probabilities before each row was learnt; zeros if no class was known."""
        return self._lock.write(lambda: self._shares_before(X, y, sample_weight))

    def _shares_before(self, X: Any, y: Any, sample_weight: Any) -> Array:
        batches = self._learn(X, y, None, sample_weight, predict=True)
        scores = np.concatenate(batches)
        shares = np.zeros_like(scores)
        known = np.isfinite(scores).any(axis=1)
        shares[np.ix_(known, self._labels.ranks)] = softmax(scores[known], axis=1)
        return shares

    def _checked(self, X: Any) -> Array:
        """Check rows for prediction."""
        check_is_fitted(self)
        return check_rows(self, X, reset=False, missing=False)

    def _scores(self, X: Array) -> Array:
        """Return the score of every class, by code, for checked rows."""
        n_codes = len(self._labels.ranks)
        scores = np.full((len(X), n_codes), -np.inf)
        self._run(X, np.full(len(X), -1), np.ones(len(X)), n_codes, scores)
        _keep_finite(scores, True)
        return scores

    def _winners(self, scores: Array) -> Array:
        """Return codes of the highest scores; ties go to the label that sorts first."""
        order = np.argsort(self._labels.ranks)
        return order[scores[:, order].argmax(axis=1)]

    def _check_loaded(self) -> None:
        from mist.persistence.validate import check_baseline

        check_baseline(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state") and len(self._labels.ranks) > 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_state"):
            # joblib may pass read-only memory.
            arrays = (a if a.flags.writeable else np.array(a) for a in self._state)
            self._state = type(self._state)(*arrays)


def _keep_finite(scores: Array, known: Any) -> None:
    """Limit scores of known classes that overflowed because of an extreme value."""
    bad = ~np.isfinite(scores) & known
    if bad.any():
        scores[bad] = np.nan_to_num(scores[bad], nan=-_FAR, posinf=_FAR, neginf=-_FAR)


class WeightedStreamClassifier(StreamClassifier):
    """A baseline with row weights: 2 means a second copy of the row, 0 that it is absent."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters out of range, NaN or infinite values, missing or mixed labels, or unequal
            lengths; the message names the parameter, or the row and column.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, which may have new labels.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.
        classes : array-like or None
            Labels to list in ``classes_`` before their first row. Labels need not be declared.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.
        """
        self._lock.write(lambda: self._learn(X, y, classes, sample_weight))
        return self

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Test-then-train: predict each row, then learn it.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31; a row of weight 0 is predicted only.

        Returns
        -------
        ndarray, shape (n,)
            The prediction for each row, made before the row was learnt. Rows before the first
            learnt one get the first label of ``classes_`` after the call.

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.
        """
        return self._prequential(X, y, sample_weight)


class UnweightedStreamClassifier(StreamClassifier):
    """A baseline without row weights."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters out of range, NaN or infinite values, missing or mixed labels, or unequal
            lengths; the message names the parameter, or the row and column.
        """
        return self._fit(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows, which may have new labels.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.
        classes : array-like or None
            Labels to list in ``classes_`` before their first row. Labels need not be declared.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.
        """
        self._lock.write(lambda: self._learn(X, y, classes, None))
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Test-then-train: predict each row, then learn it.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels.

        Returns
        -------
        ndarray, shape (n,)
            The prediction for each row, made before the row was learnt. Rows before the first
            learnt one get the first label of ``classes_`` after the call.

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.
        """
        return self._prequential(X, y, None)
