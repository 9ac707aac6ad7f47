"""Full and mixture leaves from outside: batches, questions, refusals, copies, growing trees."""

import copy
import pickle
import re

import numpy as np
import pytest
from material import BINARY, EAGER, fingerprint, mixed_rows
from sklearn.base import clone

from mist import MistClassifier

pytestmark = pytest.mark.parametrize("leaf", ["full", "mixture"])


def whole_rows(seed, n=400, n_classes=3):
    """Rows without missing values, of classes with two modes each."""
    X, y = mixed_rows(seed, n=n, n_classes=n_classes, holes=0.0)
    numeric = np.arange(4) != BINARY
    X[::2, numeric] += 9.0
    return X, y


def eager(leaf, **options):
    return MistClassifier(leaf, categorical_features=[BINARY], **{**EAGER, **options})


def calm(leaf):
    return MistClassifier(leaf, categorical_features=[BINARY], grace_period=10**9)


@pytest.mark.parametrize("model", [eager, calm])
def test_sizes_of_batches_do_not_matter_bit_for_bit(leaf, model):
    X, y = whole_rows(0)
    rng = np.random.default_rng(0)
    weights = rng.choice([0.0, 1.0, 2.5], len(X))
    whole = model(leaf).partial_fit(X, y, sample_weight=weights)
    assert (whole.n_splits_ > 2) == (model is eager)
    assert model is eager or leaf == "full" or (whole._state.mixture.cells.n > 1).any()
    for size in (1, 7, 100):
        parts, told = model(leaf), model(leaf)
        for at in range(0, len(X), size):
            part = slice(at, at + size)
            if weights[part].any():
                parts.partial_fit(X[part], y[part], sample_weight=weights[part])
                told.prequential(X[part], y[part], sample_weight=weights[part])
        assert fingerprint(parts) == fingerprint(whole) == fingerprint(told)
    single = model(leaf)
    for x, label, w in zip(X, y, weights, strict=True):
        single.learn_one(x, label, w)
    assert fingerprint(single) == fingerprint(whole)


@pytest.mark.parametrize("model", [eager, calm])
def test_prequential_predicts_then_learns(leaf, model):
    X, y = whole_rows(1)
    foretold = model(leaf).prequential(X, y)
    rows, answers = model(leaf), []
    for i in range(len(X)):
        if i:
            answers.append(rows.predict(X[[i]])[0])
        rows.partial_fit(X[[i]], y[[i]])
    assert answers == foretold[1:].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_predictions_stay_finite_in_trees_that_grow(leaf, seed):
    X, y = whole_rows(seed, n=600, n_classes=5)
    for options in ({}, {"inheritance": None}, {"inheritance": "mass", "discount": 0.1}):
        model = eager(leaf, **options)
        for part in np.array_split(np.arange(600), 6):
            model.partial_fit(X[part], y[part])
            asked = np.vstack([X[:50], np.where(np.arange(4) == BINARY, X[:50], X[:50] * 1e6)])
            shares = model.predict_proba(asked)
            assert np.isfinite(shares).all()
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
            # The most probable class is found without working all classes out.
            best = shares[np.arange(100), model.predict(asked)]
            np.testing.assert_array_equal(best, shares.max(axis=1))
        assert model.n_splits_ > 2


def test_huge_and_tiny_values_give_finite_answers(leaf):
    X, y = whole_rows(2)
    for size in (1e150 / 30, 1e-150):
        rows = np.where(np.arange(4) == BINARY, X, X * size)
        rows[3, 0] = 1e150
        model = calm(leaf).partial_fit(rows, y)
        assert np.isfinite(model.predict_proba(rows)).all()


def test_asking_changes_nothing(leaf):
    X, y = whole_rows(3)
    model = eager(leaf).partial_fit(X, y)
    before = fingerprint(model)
    for ask in (model.predict, model.predict_proba, model.predict_log_proba, model.apply):
        ask(X * np.where(np.arange(4) == BINARY, 1, 100))
    model.predict_one(X[0])
    model.export_text()
    model.leaf_summary()
    assert fingerprint(model) == before


def test_columns_of_zeros_and_ones_alone(leaf):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = (rng.random((300, 3)) < 0.2 + 0.6 * y[:, None]).astype(float)
    model = MistClassifier(leaf, categorical_features=[0, 1, 2]).partial_fit(X, y)
    assert model.score(X, y) > 0.8


def test_missing_values_are_refused_with_row_and_column(leaf):
    X, y = whole_rows(4)
    model = eager(leaf).partial_fit(X, y)
    before = fingerprint(model)
    holed = X.copy()
    holed[7, 2] = np.nan
    wanted = rf"row 7, column 2: leaf='{leaf}' takes no missing values"
    for call in (
        lambda: model.partial_fit(holed, y),
        lambda: model.prequential(holed, y),
        lambda: model.predict(holed),
        lambda: model.predict_proba(holed),
        lambda: eager(leaf).fit(holed, y),
    ):
        with pytest.raises(ValueError, match=wanted):
            call()
    with pytest.raises(ValueError, match=r"row 0, column 2: .* missing"):
        model.learn_one(holed[7], 0)
    assert fingerprint(model) == before


def test_new_columns_are_refused_by_name(leaf):
    model = MistClassifier(leaf).learn_one({"a": 1.0, "b": 2.0}, 0)
    model.learn_one({"a": 2.0, "b": 1.0}, 1)
    before = fingerprint(model)
    with pytest.raises(ValueError, match=r"cannot take new columns after the first row, got 'c'"):
        model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 0)
    assert fingerprint(model) == before


def test_more_columns_than_covariances_are_kept_of_are_refused(leaf):
    X = np.zeros((2, 1025))
    with pytest.raises(ValueError, match=re.escape("at most 1024 numeric columns, got 1025")):
        MistClassifier(leaf).partial_fit(X, [0, 1])
    # Columns of zeros and ones have no covariances.
    MistClassifier(leaf, categorical_features=np.arange(1, 1025)).partial_fit(X, [0, 1])


def test_copies_learn_on_alike_and_apart(leaf):
    X, y = whole_rows(5, n=600)
    model = eager(leaf).partial_fit(X[:300], y[:300])
    before = fingerprint(model)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for each in copies:
        assert fingerprint(each) == before
        each.partial_fit(X[300:], y[300:])
    assert fingerprint(model) == before
    model.partial_fit(X[300:], y[300:])
    assert fingerprint(copies[0]) == fingerprint(copies[1]) == fingerprint(model)
    assert fingerprint(clone(model).fit(X, y)) == fingerprint(model)
