"""Test-then-train of a pipeline: rows are predicted, then learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mist.preprocessing.encoder import StreamEncoder
from mist.tables import Array

__all__ = ["PrequentialPipeline"]

_T = TypeVar("_T")


class PrequentialPipeline:
    """The methods of `StreamPipeline` that predict each row and then learn it.

    The encoder learns the categories of all rows of a call before the first prediction; it never
    uses labels.
    """

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Test-then-train: predict each row with the model, then learn it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns of the first call, in the same order.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        ndarray, shape (n,)
            The prediction of the model for every row before it learnt the row. The encoder learns
            the categories of all rows before the first prediction; it never uses labels.
        """
        labels: Array = self._follow("prequential", X, y, sample_weight)
        return labels

    def prequential_many(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """`prequential` with columns by name.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        ndarray, shape (n,)
            The prediction of the model for every row before it learnt the row.
        """
        labels: Array = self._follow_many("prequential", X, y, sample_weight)
        return labels

    def prequential_proba(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Test-then-train with probabilities: `prequential`, and how sure each prediction was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns of the first call, in the same order.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        labels : ndarray, shape (n,)
            As `prequential` returns them.
        shares : ndarray of float64, shape (n, n_classes)
            The probability of every class for each row before the row was learnt. Columns follow
            ``classes_`` after the call; see `MistClassifier.prequential_proba`.

        Raises
        ------
        TypeError
            If the model has no ``prequential_proba``.
        ValueError
            If the encoder or the model refuses the rows; then nothing of the call is learnt.
        """
        both: tuple[Array, Array] = self._follow("prequential_proba", X, y, sample_weight)
        return both

    def prequential_proba_many(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Array, Array]:
        """`prequential_proba` with columns by name.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), or None
            Weights, if the model takes them.

        Returns
        -------
        labels : ndarray, shape (n,)
        shares : ndarray of float64, shape (n, n_classes)
            As for `prequential_proba`.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> from mist.preprocessing import StreamPipeline
        >>> model = StreamPipeline(model=MistClassifier.paper())
        >>> X = {"coat": ["short", "long", "short", "long"]}
        >>> labels, shares = model.prequential_proba_many(X, ["cat", "cow", "cat", "cow"])
        >>> labels.tolist(), shares[:2].tolist()
        (['cat', 'cat', 'cat', 'cow'], [[0.0, 0.0], [1.0, 0.0]])
        """
        both: tuple[Array, Array] = self._follow_many("prequential_proba", X, y, sample_weight)
        return both

    def _follow(self, method: str, X: Any, y: Any, sample_weight: Any) -> Any:
        """Call a method of the model on the rows of an array."""
        options = _weights(sample_weight)
        return self._grow(
            lambda encoder: self._call(
                f"{method}_many", method, self._rows(encoder.partial_fit(X), X), y, options
            )
        )

    def _follow_many(self, method: str, X: Any, y: Any, sample_weight: Any) -> Any:
        """Call a method of the model on rows with columns by name."""
        options = _weights(sample_weight)
        return self._grow(
            lambda encoder: self._call(
                f"{method}_many", method, encoder.learn_many(X).transform_many(X), y, options
            )
        )

    def _grow(self, learn: Callable[[StreamEncoder], _T]) -> _T:
        """Call ``learn`` on the encoder; restore encoder and model if it fails."""
        raise NotImplementedError

    def _rows(self, encoder: StreamEncoder, X: Any) -> Any:
        """Encoded rows; those of a large sparse matrix in blocks."""
        raise NotImplementedError

    def _call(
        self, by_name: str, by_place: str, rows: Array, y: Any, options: dict[str, Any]
    ) -> Any:
        """Call a method of the model that learns, by name if there is one."""
        raise NotImplementedError


def _weights(sample_weight: Any) -> dict[str, Any]:
    return {} if sample_weight is None else {"sample_weight": sample_weight}
