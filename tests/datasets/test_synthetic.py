import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from mist.datasets import make_gaussian_classes, make_multimodal

GENERATORS = [make_gaussian_classes, make_multimodal]


@pytest.mark.parametrize("make", GENERATORS)
def test_shapes_types_and_equal_classes(make):
    X, y = make(n_samples=103, n_classes=5, n_features=3)
    assert X.shape == (103, 3)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert np.bincount(y).tolist() == [21, 21, 21, 20, 20]
    assert y.tolist() != sorted(y)
    assert np.isfinite(X).all()


@pytest.mark.parametrize("make", GENERATORS)
def test_the_seed_decides_everything(make):
    (X, y), (again, y_again), (other, y_other) = (make(n_samples=50, seed=s) for s in (3, 3, 4))
    assert np.array_equal(X, again)
    assert np.array_equal(y, y_again)
    assert not np.array_equal(X, other)
    assert not np.array_equal(y, y_other)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("option", ["n_samples", "n_classes", "n_features"])
def test_counts_below_one_are_refused(make, option):
    with pytest.raises(ValueError, match=f"{option}=0"):
        make(**{option: 0})


@pytest.mark.parametrize("make", GENERATORS)
def test_each_class_needs_a_row(make):
    with pytest.raises(ValueError, match="n_samples=3 is too few"):
        make(n_samples=3, n_classes=4)


def test_gaussian_classes_have_uniform_means_and_the_given_spread():
    X, y = make_gaussian_classes(40_000, n_classes=200, n_features=4, spread=0.1, seed=5)
    means = np.array([X[y == label].mean(axis=0) for label in range(200)])
    assert means.min() > -0.05
    assert means.max() < 5.05
    assert means.mean() == pytest.approx(2.5, abs=0.2)
    assert means.std() == pytest.approx(5 / np.sqrt(12), abs=0.1)
    assert (X - means[y]).std() == pytest.approx(0.1, rel=0.02)


def test_no_spread_puts_every_row_on_its_mean():
    X, y = make_gaussian_classes(20, n_classes=2, spread=0.0)
    assert np.ptp(X[y == 0], axis=0).max() == 0
    with pytest.raises(ValueError, match="spread=-1"):
        make_gaussian_classes(20, spread=-1)


def test_modes_are_six_deviations_apart_and_of_unit_variance():
    n_classes, modes = 4, 3
    X, y = make_multimodal(2400, n_classes=n_classes, n_features=10, modes=modes, seed=2)
    centres, residuals = [], []
    for label in range(n_classes):
        rows = X[y == label]
        clusters = KMeans(modes, n_init=5, random_state=0).fit(rows)
        assert np.bincount(clusters.labels_).min() > 0.25 * len(rows)
        centres.append(clusters.cluster_centers_)
        residuals.append(rows - clusters.cluster_centers_[clusters.labels_])
    assert np.concatenate(residuals).std() == pytest.approx(1, abs=0.02)
    assert pdist(np.concatenate(centres)).min() == pytest.approx(6, abs=0.25)


def test_multimodal_classes_defeat_independent_gaussians():
    """A Gaussian a feature loses rows that a full covariance gets right."""
    independent, full = [], []
    for seed in range(1, 6):
        X, y = make_multimodal(seed=seed)
        half = len(y) // 2
        for scores, model in [(independent, GaussianNB()), (full, QuadraticDiscriminantAnalysis())]:
            scores.append(model.fit(X[:half], y[:half]).score(X[half:], y[half:]))
    assert 0.85 < np.mean(independent) < 0.96
    assert np.mean(full) > 0.98


def test_one_mode_is_allowed_and_none_is_not():
    X, _ = make_multimodal(500, n_classes=1, modes=1)
    assert X.std(axis=0) == pytest.approx(1, abs=0.15)
    with pytest.raises(ValueError, match="modes=0"):
        make_multimodal(modes=0)
