"""A limit on the bytes of a tree: what room is left, and who is asked to give something back.

The arrays of a tree grow only in the `reserve_*` functions, whose moments depend on the rows and
not on how they come in batches. There a state with a budget asks for room first. What is kept for
each class (totals, scores, the follower) is reserved for all classes of a call at once, so it is
not measured but counted by the classes that have come so far: `Budget.n_codes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mist.engine.state import State, bytes_of

Array = np.ndarray[Any, Any]

Step = Callable[[State, int], None]
"""Gives back about so many bytes, if it can."""

_SLACK = 32
"""What is given back at once is this part of the budget at least: it takes time to copy arrays."""

_KEPT = 8
"""Trials leave this part of the budget to splits and cells."""


class Budget:
    """The limit of one tree.

    Parameters
    ----------
    most : callable
        Given the number of classes, the most bytes of `own_bytes`.
    n_codes : int
        Classes that have come so far.
    optional : sequence of callable
        Steps that give back what a split may replace. They renumber nothing.
    required : sequence of callable
        Steps in order, for growth that cannot be refused.
    could_give : callable or None
        Bytes that all optional steps can give back together.
    given : object
        What the limit was made of, to tell whether it has changed.

    Attributes
    ----------
    logs : sequence of list
        Lists of splits, in which nodes get their new numbers if subtrees are cut back.
    """

    def __init__(
        self,
        most: Callable[[int], int],
        n_codes: int,
        optional: Sequence[Step] = (),
        required: Sequence[Step] = (),
        could_give: Callable[[State], int] | None = None,
        given: Any = None,
    ) -> None:
        self.most = most
        self.n_codes = n_codes
        self.optional = optional
        self.required = required
        self.could_give = could_give
        self.given = given
        self.logs: Sequence[list[Any]] = ()

    def room(self, state: State) -> int:
        """Bytes that are left; below 0 if the tree has too many."""
        return self.most(self.n_codes) - own_bytes(state)

    def spare(self, state: State, taken: int) -> int:
        """Bytes that arrays may have to spare, once so many of the room are taken."""
        return max(0, self.room(state) - taken) // 4

    def _slack(self) -> int:
        return max(0, self.most(self.n_codes)) // _SLACK

    def make_room(self, state: State, wanted: int = 0) -> None:
        """Give back what is necessary, so that so many bytes are left."""
        for step in self.required:
            room = self.room(state)
            if room >= wanted:
                return
            with state.changing():
                step(state, wanted + self._slack() - room)

    def find_room(self, state: State, wanted: int) -> bool:
        """Whether so many bytes are left, if need be after optional parts were given back."""
        if self.room(state) >= wanted:
            return True
        if not self.could_find(state, wanted):
            return False
        for step in self.optional:
            with state.changing():
                step(state, wanted + self._slack() - self.room(state))
            if self.room(state) >= wanted:
                return True
        return False

    def could_find(self, state: State, wanted: int) -> bool:
        """Whether `find_room` would find so many bytes; nothing is given back."""
        room = self.room(state)
        return room >= wanted or (
            self.could_give is not None and room + self.could_give(state) >= wanted
        )

    def has_room(self, state: State, wanted: int) -> bool:
        """Whether so many bytes are left for a trial."""
        return self.room(state) - max(0, self.most(self.n_codes)) // _KEPT >= wanted

    def parts(self, state: State, codes: Array) -> Iterator[slice]:
        """Divide rows before the first row of every new class, and make room for the class.

        Parameters
        ----------
        state : State
            The tree.
        codes : ndarray of int64, shape (n,)
            Class codes of the rows. Codes are numbered in the order of the rows.

        Yields
        ------
        slice
            Rows to learn.
        """
        start = 0
        while start < len(codes):
            self.n_codes = max(self.n_codes, int(codes[start]) + 1)
            self.make_room(state)
            later = np.flatnonzero(codes[start:] >= self.n_codes)
            end = start + int(later[0]) if later.size else len(codes)
            yield slice(start, end)
            start = end


EXACT = Budget(lambda n_codes: 0, 0)
"""The budget of a copy that is made to be small: its arrays have nothing to spare."""


def own_bytes(state: State) -> int:
    """Bytes of a tree without what is kept for each class."""
    return state.nbytes - state.tree.totals.nbytes - bytes_of(state.conformity)


def row_bytes(*arrays: Array) -> int:
    """Bytes of one entry of each of some arrays, which may be empty.

    Examples
    --------
    >>> row_bytes(np.zeros((0, 3)), np.zeros(5))
    32
    """
    return sum(array.itemsize * int(np.prod(array.shape[1:])) for array in arrays)
