"""The adapter to river's EFDT, HAT and ARF: its contract, its settings, and river's habits."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("river", reason="the adapter is nothing without river")

from river import drift, forest, tree

from mist_bench.baselines import RiverClassifier

KINDS = ["efdt", "hat", "arf"]
MODELS = [RiverClassifier(kind, no_reset=still) for kind in KINDS for still in (False, True)]
STILL_TREES = [MODELS[1], MODELS[3]]


def each(models):
    return pytest.mark.parametrize("model", [clone(m) for m in models], ids=repr)


def draw(means, classes, n, rng):
    y = rng.choice(classes, n)
    return means[y] + rng.normal(size=(n, means.shape[1])), y


def stream(n=400, seed=0):
    """Four classes with names that do not sort in order of appearance."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 1 + 4 * np.arange(n) // n)
    means = 3.0 * rng.normal(size=(4, 4))
    return means[codes] + rng.normal(size=(n, 4)), np.array(["d", "b", "c", "a"])[codes]


def shifting(before, after=300, seed=0):
    """Four classes that exchange their places: what drift detectors are for."""
    rng = np.random.default_rng(seed)
    X, y = draw(4.0 * rng.normal(size=(4, 4)), np.arange(4), before + after, rng)
    return X, np.where(np.arange(before + after) < before, y, (y + 1) % 4)


