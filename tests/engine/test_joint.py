"""Joint inheritance: what the split column tells of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from mist import MistClassifier
from mist.engine import joint, kll, mixture_upkeep
from mist.engine.gaussian_mixtures import Mixture
from mist.engine.inheritance import split_leaf
from mist.engine.state import M2, MEAN, N_CELLS, N_LEAVES, State, leaf_cells
from published import paper_tree

NEVER = 10**9  # grace period of a tree that does not split by itself


def correlated(n: int, seed: int = 0, d: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def learnt(X: np.ndarray, y: np.ndarray | None = None, **options) -> MistClassifier:
    options = {"inheritance": "joint", "discount": 1.0, "grace_period": NEVER, **options}
    return paper_tree(**options).fit(X, np.zeros(len(X), int) if y is None else y)


def split(model: MistClassifier, feature: int, v: float, discount: float = 1.0) -> State:
    split_leaf(model._state, 0, feature, v, "joint", discount)
    return model._state


def moments(state: State, cell: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, mean and covariance of a class at a leaf."""
    mass = float(state.tree.cells.mass[cell])
    if not isinstance(state.model, Mixture):
        return mass, state.tree.stats[cell, MEAN].copy(), joint.class_covariance(state, cell)
    mean, _ = mixture_upkeep.overall_moments(state, cell)
    d = state.options.n_numeric
    rows = [mixture_upkeep.overall_covariances(state, cell, j)[0] for j in range(d)]
    return mass, mean, np.array(rows)


@pytest.mark.parametrize("leaf", ["gaussian", "full"])
@pytest.mark.parametrize("v", [-2.0, 0.3, 1.5])
def test_two_children_together_are_their_parent(leaf, v):
    """Without sketches the masses are those of a Gaussian, and nothing is lost."""
    X = correlated(400)
    model = learnt(X, leaf=leaf, thresholds="gaussian")
    whole = moments(model._state, leaf_cells(model._state.tree, 0)[0])
    assert whole[2] == pytest.approx(np.cov(X.T, bias=True), rel=1e-9)
    state = split(model, 1, v)
    parts = [moments(state, leaf_cells(state.tree, leaf)[0]) for leaf in (0, 1)]
    mass = sum(m for m, _, _ in parts)
    mean = sum(m * mu for m, mu, _ in parts) / mass
    second = sum(m * (S + np.outer(mu, mu)) for m, mu, S in parts) / mass
    assert mass == pytest.approx(whole[0], rel=1e-12)
    assert mean == pytest.approx(whole[1], rel=1e-9)
    assert second - np.outer(mean, mean) == pytest.approx(whole[2], rel=1e-8, abs=1e-10)
    for _, _, S in parts:
        assert np.linalg.eigvalsh(S).min() > -1e-12


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 1000),
    st.integers(1, 5),
    st.floats(-3, 3),
    st.floats(0, 5),
)
def test_conditioned_covariances_stay_sound(seed, d, at, share):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    S, mean, feature = A @ A.T, rng.normal(size=d), int(rng.integers(d))
    variance = share * S[feature, feature]
    new_mean, new = joint.condition(mean, S, feature, at, variance)
    assert new_mean[feature] == pytest.approx(at, abs=1e-9)
    assert new[feature, feature] == pytest.approx(variance, abs=1e-9)
    assert np.linalg.eigvalsh(new).min() > -1e-9 * max(1.0, np.abs(new).max())


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full", "mixture", "majority"])
def test_the_discount_makes_no_class_less_probable(leaf):
    X = correlated(300)
    masses = []
    for discount in (1.0, 0.3):
        model = learnt(X, leaf=leaf)
        state = split(model, 0, float(np.median(X[:, 0])), discount)
        cells = [leaf_cells(state.tree, leaf)[0] for leaf in (0, 1)]
        masses.append(state.tree.cells.mass[cells].tolist())
        weights = state.tree.cells.weight[cells]
        assert weights == pytest.approx(discount * np.array(masses[-1]), rel=1e-12)
        if isinstance(state.model, Mixture):
            assert state.model.cells.total[cells] == pytest.approx(masses[-1], rel=1e-9)
            held = [
                state.model.own.head["weight"][mixture_upkeep.components_of(state.model, c)].sum()
                for c in cells
            ]
            assert held == pytest.approx(weights, rel=1e-9)
    assert masses[0] == pytest.approx(masses[1], rel=1e-12)
    assert sum(masses[0]) == pytest.approx(300, rel=1e-12)


