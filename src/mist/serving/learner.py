"""`Learner`: the thread that logs calls, learns them, and writes checkpoints."""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
from collections import deque
from concurrent.futures import Future
from time import monotonic, time
from typing import Any

from mist.persistence import Version
from mist.serving.event_log import EventLog
from mist.serving.folder import StateFolder
from mist.serving.journal import Journal
from mist.serving.limits import Refused
from mist.serving.notifier import Notifier
from mist.serving.options import LearnerOptions
from mist.serving.service import Admission, Service
from mist.streaming import Alarms
from mist.texts import one_line, printable

__all__ = ["Learner"]

Call = dict[str, Any]

_GROUP = 256
"""Most calls that are flushed to the disk together."""

_TICK = 0.5
"""Seconds between two looks at the clock while no calls come."""

_LOOK_EVERY = 50
"""Rows between two looks at the figures for alarms; also once a second."""


class Learner:
    """The only thread that changes a service.

    Calls wait in a queue. The learner takes all that wait, up to 256, writes them to the log as one
    group that is flushed to the disk once, learns them in their order, and only then completes
    their futures. A call that adds columns or classes is the last of its group.

    Parameters
    ----------
    service : Service
        The service.
    options : LearnerOptions
        When to write checkpoints.
    folder : StateFolder or None, default=None
        Where checkpoints are written; None for nowhere.
    number : int, default=0
        Number of the last record of the log that the service holds.
    journal : Journal or None, default=None
        The log; None to acknowledge calls that are in memory only.
    alarms : Alarms or None, default=None
        Rules for alarms.
    notifier : Notifier or None, default=None
        Their receiver.
    events : EventLog or None, default=None
        File of events.

    Attributes
    ----------
    fault : str
        Why the learner has stopped; empty while it works.
    checkpoints : int
        Checkpoints written.
    checkpoint_error : str
        Why the last checkpoint could not be written; empty if it could.
    events_error : str
        Why the last events could not be written.
    """

    def __init__(
        self,
        service: Service,
        options: LearnerOptions,
        *,
        folder: StateFolder | None = None,
        number: int = 0,
        journal: Journal | None = None,
        alarms: Alarms | None = None,
        notifier: Notifier | None = None,
        events: EventLog | None = None,
    ) -> None:
        self.service = service
        self.options = options
        self.alarms = alarms
        self.notifier = notifier
        self.fault = ""
        self.checkpoints = 0
        self.checkpoint_error = ""
        self.events_error = ""
        self._folder, self._number, self._journal = folder, number, journal
        self._events = EventLog(None) if events is None else events
        waiting = service.options.limits.waiting
        self._queue: queue.Queue[tuple[Call, Future[Any]] | None] = queue.Queue(waiting)
        self._size, self._size_lock = 0, threading.Lock()
        self._closing = False
        self._dirty = False
        self._saved = service.watch.row, monotonic()
        self._looked = service.watch.row, monotonic()
        self._time = 0.0
        self._thread = threading.Thread(target=self._run, name="mist-learner", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, call: Call, size: int = 0) -> Future[Any]:
        """Queue a call.

        Parameters
        ----------
        call : dict
            See `Service.apply`; its time is set here.
        size : int, default=0
            Bytes of the body that it came from.

        Returns
        -------
        Future
            Its result is that of `Service.apply`, its exception a `Refused`.

        Raises
        ------
        Refused
            If too many calls wait, or the learner has stopped.
        """
        if self.fault or self._closing:
            raise Refused(f"the server no longer learns: {self.fault or 'it is stopping'}", 503)
        later = Refused("too many calls wait to be learnt: send it again later", 429)
        with self._size_lock:
            # A single large call is always taken.
            if self._size and self._size + size > self.service.options.limits.waiting_bytes:
                raise later
            self._size += size
        future: Future[Any] = Future()
        future.add_done_callback(lambda _: self._release(size))
        try:
            self._queue.put_nowait((call, future))
        except queue.Full:
            future.cancel()
            raise later from None
        return future

    def _release(self, size: int) -> None:
        with self._size_lock:
            self._size -= size

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return self._queue.qsize()

    @property
    def version(self) -> Version | None:
        """The newest version; None if nothing is saved."""
        return None if self._folder is None else self._folder.version

    @property
    def broken(self) -> str:
        """Why the log takes no more calls; empty if it does, or there is none."""
        return "" if self._journal is None else self._journal.broken

    def stop(self, seconds: float | None = None) -> None:
        """Do the calls that wait, write a checkpoint, end the thread and free the folder."""
        self._closing = True
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(seconds)
        if self._journal is not None:
            self._journal.close()
        if self._folder is not None:
            self._folder.close()
        if self.notifier is not None:
            self.notifier.close()
        self._events.close()

    # --- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        group: list[tuple[Call, Future[Any]]] = []
        try:
            ended = False
            while not ended:
                group, ended = self._next_group()
                if group:
                    self._do(group)
                self._give_alarms()
                if self._dirty and (ended or self._due()):
                    self.save()
        except Exception as error:
            # The model may be half changed: it must not be saved. A new start applies the log.
            self.fault = one_line(f"{type(error).__name__}: {error}")
            text = f"error: mist serve has stopped learning: {printable(self.fault)}"
            print(text, file=sys.stderr, flush=True)
            self._fail(group)

    def _next_group(self) -> tuple[list[tuple[Call, Future[Any]]], bool]:
        """Return the calls that wait, and whether the thread is to end after them."""
        group: list[tuple[Call, Future[Any]]] = []
        try:
            entry = self._queue.get(timeout=_TICK)
            while entry is not None:
                group.append(entry)
                if len(group) == _GROUP:
                    return group, False
                entry = self._queue.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _do(self, group: list[tuple[Call, Future[Any]]]) -> None:
        """Log calls, do them in their order, and complete their futures."""
        waiting = deque(group)
        while waiting:
            admitted = self._admit_some(waiting)
            if admitted:
                self._log_and_learn(admitted)

    def _admit_some(
        self, waiting: deque[tuple[Call, Future[Any]]]
    ) -> list[tuple[Call, Future[Any]]]:
        """Take calls that are admitted, up to one after which the others must be checked anew.

        A call is checked against the model as it is. So calls with new columns and classes are
        done before the next is checked, and rows are kept before their labels are.
        """
        admitted: list[tuple[Call, Future[Any]]] = []
        kept: set[str] = set()
        while waiting:
            call, future = waiting[0]
            if call["do"] == "label" and not kept.isdisjoint(call["ids"]):
                break
            waiting.popleft()
            admission = self._admission(call, future)
            if admission is None:
                continue
            admitted.append((call, future))
            if call["do"] == "keep":
                kept.update(call["ids"])
            if admission.grows:
                break
        return admitted

    def _log_and_learn(self, admitted: list[tuple[Call, Future[Any]]]) -> None:
        if self._journal is not None:
            try:
                self._number = self._journal.append([_payload(call) for call, _ in admitted])
            except OSError as error:
                text = f"nothing was learnt, the log cannot be written: {error.strerror}"
                for _, future in admitted:
                    future.set_exception(Refused(text, 507))
                return
        self._dirty = True
        for call, future in admitted:
            try:
                result = self.service.apply(call)
            except Refused as error:
                future.set_exception(error)
            else:
                future.set_result(result)
        self._tell(self.service.take_events())

    def _admission(self, call: Call, future: Future[Any]) -> Admission | None:
        """Admission of a call that is to be done; None if its future is complete."""
        if not future.set_running_or_notify_cancel():
            return None
        self._time = call["time"] = max(self._time, time())
        try:
            admission = self.service.admit(call)
        except Refused as error:
            future.set_exception(error)
            return None
        if admission.result is not None:
            future.set_result(admission.result)
            return None
        return admission

    def _tell(self, events: list[dict[str, Any]]) -> None:
        """Write events, and give the alarms that they raise."""
        if not events:
            return
        try:
            self._events.write(events)
            self.events_error = ""
        except OSError as error:
            self.events_error = one_line(str(error))
        if self.alarms is not None and self.notifier is not None:
            self.notifier.send(self.alarms.of_events(events, monotonic()))

    def _give_alarms(self) -> None:
        """Give the alarms of figures, from time to time."""
        if self.alarms is None or self.notifier is None:
            return
        row, now = self.service.watch.row, monotonic()
        if row - self._looked[0] < _LOOK_EVERY and now - self._looked[1] < 1.0:
            return
        self._looked = row, now
        figures = self.service.settled_figures()
        recall = (
            self.service.watch.recall_by_class()
            if "recall" in self.alarms.rules.thresholds
            else None
        )
        alarms = self.alarms.of_figures(row, figures, now, recall)
        self.notifier.send(alarms)

    def _due(self) -> bool:
        rows, seconds = self.service.watch.row - self._saved[0], monotonic() - self._saved[1]
        return rows >= self.options.every_rows or seconds >= self.options.every_seconds

    def save(self) -> None:
        """Write a checkpoint and begin a new log; a failure is noted, and tried again later."""
        self._saved = self.service.watch.row, monotonic()
        if self._folder is None:
            return
        try:
            self._events.sync()
            if self._journal is None:
                # No log has what was learnt, so no start may take the version before for this one.
                self._number += 1
            service = self.service
            self._folder.save(service.served.model, service.state(), self._number, service.accuracy)
            if self._journal is not None:
                self._journal.forget(self._folder.needed)
        except (OSError, TypeError, ValueError) as error:
            self.checkpoint_error = one_line(str(error))
            text = f"error: no checkpoint was written: {printable(self.checkpoint_error)}"
            print(text, file=sys.stderr, flush=True)
            return
        self._dirty = False
        self.checkpoint_error = ""
        self.checkpoints += 1

    def _fail(self, group: list[tuple[Call, Future[Any]]]) -> None:
        """Complete the futures of all calls that cannot be done."""
        refusal = Refused(f"the server no longer learns: {self.fault}", 503)
        with contextlib.suppress(queue.Empty):
            while (entry := self._queue.get_nowait()) is not None:
                group.append(entry)
        for _, future in group:
            if not future.done():
                future.set_exception(refusal)


def _payload(call: Call) -> bytes:
    return json.dumps(call, separators=(",", ":")).encode("ascii")
