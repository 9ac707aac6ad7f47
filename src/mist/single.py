"""Single rows the short way, where nothing has changed since the last long look.

`MistClassifier.learn_one` and `MistClassifier.predict_one` check everything that a batch is checked
for, and that takes much longer than to learn a row. A `Single` stands for what the checks have
found. It takes plain rows with known names and known labels, and leaves all others to the checks.
"""

from __future__ import annotations

from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from mist.engine.capacity import reserve_codes
from mist.engine.conformity import reserve_classes
from mist.engine.growth import Split, follow_up
from mist.engine.handle import Handle
from mist.engine.leafmodel import LeafModel, kind_of
from mist.engine.single import UNSURE, learner, predictor, told
from mist.engine.stream import DONE, FULL_CELLS, FULL_ITEMS
from mist.fitted import FittedTree

Array = np.ndarray[Any, Any]

__all__ = ["UNKNOWN", "Single"]

UNKNOWN: Any = object()
"""No answer: the row takes a closer look."""

_FLOAT = np.dtype(np.float64)
_LABELS = frozenset({bool, int, float, str, np.str_, np.bool_, np.int64, np.int32, np.float64})


class _Way(NamedTuple):
    """What is compiled for the layout of a state, read at once: other threads may replace it."""

    layout: Any
    call: Any  # None if rows have to go the long way
    desk: Any


_UNTRODDEN = _Way(None, None, None)


class Single:
    """What single rows need to know of a classifier in which nothing has changed since.

    Parameters
    ----------
    model : MistClassifier
        A classifier that has learnt a row.
    checked : bool
        Whether its options are those that it learns by. If not, rows are answered only.
    """

    __slots__ = (
        "answering",
        "checked",
        "codes",
        "flags",
        "keyed",
        "known",
        "labels",
        "learning",
        "n",
        "order",
        "pack",
        "ranks",
        "rule",
        "shape",
        "state",
        "values",
    )

    def __init__(self, model: FittedTree, checked: bool) -> None:
        self.checked = checked
        self.flags = model._gate.flags
        state = self.state = model._state
        self.rule = model._rule
        self.order = np.ascontiguousarray(model._order, dtype=np.int64)
        self.n = len(self.order)
        self.shape = (self.n,)
        self.known = model._labels
        self.codes, self.ranks = self.known.codes, self.known.columns
        self.labels = self.known.decode(np.arange(len(self.ranks))).tolist()
        self.pack = Struct(f"{self.n}d").pack
        names = model._names()
        one = itemgetter(names[0])
        self.values = itemgetter(*names) if self.n > 1 else lambda x: (one(x),)
        self.keyed = hasattr(model, "_keys")
        self.learning = self.answering = _UNTRODDEN
        if checked and state.options.balanced:
            reserve_codes(state, len(self.ranks))
        if checked and state.conformity is not None:
            reserve_classes(state, len(self.ranks))

    @property
    def holds(self) -> bool:
        """Whether no class has come since."""
        return self.known.columns is self.ranks

    def ready(self, learning: bool) -> None:
        """Find what learns or answers rows in the layout that the state has now."""
        handle = self.state.handle
        way = self.learning if learning else self.answering
        if handle.layout is not way.layout:
            (self._to_learn if learning else self._to_answer)(handle)

    def _to_learn(self, handle: Handle) -> None:
        state = self.state
        # Some leaf models want to see rows before they are learnt once values are missing.
        met = state.missing is not None and type(kind_of(state.model)).meet is not LeafModel.meet
        plain = self.checked and self.rule.split_test != "eprocess" and not state.trials and not met
        call, desk = learner(handle, *self._desk()) if plain else (None, None)
        self.learning = _Way(handle.layout, call, desk)

    def _to_answer(self, handle: Handle) -> None:
        self.answering = _Way(handle.layout, *predictor(handle, *self._desk()))

    def _desk(self) -> tuple[Array, int, Array, bool, Array]:
        state = self.state
        holes = state.missing is not None
        return self.order, state.options.n_numeric, self.ranks, holes, self.flags

    def _row(self, x: Any) -> Array | None:
        """The values of a plain row, else None."""
        kind = type(x)
        if kind is np.ndarray:
            return x if x.dtype is _FLOAT and x.shape == self.shape else None
        if kind is not dict or len(x) != self.n:
            return None
        try:
            return np.frombuffer(self.pack(*self.values(x)))
        except Exception:  # whatever it is, the long way knows what to say
            return None

    def learn(self, x: Any, y: Any, weight: Any) -> Any:
        """Learn a row.

        Returns
        -------
        int or None
            None if nothing was learnt; else what is left to be done, for `follow`, 0 for nothing.
        """
        if type(weight) is not float or type(y) not in _LABELS:
            return None
        if type(x) is dict and not self.keyed:  # from now on the model has names
            return None
        code = self.codes.get(y)
        row = self._row(x)
        if code is None or row is None or self.known.columns is not self.ranks:
            return None
        # Others may change the state: whatever is not at hand is left to who has it alone.
        handle, way = self.state._handle, self.learning
        if handle is None or handle.layout is not way.layout or way.call is None:
            return None
        done = way.call(way.desk.address, handle.address, row, code, weight)
        if done == DONE:
            return DONE
        if done == UNSURE or told(done)[0] in (FULL_CELLS, FULL_ITEMS):
            return None
        return done

    def follow(self, done: int, splits: list[Split]) -> None:
        """Do what a learnt row has left to be done; a split is put into the list."""
        follow_up(self.state, self.rule, *told(done), splits)
        self.ready(True)

    def predict(self, x: Any) -> Any:
        """The label of a row, or `UNKNOWN`."""
        row = self._row(x)
        if row is None or self.known.columns is not self.ranks:
            return UNKNOWN
        handle, way = self.state._handle, self.answering
        if handle is None or handle.layout is not way.layout:
            return UNKNOWN
        code = way.call(way.desk.address, handle.address, row)
        return UNKNOWN if code == UNSURE else self.labels[code]
