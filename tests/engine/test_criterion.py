"""Gains by counting labels, and confidence radii."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from mist.engine.criterion import TIE, best_splits, impurity_term, most_gain, radius, split_gain
from mist.engine.state import State
from mist.engine.thresholds import observed_cells
from published import paper_tree

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split
CRITERIA = [None, True]  # Gini, information gain


def grown(X, y, weights=None, **options: Any) -> State:
    options = {"grace_period": NEVER, "sketch_size": 4096, **options}
    return paper_tree(**options).partial_fit(X, y, sample_weight=weights)._state


def best(state: State, candidates: np.ndarray, entropy: bool | None):
    """Best column, runner-up's gain, and each column's best gain and threshold."""
    cells = observed_cells(state.tree, 0)
    gains, places = np.empty(state.n_features), np.empty(state.n_features)
    everywhere = np.ones(state.n_features, dtype=np.bool_)
    args = (state.tree, state.observed, state.sketch, cells, candidates, entropy)
    return (*best_splits(*args, False, everywhere, gains, places), gains, places)


def impurity(labels: list[Any], entropy: bool | None) -> float:
    n = len(labels)
    if entropy is None:  # the chance that two draws with replacement differ
        return sum(a != b for a in labels for b in labels) / n**2
    shares = [labels.count(label) / n for label in set(labels)]
    return sum(p * math.log2(1.0 / p) for p in shares)


def counted_gain(x: np.ndarray, y: np.ndarray, v: float, entropy: bool | None) -> float:
    """Gain of x <= v over rows with a value, times the share of those rows."""
    known = ~np.isnan(x)
    left, right = (y[known & side].tolist() for side in (x <= v, x > v))
    if not left or not right:
        return 0.0
    parent = left + right
    after = sum(len(part) / len(parent) * impurity(part, entropy) for part in (left, right))
    return (impurity(parent, entropy) - after) * known.mean()


# --- gain -------------------------------------------------------------------------------------


@pytest.mark.parametrize("entropy", CRITERIA)
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_gains_are_those_of_counted_labels(missing, entropy):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(90, 4)), 1), rng.integers(0, 4, 90)
    X[:, 1] += y
    X[:, 3] = y > 1
    X[rng.random(X.shape) < missing] = NAN
    state = grown(X, y, categorical_features=[3])
    for _ in range(10):
        v = np.round(rng.normal(size=(1, 3)), 1)
        _, _, gains, places = best(state, v, entropy)
        expected = [counted_gain(X[:, j], y, v[0, j], entropy) for j in range(3)]
        expected.append(counted_gain(X[:, 3], y, 0.5, entropy))
        assert gains.tolist() == pytest.approx(expected, abs=1e-12)
        assert places[3] == 0.5
        found = gains[:3] > 0.0
        assert places[:3][found].tolist() == v[0][found].tolist()
        assert np.isnan(places[:3][~found]).all()


@pytest.mark.parametrize("entropy", CRITERIA)
def test_gain_of_a_weight_is_that_of_repeated_rows(entropy):
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), rng.integers(1, 5, 60)
    v = np.array([[0.1, -0.2]])
    _, _, heavy, _ = best(grown(X, y, w.astype(float)), v, entropy)
    expected = [
        counted_gain(np.repeat(X[:, j], w), np.repeat(y, w), v[0, j], entropy) for j in (0, 1)
    ]
    assert heavy.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("entropy", CRITERIA)
def test_each_column_answers_with_its_best_candidate(entropy):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 3, 120)
    X[:, 2] += 2.0 * y
    candidates = rng.normal(size=(8, 3)) + 1.0
    candidates[5:, 0] = NAN
    table = np.array(
        [[counted_gain(X[:, j], y, v, entropy) for j, v in enumerate(row)] for row in candidates]
    )
    column, second, gains, places = best(grown(X, y), candidates, entropy)
    assert gains.tolist() == pytest.approx(table.max(axis=0).tolist(), abs=1e-12)
    assert places.tolist() == [candidates[table[:, j].argmax(), j] for j in range(3)]
    assert column == 2
    assert second == pytest.approx(np.sort(table.max(axis=0))[-2], abs=1e-12)


def test_the_first_of_equals_is_kept():
    X, y = np.repeat([[0.0], [1.0], [9.0]], 10, axis=0), np.repeat([0, 0, 1], 10)
    column, second, gains, places = best(
        grown(X[:, [0, 0]], y), np.array([[2.0, 2.0], [5.0, 5.0]]), None
    )
    assert column == 0
    assert second == gains[0] == gains[1]
    assert places.tolist() == [2.0, 2.0]
    assert 0.0 < TIE < 1e-9


def test_not_to_split_is_a_candidate_without_gain():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    assert best(grown(X, y), np.array([[9.0]]), None)[:2] == (0, 0.0)  # one column, no runner-up
    for v in (-1.0, 19.0, NAN):  # nothing on one side
        column, second, gains, places = best(grown(X, y), np.array([[v]]), None)
        assert (column, second, gains[0]) == (-1, 0.0, 0.0)
        assert math.isnan(places[0])
    same = np.zeros(20, int) + np.arange(20) % 2  # both classes alike on both sides
    column, _, gains, _ = best(grown(X, same), np.array([[9.0]]), None)
    assert (column, gains[0]) == (-1, 0.0)


def test_a_perfect_cut_gains_the_whole_impurity():
    for k in (2, 5):
        y = np.repeat(np.arange(k), 12)
        X = (y > 0).astype(float)[:, None]
        _, _, gains, _ = best(grown(X, y), np.array([[0.5]]), None)
        rest = 1.0 - 1.0 / (k - 1) if k > 2 else 0.0
        assert gains[0] == pytest.approx(1.0 - 1.0 / k - (k - 1) / k * rest)


@pytest.mark.parametrize("entropy", CRITERIA)
def test_no_gain_exceeds_the_most(entropy):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 5, 80)
    X[:, 0] += 3.0 * y
    state = grown(X, y)
    got = most_gain(state.tree, observed_cells(state.tree, 0), entropy)
    assert got <= impurity(y.tolist(), entropy) + 1e-12
    assert best(state, rng.normal(size=(6, 2)) * 5.0, entropy)[2].max() <= got


@pytest.mark.parametrize("entropy", CRITERIA)
@settings(deadline=None)  # the first example compiles
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=6),
    st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
)
def test_no_table_of_masses_gains_more_than_the_most(entropy, counts, shares):
    y = np.repeat(np.arange(len(counts)), counts)
    state = grown(np.zeros((len(y), 1)), y)
    most = most_gain(state.tree, observed_cells(state.tree, 0), entropy)
    for cut in (shares[: len(counts)], np.round(shares[: len(counts)])):
        left = np.array(counts) * cut
        right = np.array(counts) - left
        sums = [
            sum(impurity_term(float(m), entropy) for m in part) for part in (left, right, counts)
        ]
        assert split_gain(left.sum(), right.sum(), *sums, entropy) <= most + 1e-12


@pytest.mark.parametrize("n_classes", [2, 4, 10])
def test_equal_classes_that_are_parted_cleanly_gain_the_most(n_classes):
    y = np.repeat(np.arange(n_classes), 6)
    state = grown((y >= n_classes // 2).astype(float)[:, None], y)
    gains = best(state, np.array([[0.5]]), None)[2]
    assert gains[0] == pytest.approx(1.0 / n_classes)
    assert most_gain(state.tree, observed_cells(state.tree, 0), None) == pytest.approx(gains[0])


# --- radius -----------------------------------------------------------------------------------


@pytest.mark.parametrize("union", [True, False])
@pytest.mark.parametrize("entropy", CRITERIA)
@pytest.mark.parametrize("bound", ["mcdiarmid", "rutkowski", "hoeffding"])
def test_radii_equal_the_twins(bound, entropy, union):
    rng = np.random.default_rng(4)
    criterion = "info_gain" if entropy else "gini"
    for _ in range(50):
        n, delta = float(rng.uniform(1, 1e5)), float(rng.uniform(1e-9, 1))
        d, m, k = (int(v) for v in rng.integers(1, 500, 3))
        got = radius(
            bound,
            n,
            delta,
            n_features=d,
            n_thresholds=m,
            n_classes=k,
            union_bound=union,
            entropy=entropy,
        )
        expected = naive.radius(n, d, m, delta, bound, union, criterion, k)
        assert got == pytest.approx(expected, rel=1e-12)


def test_radii_by_hand():
    one = {"n_features": 10, "n_thresholds": 5}
    # 32 ln(2 * 10 * 5 / 0.1) / 1000 = 32 * 6.907755 / 1000; ln(10) / 400 = 0.07587136 squared.
    assert radius("mcdiarmid", 1000, 0.1, **one) == pytest.approx(0.4701575, abs=1e-6)
    assert radius("rutkowski", 200, 0.1, **one) == pytest.approx(8 * 0.07587136, abs=1e-6)
    assert radius("hoeffding", 200, 0.1, **one) == pytest.approx(0.07587136, abs=1e-7)
    by_entropy = radius("hoeffding", 200, 0.1, n_classes=8, entropy=True, **one)
    assert by_entropy == pytest.approx(3 * 0.07587136)


def test_only_the_range_of_entropy_grows_with_the_classes():
    def at(bound: str, k: int, entropy: bool | None = None) -> float:
        counts = {"n_features": 4, "n_thresholds": 10, "n_classes": k}
        return radius(bound, 1000, 0.1, entropy=entropy, **counts)

    for bound in ("mcdiarmid", "rutkowski", "hoeffding"):
        assert at(bound, 2) == at(bound, 1000)
    assert at("hoeffding", 1024, True) == pytest.approx(10 * at("hoeffding", 2, True))


def test_the_default_radius_follows_from_the_sensitivity():
    # McDiarmid with differences of 4/n: P(|F - EF| > t) <= 2 exp(-2 t^2 / (n (4/n)^2)). The
    # radius is two such deviations, each of d m candidates failing with delta / (d m).
    n, d, m, delta = 700.0, 6, 3, 0.05
    t = radius("mcdiarmid", n, delta, n_features=d, n_thresholds=m) / 2
    assert d * m * 2 * math.exp(-2 * t**2 / (n * (4 / n) ** 2)) == pytest.approx(delta)
