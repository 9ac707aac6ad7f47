"""A process for each library, so that none runs beside another's threads or rubbish."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module

from .streams import latest

LIBRARIES = {
    "limit": "limit",
    "mist": "ours",
    "river": "river_models",
    "CapyMOA": "capymoa_models",
    "scikit-learn": "sklearn_models",
    "baselines": "baseline_models",
}
"""Modules with METHODS (paths of each), missing(), versions(), warm(task, stream) and
run(task, stream)."""


def library(name):
    return import_module(f".{LIBRARIES[name]}", __package__)


def _warm(task):
    return library(task.library).warm(task, latest(task.shape))


def _run(task):
    return library(task.library).run(task, latest(task.shape))


def _versions(name):
    return library(name).versions()


class Workers:
    """The processes; each starts at its first task."""

    def __init__(self):
        self._pools = {}

    def call(self, name, function, argument):
        """What a function returns in the process of a library."""
        if name not in self._pools:
            context = multiprocessing.get_context("spawn")
            self._pools[name] = ProcessPoolExecutor(1, mp_context=context)
        return self._pools[name].submit(function, argument).result()

    def warm(self, task):
        """Make a task ready: its outcome if that is worth telling, else None."""
        return self.call(task.library, _warm, task)

    def run(self, task):
        """The outcome of a task."""
        return self.call(task.library, _run, task)

    def versions(self, name):
        """Versions of what the library consists of."""
        return self.call(name, _versions, name)

    def stop(self):
        for pool in self._pools.values():
            pool.shutdown()


@contextmanager
def workers() -> Iterator[Workers]:
    own = Workers()
    try:
        yield own
    finally:
        own.stop()
