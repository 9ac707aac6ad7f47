"""Densities of rows and p-values of novelty: against slow twins, and what must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from material import BINARY, EAGER, fingerprint, mixed_rows
from mist.engine.conformity import ENOUGH, MATURE, REMEMBERED, new_conformity, write_p_values
from naive import NaiveMist
from naive_mixture import NaiveMixtureLeaf
from naive_open_world import NaiveNovelty, log_density, mixture_density
from published import paper_tree

NUMERIC = [0, 2, 3]
FAR = 60.0
SETTINGS = settings(deadline=None, max_examples=20, derandomize=True)


def whole_rows(seed, n=300, n_classes=4):
    """Numeric rows without missing values."""
    X, y = mixed_rows(seed, n, n_classes, holes=0.0)
    return np.ascontiguousarray(X[:, NUMERIC]), y


def tight_classes(seed, n, n_classes=4):
    """Gaussian classes that hardly overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return FAR * np.eye(n_classes)[y] + rng.normal(size=(n, n_classes)), y


# -- densities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", ["counts", "balanced"])
def test_one_gaussian_class_has_the_density_of_scipy(prior):
    X = mixed_rows(0, 80, 1, holes=0.0)[0][:, NUMERIC] @ [[3, 1, 0], [0, 1, 0.2], [0, 0, 10]]
    model = paper_tree(class_prior=prior).fit(X, np.zeros(80))
    expected = multivariate_normal(X.mean(0), np.diag(X.var(0))).logpdf(X)
    assert model.score_samples(X) == pytest.approx(expected, abs=1e-6)
    assert model.score_samples(X).dtype == np.float64


def test_one_full_covariance_has_nearly_the_density_of_scipy():
    X = mixed_rows(0, 5000, 1, holes=0.0)[0][:, NUMERIC] @ [[3, 1, 0], [0, 1, 0.2], [0, 0, 10]]
    model = paper_tree("full").fit(X, np.zeros(5000))
    expected = multivariate_normal(X.mean(0), np.cov(X.T, bias=True)).logpdf(X)
    assert model.score_samples(X) == pytest.approx(expected, abs=0.1)
    assert model.score_samples(X).mean() == pytest.approx(expected.mean(), abs=1e-3)


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("inheritance", ["gaussian", None])
def test_trees_have_the_densities_of_their_twin(leaf, inheritance):
    compared, orphans = 0, 0
    for seed in range(6):
        X, y = mixed_rows(seed, 260, holes=0.1)
        X[: 20 * seed, 0] = 1.0  # for some time a column does not vary
        X[0, 2] = np.nan
        options = {**EAGER, "inheritance": inheritance, "categorical_features": [BINARY]}
        model, twin = paper_tree(leaf, **options), NaiveMist(leaf, **options)
        for batch in np.split(np.arange(260), [10, 45, 90, 121, 200]):
            model.partial_fit(X[batch], y[batch])
            for i in batch:
                twin.learn_row(X[i].tolist(), y[i])
            asked = mixed_rows(100 + seed, 10)[0]
            expected = np.array([log_density(twin, x) for x in asked.tolist()])
            np.testing.assert_allclose(model.score_samples(asked), expected, rtol=1e-6, atol=1e-6)
            compared += 1
            orphans += sum(twin.nodes[twin.apply(x)].prior_only for x in asked.tolist())
    assert compared == 36
    assert (orphans > 0) == (inheritance is None)


@pytest.mark.parametrize("leaf", ["full", "mixture"])
def test_a_leaf_with_covariances_has_the_density_of_its_twin(leaf):
    X, y = mixed_rows(3, 400, 2, holes=0.0)
    X[::3, 0] += 9.0  # classes of several modes
    X[:, 3] = 5.0
    model = paper_tree(leaf, grace_period=10**9, categorical_features=[BINARY]).fit(X, y)
    twin = NaiveMixtureLeaf(4, [BINARY], 1 if leaf == "full" else 16)
    for x, label in zip(X, y.tolist(), strict=True):
        twin.learn(x, label)
    asked = np.vstack([X[:20], X[:20]])
    asked[20:, 3] += 1.0  # a column that never varied is left out
    asked[::3, [0, 2]] = np.nan
    asked[::5, BINARY] = np.nan
    expected = [mixture_density(twin, x, X) for x in asked]
    np.testing.assert_allclose(model.score_samples(asked), expected, rtol=1e-6, atol=1e-6)
    assert (len(twin.classes[0].components) > 1) == (leaf == "mixture")


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full", "mixture"])
@pytest.mark.parametrize("prior", ["counts", "balanced"])
def test_a_density_of_one_column_integrates_to_about_one(leaf, prior):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = np.array([0.0, 7.0, 8.0])[y, None] + rng.normal(size=(3000, 1)) * 0.5
    model = paper_tree(leaf, class_prior=prior, **{**EAGER, "grace_period": 500}).fit(X, y)
    assert model.n_leaves_ > 1
    grid = np.linspace(-10, 20, 30_001)[:, None]
    assert np.exp(model.score_samples(grid)).sum() * 1e-3 == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full", "mixture"])
