"""``mist watch``: the events and figures of a server, drawn in a terminal."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table

from mist.commands.screen import Screen
from mist.streaming.curve import Curves
from mist.texts import printable

__all__ = ["EventFile", "drawn", "sparkline", "watch"]

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_MOST_EVENTS = 15
_PAUSE = 2.0
_CURVES = {
    "accuracy": ("accuracy", 1.0),
    "log_loss": ("log loss", None),
    "calibration_error": ("calibration error", None),
    "novel": ("novel rows", None),
}


class EventFile:
    """A file of events that may still grow, read in bounded memory.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    counts : Counter
        Events by kind.
    last : deque of dict
        The last events.
    row : int
        Row of the newest event.
    newest : dict of str to float
        The newest figures.
    """

    def __init__(self, path: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.last: deque[dict[str, Any]] = deque(maxlen=_MOST_EVENTS)
        self.row = 0
        self.newest: dict[str, float] = {}
        self._curves = {name: Curves([name], each=1, most=4 * _WIDTH) for name in _CURVES}
        self._path = path
        self._read = 0

    def update(self) -> None:
        """Read the lines that were added.

        Raises
        ------
        ValueError
            If a line is not an event; the message names the file and the line.
        """
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):  # it is still being written
                    break
                self._read += len(line)
                self._add(line)

    def _add(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, self.row = str(event["event"]), int(event["row"])
        except (LookupError, TypeError, ValueError):
            raise ValueError(
                f"{self._path} is not a file of mist serve --events: it has the line "
                f"{line[:60].decode('utf-8', 'replace')!r}"
            ) from None
        if kind != "figures":
            self.counts[kind] += 1
            self.last.append(event)
            return
        for name, curve in self._curves.items():
            if isinstance(event.get(name), float):
                self.newest[name] = event[name]
                curve.add([event[name]])

    def curve(self, name: str) -> list[float]:
        """Return a figure over the stream, the oldest first: means of equally many events each."""
        return [value for _, value in self._curves[name].points(name)]


def sparkline(values: Sequence[float], top: float | None = None, width: int = _WIDTH) -> str:
    """Return values as a line of bars, from 0 to the top.

    Parameters
    ----------
    values : sequence of float
        The values; neighbours are averaged if there are more than the width.
    top : float or None
        Value of the highest bar; None for the largest value.
    width : int
        Most characters.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    if not values:
        return ""
    n = min(width, len(values))
    edges = [len(values) * place // n for place in range(n + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    high = top or max(means) or 1.0
    steps = len(_BARS) - 1
    return "".join(_BARS[min(steps, max(0, round(steps * value / high)))] for value in means)


def drawn(events: EventFile) -> RenderableType:
    """Return figures, counts and last events as tables."""
    figures = Table(title=f"Figures until row {events.row:,}", title_justify="left", box=None)
    for name in ("figure", "over the stream", "newest"):
        figures.add_column(name)
    for name, (title, top) in _CURVES.items():
        values = events.curve(name)
        if values:
            figures.add_row(title, sparkline(values, top), f"{events.newest[name]:.3f}")
    counts = ", ".join(f"{kind} {count:,}" for kind, count in events.counts.most_common())
    last = Table(title="Events, the newest first", title_justify="left", box=None)
    last.add_column("row", justify="right")
    last.add_column("event")
    last.add_column("class or column")
    for event in reversed(events.last):
        last.add_row(f"{event['row']:,}", printable(event["event"]), _subject(event))
    return Group(figures, "", printable(counts), "", last)


def _subject(event: Mapping[str, Any]) -> str:
    return printable(event.get("label", event.get("column", "")))


def watch(path: Path, *, follow: bool = False) -> None:
    """Draw a file of events.

    Parameters
    ----------
    path : Path
        The file.
    follow : bool, default=False
        Whether to draw it again as it grows, until Ctrl-C.

    Raises
    ------
    ValueError
        If it is not a file of events.
    OSError
        If it cannot be read.
    """
    events, screen = EventFile(path), Screen()
    events.update()
    if not follow:
        screen.print(drawn(events))
        return
    with Live(drawn(events), console=screen, auto_refresh=False, screen=True) as live:
        while True:
            sleep(_PAUSE)
            events.update()
            live.update(drawn(events), refresh=True)
