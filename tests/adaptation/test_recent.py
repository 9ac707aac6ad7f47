"""Recent Gaussians against explicit covariance matrices of rows whose weights decay."""

import numpy as np
import pytest

from mist.adaptation import recent_gaussians
from mist.adaptation.next_label import new_next_label
from mist.engine.handle import Handle
from naive_adaptation import NaiveRecents


def learnt(X, codes, weights, n_codes=3):
    recent = recent_gaussians.new_recent_gaussians(X.shape[1])
    recent = recent_gaussians.reserve_codes(recent, n_codes)
    scratch = np.empty((2, X.shape[1]))
    for i, (code, w) in enumerate(zip(codes, weights, strict=True)):
        recent_gaussians.learn(recent, int(code), X, i, float(w), scratch[0], scratch[1])
    return recent


def write_nearest(recent, X, out):
    handle = Handle((new_next_label(X.shape[1])._replace(recent=recent),))
    handle.call(recent_gaussians.write_nearest, X, out)


def densities(recent, X, memory, code):
    z = np.empty(X.shape[1])
    return [
        recent_gaussians.log_density(recent, code, memory, X, i, -np.inf, z) for i in range(len(X))
    ]


def rows(seed, n, d, holes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    codes[:3] = 0, 1, 2
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + 30.0
    X[:, 0] += 2.0 * X[:, -1] if d > 1 else 0.0
    X += 5.0 * codes[:, None]
    X[3:][rng.random((n - 3, d)) < holes] = np.nan
    return X, codes, rng


@pytest.mark.parametrize("d", [1, 2, 5, 101])
@pytest.mark.parametrize("kind", ["plain", "missing", "weights", "heavy"])
def test_against_explicit_matrices(d, kind):
    X, codes, rng = rows(d, 60, d, 0.2 * (kind == "missing"))
    weights = np.ones(60)
    if kind in ("weights", "heavy"):
        weights = rng.choice([0.5, 1.0, 3.0] if kind == "weights" else [1.0, 40.0, 2.0**20], 60)
    recent, naive = learnt(X, codes, weights), NaiveRecents(d)
    for x, code, w in zip(X, codes.tolist(), weights, strict=True):
        naive.learn(code, x, float(w))
    queries = X[::7].copy()
    for code in range(3):
        assert recent.rows[code] == np.sum(codes == code)
        for memory in range(2):
            wanted = [naive.gaussians[code][memory].log_density(x) for x in queries]
            found = densities(recent, queries, memory, code)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_a_least_density_ends_early_and_changes_no_larger_one():
    X, codes, _ = rows(0, 80, 4, 0.0)
    recent, z = learnt(X, codes, np.ones(80)), np.empty(4)
    for i in range(20):
        exact = recent_gaussians.log_density(recent, 1, 0, X, i, -np.inf, z)
        below = recent_gaussians.log_density(recent, 1, 0, X, i, exact - 1e-9, z)
        above = recent_gaussians.log_density(recent, 1, 0, X, i, exact + 1e-6, z)
        assert below == exact
        assert above == -np.inf


def test_nearest_class():
    X, codes, _ = rows(1, 90, 4, 0.1)
    recent = learnt(X, codes, np.ones(90), n_codes=5)
    out = np.zeros(90, np.int64)
    out[::9] = -2
    write_nearest(recent, X, out)
    wanted = np.argmax([densities(recent, X, 0, code) for code in range(3)], axis=0)
    assert (out[::9] == -2).all()
    asked = out > -2
    assert (out == wanted)[asked].all()
    nothing = np.zeros(3, np.int64)
    fresh = recent_gaussians.reserve_codes(recent_gaussians.new_recent_gaussians(4), 2)
    write_nearest(fresh, X[:3], nothing)
    assert nothing.tolist() == [-1, -1, -1]


def test_other_classes_rows_age_nothing():
    X, codes, _ = rows(2, 200, 3, 0.0)
    codes[100:] = 1
    early, late = learnt(X[:100], codes[:100], np.ones(100)), learnt(X, codes, np.ones(200))
    for name in ("rows", "weight", "mean", "factor", "constant", "long_mean", "long_spread"):
        for code in (0, 2):
            assert np.array_equal(getattr(early, name)[code], getattr(late, name)[code])
    assert not np.array_equal(early.mean[1], late.mean[1])


def test_a_column_without_a_value_at_first_is_no_outlier_later():
    # Far from 0, which is not the mean of anything.
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(120, 2)) + 1e4, np.arange(120) % 3
    X[:30, 1] = np.nan
    X[30, 1], X[40:44, 0] = 1e4, np.nan
    recent = learnt(X, codes, np.ones(120), n_codes=4)
    variance = recent.long_spread[:3] / recent.long_weight[:3, None]
    assert (variance < 5.0).all()
    assert (recent.within < 500.0).all()
    # A class whose first row lacks the value: it counts as the mean of all rows.
    X = np.append(X, [[1e4, np.nan], [1e4, 1e4]], axis=0)
    recent = learnt(X, np.append(codes, [3, 3]), np.ones(122), n_codes=4)
    assert (recent.long_spread[3] < 5.0).all()
    assert np.abs(recent.mean[3] - 1e4).max() < 2.0


def test_merging_adds_weights_and_moments():
    X, codes, _ = rows(3, 120, 4, 0.0)
    codes[60:] = np.where(codes[60:] == 2, 0, codes[60:])
    mine, theirs = learnt(X[:60], codes[:60], np.ones(60)), learnt(X[60:], codes[60:], np.ones(60))
    swapped = [1, 0, 2]  # their class 0 is class 1 here
    before = mine.weight.copy()
    mean = mine.mean.copy()
    recent_gaussians.merge(mine, theirs, np.array(swapped))
    np.testing.assert_allclose(mine.weight[1], before[1] + theirs.weight[0])
    both = before[1, :, None] * mean[1] + theirs.weight[0][:, None] * theirs.mean[0]
    np.testing.assert_allclose(mine.mean[1], both / mine.weight[1][:, None])
    assert mine.rows.tolist() == [
        np.sum(codes[:60] == 0) + np.sum(codes[60:] == 1),
        np.sum(codes[:60] == 1) + np.sum(codes[60:] == 0),
        np.sum(codes[:60] == 2),
    ]
    everything = X
    np.testing.assert_allclose(mine.overall[1], everything.mean(axis=0))
    np.testing.assert_allclose(mine.overall[2], 120 * everything.var(axis=0))
    group = np.concatenate([X[:60][codes[:60] == 1], X[60:][codes[60:] == 0]])
    np.testing.assert_allclose(mine.long_spread[1], len(group) * group.var(axis=0), rtol=1e-9)
    assert np.isfinite(densities(mine, X, 0, 1)).all()


def test_a_column_that_begins_to_vary():
    X, codes, _ = rows(4, 90, 3, 0.0)
    X[:60, 1] = 7.0
    recent, naive = learnt(X, codes, np.ones(90)), NaiveRecents(3)
    for x, code in zip(X, codes.tolist(), strict=True):
        naive.learn(code, x, 1.0)
    for code in range(3):
        for memory in range(2):
            wanted = [naive.gaussians[code][memory].log_density(x) for x in X[::7]]
            found = densities(recent, X[::7], memory, code)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    # The unit of the column does not matter, however long it was constant.
    scale = np.array([1.0, 1e-9, 1.0])
    other = learnt(X * scale, codes, np.ones(90))
    gaps = [
        np.array(densities(each, Y[80:], 0, 0)) - densities(each, Y[80:], 0, 1)
        for each, Y in ((recent, X), (other, X * scale))
    ]
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-6)


def test_merging_after_a_row_of_the_largest_weight():
    X, codes, rng = rows(4, 12, 5, 0.0)
    weights = rng.choice([1.0, 7.0, 2.0**31], 12)
    weights[5] = 2.0**31
    mine, theirs = learnt(X, codes, weights), learnt(X[::-1], codes[::-1], weights[::-1])
    at = np.tril_indices(5)

    def products(recent, code, memory):
        low = np.zeros((5, 5))
        low[at] = recent.factor[code, memory]
        return low @ low.T

    wanted = np.array(
        [[products(r, c, m) for c in range(3) for m in range(2)] for r in (mine, theirs)]
    )
    weight, mean = np.array([mine.weight, theirs.weight]), np.array([mine.mean, theirs.mean])
    recent_gaussians.merge(mine, theirs, np.arange(3))
    for k, (code, memory) in enumerate((c, m) for c in range(3) for m in range(2)):
        n, away = weight[:, code, memory], np.diff(mean[:, code, memory], axis=0)[0]
        between = np.outer(away, away) * n.prod() / n.sum()
        np.testing.assert_allclose(
            products(mine, code, memory), wanted[:, k].sum(axis=0) + between, rtol=1e-9, atol=1e-9
        )
    assert np.isfinite(mine.constant).all()
