"""`decision`: how a label is chosen from probabilities, and what the probabilities are."""

import numpy as np
import pytest

from mist import MistClassifier, MistForest

RULES = (None, "balanced", "counts", {1: 3.0})


def overlapping(n=1500, rare=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rare).astype(np.int64)
    return rng.normal(size=(n, 2)) + 0.7 * y[:, None], y


def models(**options):
    return (
        MistClassifier("gaussian", **options),
        MistForest(MistClassifier("gaussian"), n_trees=2, **options),
    )


@pytest.mark.parametrize("adapt", ["stream", "classes", None])
def test_nothing_known_leaves_the_frequencies(adapt):
    rng = np.random.default_rng(0)
    y = (rng.random(6000) < 0.3).astype(np.int64)
    X = rng.normal(size=(6000, 2))
    for model in models(adapt=adapt):
        model.fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.3, abs=0.02)
        assert np.ptp(model.predict_proba(X)[:, 1]) < 0.3
        assert model.set_params(decision="counts").predict(X).sum() < 30


@pytest.mark.parametrize("adapt", ["stream", None])
@pytest.mark.parametrize("class_prior", ["balanced", "counts"])
def test_labels_follow_from_the_probabilities(adapt, class_prior):
    X, y = overlapping()
    model = MistClassifier("gaussian", adapt=adapt, class_prior=class_prior).fit(X, y)
    shares, often = model.predict_proba(X), np.bincount(y)
    as_balanced = (shares / often).argmax(axis=1)
    wanted = {
        "balanced": as_balanced,
        "counts": shares.argmax(axis=1),
        "costs": (shares * [1.0, 3.0]).argmax(axis=1),
    }
    assert len({tuple(labels) for labels in wanted.values()}) == 3
    for decision, labels in wanted.items():
        model.set_params(decision={1: 3.0} if decision == "costs" else decision)
        assert np.array_equal(model.predict(X), labels)
        assert np.array_equal(model.predict_proba(X), shares)
    assert np.array_equal(model.set_params(decision=None).predict(X), wanted[class_prior])


@pytest.mark.parametrize("decision", RULES)
@pytest.mark.parametrize("adapt", ["stream", "classes", None])
def test_in_a_stream_as_row_by_row(decision, adapt):
    X, y = overlapping(300)
    weights = np.random.default_rng(2).choice([0.0, 1.0, 2.0], 300)
    weights[0] = 1.0
    for kind in range(2):
        whole = models(decision=decision, adapt=adapt)[kind]
        single = models(decision=decision, adapt=adapt)[kind]
        found = whole.prequential(X, y, weights).tolist()
        one_by_one = [found[0]]
        for i, (row, label, weight) in enumerate(zip(X, y, weights, strict=True)):
            if i:
                one_by_one.append(single.predict_one(row))
            single.learn_one(row, int(label), float(weight))
        assert found == one_by_one
        assert np.array_equal(single.predict_proba(X), whole.predict_proba(X))


def test_costs_of_labels_that_are_text_and_come_later():
    X, y = overlapping()
    names = np.array(["fine", "fraud"])[y]
    model = MistClassifier("gaussian", decision={"fraud": 10.0}).fit(X[y == 0], names[y == 0])
    assert model.predict(X).tolist() == ["fine"] * len(X)
    model.partial_fit(X[y == 1], names[y == 1])
    found = model.predict(X) == "fraud"
    assert (
        found[y == 1].mean()
        > 0.9
        > (MistClassifier("gaussian").fit(X, y).predict(X))[y == 1].mean()
    )


@pytest.mark.parametrize(
    ("decision", "error", "words"),
    [
        ("fair", ValueError, "decision='fair' is unknown; allowed are 'balanced', 'counts'"),
        ({1: 0.0}, ValueError, "decision: the cost of 1 is 0.0"),
        ({"a": np.inf}, ValueError, "decision: the cost of 'a' is inf"),
        ({"a": "high"}, ValueError, "decision: the cost of 'a' is 'high'"),
        (3, TypeError, "decision is a int; allowed are"),
    ],
)
def test_unknown_rules_are_refused(decision, error, words):
    X, y = overlapping(20)
    with pytest.raises(error, match=words):
        MistClassifier("gaussian", decision=decision).fit(X, y)
    model = MistClassifier("gaussian").fit(X, y).set_params(decision=decision)
    with pytest.raises(error, match=words):
        model.predict(X)
    with pytest.raises(error, match=words):
        model.predict_one(X[0])


def test_an_explanation_says_when_the_rule_does_not_take_the_most_probable_class():
    X, y = overlapping(2000, 0.1)
    model = MistClassifier("gaussian", adapt=None).fit(X, y)
    between = X[(model.predict(X) == 1) & (model.predict_proba(X)[:, 0] > 0.6)][0]
    told = model.explain(between)
    assert told.prediction == 1
    assert told.probabilities == dict(enumerate(model.predict_proba([between])[0].tolist()))
    assert "more probable, but not chosen by the model's decision rule: 0 (0." in str(told)
    assert "not chosen" not in str(model.set_params(decision="counts").explain(between))
