"""Restarted trees: small trees that forget, for the next row of a stream that changes.

For each lifetime there are two trees. They start again in turn, so that the older one, which
predicts, has always learnt the last rows: at least as many as the lifetime and at most twice as
many. They split early, as they have little time. They are experts of
`mist.adaptation.next_label` and never predict a row of a table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mist.adaptation.follower import parts
from mist.classifier import MistClassifier
from mist.memory_budget import least_bytes_of
from mist.rows import Array
from mist.tree_options import SplitTest

__all__ = ["LIFETIMES", "RestartedTrees"]

LIFETIMES = (500, 2000, 6000)
"""Rows after which the younger tree of a pair takes over."""

_ROWS_PER_SPLIT = {500: 100, 2000: 200, 6000: 300}


class RestartedTrees:
    """Pairs of trees that start again in turn; their labels are the class codes of a model.

    Parameters
    ----------
    n_numeric, n_columns : int
        Numbers of columns, in the order of the engine.
    max_bytes : int or None
        Memory budget of each tree.

    Attributes
    ----------
    rows : int
        Rows learnt.
    pairs : list of list of MistClassifier
        For each lifetime, two trees: first the one that started again at even multiples of it.
    """

    max_bytes: int | None = None
    """Memory budget of each tree."""

    def __init__(self, n_numeric: int, n_columns: int, max_bytes: int | None = None) -> None:
        self.rows = 0
        if max_bytes is not None:
            self.max_bytes = max_bytes
        self.n_numeric, self.n_columns = n_numeric, n_columns
        self.pairs = [[self._new(life) for _ in range(2)] for life in LIFETIMES]

    @property
    def nbytes(self) -> int:
        """Bytes of all trees."""
        return sum(tree.nbytes for pair in self.pairs for tree in pair)

    def _new(self, life: int) -> MistClassifier:
        return MistClassifier(
            "gaussian",
            split_test=SplitTest(
                "schedule", rows_per_split=_ROWS_PER_SPLIT[life], thresholds="gaussian"
            ),
            grace_period=50,
            class_prior="counts",
            categorical_features=list(range(self.n_numeric, self.n_columns)) or None,
            adapt=None,
            max_bytes=self.max_bytes,
        )

    def limit(self, max_bytes: int | None) -> None:
        """Change the memory budget of each tree."""
        if max_bytes != self.max_bytes:
            self.max_bytes = max_bytes
            for pair in self.pairs:
                for tree in pair:
                    tree.max_bytes = max_bytes

    def least_bytes(self, n_classes: int, n_columns: int, n_binary: int, *, missing: bool) -> int:
        """Bytes that one tree has at least, see `mist.memory_budget.least_bytes_of`."""
        tree = self._new(LIFETIMES[0])
        tree._check_rule()
        tree._init_columns(self.n_columns)
        return least_bytes_of(tree, n_classes, n_columns, n_binary, missing=missing)

    def widen(self, n_numeric: int, n_columns: int) -> None:
        """Start again with new columns."""
        self.n_numeric, self.n_columns = n_numeric, n_columns
        self.pairs = [[self._new(life) for _ in range(2)] for life in LIFETIMES]

    def add_indicators(self, siblings: Sequence[Sequence[int]]) -> None:
        """Add 0/1 columns behind all others, see `mist.engine.indicators.add_indicators`."""
        known = self.n_columns
        self.n_columns += len(siblings)
        for pair, life in zip(self.pairs, LIFETIMES, strict=True):
            for k, tree in enumerate(pair):
                if tree._has_learnt():
                    tree.n_features_in_ = self.n_columns
                    # The columns of these trees are in the order of the engine.
                    tree._add_indicators(dict(enumerate(map(list, siblings), known)))
                else:
                    pair[k] = self._new(life)

    def learn(self, X: Array, codes: Array, weights: Array, ranks: Array, out: Array) -> None:
        """Predict each row, then learn it.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows in internal column order.
        codes, weights, ranks : ndarray
            As for `mist.engine.row_loops.run`.
        out : ndarray of float64 zeros, shape (lifetimes, n, n_labels)
            Receives class probabilities; zeros before the first row.
        """
        for rows in parts(weights, self.rows, LIFETIMES[0]):
            # A row of weight 0 has the code -1; any valid code will do, as it is not learnt.
            X_part, labels, w = X[rows], np.maximum(codes[rows], 0), weights[rows]
            for at, life in enumerate(LIFETIMES):
                turn, pair = self.rows // life, self.pairs[at]
                if turn and self.rows % life == 0:
                    pair[turn % 2] = self._new(life)
                older = self._older(life)
                self._learn_part(pair[older], X_part, labels, w, ranks, out[at, rows])
                if turn:
                    self._learn_part(pair[1 - older], X_part, labels, w, ranks, None)
            self.rows += int(np.count_nonzero(w))

    def _older(self, life: int) -> int:
        """Index of the tree that predicts; the second of a pair begins after one lifetime."""
        turn = self.rows // life
        return 1 - turn % 2 if turn else 0

    def _learn_part(
        self,
        tree: MistClassifier,
        X: Array,
        labels: Array,
        weights: Array,
        ranks: Array,
        out: Array | None,
    ) -> None:
        """Let one tree predict rows, where ``out`` is given, and learn them."""
        if not (tree._has_learnt() or weights.any()):
            return
        batch = tree._rows_to_learn(X, labels, None, weights, predict=True)
        codes = np.empty(len(X), np.int64)
        shares = None if out is None else np.zeros((len(X), len(tree.classes_)))
        tree._learn_batch(batch, None if out is None else codes, shares)
        if out is not None:
            out[:, ranks[tree.classes_]] = shares

    def relabel(self, gone: int, into: int | None, last: int) -> None:
        """Join a class with another one, or drop it; parameters as `mist.relabelling.MovedCodes`.

        A tree that has learnt no other class than the one that is dropped starts again.
        """
        for at, life in enumerate(LIFETIMES):
            for side, tree in enumerate(self.pairs[at]):
                self.pairs[at][side] = self._relabelled(tree, life, gone, into, last)

    def _relabelled(
        self, tree: MistClassifier, life: int, gone: int, into: int | None, last: int
    ) -> MistClassifier:
        if not tree._has_learnt():
            return tree
        if gone in tree.classes_ and into is None:
            if len(tree.classes_) == 1:
                return self._new(life)
            tree.drop_class(gone)
        elif gone in tree.classes_:
            tree.rename_class(gone, into)
        return tree.rename_class(last, gone) if last in tree.classes_ else tree

    def predict(self, X: Array, ranks: Array, out: Array) -> None:
        """Write class probabilities of rows; parameters as for `learn`."""
        for at, life in enumerate(LIFETIMES):
            tree = self.pairs[at][self._older(life)]
            if tree._has_learnt():
                out[at][:, ranks[tree.classes_]] = tree._predict_proba(tree._engine_order(X))
