"""Fast path for single rows, used while nothing has changed since the last full check.

On the slow path `MistClassifier.learn_one` and `MistClassifier.predict_one` check a row as they
would a batch, which takes much longer than learning it. A `FastPath` keeps the results of the
checks. It takes plain rows with known names and labels, and leaves others to the slow path.
"""

from __future__ import annotations

from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from mist.cells import PLAIN_NUMBERS
from mist.engine.conformity import reserve_classes
from mist.engine.growth import Split, follow_up
from mist.engine.handle import Handle
from mist.engine.leafmodel import LeafModel, kind_of
from mist.engine.row_loops import DONE, FULL_CELLS, FULL_ITEMS
from mist.engine.single_row import UNSURE, decode_status, learner, predictor
from mist.fitted import FittedTree
from mist.limits import LARGEST_WEIGHT

Array = np.ndarray[Any, Any]

__all__ = ["UNKNOWN", "FastPath", "PlainRows"]

UNKNOWN: Any = object()
"""No prediction: the row needs the slow path."""

_FLOAT = np.dtype(np.float64)
_LABELS = frozenset({bool, int, float, str, np.str_, np.bool_, np.int64, np.int32, np.float64})


class _CompiledPath(NamedTuple):
    """Compiled function for the layout of a state; one object, as other threads may replace it."""

    layout: Any
    call: Any  # None if rows need the slow path
    context: Any


_NO_PATH = _CompiledPath(None, None, None)


class PlainRows:
    """Reads plain rows of a classifier: arrays, or dicts of numbers with known names.

    Parameters
    ----------
    model : MistClassifier
        A classifier that has learnt at least one row.
    """

    __slots__ = (
        "codes",
        "keyed",
        "known",
        "labels",
        "n",
        "order",
        "pack",
        "ranks",
        "shape",
        "values",
    )

    def __init__(self, model: FittedTree) -> None:
        self.order = np.ascontiguousarray(model._order, dtype=np.int64)
        self.n = len(self.order)
        self.shape = (self.n,)
        self.known = model._labels
        self.codes, self.ranks = self.known.codes, self.known.ranks
        self.labels = self.known.decode(np.arange(len(self.ranks))).tolist()
        self.pack = Struct(f"{self.n}d").pack
        names = model._names()
        one = itemgetter(names[0])
        self.values = itemgetter(*names) if self.n > 1 else lambda x: (one(x),)
        self.keyed = hasattr(model, "_keys")

    @property
    def holds(self) -> bool:
        """Whether no class was added since."""
        return self.known.ranks is self.ranks

    def row(self, x: Any) -> Array | None:
        """Return the values of a plain row, else None."""
        kind = type(x)
        if kind is np.ndarray:
            return x if x.dtype is _FLOAT and x.shape == self.shape else None
        if kind is not dict or len(x) != self.n:
            return None
        try:
            values = self.values(x)
            # Dates and complex numbers can be packed, but do not add up to a number.
            if type(sum(values, 0.0)) not in PLAIN_NUMBERS:
                return None
            return np.frombuffer(self.pack(*values))
        except Exception:  # the slow path raises the right error
            return None

    def code(self, x: Any, y: Any, weight: Any) -> int | None:
        """Return the class code of a known label, None if the row needs the slow path."""
        if type(weight) is not float or type(y) not in _LABELS:
            return None
        if not 0.0 < weight <= LARGEST_WEIGHT:
            return None
        if type(x) is dict and not self.keyed:  # this row gives the model its names
            return None
        return self.codes.get(y)


class FastPath:
    """Checked facts about a classifier for the fast path, valid until the classifier changes.

    Parameters
    ----------
    model : MistClassifier
        A classifier that has learnt at least one row.
    checked : bool
        Whether its current options were checked. If not, rows can only be predicted.
    """

    __slots__ = ("answering", "checked", "flags", "learning", "plain", "rule", "state")

    def __init__(self, model: FittedTree, checked: bool) -> None:
        self.checked = checked
        self.flags = model._lock.flags
        state = self.state = model._state
        self.rule = model._rule
        self.plain = PlainRows(model)
        self.learning = self.answering = _NO_PATH
        if checked:
            reserve_classes(state, len(self.plain.ranks))

    @property
    def holds(self) -> bool:
        """Whether no class was added since."""
        return self.plain.holds

    def ready(self, learning: bool) -> None:
        """Get the function that learns or predicts a row for the current layout of the state."""
        handle = self.state.handle
        path = self.learning if learning else self.answering
        if handle.layout is not path.layout:
            (self._to_learn if learning else self._to_answer)(handle)

    def _to_learn(self, handle: Handle) -> None:
        state = self.state
        # With missing values some leaf models must process a row before it is learnt.
        met = (
            state.observed is not None
            and type(kind_of(state.model)).before_batch is not LeafModel.before_batch
        )
        plain = (
            self.checked
            and self.rule.split_test != "eprocess"
            and not state.candidate_splits
            and not met
        )
        call, context = learner(handle, *self._call_context()) if plain else (None, None)
        self.learning = _CompiledPath(handle.layout, call, context)

    def _to_answer(self, handle: Handle) -> None:
        self.answering = _CompiledPath(handle.layout, *predictor(handle, *self._call_context()))

    def _call_context(self) -> tuple[Array, int, Array, bool, Array]:
        state, plain = self.state, self.plain
        has_nan = state.observed is not None
        return plain.order, state.options.n_numeric, plain.ranks, has_nan, self.flags

    def learn(self, x: Any, y: Any, weight: Any) -> Any:
        """Learn a row.

        Returns
        -------
        int or None
            None if nothing was learnt; else the remaining work for `follow`, 0 if there is none.
        """
        code, row = self.plain.code(x, y, weight), self.plain.row(x)
        if code is None or row is None or not self.plain.holds:
            return None
        # Other threads may change the state. Anything not available needs the write lock.
        handle, path = self.state._handle, self.learning
        if handle is None or handle.layout is not path.layout or path.call is None:
            return None
        done = path.call(path.context.address, handle.address, row, code, weight)
        if done == DONE:
            return DONE
        if done == UNSURE or decode_status(done)[0] in (FULL_CELLS, FULL_ITEMS):
            return None
        return done

    def follow(self, done: int, splits: list[Split]) -> None:
        """Finish the work that a learnt row has left; a split is appended to the list."""
        follow_up(self.state, self.rule, *decode_status(done), splits)
        self.ready(True)

    def predict(self, x: Any) -> Any:
        """Return the label of a row, or `UNKNOWN`."""
        row = self.plain.row(x)
        if row is None or not self.plain.holds:
            return UNKNOWN
        handle, path = self.state._handle, self.answering
        if handle is None or handle.layout is not path.layout or path.call is None:
            return UNKNOWN
        code = path.call(path.context.address, handle.address, row)
        return UNKNOWN if code == UNSURE else self.plain.labels[code]
