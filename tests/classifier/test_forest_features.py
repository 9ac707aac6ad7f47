"""A forest with a discriminant on random features beside its trees."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from material import by_trees
from mist import MistClassifier, MistForest
from mist.baselines import RandomFeatureLDA
from mist.pooling import FLOOR, blend, mean_posterior

NAN = np.nan


def blobs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, n_features=4, centers=5, cluster_std=3.0, random_state=seed)
    order = np.argsort(y // 2, kind="stable")
    return X[order], np.array(list("edcba"))[y[order]]


def forest(**options) -> MistForest:
    options = {"n_trees": 2, "random_features": 30, "random_state": 1, **options}
    return MistForest(MistClassifier(leaf="gaussian"), **options)


def test_a_blend_is_a_product_of_powers():
    p = np.array([[0.6, 0.4, 0.0], [0.2, 0.3, 0.5]])
    q = np.array([[0.1, 0.0, 0.9], [0.0, 0.0, 0.0]])
    got = blend(p, q, np.array([0.5, 0.5]))
    parts = [0.6 * 0.1**0.5, 0.4 * FLOOR**0.5, FLOOR * 0.9**0.5]
    assert got[0] == pytest.approx(np.array(parts) / sum(parts), rel=1e-12)
    np.testing.assert_array_equal(got[1], p[1])  # nothing to blend with


def test_no_model_gives_a_class_to_a_blend_that_neither_knows():
    got = blend(np.array([[0.5, 0.5, 0.0]]), np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    assert got[0, 2] == 0.0
    assert got.sum() == pytest.approx(1.0)


def test_answers_that_are_not_finite_are_left_out_of_a_blend():
    p = np.array([[0.7, 0.3]])
    np.testing.assert_array_equal(blend(p, np.array([[NAN, 0.2]]), np.ones(1)), p)


def test_the_forest_blends_its_trees_with_a_discriminant_of_its_own():
    X, y = blobs()
    model = forest(feature_weight=0.4).fit(X, y)
    beside = model._head.model
    alone = RandomFeatureLDA(n_features=30, random_state=beside.random_state)
    alone.fit(X, y)
    trees = mean_posterior([by_trees(tree, X) for tree in model.trees_])[0]
    trust = np.full(len(X), 0.4 * len(X) / (len(X) + 30))
    expected = blend(trees, alone.predict_proba(X), trust)
    assert by_trees(model, X) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    without = forest(random_features=0).fit(X, y)
    np.testing.assert_array_equal(by_trees(without, X), trees)
    assert model.nbytes == without.nbytes + beside.nbytes


def test_test_then_train_equals_an_answer_before_each_row():
    X, y = blobs(160)
    at_once = forest().prequential(X, y)
    model, answers = forest(), []
    for x, label in zip(X, y, strict=True):
        answers.append(model.predict(x[None], next_in_stream=True)[0] if answers else None)
        model.learn_one(x, label)
    assert at_once[1:].tolist() == answers[1:]


def test_rows_with_missing_values_are_answered_by_the_trees():
    X, y = blobs()
    holes = X.copy()
    holes[::3, 1] = NAN
    model, without = forest().fit(holes, y), forest(random_features=0).fit(holes, y)
    got, trees = by_trees(model, holes), by_trees(without, holes)
    np.testing.assert_array_equal(got[::3], trees[::3])
    assert np.abs(got - trees).max() > 0.01
    whole = forest().fit(holes, y, sample_weight=np.isfinite(holes).all(axis=1).astype(float))
    answers = [each._head.answer(X, *each._places())[0] for each in (model, whole)]
    assert answers[0] == pytest.approx(answers[1], abs=1e-9)


def test_rows_of_weight_0_and_declared_classes():
    X, y = blobs(100)
    model = forest().partial_fit(X, y, classes=["z"])
    assert model.classes_[-1] == "z"
    assert not model.predict_proba(X)[:, -1].any()
    state = model._head.model._state.means.copy()
    model.prequential(X[:5], y[:5], sample_weight=np.zeros(5))
    np.testing.assert_array_equal(model._head.model._state.means, state)


def test_columns_that_come_later_are_left_to_the_trees():
    X, y = blobs(100)
    names = list("pqrs")
    model = forest()
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip(names, x, strict=True)), label)
    before = model._head.model.nbytes
    model.learn_one({**dict(zip(names, X[0].tolist(), strict=True)), "t": 1.0}, "a")
    assert model.n_features_in_ == 5
    assert model._head.model.nbytes == before
    assert sum(model.predict_proba_one({"p": 1.0, "q": 0.0, "r": 0.0, "s": 2.0}).values()) == (
        pytest.approx(1.0)
    )


def test_a_copy_learns_on_as_the_original():
    X, y = blobs()
    model = forest().fit(X[:200], y[:200])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict_proba(X), copy.predict_proba(X))


@pytest.mark.parametrize(("name", "value"), [("random_features", -1), ("feature_weight", -0.1)])
def test_options_out_of_range_are_refused(name, value):
    X, y = blobs(50)
    with pytest.raises(ValueError, match=name):
        forest(**{name: value}).fit(X, y)
