"""`Follower`: runs next to a tree and keeps it up to date with a stream that changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mist.adaptation import common_shift, label_memory, moved_classes, next_label, recent_gaussians
from mist.adaptation.changes import CLASS_MOVED, COMMON_SHIFT, MOST_KEPT, Change
from mist.engine.forget import forget_class
from mist.engine.row_loops import NOT_ASKED
from mist.engine.state import State

Array = np.ndarray[Any, Any]

__all__ = ["PERIOD", "Follower"]

PERIOD = 50
"""Rows between two looks for changes. They are counted from the first row learnt, so that the model
does not depend on how the rows come in batches."""


class Follower:
    """What a tree keeps to follow a stream that changes.

    Parameters
    ----------
    n_numeric, n_columns : int
        Numbers of columns.
    predicts : bool
        Whether the label of the next row is predicted from the labels before it, too.

    Attributes
    ----------
    rows : int
        Rows learnt.
    changes : list of Change
        The last changes; their ``label`` is a class code.
    """

    moved: moved_classes.MovedClasses
    common: common_shift.CommonShift
    next_label: next_label.NextLabel | None

    def __init__(self, n_numeric: int, n_columns: int, *, predicts: bool) -> None:
        self.rows = 0
        self.changes: list[Change] = []
        self.moved = moved_classes.new_moved_classes()
        self.common = common_shift.new_common_shift(n_numeric)
        self.next_label = next_label.new_next_label(n_columns) if predicts else None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return _nbytes((self.moved, self.common, self.next_label))

    def reserve_codes(self, n_codes: int) -> None:
        """Reserve so many classes."""
        if n_codes > len(self.moved.read):
            self.moved = moved_classes.reserve_codes(self.moved, n_codes)
            self.common = common_shift.reserve_codes(self.common, n_codes)
            if self.next_label is not None:
                self.next_label = next_label.reserve_codes(self.next_label, n_codes)

    def widen(self, n_numeric: int, n_columns: int) -> None:
        """Take columns that no row has had so far, behind the numeric ones.

        The common shift of the old columns stays, and so do the labels; what is known of the last
        rows starts again.
        """
        n_codes, old = len(self.moved.read), self.common.shift
        self.common = common_shift.reserve_codes(common_shift.new_common_shift(n_numeric), n_codes)
        at = min(len(old), len(self.common.shift))
        self.common.shift[:at] = old[:at]
        if self.next_label is not None:
            recent = recent_gaussians.new_recent_gaussians(n_columns)
            self.next_label = self.next_label._replace(
                recent=recent_gaussians.reserve_codes(recent, n_codes)
            )

    def without_shift(self, X: Array) -> Array:
        """Rows with the common shift subtracted; the same array while there is none."""
        shift = self.common.shift
        if not shift.any():
            return X
        X = X.copy()
        X[:, : len(shift)] -= shift
        return X

    def parts(self, weights: Array) -> Iterator[slice]:
        """Divide rows to learn where changes are looked for: after every `PERIOD`-th learnt row."""
        learnt = self.rows + np.cumsum(weights > 0.0)
        ends = np.flatnonzero((learnt % PERIOD == 0) & (weights > 0.0)) + 1
        start = 0
        for end in [*ends.tolist(), len(weights)]:
            if end > start:
                yield slice(start, end)
                start = end

    def asked(self, weights: Array, every: bool) -> Array | None:
        """What to do with each row: see `mist.adaptation.next_label.follow_rows`.

        Parameters
        ----------
        weights : ndarray of float64, shape (n,)
            Weights of the rows.
        every : bool
            Whether all rows are to be predicted.

        Returns
        -------
        ndarray of int64, shape (n,), or None
            None if this follower predicts nothing.
        """
        if self.next_label is None:
            return None
        out = np.full(len(weights), next_label.PREDICT if every else NOT_ASKED)
        number = self.rows + np.cumsum(weights > 0.0)
        out[(weights > 0.0) & (number <= next_label.ALL_LEARNT)] = next_label.LEARN
        rare = (number > next_label.ALL_LEARNT) & (number % next_label.LEARN_EVERY == 0)
        out[(weights > 0.0) & rare] = next_label.LEARN_EVERY
        return out

    def guesses(self, X: Array, asked: Array | None) -> Array | None:
        """Code of the class that looks most like each row, -1 without one.

        They make the tree's work shorter and change no result.
        """
        if self.next_label is None or asked is None:
            return None
        out = asked.copy()
        recent_gaussians.write_nearest(self.next_label.recent, X, out)
        return out

    def learn(
        self,
        state: State,
        X: Array,
        framed: Array,
        codes: Array,
        weights: Array,
        ranks: Array,
        asked: Array | None,
        shares: Array | None,
        out: Array | None,
        answers: Array | None,
    ) -> None:
        """Learn rows that the tree has just learnt, and look for changes where that is due.

        Parameters
        ----------
        state : State
            The tree; a class that has moved is removed from it.
        X, framed : ndarray of float64, shape (n, d)
            The rows, and the same without the common shift, as the tree learnt them.
        codes, weights, ranks : ndarray
            As for `mist.engine.row_loops.run`.
        asked : ndarray or None
            As `asked` returned it.
        shares : ndarray of float64, shape (n, n_labels), or None
            Class probabilities that the tree gave before it learnt each row.
        out, answers : ndarray or None
            Receive the predictions of the next label and their probabilities.
        """
        if self.next_label is not None and shares is not None and asked is not None:
            if out is None:
                out = np.empty(len(X), np.int64)
            if answers is None:
                answers = np.zeros_like(shares)
            next_label.follow_rows(
                self.next_label, X, codes, weights, asked, ranks, shares[None], out, answers
            )
        length = 0.0
        if state.conformity is not None:
            length = common_shift.find_shift(self.common, framed, codes, weights)
        self.rows += int(np.count_nonzero(weights))
        if length > 0.0:
            self._note(COMMON_SHIFT, None, float(length))
            # Scores before the shift say nothing of the classes after it.
            moved_classes.start_over(self.moved, state.conformity)
        elif self.rows % PERIOD == 0 and state.conformity is not None:
            self._forget_moved(state)

    def _forget_moved(self, state: State) -> None:
        """Remove classes that have moved from the tree: it learns them anew from their next rows."""
        while (code := int(moved_classes.next_moved(self.moved, state.conformity))) >= 0:
            self._note(CLASS_MOVED, code, None)
            forget_class(state, code)
            moved_classes.start_over(self.moved, state.conformity, code)
            common_shift.forget_class(self.common, code)

    def _note(self, kind: str, code: int | None, size: float | None) -> None:
        self.changes.append(Change(self.rows, kind, code, size))
        del self.changes[:-MOST_KEPT]

    def predict_next(self, X: Array, ranks: Array, shares: Array) -> tuple[Array, Array]:
        """Predict each row as if it were the next of the stream.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows in internal column order, with the common shift.
        ranks : ndarray of int64, shape (n_codes,)
            Rank of each class code among the sorted labels.
        shares : ndarray of float64, shape (n, n_labels)
            Class probabilities of the tree.

        Returns
        -------
        codes : ndarray of int64, shape (n,)
        answers : ndarray of float64, shape (n, n_labels)
        """
        assert self.next_label is not None
        codes, answers = np.empty(len(X), np.int64), np.zeros_like(shares)
        next_label.predict_next(self.next_label, X, ranks, shares[None], codes, answers)
        return codes, answers

    def skip(self, n_rows: int, state: State) -> None:
        """Take note that the tree has got so many rows, learnt by a fork, in which none looked."""
        self.rows += n_rows
        if state.conformity is not None:
            moved_classes.start_over(self.moved, state.conformity)

    def merge(self, other: Follower, codes: Array, state: State) -> None:
        """Add what the follower of another model has learnt, whose class codes are mapped.

        The common shift, the weights of the experts and what followed each label stay as they are.
        """
        self.reserve_codes(int(codes.max(initial=-1)) + 1)
        self.rows += other.rows
        if state.conformity is not None:
            moved_classes.start_over(self.moved, state.conformity)
        common_shift.merge(self.common, other.common, codes)
        if self.next_label is not None and other.next_label is not None:
            label_memory.merge(self.next_label.labels, other.next_label.labels, codes)
            recent_gaussians.merge(self.next_label.recent, other.next_label.recent, codes)


def _nbytes(group: Any) -> int:
    if isinstance(group, np.ndarray):
        return group.nbytes
    return sum(_nbytes(part) for part in group) if isinstance(group, tuple) else 0


