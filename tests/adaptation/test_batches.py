"""A model that follows its stream does not depend on how the rows come."""

import math

import numpy as np
import pytest

from adaptation_streams import draw, eventful, everything, shuffled
from mist import MistClassifier

KINDS = [("gaussian", "stream"), ("gaussian", "classes"), ("mixture", "stream")]
kinds = pytest.mark.parametrize(("leaf", "adapt"), KINDS)


def learnt(leaf, adapt, X, y, cuts, weights=None, **options):
    model = MistClassifier.from_settings(leaf=leaf, adapt=adapt, **options)
    weights = np.ones(len(X)) if weights is None else weights
    for part in np.split(np.arange(len(X)), cuts):
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    return model


@kinds
def test_divisions_into_batches(leaf, adapt):
    X, y = eventful()
    rng, n = np.random.default_rng(0), len(X)
    whole = learnt(leaf, adapt, X, y, [])
    assert {change.kind for change in whole.changes_} == {"class moved", "common shift"}
    query = X[::11]
    for cuts in (
        np.arange(1, n),
        np.arange(50, n, 50),
        np.arange(7, n, 31),
        np.sort(rng.choice(np.arange(1, n), 12, replace=False)),
    ):
        other = learnt(leaf, adapt, X, y, cuts)
        assert everything(other) == everything(whole)
        assert np.array_equal(other.predict_proba(query), whole.predict_proba(query))
        assert np.array_equal(
            other.predict_proba(query, next_in_stream=True),
            whole.predict_proba(query, next_in_stream=True),
        )


@kinds
def test_missing_values_and_weights(leaf, adapt):
    X, y = eventful(1)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.03] = np.nan
    weights = rng.choice([0.0, 1.0, 1.0, 2.5], len(X))
    whole = learnt(leaf, adapt, X, y, [], weights)
    for cuts in (np.arange(13, len(X), 13), [1, 77, 400]):
        assert everything(learnt(leaf, adapt, X, y, cuts, weights)) == everything(whole)


@kinds
def test_rows_of_weight_0_change_nothing(leaf, adapt):
    X, y = eventful()
    rng = np.random.default_rng(0)
    at = np.sort(rng.choice(len(X), 200))
    mixed, labels = np.insert(X, at, 99.0, axis=0), np.insert(y, at, 3)
    weights = np.insert(np.ones(len(X)), at, 0.0)
    whole = learnt(leaf, adapt, X, y, [])
    assert everything(learnt(leaf, adapt, mixed, labels, [70], weights)) == everything(whole)
    model = MistClassifier(leaf, adapt=adapt)
    model.prequential(mixed, labels, sample_weight=weights)
    assert everything(model) == everything(whole)


@kinds
def test_prequential_learns_like_partial_fit(leaf, adapt):
    X, y = eventful()
    whole, model = learnt(leaf, adapt, X, y, []), MistClassifier(leaf, adapt=adapt)
    predicted = [model.prequential(X[part], y[part]) for part in (slice(333), slice(333, None))]
    assert everything(model) == everything(whole)
    assert np.mean(np.concatenate(predicted) == y) > 0.8


@kinds
def test_prequential_is_predict_one_then_learn_one(leaf, adapt):
    X, y = eventful(2)
    at_once, one = MistClassifier(leaf, adapt=adapt), MistClassifier(leaf, adapt=adapt)
    predicted, single = at_once.prequential(X, y), []
    for x, label in zip(X, y.tolist(), strict=True):
        single.append(one.predict_one(x))
        one.learn_one(x, label)
    assert single[0] is None
    assert single[1:] == predicted[1:].tolist()
    assert everything(one) == everything(at_once)


def test_all_rows_need_not_teach_the_experts():
    # Beyond 4,096 rows: those that are predicted teach no more than those that are not.
    rng = np.random.default_rng(0)
    y = shuffled(rng, [0, 1], 2200)
    X = draw(rng, y) * 4.0
    whole = learnt("gaussian", "stream", X, y, [])
    model = MistClassifier("gaussian")
    model.prequential(X[:4000], y[:4000])
    model.prequential(X[4000:4301], y[4000:4301])
    model.partial_fit(X[4301:], y[4301:])
    assert everything(model) == everything(whole)


def test_labels_that_were_declared_or_come_late():
    X, y = eventful()
    whole = learnt("gaussian", "stream", X, y, [])
    model = MistClassifier("gaussian").partial_fit(X[:3], y[:3], classes=[0, 1, 2, 3, 7])
    model.partial_fit(X[3:], y[3:])
    assert everything(model) == everything(whole)
    shares = model.predict_proba(X[:50], next_in_stream=True)
    assert np.array_equal(shares[:, :4], whole.predict_proba(X[:50], next_in_stream=True))
    assert not shares[:, 4].any()


def test_duplicated_rows():
    X, y = eventful()
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    X[:120], y[:120] = X[0], y[0]
    model = MistClassifier("mixture").partial_fit(X, y)
    shares = model.predict_proba(X[::20], next_in_stream=True)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.score(X[-300:], y[-300:]) > 0.9
    same = MistClassifier("gaussian").partial_fit(np.ones((300, 2)), np.arange(300) % 3)
    np.testing.assert_allclose(same.predict_proba(np.ones((1, 2)), next_in_stream=True).sum(), 1.0)
    assert same.changes_ == []


@pytest.mark.parametrize("adapt", ["stream", "classes", None])
@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, 2.0**31 + 1])
def test_a_single_row_of_a_bad_weight_is_refused(adapt, weight):
    X, y = eventful()
    model = learnt("gaussian", adapt, X[:40], y[:40], [])
    model.learn_one(X[40], y[40])
    before = everything(model)
    with pytest.raises(ValueError, match="sample_weight"):
        model.learn_one(X[41], y[41], weight)
    assert everything(model) == before
    model.learn_one(X[41], y[41], 0.0)
    assert everything(model) == before
    model.learn_one(X[41], y[41], 1.0)
    assert everything(model) == everything(learnt("gaussian", adapt, X[:42], y[:42], []))
