"""Thresholds of a TOML file, and the alarms that figures and events of a stream raise."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ["Alarm", "AlarmRules", "Alarms", "read_rules"]

_BELOW = {"accuracy": "recent_accuracy", "recall": "recall"}
_ABOVE = {
    "log_loss": "recent_log_loss",
    "calibration_error": "calibration_error",
    "novel": "recent_novel",
    "memory_mb": "memory_mb",
    "labels_dropped": "labels_dropped",
}
_EVENTS = {
    "new_class": "new class",
    "class_silent": "class silent",
    "class_moved": "class moved",
    "common_shift": "common shift",
    "new_column": "new column",
    "column_silent": "column silent",
}
_RULES = {event: rule for rule, event in _EVENTS.items()}
_SENDING = ("webhook", "command", "every", "timeout")

_LEAST_ROWS = 50
"""Rows of a class before its recall can raise an alarm."""


class Alarm(NamedTuple):
    """An alarm.

    Attributes
    ----------
    name : str
        Name of the rule, as in the file of rules.
    row : int
        Rows that the model had learnt.
    subject : str
        The class or column that it is about; empty if it is about the stream.
    value : float or None
        The figure that crossed its threshold; None for an event.
    threshold : float or None
        The threshold; None for an event.
    text : str
        The alarm as a sentence.
    """

    name: str
    row: int
    subject: str
    value: float | None
    threshold: float | None
    text: str


@dataclass(frozen=True)
class AlarmRules:
    """What raises an alarm, and where alarms go.

    Attributes
    ----------
    thresholds : mapping of str to float
        Thresholds by rule: accuracy and recall raise an alarm below, all others above.
    events : frozenset of str
        Rules of events that raise an alarm, such as ``"new_class"``.
    webhook : str
        URL to which alarms are posted as JSON; empty for none.
    command : tuple of str
        Program and arguments that get the alarm as JSON on standard input; empty for none.
    every : float
        Least seconds between two alarms of one rule.
    timeout : float
        Most seconds that sending takes.
    """

    thresholds: Mapping[str, float] = field(default_factory=dict)
    events: frozenset[str] = frozenset()
    webhook: str = ""
    command: tuple[str, ...] = ()
    every: float = 600.0
    timeout: float = 10.0


def read_rules(path: Path) -> AlarmRules:
    r"""Read the rules from a TOML file.

    Parameters
    ----------
    path : Path
        The file. The table ``[alarms]`` has a number for each of ``accuracy``, ``recall``,
        ``log_loss``, ``calibration_error``, ``novel``, ``memory_mb`` and ``labels_dropped``, and
        true for each of ``new_class``, ``class_silent``, ``class_moved``, ``common_shift``,
        ``new_column`` and ``column_silent``. The table ``[send]`` has ``webhook`` or ``command``,
        ``every`` and ``timeout`` in seconds.

    Returns
    -------
    AlarmRules

    Raises
    ------
    ValueError
        If a name is unknown or a value is of the wrong type; the message names file and key.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "alarms.toml")
    ...     _ = file.write_text("[alarms]\naccuracy = 0.8\nnew_class = true")
    ...     rules = read_rules(file)
    >>> rules.thresholds, sorted(rules.events), rules.every
    ({'accuracy': 0.8}, ['new_class'], 600.0)
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from error
    _check_names(path, "", content, ("alarms", "send"))
    for name, table in content.items():
        if not isinstance(table, dict):
            raise ValueError(f"{path}: {name} must be a table: write [{name}] on a line of its own")
    rules, send = content.get("alarms", {}), content.get("send", {})
    _check_names(path, "alarms.", rules, (*_BELOW, *_ABOVE, *_EVENTS))
    _check_names(path, "send.", send, _SENDING)
    thresholds = {
        name: _number(path, f"alarms.{name}", value)
        for name, value in rules.items()
        if name not in _EVENTS
    }
    for name in rules.keys() & _EVENTS.keys():
        if not isinstance(rules[name], bool):
            raise ValueError(f"{path}: alarms.{name} is {rules[name]!r}: write true or false")
    return AlarmRules(
        thresholds=thresholds,
        events=frozenset(name for name in _EVENTS if rules.get(name)),
        webhook=_webhook(path, send.get("webhook", "")),
        command=_command(path, send.get("command", [])),
        every=_number(path, "send.every", send.get("every", 600.0)),
        timeout=_seconds(path, "send.timeout", send.get("timeout", 10.0)),
    )


