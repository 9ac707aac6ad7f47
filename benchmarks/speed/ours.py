"""Our trees, by every way in which rows reach them."""

from __future__ import annotations

import numpy as np

import mist
from mist import MistClassifier

from .clock import Outcome, Timer, in_calls, one_by_one, share
from .threads import at_once, predict_in_parts

MODELS = {
    "MIST-G": lambda options: MistClassifier.paper("G", **options),
    "MIST-K": lambda options: MistClassifier.paper("K", **options),
    "MIST": lambda options: MistClassifier.from_settings(**options),
}


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
    """One model, the rows of the stream as a batch."""

    def run(make, task, stream):
        model = make().partial_fit(stream.X, stream.y)
        return predict_in_parts(model.predict, stream.X, n_threads)

    return run


def learning_apart(n_threads):
    """A model in each thread, each learns the whole stream in one call."""

    def run(make, task, stream):
        models = [make() for _ in range(n_threads)]
        timer = at_once([lambda m=m: m.partial_fit(stream.X, stream.y) for m in models])
        return Outcome(n_threads * len(stream.y), timer)

    return run


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
