"""Classes of a forest that are renamed, joined and dropped after they were learnt."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from adaptation_streams import everything
from material import arrays, by_trees
from mist import MistClassifier, MistForest, load
from mist.baselines.random_feature_lda import solve
from mist.engine.state import M2, MEAN, N_LEAVES, find_cell, leaf_cells
from mist.persistence.validate import check_forest
from mist.settings import PAPER_SETTINGS

TREE = {**PAPER_SETTINGS, "thresholds": "gaussian", "split_test": "schedule", "grace_period": 20}
KINDS = {
    "trees": {},
    "features": {"random_features": 20},
    "bootstrap": {"bootstrap": True},
    "stream": {"adapt": "stream"},
}
EACH = pytest.mark.parametrize("kind", KINDS)


def forest(kind="trees", **tree):
    options = {"adapt": None, "random_state": 3, **KINDS[kind]}
    return MistForest(
        MistClassifier.from_settings(**{**TREE, "rows_per_split": 60, **tree}), 3, **options
    )


def rows(seed=0, n=400, n_classes=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.normal(3.0 * y[:, None] * [1.0, -1.0, 0.5], 1.0), np.array(list("abcde"))[y]


def learnt(model):
    """All that a forest has learnt, comparable bit for bit."""
    restarted = model._restarted
    trees = [tree for pair in ([] if restarted is None else restarted.pairs) for tree in pair]
    parts = [
        None if model._head is None else model._head.model._state,
        None if model._expectation is None else model._expectation.state,
    ]
    return (
        [everything(tree) for tree in model.trees_],
        [everything(tree) for tree in trees if tree._has_learnt()],
        [a.tobytes() for part in parts if part is not None for a in arrays(tuple(part))],
        model._masses.tolist(),
    )


def check(model):
    """Refuse a forest whose parts do not fit together."""
    check_forest(model)
    n_codes = len(model._labels.codes)
    assert len(model._masses) == n_codes
    for tree in model.trees_:
        assert tree.classes_ is model.classes_
    if model._expectation is not None:
        assert model._expectation.n_codes == n_codes
        for tree in (tree for pair in model._restarted.pairs for tree in pair):
            assert not tree._has_learnt() or set(tree.classes_) <= set(range(n_codes))
    if model._head is not None and model._head._knows():
        assert set(model._head.model.classes_) <= set(range(n_codes))


def codes_of(tree):
    """Codes of the classes of a tree that is one leaf."""
    return tree._state.tree.cells.code[leaf_cells(tree._state.tree, 0)].tolist()


def moments_of(tree, label):
    """Weight, means and squared deviations of a class at the root."""
    state = tree._state.tree
    cell = find_cell(state, 0, tree._labels.codes[label])
    assert state.counters[N_LEAVES] == 1
    return [state.cells.weight[cell], *state.stats[cell, MEAN], *state.stats[cell, M2]]


@EACH
def test_a_new_name_changes_nothing_else(kind):
    X, y = rows()
    model = forest(kind).partial_fit(X, y)
    assert model.rename_class("b", "z") is model
    assert model.classes_.tolist() == ["a", "c", "d", "e", "z"]
    other = forest(kind).partial_fit(X, np.where(y == "b", "z", y))
    assert learnt(model) == learnt(other)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    check(model)


@EACH
def test_a_joined_class_is_as_if_it_had_always_had_the_label(kind):
    X, y = rows(1)
    typo = np.random.default_rng(0).random(len(y)) < 0.3
    typo[:60] = False  # the first rows set the scale of the random features
    wrong = np.where(typo & (y == "b"), "bb", y)
    model = forest(kind, max_leaves=1).partial_fit(X, wrong).rename_class("bb", "b")
    wanted = forest(kind, max_leaves=1).partial_fit(X, y)
    check(model)
    np.testing.assert_allclose(model._masses, wanted._masses, rtol=1e-14)
    if model._head is not None:
        for name in ("mass", "means", "born", "progress"):
            mine, other = (getattr(each._head.model._state, name) for each in (model, wanted))
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
        scatters = [np.triu(each._head.model._state.scatter) for each in (model, wanted)]
        np.testing.assert_allclose(*scatters, rtol=1e-7, atol=1e-7)
        # The covariance in use is that of the last refresh; joining is one.
        state = wanted._head.model._state
        solve(state, float(state.progress[0]))
    for label in "abcde":
        moments = [moments_of(tree, label) for each in (model, wanted) for tree in each.trees_]
        np.testing.assert_allclose(moments[:3], moments[3:], rtol=1e-9, atol=1e-9)
    # Leaves refresh their pooled variances when they have grown by 1/256.
    np.testing.assert_allclose(by_trees(model, X), by_trees(wanted, X), atol=1e-4)
    for each in (model, wanted):
        each.partial_fit(X, y)
    np.testing.assert_allclose(by_trees(model, X), by_trees(wanted, X), atol=1e-4)


@EACH
@pytest.mark.parametrize("label", "ace")
def test_any_class_can_be_joined_or_dropped(kind, label, tmp_path):
    X, y = rows(2)
    others = [each for each in "abcde" if each != label]
    model = forest(kind).partial_fit(X, y)
    assert model.drop_class(label).classes_.tolist() == others
    assert model.n_rows_ == len(y)
    check(model)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    kept = y != label
    assert np.mean(model.predict(X[kept]) == y[kept]) > 0.9
    model.save(tmp_path / "model.mist")
    again = load(tmp_path / "model.mist")
    assert learnt(again) == learnt(model)
    for each in (model, again):
        each.partial_fit(X, y)
        each.rename_class("b", label)
        assert each.classes_.tolist() == [name for name in "abcde" if name != "b"]
        check(each)
        each.prequential(X, y)
        check(each)
    assert learnt(again) == learnt(model)


def test_trees_that_know_no_other_class_start_again():
    X, y = np.array([[0.0, 1.0, 0.0], [3.0, 1.0, 5.0]]), np.array(["a", "b"])
    model = forest("bootstrap").set_params(n_trees=12).partial_fit(X, y)
    trees = [tree for tree in model.trees_ if tree._has_learnt()]
    known = [set(codes_of(tree)) for tree in trees]
    assert {0} in known
    assert {1} in known
    first, second = model._labels.codes
    model.drop_class(first)
    check(model)
    assert [tree._has_learnt() for tree in trees] == [codes != {0} for codes in known]
    assert set(model.predict(X)) == {second}
    model.partial_fit(np.repeat(X, 20, axis=0), np.repeat(y, 20))
    assert all(tree._has_learnt() for tree in model.trees_)
    assert model.predict(X).tolist() == ["a", "b"]


def test_a_discriminant_that_knows_no_other_class_starts_again():
    X, y = rows(4, 60, 2)
    X[y == "b", 0] = np.nan
    model = forest("features").partial_fit(X, y).drop_class("a")
    check(model)
    assert not model._head._knows()
    assert (model.predict(X) == "b").all()
    model.partial_fit(np.nan_to_num(X), y)
    assert model._head.model.classes_.tolist() == [0, 1]


def test_the_discriminant_drops_a_class_and_keeps_the_covariance():
    X, y = rows(5)
    model = forest("features").partial_fit(X, y)
    before = model._head.model._state
    mass, code = before.mass.copy(), model._head.model._labels.codes[model._labels.codes["c"]]
    spread = np.triu(before.scatter) / before.progress[0]
    model.drop_class("c")
    state = model._head.model._state
    assert state.progress[0] == mass.sum() - mass[code]
    assert state.mass.sum() == state.progress[0]
    np.testing.assert_allclose(np.triu(state.scatter) / state.progress[0], spread, atol=1e-12)
    assert state.born.max() <= state.progress[0] < state.progress[1]


@EACH
def test_refusals(kind):
    with pytest.raises(NotFittedError):
        forest(kind).drop_class("a")
    X, y = rows()
    model = forest(kind).partial_fit(X, y, classes=["q"])
    before = learnt(model)
    with pytest.raises(ValueError, match=r"no class has the label 'x'; classes_ holds 'a', 'b'"):
        model.rename_class("x", "a")
    with pytest.raises(ValueError, match="mixes text labels with numbers"):
        model.rename_class("a", 3)
    if kind != "features":
        with pytest.raises(ValueError, match="a fork cannot"):
            model.fork().drop_class("a")
    assert learnt(model) == before
    assert model.rename_class("q", "r").classes_.tolist() == [*"abcde", "r"]
    assert model.drop_class("r").classes_.tolist() == list("abcde")
    for label in "bcde":
        model.drop_class(label)
    with pytest.raises(ValueError, match="'a' is the only class with rows"):
        model.drop_class("a")
    check(model)
    assert (model.predict(X) == "a").all()


def test_predictions_of_the_next_row_go_on():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 4, 60), 20)
    X, labels = rng.normal(size=(1200, 2)) + y[:, None], np.array(list("abcd"))[y]
    model = forest("stream").partial_fit(X[:1000], labels[:1000])
    model.rename_class("d", "a").drop_class("b")
    rest = np.where(labels == "d", "a", labels)
    kept = np.flatnonzero((np.arange(1200) >= 1000) & (rest != "b"))
    assert np.mean(model.prequential(X[kept], rest[kept]) == rest[kept]) > 0.85
