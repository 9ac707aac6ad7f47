"""`Presence`: which classes or columns are new, and which are silent for long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Presence"]

_ENOUGH = 20
"""Rows of a name before its silence is noticed: its mean gap is then known to about a quarter."""


class Presence:
    """First and last rows of names, to notice new names and silent ones.

    A name is silent once ``gaps`` times its mean gap has passed since its last row. If its rows
    come at random, a gap is that long with probability exp(-gaps).

    Parameters
    ----------
    gaps : float, default=20.0
        Mean gaps without a row after which a name is silent.
    least : int, default=1000
        Rows below which a gap is never a silence, for names that come in bursts.
    most : int, default=10_000
        Names to keep; later ones are reported each time as new and not followed.
    state : list or None, default=None
        Result of `state` earlier.

    Examples
    --------
    >>> presence = Presence(gaps=5, least=1)
    >>> presence.see("web", 1), presence.see("web", 2)
    ('new', None)
    >>> for row in range(3, 41):
    ...     _ = presence.see("web", row)
    >>> presence.silent(45), presence.silent(46), presence.silent(47)
    ([], ['web'], [])
    >>> presence.see("web", 50)
    'back'
    """

    def __init__(
        self,
        gaps: float = 20.0,
        least: int = 1000,
        most: int = 10_000,
        state: Iterable[Any] | None = None,
    ) -> None:
        self.gaps = gaps
        self.least = least
        self._most = most
        # count, first row, last row, whether it is silent
        self._seen: dict[Any, list[Any]] = {}
        for name, count, first, last, silent in state or ():
            self._seen[name] = [int(count), int(first), int(last), bool(silent)]

    def know(self, names: Iterable[Any]) -> None:
        """Add names that are known before their first row, and so are not new."""
        for name in names:
            self._seen.setdefault(name, [0, 0, 0, False])

    def see(self, name: Any, row: int) -> str | None:
        """Count a row of a name; return ``"new"``, ``"back"`` or None."""
        entry = self._seen.get(name)
        if entry is None:
            if len(self._seen) < self._most:
                self._seen[name] = [1, row, row, False]
            return "new"
        if not entry[0]:
            entry[1] = row
        entry[0] += 1
        entry[2] = row
        if entry[3]:
            entry[3] = False
            return "back"
        return None

    def silent(self, row: int) -> list[Any]:
        """Return the names that have become silent since the last call."""
        found = []
        for name, entry in self._seen.items():
            count, first, last, silent = entry
            if silent or count < _ENOUGH:
                continue
            gap = row - last
            if gap >= self.least and gap * (count - 1) > self.gaps * (last - first):
                entry[3] = True
                found.append(name)
        return found

    def names_silent(self) -> list[Any]:
        """Return the names that are silent now."""
        return [name for name, entry in self._seen.items() if entry[3]]

    def state(self) -> list[list[Any]]:
        """Return everything as plain values."""
        return [[name, *entry] for name, entry in self._seen.items()]
