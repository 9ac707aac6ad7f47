"""One thread changes a model, or several read it; and nothing is broken off in the midst."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import count
from time import sleep
from typing import Any, Self, TypeVar

import numpy as np

__all__ = ["ALONE", "Gate", "Gated", "uninterrupted"]

_T = TypeVar("_T")

ALONE = 0
"""Place in `Gate.flags` of the one who changes the model; behind it, one for each lock."""

_PAUSE = 0.001
"""Seconds that who changes a model again and again leaves to those who asked to read it."""


class Gate:
    """Lets one thread change a model, or several read it.

    A reader holds one of a few locks, its own if there are no more threads than locks; who changes
    the model holds all. They are locks of the interpreter, held by ``with``: no signal, wherever it
    strikes, leaves one closed.

    Attributes
    ----------
    flags : ndarray of int64
        Not 0 while somebody changes the model (`ALONE`) or reads it. Compiled code that keeps
        Python's lock looks here, so that a single row takes no lock at all. Who is broken off
        may leave one set; whoever changes the model next clears them.
    """

    def __init__(self) -> None:
        self._locks = tuple(threading.RLock() for _ in range(8))
        self._asked = False
        self.flags = np.zeros(1 + len(self._locks), np.int64)

    def alone(self, task: Callable[[], _T]) -> _T:
        """Do what changes the model, while nobody else reads or changes it."""
        if self._asked:
            # Locks are not handed on in turn: who takes them again at once is always the first.
            self._asked = False
            sleep(_PAUSE)
        a, b, c, d, e, f, g, h = self._locks
        with a, b, c, d, e, f, g, h:
            self.flags[ALONE] = 1
            try:
                return task()
            finally:
                self.flags[:] = 0

    def shared(self, task: Callable[[], _T]) -> _T:
        """Do what reads the model, while nobody changes it."""
        number = _number_of_thread() % len(self._locks)
        if self.flags[ALONE]:
            self._asked = True
        with self._locks[number]:
            before = self.flags[1 + number]
            self.flags[1 + number] = 1
            try:
                return task()
            finally:
                self.flags[1 + number] = before


_THIS = threading.local()
_NUMBERS = count()


def _number_of_thread() -> int:
    """Threads counted from 0 in the order in which they come here."""
    try:
        number: int = _THIS.number
    except AttributeError:
        number = _THIS.number = next(_NUMBERS)
    return number


_MAKING = threading.Lock()


class Gated:
    """An estimator with a gate of its own, which goes into no copy, pickle or file."""

    # Not among the attributes: those are what a model is made of.
    __slots__ = ("_own_gate",)
    _own_gate: Gate

    @property
    def _gate(self) -> Gate:
        try:
            gate = self._own_gate
        except AttributeError:
            with _MAKING:
                gate = getattr(self, "_own_gate", None) or Gate()
                object.__setattr__(self, "_own_gate", gate)
        return gate

    @_gate.setter
    def _gate(self, gate: Gate) -> None:
        object.__setattr__(self, "_own_gate", gate)

    def _kept(self) -> dict[str, Any]:
        """The attributes that outlive this process, not copied."""
        return {name: value for name, value in vars(self).items() if name != "_single"}

    def _check_loaded(self) -> None:
        """Refuse a model read from a file that is not valid, by a `ValueError` that says why."""

    def __copy__(self) -> Self:
        # It shares what was learnt, so it shares the gate.
        made = type(self).__new__(type(self))
        made._gate = self._gate
        made.__setstate__(self._kept())  # type: ignore[attr-defined]
        return made

    def __getstate__(self) -> dict[str, Any]:
        # A copy: it is pickled when the gate is open again.
        return self._gate.shared(lambda: deepcopy(self._kept()))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C until the block is done, where it would raise `KeyboardInterrupt`.

    Only the main thread is interrupted, and handlers of the user's own are left alone.

    Yields
    ------
    None
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt
