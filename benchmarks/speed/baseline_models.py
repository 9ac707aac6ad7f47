"""The baselines of this package, test-then-train."""

from __future__ import annotations

from mist_bench.methods import METHODS as ALL
from mist_bench.methods import make

from .clock import Outcome, in_growing_calls, share

NAMES = {
    f"baseline {name}": name for name, method in ALL.items() if method.group in ("tree", "other")
}
METHODS = {name: ("prequential",) for name in NAMES}
WARM_ROWS = 100


def missing():
    return None


def versions():
    return {}


def warm(task, stream):
    name = NAMES[task.method]
    # Our own engine compiles what splits need at the first split; the others have one loop.
    few = slice(None if ALL[name].made_by is None else WARM_ROWS)
    make(name, seed=1).prequential(stream.X[few], stream.y[few])


def run(task, stream):
    model, n = make(NAMES[task.method], seed=1), len(stream.y)
    hits = []

    def step(first, last):
        answers = model.prequential(stream.X[first:last], stream.y[first:last])
        hits.extend(answers == stream.y[first:last])

    done, timer = in_growing_calls(step, n, task.seconds)
    held_out = None
    if task.judge and done == n:
        held_out = share(model.predict(stream.X_test), stream.y_test)
    return Outcome(
        *(done, timer, model.nbytes if task.judge else None, share(hits, True), held_out),
        cut=done < n,
    )
