"""One model in many threads: each answer is one of the model at some moment, each row is learnt."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from material import EAGER, fingerprint
from mist import MistClassifier, MistForest, load
from mist.baselines import NCM, SLDA, GaussianNB
from mist.locking import WRITER
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree

N_READERS = 8
N_CLASSES, N_COLUMNS, N_ROWS = 12, 6, 1800
LEAVES = ["gaussian", "sketch", "majority", "full", "mixture"]
TREES = {"split_test": "schedule", "rows_per_split": 40, "grace_period": 20}


def tree(leaf: str, **options: Any) -> MistClassifier:
    return paper_tree(leaf, **EAGER, **options)


MODELS: dict[str, Callable[[], Any]] = {
    **{leaf: lambda leaf=leaf: tree(leaf) for leaf in LEAVES},
    "forest": lambda: MistForest(paper_tree(**TREES), 3, n_jobs=2, random_features=8),
    "NCM": NCM,
    "GaussianNB": GaussianNB,
    "SLDA": SLDA,
    "pipeline": lambda: StreamPipeline(model=tree("gaussian")),
}


@pytest.fixture(autouse=True)
def _quick_turns() -> Iterator[None]:
    """Let threads take turns far more often than they do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def stream() -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that come one after another, each a few columns from the others."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(N_CLASSES, size=N_ROWS))
    near = rng.permutation(N_ROWS) // 300
    y = np.where(near % 2, y, rng.permutation(y))
    y[:N_CLASSES] = 0
    X = rng.normal(2.0 * rng.uniform(0, 4, (N_CLASSES, N_COLUMNS))[y])
    return X, y


X, Y = stream()


@contextmanager
def reading(read: Callable[[], None]) -> Iterator[None]:
    """Let many threads do the same again and again while the block runs; their errors are its."""
    ended, begun = Event(), Barrier(N_READERS + 1)

    def go_on() -> None:
        read()
        begun.wait()
        read()
        while not ended.is_set():
            read()

    with ThreadPoolExecutor(N_READERS) as pool:
        readers = [pool.submit(go_on) for _ in range(N_READERS)]
        try:
            begun.wait(timeout=300)
            yield
        finally:
            ended.set()
    for reader in readers:
        reader.result()


def check_shares(model: Any, rows: Any) -> None:
    """One answer is sound, for the classes of some moment between question and answer."""
    before = len(model.classes_)
    shares = model.predict_proba(rows)
    assert before <= shares.shape[1] <= len(model.classes_)
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def learn_in_parts(model: Any, n_rows: int = N_ROWS) -> Any:
    for start in range(20, n_rows, 60):
        model.partial_fit(X[start : start + 60], Y[start : start + 60])
    return model


def states(model: Any) -> Any:
    """What tells whether two models have learnt the same."""
    if isinstance(model, MistForest):
        return [fingerprint(tree) for tree in model.trees_]
    if isinstance(model, StreamPipeline):
        return fingerprint(model.model_)
    return model.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_many_ask_while_one_learns(name):
    model, alone = MODELS[name](), MODELS[name]()
    for each in (model, alone):
        each.partial_fit(X[:20], Y[:20])
    with reading(lambda: check_shares(model, X[:50])):
        learn_in_parts(model)
    learn_in_parts(alone)
    assert states(model) == states(alone)