@parametrize_with_checks(MODELS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each(MODELS)
def test_answers_are_those_of_river(model):
    made_by_hand = {
        "efdt": lambda: tree.ExtremelyFastDecisionTreeClassifier(
            grace_period=50,
            delta=1e-7,
            tau=0.05,
            split_criterion="gini",
            min_samples_reevaluate=10**9 if model.no_reset else 20,
        ),
        "hat": lambda: tree.HoeffdingAdaptiveTreeClassifier(
            grace_period=50,
            delta=1e-7,
            tau=0.05,
            split_criterion="gini",
            drift_detector=drift.NoDrift() if model.no_reset else drift.ADWIN(),
            seed=5,
        ),
        "arf": lambda: forest.ARFClassifier(
            n_models=10,
            drift_detector=drift.NoDrift() if model.no_reset else drift.ADWIN(delta=0.001),
            warning_detector=drift.NoDrift() if model.no_reset else drift.ADWIN(delta=0.01),
            seed=5,
        ),
    }
    X, y = shifting(300)
    model = clone(model).set_params(random_state=5)
    rival, theirs = made_by_hand[model.kind](), []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        theirs.append(rival.predict_one(dict(enumerate(row))))
        rival.learn_one(dict(enumerate(row)), label)
    assert model.prequential(X, y)[1:].tolist() == theirs[1:]
    shares = [rival.predict_proba_one(dict(enumerate(row))) for row in X[:50].tolist()]
    by_class = [[share.get(c, 0.0) for c in range(4)] for share in shares]
    np.testing.assert_allclose(model.predict_proba(X[:50]), by_class, atol=1e-12)


@each(MODELS)
def test_one_call_equals_many(model):
    X, y = stream()
    whole, single = clone(model), clone(model)
    together = whole.prequential(X, y)
    for i in range(len(X)):
        if i:
            # Only labels seen before, too.
            assert single.predict(X[i : i + 1])[0] == together[i]
        single.partial_fit(X[i : i + 1], y[i : i + 1])
        assert single.classes_.tolist() == sorted(set(y[: i + 1]))
    assert whole.n_leaves_ == single.n_leaves_
    shares = whole.predict_proba(X)
    np.testing.assert_array_equal(single.predict_proba(X), shares)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (whole.classes_[shares.argmax(axis=1)] == whole.predict(X)).all()


@each(MODELS)
def test_a_declared_class_without_a_row_is_never_answered(model):
    X, y = stream()
    model = clone(model).partial_fit(X, y, classes=["0", "z"])
    assert model.classes_.tolist() == ["0", "a", "b", "c", "d", "z"]
    assert (model.predict_proba(X)[:, [0, -1]] == 0.0).all()


@each(MODELS)
def test_a_refused_call_leaves_no_trace(model):
    X, y = stream()
    model, bad = clone(model), X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, column 2"):
        model.partial_fit(bad, y)
    assert vars(model) == vars(clone(model))
    model.partial_fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN at row 7, column 2"):
        model.partial_fit(bad, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@each(MODELS)
def test_a_pickled_model_goes_on_alike(model):
    X, y = stream()
    model = clone(model).partial_fit(X[:250], y[:250])
    copy = pickle.loads(pickle.dumps(model))
    assert (
        copy.prequential(X[250:], y[250:]).tolist() == model.prequential(X[250:], y[250:]).tolist()
    )
    assert copy.n_leaves_ == model.n_leaves_


@pytest.mark.parametrize("kind", ["hat", "arf"])
def test_the_seed_decides_what_is_drawn(kind):
    X, y = stream()

    def shares(seed):
        return RiverClassifier(kind, random_state=seed).fit(X, y).predict_proba(X)

    np.testing.assert_array_equal(shares(None), shares(0))
    assert (shares(1) != shares(0)).any()


@each(MODELS)
def test_bytes_and_leaves_are_river_s_own_counts(model):
    X, y = shifting(2500 if model.kind == "hat" else 300)
    model = clone(model).partial_fit(X[:1], y[:1])
    small = model.nbytes
    model.partial_fit(X, y)
    assert model.nbytes == model._state._raw_memory_usage > small > 0
    trees = list(model._state) if model.kind == "arf" else [model._state]
    leaves = [leaf for each in trees for leaf in each._root.iter_leaves()]
    assert model.n_leaves_ == len(leaves) > len(trees)


@each(MODELS)
def test_categorical_columns_are_nominal_to_river(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([rng.normal(size=600), y ^ (rng.random(600) < 0.02)])
    model = clone(model).set_params(categorical_features=[1]).fit(X, y)
    assert model.score(X, y) > 0.9
    trees = list(model._state) if model.kind == "arf" else [model._state]
    splits = [each._root for each in trees if each.n_branches]
    assert {type(split).__name__ for split in splits if split.feature == 1} & {
        "EFDTNominalBinaryBranch",
        "EFDTNominalMultiwayBranch",
        "AdaNomBinaryBranchClass",
        "AdaNomMultiwayBranchClass",
        "NominalBinaryBranch",
        "NominalMultiwayBranch",
    }
    with pytest.raises(ValueError, match="column indices below 2"):
        model.set_params(categorical_features=[2]).fit(X, y)


def test_unknown_kind():
    with pytest.raises(ValueError, match="'kind' parameter of RiverClassifier must be a str among"):
        RiverClassifier("cart").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_without_river_the_message_says_what_to_install(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    model = RiverClassifier(kind)
    with pytest.raises(ImportError, match=r"need river: pip install 'mist-tree\[bench\]'"):
        model.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ImportError, match="need river"):
        model.partial_fit([[0.0], [1.0]], [0, 1])
    assert vars(model) == vars(RiverClassifier(kind))


# --- with and without resets ----------------------------------------------------------------


def resets(model):
    """How often something learnt was thrown away."""
    if model.kind == "arf":
        return model._state.n_drifts_detected()
    return model._state.n_alternate_trees


@pytest.mark.parametrize("kind", ["hat", "arf"])
def test_without_resets_no_drift_is_ever_seen(kind):
    X, y = shifting(2500 if kind == "hat" else 400)
    model, still = RiverClassifier(kind).fit(X, y), RiverClassifier(kind, no_reset=True).fit(X, y)
    assert resets(model) > 0
    assert resets(still) == 0


def test_without_resets_efdt_never_reconsiders_a_split():
    # The columns change places: the attribute that was best at the root is soon worthless.
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 2
    X = np.column_stack([8.0 * y, 0.0 * y]) + rng.normal(size=(1600, 2))
    X[400:] = X[400:, ::-1]
    roots = {}
    for still in (False, True):
        model = RiverClassifier("efdt", no_reset=still).fit(X[:400], y[:400])
        assert model._state._root.feature == 0
        roots[still] = model.partial_fit(X[400:], y[400:])._state._root.feature
    assert roots == {False: 1, True: 0}


# --- what river does ------------------------------------------------------------------------


@each(STILL_TREES)
def test_at_a_split_river_forgets_what_the_features_said(model):
    rng = np.random.default_rng(3)
    means = 3.0 * rng.normal(size=(6, 5))
    X, y = draw(means, np.arange(4), 2600, rng)
    rows, labels = draw(means, np.arange(4), 400, rng)
    probe, n = clone(model), 0
    while n == 0 or probe.n_leaves_ == 1:
        probe.partial_fit(X[n : n + 1], y[n : n + 1])
        n += 1
    model = clone(model).fit(X[: n - 1], y[: n - 1])
    assert model.score(rows, labels) > 0.9
    model.partial_fit(X[n - 1 : n], y[n - 1 : n])
    # Two leaves that know class weights only can name two of the four classes.
    assert model.n_leaves_ == 2
    assert model.score(rows, labels) < 0.6
    # Their rows do not come again: what is learnt later is about other classes.
    model.partial_fit(*draw(means, [4, 5], 1000, rng))
    assert model.score(rows, labels) < 0.6


@each(MODELS[:2])
def test_a_leaf_with_a_second_class_below_one_percent_stops_looking_at_the_features(model):
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [40.0, 40.0]])

    def of_class(label, n):
        return draw(means, [label], n, rng)

    # The leaf is examined at row 150, the first one of class 1.
    model = clone(model).partial_fit(*of_class(0, 149)).partial_fit(*of_class(1, 1))
    assert not model._state._root.is_active()
    # From now on only the majority counts, however far apart the classes are.
    model.partial_fit(*of_class(1, 147))
    assert (model.predict(of_class(1, 50)[0]) == 0).all()
    model.partial_fit(*of_class(1, 2))
    assert (model.predict(of_class(0, 50)[0]) == 1).all()


def test_efdt_splits_columns_of_noise():
    # Its test compares one minus the impurity after the split, a half here, and not the gain.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    assert RiverClassifier("efdt").fit(X[:49], y[:49]).n_leaves_ == 1
    assert RiverClassifier("efdt").fit(X[:50], y[:50]).n_leaves_ == 2
    assert RiverClassifier("hat").fit(X, y).n_leaves_ == 1
