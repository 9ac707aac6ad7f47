"""`Service`: a model that learns calls in their order, keeps rows and counts, without HTTP.

A call that changes anything is a dict of plain values, so it can be written to the log. `apply` is
a function of the state and the call only: it reads no clock and draws no random numbers. So calls
that are applied again after a crash give the same model, the same rows that wait, and the same
figures. Only one thread applies calls.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mist.serving.limits import Refused
from mist.serving.options import ServiceOptions
from mist.serving.process_memory import resident_mb
from mist.serving.served_model import Prediction
from mist.streaming import Kept, KeptRows, StreamWatch
from mist.streaming.stream_watch import CHECK_EVERY
from mist.texts import one_line

__all__ = ["FIGURES_EVERY", "Admission", "Observed", "Service", "shares_to_keep"]

Call = Mapping[str, Any]

FIGURES_EVERY = 500
"""Rows between two events that hold the figures of the window."""

_WRITTEN = {
    "accuracy": "recent_accuracy",
    "log_loss": "recent_log_loss",
    "calibration_error": "calibration_error",
    "novel": "recent_novel",
}
_MOST_KEYS = 10_000
_MOST_UNKNOWN = 100
"""Ids that the result of a call lists when the call is sent again."""

_MOST_SHARES = 20
"""Classes whose probability is kept with a row that waits: the most probable."""


class Observed(NamedTuple):
    """What a service has seen of its stream, all at the same row.

    Attributes
    ----------
    row : int
        Rows learnt, also before serving.
    recalls : dict
        Rows, recall and recent recall of each class.
    events : dict of str to int
        How often each event has occurred.
    silent : dict of str to list
        Classes and columns that are silent now.
    """

    row: int
    recalls: dict[Any, dict[str, float]]
    events: dict[str, int]
    silent: dict[str, list[Any]]


class Admission(NamedTuple):
    """A call that may be logged and done.

    Attributes
    ----------
    result : dict or None
        The result, if the call has a key and was done before; None if it is to be done.
    grows : bool
        Whether the model gets columns or classes by it. The limits on them hold for a later call
        only if it is admitted after this one was done.
    """

    result: dict[str, Any] | None
    grows: bool


class Service:
    """A model with rows that wait for labels, figures and events.

    Parameters
    ----------
    served : ServedModel
        The model.
    options : ServiceOptions
        Options.
    state : mapping or None, default=None
        Result of `state` earlier.

    Attributes
    ----------
    served : ServedModel
        The model.
    kept : KeptRows
        Rows that wait for their labels.
    watch : StreamWatch
        Figures and events.
    unknown : int
        Labels whose row was not there.
    event_count : int
        Events so far; the number of an event is its ``n``.
    lock : threading.Lock
        Held while figures change; hold it to read them.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> from mist.serving.limits import Limits
    >>> from mist.serving.served_model import ServedModel
    >>> service = Service(ServedModel(MistClassifier.paper(), Limits()), ServiceOptions())
    >>> call = {"do": "learn", "rows": [{"size": 1.0}], "labels": ["cat"], "time": 0.0}
    >>> service.apply(call)
    {'learnt': 1, 'rows': 1}
    >>> [event["event"] for event in service.take_events()]
    ['new class']
    """

    def __init__(
        self, served: Any, options: ServiceOptions, state: Mapping[str, Any] | None = None
    ) -> None:
        self.served = served
        self.options = options
        given = {} if state is None else state
        self.kept = KeptRows(options.keep_rows, options.keep_seconds, given.get("kept"))
        self.watch = StreamWatch(
            options.window,
            options.gaps,
            options.least_silence,
            row=served.rows,
            state=given.get("watch"),
        )
        self.unknown = int(given.get("unknown", 0))
        self.event_count = int(given.get("event_count", 0))
        self.lock = threading.Lock()
        self._checked = int(given.get("checked", served.rows))
        self._keys: dict[str, tuple[str, dict[str, Any]]] = {
            key: (digest, dict(result)) for key, digest, result in given.get("keys", ())
        }
        self._events: list[dict[str, Any]] = []
        if state is None:
            self.watch.know(served.classes(), served.columns())

    def state(self) -> dict[str, Any]:
        """Return everything but the model, for a checkpoint."""
        return {
            "kept": self.kept.state(),
            "watch": self.watch.state(),
            "unknown": self.unknown,
            "event_count": self.event_count,
            "checked": self._checked,
            "keys": [[key, digest, result] for key, (digest, result) in self._keys.items()],
        }

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def observed(self) -> Observed:
        """Return what was seen of the stream."""
        with self.lock:
            watch = self.watch
            return Observed(
                watch.row, watch.recall_by_class(), watch.event_counts(), watch.silent()
            )

    def figures(self) -> dict[str, float]:
        """Return all figures of stream, model and process, by name; NaN where there is none."""
        with self.lock:
            found = self.watch.figures()
        return {
            **found,
            "memory_mb": resident_mb(),
            "model_mb": self.served.nbytes / 2**20,
            "waiting_for_labels": float(len(self.kept)),
            "labels_dropped": float(sum(self.kept.dropped.values())),
            "labels_unknown": float(self.unknown),
        }

    @property
    def accuracy(self) -> float | None:
        """Share of rows predicted right so far; None before the first."""
        with self.lock:
            accuracy = self.watch.figures()["accuracy"]
        return accuracy if math.isfinite(accuracy) else None

    def settled_figures(self) -> dict[str, float]:
        """Return the figures that may raise an alarm: those of a window once it is full."""
        found = self.figures()
        with self.lock:
            if not self.watch.window.full:
                found |= dict.fromkeys(self.watch.recent_figures(), math.nan)
        return found

    # --- reading ---------------------------------------------------------------------------------

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Predict rows; any thread may do so.

        Raises
        ------
        Refused
            If a row does not fit.
        """
        self.served.check(rows)
        try:
            predictions: list[Prediction] = self.served.predict(rows)
        except (TypeError, ValueError) as error:
            raise _refusal(error) from None
        return predictions

    def admit(self, call: Call) -> Admission:
        """Check a call before it is logged.

        Returns
        -------
        Admission

        Raises
        ------
        Refused
            If the model would not take the rows, or the key was used for another call.
        """
        done = self._done(call)
        if done is not None or call["do"] == "keep":
            return Admission(done, False)
        rows, labels = call.get("rows"), call["labels"]
        if call["do"] == "label":
            there = [(self.kept.get(id), y) for id, y in zip(call["ids"], labels, strict=True)]
            found = [(kept.row, y) for kept, y in there if kept is not None]
            rows, labels = [row for row, _ in found], [y for _, y in found]
        self.served.check(rows)
        return Admission(None, self.served.check_growth(rows, labels))

    def _done(self, call: Call) -> dict[str, Any] | None:
        key = call.get("key")
        if key is None or key not in self._keys:
            return None
        digest, result = self._keys[key]
        if digest != call["digest"]:
            raise Refused(f"the idempotency key {key!r} was used for another body: give a new key")
        return {**result, "repeated": True}

    # --- changing --------------------------------------------------------------------------------

    def apply(self, call: Call) -> dict[str, Any]:
        """Do a call.

        Parameters
        ----------
        call : mapping
            ``do`` is ``"learn"``, ``"keep"`` or ``"label"``.

        Returns
        -------
        dict
            What was done.

        Raises
        ------
        Refused
            If the model refuses a row; then nothing of the call was done.
        """
        done = self._done(call)
        if done is not None:
            return done
        self.kept.expire(call["time"])
        if call["do"] == "learn":
            result = self._learn(call["rows"], call["labels"], None, call["time"])
        elif call["do"] == "label":
            result = self._label(call["ids"], call["labels"], call["time"])
        else:
            result = self._keep(call)
        if call.get("key") is not None:
            short = dict(result)
            if "unknown" in short:
                short["unknown"] = short["unknown"][:_MOST_UNKNOWN]
            self._keys[call["key"]] = call["digest"], short
            if len(self._keys) > _MOST_KEYS:
                del self._keys[next(iter(self._keys))]
        return result

    def _learn(
        self,
        rows: Sequence[Mapping[str, Any]],
        labels: Sequence[Any],
        predictions: Sequence[Prediction] | None,
        now: float,
    ) -> dict[str, Any]:
        try:
            novel = self.served.novel(rows)
            if predictions is None:
                predictions = self.served.predict(rows)
            self.served.learn(rows, labels)
        except (TypeError, ValueError) as error:
            raise _refusal(error) from None
        with self.lock:
            for row, label, predicted, new in zip(rows, labels, predictions, novel, strict=True):
                names = [name for name, cell in row.items() if cell is not None and cell == cell]
                events = self.watch.observe(label, predicted.label, predicted.shares, names, new)
                self._add_events(events, now)
                if self.watch.row % FIGURES_EVERY == 0:
                    self._add_events([self._figures_event()], now)
            if self.watch.row // CHECK_EVERY > self._checked // CHECK_EVERY:
                found = self.served.changes_after(self._checked)
                self._add_events(self.watch.changes(found), now)
                self._checked = self.watch.row
        return {"learnt": len(rows), "rows": self.watch.row}

    def _figures_event(self) -> dict[str, Any]:
        figures = self.watch.figures()
        recent = {name: round(figures[key], 6) for name, key in _WRITTEN.items()}
        return {"row": self.watch.row, "event": "figures", **recent}

    def _add_events(self, events: Sequence[Mapping[str, Any]], now: float) -> None:
        for event in events:
            self.event_count += 1
            self._events.append({"n": self.event_count, "time": round(now, 3), **event})

    def _label(self, ids: Sequence[str], labels: Sequence[Any], now: float) -> dict[str, Any]:
        there = [(id, self.kept.get(id), y) for id, y in zip(ids, labels, strict=True)]
        found = [(id, kept, y) for id, kept, y in there if kept is not None]
        absent = [id for id, kept, _ in there if kept is None]
        result: dict[str, Any] = {"learnt": 0, "rows": self.watch.row}
        if found:
            predictions = [_prediction(kept.shares) for _, kept, _ in found]
            result = self._learn(
                [kept.row for _, kept, _ in found], [y for *_, y in found], predictions, now
            )
            for id, *_ in found:
                self.kept.take(id)
        self.unknown += len(absent)
        return {**result, "unknown": absent}

    def _keep(self, call: Call) -> dict[str, Any]:
        for id, row, shares in zip(call["ids"], call["rows"], call["shares"], strict=True):
            self.kept.keep(id, Kept(row, shares, call["time"]))
        return {"kept": len(call["ids"])}


def shares_to_keep(prediction: Prediction) -> list[Any]:
    """Return a prediction as plain values, with the most probable classes only."""
    most = sorted(prediction.shares.items(), key=lambda pair: -pair[1])[:_MOST_SHARES]
    return [prediction.label, [list(pair) for pair in most]]


def _prediction(shares: Sequence[Any]) -> Prediction:
    label, pairs = shares
    return Prediction(label, {name: share for name, share in pairs})


def _refusal(error: Exception) -> Refused:
    return error if isinstance(error, Refused) else Refused(one_line(str(error)))