def test_a_density_follows_the_units_of_the_columns(leaf):
    X, y = whole_rows(1)
    plain = paper_tree(leaf, **EAGER).fit(X, y)
    scaled = paper_tree(leaf, **EAGER).fit(1024.0 * X, y)
    assert plain.n_leaves_ > 1
    expected = plain.score_samples(X) - 3 * math.log(1024.0)
    assert scaled.score_samples(1024.0 * X) == pytest.approx(expected, abs=1e-6)


def test_a_density_of_a_row_with_a_hole_is_that_of_the_other_columns():
    X, _ = whole_rows(2, n_classes=1)
    model = paper_tree().fit(X, np.zeros(len(X)))
    asked = X[:20].copy()
    asked[:, 1] = np.nan
    others = paper_tree().fit(X[:, [0, 2]], np.zeros(len(X)))
    assert model.score_samples(asked) == pytest.approx(others.score_samples(X[:20, [0, 2]]))


@pytest.mark.parametrize("leaf", ["gaussian", "full"])
def test_a_zero_one_column_counts_by_its_probability(leaf):
    X = np.repeat([[0.0], [1.0]], [30, 10], axis=0)
    model = paper_tree(leaf, categorical_features=[0]).fit(X, np.zeros(40))
    zero, one = np.exp(model.score_samples([[0.0], [1.0]]))
    assert zero + one == pytest.approx(1.0)
    assert one == pytest.approx(0.25, abs=0.02)


def test_class_masses_alone_have_no_density():
    model = paper_tree("majority").fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "score_samples")
    with pytest.raises(AttributeError) as refused:
        model.score_samples([[0.0]])
    assert "leaf='majority' has no densities: use" in str(refused.value.__cause__)


# -- p-values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("inheritance", ["gaussian", None])
def test_p_values_are_those_of_the_twin(inheritance):
    values, orphans, forgotten = [], 0, False
    for seed in range(4):
        X, y = whole_rows(seed, 500 if seed else 900, 3 if seed else 1)
        w = np.random.default_rng(seed).choice([0.0, 1.0, 2.5], len(X))
        options = {**EAGER, "inheritance": inheritance}
        model = paper_tree(open_world=True, **options)
        twin = NaiveNovelty(NaiveMist(**options))
        for batch in np.array_split(np.arange(len(X)), 7):
            model.partial_fit(X[batch], y[batch], sample_weight=w[batch])
            for i in batch:
                twin.learn_row(X[i].tolist(), y[i], w[i])
            asked = np.vstack([X[batch[:8]], X[batch[:4]] + 3.0])
            expected = [twin.p_value(x) for x in asked.tolist()]
            assert model.novelty(asked) == pytest.approx(expected, rel=1e-9)
            values += expected
            orphans += sum(map(twin.at_orphan, asked.tolist()))
        forgotten |= max(map(len, twin.scores.values())) > REMEMBERED
    assert len(set(values)) > 50
    assert forgotten
    assert (orphans > 0) == (inheritance is None)


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_p_values_of_known_classes_are_nearly_uniform(leaf):
    shares = []
    for seed in range(5):
        X, y = tight_classes(seed, 8000)
        model = paper_tree(leaf, open_world=True).fit(X[:4000], y[:4000])
        p = model.novelty(X[4000:])
        assert ((p > 0) & (p <= 1)).all()
        shares.append([np.mean(p <= level) for level in (0.05, 0.1, 0.5)])
    # 4 classes of 256 scores each, 5 times: a standard error of .003 at .05.
    assert np.mean(shares, axis=0) == pytest.approx([0.05, 0.1, 0.5], abs=0.012)
    # Rows of a class never seen, in the middle of the others.
    unseen = FAR / 4 + np.random.default_rng(0).normal(size=(50, 4))
    assert model.novelty(unseen).max() == 1 / (1 + REMEMBERED)