def _check_names(path: Path, prefix: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    for name in table:
        if name not in known:
            raise ValueError(
                f"{path}: {prefix}{name} is not a setting: choose from {', '.join(known)}"
            )


def _number(path: Path, name: str, value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value < 0:
        raise ValueError(f"{path}: {name} is {value!r}: write a number of at least 0")
    return float(value)


def _seconds(path: Path, name: str, value: Any) -> float:
    if not _number(path, name, value):
        raise ValueError(f"{path}: {name} is {value!r}: write a number of seconds above 0")
    return float(value)


def _webhook(path: Path, value: Any) -> str:
    if value != "" and not (isinstance(value, str) and _is_address(value)):
        raise ValueError(
            f"{path}: send.webhook is {value!r}: write a URL such as http://127.0.0.1:9000/alarm, "
            "which begins with http:// or https://"
        )
    return str(value)


def _is_address(text: str) -> bool:
    """Whether a URL is one that can be posted to, before there is an alarm to post."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is no number, or a bracket is not closed
        return False
    return bool(known) and not any(c <= " " or c == "\x7f" for c in text)


def _command(path: Path, value: Any) -> tuple[str, ...]:
    if not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        raise ValueError(
            f"{path}: send.command is {value!r}: write a list of the program and its arguments"
        )
    return tuple(value)


class Alarms:
    """Rules applied to a stream: which alarms are due, at most one of a rule in some seconds.

    A figure raises an alarm when it crosses its threshold, and again only after it has been on the
    good side. The recall of a class counts after 50 of its rows; other figures count as they are
    given, so give those over a window once it is full, see `RecentWindow.full`.

    Parameters
    ----------
    rules : AlarmRules
        The rules.

    Attributes
    ----------
    held_back : int
        Alarms that were not given at once because another one of their rule was given shortly
        before; `overdue` gives the newest of them later.
    counts : dict of str to int
        Alarms given, by rule.

    Examples
    --------
    >>> alarms = Alarms(AlarmRules({"accuracy": 0.8}, every=60))
    >>> [alarm.text for alarm in alarms.of_figures(2000, {"recent_accuracy": 0.7}, 0.0)]
    ['accuracy is 0.7, below 0.8']
    >>> alarms.of_figures(2001, {"recent_accuracy": 0.7}, 90.0)
    []
    """

    def __init__(self, rules: AlarmRules) -> None:
        self.rules = rules
        self.held_back = 0
        self.counts: dict[str, int] = {}
        self._raised: set[tuple[str, str]] = set()
        self._last: dict[str, float] = {}
        self._waiting: dict[str, tuple[Alarm, int]] = {}

    def of_events(self, events: Iterable[Mapping[str, Any]], now: float) -> list[Alarm]:
        """Return the alarms of some events at a time in seconds."""
        found = []
        for event in events:
            name = _RULES.get(event["event"])
            if name in self.rules.events:
                subject = str(event.get("label", event.get("column", "")))
                text = f"{event['event']}: {subject}" if subject else event["event"]
                found.append(Alarm(name, event["row"], subject, None, None, text))
        return self._due(found, now)

    def of_figures(
        self,
        row: int,
        figures: Mapping[str, float],
        now: float,
        recall: Mapping[Any, Mapping[str, float]] | None = None,
    ) -> list[Alarm]:
        """Return the alarms of figures that have crossed their thresholds.

        Parameters
        ----------
        row : int
            Rows that the model has learnt.
        figures : mapping of str to float
            Figures by name; an absent one or NaN raises nothing.
        now : float
            Time in seconds.
        recall : mapping or None, default=None
            Result of `StreamWatch.recall_by_class`.
        """
        found = []
        for name, threshold in self.rules.thresholds.items():
            if name == "recall":
                for label, each in (recall or {}).items():
                    if each["rows"] >= _LEAST_ROWS:
                        found += self._crossed(name, str(label), row, each["recent"], threshold)
                continue
            value = figures.get(_BELOW.get(name) or _ABOVE[name], math.nan)
            found += self._crossed(name, "", row, value, threshold)
        return self._due(found, now)

    def _crossed(
        self, name: str, subject: str, row: int, value: float, threshold: float
    ) -> list[Alarm]:
        key = name, subject
        bad = value < threshold if name in _BELOW else value > threshold
        if not bad:
            if not math.isnan(value):
                self._raised.discard(key)
            return []
        if key in self._raised:
            return []
        self._raised.add(key)
        side = "below" if name in _BELOW else "above"
        what = f"{name} of {subject}" if subject else name
        text = f"{what} is {value:.3g}, {side} {threshold:g}"
        return [Alarm(name, row, subject, value, threshold, text)]

    def overdue(self, now: float) -> list[Alarm]:
        """Return the newest alarm of each rule that was held back and may be given by now."""
        given = []
        for name, (alarm, count) in list(self._waiting.items()):
            if now - self._last[name] >= self.rules.every:
                del self._waiting[name]
                more = f" (and {count - 1} more since the last alarm)" if count > 1 else ""
                given.append(self._give(alarm._replace(text=alarm.text + more), now))
        return given

    def _due(self, found: Iterable[Alarm], now: float) -> list[Alarm]:
        given = self.overdue(now)
        for alarm in found:
            last = self._last.get(alarm.name)
            if last is not None and now - last < self.rules.every:
                self.held_back += 1
                self._waiting[alarm.name] = alarm, self._waiting.get(alarm.name, (None, 0))[1] + 1
            else:
                given.append(self._give(alarm, now))
        return given

    def _give(self, alarm: Alarm, now: float) -> Alarm:
        self._last[alarm.name] = now
        self.counts[alarm.name] = self.counts.get(alarm.name, 0) + 1
        return alarm
