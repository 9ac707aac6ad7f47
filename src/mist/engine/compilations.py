"""Compilations: when Numba compiles a function instead of reading it from the disk.

Each is logged by the logger "mist" at level INFO. Without Numba's internals none is reported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any

from mist.engine.numba_access import internals

__all__ = ["log_compilations", "watching"]

_PACKAGE = "mist"
_LOG = logging.getLogger(_PACKAGE)


class _Watch:
    """Reports compilations of this package; functions that are compiled within others are not."""

    def __init__(self, begun: Callable[[str], None], done: Callable[[str, float], None]) -> None:
        self._begun, self._done = begun, done
        self._depth, self._start = 0, 0.0

    def start(self, function: Any) -> None:
        """Note the begin of the compilation of a function."""
        self._depth += 1
        if self._depth == 1:
            self._start = perf_counter()
            if name := _own_name(function):
                self._begun(name)

    def end(self, function: Any) -> None:
        """Note its end."""
        self._depth -= 1
        if self._depth == 0 and (name := _own_name(function)):
            self._done(name, perf_counter() - self._start)


def _own_name(function: Any) -> str:
    """Name of a function if it is one of this package, else an empty text."""
    module = function.__module__
    own = module.partition(".")[0].partition("_")[0] == _PACKAGE
    return f"{module}.{function.__qualname__}" if own else ""


@contextmanager
def watching(begun: Callable[[str], None], done: Callable[[str, float], None]) -> Iterator[None]:
    """Watch what is compiled in the block.

    Parameters
    ----------
    begun : callable
        Called with the name of each function before it is compiled.
    done : callable
        Called with its name, and the seconds that it took.
    """
    watch = _Watch(begun, done)
    with internals.listening(watch.start, watch.end) if internals else nullcontext():
        yield


def log_compilations() -> None:
    """Log each compilation from now on: when it begins, and how long it took."""
    if internals is None:
        return
    watch = _Watch(
        lambda name: _LOG.info("compiling %s; later starts read it from the disk", name),
        lambda name, seconds: _LOG.info("compiled %s in %.1f s", name, seconds),
    )
    internals.listen(watch.start, watch.end)
