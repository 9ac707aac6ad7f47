"""The exponent on the probabilities of a model: what it is, and what it does to probabilities."""

import numpy as np
import pytest

from mist import MistClassifier
from mist.adaptation.calibration import EXPONENT, calibrated, merge, new_calibration
from mist.adaptation.expectation import Expectation


def log_loss(shares, places):
    return -np.log(shares[np.arange(len(places)), places]).mean()


@pytest.mark.parametrize("too_sure", [0.5, 1.0, 4.0])
def test_it_finds_how_much_too_sure_a_model_is(too_sure):
    rng = np.random.default_rng(0)
    n = 6000
    right = rng.normal(0.0, 1.0, (n, 3))
    right = np.exp(right) / np.exp(right).sum(axis=1, keepdims=True)
    codes = (rng.random(n)[:, None] > right.cumsum(axis=1)).sum(axis=1)
    said = right**too_sure
    said /= said.sum(axis=1, keepdims=True)
    found = Expectation(1)
    found.reserve_codes(3)
    ones = np.ones(n, np.int64)
    found.learn(
        rng.normal(size=(n, 1)), codes, np.ones(n), ones, np.arange(3), said[None], None, None
    )
    assert found.state.calibration[EXPONENT] == pytest.approx(1 / too_sure, rel=0.15)
    mended = calibrated(said, np.ones(3), np.arange(3), found.state.calibration)
    assert log_loss(mended, codes) == pytest.approx(log_loss(right, codes), abs=0.01)


def test_a_rare_class_does_not_make_the_others_look_surer():
    found, n = [], 20_000
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = (rng.random(n) < 0.01).astype(np.int64)
        X = rng.normal(size=n) + 1.5 * codes
        # The model of classes that are equally frequent is right.
        second = 1.0 / (1.0 + np.exp(1.125 - 1.5 * X))
        said = np.stack([1.0 - second, second], axis=1)
        expectation = Expectation(1)
        expectation.reserve_codes(2)
        given = np.zeros((n, 1)), codes, np.ones(n), np.ones(n, np.int64), np.arange(2)
        expectation.learn(*given, said[None], None, None)
        found.append(expectation.state.calibration[EXPONENT])
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)


def test_by_hand():
    shares, often = np.array([[0.8, 0.2, 0.0], [0.0, 0.0, 1.0]]), np.array([6.0, 3.0, 0.0])
    plain = calibrated(shares[:1], often, np.arange(2))
    np.testing.assert_allclose(plain, [[0.8 * 6 / 5.4, 0.2 * 3 / 5.4, 0.0]])
    mended = calibrated(shares, often, np.arange(2), np.array([0.5, 1.0]))
    parts = np.array([6 * 0.8**0.5, 3 * 0.2**0.5])
    np.testing.assert_allclose(mended[0, :2], parts / parts.sum())
    # The third class has no row; the first two are as good as the least probability allows.
    np.testing.assert_allclose(mended[1], [2 / 3, 1 / 3, 0.0])


def test_columns_that_say_the_same_do_not_make_a_model_sure():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 4000)
    X = np.repeat(rng.normal(size=(4000, 1)) + y[:, None], 6, axis=1)
    learnt, asked = slice(3000), slice(3000, None)
    losses = []
    for adapt in (None, "stream"):
        model = MistClassifier("gaussian", adapt=adapt).fit(X[learnt], y[learnt])
        losses.append(log_loss(model.predict_proba(X[asked]), y[asked]))
    best = 1 / (1 + np.exp(0.5 - X[asked, 0]))
    assert losses[0] > 1.0
    assert losses[1] == pytest.approx(log_loss(np.stack([1 - best, best], 1), y[asked]), abs=0.03)


def test_merged_exponents_are_that_of_all_rows():
    learnt = []
    for rows in (slice(3000), slice(3000, 9000), slice(9000)):
        rng = np.random.default_rng(2)
        right = rng.dirichlet(np.ones(3), 9000)
        codes = (rng.random(9000)[:, None] > right.cumsum(axis=1)).sum(axis=1)
        said = right**3.0 / (right**3.0).sum(axis=1, keepdims=True)
        found, n = Expectation(1), len(codes[rows])
        found.reserve_codes(3)
        given = np.zeros((n, 1)), codes[rows], np.ones(n), np.ones(n, np.int64)
        found.learn(*given, np.arange(3), said[None, rows], None, None)
        learnt.append(found.state.calibration.copy())
    one, other, both = learnt
    there, back = one.copy(), other.copy()
    merge(there, other)
    merge(back, one)
    np.testing.assert_allclose(there, back)
    assert there[EXPONENT] == pytest.approx(both[EXPONENT], rel=0.05)
    # The ridge, which pulls towards 1, counts once in place of twice.
    assert min(one[EXPONENT], other[EXPONENT]) - 0.01 < there[EXPONENT]
    assert there[EXPONENT] < max(one[EXPONENT], other[EXPONENT]) + 0.01
    merge(there, new_calibration())
    np.testing.assert_allclose(there, back)
