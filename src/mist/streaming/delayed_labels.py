"""`DelayedLabels`: a model whose rows are predicted now and learnt when their labels come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from time import time
from typing import Any
from uuid import uuid4

from mist.streaming.kept_rows import Kept, KeptRows

__all__ = ["DelayedLabels"]


class DelayedLabels:
    """Predict rows now, learn each as it was when its label comes.

    Parameters
    ----------
    model : object
        A model with ``predict_one`` and ``learn_one``: `StreamPipeline`, `MistClassifier` or
        `MistForest`.
    most : int, default=100_000
        Most rows that wait; above it the oldest is dropped.
    seconds : float or None, default=None
        Longest time that a row waits; None for no limit.
    state : mapping or None, default=None
        Result of `state` earlier, to continue from it.
    clock : callable, default=time.time
        Gives the seconds since 1970.

    Attributes
    ----------
    model : object
        The model.
    dropped : dict of str to int
        Rows that left without a label, by reason: ``"full"``, ``"old"`` or ``"replaced"`` by a row
        with the same id.
    unknown : int
        Labels whose row was not there.

    Notes
    -----
    Rows must hold numbers, texts, bools and None, so that `state` can be saved. A row that the
    model refuses to learn stays in the buffer. Several threads may use one object.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> late = DelayedLabels(MistClassifier.paper())
    >>> late.predict_one({"size": 1.0}, id="order 7")
    ('order 7', None)
    >>> late.predict_one({"size": 9.0}, id="order 8")
    ('order 8', None)
    >>> late.label("order 8", "large"), late.label("order 9", "small"), late.unknown
    (True, False, 1)
    >>> late.predict_one({"size": 8.0}, id="order 10"), len(late)
    (('order 10', 'large'), 2)

    `state` is an attachment of a model file, to continue with both:

    >>> late = DelayedLabels(late.model, state=late.state())
    >>> late.label("order 7", "small"), late.model.classes_.tolist()
    (True, ['large', 'small'])
    """

    def __init__(
        self,
        model: Any,
        most: int = 100_000,
        seconds: float | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self.model = model
        self.unknown = 0 if state is None else int(state["unknown"])
        self._rows = KeptRows(most, seconds, None if state is None else state["waiting"])
        self._clock = clock
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dropped(self) -> dict[str, int]:
        """Rows that left without a label, by reason."""
        return dict(self._rows.dropped)

    def predict_one(self, x: Mapping[str, Any], id: str | None = None) -> tuple[str, Any]:
        """Predict a row and keep it until its label comes.

        Parameters
        ----------
        x : mapping
            Values by column name.
        id : str or None, default=None
            Name of the row; None makes one. The same id again replaces its row.

        Returns
        -------
        tuple of (str, label)
            The id, and the prediction of the model (None if it has learnt nothing yet).
        """
        prediction = self.model.predict_one(x)
        name = uuid4().hex if id is None else id
        with self._lock:
            self._rows.keep(name, Kept(dict(x), [], self._clock()))
        return name, prediction

    def label(self, id: str, y: Any) -> bool:
        """Learn a row that waits, with its label.

        Parameters
        ----------
        id : str
            Name of the row.
        y : label
            Its label.

        Returns
        -------
        bool
            Whether the row was there. If not, it was dropped, labelled before or never kept.

        Raises
        ------
        ValueError
            If the model refuses the row or the label; the row stays.
        """
        with self._lock:
            self._rows.expire(self._clock())
            kept = self._rows.get(id)
            if kept is None:
                self.unknown += 1
                return False
            self.model.learn_one(kept.row, y)
            self._rows.take(id)
        return True

    def label_many(self, pairs: Iterable[tuple[str, Any]]) -> int:
        """Learn a stream of pairs of an id and a label; return how many rows were there."""
        return sum(self.label(id, y) for id, y in pairs)

    def state(self) -> dict[str, Any]:
        """Return the rows that wait and the counts, as an attachment of a model file."""
        with self._lock:
            return {"waiting": self._rows.state(), "unknown": self.unknown}
