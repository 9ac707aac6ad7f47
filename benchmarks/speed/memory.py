"""Bytes of our trees on two sets of the paper, at both precisions of the sketches."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mist.datasets import DatasetError, load
from mist.evaluation import ClassIncrementalStream
from mist_bench.methods import METHODS
from mist_bench.suites import SETTINGS
from mist_paper.values import read_paper

from .capymoa_models import hoeffding_tree_bytes
from .capymoa_models import missing as no_java
from .ours import MODELS

SHARES = {"covertype": 5, "mnist": 15}
"""Sets, and what part of the paper's bytes a tree may take: with float32 half of that again."""
PRECISIONS = {"float64": 1, "float32": 2}
SEED = 1
CAPYMOA = "CapyMOA HT"


class Case(NamedTuple):
    """What is measured: a method on a set, and the precision of its sketches."""

    name: str
    method: str
    precision: str | None  # None: it has no such sketches

    @property
    def most(self):
        """Bytes that it may take; None if nothing is asked of it."""
        if self.precision is None:
            return None
        return paper_bytes(self.name) / (SHARES[self.name] * PRECISIONS[self.precision])


CASES = [
    *[Case(name, method, p) for name in SHARES for method in MODELS for p in PRECISIONS],
    *[Case(name, CAPYMOA, None) for name in SHARES],
]


@lru_cache
def paper_bytes(name):
    """Bytes of the paper's MIST-G, which are those of its MIST-K too."""
    (cell,) = [
        cell
        for cell in read_paper()
        if (cell.table, cell.method, cell.dataset, cell.measure)
        == ("memory", "mist-g", name, "nbytes")
    ]
    return cell.mean


@lru_cache(maxsize=1)
def stream(name):
    """Training rows and labels in the paper's set-up, and the 0/1 columns."""
    setting = SETTINGS[name]
    data = load(setting.dataset, **setting.load_options(SEED, "paper"))
    options = setting.stream_options("paper", METHODS["mist-g"])
    tasks = ClassIncrementalStream(data.X, data.y, seed=SEED, **options)
    return tasks.X_train, tasks.y_train, np.flatnonzero(data.categorical).tolist()


def measure(case):
    """Bytes after the stream and number of leaves, or the reason why they are not known."""
    if case.method == CAPYMOA and no_java():
        return {"reason": no_java()}
    try:
        X, y, binary = stream(case.name)
    except DatasetError as error:
        return {"reason": str(error)}
    if case.method == CAPYMOA:
        return {"bytes": hoeffding_tree_bytes(X, np.unique(y, return_inverse=True)[1])}
    options = {"sketch_dtype": case.precision, "random_state": SEED}
    model = MODELS[case.method]({**options, "categorical_features": binary or None})
    model.partial_fit(X, y)
    return {"bytes": model.nbytes, "leaves": model.n_leaves_}


def measure_all(book, workers):
    """Every case once, rivals in their own process."""
    for case in CASES:
        library = "CapyMOA" if case.method == CAPYMOA else "mist"
        figures = workers.call(library, measure, case)
        book.add(
            "memory",
            **{"library": library, "method": case.method, "path": case.precision},
            **{"stream": case.name, **figures},
        )


def case_of(record):
    """The case that a record is of."""
    return Case(record["stream"], record["method"], record["path"])


def title(name):
    """What people call a set."""
    return SETTINGS[name].title
