"""The search for a shift that all classes share, against its twin."""

import numpy as np
import pytest

from mist.adaptation import common_shift
from mist.adaptation.follower import Follower
from naive_adaptation import NaiveShift

PERIOD = 50


def find(common, X, codes, weights):
    common_shift.find_shift(common, X, codes, weights)


def stream(seed, a=3, n=900, offset=1.5, own=0.0, shifted=(0, 1, 2)):
    """Rows of three classes with correlated columns; classes are offset from the middle on."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    mix = rng.normal(size=(a, a)) + np.eye(a)
    X = rng.normal(size=(n, a)) @ mix + 5.0 * rng.normal(size=(3, a))[codes]
    late = np.arange(n) >= n // 2
    X[late & np.isin(codes, shifted)] += offset * rng.normal(size=a)
    X += own * rng.normal(size=(3, a))[codes] * late[:, None]
    return X, codes


def both(X, codes, weights=None):
    """Shifts that are found, with the number of rows before each: by the engine, by its twin."""
    common = common_shift.reserve_codes(common_shift.new_common_shift(X.shape[1]), 3)
    naive, found = NaiveShift(X.shape[1]), []
    weights = np.ones(len(X)) if weights is None else weights
    for start in range(0, len(X), PERIOD):
        part = slice(start, start + PERIOD)
        rows = X[part] - common.shift
        find(common, rows, codes[part], weights[part])
        for x, code, w in zip(X[part] - naive.shift, codes[part], weights[part], strict=True):
            if w > 0.0:
                naive.learn(x, int(code))
        lengths = common_shift.change_shift(common), naive.change()
        assert lengths[0] == pytest.approx(lengths[1], rel=1e-6)
        np.testing.assert_allclose(common.shift, naive.shift, rtol=1e-6, atol=1e-9)
        if lengths[0] > 0.0:
            found.append(start + PERIOD)
    return found, common


@pytest.mark.parametrize("seed", range(8))
def test_shifts(seed):
    X, codes = stream(seed, offset=[0.5, 1.0, 2.0, 4.0][seed % 4])
    both(X, codes)


@pytest.mark.parametrize("seed", range(4))
def test_classes_that_move_each_their_own_way(seed):
    X, codes = stream(seed, offset=0.0, own=2.0)
    both(X, codes)


def test_what_is_found():
    rng, offset = np.random.default_rng(0), np.array([1.5, -1.0, 0.0])
    codes = np.arange(900) % 3
    X = rng.normal(size=(900, 3)) + 4.0 * codes[:, None]
    X[450:] += offset
    found, common = both(X, codes)
    assert len(found) >= 1
    assert found[0] <= 600
    assert np.linalg.norm(common.shift - offset) < 0.5


def test_one_class_alone_is_no_common_shift():
    X, codes = stream(2, offset=2.0, shifted=(0,))
    found, common = both(X, codes)
    assert found == []
    assert not common.shift.any()


def test_blocks_that_always_differ_need_more_evidence():
    # Each class wanders: the means of its blocks differ by more than independent rows would.
    rng = np.random.default_rng(0)
    X, codes = stream(1, offset=0.0, n=3000)
    for k in range(3):
        at = np.flatnonzero(codes == k)
        X[at] += np.repeat(rng.normal(size=(len(at) // 20 + 1, 3)), 20, axis=0)[: len(at)]
    _, common = both(X, codes)
    assert common.sums[2] / common.sums[3] > 2.0


def test_rows_left_out():
    X, codes = stream(3, offset=2.0)
    weights = np.ones(len(X))
    weights[::7], X[1::7, 1] = 0.0, np.nan
    both(X, codes, weights)
    _, common = both(X, codes, weights)
    kept = (weights > 0) & ~np.isnan(X).any(axis=1)
    assert common.sums[1] <= kept.sum()


def test_many_columns_have_no_shift():
    assert len(Follower(100, 104, predicts=False).common.shift) == 100
    assert len(Follower(101, 104, predicts=False).common.shift) == 0


def test_new_columns_keep_the_shift_of_the_old_ones():
    follower = Follower(99, 99, predicts=False)
    follower.common.shift[:] = np.arange(99)
    follower.widen(102, 102)
    np.testing.assert_array_equal(follower.common.shift, np.arange(99))
    row = follower.without_shift(np.zeros((1, 102)))
    np.testing.assert_array_equal(row[0], np.append(-np.arange(99.0), [0, 0, 0]))


def test_a_class_that_is_forgotten_starts_with_no_mean():
    X, codes = stream(2, offset=2.0)
    common = common_shift.reserve_codes(common_shift.new_common_shift(3), 3)
    find(common, X[:450], codes[:450], np.ones(450))
    seen = common.found_at.copy()
    for code in range(3):
        common_shift.forget_class(common, code)
    find(common, X[450:520], codes[450:520], np.ones(70))
    assert common_shift.change_shift(common) == 0.0
    # What it found last may still agree with what another class finds.
    np.testing.assert_array_equal(common.found_at, seen)
