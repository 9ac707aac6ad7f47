"""The baselines against scikit-learn, and the special ways some of them compute."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import cholesky
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB as BatchGaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import scale

from mist.baselines import NCM, RLS, SLDA, SQDA, GaussianNB
from mist.baselines.slda import factorise
from mist_bench.baselines import PEC, RandomFeatureRLS


def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return scale(X)[order], y[order]


def test_ncm_is_nearest_centroid():
    X, y = wine()
    assert (NCM().fit(X, y).predict(X) == NearestCentroid().fit(X, y).predict(X)).all()


def test_gaussian_nb_is_scikit_learns_on_all_rows():
    X, y = wine()
    ours, theirs = GaussianNB().fit(X, y), BatchGaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


def test_slda_is_lda_with_the_same_shrinkage_and_equal_priors():
    X, y = wine()
    weights = (1.0 / np.bincount(y))[y]  # equal classes, as scikit-learn weighs them by priors
    ours = SLDA(shrinkage=0.1).fit(X, y, sample_weight=weights)
    priors = np.full(3, 1 / 3)
    theirs = LinearDiscriminantAnalysis(
        solver="lsqr", priors=priors, covariance_estimator=Shrunk(0.1)
    ).fit(X, y)
    ours.predict(X)
    ours_directions = ours._state.coefs[ours._labels.encode([0, 1, 2])]
    np.testing.assert_allclose(ours_directions, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8)


class Shrunk:
    """Covariance estimator for scikit-learn: (1 - s) S + s I."""

    def __init__(self, shrinkage):
        self.shrinkage = shrinkage

    def fit(self, X):
        covariance = np.cov(X.T, bias=True)
        d = len(covariance)
        self.covariance_ = (1 - self.shrinkage) * covariance + self.shrinkage * np.identity(d)
        return self


def test_sqda_is_qda_with_equal_priors():
    X, y = wine()
    ours = SQDA(shrinkage=1e-9).fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(priors=np.full(3, 1 / 3)).fit(X, y)
    # scikit-learn divides the covariance by n - 1; the scatter is the same.
    n = np.bincount(y)
    d = X.shape[1]
    mahalanobis = np.column_stack(
        [
            (
                (X - X[y == c].mean(0))
                @ np.linalg.inv(np.cov(X[y == c].T))
                * (X - X[y == c].mean(0))
            ).sum(1)
            for c in range(3)
        ]
    )
    log_dets = np.array([np.linalg.slogdet(np.cov(X[y == c].T))[1] for c in range(3)])
    np.testing.assert_array_equal((-mahalanobis - log_dets).argmax(1), theirs.predict(X))
    scores = -0.5 * (mahalanobis * n / (n - 1) + log_dets + d * np.log((n - 1) / n))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours.predict_proba(X), shares, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("constant", [True, False])
def test_rls_is_ridge_even_when_classes_come_late(constant):
    X, y = wine()
    order = np.argsort(y, kind="stable")  # every class is new after all rows of the one before
    X, y = X[order], y[order]
    Z = np.column_stack([X, np.ones(len(X))]) if constant else X
    model = RLS(ridge=2.5, fit_intercept=constant)
    for start, stop in pairwise([0, 30, 59, 60, 130, 131, len(X)]):
        model.partial_fit(X[start:stop], y[start:stop])
        targets = np.identity(3)[y[:stop]][:, : y[:stop].max() + 1]
        theirs = Ridge(alpha=2.5, fit_intercept=False).fit(Z[:stop], targets)
        expected = theirs.predict(Z).reshape(len(X), -1)
        np.testing.assert_allclose(model._scores(X), expected, rtol=0, atol=1e-10)


def test_rls_stays_exact_on_badly_scaled_columns():
    rng = np.random.default_rng(0)
    X = 1e4 * rng.normal(size=(2000, 8)) @ rng.normal(size=(8, 8))
    X[:, 0] *= 1e-6
    y = rng.integers(0, 5, len(X))
    Z = np.column_stack([X, np.ones(len(X))])
    W = np.linalg.lstsq(
        np.vstack([Z, np.identity(9)]), np.vstack([np.eye(5)[y], np.zeros((9, 5))])
    )[0]
    model = RLS()
    model.prequential(X, y)
    np.testing.assert_allclose(
        model._scores(X)[:, np.argsort(model._labels.ranks)], Z @ W, atol=1e-8
    )


@pytest.mark.parametrize("d", [1, 5, 32, 33, 100, 161])
def test_factorise_is_the_cholesky_factor(d):
    rng = np.random.default_rng(d)
    A = np.cov(rng.normal(size=(2 * d + 2, d)).T).reshape(d, d) + 1e-3 * np.identity(d)
    U = A.copy()
    factorise(U, 1e-3)
    np.testing.assert_allclose(np.triu(U), cholesky(A), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e6, 3e6, 1e8, 1e150])
def test_factorise_survives_columns_that_swallow_the_shrinkage(size):
    rng = np.random.default_rng(0)
    rows = size * rng.normal(size=(30, 80))
    A = rows.T @ rows / 30 + 1e-4 * np.identity(80)
    U = A.copy()
    factorise(U, 1e-4)
    U = np.triu(U)
    assert (np.diag(U) >= 0.0099).all()
    np.testing.assert_allclose(U.T @ U, A, rtol=0, atol=1e-13 * A.max())


@pytest.mark.parametrize("size", [1e8, 1e149])
def test_duplicate_rows_of_any_size_do_not_break_slda_on_many_columns(size):
    rng = np.random.default_rng(0)
    X = size * np.repeat(rng.normal(size=(10, 200)), 8, axis=0)
    y = np.repeat(np.arange(10) % 2, 8)
    model = SLDA()
    answers = model.prequential(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert (answers == y).mean() > 0.8


def test_slda_on_many_columns_answers_the_same_in_blocks_and_row_by_row():
    rng = np.random.default_rng(0)
    n, d = 270, 200
    y = np.where(np.arange(n) < 90, rng.integers(0, 2, n), rng.integers(0, 4, n))
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d) + y[:, None] / 4.0
    X[:, 7] = X[:, 8]
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[0] = 1.0
    whole, single = SLDA(), SLDA()
    answers = whole.prequential(X, y, sample_weight=weights)
    alone = [
        single.prequential(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])[0]
        for i in range(n)
    ]
    assert answers[1:].tolist() == alone[1:]
    for name in ("mass", "means", "scatter"):
        np.testing.assert_array_equal(getattr(whole._state, name), getattr(single._state, name))


def test_scores_in_blocks_equal_the_plain_formula():
    from mist.baselines.slda import wide_scores

    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 30)) @ rng.normal(size=(30, 30))
    y = rng.integers(0, 3, 120)
    y[:3] = [0, 1, 2]
    model = SLDA().partial_fit(X[:40], y[:40])
    scores = wide_scores(model._state, 1e-4, X[40:], y[40:], np.ones(80), 3)
    for i in range(40, 120):
        means = np.array([X[:i][y[:i] == c].mean(axis=0) for c in range(3)])
        rest = X[:i] - means[y[:i]]
        covariance = (1 - 1e-4) * rest.T @ rest / i + 1e-4 * np.identity(30)
        W = np.linalg.solve(covariance, means.T)
        expected = X[i] @ W - 0.5 * (means.T * W).sum(axis=0)
        np.testing.assert_allclose(
            scores[i - 40], expected, rtol=1e-8, atol=1e-9 * abs(expected).max()
        )


def test_a_class_with_one_row_has_the_covariance_s_times_identity():
    model = SQDA(shrinkage=0.25).partial_fit([[0.0, 0.0]], ["a"]).partial_fit([[2.0, 0.0]], ["b"])
    near, far = model._scores(np.array([[0.5, 0.0]]))[0]
    log_det = 2 * np.log(0.25)
    np.testing.assert_allclose([near, far], [-0.5 * (1.0 + log_det), -0.5 * (9.0 + log_det)])


def test_the_variance_floor_of_naive_bayes_follows_the_rows_so_far():
    rows, labels = [[1.0, 5.0], [1.0, 7.0], [3.0, 5.0]], ["a", "b", "b"]
    model = GaussianNB(var_smoothing=0.1).partial_fit(rows[:1], labels[:1])
    assert model.predict([[100.0, 100.0]]).tolist() == ["a"]
    model.partial_fit(rows[1:2], labels[1:2]).partial_fit(rows[2:], labels[2:])
    theirs = BatchGaussianNB(var_smoothing=0.1).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows), theirs.predict_proba(rows))


def test_the_random_layer_keeps_the_scale_of_its_inputs():
    model = RandomFeatureRLS(n_features=2000).partial_fit(np.zeros((1, 25)), [0])
    assert model._state.projection.shape == (25, 2000)
    assert model._state.projection.std() == pytest.approx(0.2, rel=0.02)
    assert model._state.offsets.std() == pytest.approx(1.0, rel=0.1)


def test_the_rate_of_a_student_ends_at_its_last_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.zeros(40, dtype=int)

    def moves(expected):
        model = PEC(teacher_width=50, n_outputs=9, n_rows_expected=expected)
        model.partial_fit(X[:1], y[:1])
        sizes = []
        for i in range(1, len(X)):
            before = model._state.students.copy()
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            sizes.append(abs(model._state.students - before).max())
        return np.array(sizes)

    falling, constant = moves(10), moves(None)
    assert (falling > 0).all()
    assert falling[20:].max() < 0.002
    assert constant[20:].min() > falling[20:].max()


def test_pec_learns_digits_class_after_class():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    order = np.argsort(y, kind="stable")
    train, test = order[::2], order[1::2]
    model = PEC(teacher_width=1000, n_rows_expected=90).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.85
