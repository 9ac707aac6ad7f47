"""`StreamPipeline`: an encoder and a model that learn together, batch after batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from mist.adaptation.changes import Change
from mist.estimator import Saveable, StreamScorer, take_over, without_trace
from mist.preprocessing.encoder import StreamEncoder
from mist.preprocessing.models import (
    RelabelledModel,
    declare_categorical,
    has_learnt,
    takes_indicators,
)
from mist.preprocessing.plain_rows import encode_plain
from mist.preprocessing.prequential import PrequentialPipeline
from mist.sparse_rows import BlockRows, NamedBlocks, in_blocks
from mist.tables import Array

if TYPE_CHECKING:
    from mist.inspection import Explanation

__all__ = ["StreamPipeline"]

_T = TypeVar("_T")

_LEARNT = ("encoder_", "model_")


class StreamPipeline(PrequentialPipeline, RelabelledModel, StreamScorer, Saveable, BaseEstimator):
    """An encoder followed by a model, for streams with mixed columns.

    `sklearn.pipeline.Pipeline` cannot learn batch after batch; this class can. The encoder learns
    the new categories and columns of a batch and passes the batch to the model by name.

    Parameters
    ----------
    encoder : StreamEncoder or None, default=None
        Settings of the encoder; a clone is fitted. None means the defaults.
    model : classifier or None, default=None
        Settings of the model. `MistClassifier` and `MistForest` accept new columns; other
        classifiers with `partial_fit` learn only while there are no columns besides those of the
        first call. None means `MistClassifier`.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted.
    n_features_in_ : int
        Number of learnt columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Their names; only if they have names.
    changes_ : list of Change
        Changes that the model has found in the stream; only if it looks for them.
    encoder_ : StreamEncoder
        The fitted encoder.
    model_ : classifier
        The fitted model.

    Notes
    -----
    The 0/1 columns of the first call become the ``categorical_features`` of a MIST model that has
    none set: they get a Bernoulli likelihood. So do the columns of later categories in any MIST
    model. A new category was 0 in all earlier rows that had another one of its column, and missing
    in the rows where the column was missing; the model then knows what it would know if the
    category had been given in ``categories`` of `StreamEncoder`. Its splits were chosen without
    it. The categories of a batch, including rows of weight 0, are learnt before the model learns or
    predicts its first row.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> model = StreamPipeline(model=MistClassifier.paper())
    >>> X = {"size": [1.0, 9.0, 1.2, 8.0], "coat": ["short", "long", "short", "long"]}
    >>> model = model.learn_many(X, ["cat", "cow", "cat", "cow"])
    >>> model.learn_one({"size": 0.3, "coat": "feathers"}, "hen").classes_
    array(['cat', 'cow', 'hen'], dtype='<U3')
    >>> model.predict_many({"coat": ["long", "short"], "size": [8.5, 1.1]})
    array(['cow', 'cat'], dtype='<U3')
    """

    encoder_: StreamEncoder
    model_: Any

    def __init__(self, encoder: StreamEncoder | None = None, model: Any = None) -> None:
        self.encoder = encoder
        self.model = model

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers and texts; None, NaN and the missing values of libraries are missing.
        y : array-like, shape (n,)
            Labels: numbers, text or bools.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the encoder or the model refuses the rows.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh.partial_fit(X, y, sample_weight=sample_weight)
        if not fresh.__sklearn_is_fitted__():
            raise ValueError("every sample_weight is zero: there is nothing to learn")
        self._lock.write(lambda: take_over(self, fresh, _LEARNT))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new categories and new labels are allowed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns of the first call, in the same order.
        y : array-like, shape (n,)
            Labels.
        classes : array-like or None
            Labels to list before their first row.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the encoder or the model refuses the rows; then nothing of the call is learnt.
        """

        def learn(encoder: StreamEncoder) -> None:
            self._learn(self._rows(encoder.partial_fit(X), X), y, classes, sample_weight)

        self._grow(learn)
        return self

    def learn_many(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Learn rows by column name: columns may be new, absent and in any order.

        Parameters
        ----------
        X : data frame or mapping, n rows
            A pandas or polars data frame, a pyarrow table, or a mapping of names to columns.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.
        classes : array-like or None
            Labels to list before their first row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the encoder or the model refuses the rows; then nothing of the call is learnt.
        """

        def learn(encoder: StreamEncoder) -> None:
            self._learn(encoder.learn_many(X).transform_many(X), y, classes, sample_weight)

        self._grow(learn)
        return self

    def learn_one(self, x: Mapping[Any, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row with values by column name.

        Parameters
        ----------
        x : mapping
            Values by column name: numbers and texts.
        y : label
            The row's label.
        sample_weight : float
            Weight of the row, if the model takes weights.

        Returns
        -------
        self
        """
        weights = None if sample_weight == 1.0 else [sample_weight]
        if weights is None and self._lock.write(lambda: self._learn_plain(x, y)):
            return self
        return self.learn_many(self._table(x), [y], weights)

    def _learn_plain(self, x: Any, y: Any) -> bool:
        """Learn a row with which the encoder learns nothing; False if it was not learnt."""
        model = getattr(self, "model_", None)
        if not (takes_indicators(model) and isinstance(x, Mapping)):
            return False
        # The columns of rows of weight 0 are known to the encoder only.
        if getattr(model, "n_features_in_", -1) != len(self.encoder_._owners):
            return False
        row = encode_plain(self.encoder_, x, learning=True)
        if row is None:
            return False
        model.learn_one(row, y)  # type: ignore[union-attr]
        return True

    def _grow(self, learn: Callable[[StreamEncoder], _T]) -> _T:
        """Call ``learn`` on the encoder; restore encoder and model if it fails."""
        return self._lock.write(lambda: self._grow_alone(learn))

    def _grow_alone(self, learn: Callable[[StreamEncoder], _T]) -> _T:
        with without_trace(self):
            if not hasattr(self, "encoder_"):
                if self.encoder is not None and not hasattr(self.encoder, "transform_many"):
                    raise TypeError(
                        f"encoder is a {type(self.encoder).__name__}, not a StreamEncoder; "
                        "pass a model by name: StreamPipeline(model=...)"
                    )
                self.encoder_ = StreamEncoder() if self.encoder is None else clone(self.encoder)
                self.model_ = clone(self._model())
            with without_trace(self.encoder_):
                return learn(self.encoder_)

    def _model(self) -> Any:
        if self.model is not None:
            return self.model
        from mist.classifier import MistClassifier  # imports compiled code: only when needed

        return MistClassifier()

    def _learn(self, rows: Array, y: Any, classes: Any, sample_weight: Any) -> None:
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        if classes is not None:
            options["classes"] = classes
        self._call("learn_many", "partial_fit", rows, y, options)

    def _call(
        self, by_name: str, by_place: str, rows: Array, y: Any, options: dict[str, Any]
    ) -> Any:
        """Call a method of the model that learns, by name if there is one."""
        model = self.model_
        if rows.shape[1] == 0:
            raise ValueError(
                "no column has had a value yet, so the model cannot learn: leave these rows out"
            )
        if not has_learnt(model):
            declare_categorical(model, self.encoder_.categorical_features_)
        # Known columns stay what they are.
        if takes_indicators(model) and rows.shape[1] > getattr(model, "n_features_in_", 0):
            options["indicators"] = self.encoder_._indicators()
        if hasattr(model, by_name):
            return getattr(model, by_name)(self._named(rows), y, **options)
        if has_learnt(model) and rows.shape[1] != model.n_features_in_:
            new = self.encoder_.get_feature_names_out()[model.n_features_in_ :].tolist()
            raise ValueError(
                f"the rows add the columns {new}, but {type(model).__name__} learns only the "
                "columns of the first call: set hashing or categories of the StreamEncoder, or "
                "use MistClassifier or MistForest"
            )
        if not hasattr(model, by_place):
            first = "predict_proba" if by_place.endswith("proba") else "predict"
            raise TypeError(
                f"{type(model).__name__} has no {by_place}: call {first}, then partial_fit"
            )
        return getattr(model, by_place)(rows, y, **options)

    def _rows(self, encoder: StreamEncoder, X: Any) -> Any:
        """Encoded rows; those of a large sparse matrix in blocks, for models of this library."""
        return encoder._block_rows(X) if takes_indicators(self.model_) else encoder._rows(X)

    def _named(self, rows: Any) -> Any:
        """The columns of encoded rows by name."""
        names = self.encoder_.get_feature_names_out().tolist()
        if isinstance(rows, BlockRows):
            return NamedBlocks(names, rows)
        return dict(zip(names, rows.T, strict=True))

    # --- answering --------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Most probable label of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns that were learnt, in the same order.

        Returns
        -------
        ndarray, shape (n,)
            Labels.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        """
        return self._lock.read(lambda: self._predicted("predict", X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns that were learnt, in the same order.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``.
        """
        return self._lock.read(lambda: self._predicted("predict_proba", X))

    def predict_many(self, X: Any) -> Array:
        """Most probable label of every row, with columns by name.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`; absent columns are missing, unknown names are ignored.

        Returns
        -------
        ndarray, shape (n,)
            Labels.
        """
        return self._lock.read(
            lambda: self._answer("predict", self._fitted().encoder_.transform_many(X))
        )

    def predict_proba_many(self, X: Any) -> Array:
        """Probability of every class for every row, with columns by name.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `predict_many`.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns follow ``classes_``.
        """
        return self._lock.read(
            lambda: self._answer("predict_proba", self._fitted().encoder_.transform_many(X))
        )

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Most probable label of one row, or None if nothing was learnt yet.

        As in `MistClassifier.predict_one` the row counts as the next of the stream.

        Parameters
        ----------
        x : mapping
            Values by column name.
        """
        return self._lock.read(lambda: self._label_of(x))

    def _label_of(self, x: Mapping[Any, Any]) -> Any:
        if not self.__sklearn_is_fitted__():
            return None
        if hasattr(self.model_, "predict_one"):
            return self.model_.predict_one(self._encoded(x))
        label = self.predict_many(self._table(x))[0]
        return label.item() if isinstance(label, np.generic) else label

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Probability of every class for one row, by label; empty if nothing was learnt yet.

        As in `MistClassifier.predict_proba_one` the row counts as the next of the stream.

        Parameters
        ----------
        x : mapping
            Values by column name.
        """
        return self._lock.read(lambda: self._shares_of(x))

    def _shares_of(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        if not self.__sklearn_is_fitted__():
            return {}
        if hasattr(self.model_, "predict_proba_one"):
            shares_of: dict[Any, float] = self.model_.predict_proba_one(self._encoded(x))
            return shares_of
        shares = self.predict_proba_many(self._table(x))[0]
        return dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))

    def explain(self, x: Mapping[Any, Any], *, top: int | None = 5) -> Explanation:
        """Explain the prediction for one row, with one term of evidence for each text column.

        It is the sum of the evidence of the 0/1 columns. The model must be a `MistClassifier`.
        See `mist.inspection.evidence` for parameters, return value and errors.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> model = StreamPipeline(model=MistClassifier.paper())
        >>> model = model.learn_many({"hue": ["red", "blue"] * 9}, ["rose", "iris"] * 9)
        >>> [(term.name, term.value) for term in model.explain({"hue": "red"}).contrast()]
        [('hue', 'red'), ('prior of the classes', '')]
        """
        from mist.preprocessing.explaining import explain_encoded  # compiled code

        check_is_fitted(self)
        return self._lock.read(lambda: explain_encoded(self, x, top))

    def _encoded(self, x: Mapping[Any, Any]) -> dict[str, float]:
        """One row as the model learns it, by name."""
        # Other models may need a value for every column.
        if takes_indicators(self.model_) and isinstance(x, Mapping):
            plain = encode_plain(self.encoder_, x)
            if plain is not None:
                return plain
        row = self.encoder_.transform_many(self._table(x))[0]
        names = self.encoder_.get_feature_names_out().tolist()
        return dict(zip(names, row.tolist(), strict=True))

    def _predicted(self, method: str, X: Any) -> Array:
        """The predictions of the model for the rows of an array."""
        rows = self._rows(self._fitted().encoder_, X)
        return in_blocks(rows, lambda block: self._answer(method, block))

    def _answer(self, method: str, rows: Array) -> Array:
        """The predictions of the model for encoded rows, by name if it can."""
        by_name = getattr(self.model_, f"{method}_many", None)
        return getattr(self.model_, method)(rows) if by_name is None else by_name(self._named(rows))

    def _table(self, x: Mapping[Any, Any]) -> dict[Any, list[Any]]:
        """One row as a table; a row without keys gets one missing value."""
        if not isinstance(x, Mapping):
            raise TypeError(
                f"one row must be a mapping of column names to values, got {type(x).__name__}"
            )
        if not x and hasattr(self, "encoder_"):
            return {self.encoder_._columns[0]: [None]}
        return {name: [value] for name, value in x.items()}

    def _fitted(self) -> Self:
        check_is_fitted(self)
        return self

    @property
    def classes_(self) -> Array:
        """Labels seen or declared so far, sorted."""
        return self._fitted().model_.classes_

    @property
    def changes_(self) -> list[Change]:
        """Changes that the model has found in the stream; only if it looks for them."""
        changes: list[Change] = self._fitted().model_.changes_
        return changes

    @property
    def n_features_in_(self) -> int:
        """Number of learnt columns."""
        return self._fitted().encoder_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns; only if they have names."""
        return self._fitted().encoder_.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") and has_learnt(self.model_)

    def _check_loaded(self) -> None:
        from mist.persistence.encoders import check_pipeline

        check_pipeline(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        model = get_tags(self._model())
        tags.input_tags = get_tags(StreamEncoder()).input_tags
        tags.input_tags.allow_nan = model.input_tags.allow_nan
        tags.classifier_tags = model.classifier_tags
        return tags
