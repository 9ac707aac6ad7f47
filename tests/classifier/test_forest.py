import math
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mist.forest
from material import by_trees, fingerprint
from mist import MistClassifier, MistForest
from mist.engine.random import resample
from mist.pooling import mean_posterior
from mist.settings import FOREST_TREE, PAPER_SETTINGS
from naive import uniform
from naive_forest import NaiveForest, poisson

QUICK = {"split_test": "schedule", "grace_period": 20, "rows_per_split": 60}
DEFAULT = {**FOREST_TREE, **QUICK}
FULL = {**DEFAULT, "leaf": "full"}
PLAIN = {**PAPER_SETTINGS, "thresholds": "gaussian", **QUICK}
"""Without sketches, whose random bits hang on the order in which a tree has met the classes."""


def forest(tree=FULL, n_trees=4, adapt=None, **options):
    """A forest whose prediction of the next row is that of any row, unless ``adapt`` is given."""
    return MistForest(
        MistClassifier.from_settings(**tree), n_trees, adapt=adapt, random_state=3, **options
    )


def rows(seed=0, n=400, n_classes=4, d=4):
    """Two clusters a class, classes in pairs, so that trees split and classes keep arriving."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(n_classes, size=n) // 2) * 2 + rng.integers(2, size=n)
    centres = rng.uniform(0, 6, (n_classes, 2, d))
    return rng.normal(centres[y, rng.integers(2, size=n)], 1.0), y


def prints(model):
    """All that a forest has learnt, comparable bit for bit."""
    return (
        [fingerprint(tree) for tree in model.trees_],
        model._masses.tolist(),
        model.n_rows_,
        model.classes_.tolist(),
        model.n_features_in_,
    )


def learnt(tree=FULL, **options):
    return forest(tree, **options).partial_fit(*rows())


def break_tree(tree):
    """Make every score of a tree infinite, so that its probabilities are NaN."""
    tree._state.tree.cells.norm[:] = np.inf


# -- agreement with the twin -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "bootstrap"), [(DEFAULT, False), (FULL, False), (PLAIN, False), (PLAIN, True)]
)
def test_a_forest_is_the_mean_of_independent_trees(tree, bootstrap):
    X, y = rows(n=240)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(y), p=[0.1, 0.6, 0.3])
    model = forest(tree, n_trees=3, bootstrap=bootstrap)
    foretold = model.prequential(X, y, sample_weight=weights)
    twin = NaiveForest({**tree, "max_features": 0.5}, 3, bootstrap, seed=3)
    for x, label, weight, told in zip(X, y, weights, foretold, strict=True):
        if twin.rows:
            shares = twin.answer(x)
            assert told == max(shares, key=shares.get)
        twin.learn_row(x, label, weight)
    assert model.n_splits_ > 3
    assert [t.split_log_ for t in model.trees_] == [t.split_log_ for t in twin.trees]
    answers = np.array([list(twin.answer(x).values()) for x in X])
    np.testing.assert_array_equal(by_trees(model, X), answers)
    if model.trees_[0].class_prior == "balanced":
        answers *= [twin.masses[label] for label in model.classes_.tolist()]
        answers /= answers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), answers)
    assert model.n_rows_ == twin.rows == (weights > 0).sum()


def test_resampled_weights_equal_the_twin_and_are_poisson():
    weights = np.random.default_rng(0).choice([0.0, 1.0, 0.5], 4000)
    out = np.empty(len(weights))
    resample(7, 100, weights, out)
    numbers = 100 + np.cumsum(weights > 0) - 1
    twin = [w * poisson(uniform(7, 6, int(i), 0, 0)) for w, i in zip(weights, numbers, strict=True)]
    assert out.tolist() == twin
    copies = out[weights > 0] / weights[weights > 0]
    error = 1 / math.sqrt(len(copies))
    assert abs(copies.mean() - 1) < 4 * error
    assert abs(copies.var() - 1) < 4 * math.sqrt(3) * error


def test_without_an_estimator_the_trees_have_the_settings_of_the_preset():
    X, y = rows(n=60)
    model = MistForest(n_trees=2, max_features=0.25).fit(X, y)
    expected = {
        **MistClassifier().settings(),
        "split_test": "schedule",
        "grace_period": 100,
        "max_features": 0.25,
        "adapt": "classes",
    }
    for tree in model.trees_:
        assert tree.settings() == {**expected, "random_state": tree.random_state}
    assert len({tree.random_state for tree in model.trees_}) == 2


# -- what may not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("bootstrap", [False, True])
def test_sizes_of_batches_and_threads_do_not_matter_bit_for_bit(bootstrap, monkeypatch):
    X, y = rows()
    weights = np.random.default_rng(1).choice([0.0, 1.0, 0.3, 2.5], len(y))
    whole = forest(bootstrap=bootstrap)
    foretold = whole.prequential(X, y, sample_weight=weights)
    assert whole.n_splits_ > 4
    answers = whole.predict_proba(X)
    # So many rows at a time as have room: 7 with all four classes.
    monkeypatch.setattr(mist.forest, "_MOST_SHARES", 7 * 4 * 4)
    for n_jobs, borders in ((2, []), (None, [1, 2, 50, 333]), (-1, [100])):
        told = forest(bootstrap=bootstrap, n_jobs=n_jobs)
        parts = [
            told.prequential(X[part], y[part], sample_weight=weights[part])
            for part in np.split(np.arange(len(y)), borders)
        ]
        assert np.concatenate(parts)[1:].tolist() == foretold[1:].tolist()
        assert prints(told) == prints(whole)
        np.testing.assert_array_equal(told.predict_proba(X), answers)
        np.testing.assert_array_equal(told.predict(X), whole.predict(X))
        told.set_params(decision="counts")
        np.testing.assert_array_equal(told.predict(X), answers.argmax(axis=1))
    taught = forest(bootstrap=bootstrap).partial_fit(X, y, sample_weight=weights)
    assert prints(taught) == prints(whole)


def test_rows_one_by_one_and_rows_of_weight_0_left_out():
    X, y = rows(n=120)
    weights = np.arange(len(y)) % 3 / 2
    whole = forest(bootstrap=True).partial_fit(X, y, sample_weight=weights)
    single = forest(bootstrap=True)
    for x, label, weight in zip(X, y, weights, strict=True):
        single.learn_one(x, label, weight)
    kept = weights > 0
    fewer = forest(bootstrap=True).partial_fit(X[kept], y[kept], sample_weight=weights[kept])
    assert prints(single) == prints(whole) == prints(fewer)
    answers = whole.predict_proba(X[:5])
    assert [list(single.predict_proba_one(x).values()) for x in X[:5]] == answers.tolist()
    assert [single.predict_one(x) for x in X[:5]] == whole.predict(X[:5]).tolist()
    np.testing.assert_array_equal(whole.predict_log_proba(X[:5]), np.log(answers))


def test_names_of_the_labels_do_not_matter():
    X, y = rows()
    names = np.array(["d", "c", "b", "a"])
    by_number, by_name = forest().fit(X, y), forest().fit(X, names[y])
    assert by_name.classes_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(by_name.predict_proba(X)[:, ::-1], by_number.predict_proba(X))


def test_ties_go_to_the_label_that_sorts_first():
    X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    model = forest().fit(X, ["b", "b", "a", "a"])
    assert model.predict_proba([[0.5]]).tolist() == [[0.5, 0.5]]
    assert model.predict([[0.5]]).tolist() == ["a"]
    assert model.predict_one([0.5]) == "a"


# -- trees without a vote ----------------------------------------------------------------------


def test_the_mean_leaves_out_who_has_no_vote():
    one = np.array([[0.5, 0.5], [np.nan, 1.0], [0.0, 0.0], [np.inf, 0.0]])
    other = np.array([[0.0, 1.0], [0.2, 0.8], [0.0, 0.0], [0.3, 0.7]])
    means, votes = mean_posterior([one, other])
    assert means.tolist() == [[0.25, 0.75], [0.2, 0.8], [0.0, 0.0], [0.3, 0.7]]
    assert votes.tolist() == [2, 1, 0, 1]


def test_a_broken_tree_does_not_touch_the_vote_of_the_others():
    X, y = rows()
    model = learnt(PLAIN)
    broken, *sound = model.trees_
    break_tree(broken)
    assert np.isnan(broken.predict_proba(X)).any(axis=1).all()
    means, votes = mean_posterior([tree.predict_proba(X) for tree in sound])
    assert (votes == len(sound)).all()
    np.testing.assert_array_equal(model.predict_proba(X), means)
    np.testing.assert_array_equal(model.predict(X), means.argmax(axis=1))
    np.testing.assert_array_equal(
        model.prequential(X, y, np.arange(len(y)) == 0)[:1], means[:1].argmax(axis=1)
    )


def test_a_broken_cell_costs_its_tree_no_more_than_the_rows_of_its_leaf():
    X, _ = rows()
    model = learnt(PLAIN)
    tree = model.trees_[0]
    before = np.array([each.predict_proba(X) for each in model.trees_])
    leaf = tree.apply(X)[0]
    cell = tree._state.tree.leaves.first[tree._state.tree.nodes.leaf[leaf]]
    tree._state.tree.cells.norm[cell] = np.inf
    hit = tree.apply(X) == leaf
    assert hit.any()
    assert not hit.all()
    answers = model.predict_proba(X)
    np.testing.assert_array_equal(answers[~hit], mean_posterior(list(before))[0][~hit])
    np.testing.assert_array_equal(answers[hit], mean_posterior(list(before[1:]))[0][hit])


def test_without_any_vote_the_frequencies_of_the_classes_answer(monkeypatch):
    X, y = rows()
    model = learnt(PLAIN)
    masses = np.bincount(y)
    for tree in model.trees_:
        break_tree(tree)
    np.testing.assert_array_equal(model.predict_proba(X[:3]), [masses / len(y)] * 3)
    rare, most = int(masses.argmin()), int(masses.argmax())
    lead = int(masses[most] - masses[rare])
    monkeypatch.setattr(MistClassifier, "_learn_batch", learn_in_silence)
    # Rows of the same call count, too, each from the next row on.
    told = model.prequential(X[: lead + 2], np.full(lead + 2, rare))
    assert told.tolist() == [most] * (lead + (most < rare)) + [rare] * (2 - (most < rare))


def learn_in_silence(tree, batch, out=None, shares=None, guesses=None):
    """Stand in for a tree that has no vote."""
    if shares is not None:
        shares[:] = np.nan


def test_a_tree_that_has_drawn_no_row_yet_abstains():
    model = forest(bootstrap=True, n_trees=10).learn_one([1.0, 2.0], "b")
    drawn = sum(tree.n_rows_ for tree in model.trees_ if tree.__sklearn_is_fitted__())
    assert 0 < drawn < 10
    assert all(tree.classes_.tolist() == ["b"] for tree in model.trees_)
    assert model.n_leaves_ == drawn
    assert model.predict_proba([[3.0, 4.0]]).tolist() == [[1.0]]
    for seed in range(20):
        lone = MistForest(n_trees=1, bootstrap=True, random_state=seed).learn_one([1.0], "b")
        assert lone.predict([[0.0]]).tolist() == ["b"]
        assert lone.prequential([[0.0]], ["c"]).tolist() == ["b"]
        if not lone.n_leaves_:
            assert math.isnan(lone.leaf_impurity_)
            break
    else:
        pytest.fail("no seed gave the first row the number 0")


# -- labels, columns, weights ------------------------------------------------------------------


def test_classes_are_known_to_all_trees_whatever_they_have_drawn():
    X, y = rows(n=20)
    model = forest(bootstrap=True).partial_fit(X, y, classes=[9], sample_weight=y + 0.5)
    model.partial_fit(X[:1], [7])
    assert model.classes_.tolist() == sorted({*y, 7, 9})
    for tree in model.trees_:
        assert tree.classes_.tolist() == model.classes_.tolist()
    shares = model.predict_proba(X)
    assert shares.shape == (20, len(model.classes_))
    assert (shares[:, -1] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_weights_are_copies():
    X, y = rows(n=200)
    weights = np.arange(len(y)) % 3
    unsplit = {**PLAIN, "max_leaves": 1}
    weighted = forest(unsplit).fit(X, y, sample_weight=weights).predict_proba(X)
    copied = forest(unsplit).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted, copied.predict_proba(X), rtol=1e-9)


def test_mappings_may_bring_new_columns():
    model = forest(PLAIN)
    for i in range(40):
        model.learn_one({"a": i % 2 + i / 100}, i % 2)
    model.learn_one({"a": 7.0, "b": 1.0, 3: 0.0}, 2)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    for tree in model.trees_:
        assert tree._state.n_features == 3
    assert [model.predict_one({"a": a}) for a in (0.2, 1.2)] == [0, 1]
    assert model.predict_one({"b": 1.0, "c": 5.0, "a": 7.0}) == 2


def test_columns_by_name():
    pd = pytest.importorskip("pandas")
    X, y = rows(n=100)
    frame = pd.DataFrame(X, columns=list("abcd"))
    tree = MistClassifier.from_settings(**PLAIN, categorical_features=["d"])
    frame["d"] = frame["d"] > 3
    model = MistForest(tree, 3).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert all(t.feature_names_in_.tolist() == list("abcd") for t in model.trees_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("badc")])
    by_position = MistForest(clone(tree).set_params(categorical_features=[3]), 3)
    by_position.fit(frame.to_numpy(dtype=float), y)
    assert prints(by_position)[0][0][0] == prints(model)[0][0][0]


# -- refusals ----------------------------------------------------------------------------------

GOOD = [[0.0, 1.0, 2.0, 3.0]]


@pytest.mark.parametrize("call", ["partial_fit", "prequential"])
@pytest.mark.parametrize(
    ("X", "y", "options", "match"),
    [
        ([[0.0, np.inf, 0.0, 0.0]], [0], {}, "infinity at row 0, column 1"),
        ([[0.0, 1.0, 2.0]], [0], {}, "features"),
        (GOOD, ["text"], {}, "mixes text labels with numbers"),
        (GOOD, [0, 1], {}, "1 rows, but y has 2 labels"),
        (GOOD, [0], {"n_trees": 3}, "n_trees was changed from 4 to 3"),
        (GOOD, [0], {"n_trees": 0}, "n_trees"),
        (GOOD, [0], {"n_jobs": 0}, "n_jobs"),
        (GOOD, [0], {"bootstrap": "yes"}, "bootstrap"),
        (GOOD, [0], {"estimator": 3}, "estimator"),
        (GOOD, [0], {"max_features": 1.5}, "max_features=1.5"),
        (GOOD, [0], {"estimator__delta": 2.0}, "delta=2.0"),
        (GOOD, [0], {"estimator__leaf": "majority"}, "leaf was changed"),
    ],
)
def test_a_refused_call_leaves_no_trace(call, X, y, options, match):
    model = learnt()
    before = prints(model), [tree.get_params() for tree in model.trees_]
    given = clone(model).get_params(deep=False)
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(model.set_params(**options), call)(X, y)
    assert (prints(model), [tree.get_params() for tree in model.trees_]) == before
    model.set_params(**given).partial_fit(GOOD, [0])
    assert prints(model) == prints(learnt().partial_fit(GOOD, [0]))


def test_a_refused_first_call_leaves_nothing():
    model = forest()
    before = dict(vars(model))
    for call in (model.fit, model.partial_fit, model.prequential):
        with pytest.raises(ValueError, match="column 1"):
            call([[0.0, np.inf]], [0])
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        model.fit(GOOD, [0], sample_weight=[0.0])
    assert vars(model) == before
    with pytest.raises(NotFittedError, match="This MistForest has learnt nothing yet"):
        model.predict(GOOD)
    assert model.predict_one(GOOD[0]) is None
    assert model.predict_proba_one(GOOD[0]) == {}
    assert model.nbytes == 0


# -- as an object ------------------------------------------------------------------------------


def test_options_set_later_apply_to_all_trees():
    X, y = rows()
    model = forest({**FULL, "max_leaves": 1}).partial_fit(X, y)
    assert (model.n_splits_, model.n_leaves_, model.depth_) == (0, 4, 0)
    model.set_params(estimator__max_leaves=None, max_features=None).partial_fit(X, y)
    assert all(tree.n_splits_ > 0 for tree in model.trees_)
    assert all(tree.settings()["max_features"] is None for tree in model.trees_)


def test_sizes_are_sums_and_means_over_the_trees():
    model = learnt()
    trees = model.trees_
    assert model.n_leaves_ == sum(tree.n_leaves_ for tree in trees)
    assert model.n_splits_ == sum(len(tree.split_log_) for tree in trees)
    assert model.depth_ == max(tree.depth_ for tree in trees)
    assert model.leaf_impurity_ == pytest.approx(np.mean([t.leaf_impurity_ for t in trees]))
    assert model.classes_per_leaf_ == pytest.approx(np.mean([t.classes_per_leaf_ for t in trees]))
    assert model.nbytes == sum(tree.nbytes for tree in trees) + model._masses.nbytes
    assert len({tree.export_text() for tree in trees}) > 1
    assert f"# 400 rows, 4 classes, {model.n_leaves_} leaves, " in repr(model)
    assert "#" not in repr(clone(model))


def test_copies_learn_on_as_the_original(tmp_path):
    X, y = rows()
    model = learnt(bootstrap=True)
    joblib.dump(model, tmp_path / "forest")
    copies = [
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "forest", mmap_mode="r"),
    ]
    model.partial_fit(X[:50] + 1, y[:50] + 2)
    for copy in copies:
        copy.partial_fit(X[:50] + 1, y[:50] + 2)
        assert prints(copy) == prints(model)


def test_fit_forgets_what_was_learnt_before():
    X, y = rows()
    used = forest().partial_fit(X[:, :2] + 7, y + 5)
    assert prints(used.fit(X, y)) == prints(forest().fit(X, y))
    assert used.estimator.get_params() == forest().estimator.get_params()
