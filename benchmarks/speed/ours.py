"""Our trees, by every way in which rows reach them."""

from __future__ import annotations

import threading

import numpy as np

import mist
from mist import MistClassifier

from .clock import Outcome, Timer, in_calls, one_by_one, share

MODELS = {
    "MIST-G": lambda options: MistClassifier.paper("G", **options),
    "MIST-K": lambda options: MistClassifier.paper("K", **options),
    "MIST": lambda options: MistClassifier(**options),
}
LONG = 0.5
"""CPU seconds for which a batch is predicted."""


def missing():
    return None


def versions():
    return {"mist": mist.__version__, "numpy": np.__version__}


def prequential(make, task, stream):
    model = make()
    with Timer() as timer:
        answers = model.prequential(stream.X, stream.y)
    held_out = share(model.predict(stream.X_test), stream.y_test) if task.judge else None
    return Outcome(
        *(len(stream.y), timer, model.nbytes, share(answers, stream.y), held_out),
        leaves=model.n_leaves_,
    )


def learning(size):
    """partial_fit in calls of so many rows."""

    def run(make, task, stream):
        model, n = make(), len(stream.y)
        done, timer = in_calls(learner(model, stream), n, size, task.seconds)
        return Outcome(done, timer, model.nbytes, cut=done < n)

    return run


def learner(model, stream):
    def step(first, last):
        model.partial_fit(stream.X[first:last], stream.y[first:last])

    return step


def by_row(rows_of):
    """predict_one, then learn_one."""

    def run(make, task, stream):
        model, rows, labels = make(), rows_of(stream.X), stream.y.tolist()
        done, hits, timer = one_by_one(
            *(model.predict_one, model.learn_one, rows, labels, task.seconds)
        )
        return Outcome(done, timer, model.nbytes, hits / done, cut=done < len(labels))

    return run


def dicts(X):
    """Rows as river takes them."""
    return [dict(enumerate(x)) for x in X.tolist()]


def predicting(n_threads):
    """One model, the rows of the stream as a batch, a part of it in each thread.

    Answered again and again, for one batch is over before a thread has started.
    """

    def run(make, task, stream):
        model = make().partial_fit(stream.X, stream.y)
        once = at_once([lambda: model.predict(stream.X)])
        calls = min(max(round(LONG / max(once.cpu, 1e-6)), 1), 1000)
        parts = np.array_split(stream.X, n_threads)
        timer = at_once([lambda part=part: answer(model, part, calls) for part in parts])
        return Outcome(calls * len(stream.X), timer)

    return run


def answer(model, X, calls):
    for _ in range(calls):
        model.predict(X)


def learning_apart(n_threads):
    """A model in each thread, each learns the whole stream in one call."""

    def run(make, task, stream):
        models = [make() for _ in range(n_threads)]
        timer = at_once([lambda m=m: m.partial_fit(stream.X, stream.y) for m in models])
        return Outcome(n_threads * len(stream.y), timer)

    return run


def at_once(jobs):
    """Each job in a thread of its own; one job in this one."""
    threads = [threading.Thread(target=job) for job in jobs[1:]]
    with Timer() as timer:
        for thread in threads:
            thread.start()
        jobs[0]()
        for thread in threads:
            thread.join()
    return timer


PATHS = {
    "prequential": prequential,
    "partial_fit, calls of 1": learning(1),
    "partial_fit, calls of 100": learning(100),
    "partial_fit, calls of 10,000": learning(10_000),
    "one by one, arrays": by_row(list),
    "one by one, dicts": by_row(dicts),
    "predict": predicting(1),
    "predict, 2 threads": predicting(2),
    "partial_fit, 1 model": learning_apart(1),
    "partial_fit, 2 models in 2 threads": learning_apart(2),
}
METHODS = {name: tuple(PATHS) for name in MODELS}


def warm(task, stream):
    """Everything the method calls gets compiled: whole for what splits, briefly for the rest."""
    if task.path == "prequential":
        run(task, stream)
    else:
        few = slice(0, min(len(stream.y), 600))
        run(task, stream._replace(X=stream.X[few], y=stream.y[few]))


def run(task, stream):
    return PATHS[task.path](lambda: MODELS[task.method](task.options), task, stream)
