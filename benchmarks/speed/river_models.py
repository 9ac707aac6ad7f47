"""river, a row at a time on dicts made beforehand."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

from .clock import Outcome, one_by_one, share
from .streams import latest

MODELS = {
    "river HT": ("tree", "HoeffdingTreeClassifier", {"leaf_prediction": "nba"}),
    "river EFDT": ("tree", "ExtremelyFastDecisionTreeClassifier", {"leaf_prediction": "nba"}),
    "river HAT": ("tree", "HoeffdingAdaptiveTreeClassifier", {"leaf_prediction": "nba", "seed": 1}),
    "river ARF": ("forest", "ARFClassifier", {"n_models": 10, "seed": 1}),
    "river GaussianNB": ("naive_bayes", "GaussianNB", {}),
}
METHODS = {name: ("one by one, dicts",) for name in MODELS}
JUDGED = 300
"""Held-out rows: a forest takes long over each."""


def missing():
    return None if find_spec("river") else "river is not installed: pip install 'mist-tree[bench]'"


def versions():
    return {"river": import_module("river").__version__}


@lru_cache(maxsize=1)
def _rows(shape):
    """The rows of a stream as dicts: made once, not for every run."""
    return [dict(enumerate(x)) for x in latest(shape).X.tolist()]


def warm(task, stream):
    _rows(task.shape)


def run(task, stream):
    module, name, options = MODELS[task.method]
    model = getattr(import_module(f"river.{module}"), name)(**options)
    rows, labels = _rows(task.shape), stream.y.tolist()
    done, hits, timer = one_by_one(model.predict_one, model.learn_one, rows, labels, task.seconds)
    nbytes = held_out = None
    if task.judge:
        nbytes = model._raw_memory_usage
    if task.judge and done == len(labels):
        few = [dict(enumerate(x)) for x in stream.X_test[:JUDGED].tolist()]
        held_out = share([model.predict_one(x) for x in few], stream.y_test[:JUDGED])
    leaves = getattr(model, "n_leaves", None)
    return Outcome(
        *(done, timer, nbytes, hits / done, held_out), cut=done < len(labels), leaves=leaves
    )
