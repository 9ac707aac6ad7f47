"""The next label from experts whose weights are learnt, against dense Newton steps."""

import numpy as np
import pytest

from mist.adaptation import next_label
from mist.adaptation.expectation import Expectation
from naive_adaptation import NaiveNextLabel

RANKS = np.array([2, 0, 1])
"""Place of each code among the sorted labels."""


def stream(seed, n, d, n_models):
    """Labels that come in runs, rows that say a little, models of which the last is good."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(3, size=n), 3)[:n]
    X = rng.normal(size=(n, d)) + codes[:, None]
    logits = rng.normal(size=(n_models, n, 3))
    logits[-1, np.arange(n), RANKS[codes]] += 2.0
    models = np.exp(logits)
    models /= models.sum(axis=2, keepdims=True)
    models[:, ::17] = np.eye(3)[RANKS[codes[::17]]]
    return X, codes, models


@pytest.mark.parametrize(
    ("seed", "n", "n_models", "balanced"),
    [(0, 150, 1, True), (1, 150, 2, True), (2, 400, 1, True), (3, 400, 1, False)],
)
def test_against_dense_steps(seed, n, n_models, balanced):
    d = 2
    X, codes, models = stream(seed, n, d, n_models)
    weights = np.random.default_rng(seed).choice([1.0, 2.0], n)
    asked = np.random.default_rng(seed).choice([0, 1, 2], n)
    found, naive = Expectation(d, n_models), NaiveNextLabel(d, n_models, balanced)
    found.reserve_codes(3)
    out, shares = np.empty(n, np.int64), np.zeros((n, 3))
    found.learn(X, codes, weights, asked, RANKS, models, out, shares, balanced=balanced)
    wanted = np.zeros((n, 3))
    for i in range(n):
        of_codes = models[:, i][:, RANKS]
        wanted[i, RANKS] = naive.predict(X[i], of_codes)
        naive.learn(X[i], int(codes[i]), float(weights[i]), of_codes, int(asked[i]))
    # Densities far below the best are left out of the engine's sums.
    np.testing.assert_allclose(shares, wanted, atol=1e-4)
    np.testing.assert_allclose(found.state.weights, naive.weights, atol=1e-3)
    wanted_calibration = [naive.exponent, naive.slope]
    np.testing.assert_allclose(found.state.calibration, wanted_calibration, rtol=1e-9)
    assert out[0] == -1
    assert np.array_equal(out[1:], np.argsort(RANKS)[shares[1:].argmax(axis=1)])
    assert np.abs(naive.weights[1:]).max() > 0.1


def test_the_tree_decides_at_first():
    found = Expectation(2)
    found.reserve_codes(2)
    assert found.state.weights.tolist() == [1.0] + [0.0] * 6
    X, shares = np.zeros((2, 2)), np.array([[[0.1, 0.9], [0.8, 0.2]]])
    nothing = found.predict(X, np.arange(2), shares)
    assert nothing[0].tolist() == [-1, -1]
    found.state.labels.count[:] = 1.0
    codes, answers = found.predict(X, np.arange(2), shares)
    assert codes.tolist() == [1, 0]
    np.testing.assert_allclose(answers, shares[0])


def test_a_tie_goes_to_the_label_that_sorts_first():
    found = Expectation(1)
    found.reserve_codes(3)
    found.state.labels.count[:] = 1.0
    codes, _ = found.predict(np.zeros((1, 1)), RANKS, np.full((1, 1, 3), 1 / 3))
    assert codes.tolist() == [1]


def test_predicting_changes_nothing():
    X, codes, models = stream(3, 60, 2, 1)
    found = Expectation(2)
    found.reserve_codes(3)
    asked = np.ones(60, np.int64)
    found.learn(X, codes, np.ones(60), asked, RANKS, models, None, None)
    before = [array.copy() for array in (*found.state.labels, *found.state.recent)]
    found.predict(X, RANKS, models)
    none = np.zeros(60)
    found.learn(X, codes, none, asked, RANKS, models, None, None)
    after = (*found.state.labels, *found.state.recent)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert found.rows == 60


def test_which_rows_teach_the_weights():
    found = Expectation(2)
    weights = np.array([1.0, 0.0, 1.0, 1.0])
    assert found.asked(weights, every=True).tolist() == [1, 0, 1, 1]
    assert found.asked(weights, every=False).tolist() == [1, -2, 1, 1]
    found.rows = next_label.ALL_LEARNT
    assert found.asked(weights, every=False).tolist() == [-2, -2, 2, -2]
    assert found.asked(weights, every=True).tolist() == [0, 0, 2, 0]
