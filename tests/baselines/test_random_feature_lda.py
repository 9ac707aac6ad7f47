"""The discriminant on random features: order, merging, scale, refreshes, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from mist.baselines import SLDA, RandomFeatureLDA, random_feature_lda

DUE = 126
"""One of the numbers of rows at which the head is made anew."""


def blobs(n, d=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(n_classes, d))[y], y


def assert_same(one, other):
    X, _ = blobs(50, seed=9)
    order = np.argsort(one._labels.ranks), np.argsort(other._labels.ranks)
    for name in ("mass", "means"):
        values = getattr(one._state, name)[order[0]], getattr(other._state, name)[order[1]]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(one._state.scatter, other._state.scatter, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("scale_rows", [0, 50, 53])
def test_with_a_fixed_scale_the_order_of_rows_does_not_matter(scale_rows):
    X, y = blobs(DUE)
    order = np.random.default_rng(1).permutation(np.arange(scale_rows, DUE))
    order = np.append(np.arange(scale_rows), order)
    model = RandomFeatureLDA(n_features=30, scale_rows=scale_rows)
    assert_same(clone(model).fit(X, y), clone(model).fit(X[order], y[order]))


@pytest.mark.parametrize("n", [7, 50, DUE])
def test_the_order_of_the_rows_that_make_the_scale_does_not_matter(n):
    X, y = blobs(n)
    first = np.random.default_rng(1).permutation(min(n, 50))
    order = np.append(first, np.arange(len(first), n))
    model = RandomFeatureLDA(n_features=30)
    assert_same(clone(model).fit(X, y), clone(model).fit(X[order], y[order]))


def test_states_of_two_halves_add_up_to_that_of_the_whole():
    X, y = blobs(200)
    y[:3] = y[80:83] = [0, 1, 2]
    model = RandomFeatureLDA(n_features=30, scale_rows=0)
    whole = clone(model).fit(X, y)._state
    a = clone(model).fit(X[:80], y[:80])._state
    b = clone(model).fit(X[80:], y[80:])._state
    gap = b.means - a.means
    between = (gap.T * (a.mass * b.mass / (a.mass + b.mass))) @ gap
    means = a.means + gap * (b.mass / (a.mass + b.mass))[:, None]
    np.testing.assert_allclose(means, whole.means, rtol=1e-9, atol=1e-12)
    scatter = a.scatter + b.scatter + np.triu(between)
    np.testing.assert_allclose(scatter, whole.scatter, rtol=1e-9, atol=1e-9)


def test_half_of_the_features_are_dense_and_half_read_one_to_three_columns():
    model = RandomFeatureLDA(n_features=4001).partial_fit(np.zeros((1, 25)), [0])
    dense, sparse = np.split(model._state.projection, [2000], axis=1)
    assert dense.std() == pytest.approx(0.2, rel=0.02)
    assert model._state.offsets[:2000].std() == pytest.approx(0.5, rel=0.1)
    assert model._state.offsets[2000:].std() == pytest.approx(1.0, rel=0.1)
    counts = np.bincount((sparse != 0.0).sum(axis=0))
    assert counts[0] == 0
    assert (counts[1:] > 600).all()
    assert len(counts) == 4
    np.testing.assert_allclose((sparse**2).sum(axis=0), 1.0)
    assert (abs(sparse).sum(axis=1) > 0.0).all()


def test_the_scale_is_that_of_the_first_rows_and_stays():
    X, y = blobs(100)
    X = X * [1.0, 1e4, 1e-3, 5.0] + [0.0, 7.0, 1e3, -2.0]
    model = RandomFeatureLDA(n_features=10, scale_rows=60)
    state = model.partial_fit(X[:59], y[:59])._state
    assert state.scaled_at[0] == 60.0
    model.partial_fit(X[59:60], y[59:60])
    for _ in range(2):
        np.testing.assert_allclose(model._state.centre, X[:60].mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(model._state.spread, X[:60].std(axis=0), rtol=1e-9)
        model.partial_fit(100.0 + X, y)


def test_units_of_the_columns_do_not_matter():
    X, y = blobs(150)
    model = RandomFeatureLDA(n_features=30)
    answers = clone(model).prequential(X, y)
    other = clone(model).prequential(X * [1e3, 1e-4, 2.0, 50.0] + 3.0, y)
    assert (answers[3:] == other[3:]).all()


def test_the_first_rows_keep_their_class_means_and_their_scatter_up_to_draws():
    X, y = blobs(60)
    model = RandomFeatureLDA(n_features=50, scale_rows=60).fit(X, y)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.array([z[y == c].mean(axis=0) for c in range(3)])
    codes = model._labels.encode([0, 1, 2])
    np.testing.assert_allclose(model._state.means[codes, :4], means, atol=1e-12)
    np.testing.assert_array_equal(model._state.mass[codes], np.bincount(y))
    rest = z - means[y]
    got, expected = np.triu(model._state.scatter[:4, :4]), np.triu(rest.T @ rest)
    assert abs(got - expected).max() < 0.2 * expected.max()


def test_a_column_that_was_constant_is_scaled_by_its_first_other_value():
    X, y = blobs(120)
    X[:70, 2] = 3.0
    X[70:, 2] = 3.0 - 8.0 * y[70:]
    y[70] = 1
    X[70, 2] = -1.0
    model = RandomFeatureLDA(n_features=10)
    model.fit(X[:70], y[:70])
    before = model.predict_proba(X[70:71])
    X[70, 2] = 8.0
    np.testing.assert_array_equal(before, model.predict_proba(X[70:71]))
    X[70, 2] = -1.0
    assert model._state.spread[2] == 0.0
    model.partial_fit(X[70:], y[70:])
    assert (model._state.centre[2], model._state.spread[2]) == (3.0, 4.0)


def test_columns_that_never_vary_are_harmless():
    X, y = blobs(150)
    X[:, 1] = 0.1
    model = RandomFeatureLDA(n_features=30)
    model.prequential(X, y)
    assert model.score(X, y) > 0.7
    still = RandomFeatureLDA(n_features=30).fit(np.ones((150, 2)), y)
    assert np.isfinite(still.predict_proba(X[:, :2])).all()


def count_solves(monkeypatch):
    sizes = []
    solve = random_feature_lda.solve

    def counted(state, n):
        sizes.append(n)
        solve(state, n)

    monkeypatch.setattr(random_feature_lda, "solve", counted)
    return sizes


def test_the_head_is_made_anew_at_numbers_of_rows_that_calls_do_not_change(monkeypatch):
    X, y = blobs(3000)
    y[1500:1600] = 7
    sizes = count_solves(monkeypatch)
    model = RandomFeatureLDA(n_features=10)
    model.prequential(X, y)
    assert sizes[:50] == list(range(1, 51))
    assert (np.diff(sizes[49:]) / sizes[49:-1] < 0.07).all()
    assert len(sizes) < 160
    assert {DUE, *(1500 + 2 ** np.arange(1, 9))} <= set(sizes)
    assert not {1501, 1503, 1507} & set(sizes)
    together, sizes[:] = list(sizes), []
    single = clone(model)
    for i in range(400):
        single.partial_fit(X[i : i + 1], y[i : i + 1])
    assert sizes == [n for n in together if n <= 400]
    sizes.clear()
    clone(model).partial_fit(X[:1000], y[:1000])
    assert sizes == [50, max(n for n in together if n <= 1000)]


def test_long_calls_equal_short_ones_when_a_class_comes_late():
    X, y = blobs(2600)
    y[1100:1200] = 7
    y[2590:] = 8
    whole = RandomFeatureLDA(n_features=10).fit(X, y)
    parts, tested = clone(whole), clone(whole)
    for rows in np.split(np.arange(2600), [60, 1090, 1101, 1150, 2000, 2591]):
        parts.partial_fit(X[rows], y[rows])
        tested.prequential(X[rows], y[rows])
    for other in (parts, tested):
        np.testing.assert_allclose(other._state.factor, whole._state.factor, atol=1e-9)
        np.testing.assert_array_equal(other._state.born, whole._state.born)
        assert_same(other, whole)


def test_a_row_of_great_weight_costs_one_solve(monkeypatch):
    X, y = blobs(60)
    weights = np.ones(60)
    weights[55] = 2.0**31
    sizes = count_solves(monkeypatch)
    model = RandomFeatureLDA(n_features=10)
    model.prequential(X, y, sample_weight=weights)
    assert len(sizes) == 50 + 2  # one at 53
    assert np.isfinite(model.predict_proba(X)).all()


def test_predicting_changes_nothing():
    X, y = blobs(130)
    model = RandomFeatureLDA(n_features=20).fit(X, y)
    before = [array.copy() for array in model._state]
    model.predict(X)
    for old, new in zip(before, model._state, strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_new_class_is_known_after_one_row_even_between_solves(monkeypatch):
    X, y = blobs(DUE)
    model = RandomFeatureLDA(n_features=20).fit(X, y)
    sizes = count_solves(monkeypatch)
    far = np.full((1, 4), 30.0)
    assert model.predict(far)[0] != 9
    model.partial_fit(far, [9])
    assert sizes == []
    assert model.predict(far + 0.1)[0] == 9


def test_priors_by_counts_favour_the_frequent_class():
    rng = np.random.default_rng(0)
    y = np.append(np.zeros(950, dtype=int), np.ones(50, dtype=int))
    X = rng.normal(size=(1000, 2)) + y[:, None]
    shares = [
        (RandomFeatureLDA(n_features=20, class_prior=prior).fit(X, y).predict(X) == 1).mean()
        for prior in ("balanced", "counts")
    ]
    assert shares[0] > 0.1
    assert shares[1] < 0.05


def test_the_memory_is_two_matrices_of_the_features():
    X, y = blobs(10, d=6)
    model = RandomFeatureLDA(n_features=500).partial_fit(X, y)
    assert 16 * 506**2 <= model.nbytes < 1.05 * 16 * 506**2


def test_digits_class_after_class_and_rings_beyond_a_linear_model():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    train, test = order[::2], order[1::2]
    model = RandomFeatureLDA(n_features=300).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.95
    assert model.score(X[test], y[test]) > SLDA().fit(X[train], y[train]).score(X[test], y[test])

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(900, 2))
    X *= ((1.0 + 2.0 * y + 0.2 * rng.normal(size=900)) / np.linalg.norm(X, axis=1))[:, None]
    assert RandomFeatureLDA(n_features=200).fit(X, y).score(X, y) > 0.97
    assert SLDA().fit(X, y).score(X, y) < 0.6


@pytest.mark.parametrize("class_prior", ["balanced", "counts"])
def test_merged_halves_are_the_whole(class_prior):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 6, 700)
    X = rng.normal(size=(6, 5))[y] * 2 + rng.normal(size=(700, 5))
    weights = rng.choice([0.5, 1.0, 2.0], 700)
    order = np.argsort(y // 2, kind="stable")  # the halves know different classes
    X, y, weights = X[order], y[order], weights[order]

    def learnt(rows):
        model = RandomFeatureLDA(n_features=60, scale_rows=0, class_prior=class_prior)
        return model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])

    whole = learnt(slice(None))
    for first, second in ((slice(0, 300), slice(300, None)), (slice(300, None), slice(0, 300))):
        merged = learnt(first).merge(learnt(second))
        assert merged.classes_.tolist() == whole.classes_.tolist()
        assert merged._state.progress[0] == pytest.approx(whole._state.progress[0])
        np.testing.assert_allclose(
            np.triu(merged._state.scatter), np.triu(whole._state.scatter), atol=1e-8
        )
        # The head of the whole is as old as its last refresh: bring it up to date.
        random_feature_lda.solve(whole._state, whole._state.progress[0])
        np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("options", [{"scale_rows": 20}, {"random_state": 1}, {"n_features": 9}])
def test_models_of_other_features_or_scales_are_not_merged(options):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    one = RandomFeatureLDA(n_features=10, scale_rows=0).fit(X, y)
    other = RandomFeatureLDA(**{"n_features": 10, "scale_rows": 0, **options}).fit(X, y)
    before = one.predict_proba(X)
    with pytest.raises(ValueError, match="scale_rows=0"):
        one.merge(other)
    np.testing.assert_array_equal(one.predict_proba(X), before)
