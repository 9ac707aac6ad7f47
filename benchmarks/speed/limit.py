"""The limit kernel as a method that is measured."""

from __future__ import annotations

import numba
import numpy as np

from .clock import Outcome, Timer, share
from .kernel import MERGE, SORT, answer, nothing, test_then_train
from .threads import predict_in_parts

PREDICTING = {"predict": 1, "predict, 2 threads": 2}
METHODS = {"limit kernel": ("prequential", *PREDICTING)}


def missing():
    return None


def versions():
    return {"numba": numba.__version__}


def warm(task, stream):
    run(task, stream)


def run(task, stream):
    n, d = stream.X.shape
    own = nothing(int(stream.y.max()) + 1, d, n)
    out = np.empty(n, dtype=np.int64)
    with Timer() as timer:
        test_then_train(own, stream.X, stream.y, out, SORT, MERGE)
    accuracy = share(out, stream.y)
    if task.path in PREDICTING:
        return predict_in_parts(lambda X: answers(own, X), stream.X, PREDICTING[task.path])
    held_out = None
    if task.judge:
        held_out = share(answers(own, stream.X_test), stream.y_test)
    return Outcome(n, timer, own.nbytes, accuracy, held_out)


def answers(own, X):
    out = np.empty(len(X), dtype=np.int64)
    answer(own, X, out)
    return out
