"""The gain in likelihood of leaves that take columns as independent."""

from __future__ import annotations

import numpy as np
import pytest

import naive_splits
from mist.engine.likelihood import LEAST_GAIN, class_gains, likelihood_splits
from mist.engine.thresholds import observed_cells
from published import paper_tree

OPTIONS = {"criterion": "likelihood", "split_test": "schedule", "inheritance": "joint"}
NEVER = 10**9


def grown(X, y, **options):
    """State of a tree that has not split, with sketches that hold all rows."""
    options = {**OPTIONS, "grace_period": NEVER, "sketch_size": 4096, **options}
    return paper_tree(**options).partial_fit(X, y)._state


def rows_of(covariance, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, n)


def correlated(*rho):
    """Correlations of a first column and others that have only it in common."""
    loadings = np.array([1.0, *rho])
    return np.outer(loadings, loadings) + np.diag(1.0 - loadings**2)


def best(state, candidates, allowed=None):
    cells = observed_cells(state.tree, 0)
    d = state.n_features
    gains, places = np.empty(d), np.empty(d)
    allowed = np.ones(d, dtype=np.bool_) if allowed is None else np.array(allowed)
    return likelihood_splits(state, cells, candidates, allowed, gains, places), gains, places


def test_gain_of_a_class_equals_the_twins():
    X = rows_of(correlated(0.8, -0.5, 0.1), 200) * [1.0, 5.0, 0.1, 3.0] + [0.0, 9.0, 0.0, -4.0]
    state = grown(X, np.zeros(200, int))
    v = np.quantile(X, [0.2, 0.5, 0.9], axis=0)
    expected = [
        [naive_splits.likelihood_gain(X.tolist(), j, v[i, j]) for j in range(4)] for i in range(3)
    ]
    np.testing.assert_allclose(class_gains(state, 0, v), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("thresholds", ["medians", "gaussian"])
def test_gain_of_a_gaussian_cut_in_the_middle(thresholds):
    # Half a Gaussian has 1 - 2/pi of the variance.
    n = 3000 if thresholds == "medians" else 20_000
    state = grown(rows_of(correlated(0.9), n), np.zeros(n, int), thresholds=thresholds)
    expected = -0.5 * np.log(1 - 0.81 * 2 / np.pi)
    got = class_gains(state, 0, np.zeros((1, 2)))
    np.testing.assert_allclose(got, [[expected, expected]], rtol=0.06)


def test_independent_columns_gain_next_to_nothing():
    state = grown(rows_of(np.eye(3), 4000), np.zeros(4000, int))
    assert class_gains(state, 0, np.zeros((1, 3))).max() < 0.01


def test_no_candidate_no_variance_and_nothing_on_a_side_gain_nothing():
    X = rows_of(correlated(0.9, 0.9), 100)
    X[:, 2] = 3.0
    v = np.array([[np.nan, X[:, 1].max(), 3.0]])
    got = class_gains(grown(X, np.zeros(100, int)), 0, v)
    np.testing.assert_allclose(got, 0.0, atol=1e-12)


def test_columns_that_are_copies_have_a_finite_gain_and_the_first_is_taken():
    X = np.repeat(rows_of(np.eye(1), 200), 2, axis=1)
    column, gains, _ = best(grown(X, np.arange(200) % 2), np.zeros((1, 2)))
    assert column == 0
    assert np.isfinite(gains).all()
    assert gains.min() > LEAST_GAIN


def test_classes_count_alike_and_their_names_and_columns_do_not_matter():
    X = np.vstack([rows_of(correlated(0.9, 0.2), 300), rows_of(correlated(0.1, 0.6), 60, 1)])
    y = np.repeat([0, 1], [300, 60])
    v = np.array([[0.0, 0.3, -0.2]])
    column, gains, _ = best(grown(X, y), v)
    alone = [best(grown(X[y == c], y[y == c]), v)[1] for c in (0, 1)]
    np.testing.assert_allclose(gains, (alone[0] + alone[1]) / 2, rtol=1e-9)
    np.testing.assert_allclose(best(grown(X, 1 - y), v)[1], gains, rtol=1e-9)
    other, moved, _ = best(grown(X[:, [2, 0, 1]], y), v[:, [2, 0, 1]])
    assert [2, 0, 1][other] == column
    np.testing.assert_allclose(moved, gains[[2, 0, 1]], rtol=1e-9)


def test_only_allowed_numeric_columns_are_taken():
    X = np.c_[rows_of(correlated(0.9, 0.5), 300), np.arange(300) % 2]
    state = grown(X, np.zeros(300, int), categorical_features=[3])
    column, gains, places = best(state, np.zeros((1, 3)), [False, True, True, True])
    assert column == 1
    assert gains[0] == gains[3] == 0.0
    assert np.isnan(places[[0, 3]]).all()


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_a_tree_splits_where_columns_depend_on_each_other_and_not_else(leaf):
    y = np.arange(3000) % 2
    X = rows_of(correlated(0.95, 0.95), 3000) + y[:, None]
    options = {**OPTIONS, "leaf": leaf, "rows_per_split": 400, "tie_threshold": 9.0}
    log = paper_tree(**options).partial_fit(X, y).split_log_
    assert log[0].rows == 400
    assert all(split.gain > split.radius == LEAST_GAIN for split in log)
    X = rows_of(np.eye(3), 3000) + y[:, None]
    assert paper_tree(**options).partial_fit(X, y).n_splits_ == 0


def test_values_may_be_missing():
    X = rows_of(correlated(0.9, 0.9), 500)
    whole = class_gains(grown(X, np.zeros(500, int)), 0, np.zeros((1, 3)))
    X[::2, 0] = np.nan
    X[:, 2] = np.nan
    got = class_gains(grown(X, np.zeros(500, int)), 0, np.array([[0.0, 0.0, np.nan]]))
    assert np.isfinite(got).all()
    assert 0.0 < got[0, 0] < whole[0, 0] / 2
    assert got[0, 2] == 0.0