@SETTINGS
@given(seed=st.integers(0, 2**32 - 1), rise=st.floats(0.0, 5.0))
def test_p_values_rise_with_the_densities(seed, rise):
    rng = np.random.default_rng(seed)
    conformity = new_conformity()._replace(
        scores=np.round(rng.normal(size=(3, REMEMBERED)), 1),
        weights=rng.choice([0.0, 0.3, 1.0], (3, REMEMBERED)),
    )
    densities = np.round(rng.normal(size=(20, 3)), 1)
    low, high = np.empty(20), np.empty(20)
    write_p_values(conformity, densities, low)
    write_p_values(conformity, densities + rise * rng.random((20, 3)), high)
    assert (low <= high).all()
    assert (low > 0).all()
    assert (high <= 1).all()


def test_batches_do_not_matter_bit_for_bit_and_answers_change_nothing():
    X, y = whole_rows(5)
    w = np.random.default_rng(5).choice([0.0, 1.0, 2.5], len(X))
    whole = paper_tree(open_world=True, **EAGER).partial_fit(X, y, sample_weight=w)
    parts = paper_tree(open_world=True, **EAGER)
    for batch in np.split(np.arange(len(X)), [1, 2, 40, 47, 200]):
        parts.prequential(X[batch], y[batch], sample_weight=w[batch])
        parts.predict(X[:9]), parts.novelty(X[:9]), parts.score_samples(X[:9])
    assert whole.n_splits_ > 0
    assert fingerprint(parts) == fingerprint(whole)
    for answer in (whole.novelty, whole.score_samples):
        alone = np.concatenate([answer(X[[i]]) for i in range(60)])
        assert answer(X[:60]).tobytes() == alone.tobytes()


def test_rows_of_weight_zero_are_not_scored():
    X, y = whole_rows(6)
    w = np.random.default_rng(6).choice([0.0, 1.0], len(X))
    weighted = paper_tree(open_world=True, **EAGER)
    weighted.prequential(X, y, sample_weight=w)
    less = paper_tree(open_world=True, **EAGER).fit(X[w > 0], y[w > 0])
    assert weighted.novelty(X).tobytes() == less.novelty(X).tobytes()


def test_names_of_classes_do_not_matter():
    X, y = whole_rows(7)
    plain = paper_tree(open_world=True, **EAGER).fit(X, y)
    renamed = paper_tree(open_world=True, **EAGER).fit(X, np.array(list("dacb"))[y])
    assert plain.novelty(X).tobytes() == renamed.novelty(X).tobytes()
    assert plain.score_samples(X) == pytest.approx(renamed.score_samples(X), rel=1e-12)


def test_predictions_are_those_of_a_closed_world():
    X, y = whole_rows(8)
    opened = paper_tree(open_world=True, **EAGER).fit(X, y)
    closed = paper_tree(**EAGER).fit(X, y)
    assert opened.predict_proba(X).tobytes() == closed.predict_proba(X).tobytes()
    assert opened.score_samples(X).tobytes() == closed.score_samples(X).tobytes()
    assert opened.nbytes > closed.nbytes


def test_before_there_are_enough_scores_nothing_is_novel():
    X, _ = tight_classes(0, 100, 1)
    model = paper_tree(open_world=True)
    enough = int(MATURE + ENOUGH)
    for i in range(enough):
        model.learn_one(X[i], 0)
        expected = 1.0 if i < enough - 1 else 1 / (1 + ENOUGH)
        assert model.novelty([[1e6]]) == expected


def test_the_option_is_fixed_and_novelty_needs_it():
    X, y = whole_rows(9)
    model = paper_tree().fit(X, y)
    with pytest.raises(ValueError, match="create the model with it and learn the rows again"):
        model.novelty(X)
    model.set_params(open_world=True)
    with pytest.raises(ValueError, match="open_world was changed from False to True"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="leaf='majority' has none: use leaf='gaussian'"):
        paper_tree("majority", open_world=True).fit(X, y)
