"""What is measured of a run, and the loops that stop when its time is over."""

from __future__ import annotations

import gc
import time
from typing import Any, NamedTuple

import numpy as np

from .streams import Shape

CHECKED = 50
"""Rows between two looks at the clock."""


class Task(NamedTuple):
    """One measurement that is to be made."""

    library: str
    method: str
    path: str
    shape: Shape
    seconds: float  # CPU time after which a run that can be cut is cut
    judge: bool = True  # held-out accuracy and bytes too, which take time
    options: dict[str, Any] = {}  # noqa: RUF012 - parameters of our classifier, never written to


class Timer:
    """CPU seconds of the process (all its threads) and wall seconds of a block."""

    cpu = wall = 0.0

    def __enter__(self):
        # What rivals made beforehand is no garbage, and looking through it is not their work.
        gc.collect()
        gc.freeze()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.cpu, self.wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        gc.unfreeze()

    def over(self, seconds):
        """Whether so many CPU seconds are gone."""
        return time.process_time() - self._cpu > seconds


class Outcome:
    """Figures of one run."""

    def __init__(
        self, rows, timer, nbytes=None, accuracy=None, held_out=None, *, cut=False, leaves=None
    ):
        self.rows, self.cpu, self.wall = int(rows), timer.cpu, timer.wall
        self.bytes = None if nbytes is None else int(nbytes)
        self.accuracy, self.held_out = accuracy, held_out
        self.leaves, self.cut = leaves, bool(cut)


def share(answers, labels):
    """Share of right answers."""
    return float(np.mean(np.asarray(answers) == labels))


def one_by_one(predict, learn, rows, labels, seconds):
    """Predict, then learn, row by row: rows done, hits and the timer."""
    n, done, hits = len(rows), 0, 0
    with Timer() as timer:
        while done < n and not timer.over(seconds):
            stop = min(done + CHECKED, n)
            while done < stop:
                x, y = rows[done], labels[done]
                hits += predict(x) == y
                learn(x, y)
                done += 1
    return done, hits, timer


def in_calls(step, n, size, seconds):
    """Call step(first, last) on slices of so many rows: rows done and the timer."""
    done, looked = 0, max(CHECKED, size)
    with Timer() as timer:
        while done < n and not timer.over(seconds):
            stop = min(done + looked, n)
            while done < stop:
                last = min(done + size, n)
                step(done, last)
                done = last
    return done, timer


def in_growing_calls(step, n, seconds):
    """The same with slices that double as long as they are quick."""
    done, size, quick = 0, CHECKED, True
    with Timer() as timer:
        while done < n and not timer.over(seconds):
            before = time.process_time()
            last = min(done + size, n)
            step(done, last)
            done = last
            quick = time.process_time() - before < 0.01 * seconds
            size = 2 * size if quick else size
    return done, timer
