"""`Notifier`: sends alarms to a web address or a command, in a thread of its own."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import urllib.request
from collections.abc import Iterable

from mist.streaming import Alarm, AlarmRules
from mist.texts import one_line

__all__ = ["Notifier"]

_MOST_WAITING = 100


class Notifier:
    """Sender of alarms; a slow receiver delays nothing but other alarms.

    Parameters
    ----------
    rules : AlarmRules
        Web address, command and the longest time for each.

    Attributes
    ----------
    sent : int
        Alarms that were received: the address answered 2xx, the command ended with 0.
    failed : int
        Alarms that were not, and those that did not fit into the queue of 100.
    last_error : str
        Why the last alarm failed; empty if it was received.
    """

    def __init__(self, rules: AlarmRules) -> None:
        self.sent = 0
        self.failed = 0
        self.last_error = ""
        self._rules = rules
        self._queue: queue.Queue[Alarm | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="mist-alarms", daemon=True)
        self._thread.start()

    def send(self, alarms: Iterable[Alarm]) -> None:
        """Queue alarms."""
        for alarm in alarms:
            try:
                self._queue.put_nowait(alarm)
            except queue.Full:
                self._fail("the queue of alarms is full")

    def close(self, seconds: float = 5.0) -> None:
        """Send what is queued, for at most some seconds."""
        try:
            self._queue.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(seconds)

    def _run(self) -> None:
        while (alarm := self._queue.get()) is not None:
            body = json.dumps(alarm._asdict()).encode("utf-8")
            try:
                if self._rules.webhook:
                    self._post(body)
                if self._rules.command:
                    self._call(body)
            except Exception as error:
                # Whatever a receiver answers, the next alarm is sent: this thread has no other end.
                self._fail(one_line(f"{type(error).__name__}: {error}"))
            else:
                self.sent += 1
                self.last_error = ""

    def _post(self, body: bytes) -> None:
        request = urllib.request.Request(
            self._rules.webhook, body, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=self._rules.timeout):
            pass

    def _call(self, body: bytes) -> None:
        subprocess.run(
            list(self._rules.command),
            input=body,
            timeout=self._rules.timeout,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _fail(self, why: str) -> None:
        self.failed += 1
        self.last_error = why
