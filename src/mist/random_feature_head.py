"""Random-feature head of a forest: a linear discriminant on random features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mist.rows import Array


class RandomFeatureHead:
    """A `mist.baselines.RandomFeatureLDA` that learns the rows of a forest with no missing value.

    It reads the columns that existed at its first row, and new 0/1 columns of text columns that
    existed then, which were 0 in all its rows. Its classes are the forest's class codes.

    Parameters
    ----------
    n_features : int
        Number of random features.
    class_prior : {"balanced", "counts"}
        That of the trees.
    seed : int
        Seed of the features.
    """

    columns: Array

    def __init__(self, n_features: int, class_prior: str, seed: int) -> None:
        from mist.baselines.random_feature_lda import RandomFeatureLDA

        self.model = RandomFeatureLDA(
            n_features=n_features, class_prior=class_prior, random_state=seed
        )

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; 0 before the first row."""
        return self.model.nbytes if self._knows() else 0

    def learn(self, X: Array, codes: Array, weights: Array, order: Array) -> None:
        """Learn the rows with a weight above 0 and no missing value; ignore the others."""
        X, whole = self._own(X, order)
        learnt = whole & (weights > 0)
        if learnt.any():
            self.model.partial_fit(X[learnt], codes[learnt], sample_weight=weights[learnt])

    def learn_after(
        self, X: Array, codes: Array, weights: Array, order: Array, ranks: Array, k: int
    ) -> tuple[Array, Array]:
        """Predict each row, then learn it as `learn` does; returns as `answer` does."""
        n = len(X)
        X, whole = self._own(X, order)
        shares, trust = np.zeros((n, k)), np.zeros(n)
        counted = np.where(whole, weights, 0.0)
        if self._knows() or counted.any():
            before = self._weight() + np.cumsum(counted) - counted
            trust[whole] = self._trust(before[whole])
            # A row of weight 0 has the code -1; any valid code will do, as it is not learnt.
            labels = np.maximum(codes[whole], 0)
            given = self.model._prequential_proba(X[whole], labels, counted[whole])
            self._place(given, whole, ranks, shares)
        return shares, trust

    def add_indicators(self, siblings: Mapping[int, Sequence[int]]) -> None:
        """Read new 0/1 columns that were 0 in all rows learnt so far.

        Parameters
        ----------
        siblings : mapping of int to sequence of int
            The new columns, each with known 0/1 columns of the same text column. One whose siblings
            are not read is left out: rows without that text column would no longer count.
        """
        if not hasattr(self, "columns"):
            return
        read = set(self.columns.tolist())
        new = [j for j, known in siblings.items() if not read.isdisjoint(known)]
        self.columns = np.append(self.columns, np.array(new, self.columns.dtype))
        if new and self._knows():
            self.model._add_zeros(len(new))

    def answer(self, X: Array, order: Array, ranks: Array, k: int) -> tuple[Array, Array]:
        """Return class probabilities of rows, and how far they can be trusted.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows in the engine's order of columns.
        order : ndarray of int64, shape (d,)
            The user's column at each position of that order.
        ranks : ndarray of int64, shape (n_codes,)
            Rank of each class code among the sorted labels.
        k : int
            Number of labels, declared ones included.

        Returns
        -------
        shares : ndarray of float64, shape (n, k)
            Zeros for rows with a missing value, and before the first learnt row.
        trust : ndarray of float64, shape (n,)
            N / (N + m), where N is the weight of the rows learnt and m the number of features.
        """
        n = len(X)
        X, whole = self._own(X, order)
        shares = np.zeros((n, k))
        if self._knows() and whole.any():
            self._place(self.model.predict_proba(X[whole]), whole, ranks, shares)
        return shares, np.full(n, self._trust(self._weight()))

    def relabel(self, gone: int, into: int | None, last: int) -> None:
        """Join a class with another one, or drop it; parameters as `mist.relabelling.MovedCodes`.

        If it has learnt no other class than the one that is dropped, it starts again.
        """
        if self._knows():
            from mist.baselines.random_feature_classes import relabelled

            self.model = relabelled(self.model, gone, into, last)

    def _own(self, X: Array, order: Array) -> tuple[Array, Array]:
        """Return the columns that the head reads, and which rows have values in all of them."""
        if not hasattr(self, "columns"):
            self.columns = order.copy()
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        X = X[:, place[self.columns]]
        return X, np.asarray(np.isfinite(X).all(axis=1))

    def _place(self, given: Array, rows: Array, ranks: Array, out: Array) -> None:
        out[np.ix_(rows, ranks[self.model.classes_])] = given

    def _knows(self) -> bool:
        return self.model.__sklearn_is_fitted__()

    def _weight(self) -> float:
        return float(self.model._state.progress[0]) if self._knows() else 0.0

    def _trust(self, weight: Any) -> Any:
        return weight / (weight + self.model.n_features)
