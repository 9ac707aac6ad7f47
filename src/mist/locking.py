"""Read-write lock of a model, and a block that Ctrl-C cannot interrupt."""

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

__all__ = ["WRITER", "Lockable", "ReadWriteLock", "uninterrupted"]

_T = TypeVar("_T")

WRITER = 0
"""Index of the writer in `ReadWriteLock.flags`; each entry after it belongs to one lock."""

_NOT_KEPT = ("_checked_options", "_fast_path", "_following_path")
"""Attributes of estimators that are not copied, pickled or saved."""

_PAUSE = 0.001
"""Seconds that a repeated writer waits, so that waiting readers get a turn."""


class ReadWriteLock:
    """Read-write lock: one thread writes a model, or several threads read it.

    A reader holds one of eight locks, its own if there are no more threads than locks; a writer
    holds all of them. They are interpreter locks held by ``with``, so a signal at any point leaves
    none of them locked.

    Attributes
    ----------
    flags : ndarray of int64
        Not 0 while a thread writes (`WRITER`) or reads the model. Compiled code that holds the GIL
        reads the flags, so the fast path for single rows takes no lock. An interrupted thread may
        leave a flag set; the next writer clears all flags.
    """

    def __init__(self) -> None:
        self._locks = tuple(threading.RLock() for _ in range(8))
        self._asked = False
        self.flags = np.zeros(1 + len(self._locks), np.int64)

    def write(self, task: Callable[[], _T]) -> _T:
        """Run a task that writes the model, while no other thread reads or writes it."""
        if self._asked:
            # Locks are not fair: a thread that takes them again at once always gets them first.
            self._asked = False
            sleep(_PAUSE)
        a, b, c, d, e, f, g, h = self._locks
        with a, b, c, d, e, f, g, h:
            self.flags[WRITER] = 1
            try:
                return task()
            finally:
                self.flags[:] = 0

    def read(self, task: Callable[[], _T]) -> _T:
        """Run a task that reads the model, while no other thread writes it."""
        number = _number_of_thread() % len(self._locks)
        if self.flags[WRITER]:
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
    """Return the number of this thread, from 0 in the order of first calls."""
    try:
        number: int = _THIS.number
    except AttributeError:
        number = _THIS.number = next(_NUMBERS)
    return number


_MAKING = threading.Lock()


class Lockable:
    """An estimator with its own read-write lock, which is not copied, pickled or saved."""

    # A slot: the other attributes are the content of a model, which is copied and saved.
    __slots__ = ("_own_lock",)
    _own_lock: ReadWriteLock

    @property
    def _lock(self) -> ReadWriteLock:
        try:
            lock = self._own_lock
        except AttributeError:
            with _MAKING:
                lock = getattr(self, "_own_lock", None) or ReadWriteLock()
                object.__setattr__(self, "_own_lock", lock)
        return lock

    @_lock.setter
    def _lock(self, lock: ReadWriteLock) -> None:
        object.__setattr__(self, "_own_lock", lock)

    def _kept(self) -> dict[str, Any]:
        """Return the attributes that are pickled and saved, without a copy."""
        return {name: value for name, value in vars(self).items() if name not in _NOT_KEPT}

    def _check_loaded(self) -> None:
        """Refuse a model read from a file that is not valid, by a `ValueError` that says why."""

    def __copy__(self) -> Self:
        # A copy that shared the learnt state would change what the other model predicts.
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())  # type: ignore[attr-defined]
        return made

    def __getstate__(self) -> dict[str, Any]:
        # A deep copy, as pickling happens after the lock is released.
        return self._lock.read(lambda: deepcopy(self._kept()))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay the `KeyboardInterrupt` of Ctrl-C until the block is done.

    Does nothing outside the main thread, or if the user has installed another handler.
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
