"""Single rows of a model that follows its stream, without the checks of a batch.

As `mist.fast_path.FastPath`, it takes plain complete rows with known names and labels, and leaves
the others to the slow path. Its calls run under the lock of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.adaptation.follower import Follower
from mist.adaptation.next_label import PREDICT
from mist.engine.growth import Split, follow_up
from mist.engine.row_loops import (
    DONE,
    FULL_CELLS,
    FULL_ITEMS,
    NO_SHARES,
    NOT_ASKED,
    outputs_of,
    predict_rows,
    run,
)
from mist.engine.single_row import take_row
from mist.fast_path import UNKNOWN, PlainRows
from mist.fitted import FittedTree

Array = np.ndarray[Any, Any]

__all__ = ["FollowingPath"]


class FollowingPath:
    """Checked facts about a classifier that follows its stream, valid until it changes.

    Parameters
    ----------
    model : MistClassifier
        A classifier that has learnt at least one row and has a follower.
    follower : Follower
        Its follower.
    checked : bool
        Whether its current options were checked. If not, rows can only be predicted.
    """

    def __init__(self, model: FittedTree, follower: Follower, checked: bool) -> None:
        self.plain = PlainRows(model)
        self.checked = checked and model._rule.split_test != "eprocess"
        self.state, self.rule, self.follower = model._state, model._rule, follower
        self.log, self.balanced = model._splits, bool(model._state.options.balanced)
        n_labels = len(model.classes_)
        # Scratch arrays of `learn`, which one thread runs at a time.
        self.row, self.weights = np.empty((1, self.plain.n)), np.empty(1)
        self.codes, self.guesses = np.empty(1, np.int64), np.empty(1, np.int64)
        self.asked = np.empty(1, np.int64)
        self.out, self.of_tree = np.empty(1, np.int64), np.empty(1, np.int64)
        self.shares, self.answers = np.zeros((1, 1, n_labels)), np.zeros((1, n_labels))
        self.outputs = outputs_of(self.of_tree, self.shares[0], self.guesses)

    @property
    def holds(self) -> bool:
        """Whether no class was added since."""
        return self.plain.holds

    def _take(self, x: Any, row: Array) -> bool:
        """Put a plain row in internal order; returns whether it is valid and complete."""
        values = self.plain.row(x)
        if values is None or self.state.observed is not None or not self.plain.holds:
            return False
        return bool(take_row(values, self.plain.order, self.state.options.n_numeric, row))

    def learn(self, x: Any, y: Any, weight: Any, splits: list[Split]) -> bool:
        """Learn a row; a split is put into the list. Returns False if nothing was learnt."""
        code = self.plain.code(x, y, weight)
        state, follower = self.state, self.follower
        if (
            code is None
            or not self.checked
            or state.candidate_splits
            or not self._take(x, self.row)
        ):
            return False
        self.codes[0], self.weights[0] = code, weight
        expectation, ranks = follower.expectation, self.plain.ranks
        X, known = follower.without_shift(self.row), (self.codes, self.weights)
        if expectation is None:
            outputs = None
        else:
            self.asked[0] = expectation.asked_next()
            self.guesses[0] = -1 if self.asked[0] >= PREDICT else NOT_ASKED
            self.shares[:] = 0.0
            outputs = self.outputs
        _, reason, detail = state.handle.call(run, X, *known, 0, ranks, outputs)
        if reason in (FULL_CELLS, FULL_ITEMS):
            return False
        if reason != DONE:
            follow_up(state, self.rule, reason, detail, splits)
        if expectation is not None:
            self.answers[:] = 0.0
            given = self.row, *known, self.asked, ranks, self.shares, self.out, self.answers
            expectation.learn(*given, balanced=self.balanced)
        follower.look(state, X, *known, self.log, splits)
        if state.budget is not None:
            state.budget.make_room(state)
        return True

    def predict(self, x: Any) -> Any:
        """Return the label of a row as the next of the stream, or `UNKNOWN`."""
        row = np.empty_like(self.row)
        if not self._take(x, row):
            return UNKNOWN
        shares, ranks = np.zeros_like(self.shares), self.plain.ranks
        out, expectation = np.empty(1, np.int64), self.follower.expectation
        X = self.follower.without_shift(row)
        if expectation is None:
            self.state.handle.call(predict_rows, X, ranks, out, NO_SHARES, None)
        else:
            self.state.handle.call(predict_rows, X, ranks, out, shares[0], None)
            out = expectation.predict(row, ranks, shares)[0]
        return UNKNOWN if out[0] < 0 else self.plain.labels[out[0]]
