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
        MistClassifier.from_settings(leaf="gaussian", **options),
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
        one_by_one, before = [found[0]], np.zeros((len(X), 2))
        for i, (row, label, weight) in enumerate(zip(X, y, weights, strict=True)):
            if i:
                one_by_one.append(single.predict_one(row))
                before[i, single.classes_] = list(single.predict_proba_one(row).values())
            single.learn_one(row, int(label), float(weight))
        assert found == one_by_one
        labels, shares = models(decision=decision, adapt=adapt)[kind].prequential_proba(
            X, y, weights
        )
        assert labels.tolist() == found
        # Classes that are hopeless for a row are not computed exactly in the loop.
        assert np.allclose(shares, before, rtol=0, atol=1e-5)
        assert np.array_equal(single.predict_proba(X), whole.predict_proba(X))


def test_costs_of_labels_that_are_text_and_come_later():
    X, y = overlapping()
    names = np.array(["fine", "fraud"])[y]
    model = MistClassifier("gaussian", decision={"fraud": 10.0}).fit(X[y == 0], names[y == 0])
    assert model.predict(X).tolist() == ["fine"] * len(X)
    model.partial_fit(X[y == 1], names[y == 1])
    found = model.predict(X) == "fraud"
    # In random order it is .98: rows of one class alone say little of how sure the model may be.
    assert (
        found[y == 1].mean()
        > 0.85
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


def test_probabilities_before_learning_of_columns_by_name():
    X, y = overlapping(120)
    names = np.array(["fine", "fraud"])[y]
    for by_name, by_place in zip(models(), models(), strict=True):
        labels, shares = by_name.prequential_proba_many({"a": X[:, 0], "b": X[:, 1]}, names)
        same, expected = by_place.prequential_proba(X, names)
        assert labels.tolist() == same.tolist()
        assert np.array_equal(shares, expected)
        assert by_name.classes_.tolist() == ["fine", "fraud"]
