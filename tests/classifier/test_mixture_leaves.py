"""Full and mixture leaves from outside: batches, questions, refusals, copies, growing trees."""

import copy
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

from material import BINARY, EAGER, fingerprint, mixed_rows
from mist.engine.gaussian_mixtures import FREE_COMPONENT
from mist.flat_settings import set_settings
from published import paper_tree

pytestmark = pytest.mark.parametrize("leaf", ["full", "mixture"])


def whole_rows(seed, n=400, n_classes=3):
    """Rows without missing values, of classes with two modes each."""
    X, y = mixed_rows(seed, n=n, n_classes=n_classes, holes=0.0)
    numeric = np.arange(4) != BINARY
    X[::2, numeric] += 9.0
    return X, y


def eager(leaf, **options):
    return paper_tree(leaf, categorical_features=[BINARY], **{**EAGER, **options})


def calm(leaf):
    return paper_tree(leaf, categorical_features=[BINARY], grace_period=10**9)


def with_holes(X, seed=0, share=0.15):
    """The same rows with values missing, from the fortieth row on."""
    X = X.copy()
    holes = np.random.default_rng(seed).random(X.shape) < share
    X[40:][holes[40:]] = np.nan
    return X


@pytest.mark.parametrize("holed", [False, True], ids=["whole", "holes"])
@pytest.mark.parametrize("model", [eager, calm])
def test_sizes_of_batches_do_not_matter_bit_for_bit(leaf, model, holed):
    X, y = whole_rows(0)
    X = with_holes(X) if holed else X
    rng = np.random.default_rng(0)
    weights = rng.choice([0.0, 1.0, 2.5], len(X))
    whole = model(leaf).partial_fit(X, y, sample_weight=weights)
    assert (whole.n_splits_ > 2) == (model is eager)
    assert model is eager or leaf == "full" or (whole._state.model.cells.n > 1).any()
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
    model = paper_tree(leaf, categorical_features=[0, 1, 2]).partial_fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("inheritance", ["gaussian", "joint"])
def test_trees_that_grow_on_rows_with_holes_stay_finite(leaf, inheritance):
    X, y = whole_rows(4, n=600)
    X = with_holes(X)
    X[y == 1, 3] = np.nan  # of this class the column is never known
    model = eager(leaf, inheritance=inheritance).partial_fit(X, y)
    assert model.n_splits_ > 2
    assert any(split.feature == 3 for split in model.split_log_)
    rows = np.vstack([X, whole_rows(5)[0], np.full((1, 4), np.nan)])
    shares = model.predict_proba(rows)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    best = shares[np.arange(len(rows)), model.predict(rows)]
    np.testing.assert_array_equal(best, shares.max(axis=1))


def test_a_class_that_begins_with_a_hole_in_a_used_place_knows_nothing_of_the_column(leaf):
    X, y = whole_rows(0)
    model = eager(leaf).partial_fit(with_holes(X), y)
    state = model._state
    assert state.model.counters[FREE_COMPONENT] >= 0  # left over from a split
    row = X[-1:].copy()
    row[0, 0] = np.nan
    model.partial_fit(row, [9])
    mixture, cells = state.model, state.tree.cells
    cell = int(np.flatnonzero((cells.code == cells.code.max()) & (cells.leaf >= 0))[0])
    component = mixture.cells.first[cell]
    expected = np.append(np.delete(row[0], BINARY), row[0, BINARY])
    assert state.observed.model.own.weight[component].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert mixture.own.mean[component, 1:].tolist() == expected[1:].tolist()
    assert np.isfinite(mixture.own.m2[component]).all()


def test_a_hole_leaves_a_column_out(leaf):
    """What is learnt and asked without a column equals what never had it."""
    X, y = whole_rows(6)
    holed = X.copy()
    holed[:, 2] = np.nan
    there = calm(leaf).partial_fit(holed, y)
    never = calm(leaf).partial_fit(np.delete(X, 2, axis=1), y)
    np.testing.assert_allclose(
        there.predict_proba(holed), never.predict_proba(np.delete(X, 2, axis=1)), atol=1e-9
    )
    # A value that no class knows anything of decides nothing.
    np.testing.assert_allclose(there.predict_proba(X), there.predict_proba(holed), atol=1e-12)


