"""`Follower`: runs next to a tree and keeps it up to date with a stream that changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mist.adaptation import common_shift, moved_classes
from mist.adaptation.changes import CLASS_MOVED, COMMON_SHIFT, CUT_BACK, MOST_KEPT, Change
from mist.adaptation.expectation import Expectation
from mist.adaptation.laid_out import LaidOut
from mist.adaptation.watch import MOVED, SHIFTED, find_changes
from mist.engine.budget import row_bytes
from mist.engine.cut_back import cut_back, renumber, splits_of_one, useless_splits
from mist.engine.forget import forget_class
from mist.engine.growth import Split
from mist.engine.inheritance import n_splits
from mist.engine.state import N_LEARNT, State, bytes_of, writable

Array = np.ndarray[Any, Any]

__all__ = ["PERIOD", "Follower", "parts"]

PERIOD = 50
"""Rows between two looks for changes. They are counted from the first row learnt, so that the model
does not depend on how the rows come in batches."""

SETTLED = 1000
"""Rows after which a class that has moved is known well enough at its new place to judge splits."""


class Follower(LaidOut):
    """What a tree keeps to follow a stream that changes.

    Parameters
    ----------
    n_numeric, n_columns : int
        Numbers of columns.
    predicts : bool
        Whether the label of the next row is predicted from the labels before it, too.
    watches : bool
        Whether classes are watched for having moved.

    Attributes
    ----------
    rows : int
        Rows learnt.
    changes : list of Change
        The last changes; their ``label`` is a class code.
    """

    _laid_out = ("moved", "common")
    moved: moved_classes.MovedClasses
    common: common_shift.CommonShift
    expectation: Expectation | None

    def __init__(
        self, n_numeric: int, n_columns: int, *, predicts: bool, watches: bool = True
    ) -> None:
        self.rows = 0
        self.watches = watches
        self.changes: list[Change] = []
        self.moved = moved_classes.new_moved_classes()
        shifted = n_numeric if n_numeric <= common_shift.MOST_COLUMNS else 0
        self.common = common_shift.new_common_shift(shifted)
        self.expectation = Expectation(n_columns) if predicts else None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        expectation = 0 if self.expectation is None else self.expectation.nbytes
        return bytes_of((self.moved, self.common)) + expectation

    def nbytes_for(self, n_codes: int) -> int:
        """Bytes of all arrays for so many classes."""
        expectation = 0 if self.expectation is None else self.expectation.nbytes_for(n_codes)
        common = common_shift.bytes_for_codes(self.common, n_codes)
        return n_codes * row_bytes(*self.moved) + common + expectation

    def make_writable(self) -> None:
        """Replace read-only arrays by copies."""
        self.moved, self.common = writable(self.moved), writable(self.common)
        if self.expectation is not None:
            self.expectation.make_writable()

    def reserve_codes(self, n_codes: int) -> None:
        """Reserve so many classes."""
        if n_codes > len(self.moved.read):
            self.moved = moved_classes.reserve_codes(self.moved, n_codes)
            self.common = common_shift.reserve_codes(self.common, n_codes)
            if self.expectation is not None:
                self.expectation.reserve_codes(n_codes)

    def widen(self, n_numeric: int, n_columns: int) -> None:
        """Take columns that no row has had so far, behind the numeric ones.

        The common shift of the old columns stays; the search for another one starts again.
        """
        n_codes, old = len(self.moved.read), self.common.shift
        # New columns follow the old ones, which stay shifted.
        shifted = n_numeric if n_numeric <= common_shift.MOST_COLUMNS else len(old)
        self.common = common_shift.reserve_codes(common_shift.new_common_shift(shifted), n_codes)
        at = min(len(old), len(self.common.shift))
        self.common.shift[:at] = old[:at]
        if self.expectation is not None:
            self.expectation.widen(n_columns)

    def add_indicators(self, siblings: Sequence[Sequence[int]]) -> None:
        """Take 0/1 columns behind all others, see `mist.engine.indicators.add_indicators`."""
        if self.expectation is not None:
            self.expectation.add_indicators(siblings)

    def without_shift(self, X: Array) -> Array:
        """Rows with the common shift subtracted; the same array while there is none."""
        shift = self.common.shift
        if not shift.any():
            return X
        X = X.copy()
        X[:, : len(shift)] -= shift
        return X

    def parts(self, weights: Array) -> Iterator[slice]:
        """Divide rows to learn where changes are looked for."""
        return parts(weights, self.rows, PERIOD)

    def look(
        self, state: State, X: Array, codes: Array, weights: Array, *logs: list[Split]
    ) -> None:
        """Look for changes in rows that the tree has just learnt, where that is due.

        Parameters
        ----------
        state : State
            The tree; a class that has moved is removed from it, to be learnt anew.
        X : ndarray of float64, shape (n, d)
            The rows as the tree learnt them, without the common shift.
        codes, weights : ndarray
            As for `mist.engine.row_loops.run`.
        *logs : list of Split
            Splits of the tree; those that are taken back are removed, the others get the new
            numbers of their nodes.
        """
        self.rows += int(np.count_nonzero(weights))
        if state.conformity is None:
            return
        # The end of a batch changes nothing: the model does not depend on batches.
        due = self.rows % PERIOD == 0 and bool(weights.any())
        given = state.conformity, X, codes, weights, due, self.watches
        found = self.handle.call(find_changes, *given)
        if found == SHIFTED:
            self._note(COMMON_SHIFT, None, common_shift.change_shift(self.common))
            # Scores before the shift say nothing of the classes after it.
            moved_classes.start_over(self.moved, state.conformity)
        elif due and self.watches:
            if found == MOVED:
                self._decide(state, logs)
            self._take_back_useless(state, logs)

    def _decide(self, state: State, logs: Sequence[list[Split]]) -> None:
        """Let the tree forget classes that have moved, once nothing speaks for a common shift.

        After an alarm the class first completes a block of rows. Until then it may turn out that
        another class has moved in the same way.
        """
        moved, common = self.moved, self.common
        searches = len(common.shift) > 0
        for code in np.flatnonzero(moved.alarm).tolist():
            if common.weight[code] > moved.rows[code] or not searches:
                self._note(CLASS_MOVED, code, None)
                # A leaf cannot forget its only class.
                self._take_back(state, splits_of_one(state, code), logs)
                forget_class(state, code)
                moved_classes.start_over(moved, state.conformity, code)
                common_shift.forget_class(common, code)

    def _take_back_useless(self, state: State, logs: Sequence[list[Split]]) -> None:
        """Take back splits that no longer help, some time after classes have moved."""
        if self.rows % SETTLED:
            return
        age = [self.rows - change.row for change in self.changes if change.kind == CLASS_MOVED]
        if any(SETTLED <= each < 2 * SETTLED for each in age):
            self._take_back(state, useless_splits(state), logs)

    def _take_back(self, state: State, cut: list[int], logs: Sequence[list[Split]]) -> None:
        if not cut:
            return
        before = n_splits(state)
        number = cut_back(state, cut)
        self._note(CUT_BACK, None, float(before - n_splits(state)))
        for log in logs:
            renumber(log, number, state)

    def _note(self, kind: str, code: int | None, size: float | None) -> None:
        self.changes.append(Change(self.rows, kind, code, size))
        del self.changes[:-MOST_KEPT]

    def join_class(self, old: int, new: int, state: State) -> None:
        """Add the rows of a class to those of another one, after the tree has."""
        self.reserve_codes(1 + max(old, new))
        if state.conformity is not None:
            moved_classes.start_over(self.moved, state.conformity, new)
        common_shift.join_class(self.common, old, new)
        if self.expectation is not None:
            self.expectation.join_class(old, new)

    def drop_code(self, code: int, last: int) -> None:
        """Drop a class, whose code the class with the last code gets."""
        self.reserve_codes(1 + last)
        self.moved = moved_classes.drop_code(self.moved, code)
        self.common = common_shift.drop_code(self.common, code)
        if self.expectation is not None:
            self.expectation.drop_code(code)
        self.changes = [
            change._replace(label=code) if change.label == last else change
            for change in self.changes
            if change.label != code
        ]

    def count_fork(self, fork: State, codes: Array, state: State) -> None:
        """Count the rows that a fork has learnt for the tree; it has looked for no changes in them.

        Parameters
        ----------
        fork : State
            The fork, after its rows were merged into the tree.
        codes : ndarray of int64
            Codes here of its classes.
        state : State
            The tree.
        """
        n_rows = int(fork.tree.counters[N_LEARNT])
        self.rows += n_rows
        if state.conformity is None:
            return
        moved_classes.start_over(self.moved, state.conformity)
        if self.expectation is not None:
            seen = fork.conformity.seen[: len(codes)]
            self.expectation.count(codes[: len(seen)], seen, n_rows)

    def merge(self, other: Follower, codes: Array, state: State) -> None:
        """Add what the follower of another model has learnt, whose class codes are mapped.

        The common shift stays as it is, unless this model has learnt nothing.
        """
        if self.rows == 0:
            self.common.shift[:] = other.common.shift
        self.rows += other.rows
        if state.conformity is not None:
            moved_classes.start_over(self.moved, state.conformity)
        common_shift.merge(self.common, other.common, codes)
        if self.expectation is not None and other.expectation is not None:
            self.expectation.merge(other.expectation, codes)


def parts(weights: Array, rows: int, period: int) -> Iterator[slice]:
    """Divide rows after every learnt row whose number is a multiple of a period.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,)
        Weights of the rows; those of weight 0 are not learnt.
    rows : int
        Rows learnt before.
    period : int
        The period.

    Yields
    ------
    slice
        Parts of the rows, none empty.

    Examples
    --------
    >>> list(parts(np.ones(5), 1, 3))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    learnt = rows + np.cumsum(weights > 0.0)
    ends = np.flatnonzero((learnt % period == 0) & (weights > 0.0)) + 1
    start = 0
    for end in [*ends.tolist(), len(weights)]:
        if end > start:
            yield slice(start, end)
            start = end
