"""Ctrl-C and SIGTERM as a wish that is looked at between two chunks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Stop", "stopping"]


class Stop:
    """Whether the user wants the command to end.

    Attributes
    ----------
    wanted : bool
        True after Ctrl-C or SIGTERM.
    """

    def __init__(self) -> None:
        self.wanted = False

    def ask(self, number: int, frame: Any) -> None:
        """Take the first signal as a wish, a second one as an order."""
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True


@contextmanager
def stopping(active: bool = True) -> Iterator[Stop]:
    """Take signals as a wish inside the block, so that nothing is cut off in its middle.

    Parameters
    ----------
    active : bool, default=True
        False to leave the signals as they are.

    Yields
    ------
    Stop
        To be looked at now and then.
    """
    stop = Stop()
    # Only the main thread may say what signals do.
    if not active or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
