"""Sketch log density of MIST-K."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import naive
from mist import MistClassifier
from mist.engine.leaves.sketch import HALF_WINDOW, THIN, deviations
from mist.engine.state import M2, MEAN, PREC
from published import paper_tree

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split
BANDWIDTH, SMOOTHING = 0.25, 1e-3


def grown(X, y, weights=None, **options: Any) -> MistClassifier:
    fixed = {"grace_period": NEVER, "bandwidth": BANDWIDTH, "smoothing": SMOOTHING}
    options = {**fixed, **options}
    return paper_tree("sketch", **options).partial_fit(X, y, sample_weight=weights)


def empirical_term(
    values: np.ndarray,
    x: float,
    sigma: float,
    bandwidth: float = BANDWIDTH,
    smoothing: float = SMOOTHING,
) -> float:
    """Log density at x of a sample, lengths in units of sigma."""
    values = np.sort(values)
    n = len(values)

    def share(v: float) -> float:
        return float(np.mean(values <= v))

    def quantile(q: float) -> float:
        # The smallest value that has q of all values at or below it; the ends outside.
        return float(values[min(max(math.ceil(q * n), 1), n) - 1])

    above, below = (quantile(share(x) + side * HALF_WINDOW) for side in (1, -1))
    spacing = max(above, x) - min(below, x)  # beyond the ends, the distance to them counts
    if spacing <= 0.0:
        spacing = smoothing * sigma
    h = bandwidth * spacing
    inside = share(x + h) - share(x - h)
    return math.log((inside + smoothing) / (2.0 * h / sigma + smoothing))


@pytest.mark.parametrize(("bandwidth", "smoothing"), [(BANDWIDTH, SMOOTHING), (0.7, 0.05)])
@pytest.mark.parametrize("decimals", [0, 12])
def test_probabilities_are_those_of_the_sample_while_sketches_hold_all_rows(
    decimals, bandwidth, smoothing
):
    rng = np.random.default_rng(0)
    n = 240
    y = rng.integers(0, 3, n)
    X = np.round(rng.normal(size=(n, 2)) * [1.0, 3.0] + y[:, None], decimals)
    model = grown(X, y, sketch_size=1000, bandwidth=bandwidth, smoothing=smoothing)
    sigma = X.std(axis=0)
    asked = np.vstack([X[:30], rng.normal(size=(20, 2)) * 8.0, [[-99.0, 99.0]]])
    for x, p in zip(asked, model.predict_proba(asked), strict=True):
        scores = [
            math.log(np.sum(y == c) + 1.0)
            + sum(
                empirical_term(X[y == c, j], x[j], sigma[j], bandwidth, smoothing) for j in range(2)
            )
            for c in range(3)
        ]
        shares = np.exp(np.array(scores) - max(scores))
        assert p.tolist() == pytest.approx((shares / shares.sum()).tolist(), abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_compacted_sketches_answer_as_the_twins(missing):
    rng = np.random.default_rng(1)
    n = 600
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + y[:, None]
    X[:, 2] = X[:, 2] > 1.0
    X[rng.random(X.shape) < missing] = NAN
    weights = rng.choice([1.0, 0.5, 3.0], n)
    options = {"sketch_size": 16, "categorical_features": [2], "max_classes_per_leaf": 2}
    model = grown(X, y, weights, **options)
    options |= {"bandwidth": BANDWIDTH, "smoothing": SMOOTHING}
    twin = naive.NaiveMist("sketch", grace_period=NEVER, **options)
    for x, label, w in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        twin.learn_row(x, label, w)
    asked = np.where(np.isnan(X[:40]), 0.0, X[:40])
    asked[::3, 0] = NAN
    for x, p in zip(asked.tolist(), model.predict_proba(asked), strict=True):
        expected = twin.predict_proba(x)
        assert p.tolist() == pytest.approx([expected[c] for c in range(3)], abs=1e-12)


@pytest.mark.parametrize("rows", [1, THIN - 1, THIN, THIN + 1])
def test_a_thin_sketch_answers_with_its_gaussian(rows):
    rng = np.random.default_rng(rows)
    X = np.concatenate([rng.exponential(size=rows), rng.exponential(size=200) + 0.3])[:, None]
    y = np.repeat([0, 1], [rows, 200])
    model = grown(X, y, sketch_size=1000)
    sigma, asked = X.std(), np.linspace(0.0, 3.0, 7)
    mean, _, prec = model._state.tree.stats[0, :, 0]
    for x, p in zip(asked, model.predict_proba(asked[:, None]), strict=True):
        thin = norm.logpdf(x, mean, prec**-0.5) + math.log(sigma)
        full = empirical_term(X[y == 0, 0], x, sigma)
        terms = [thin if rows < THIN else full, empirical_term(X[y == 1, 0], x, sigma)]
        odds = terms[0] - terms[1] + math.log((rows + 1.0) / 201.0)
        assert math.log(p[0] / p[1]) == pytest.approx(odds, rel=1e-9, abs=1e-9)


def test_thinness_counts_copies_not_steps():
    X, y = np.random.default_rng(2).normal(size=(42, 1)), np.repeat([0, 1], [2, 40])
    weights = np.where(y == 0, 10.0, 1.0)  # two rows of class 0, but 20 copies
    model = grown(X, y, weights, sketch_size=1000)
    sample = np.repeat(X[:2, 0], 10)
    sigma = math.sqrt(np.cov(X[:, 0], aweights=weights, ddof=0))
    p = model.predict_proba([[0.1]])[0]
    odds = empirical_term(sample, 0.1, sigma)
    odds -= empirical_term(X[2:, 0], 0.1, sigma)
    assert math.log(p[0] / p[1]) == pytest.approx(odds + math.log(21 / 41))


def test_a_column_with_one_value_in_a_class_uses_its_gaussian():
    X = np.column_stack([np.r_[np.full(30, 2.0), np.linspace(0.0, 4.0, 30)]])
    y = np.repeat([0, 1], 30)
    model = grown(X, y, sketch_size=1000)
    sigma = X.std()
    mean, m2, prec = model._state.tree.stats[0, :, 0]
    assert (mean, m2) == (2.0, 0.0)
    for x in (1.5, 2.0):
        p = model.predict_proba([[x]])[0]
        term = norm.logpdf(x, 2.0, prec**-0.5) + math.log(sigma)
        odds = term - empirical_term(X[30:, 0], x, sigma)
        assert math.log(p[0] / p[1]) == pytest.approx(odds)


@pytest.mark.parametrize("unit", [1.0, 50.0])
def test_many_rows_at_the_largest_value(unit):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(100, 1)) * unit, np.repeat([0, 1], 50)
    X[:50] = np.minimum(X[:50], 0.0)  # at 0, both quantiles of class 0 are 0
    model = grown(X, y, sketch_size=1000)
    for x in (0.0, 1e-4 * unit, unit):
        p = model.predict_proba([[x]])[0]
        odds = empirical_term(X[:50, 0], x, X.std()) - empirical_term(X[50:, 0], x, X.std())
        assert math.log(p[0] / p[1]) == pytest.approx(odds, rel=1e-9)


def test_missing_values_and_columns_that_never_varied_say_nothing():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=100), np.full(100, 7.0)])
    y = rng.integers(0, 2, 100)
    model = grown(X, y)
    prior = np.bincount(y) + 1.0
    expected = (prior / prior.sum()).tolist()
    for x in ([NAN, NAN], [NAN, 7.0], [NAN, 99.0]):
        assert model.predict_proba([x])[0].tolist() == pytest.approx(expected)


def test_a_class_without_a_value_in_a_column():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    X[y == 0, 0] = NAN
    model = grown(X, y, sketch_size=1000)
    known = X[y == 1, 0]
    sigma = known.std()  # of all learnt values
    p = model.predict_proba([[0.4, NAN]])[0]
    # Nothing is known of class 0: the running Gaussian at the squared distance that it expects.
    odds = -0.5 * (math.log(2.0 * math.pi) + 1.0) - empirical_term(known, 0.4, sigma)
    assert math.log(p[0] / p[1]) == pytest.approx(odds)


def test_answers_do_not_depend_on_units():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 2)) + y[:, None]
    # Powers of two change no rounding.
    small, large = grown(X, y), grown(X * 2.0**40, y)
    np.testing.assert_allclose(
        small.predict_proba(X[:50]), large.predict_proba(X[:50] * 2.0**40), rtol=1e-9
    )


@pytest.mark.parametrize("missing", [False, True])
def test_deviations_are_those_of_all_rows(missing):
    rng = np.random.default_rng(6)
    X, weights = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.0], rng.choice([1.0, 2.5], 200)
    if missing:
        X[::7, 0] = NAN
    state = grown(X, np.arange(200) % 2, weights)._state
    sigma = np.empty(3)
    deviations(state.tree, state.observed, sigma)
    for j in range(3):
        known = ~np.isnan(X[:, j])
        mean = np.average(X[known, j], weights=weights[known])
        var = np.average((X[known, j] - mean) ** 2, weights=weights[known])
        assert sigma[j] == pytest.approx(math.sqrt(var))
    assert state.tree.scale[M2, 2] == state.tree.scale[MEAN, 2] == 0.0
    assert state.tree.stats[0, PREC, 2] == 0.0