def test_a_hole_in_a_question_is_answered_by_the_marginal_density(leaf):
    X, y = whole_rows(7)
    model = set_settings(calm(leaf), max_components=1).partial_fit(X, y)
    asked = X[:50].copy()
    asked[:, 2] = np.nan
    grid = np.linspace(-20.0, 40.0, 4001)
    tree = model._state.tree
    masses = np.log(tree.cells.mass[:3] + 1)
    scores = []
    for x in asked[:5]:
        filled = np.repeat(x[None], grid.size, axis=0)
        filled[:, 2] = grid
        joint = scores_of(model, filled) - masses
        scores.append(np.log(np.exp(joint).sum(axis=0)) + masses)
    expected = np.array(scores)
    expected = np.exp(expected - expected.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    codes = [model._labels.ranks[code] for code in tree.cells.code[:3]]
    np.testing.assert_allclose(model.predict_proba(asked[:5])[:, codes], expected, atol=1e-6)


def scores_of(model, rows):
    """Log prior plus log density of whole rows, in cells of one component each."""
    state, order = model._state, model._order
    mixture, tree, a = state.model, state.tree, state.options.n_numeric
    out = np.empty((len(rows), 3))
    for cell in range(3):
        k = mixture.cells.first[cell]
        F = np.zeros((a, a))
        F[np.tril_indices(a)] = mixture.factor[k]
        away = (rows[:, order[:a]] - mixture.own.mean[k, :a]) @ F.T
        odds = rows[:, order[a:]] @ mixture.own.odds[k]
        density = mixture.components["constant"][k] + odds - 0.5 * (away**2).sum(axis=1)
        out[:, cell] = np.log(tree.cells.mass[cell] + 1) + density
    return out


def test_a_new_column_is_told_apart_from_nothing_known(leaf):
    """New columns come with the limit on covariances, and a refusal leaves no trace."""
    model = paper_tree(leaf).learn_one({f"c{j}": float(j) for j in range(3)}, 0)
    model.learn_one({"c0": 2.0, "c1": 1.0, "new": 5.0}, 1)
    assert model.n_features_in_ == 4
    before = fingerprint(model)
    with pytest.raises(ValueError, match=re.escape("at most 1024 numeric columns, got 1025")):
        model.learn_one({f"d{j}": 1.0 for j in range(1021)}, 0)
    assert fingerprint(model) == before
    assert model.n_features_in_ == 4


def test_a_class_with_values_too_large_to_add_up_leaves_the_others_alone(leaf):
    X, y = whole_rows(8)
    model = calm(leaf).partial_fit(X, y)
    broken = calm(leaf).partial_fit(X, y)
    rows = np.zeros((4, 4))
    rows[::2, 0], rows[1::2, 0] = 1e150, -1e150
    broken.partial_fit(rows, [9] * 4, sample_weight=[2.0**31] * 4)
    shares = broken.predict_proba(with_holes(X))
    assert np.isfinite(shares).all()
    # The others keep their covariances: the broken class is left out of what they share.
    np.testing.assert_allclose(broken.predict_proba(X)[:, :3], model.predict_proba(X), atol=0.05)
    broken.partial_fit(with_holes(X), y)
    assert np.isfinite(broken.predict_proba(X)).all()
    assert broken.score(X, y) > 0.9


@pytest.mark.parametrize("size", [1e150 / 30, 1e-150, 1e-310])
def test_extreme_values_with_holes_give_finite_answers(leaf, size):
    X, y = whole_rows(2)
    rows = with_holes(np.where(np.arange(4) == BINARY, X, X * size))
    rows[3, 0] = 1e150
    model = calm(leaf).partial_fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_more_columns_than_full_covariances_are_kept_of_are_refused(leaf):
    X = np.zeros((2, 1025))
    if leaf == "full":
        with pytest.raises(ValueError, match=re.escape("at most 1024 numeric columns, got 1025")):
            paper_tree(leaf).partial_fit(X, [0, 1])
    else:
        assert paper_tree(leaf).partial_fit(X, [0, 1]).predict(X).tolist() == [0, 0]
    # Columns of zeros and ones have no covariances.
    paper_tree(leaf, categorical_features=np.arange(1, 1025)).partial_fit(X, [0, 1])


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
