"""`Expectation`: what a model expects of the next row of its stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mist.adaptation import calibration, label_memory, next_label, recent_gaussians
from mist.adaptation.laid_out import LaidOut
from mist.engine.row_loops import NOT_ASKED
from mist.engine.state import bytes_of, writable

Array = np.ndarray[Any, Any]

__all__ = ["Expectation"]


class Expectation(LaidOut):
    """Learns to predict the next label of a stream, next to one model or several.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    n_models : int
        Number of models whose class probabilities are given with every row.

    Attributes
    ----------
    rows : int
        Rows learnt.
    state : NextLabel
        Its arrays.
    """

    _laid_out = ("state",)
    state: next_label.NextLabel

    def __init__(self, n_columns: int, n_models: int = 1) -> None:
        self.rows = 0
        self.state = next_label.new_next_label(n_columns, n_models)

    @property
    def n_codes(self) -> int:
        """Number of classes that it has arrays for."""
        return len(self.state.labels.count)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.state.recent.within)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return bytes_of(self.state)

    def nbytes_for(self, n_codes: int) -> int:
        """Bytes of its arrays for so many classes."""
        state = self.state
        return (
            bytes_of((state.weights, state.curvature, state.calibration))
            + label_memory.bytes_for_codes(state.labels, n_codes)
            + recent_gaussians.bytes_for_codes(state.recent, n_codes)
        )

    def make_writable(self) -> None:
        """Replace read-only arrays by copies."""
        self.state = writable(self.state)

    def reserve_codes(self, n_codes: int) -> None:
        """Reserve so many classes."""
        if n_codes > self.n_codes:
            self.state = next_label.reserve_codes(self.state, n_codes)

    def widen(self, n_columns: int) -> None:
        """Take new columns: the labels stay, and what is known of the last rows starts again."""
        recent = recent_gaussians.new_recent_gaussians(n_columns)
        recent = recent_gaussians.reserve_codes(recent, self.n_codes)
        self.state = self.state._replace(recent=recent)

    def add_indicators(self, siblings: Sequence[Sequence[int]]) -> None:
        """Take 0/1 columns that were 0 so far, behind all others; see `recent_gaussians`."""
        recent = recent_gaussians.add_indicators(self.state.recent, siblings)
        self.state = self.state._replace(recent=recent)

    def asked(self, weights: Array, every: bool) -> Array:
        """Say what to do with each row, see `mist.adaptation.next_label.follow_rows`.

        Parameters
        ----------
        weights : ndarray of float64, shape (n,)
            Weights of the rows.
        every : bool
            Whether all rows are to be predicted.

        Returns
        -------
        ndarray of int64, shape (n,)
        """
        out = np.full(len(weights), next_label.PREDICT if every else NOT_ASKED)
        learnt = weights > 0.0
        number = self.rows + np.cumsum(learnt)
        early = number <= next_label.ALL_LEARNT
        out[learnt & early] = next_label.LEARN
        out[learnt & ~early & (number % next_label.LEARN_EVERY == 0)] = next_label.LEARN_EVERY
        return out

    def asked_next(self) -> int:
        """What `asked` says of one more learnt row that nobody asks about."""
        number = self.rows + 1
        if number <= next_label.ALL_LEARNT:
            return next_label.LEARN
        rare = number % next_label.LEARN_EVERY == 0
        return next_label.LEARN_EVERY if rare else NOT_ASKED

    def guesses(self, X: Array, asked: Array) -> Array:
        """Code of the class that looks most like each row, -1 without one.

        They make the work of a tree shorter and change no result.
        """
        out = asked.copy()
        self.handle.call(recent_gaussians.write_nearest, X, out)
        return out

    def learn(
        self,
        X: Array,
        codes: Array,
        weights: Array,
        asked: Array,
        ranks: Array,
        models: Array,
        out: Array | None,
        answers: Array | None,
        *,
        balanced: bool = True,
    ) -> None:
        """Predict the rows that are asked, and learn all.

        Parameters are those of `mist.adaptation.next_label.follow_rows`.
        """
        if out is None:
            out = np.empty(len(X), np.int64)
        if answers is None:
            answers = np.zeros_like(models[0])
        given = X, codes, weights, asked, ranks, models, out, answers, balanced
        self.handle.call(next_label.follow_rows, *given)
        self.rows += int(np.count_nonzero(weights))

    def predict(self, X: Array, ranks: Array, models: Array) -> tuple[Array, Array]:
        """Predict each row as if it were the next of the stream.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows in internal column order.
        ranks : ndarray of int64, shape (n_codes,)
            Rank of each class code among the sorted labels.
        models : ndarray of float64, shape (n_models, n, n_labels)
            Class probabilities of the models.

        Returns
        -------
        codes : ndarray of int64, shape (n,)
        answers : ndarray of float64, shape (n, n_labels)
        """
        codes, answers = np.empty(len(X), np.int64), np.zeros_like(models[0])
        # Classes without a row of their own have no arrays yet.
        ranks = ranks[: self.n_codes]
        self.handle.call(next_label.predict_next, X, ranks, models, codes, answers)
        return codes, answers

    def count(self, codes: Array, weights: Array, n_rows: int) -> None:
        """Count rows that the model has got from a fork, by the weights of their classes."""
        self.state.labels.count[codes] += weights
        self.rows += n_rows

    def join_class(self, old: int, new: int) -> None:
        """Add the rows of a class to those of another one."""
        label_memory.join_class(self.state.labels, old, new)
        recent_gaussians.join_class(self.state.recent, old, new)

    def drop_code(self, code: int) -> None:
        """Drop a class; the one with the last code gets its code."""
        self.state = self.state._replace(
            labels=label_memory.drop_code(self.state.labels, code),
            recent=recent_gaussians.drop_code(self.state.recent, code),
        )

    def merge(self, other: Expectation, codes: Array) -> None:
        """Add what another model's has learnt, whose class codes are mapped.

        The exponents are averaged. The weights of the experts and what followed each label stay as
        they are.
        """
        label_memory.merge(self.state.labels, other.state.labels, codes)
        recent_gaussians.merge(self.state.recent, other.state.recent, codes)
        calibration.merge(self.state.calibration, other.state.calibration)
        self.rows += other.rows
