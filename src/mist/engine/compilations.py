"""Compilations: when Numba compiles a function instead of reading it from the disk.

Each is logged by the logger "mist" at level INFO.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from numba.core.event import Listener, install_listener, register

__all__ = ["log_compilations", "watching"]

_KIND = "numba:compile"
_PACKAGE = "mist"
_LOG = logging.getLogger(_PACKAGE)


class _Watch(Listener):
    """Reports compilations of this package; functions that are compiled within others are not."""

    def __init__(self, begun: Callable[[str], None], done: Callable[[str, float], None]) -> None:
        self._begun, self._done = begun, done
        self._depth, self._start = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Note the begin of a compilation."""
        self._depth += 1
        if self._depth == 1:
            self._start = perf_counter()
            if name := _own_name(event):
                self._begun(name)

    def on_end(self, event: Any) -> None:
        """Note the end of a compilation."""
        self._depth -= 1
        if self._depth == 0 and (name := _own_name(event)):
            self._done(name, perf_counter() - self._start)


def _own_name(event: Any) -> str:
    """Name of the compiled function if it is one of this package, else an empty text."""
    function = event.data["dispatcher"].py_func
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
    with install_listener(_KIND, _Watch(begun, done)):
        yield


def log_compilations() -> None:
    """Log each compilation from now on: when it begins, and how long it took."""
    register(
        _KIND,
        _Watch(
            lambda name: _LOG.info("compiling %s; later starts read it from the disk", name),
            lambda name, seconds: _LOG.info("compiled %s in %.1f s", name, seconds),
        ),
    )
