"""Ctrl-C and SIGTERM as a request to stop, handled between two chunks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Stop", "stopping"]


class Stop:
    """Whether the user has asked the command to stop.

    Attributes
    ----------
    wanted : bool
        True after Ctrl-C or SIGTERM.
    """

    def __init__(self) -> None:
        self.wanted = False

    def ask(self, number: int, frame: Any) -> None:
        """Record the first signal; raise `KeyboardInterrupt` at the second."""
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True


@contextmanager
def stopping(active: bool = True) -> Iterator[Stop]:
    """Record stop signals inside the block instead of interrupting it.

    Parameters
    ----------
    active : bool, default=True
        False keeps the default handling of signals.

    Yields
    ------
    Stop
        The block should check ``wanted`` from time to time.
    """
    stop = Stop()
    # Only the main thread may set signal handlers.
    if not active or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
