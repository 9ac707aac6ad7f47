"""Ctrl-C while a model learns: it waits for what belongs together, and no row is learnt in part."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from material import EAGER, fingerprint
from mist import MistForest
from mist.baselines import NCM
from mist.engine import driver, growth
from mist.locking import uninterrupted
from published import paper_tree

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no process can be sent what Ctrl-C sends there"
)


@pytest.fixture(autouse=True)
def listening():
    """Ctrl-C is heard, as in a terminal: what runs in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


rng = np.random.default_rng(0)
Y = rng.integers(3, size=600)
X = rng.normal(2.0 * Y[:, None], 1.0, (600, 3))


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupting(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    """The same function, in whose midst Ctrl-C is pressed at a call of a number."""
    calls = 0

    def wrapped(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            interrupt()
        return function(*arguments, **options)

    return wrapped


@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize(
    ("module", "name"),
    [(growth, "attempt"), (growth, "split_leaf"), (driver, "_serve")],
    ids=["attempt", "split", "room"],
)
@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_a_tree_has_learnt_the_first_rows_of_the_call(monkeypatch, leaf, module, name, call):
    model = paper_tree(leaf, **EAGER).partial_fit(X[:5], Y[:5])
    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupting(getattr(module, name), call))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[5:], Y[5:])
    learnt = model.n_rows_
    assert 5 <= learnt < 600
    same = paper_tree(leaf, **EAGER).partial_fit(X[:learnt], Y[:learnt])
    # Where room was made for a row that did not come, only the room is another.
    if name == "_serve":
        same.partial_fit(X[learnt:], Y[learnt:])
        model.partial_fit(X[learnt:], Y[learnt:])
    assert fingerprint(model) == fingerprint(same)


def test_a_single_row_is_learnt_whole(monkeypatch):
    model, same = paper_tree(**EAGER), paper_tree(**EAGER)
    with monkeypatch.context() as patch:
        patch.setattr(growth, "split_leaf", interrupting(growth.split_leaf, 1))
        stopped = 0
        for x, y in zip(X, Y.tolist(), strict=True):
            try:
                model.learn_one(x, y)
            except KeyboardInterrupt:
                stopped += 1
    for x, y in zip(X, Y.tolist(), strict=True):
        same.learn_one(x, y)
    assert stopped == 1
    assert fingerprint(model) == fingerprint(same)


@pytest.mark.parametrize("learn", ["partial_fit", "prequential"])
def test_all_trees_of_a_forest_have_learnt_the_same_rows(monkeypatch, learn):
    def make() -> MistForest:
        tree = paper_tree(grace_period=20, split_test="schedule", rows_per_split=40)
        return MistForest(tree, 3).partial_fit(X[:5], Y[:5])

    model, same = make(), make()
    with monkeypatch.context() as patch:
        patch.setattr(growth, "split_leaf", interrupting(growth.split_leaf, 2))
        with pytest.raises(KeyboardInterrupt):
            getattr(model, learn)(X, Y)
    same.partial_fit(X, Y)
    assert model.n_rows_ == 605
    assert [fingerprint(t) for t in model.trees_] == [fingerprint(t) for t in same.trees_]
    assert model.predict_proba(X).tobytes() == same.predict_proba(X).tobytes()


def test_a_baseline_has_learnt_whole_batches(monkeypatch):
    rows, labels = np.tile(X, (4, 1)), np.tile(Y, 4)
    model = NCM().partial_fit(X[:5], Y[:5])
    with monkeypatch.context() as patch:
        patch.setattr(NCM, "_run", interrupting(NCM._run, 1))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(rows, labels)
    same = NCM().partial_fit(X[:5], Y[:5]).partial_fit(rows[:1024], labels[:1024])
    assert model.predict_proba(X).tobytes() == same.predict_proba(X).tobytes()


def test_a_change_that_an_error_broke_off_is_not_gone_on_with(monkeypatch, tmp_path):
    def fail(*_: Any) -> None:
        raise MemoryError

    model = paper_tree(**EAGER).partial_fit(X[:5], Y[:5])
    with monkeypatch.context() as patch:
        patch.setattr(growth, "split_leaf", fail)
        with pytest.raises(MemoryError):
            model.partial_fit(X, Y)
    for go_on in (
        lambda: model.predict(X),
        lambda: model.predict_one(X[0]),
        lambda: model.partial_fit(X, Y),
        lambda: model.learn_one(X[0], int(Y[0])),
        lambda: model.save(tmp_path / "m.mist"),
        lambda: model.__getstate__(),
    ):
        with pytest.raises(RuntimeError, match="load the last saved one, or fit it again"):
            go_on()
    assert not list(tmp_path.iterdir())
    assert fingerprint(model.fit(X, Y)) == fingerprint(paper_tree(**EAGER).fit(X, Y))


def test_handlers_of_others_and_other_threads_are_left_alone(monkeypatch):
    def own(number: int, frame: Any) -> None:
        pressed.append(number)

    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, own)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) is own
            interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]

    def in_thread() -> None:
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    found: list[Any] = []
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)] == [signal.default_int_handler]
