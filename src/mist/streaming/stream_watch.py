"""`StreamWatch`: prequential figures of a model in production, and the events of its stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from mist.adaptation.changes import Change
from mist.streaming.curve import Curves
from mist.streaming.presence import Presence
from mist.streaming.recent_window import RecentWindow

__all__ = ["CHECK_EVERY", "LEAST_SHARE", "StreamWatch"]

Event = dict[str, Any]

CHECK_EVERY = 50
"""Rows between two looks for silent classes and columns."""

LEAST_SHARE = 1e-6
"""Probability that the log loss of a row counts at least, as a new class has probability 0."""

_MEMORY = 0.02
"""Weight of the newest row in the recent recall of its class."""

_MOST_EVENTS = 200
_FIGURES = ("accuracy", "log_loss", "confidence", "novel")


class StreamWatch:
    """Figures of predictions whose labels came, by class and over a window, and events.

    Parameters
    ----------
    window : int, default=1000
        Rows over which recent figures are taken.
    gaps : float, default=20.0
        Mean gaps without a row after which a class or a column is silent, see `Presence`.
    least_silence : int, default=1000
        Rows below which a gap is never a silence.
    row : int, default=0
        Rows that the model had learnt before.
    state : mapping or None, default=None
        Result of `state` earlier, to continue from it.

    Attributes
    ----------
    row : int
        Rows that the model has learnt.
    rows : int
        Rows that were counted here.
    window : RecentWindow
        Recent figures.
    curves : Curves
        Figures over the stream.
    recent_events : list of dict
        The last 200 events, oldest first.

    Examples
    --------
    >>> watch = StreamWatch()
    >>> watch.observe("cat", None, {}, ["weight"])
    [{'row': 1, 'event': 'new class', 'label': 'cat'}]
    >>> watch.observe("cat", "cat", {"cat": 1.0}, ["weight", "height"])
    [{'row': 2, 'event': 'new column', 'column': 'height'}]
    >>> watch.figures()["accuracy"], watch.recall_by_class()["cat"]["recall"]
    (0.5, 0.5)
    """

    def __init__(
        self,
        window: int = 1000,
        gaps: float = 20.0,
        least_silence: int = 1000,
        row: int = 0,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        given: Mapping[str, Any] = {} if state is None else state
        self.row = int(given.get("row", row))
        self.rows = int(given.get("rows", 0))
        self._totals = [float(value) for value in given.get("totals", (0.0, 0.0, 0.0))]
        self._by_class = {label: list(counts) for label, *counts in given.get("by_class", ())}
        self._counts = {str(name): int(n) for name, n in given.get("counts", ())}
        self.recent_events: list[Event] = [dict(pairs) for pairs in given.get("events", ())]
        self.window = RecentWindow(window, given.get("window"))
        self.curves = Curves(_FIGURES, state=given.get("curves"))
        self._classes = Presence(gaps, least_silence, state=given.get("classes"))
        self._columns = Presence(gaps, least_silence, state=given.get("columns"))

    def know(self, labels: Iterable[Any], columns: Iterable[str]) -> None:
        """Add classes and columns that the model knows before the first row: they are not new."""
        self._classes.know(labels)
        self._columns.know(columns)

    def observe(
        self,
        label: Any,
        predicted: Any,
        shares: Mapping[Any, float],
        columns: Iterable[str],
        novel: bool = False,
    ) -> list[Event]:
        """Count a row that the model has predicted, and that it learns.

        Parameters
        ----------
        label : label
            The true class.
        predicted : label or None
            The class that was predicted; None if the model had learnt nothing.
        shares : mapping of label to float
            Probabilities that were predicted; empty if the model had learnt nothing.
        columns : iterable of str
            Columns in which the row has a value.
        novel : bool, default=False
            Whether the row was novel.

        Returns
        -------
        list of dict
            Events, each with ``row`` and ``event``.
        """
        self.row += 1
        self.rows += 1
        self._score(label, predicted, shares, novel)
        events: list[Event] = []
        seen = self._classes.see(label, self.row)
        if seen is not None:
            events.append(self._event("new class" if seen == "new" else "class back", label=label))
        # The columns of the first row of all are not changes of the stream.
        first = self.row == 1
        for column in columns:
            seen = self._columns.see(column, self.row)
            if seen is not None and not first:
                name = "new column" if seen == "new" else "column back"
                events.append(self._event(name, column=column))
        if self.row % CHECK_EVERY == 0:
            events += [self._event("class silent", label=x) for x in self._classes.silent(self.row)]
            silent = self._columns.silent(self.row)
            events += [self._event("column silent", column=x) for x in silent]
        return self._kept(events)

    def changes(self, found: Iterable[Change]) -> list[Event]:
        """Count the changes that the model has found, as events."""
        events = []
        for change in found:
            event = {"row": change.row, "event": change.kind}
            if change.label is not None:
                event["label"] = change.label
            if change.size is not None:
                event["size"] = change.size
            events.append(event)
        return self._kept(events)

    def note(self, event: str, **details: Any) -> Event:
        """Count an event of another kind at the present row."""
        return self._kept([self._event(event, **details)])[0]

    def _event(self, event: str, **details: Any) -> Event:
        return {"row": self.row, "event": event, **details}

    def _kept(self, events: list[Event]) -> list[Event]:
        for event in events:
            self._counts[event["event"]] = self._counts.get(event["event"], 0) + 1
        if events:
            self.recent_events = [*self.recent_events, *events][-_MOST_EVENTS:]
        return events

    def _score(self, label: Any, predicted: Any, shares: Mapping[Any, float], novel: bool) -> None:
        hit = predicted is not None and predicted == label
        confidence = min(1.0, shares.get(predicted, 0.0))
        loss = -math.log(max(LEAST_SHARE, min(1.0, shares.get(label, 0.0))))
        self.window.add(hit, confidence, loss, novel)
        self.curves.add([hit, loss, confidence, novel])
        for place, value in enumerate((hit, loss, novel)):
            self._totals[place] += value
        counts = self._by_class.setdefault(label, [0, 0, float(hit)])
        counts[0] += 1
        counts[1] += int(hit)
        counts[2] += max(_MEMORY, 1.0 / counts[0]) * (hit - counts[2])

    def figures(self) -> dict[str, float]:
        """Return the figures over all rows and over the window, by name; NaN before any row."""
        rows = self.rows or math.nan
        return {
            "rows": float(self.rows),
            "accuracy": self._totals[0] / rows,
            "log_loss": self._totals[1] / rows,
            "novel": self._totals[2] / rows,
            **self.recent_figures(),
        }

    def recent_figures(self) -> dict[str, float]:
        """Return the figures over the window, by name; NaN before any row."""
        window = self.window
        return {
            "recent_accuracy": window.accuracy,
            "recent_log_loss": window.log_loss,
            "recent_novel": window.novel,
            "recent_confidence": window.confidence,
            "calibration_error": window.calibration_error,
        }

    def recall_by_class(self) -> dict[Any, dict[str, float]]:
        """Return rows, recall and recent recall of each class.

        The recent recall is a mean in which the newest row of the class has weight 1/50, and each
        earlier one 49/50 of the weight of the next.
        """
        return {
            label: {"rows": counts[0], "recall": counts[1] / counts[0], "recent": counts[2]}
            for label, counts in self._by_class.items()
        }

    def event_counts(self) -> dict[str, int]:
        """Return how often each event has occurred."""
        return dict(self._counts)

    def silent(self) -> dict[str, list[Any]]:
        """Return the classes and columns that are silent now."""
        return {"classes": self._classes.names_silent(), "columns": self._columns.names_silent()}

    def state(self) -> dict[str, Any]:
        """Return everything as plain values and arrays, for `mist.persistence.save`."""
        return {
            "row": self.row,
            "rows": self.rows,
            "totals": list(self._totals),
            "by_class": [[label, *counts] for label, counts in self._by_class.items()],
            "counts": [[name, n] for name, n in self._counts.items()],
            "events": [list(event.items()) for event in self.recent_events],
            "window": self.window.state(),
            "curves": self.curves.state(),
            "classes": self._classes.state(),
            "columns": self._columns.state(),
        }
