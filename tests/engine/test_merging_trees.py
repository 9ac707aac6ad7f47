"""Merging classes: arrays against the slow twin, models against one that learnt both streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from material import by_trees
from mist import MistClassifier, SplitTest
from mist.engine import kll
from mist.engine.joint import points_of
from mist.engine.kll_merge import levels_of, merge_sketch
from mist.engine.leafmodel import kind_of
from mist.engine.mixture_upkeep import pool
from mist.engine.reduction import Parts, joined, parts_of, reduced, stacked
from mist.engine.state import N_CELLS, N_LEARNT, State
from naive import Sketch
from naive_merge import Component, merge_sketches, reduce

NEVER = 10**9
QUANTILES = np.arange(1, 20) / 20.0


def drawn(seed: int, n: int, a: int, binary: int = 0, holes: bool = False) -> Parts:
    """Components with any moments that rows may have."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(1.0, 40.0, n)
    known = np.repeat(weights[:, None], a + binary, axis=1)
    if holes:
        known *= rng.choice([0.0, 0.3, 1.0], known.shape)
    means = np.hstack([rng.normal(0.0, 3.0, (n, a)), rng.random((n, binary))]) * (known > 0.0)
    roots = rng.normal(size=(n, a, a + 1)) * np.sqrt(known)[:, :a, None]
    M = roots @ roots.transpose(0, 2, 1)
    rows, columns = np.tril_indices(a)
    return Parts(rng.uniform(0.5, 2.0, n) * weights, weights, known, means, M[:, rows, columns])


def unpacked(packed: np.ndarray, a: int) -> np.ndarray:
    S = np.zeros((a, a))
    S[np.tril_indices(a)] = packed
    return S + np.tril(S, -1).T


def take(parts: Parts, *chosen: int) -> Parts:
    return Parts(*(array[list(chosen)] for array in parts))


def same(one: Parts, other: Parts) -> None:
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


shapes = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(2, 8),
    "a": st.integers(0, 4),
    "binary": st.integers(0, 3),
}


# --- arrays -----------------------------------------------------------------------------------


