"""Routing, learning and test-then-train: the loops over rows, and the sums that must hold."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naive
from mist import MistClassifier
from mist.engine import kll
from mist.engine.inheritance import split_leaf
from mist.engine.row_loops import first_missing, leaf_nodes, survey
from mist.engine.state import (
    EPOCH,
    M2,
    MEAN,
    N_CELLS,
    N_LEARNT,
    N_LEAVES,
    N_NODES,
    PREC,
    State,
    leaf_cells,
)
from published import paper_tree

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split by itself


def blobs(n: int, k: int = 6, seed: int = 0, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, 3)) + 3.0 * rng.normal(size=(k, 3))[y]
    X[rng.random(X.shape) < missing] = NAN
    return X, y


def eager(leaf: str = "gaussian", **more: Any) -> MistClassifier:
    options = {"grace_period": 20, "tie_threshold": 9.0, "sketch_size": 16, **more}
    return paper_tree(leaf, **options)


def answers() -> list[list[int]]:
    """Predictions of all kinds of leaf on a stream with splits and gaps."""
    X, y = blobs(300, missing=0.05)
    X[:, 2] = np.where(np.isnan(X[:, 2]), NAN, X[:, 2] > 0)
    out = []
    for leaf in ("gaussian", "sketch", "majority"):
        model = eager(leaf, categorical_features=[2])
        out.append(model.prequential(X, y, sample_weight=1.0 + 0.5 * (y == 1)).tolist())
        assert model.n_splits_ > 2
        out.append(model.predict(X).tolist())
        out.append(model.apply(X).tolist())
    return out


# --- routing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_rows_follow_the_splits_to_their_leaf(missing):
    X, y = blobs(600, missing=missing)
    model = eager().partial_fit(X, y)
    nodes = model._state.tree.nodes
    assert model.depth_ > 2
    out = np.empty(len(X), np.int64)
    leaf_nodes(nodes, X, out)
    np.testing.assert_array_equal(model.apply(X), out)
    for x, got in zip(X, out, strict=True):
        at = 0
        while nodes.feature[at] >= 0:
            left, right, v = nodes.left[at], nodes.right[at], x[nodes.feature[at]]
            if np.isnan(v):
                at = left if nodes.mass[left] >= nodes.mass[right] else right
            else:
                at = left if v <= nodes.threshold[at] else right
        assert at == got


def test_a_value_on_the_threshold_goes_left():
    model = paper_tree(grace_period=NEVER).partial_fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    split_leaf(model._state, 0, 0, 1.0, "gaussian", 1.0)
    above = math.nextafter(1.0, 2.0)
    assert model.apply([[1.0], [above], [0.0], [9.0]]).tolist() == [1, 2, 1, 2]


def test_a_missing_value_goes_where_more_mass_is_at_that_moment():
    X = np.r_[np.full(30, -1.0), np.full(20, 1.0)][:, None]
    model = paper_tree(grace_period=NEVER).partial_fit(X, np.arange(50) % 2)
    split_leaf(model._state, 0, 0, 0.0, None, 1.0)
    assert model.apply([[NAN]])[0] == 1  # equal masses, none: left
    model.partial_fit([[1.0]] * 2, [0, 1])
    assert model.apply([[NAN]])[0] == 2
    model.partial_fit([[NAN], [-1.0], [-1.0]], [0, 0, 0])  # the row itself learns there, too
    assert model._state.tree.nodes.mass[:3].tolist() == [55.0, 2.0, 3.0]
    model.partial_fit([[-1.0]], [0])
    assert model.apply([[NAN]])[0] == 1


# --- when cells are refreshed -----------------------------------------------------------------


def test_all_cells_are_refreshed_at_each_of_the_first_rows_and_then_less_often():
    rng = np.random.default_rng(1)
    model = paper_tree(grace_period=NEVER).partial_fit(rng.normal(size=(2, 1)), [0, 1])
    at, due = [], []
    refresh_at = 3
    for clock in range(3, 2500):
        stats = model._state.tree.stats
        stats[1, PREC, 0] = -77.0  # class 1 learns nothing more, so only a full refresh mends it
        model.learn_one(rng.normal(size=1), 0)
        if model._state.tree.stats[1, PREC, 0] != -77.0:
            at.append(clock)
        if clock == refresh_at:
            due.append(clock)
            refresh_at = clock + 1 + clock // 256
    assert at == due
    assert set(range(3, 257)) <= set(at)
    assert max(np.diff(at)) == 2499 // 256 + 1


def test_a_column_that_begins_to_vary_refreshes_every_leaf_at_its_next_row():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=1000), np.full(1000, 5.0)])
    y = np.arange(1000) % 2
    model = paper_tree(grace_period=NEVER).partial_fit(X, y)
    split_leaf(model._state, 0, 0, 0.0, "gaussian", 1.0)
    model.partial_fit(X, y)
    tree = model._state.tree
    left, right = (leaf_cells(tree, leaf) for leaf in (0, 1))
    assert not tree.stats[:, PREC, 1].any()
    epoch = int(tree.counters[EPOCH])
    tree.leaves.refresh_at[:2] = NEVER  # nothing else is due
    model.learn_one([-0.1, 6.0], 0)
    tree = model._state.tree
    assert tree.counters[EPOCH] == epoch + 1
    assert (tree.stats[left, PREC, 1] > 0.0).all()  # the row's leaf, at once
    assert not tree.stats[right, PREC, 1].any()
    model.learn_one([0.1, 5.0], 0)
    assert (model._state.tree.stats[right, PREC, 1] > 0.0).all()


@pytest.mark.parametrize("prior", [0.1, 1.0, 30.0])
def test_caches_equal_the_twins_at_every_row(prior):
    X, y = blobs(700, k=3)
    options = {"grace_period": 300, "tie_threshold": 9.0, "sketch_size": 8}
    model = paper_tree(**options, variance_prior=prior)
    twin = naive.NaiveMist(**options, variance_prior=prior)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(x, label)
        twin.learn_row(x, label)
        tree = model._state.tree
        node = twin.nodes[twin.route(x)]
        leaf = int(tree.nodes.leaf[model.apply([x])[0]])
        cells = leaf_cells(tree, leaf)
        assert tree.cells.code[cells].tolist() == list(node.cells)
        expected = [cell.prec for cell in node.cells.values()]
        np.testing.assert_allclose(tree.stats[cells, PREC], expected, rtol=1e-9)
    assert model.n_splits_ > 0


# --- size limits ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_leaves_is_never_exceeded(limit):
    X, y = blobs(900)
    assert eager().partial_fit(X, y).n_leaves_ > 5
    model = eager(max_leaves=limit)
    sizes = [model.partial_fit(X[i : i + 30], y[i : i + 30]).n_leaves_ for i in range(0, 900, 30)]
    assert max(sizes) == sizes[-1] == limit
    assert sizes == sorted(sizes)
    assert model.n_splits_ == limit - 1


def test_a_leaf_is_examined_once_every_grace_period():
    X, y = blobs(2000, k=2)
    weights = np.random.default_rng(3).choice([0.4, 1.0, 3.0], 2000)
    model = paper_tree(grace_period=50, tie_threshold=0.0, split_test="gap", delta=1e-9)
    for i in range(400):
        model.partial_fit(X[i : i + 1] * 0.0 + 1.0, y[i : i + 1], sample_weight=weights[i : i + 1])
        leaves = model._state.tree.leaves
        assert leaves.tried[0] == math.floor(leaves.weight_seen[0] / 50)
    assert model.n_splits_ == 0  # constant columns have no gain


def test_splits_come_at_multiples_of_the_grace_period():
    X, y = blobs(1500)
    model = eager(grace_period=37).partial_fit(X, y)
    assert model.n_splits_ > 4
    assert all(split.rows % 37 == 0 for split in model.split_log_)


# --- sums -------------------------------------------------------------------------------------


def check_sums(state: State) -> None:
    """Sums that hold at every leaf after any row."""
    tree = state.tree
    cells, leaves, nodes = tree.cells, tree.leaves, tree.nodes
    n_nodes, n_leaves, n_cells = (int(tree.counters[i]) for i in (N_NODES, N_LEAVES, N_CELLS))
    assert n_nodes == 2 * n_leaves - 1
    assert sorted(leaves.node[:n_leaves]) == np.flatnonzero(nodes.feature[:n_nodes] < 0).tolist()
    owned = 0
    for leaf in range(n_leaves):
        own = leaf_cells(tree, leaf)
        owned += own.size
        assert nodes.leaf[leaves.node[leaf]] == leaf
        assert (cells.leaf[own] == leaf).all()
        assert len(set(cells.code[own].tolist())) == own.size > 0
        assert leaves.weight_seen[leaf] == pytest.approx(cells.count[own].sum(), rel=1e-9)
        if leaves.prior_only[leaf]:
            assert leaves.weight_seen[leaf] == nodes.mass[leaves.node[leaf]] == 0.0
            continue
        assert leaves.weight[leaf] == pytest.approx(cells.weight[own].sum(), rel=1e-9)
        assert nodes.mass[leaves.node[leaf]] == pytest.approx(leaves.weight[leaf], rel=1e-9)
        assert leaves.n_updates[leaf] == cells.steps[own].sum()
        assert (cells.weight[own] >= cells.count[own] * (1 - 1e-12)).all()
        np.testing.assert_allclose(
            tree.spread[leaf], tree.stats[own, M2].sum(axis=0), rtol=1e-7, atol=1e-9
        )
        if state.observed is not None:
            seen = state.observed.cell[own].sum(axis=0)
            np.testing.assert_allclose(state.observed.leaf[leaf], seen, rtol=1e-9, atol=1e-9)
    assert np.sum(cells.leaf[:n_cells] >= 0) == owned


@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch", None])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sums_hold_after_every_batch(missing, inheritance):
    X, y = blobs(800, missing=missing)
    weights = np.random.default_rng(4).choice([0.5, 1.0, 2.0], 800)
    model = eager(inheritance=inheritance)
    for i in range(0, 800, 20):
        model.partial_fit(X[i : i + 20], y[i : i + 20], sample_weight=weights[i : i + 20])
        check_sums(model._state)
        assert model._state.tree.nodes.mass[0] == pytest.approx(weights[: i + 20].sum())
    assert model.n_splits_ > 5


def test_a_sketch_holds_as_many_rows_as_its_class_at_unit_weight():
    X, y = blobs(800)
    model = eager().partial_fit(X, y)
    state, checked = model._state, 0
    for leaf in range(model.n_leaves_):
        for cell in leaf_cells(state.tree, leaf):
            if state.tree.cells.count[cell] > 0.0:
                rows = kll.total_weight(state.sketch, cell)
                assert rows == state.tree.cells.count[cell] == state.tree.cells.steps[cell]
                checked += 1
            else:
                assert state.tree.cells.start[cell] == -1
    assert checked > 5


@pytest.mark.parametrize("discount", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_mass_at_the_leaves_is_the_mass_received_less_the_discount(missing, discount):
    # Classes that overlap, so that no child's share of a class is below half a row.
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1500, 2)), rng.integers(0, 3, 1500)
    X += 0.4 * y[:, None]
    X[rng.random(X.shape) < missing] = NAN
    weights = rng.choice([1.0, 2.5], 1500)
    model = eager(discount=discount, grace_period=150)
    expected, splits, dropped = 0.0, 0, 0
    for x, label, w in zip(X, y, weights, strict=True):
        before = model._state.tree.leaves.weight.copy() if splits or expected else np.zeros(1)
        leaf = int(model._state.tree.nodes.leaf[model.apply([x])[0]]) if expected else 0
        model.learn_one(x, label, w)
        state = model._state
        expected += w
        if model.n_splits_ > splits:
            splits = model.n_splits_
            expected -= (1.0 - discount) * (before[leaf] + w)
            sizes = [state.tree.leaves.n_cells[at] for at in (leaf, model.n_leaves_ - 1)]
            dropped += sum(3 - int(size) for size in sizes)
        total = state.tree.leaves.weight[: model.n_leaves_].sum()
        assert total == pytest.approx(expected, rel=1e-9)
    assert splits > 3
    assert dropped == 0


def test_moments_at_the_leaves_are_those_of_the_rows_without_inheritance():
    X, y = blobs(900)
    model = eager(inheritance=None)
    at = np.empty(0, int)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    # Rows after the last split are at the leaf they were learnt at.
    last = model.split_log_[-1]
    state = model._state
    for node in (2 * model.n_splits_ - 1, 2 * model.n_splits_):
        at = np.flatnonzero((model.apply(X) == node) & (np.arange(900) >= last.seen))
        leaf = int(state.tree.nodes.leaf[node])
        assert state.tree.leaves.weight_seen[leaf] == at.size
        for cell in leaf_cells(state.tree, leaf) if at.size else []:
            own = X[at][y[at] == list(dict.fromkeys(y.tolist()))[state.tree.cells.code[cell]]]
            np.testing.assert_allclose(state.tree.stats[cell, MEAN], own.mean(axis=0))
            np.testing.assert_allclose(
                state.tree.stats[cell, M2], own.var(axis=0) * len(own), atol=1e-9
            )


# --- test-then-train, weights ------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_prequential_predicts_each_row_before_it_is_learnt(leaf):
    X, y = blobs(300, missing=0.05)
    one_by_one, at_once = eager(leaf), eager(leaf)
    expected = [0]
    for i in range(300):
        if i:
            expected.append(int(one_by_one.predict(X[i : i + 1])[0]))
        one_by_one.learn_one(X[i], y[i])
    got = at_once.prequential(X, y)
    expected[0] = int(at_once.classes_[0])  # nothing is known yet
    assert got.tolist() == expected
    np.testing.assert_array_equal(one_by_one.predict_proba(X), at_once.predict_proba(X))


def test_a_row_of_weight_zero_is_predicted_and_not_learnt():
    X, y = blobs(200)
    weights = np.where(np.arange(200) % 3 == 1, 0.0, 1.0)
    y = np.where(weights > 0, y, 99)  # a label that never gets a weight
    all_rows, some = eager(), eager()
    got = all_rows.prequential(X, y, sample_weight=weights)
    some.partial_fit(X[weights > 0], y[weights > 0])
    assert all_rows._state.tree.counters[N_LEARNT] == np.sum(weights > 0)
    assert 99 not in all_rows.classes_
    assert set(got.tolist()) <= set(all_rows.classes_.tolist())
    np.testing.assert_array_equal(all_rows.predict_proba(X), some.predict_proba(X))


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_answers_change_nothing(leaf):
    X, y = blobs(400, missing=0.05)
    model = eager(leaf).partial_fit(X, y)
    state = model._state
    groups = (state.tree, state.observed, state.sketch, state.model)
    before = [a.copy() for group in groups if group is not None for a in group if a is not None]
    model.predict(X)
    model.predict_proba(X)
    model.apply(X)
    after = [a for group in groups if group is not None for a in group if a is not None]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


# --- looking at rows --------------------------------------------------------------------------


def test_first_missing_is_the_first_row_with_a_gap():
    X = np.zeros((6, 3))
    assert first_missing(X, 0) == -1
    X[2, 1] = X[4, 2] = NAN
    assert [first_missing(X, start) for start in range(7)] == [2, 2, 2, 4, 4, -1, -1]


def test_a_survey_names_the_row_and_column_of_what_is_too_large():
    X = np.zeros((4, 3))
    assert survey(X, 10.0) == (-1, -1, True)
    X[0, 0] = NAN
    assert survey(X, 10.0) == (-1, -1, False)
    X[1, 2] = 10.0
    assert survey(X, 10.0) == (-1, -1, False)
    X[3, 0], X[2, 1], X[2, 2] = np.inf, -11.0, 12.0
    assert survey(X, 10.0)[:2] == (2, 1)
    X[2] = 0.0
    assert survey(X, 10.0)[:2] == (3, 0)


# --- plain Python -----------------------------------------------------------------------------


def test_kernels_run_as_plain_python():
    program = f"import {Path(__file__).stem} as t; print(t.answers())"
    ran = subprocess.run(
        # Plain NumPy integers warn where the random numbers wrap around, as they should.
        [sys.executable, "-W", "ignore:overflow encountered:RuntimeWarning", "-c", program],
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout == f"{answers()}\n"