@pytest.mark.parametrize("leaf", LEAVES)
def test_many_ask_for_single_rows_while_one_learns_single_rows(leaf):
    model, alone = tree(leaf).partial_fit(X[:20], Y[:20]), tree(leaf).partial_fit(X[:20], Y[:20])

    def ask() -> None:
        for x in X[::300]:
            assert model.predict_one(x) in model.classes_

    with reading(ask):
        for x, y in zip(X[20:], Y[20:].tolist(), strict=True):
            model.learn_one(x, y)
    for x, y in zip(X[20:], Y[20:].tolist(), strict=True):
        alone.learn_one(x, y)
    assert model.n_splits_ > 3
    assert fingerprint(model) == fingerprint(alone)


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_columns_appear_while_many_ask(leaf):
    def learn(model: Any) -> None:
        for start in range(20, 620, 60):
            names = [f"c{j}" for j in range(2 + start // 60)]
            rows = np.resize(X[start : start + 60], (60, len(names)))
            model.learn_many(dict(zip(names, rows.T, strict=True)), Y[start : start + 60])

    model, alone = tree(leaf), tree(leaf)
    for each in (model, alone):
        each.learn_many({"c0": X[:20, 0], "c1": X[:20, 1]}, Y[:20])

    def ask() -> None:
        shares = model.predict_proba_many({"c0": X[:20, 0], "c1": X[:20, 1]})
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert model.predict_one({"c1": 1.0}) in model.classes_

    with reading(ask):
        learn(model)
    learn(alone)
    assert fingerprint(model) == fingerprint(alone)


def test_an_encoder_is_read_while_it_learns():
    colours = np.array([f"colour {i % 40}" for i in range(400)], dtype=object)
    encoder = StreamEncoder(max_categories=100).learn_many({"colour": colours[:1]})

    def read() -> None:
        before = len(encoder.get_feature_names_out())
        rows = encoder.transform_many({"colour": colours[:1]})
        assert before <= rows.shape[1] <= len(encoder.get_feature_names_out())
        assert rows.sum() == 1.0

    with reading(read):
        for i in range(400):
            encoder.learn_many({"colour": colours[i : i + 1]})
    assert len(encoder.get_feature_names_out()) == 40


@pytest.mark.parametrize("name", ["gaussian", "mixture", "forest", "SLDA", "pipeline"])
def test_all_that_learn_at_once_are_heard(name, tmp_path):
    model = MODELS[name]().partial_fit(X[:20], Y[:20])
    begun = Barrier(4)

    def learn(number: int) -> None:
        begun.wait()
        for i in range(20 + number, 420, 4):
            if number % 2 and hasattr(model, "learn_one") and name != "pipeline":
                model.learn_one(X[i], int(Y[i]))
            else:
                model.partial_fit(X[i : i + 1], Y[i : i + 1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(learn, range(4)))
    assert set(model.classes_) == set(Y[:420].tolist())
    learnt = getattr(model, "model_", model)
    if hasattr(learnt, "n_rows_"):
        assert learnt.n_rows_ == 420
    model.save(tmp_path / "model.mist")
    # Reading the file checks all that compiled code takes for granted.
    assert load(tmp_path / "model.mist").predict(X).tolist() == model.predict(X).tolist()


def test_what_is_copied_or_saved_while_it_learns_is_of_one_moment(tmp_path):
    model = tree("mixture").partial_fit(X[:20], Y[:20])

    def read() -> None:
        for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert copied._state.tree.nodes.mass[0] == copied.n_rows_
            check_shares(copied, X[:5])

    with reading(read):
        for number in range(5):
            learn_in_parts(model, 320)
            model.save(tmp_path / f"{number}.mist")
    assert load(tmp_path / "4.mist").n_rows_ == model.n_rows_


def test_one_tree_of_a_forest_is_read_while_the_forest_learns():
    model = MODELS["forest"]().partial_fit(X[:20], Y[:20])
    model = pickle.loads(pickle.dumps(model))
    first = model.trees_[0]

    def read() -> None:
        assert first.predict_one(X[0]) in first.classes_
        assert sum(first.explain(X[0], top=None).probabilities.values()) == pytest.approx(1.0)

    with reading(read):
        learn_in_parts(model, 620)


def test_a_copy_has_a_lock_of_its_own():
    model = tree("gaussian").partial_fit(X[:20], Y[:20])
    for copied in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert copied._lock is not model._lock
        assert "_lock" not in copied.__getstate__()


def test_who_is_broken_off_keeps_nobody_out():
    model = tree("gaussian").partial_fit(X[:20], Y[:20]).learn_one(X[0], 0)

    def fail() -> None:
        raise KeyboardInterrupt

    for enter in (model._lock.write, model._lock.read):
        with pytest.raises(KeyboardInterrupt):
            enter(fail)
    model._lock.flags[WRITER] = 1  # what a signal between two steps may leave
    with ThreadPoolExecutor(1) as pool:
        pool.submit(model.learn_one, X[1], 0).result(timeout=60)
        assert pool.submit(model.predict_one, X[1]).result(timeout=60) == 0
    assert model.n_rows_ == 22
    assert not model._lock.flags.any()