@given(**shapes, most=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_arrays_and_twin_agree(seed, n, a, binary, most):
    parts = drawn(seed, n, a, binary)
    twins = [
        Component(mass, weight, mean, unpacked(M, a))
        for mass, weight, _, mean, M in zip(*parts, strict=True)
    ]
    ours, theirs = reduced(parts, a, most), reduce(twins, most)
    assert len(ours.masses) == len(theirs) == min(n, most)
    for i, twin in enumerate(theirs):
        assert ours.masses[i] == pytest.approx(twin.mass)
        assert ours.weights[i] == pytest.approx(twin.n)
        np.testing.assert_allclose(ours.known[i], twin.n)
        np.testing.assert_allclose(ours.means[i], twin.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(unpacked(ours.products[i], a), twin.M, rtol=1e-9, atol=1e-7)


@given(**shapes, most=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_joining_keeps_mass_mean_and_covariance(seed, n, a, binary, most):
    parts = drawn(seed, n, a, binary)
    same(joined(reduced(parts, a, most), a), joined(parts, a))


@given(**shapes, most=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_joining_keeps_means_and_variances_whatever_is_missing(seed, n, a, binary, most):
    parts = drawn(seed, n, a, binary, holes=True)
    ours, theirs = joined(reduced(parts, a, most), a), joined(parts, a)
    np.testing.assert_allclose(ours.masses, theirs.masses)
    np.testing.assert_allclose(ours.known, theirs.known)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-9, atol=1e-9)
    M, W = unpacked(ours.products[0], a), unpacked(theirs.products[0], a)
    np.testing.assert_allclose(np.diag(M), np.diag(W), rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(M).min(initial=0.0) >= -1e-9 * max(1.0, np.trace(M))


@given(**shapes)
@settings(max_examples=60, deadline=None)
def test_all_together_are_the_same_in_any_order(seed, n, a, binary):
    parts = drawn(seed, n + 1, a, binary)
    cut = 1 + seed % n
    first, rest = take(parts, *range(cut)), take(parts, *range(cut, n + 1))
    together = joined(stacked(joined(rest, a), joined(first, a)), a)
    same(together, joined(parts, a))


def test_few_enough_components_stay_as_they_are():
    parts = drawn(0, 5, 3, 1)
    same(reduced(parts, 3, 5), parts)


def test_parts_are_not_changed():
    parts, before = drawn(0, 6, 3, 1), drawn(0, 6, 3, 1)
    reduced(parts, 3, 2)
    same(parts, before)


def test_the_same_components_are_joined_first():
    parts = drawn(1, 4, 3)
    twice = reduced(stacked(parts, parts), 3, 4)
    for k in range(4):
        same(take(twice, k), joined(stacked(take(parts, k), take(parts, k)), 3))


def test_what_has_no_determinant_can_be_joined():
    parts = drawn(2, 4, 2)
    parts.products[1] = np.inf
    out = reduced(parts, 2, 3)
    assert len(out.masses) == 3
    # The one that cannot be compared is left alone.
    assert np.isinf(out.products[:, 0]).sum() == 1
    assert out.masses.sum() == pytest.approx(parts.masses.sum())


# --- models -----------------------------------------------------------------------------------


def stream(
    seed: int, n: int = 120, d: int = 4, classes: int = 2, holes: float = 0.0
) -> tuple[np.ndarray, ...]:
    """Rows with correlated columns, the second one of 0 and 1, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centres, mixing = rng.normal(size=(classes, d)) * 3.0, rng.normal(size=(classes, d, d))
    X = centres[y] + np.einsum("nij,nj->ni", mixing[y], rng.normal(size=(n, d)))
    X[:, 1] = X[:, 1] > centres[y, 1]
    X[rng.random((n, d)) < holes] = np.nan
    return X, y, rng.uniform(0.5, 2.0, n)


def learnt(
    leaf: str, X: np.ndarray, y: np.ndarray, w: np.ndarray, **options: Any
) -> MistClassifier:
    model = MistClassifier.from_settings(
        leaf=leaf, grace_period=NEVER, categorical_features=[1], **options
    )
    # All models number the classes alike.
    return model.partial_fit(X, y, classes=[0, 1], sample_weight=w)


def cell_of(model: MistClassifier, label: Any) -> int:
    for cell in range(int(model._state.tree.counters[N_CELLS])):
        code = model._state.tree.cells.code[[cell]]
        if model._labels.decode(code).tolist() == [label]:
            return cell
    raise AssertionError(label)


def same_sums(one: State, other: State) -> None:
    """What does not depend on components is as if one model had learnt it all."""
    n = int(one.tree.counters[N_CELLS])
    pairs = [(one.tree.cells[f][:n], other.tree.cells[f][:n]) for f in ("weight", "mass", "count")]
    pairs += [(one.tree.stats[:n, :2], other.tree.stats[:n, :2])]
    pairs += [(one.tree.leaves[f], other.tree.leaves[f]) for f in ("weight_seen", "weight")]
    pairs += [(getattr(one.tree, f), getattr(other.tree, f)) for f in ("spread", "scale", "totals")]
    pairs += [(one.tree.nodes.mass, other.tree.nodes.mass)]
    pairs += [(one.tree.counters[N_LEARNT], other.tree.counters[N_LEARNT])]
    if one.observed is not None:
        assert other.observed is not None
        pairs += [(one.observed.cell[:n], other.observed.cell[:n])]
        pairs += [
            (one.observed.leaf, other.observed.leaf),
            (one.observed.scale, other.observed.scale),
        ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("balanced", [False, True])
def test_full_leaves_merge_exactly(balanced):
    X, y, w = stream(3)
    options = {"class_prior": "balanced" if balanced else "counts"}
    # Labels come in another order to the second half.
    order = np.concatenate([[int(np.flatnonzero(y[60:] != y[0])[0])], np.arange(60)]) + 60
    w[order[0]] *= 0.5  # it is learnt twice
    rows = np.concatenate([np.arange(60), order])
    one, other, both = (
        learnt("full", X[r], y[r], w[r], **options) for r in (rows[:60], rows[60:], rows)
    )
    one.merge(other)
    same_sums(one._state, both._state)
    for cell in range(2):
        same(parts_of(one._state, cell), parts_of(both._state, cell))
    # The model that learnt row by row renews its factors now and then.
    pool(both._state, 0)
    # Without what each has learnt of how sure it may be.
    shares = [by_trees(each, X) for each in (one, both)]
    np.testing.assert_allclose(*shares, rtol=0, atol=1e-9)


@pytest.mark.parametrize("inheritance", ["gaussian", "joint"])
def test_gaussian_leaves_merge_exactly(inheritance):
    X, y, w = stream(3)
    one, other, both = (
        learnt("gaussian", X[r], y[r], w[r], inheritance=inheritance)
        for r in (slice(60), slice(60, None), slice(None))
    )
    one.merge(other)
    same_sums(one._state, both._state)
    if inheritance == "joint":
        for label in (0, 1):
            mine, all_rows = cell_of(one, label), cell_of(both, label)
            products = one._state.tree.products[mine], both._state.tree.products[all_rows]
            np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-9)
    kind_of(both._state.model).refresh(both._state, 0)
    # Without what each has learnt of how sure it may be.
    shares = [by_trees(each, X) for each in (one, both)]
    np.testing.assert_allclose(*shares, rtol=0, atol=1e-9)


def test_leaves_that_vote_merge_by_their_masses():
    X, y, w = stream(3)
    one, other = (learnt("majority", X[r], y[r], w[r]) for r in (slice(60), slice(60, None)))
    expected = [w[y == label].sum() for label in (0, 1)]
    one.merge(other)
    cells = one._state.tree.cells
    got = [cells.mass[cell_of(one, label)] for label in (0, 1)]
    assert got == pytest.approx(expected)


@pytest.mark.parametrize("holes", [(0.2, 0.2), (0.2, 0.0), (0.0, 0.2)])
def test_moments_merge_exactly_with_missing_values(holes):
    first, second = stream(4, holes=holes[0]), stream(5, holes=holes[1])
    one, other = learnt("full", *first), learnt("full", *second)
    both = learnt("full", *(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    before = [
        joined(stacked(parts_of(one._state, cell_of(one, c)), parts_of(other._state, at)), 3)
        for c, at in ((label, cell_of(other, label)) for label in (0, 1))
    ]
    one.merge(other)
    same_sums(one._state, both._state)
    for label, parts in zip((0, 1), before, strict=True):
        same(parts_of(one._state, cell_of(one, label)), parts)
    # What is filled in depends on what was known before, but not by much.
    alike = np.abs(by_trees(one, first[0]) - by_trees(both, first[0]))
    assert np.mean(alike) < 0.05
    one.partial_fit(*second[:2])


def test_columns_that_one_model_alone_knows():
    first, second = stream(4, n=60), stream(5, n=60)
    first[0][:, 0] = np.nan
    second[0][:, 3] = np.nan
    one, other = learnt("mixture", *first), learnt("mixture", *second)
    assert one._state.model.growth.n_known == 2
    one.merge(other)
    assert one._state.model.growth.n_known == 3
    for cell in range(2):
        parts = parts_of(one._state, cell)
        assert len(parts.masses) == 2
        assert ((parts.known > 0.0).sum(axis=0) == [1, 1, 2, 2]).any()
    assert np.isfinite(one.predict_proba(stream(6)[0])).all()
    one.partial_fit(*stream(6)[:2])


def modes(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes of four far modes each."""
    rng = np.random.default_rng(seed)
    y, mode = rng.integers(0, 2, n), rng.integers(0, 4, n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 12.0 * mode
    X[:, 2] += 12.0 * ((mode + y) % 2)
    X[:, 1] = rng.random(n) < 0.5
    return X, y, np.ones(n)


def test_mixtures_merge_to_what_both_know():
    one = learnt("mixture", *modes(0, 1500), max_components=4)
    other = learnt("mixture", *modes(1, 1500), max_components=4)
    both = learnt(
        "mixture", *(np.concatenate([modes(0, 1500)[i], modes(1, 1500)[i]]) for i in range(3))
    )
    assert all(one._state.model.cells.n[:2] == 4)
    one.merge(other)
    same_sums(one._state, both._state)
    state = one._state
    assert all(state.model.cells.n[:2] == 4)
    assert (state.model.components.proposal[:8] == -1).all()
    for cell in range(2):
        parts = parts_of(state, cell)
        assert parts.masses.sum() == pytest.approx(state.tree.cells.mass[cell], rel=1e-3)
        assert sorted(np.round(parts.means[:, 0] / 12.0).tolist()) == [0.0, 1.0, 2.0, 3.0]
    X, y, _ = modes(2, 500)
    assert one.score(X, y) == 1.0
    # Released components are used again, and learning goes on.
    assert len(state.model.components) < 24
    one.partial_fit(X, y)


def test_a_class_that_is_new_becomes_a_copy():
    X, y, w = stream(7)
    other = learnt("full", X, y, w)
    one = learnt("full", X[y == 0], y[y == 0], w[y == 0])
    before = [array.copy() for array in parts_of(one._state, 0)]
    one.merge(other)
    same(parts_of(one._state, cell_of(one, 1)), parts_of(other._state, cell_of(other, 1)))
    twice = joined(stacked(Parts(*before), parts_of(other._state, cell_of(other, 0))), 3)
    same(parts_of(one._state, cell_of(one, 0)), twice)


def test_splits_on_trial_end():
    X, y, _ = modes(4, 600)
    one, other = (
        MistClassifier("full", grace_period=100, split_test=SplitTest("eprocess", delta=1e-200))
        for _ in range(2)
    )
    for model in (one, other):
        model.partial_fit(X, y)
    number = one._state.candidate_splits[0].number
    assert one._state.candidate_splits[0].candidates
    one.merge(other)
    assert one._state.candidate_splits[0].candidates == ()
    assert one._state.candidate_splits[0].number == number
    one.partial_fit(X, y)
    assert one._state.candidate_splits[0].candidates


# --- sketches ---------------------------------------------------------------------------------


def sketched(leaf: str, X: np.ndarray, **options: Any) -> State:
    """The state of a model that has learnt rows of one class."""
    model = MistClassifier.from_settings(leaf=leaf, grace_period=NEVER, sketch_size=8, **options)
    return model.partial_fit(X, np.zeros(len(X)))._state


def twin(X: np.ndarray) -> Sketch:
    out = Sketch(8, X.shape[1], 0, 0, 0)
    for row in X.tolist():
        out.insert(row, 1)
    return out


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 300), m=st.integers(1, 300))
@settings(max_examples=25, deadline=None)
def test_merged_sketches_and_twin_agree(seed, n, m):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    one, other = sketched("gaussian", X[:n]), sketched("gaussian", X[n:])
    merge_sketch(one, 0, other, 0)
    expected = merge_sketches(twin(X[:n]), twin(X[n:]))
    got = levels_of(one, 0)
    assert [len(level) for level in got] == [len(level) for level in expected.levels]
    for mine, theirs in zip(got, expected.levels, strict=True):
        np.testing.assert_array_equal(np.sort(mine, 0), np.sort(np.reshape(theirs, (-1, 2)), 0))
    assert kll.total_weight(one.sketch, 0) == n + m == expected.n()
    assert one.tree.cells.flips[0] == expected.compactions
    np.testing.assert_array_equal(one.sketch.ends[0], [expected.low, expected.high])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sorted_columns_follow_merged_sketches(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    one, other = (
        sketched("sketch", X[r], sketch_dtype=dtype) for r in (slice(300), slice(300, 500))
    )
    merge_sketch(one, 0, other, 0)
    points, weights = points_of(one, 0)
    start, n = int(one.tree.cells.start[0]), int(one.tree.cells.used[0])
    for j in range(3):
        known = points[:, j] < np.inf
        assert one.model.count[0, j] == known.sum()
        np.testing.assert_array_equal(one.model.values[start : start + n, j], np.sort(points[:, j]))
        for value in np.unique(points[known, j]):
            last = start + int((points[:, j] <= value).sum()) - 1
            assert one.model.mass[last, j] == weights[points[:, j] <= value].sum()


def test_ranks_stay_within_the_error_of_a_sketch():
    X = np.random.default_rng(1).permutation(32_000).reshape(-1, 1).astype(float)
    parts = [
        MistClassifier("gaussian", grace_period=NEVER, random_state=i).fit(rows, np.zeros(2000))
        for i, rows in enumerate(X.reshape(16, 2000, 1))
    ]
    one = parts[0]
    for part in parts[1:]:
        one.merge(part)
    state = one._state
    assert state.tree.cells.used[0] < 300
    ranks = [kll.rank(state.tree.cells, state.sketch, 0, 0, q * 32_000) for q in QUANTILES]
    assert np.abs(np.array(ranks) - QUANTILES).max() < 0.03


def test_a_leaf_has_no_more_sketches_than_it_may():
    X, y, w = stream(9)
    one, other = (learnt("gaussian", X[y == c], y[y == c], w[y == c]) for c in (0, 1))
    limited = learnt("gaussian", X[y == 0], y[y == 0], w[y == 0], max_classes_per_leaf=1)
    for model, cells in ((one, 2), (limited, 1)):
        theirs = (
            other
            if model is one
            else learnt("gaussian", X[y == 1], y[y == 1], w[y == 1], max_classes_per_leaf=1)
        )
        model.merge(theirs)
        assert model._state.tree.leaves.sketched[0] == cells
        assert (model._state.tree.cells.start[:2] >= 0).sum() == cells
