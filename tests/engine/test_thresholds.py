"""Candidate thresholds and the class masses left of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import naive
from mist import MistClassifier
from mist.engine import kll, thresholds
from mist.engine.inheritance import split_leaf
from mist.engine.state import State, leaf_cells
from published import paper_tree

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split
EXACT = 4096  # size of sketches that hold all rows


def grown(X, y, weights=None, **options: Any) -> MistClassifier:
    options = {"grace_period": NEVER, "sketch_size": EXACT, **options}
    return paper_tree(**options).partial_fit(X, y, sample_weight=weights)


def medians(state: State) -> np.ndarray:
    cells = thresholds.observed_cells(state.tree, 0)
    n = state.options.n_numeric
    return thresholds.class_medians(state.tree, state.observed, state.sketch, cells, n)


def lower_median(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    return float(np.quantile(values, 0.5, method="inverted_cdf")) if values.size else NAN


def twin_of(X, y, weights=None, **options: Any) -> naive.NaiveMist:
    twin = naive.NaiveMist(grace_period=NEVER, **options)
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        twin.learn_row(x, label, 1.0 if weights is None else float(weights[i]))
    return twin


def twin_candidates(twin: naive.NaiveMist, j: int) -> list[float]:
    cells = [cell for cell in twin.nodes[0].cells.values() if cell.count > 0.0]
    return twin.candidates(0, j, cells, [twin.column(cell, j) for cell in cells])


def given(column: np.ndarray) -> list[float]:
    return column[~np.isnan(column)].tolist()


# --- observed cells ---------------------------------------------------------------------------


def test_observed_cells_are_those_of_classes_seen_at_the_leaf():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), np.arange(300) % 3
    model = grown(X, y)
    tree = model._state.tree
    assert thresholds.observed_cells(tree, 0).tolist() == leaf_cells(tree, 0).tolist() == [0, 1, 2]
    split_leaf(model._state, 0, 0, 0.0, "gaussian", 1.0)
    tree = model._state.tree
    assert leaf_cells(tree, 0).size == 3
    assert thresholds.observed_cells(tree, 0).size == 0  # only inherited so far
    model.partial_fit([[-1.0], [-1.5]], [2, 1])
    tree = model._state.tree
    cells = thresholds.observed_cells(tree, 0)
    assert tree.cells.code[cells].tolist() == [1, 2]  # in order of creation


# --- medians ----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_class_medians_are_the_lower_medians(missing):
    rng = np.random.default_rng(1)
    X, y = np.round(rng.normal(size=(200, 3)), 1), rng.integers(0, 4, 200)
    X[rng.random(X.shape) < missing] = NAN
    if missing:
        X[y == 2, 1] = NAN
    codes = list(dict.fromkeys(y.tolist()))
    state = grown(X, y)._state
    expected = [[lower_median(X[y == c, j]) for j in range(3)] for c in codes]
    for _ in range(2):  # found, then remembered
        np.testing.assert_array_equal(medians(state), expected)


def test_medians_are_renewed_for_the_classes_that_learnt_more():
    rng = np.random.default_rng(2)
    model = paper_tree(grace_period=NEVER, sketch_size=EXACT)
    X, y = np.empty((0, 2)), np.empty(0, int)
    for step in range(12):
        # Far from where the median is sought first, too: the values drift.
        new = rng.normal(size=(30, 2)) * 10.0 ** (step % 3) + 5.0 * step
        labels = rng.integers(0, 1 + step % 3, 30)
        labels[: step == 0] = 0
        model.partial_fit(new, labels)
        X, y = np.vstack([X, new]), np.concatenate([y, labels])
        codes = list(dict.fromkeys(y.tolist()))
        expected = [[lower_median(X[y == c, j]) for j in range(2)] for c in codes]
        np.testing.assert_array_equal(medians(model._state), expected)


def test_medians_of_compacted_sketches_are_their_items_medians():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(2000, 2)), rng.integers(0, 2, 2000)
    weights = rng.choice([1.0, 0.5, 4.0], 2000)
    options = {"sketch_size": 8, "random_state": 3}
    state = grown(X, y, weights, **options)._state
    twin = twin_of(X, y, weights, **options)
    expected = [[twin.column(c, j)[2] for j in range(2)] for c in twin.nodes[0].cells.values()]
    np.testing.assert_array_equal(medians(state), expected)


def test_a_class_without_a_sketch_gives_its_mean():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 3
    state = grown(X, y, max_classes_per_leaf=1)._state
    got = medians(state)
    np.testing.assert_array_equal(got[0], [lower_median(X[y == 0, j]) for j in range(2)])
    np.testing.assert_allclose(got[1:], [X[y == c].mean(axis=0) for c in (1, 2)])
    without = medians(grown(X, y, thresholds="gaussian")._state)
    np.testing.assert_allclose(without, [X[y == c].mean(axis=0) for c in range(3)])


# --- candidates -------------------------------------------------------------------------------


def test_midpoints_lie_between_neighbouring_distinct_medians():
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 12):
        table = np.round(rng.normal(size=(n, 6)), 1)
        table[rng.random((n, 6)) < 0.2] = NAN
        table[:, 0], table[:, 1] = 2.0, NAN
        out = thresholds.midpoints(table)
        assert out.shape == (n - 1, 6)
        for j in range(6):
            distinct = np.unique(table[~np.isnan(table[:, j]), j])
            assert given(out[:, j]) == (0.5 * distinct[1:] + 0.5 * distinct[:-1]).tolist()
            np.testing.assert_array_equal(out[len(given(out[:, j])) :, j], np.nan)


def test_midpoints_separate_neighbouring_floats_and_do_not_overflow():
    floats, huge = [1.0], 1.7e308
    for _ in range(4):
        floats.append(math.nextafter(floats[-1], 2.0))
    # Halfway between two of them rounds down for one pair and up for the next.
    assert thresholds.midpoints(np.array(floats)[:, None])[:, 0].tolist() == floats[:-1]
    assert thresholds.midpoints(np.array([[huge / 2], [huge]])).tolist() == [[0.75 * huge]]
    low, high = 5e-324, 1e-323  # halves of the smallest floats round
    (v,) = thresholds.midpoints(np.array([[high], [low]]))[0]
    assert low <= v < high


@pytest.mark.parametrize("kind", ["medians", "dense", "sampled"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_candidates_equal_the_twins(kind, missing):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 5, 400)
    X[:, 2] = 1.5
    X[rng.random(X.shape) < missing] = NAN
    if missing:
        X[:, 3] = NAN
    options = {"sketch_size": 16, "thresholds": kind, "n_thresholds": 7, "random_state": 11}
    options["max_classes_per_leaf"] = 4
    state = grown(X, y, **options)._state
    twin = twin_of(X, y, **options)
    cells = thresholds.observed_cells(state.tree, 0)
    if kind == "medians":
        got = thresholds.median_candidates(state.tree, state.observed, state.sketch, cells, 4)
    elif kind == "dense":
        got = thresholds.dense_grid(state.tree, state.sketch, cells, 7)
    else:
        got = thresholds.sampled(state.tree, state.sketch, cells, 7, 11, 0, 0)
    for j in range(4):
        assert given(got[:, j]) == pytest.approx(twin_candidates(twin, j), rel=1e-12)


def test_dense_grid_is_even():
    X = np.column_stack([np.arange(101.0), np.full(101, 3.0), np.full(101, NAN)])
    state = grown(X, np.arange(101) % 2)._state
    got = thresholds.dense_grid(state.tree, state.sketch, np.array([0, 1]), 4)
    np.testing.assert_allclose(got[:, 0], [20.0, 40.0, 60.0, 80.0])
    assert np.isnan(got[:, 1:]).all()


def test_sampled_values_follow_the_weight_of_the_classes():
    X, y = np.r_[np.zeros(100), np.ones(300)][:, None], np.repeat([0, 1], [100, 300])
    state = grown(X, y, np.where(y == 0, 1.0, 3.0))._state
    got = thresholds.sampled(state.tree, state.sketch, np.array([0, 1]), 4000, 0, 0, 1)[:, 0]
    assert set(got) == {0.0, 1.0}
    assert got.mean() == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 4000))
    other = thresholds.sampled(state.tree, state.sketch, np.array([0, 1]), 4000, 0, 0, 2)[:, 0]
    assert (got != other).any()  # every attempt draws anew


# --- masses -----------------------------------------------------------------------------------


def masses(state: State, cell: int, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known, left = np.empty(candidates.shape[1]), np.empty(candidates.shape)
    thresholds.left_masses(state.tree, state.observed, state.sketch, cell, candidates, known, left)
    return known, left


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_left_masses_count_rows_while_sketches_hold_them_all(missing):
    rng = np.random.default_rng(7)
    X, y = np.round(rng.normal(size=(301, 3)), 1), rng.integers(0, 3, 301)
    X[rng.random(X.shape) < missing] = NAN
    if missing:
        X[y == 1, 0] = NAN
    codes = list(dict.fromkeys(y.tolist()))
    state = grown(X, y)._state
    candidates = np.round(rng.normal(size=(5, 3)), 1)  # ties with values: they go left
    candidates[3:, 1] = NAN
    for cell, c in enumerate(codes):
        known, left = masses(state, cell, candidates)
        rows = X[y == c]
        np.testing.assert_allclose(known, np.sum(~np.isnan(rows), axis=0), rtol=1e-12)
        below = (rows[None] <= candidates[:, None]).sum(axis=1)
        np.testing.assert_allclose(left, below, rtol=1e-12)


def test_left_masses_of_compacted_sketches_equal_the_twins():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    X[rng.random(X.shape) < 0.1] = NAN
    weights = rng.choice([0.3, 1.0, 2.0], 600)
    options = {"sketch_size": 8, "max_classes_per_leaf": 2}
    state, twin = grown(X, y, weights, **options)._state, twin_of(X, y, weights, **options)
    candidates = rng.normal(size=(6, 2))
    for cell, other in enumerate(twin.nodes[0].cells.values()):
        known, left = masses(state, cell, candidates)
        for j in range(2):
            rows, below, _ = twin.column(other, j)
            assert known[j] == pytest.approx(rows)
            assert left[:, j].tolist() == pytest.approx([rows * below(v) for v in candidates[:, j]])


def test_without_a_sketch_the_share_is_that_of_a_gaussian():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    X[y == 1, 1] = 4.0  # no variance: a step at the mean
    state = grown(X, y, thresholds="gaussian")._state
    candidates = np.array([[-0.5, 3.9], [0.5, 4.0], [NAN, 4.1]])
    for c in range(2):
        known, left = masses(state, c, candidates)
        assert known.tolist() == [50.0, 50.0]
        rows = X[y == c]
        for j in range(2):
            mean, sd = rows[:, j].mean(), rows[:, j].std()
            for i, v in enumerate(candidates[:, j]):
                share = (norm.cdf(v, mean, sd) if sd > 0.0 else mean <= v) if v == v else 0.0
                assert left[i, j] == pytest.approx(50.0 * share)


def test_masses_count_the_rows_of_the_leaf_and_nothing_inherited():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    model = grown(X, y, thresholds="gaussian")
    split_leaf(model._state, 0, 0, 0.0, "gaussian", 0.6)
    new = rng.normal(size=(50, 2)) - [3.0, 0.0]
    model.partial_fit(new, np.zeros(50, int))
    state = model._state
    (cell,) = thresholds.observed_cells(state.tree, 0)
    assert state.tree.cells.weight[cell] > 60.0
    known, left = masses(state, int(cell), np.full((1, 2), 1e9))
    assert known.tolist() == pytest.approx([50.0, 50.0])
    assert left[0].tolist() == pytest.approx([50.0, 50.0])


def test_a_sketch_of_no_copies_has_no_mass():
    # A row of weight 0.3 may leave no copy in the sketch: then nothing is known of the column.
    for seed in range(20):
        state = grown([[1.0], [2.0]], [0, 1], [0.3, 1.0], random_state=seed)._state
        copies = kll.total_weight(state.sketch, 0)
        known, left = masses(state, 0, np.array([[5.0]]))
        assert known.tolist() == left[0].tolist() == ([0.3] if copies else [0.0])
