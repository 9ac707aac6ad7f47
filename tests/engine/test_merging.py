"""Merging classes: arrays against the slow twin, models against one that learnt both streams."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist import MistClassifier
from mist.engine.components import pool
from mist.engine.merging import merge_class
from mist.engine.reduction import Parts, beside, joined, parts_of, reduced
from mist.engine.state import (
    MEAN,
    N_CELLS,
    N_LEARNT,
    State,
    append_cells,
    find_cell,
    reserve_cells,
)
from naive_merging import Component, reduce

NEVER = 10**9


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
    together = joined(beside(joined(rest, a), joined(first, a)), a)
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
    twice = reduced(beside(parts, parts), 3, 4)
    for k in range(4):
        same(take(twice, k), joined(beside(take(parts, k), take(parts, k)), 3))


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
    model = MistClassifier(leaf, grace_period=NEVER, categorical_features=[1], **options)
    # All models number the classes alike.
    return model.partial_fit(X, y, classes=[0, 1], sample_weight=w)


def merge_models(one: MistClassifier, other: MistClassifier) -> None:
    """Merge all classes of two models of one leaf."""
    ours, theirs = one._state, other._state
    for cell in range(int(theirs.tree.counters[N_CELLS])):
        label = other._labels.decode(theirs.tree.cells.code[[cell]]).tolist()[0]
        merge_class(ours, cell_of(one, label), theirs, cell)


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
    pairs += [(one.tree.leaves[f], other.tree.leaves[f]) for f in ("rows", "weight")]
    pairs += [(getattr(one.tree, f), getattr(other.tree, f)) for f in ("spread", "scale", "totals")]
    pairs += [(one.tree.nodes.mass, other.tree.nodes.mass)]
    pairs += [(one.tree.counters[N_LEARNT], other.tree.counters[N_LEARNT])]
    if one.missing is not None:
        assert other.missing is not None
        pairs += [(one.missing.cell[:n], other.missing.cell[:n])]
        pairs += [(one.missing.leaf, other.missing.leaf), (one.missing.scale, other.missing.scale)]
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
    merge_models(one, other)
    same_sums(one._state, both._state)
    for cell in range(2):
        same(parts_of(one._state, cell), parts_of(both._state, cell))
    # The model that learnt row by row renews its factors now and then.
    pool(both._state, 0)
    np.testing.assert_allclose(one.predict_proba(X), both.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("inheritance", ["gaussian", "joint"])
def test_gaussian_leaves_merge_exactly(inheritance):
    X, y, w = stream(3)
    one, other, both = (
        learnt("gaussian", X[r], y[r], w[r], inheritance=inheritance)
        for r in (slice(60), slice(60, None), slice(None))
    )
    merge_models(one, other)
    same_sums(one._state, both._state)
    if inheritance == "joint":
        for label in (0, 1):
            mine, all_rows = cell_of(one, label), cell_of(both, label)
            products = one._state.tree.products[mine], both._state.tree.products[all_rows]
            np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-9)
    both._state.kind.refresh(both._state, 0)
    np.testing.assert_allclose(one.predict_proba(X), both.predict_proba(X), rtol=0, atol=1e-9)


def test_leaves_that_vote_merge_by_their_masses():
    X, y, w = stream(3)
    one, other = (learnt("majority", X[r], y[r], w[r]) for r in (slice(60), slice(60, None)))
    expected = [w[y == label].sum() for label in (0, 1)]
    merge_models(one, other)
    cells = one._state.tree.cells
    got = [cells.mass[cell_of(one, label)] for label in (0, 1)]
    assert got == pytest.approx(expected)


@pytest.mark.parametrize("holes", [(0.2, 0.2), (0.2, 0.0), (0.0, 0.2)])
def test_moments_merge_exactly_with_missing_values(holes):
    first, second = stream(4, holes=holes[0]), stream(5, holes=holes[1])
    one, other = learnt("full", *first), learnt("full", *second)
    both = learnt("full", *(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    before = [
        joined(beside(parts_of(one._state, cell_of(one, c)), parts_of(other._state, at)), 3)
        for c, at in ((label, cell_of(other, label)) for label in (0, 1))
    ]
    merge_models(one, other)
    same_sums(one._state, both._state)
    for label, parts in zip((0, 1), before, strict=True):
        same(parts_of(one._state, cell_of(one, label)), parts)
    # What is filled in depends on what was known before, but not by much.
    alike = np.abs(one.predict_proba(first[0]) - both.predict_proba(first[0]))
    assert np.mean(alike) < 0.05
    one.partial_fit(*second[:2])


def test_columns_that_one_model_alone_knows():
    first, second = stream(4, n=60), stream(5, n=60)
    first[0][:, 0] = np.nan
    second[0][:, 3] = np.nan
    one, other = learnt("mixture", *first), learnt("mixture", *second)
    assert one._state.model.growth.n_known == 2
    merge_models(one, other)
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
    merge_models(one, other)
    same_sums(one._state, both._state)
    state = one._state
    assert all(state.model.cells.n[:2] == 4)
    assert (state.model.components.trial[:8] == -1).all()
    for cell in range(2):
        parts = parts_of(state, cell)
        assert parts.masses.sum() == pytest.approx(state.tree.cells.mass[cell], rel=1e-3)
        assert sorted(np.round(parts.means[:, 0] / 12.0).tolist()) == [0.0, 1.0, 2.0, 3.0]
    X, y, _ = modes(2, 500)
    assert one.score(X, y) == 1.0
    # Released components are used again, and learning goes on.
    assert len(state.model.components) < 24
    one.partial_fit(X, y)


def test_an_empty_cell_becomes_a_copy():
    X, y, w = stream(7)
    other = learnt("full", X, y, w)
    one = learnt("full", X[y == 0], y[y == 0], w[y == 0])
    state = one._state
    reserve_cells(state, 1)
    cell = int(append_cells(state.tree, 0, np.array([1]))[0])
    assert find_cell(state.tree, 0, 1) == cell
    merge_class(state, cell, other._state, cell_of(other, 1))
    same(parts_of(state, cell), parts_of(other._state, cell_of(other, 1)))
    np.testing.assert_allclose(state.tree.spread, other._state.tree.spread)
    np.testing.assert_allclose(state.tree.scale, other._state.tree.scale)
    # And nothing comes of an empty one.
    empty = learnt("full", X[y == 0], y[y == 0], w[y == 0])._state
    reserve_cells(empty, 1)
    nothing = int(append_cells(empty.tree, 0, np.array([1]))[0])
    before = state.tree.stats[cell, MEAN].copy(), float(state.tree.cells.weight[cell])
    merge_class(state, cell, empty, nothing)
    np.testing.assert_array_equal(state.tree.stats[cell, MEAN], before[0])
    assert state.tree.cells.weight[cell] == before[1]


def test_masses_are_added_along_the_path():
    X, y, _ = modes(3, 800)
    one = MistClassifier("full", grace_period=100, split_test="schedule", rows_per_split=200)
    one.partial_fit(X, y)
    other = MistClassifier("full", grace_period=NEVER).partial_fit(X, y)
    state = one._state
    assert one.n_splits_ > 1
    cell = next(
        c
        for c in range(int(state.tree.counters[N_CELLS]))
        if state.tree.cells.leaf[c] >= 0
        and not state.tree.leaves.orphan[state.tree.cells.leaf[c]]
        and state.tree.nodes.depth[state.tree.leaves.node[state.tree.cells.leaf[c]]] > 1
    )
    before, mass = state.tree.nodes.mass.copy(), float(other._state.tree.cells.mass[0])
    node = int(state.tree.leaves.node[state.tree.cells.leaf[cell]])
    depth = int(state.tree.nodes.depth[node])
    merge_class(state, cell, other._state, 0)
    gained = state.tree.nodes.mass - before
    assert np.count_nonzero(gained) == depth + 1
    np.testing.assert_allclose(gained[gained != 0.0], mass)
    assert gained[0] == pytest.approx(mass)
    assert gained[node] == pytest.approx(mass)


def test_splits_on_trial_end():
    X, y, _ = modes(4, 600)
    one, other = (
        MistClassifier("full", grace_period=100, split_test="eprocess", delta=1e-200)
        for _ in range(2)
    )
    for model in (one, other):
        model.partial_fit(X, y)
    number = one._state.trials[0].number
    assert one._state.trials[0].trials
    merge_class(one._state, 0, other._state, 0)
    assert one._state.trials[0].trials == ()
    assert one._state.trials[0].number == number
    one.partial_fit(X, y)
    assert one._state.trials[0].trials


def refusals() -> dict[str, Any]:
    X, y, w = stream(8, n=20)

    def make(leaf: str = "full", columns: int = 4) -> State:
        return learnt(leaf, X[:, :columns], y, w)._state

    state = make()
    return {
        "sketch leaves": (make("sketch"), 0, make("sketch"), 0),
        "not of the same one": (state, 0, state, 1),
        "kind of leaf": (make(), 0, make("mixture"), 0),
        "columns": (make(), 0, make(columns=3), 0),
        "other_cell=9": (make(), 0, make(), 9),
        "cell=-1": (make(), -1, make(), 0),
    }


def test_what_cannot_be_merged_is_refused():
    for words, (state, cell, other, other_cell) in refusals().items():
        before = pickle.dumps(state)
        with pytest.raises(ValueError, match=words):
            merge_class(state, cell, other, other_cell)
        assert pickle.dumps(state) == before