def test_shares_and_moments_of_the_split_column_are_those_of_its_values():
    """With fewer rows than a sketch holds they are exact, whatever the distribution."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.exponential(size=50), rng.normal(size=50)])
    state = split(learnt(X), 0, 0.8)
    for leaf, side in ((0, X[:, 0] <= 0.8), (1, X[:, 0] > 0.8)):
        cell = leaf_cells(state.tree, leaf)[0]
        weight = state.tree.cells.weight[cell]
        assert weight == pytest.approx(side.sum())
        assert state.tree.stats[cell, MEAN, 0] == pytest.approx(X[side, 0].mean())
        assert state.tree.stats[cell, M2, 0] / weight == pytest.approx(X[side, 0].var())


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full"])
def test_sketches_of_the_children_are_near_those_of_their_rows(leaf):
    X = correlated(4000, seed=3)
    v = float(np.quantile(X[:, 1], 0.3))
    state = split(learnt(X, leaf=leaf), 1, v)
    room = np.empty(1000), np.empty(1000)
    for leaf_index, side in ((0, X[:, 1] <= v), (1, X[:, 1] > v)):
        cell = leaf_cells(state.tree, leaf_index)[0]
        total = kll.total_weight(state.sketch, cell)
        assert total == pytest.approx(side.sum(), rel=0.03)
        for j in range(3):
            for q in (0.1, 0.5, 0.9):
                got = kll.quantile(state.tree.cells, state.sketch, cell, j, q, *room)
                assert np.mean(X[side, j] <= got) == pytest.approx(q, abs=0.06)


def test_a_value_that_most_rows_have_keeps_its_place():
    """An affine map of the values would move it off."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 2))
    X[:, 1] = np.where(rng.random(500) < 0.6, 0.0, X[:, 0])
    state = split(learnt(X, leaf="sketch"), 0, 0.2)
    for leaf in (0, 1):
        cell = leaf_cells(state.tree, leaf)[0]
        start, used = state.tree.cells.start[cell], state.tree.cells.used[cell]
        assert np.mean(state.sketch.items[start : start + used, 1] == 0.0) > 0.4


def test_a_class_goes_on_with_the_sketch_it_inherited():
    X = correlated(200, seed=5)
    model = learnt(X)
    state = split(model, 0, float(np.median(X[:, 0])))
    cell = leaf_cells(state.tree, 0)[0]
    before = int(kll.total_weight(state.sketch, cell))
    rows = X[X[:, 0] <= np.median(X[:, 0])][:7]
    model.partial_fit(rows, np.zeros(7, int))
    assert kll.total_weight(model._state.sketch, cell) == before + 7


def test_old_classes_survive_splits_that_are_made_for_new_ones():
    """Classes come one after the other; correlated columns are what a split could lose."""
    rng = np.random.default_rng(7)
    n = 600
    X = np.concatenate([correlated(n, seed=s, d=4) + rng.normal(size=4) * 2 for s in range(6)])
    y = np.repeat(np.arange(6), n)
    options = {"split_test": "schedule", "rows_per_split": 300, "grace_period": 100}
    kept = {
        how: learnt(X, y, leaf="full", inheritance=how, class_prior="balanced", **options)
        for how in ("joint", "gaussian")
    }
    recall = {how: m.score(X[:n], y[:n]) for how, m in kept.items()}
    assert kept["joint"].n_splits_ >= 4
    assert recall["joint"] > recall["gaussian"] - 0.02
    assert recall["joint"] > 0.8


def test_schedule_waits_for_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    X[:, 1] += y
    model = paper_tree(split_test="schedule", rows_per_split=350, grace_period=100).fit(X, y)
    first = model.split_log_[0]
    assert (first.seen, first.rows, first.feature, first.radius) == (400, 400.0, 1, 0.0)
    assert first.gain > 0


def test_a_part_of_the_columns_is_drawn_anew_at_every_attempt():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000)
    X[:, 3] += 3 * y
    first = {
        seed: paper_tree(
            split_test="schedule", grace_period=100, max_features=0.5, random_state=seed
        )
        .fit(X[:600], y[:600])
        .split_log_[0]
        .feature
        for seed in range(40)
    }
    share = np.mean([feature == 3 for feature in first.values()])
    assert 0.3 < share < 0.7
    # The twin draws the same columns; its own test of agreement covers that.
    draws = [naive.uniform(0, 4, 0, 5, j) for j in range(8)]
    allowed = set(np.argsort(draws)[:4].tolist())
    assert first[0] in allowed


@pytest.mark.parametrize("leaf", ["full", "mixture"])
def test_columns_that_go_together_are_cut_to_no_variance_and_never_below(leaf):
    """Rounding had left less than nothing, of which the next look at the leaf took the root."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 400)
        one, other = rng.random(400) < (y + 1) / 5, rng.random(400) < 0.5
        X = np.column_stack([one, 0.3 + 0.7 * one, ~one, one / 7, 3.3 * one + 0.1 * other, other])
        X = np.column_stack([X, 0.1 * other, rng.normal(size=400)])
        schedule = {"split_test": "schedule", "rows_per_split": 20, "grace_period": 20}
        state = (
            MistClassifier.from_settings(leaf=leaf, **schedule, max_features=0.5).fit(X, y)._state
        )
        assert state.tree.counters[N_LEAVES] > 5
        diagonal = np.arange(8) * (np.arange(8) + 3) // 2
        assert (state.tree.stats[: state.tree.counters[N_CELLS], M2] >= 0.0).all()
        assert (state.model.own.m2[:, diagonal] >= 0.0).all()
