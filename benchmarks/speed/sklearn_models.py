"""scikit-learn's Gaussian naive Bayes: each call predicts its rows, then learns them."""

from __future__ import annotations

import warnings

import numpy as np
import sklearn
from sklearn.naive_bayes import GaussianNB

from .clock import Outcome, in_calls, share

SIZES = {"calls of 1": 1, "calls of 1,000": 1000}
METHODS = {"scikit-learn GaussianNB": tuple(SIZES)}


def missing():
    return None


def versions():
    return {"scikit-learn": sklearn.__version__}


def warm(task, stream):
    pass


def run(task, stream):
    model, n = GaussianNB(), len(stream.y)
    classes = np.unique(stream.y)
    out = np.full(n, -1)

    def step(first, last):
        if first > 0:
            out[first:last] = model.predict(stream.X[first:last])
        model.partial_fit(stream.X[first:last], stream.y[first:last], classes)

    with warnings.catch_warnings():
        # It divides by the variance of classes that have not come yet.
        warnings.simplefilter("ignore", RuntimeWarning)
        done, timer = in_calls(step, n, SIZES[task.path], task.seconds)
        right = share(out[:done], stream.y[:done])
        held_out = None
        if task.judge and done == n:
            held_out = share(model.predict(stream.X_test), stream.y_test)
    nbytes = sum(v.nbytes for v in vars(model).values() if isinstance(v, np.ndarray))
    return Outcome(done, timer, nbytes, right, held_out, cut=done < n)
