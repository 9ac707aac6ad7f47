"""The same work in several Python threads, to see whether it lets go of the interpreter's lock."""

from __future__ import annotations

import threading

import numpy as np

from .clock import Outcome, Timer

LONG = 0.5
"""CPU seconds for which a batch is predicted: one is over before a thread has started."""


def at_once(jobs):
    """Each job in a thread of its own, the first in this one."""
    threads = [threading.Thread(target=job) for job in jobs[1:]]
    with Timer() as timer:
        for thread in threads:
            thread.start()
        jobs[0]()
        for thread in threads:
            thread.join()
    return timer


def predict_in_parts(predict, X, n_threads):
    """Predict a batch again and again, a part of it in each thread."""
    once = at_once([lambda: predict(X)])
    calls = min(max(round(LONG / max(once.cpu, 1e-6)), 1), 1000)

    def job(part):
        for _ in range(calls):
            predict(part)

    parts = np.array_split(X, n_threads)
    return Outcome(calls * len(X), at_once([lambda part=part: job(part) for part in parts]))
