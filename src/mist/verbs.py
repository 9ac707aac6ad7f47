"""What users call on a tree or a forest: learn, test-then-train, predict, fork, merge.

Each call is written and described here once. It takes the lock of the model, and leaves the rest to
the methods at the end, which a tree and a forest have each in their own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mist.decision import Deciding
from mist.estimator import Saveable, StreamScorer
from mist.merge_checks import check_partner
from mist.relabelling import Relabelled
from mist.rows import Array, CheckedRows
from mist.sparse_rows import in_blocks

__all__ = ["StreamModel", "unfitted"]


def unfitted(model: Any) -> NotFittedError:
    """The error of a call that needs a model that has learnt rows.

    Parameters
    ----------
    model : object
        The model.

    Returns
    -------
    NotFittedError
    """
    return NotFittedError(
        f"This {type(model).__name__} has learnt nothing yet; call partial_fit or fit first."
    )


class StreamModel(Deciding, Relabelled, StreamScorer, Saveable, BaseEstimator):
    """A classifier that learns a stream row by row: a tree or a forest."""

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.
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
            For unknown options, infinite values, missing or mixed labels, or unequal lengths; the
            message names the option, or the row and column.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh.partial_fit(X, y, sample_weight=sample_weight)
        if not fresh._has_learnt():
            raise ValueError("every sample_weight is zero: give at least one row a weight above 0")
        self._lock.write(lambda: self._become(fresh))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, which may have new labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.
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

        Examples
        --------
        >>> from mist import MistClassifier
        >>> model = MistClassifier().partial_fit([[0.0], [0.2]], ["low", "low"])
        >>> model = model.partial_fit([[5.0], [5.1]], ["high", "high"])
        >>> model.predict([[0.1], [4.9]])
        array(['low', 'high'], dtype='<U4')
        """
        self._lock.write(
            lambda: self._learn_batch(self._rows_to_learn(X, y, classes, sample_weight))
        )
        return self

    def learn_many(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        indicators: Mapping[Any, Any] | None = None,
    ) -> Self:
        """Learn rows with named columns, which may appear, vanish and come in any order.

        Equals `learn_one` on each row as a mapping, bit for bit.

        Parameters
        ----------
        X : data frame or mapping, n rows
            A pandas or polars data frame, a pyarrow table, or a mapping of names to columns. The
            values of an absent column are missing. A new name adds a numeric column, missing in
            all earlier rows; ``categorical_features`` can name columns of the first call only.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31.
        classes : array-like or None
            Labels to list in ``classes_`` before their first row. Labels need not be declared.
        indicators : mapping or None, default=None
            The names of 0/1 columns that say which text a text column has, each with the name of
            that text column. They are categorical: those of the first call unless
            ``categorical_features`` is set, and all new ones. A new one was 0 in all earlier rows
            in which another one of the same text column had a value, and missing in the others.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the columns have no names.
        ValueError
            As for `fit`. The model is then unchanged.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> model = MistClassifier().learn_many({"size": [1.0, 9.0]}, ["cat", "cow"])
        >>> model = model.learn_many({"legs": [2, 4], "size": [0.5, 8.0]}, ["hen", "cow"])
        >>> model.feature_names_in_.tolist()
        ['size', 'legs']
        >>> model.predict_many({"size": [0.9, 8.5]})
        array(['cat', 'cow'], dtype='<U3')
        """
        self._lock.write(
            lambda: self._learn_batch(
                self._table_to_learn(X, y, classes, sample_weight, indicators or {})
            )
        )
        return self

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row.

        Parameters
        ----------
        x : array-like, shape (d,), or mapping
            The row. In a mapping of column names to values an absent name is a missing value and a
            new name adds a column; the first mapping sets the columns of a new model.
        y : label
            The row's label.
        sample_weight : float
            Weight of the row.

        Returns
        -------
        self
        """
        self._learn_one(x, y, sample_weight)
        return self

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Test-then-train: predict each row, then learn it.

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
        ndarray, shape (n,)
            The prediction for each row, made before the row was learnt. Rows before the first
            learnt one get the first label of ``classes_`` after the call.

        Raises
        ------
        ValueError
            As for `fit`. The model is then unchanged.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> model = MistClassifier()
        >>> model.prequential([[0.0], [9.0], [0.1], [9.1]], [0, 1, 0, 1])
        array([0, 0, 0, 1])
        """
        return self._lock.write(
            lambda: self._test_then_train(
                self._rows_to_learn(X, y, None, sample_weight, predict=True)
            )
        )

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
            lambda: self._test_then_train(
                self._table_to_learn(X, y, None, sample_weight, indicators or {}, predict=True)
            )
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
            lambda: self._proba_then_train(
                self._rows_to_learn(X, y, None, sample_weight, predict=True)
            )
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
            lambda: self._proba_then_train(
                self._table_to_learn(X, y, None, sample_weight, indicators or {}, predict=True)
            )
        )

    # --- answering --------------------------------------------------------------------------

    def predict(self, X: Any, *, next_in_stream: bool = False) -> Array:
        """Return the label of each row, chosen by ``decision``.

        Ties go to the label that sorts first.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.
        next_in_stream : bool, default=False
            Whether each row may come next in the stream that was learnt. The labels before it then
            count, as they do in `prequential` and `predict_one` (``adapt="stream"``). Leave it off
            for rows from elsewhere, such as a test set.

        Returns
        -------
        ndarray, shape (n,)
            Labels.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        """
        return self._lock.read(lambda: self._for_each(X, self._answers, next_in_stream))

    def predict_proba(self, X: Any, *, next_in_stream: bool = False) -> Array:
        """Return the probability of every class for each row, as frequent as it is in the stream.

        Of rows with probability .8, about 80 % have the label, if rows come as in the stream that
        was learnt. The parameter ``decision`` has no influence. With ``adapt="stream"`` the
        probabilities are calibrated by the labels of the stream: a model that is too sure learns
        to be less so.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.
        next_in_stream : bool, default=False
            As for `predict`.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``; each row sums to 1. Declared classes without rows have
            probability 0.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        """
        return self._lock.read(lambda: self._for_each(X, self._proba, next_in_stream))

    def predict_many(self, X: Any, *, next_in_stream: bool = False) -> Array:
        """Return the label of each row, chosen by ``decision``, for rows with named columns.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`. Absent columns are missing; columns never learnt are ignored.
        next_in_stream : bool, default=False
            As for `predict`.

        Returns
        -------
        ndarray, shape (n,)
            Labels.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        TypeError
            If the columns have no names.
        """
        return self._lock.read(
            lambda: self._answers(self._table_to_predict(X), next_in_stream=next_in_stream)
        )

    def predict_proba_many(self, X: Any, *, next_in_stream: bool = False) -> Array:
        """Return the probability of every class for each row, for rows with named columns.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `predict_many`.
        next_in_stream : bool, default=False
            As for `predict`.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``; every row sums to 1.
        """
        return self._lock.read(
            lambda: self._proba(self._table_to_predict(X), next_in_stream=next_in_stream)
        )

    def predict_log_proba(self, X: Any) -> Array:
        """Return the natural logarithm of `predict_proba`; -inf where the probability is 0.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one row, or None if nothing was learnt yet.

        With ``adapt="stream"`` the row counts as the next of the stream, see `predict`.

        Parameters
        ----------
        x : array-like, shape (d,), or mapping
            The row. Absent names are missing; names never learnt are ignored.
        """
        return self._predict_one(x)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one row; empty if nothing was learnt yet.

        With ``adapt="stream"`` the row counts as the next of the stream, see `predict`.

        Parameters
        ----------
        x : array-like, shape (d,), or mapping
            The row. Absent names are missing; names never learnt are ignored.
        """
        return self._lock.read(lambda: self._shares_of(x))

    # --- merging ----------------------------------------------------------------------------

    def fork(self, number: int = 0) -> Self:
        """Return an empty model with the same tree, to learn a part of the rows.

        Forks learn independently, for example in other processes, and never split; `merge` adds
        what they have learnt to the model. A fork cannot predict.

        Parameters
        ----------
        number : int, default=0
            Number of the fork. Forks with different numbers have independent random bits, so give
            forks that learn different rows different numbers.

        Returns
        -------
        MistClassifier or MistForest
            The fork; it shares no memory with this model.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet. Unfitted models can be merged without a fork.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> X, y = np.array([[0.0], [1.0], [9.0], [8.0]]), np.array(["a", "a", "b", "b"])
        >>> model = MistClassifier().fit(X[::2], y[::2])
        >>> part = model.fork().partial_fit(X[1::2], y[1::2])
        >>> model.merge(part).n_rows_
        4
        """
        self._fitted()
        return self._lock.read(lambda: self._fork(number))

    def merge(self, other: Self) -> Self:
        """Add the statistics of another model to this one, without its rows.

        The other model is either a `fork` of this one, or of a model with the same tree, and has
        learnt since; or it has learnt other rows from the start, perhaps of other classes.
        Weights, counts and moments are added exactly, up to rounding; quantile sketches are merged
        within their error; mixtures are joined and reduced, which is an approximation. If the
        trees have different splits, the splits of the tree with more leaves stay. The statistics
        of the other leaves are divided at every threshold that cuts them, as at a split.

        Parameters
        ----------
        other : MistClassifier or MistForest
            A model with the same options and columns; its labels may differ. It is not changed.

        Returns
        -------
        self
            A leaf that is due for a split attempt is examined when the next row reaches it.

        Raises
        ------
        TypeError
            If `other` is not a model of the same type.
        ValueError
            If options or columns differ, if labels would mix text and numbers, or if both models
            are copies of one that had split, whose rows would count twice. The model is then
            unchanged. Copies of a model without a split are not detected: use forks.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> X, y = np.array([[0.0], [0.2], [9.0], [8.8]]), np.array(["a", "a", "b", "b"])
        >>> model = MistClassifier().fit(X[:2], y[:2])
        >>> model.merge(MistClassifier().fit(X[2:], y[2:])).predict([[0.1], [9.1]])
        array(['a', 'b'], dtype='<U1')
        """
        check_partner(self, other)
        return self._lock.write(lambda: self._merge(other))

    def __sklearn_is_fitted__(self) -> bool:
        return self._has_learnt()

    # --- what a tree and a forest do in their own ways ----------------------------------------

    def _has_learnt(self) -> bool:
        """Whether a row was learnt."""
        raise NotImplementedError

    def _become(self, fresh: Self) -> None:
        """Take over all that another model of the same parameters has learnt."""
        raise NotImplementedError

    def _rows_to_learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool = False
    ) -> CheckedRows:
        """Check rows, and add their labels and columns to the model.

        A refused call changes nothing. With ``predict`` rows of weight 0 are kept.
        """
        raise NotImplementedError

    def _table_to_learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        indicators: Mapping[Any, Any],
        *,
        predict: bool = False,
    ) -> CheckedRows:
        """`_rows_to_learn` for rows with named columns."""
        raise NotImplementedError

    def _row_to_learn(self, x: Any, y: Any, sample_weight: float) -> CheckedRows:
        """`_rows_to_learn` for one row."""
        raise NotImplementedError

    def _learn_batch(self, batch: CheckedRows) -> None:
        """Learn checked rows."""
        raise NotImplementedError

    def _learn_one(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn one row."""
        self._lock.write(lambda: self._learn_batch(self._row_to_learn(x, y, sample_weight)))

    def _predict_one(self, x: Any) -> Any:
        """Predict one row; None if nothing was learnt yet."""
        return self._lock.read(lambda: self._label_of(x))

    def _label_of(self, x: Any) -> Any:
        if not self._has_learnt():
            return None
        (label,) = self._answers(self._row_to_predict(x), next_in_stream=True).tolist()
        return label

    def _shares_of(self, x: Any) -> dict[Any, float]:
        if not self._has_learnt():
            return {}
        (shares,) = self._proba(self._row_to_predict(x), next_in_stream=True).tolist()
        return dict(zip(self.classes_.tolist(), shares, strict=True))

    def _for_each(self, X: Any, result: Callable[..., Array], *options: Any) -> Array:
        """Check rows, and return the results for them; ``result`` as `_proba`."""
        X, complete = self._rows_to_predict(X)
        return in_blocks(X, lambda rows: result(rows, complete, *options))

    def _rows_to_predict(self, X: Any) -> tuple[Any, bool]:
        """Check rows for prediction; also returns whether it is known that no value is missing."""
        raise NotImplementedError

    def _table_to_predict(self, X: Any) -> Array:
        """Check rows with named columns for prediction."""
        raise NotImplementedError

    def _row_to_predict(self, x: Any) -> Array:
        """Check one row for prediction."""
        raise NotImplementedError

    def _answers(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        """Labels of checked rows; ``complete`` as in `CheckedRows`."""
        raise NotImplementedError

    def _proba(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        """Class probabilities of checked rows; ``complete`` as in `CheckedRows`."""
        raise NotImplementedError

    def _fork(self, number: int, share: float = 0.0) -> Self:
        """`fork` of a model that has learnt rows."""
        raise NotImplementedError

    def _merge(self, other: Self) -> Self:
        """`merge` with a model of the same type."""
        raise NotImplementedError
