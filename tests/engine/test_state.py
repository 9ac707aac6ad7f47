"""The arrays that are the tree: the table of cells, growth, bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mist import MistClassifier
from mist.engine.capacity import new_state, reserve_cells, reserve_nodes, reserve_observed
from mist.engine.kll import reserve_items
from mist.engine.leaves.gaussian import GAUSSIAN, NaiveBayes
from mist.engine.leaves.sketch import SKETCH
from mist.engine.state import (
    N_CELLS,
    N_LEAVES,
    N_NODES,
    Options,
    State,
    append_cells,
    detach_cells,
    find_cell,
    free_cells,
    has_capacity_for_cell,
    leaf_cells,
    new_cell,
    new_leaf,
    new_node,
)
from published import paper_tree

NAN = math.nan


def options(n_numeric: int = 2) -> Options:
    return Options(0, n_numeric, 200, 2**31 - 1, 0.25, 1e-3, 1.0, False, False, 1)


def named_arrays(state: State) -> dict[str, np.ndarray]:
    """All arrays of a state by name."""
    named: dict[str, np.ndarray] = {}
    for prefix in ("tree", "observed", "sketch", "model"):
        group = getattr(state, prefix)
        fields = group._asdict() if group is not None else {}
        fields.pop("model", None)  # these leaves keep nothing more of missing values
        named |= {name if prefix == "tree" else f"{prefix}.{name}": a for name, a in fields.items()}
    return named


def cell_in(state: State, leaf: int, code: int) -> int:
    return int(find_cell(state.tree, leaf, code))


# --- table of cells ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_table_of_cells_behaves_as_a_dict(seed):
    rng = np.random.default_rng(seed)
    state = new_state(2, options(), None, GAUSSIAN)
    n_leaves, n_codes = 12, 40
    for _ in range(n_leaves - 1):
        reserve_nodes(state)
        new_leaf(state.tree, new_node(state.tree, 0), 0)
    truth: dict[tuple[int, int], int] = {}
    most = 0
    for step in range(4000):
        leaf, code = int(rng.integers(n_leaves)), int(rng.integers(n_codes))
        if rng.random() < 0.02:  # a leaf loses all its cells
            cells = leaf_cells(state.tree, leaf)
            detach_cells(state.tree, leaf)
            free_cells(state.tree, cells)
            for key in [key for key in truth if key[0] == leaf]:
                del truth[key]
        elif (leaf, code) not in truth:
            if not has_capacity_for_cell(state.tree):
                reserve_cells(state, 1)
            cell = int(new_cell(state.tree, leaf, code))
            assert cell not in truth.values()
            truth[leaf, code] = cell
        most = max(most, len(truth))
        assert cell_in(state, leaf, code) == truth.get((leaf, code), -1)
        if step % 200 == 0:
            for at in range(n_leaves):
                own = {c: cell for (x, c), cell in truth.items() if x == at}
                for c in range(n_codes):
                    assert cell_in(state, at, c) == own.get(c, -1)
                # The chain keeps the order of creation, as a dict does.
                assert leaf_cells(state.tree, at).tolist() == list(own.values())
                assert state.tree.leaves.n_cells[at] == len(own)
    assert np.count_nonzero(state.tree.table >= 0) == len(truth)
    assert state.tree.table.size >= 2 * len(state.tree.cells)
    assert state.tree.counters[N_CELLS] == most  # records are taken again


def test_large_codes_and_leaves_have_their_own_cells():
    state = new_state(1, options(n_numeric=1), None, GAUSSIAN)
    reserve_cells(state, 100)
    codes = np.array([0, 1, 2**20, 2**31, 2**40, 2**62])
    cells = append_cells(state.tree, 0, codes)
    assert [cell_in(state, 0, code) for code in codes.tolist()] == cells.tolist()
    assert [cell_in(state, 1, code) for code in codes.tolist()] == [-1] * 6


def test_a_free_record_is_taken_again_and_cleared():
    state = new_state(2, options(), None, GAUSSIAN)
    cells = append_cells(state.tree, 0, np.array([5, 6]))
    assert not has_capacity_for_cell(state.tree)
    records, stats = state.tree.cells, state.tree.stats
    records.weight[cells], records.count[cells], records.norm[cells] = 3.0, 2.0, 1.0
    records.steps[cells], records.start[cells], stats[cells] = 7, 9, 4.0
    detach_cells(state.tree, 0)
    assert stats[cells].min() == 4.0  # detached cells keep what they hold
    assert not has_capacity_for_cell(state.tree)
    free_cells(state.tree, cells)
    assert has_capacity_for_cell(state.tree)
    taken = int(new_cell(state.tree, 0, 8))
    assert taken in cells
    cell = records[taken]
    assert (cell.weight, cell.count, cell.norm, cell.steps) == (0.0, 0.0, 0.0, 0)
    assert (cell.leaf, cell.code, cell.next, cell.start) == (0, 8, -1, -1)
    assert not stats[taken].any()


# --- growth -----------------------------------------------------------------------------------


def stream(n: int, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 7, n)
    X[:, 0] += 2.0 * y
    if missing:
        X[rng.random(X.shape) < 0.1] = NAN
    return X, y


def eager(leaf: str = "gaussian", **more: Any) -> MistClassifier:
    options = {"grace_period": 20, "tie_threshold": 9.0, "sketch_size": 16, **more}
    return paper_tree(leaf, **options)


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("missing", [False, True])
def test_growth_keeps_everything(leaf, missing):
    X, y = stream(400, missing)
    model, other = (eager(leaf).partial_fit(X[:250], y[:250]) for _ in range(2))
    assert model.n_splits_ > 1
    state = model._state
    before = named_arrays(state)
    kept = {name: a.copy() for name, a in before.items()}
    cells = state.tree.cells[: state.tree.counters[N_CELLS]]
    keys = [(int(c.leaf), int(c.code)) for c in cells if c.leaf >= 0]
    found = [cell_in(state, *key) for key in keys]
    reserve_cells(state, 3 * len(state.tree.cells))
    reserve_items(state, 2 * len(state.sketch.items) + 1)
    nodes, leaves = (int(state.tree.counters[i]) for i in (N_NODES, N_LEAVES))
    while len(state.tree.nodes) == len(kept["nodes"]) or len(state.tree.leaves) == len(
        kept["leaves"]
    ):
        # Reserving looks at the counters only, so let them run ahead.
        state.tree.counters[[N_NODES, N_LEAVES]] += [2, 1]
        reserve_nodes(state)
    state.tree.counters[[N_NODES, N_LEAVES]] = nodes, leaves
    after = named_arrays(state)
    assert list(after) == list(kept)
    # Blocks are moved together, and tell so: what they hold is in the tests of sketches.
    moved = {"cells", "counters", "sketch.items", "model.values", "model.mass"}
    fixed = {"scale", "counters", "totals", "sketch.plan", "observed.scale"} & set(after)
    for name, old in kept.items():
        new = after[name]
        assert (new.dtype, new.shape[1:]) == (old.dtype, old.shape[1:])
        assert (new is before[name]) == (name in fixed)
        if name not in moved | {"table"}:
            np.testing.assert_array_equal(new[: len(old)], old)
        if name not in fixed:
            assert len(new) > len(old)
    assert [cell_in(state, *key) for key in keys] == found
    # And spare room changes nothing of what is learnt later.
    for each in (model, other):
        each.partial_fit(X[250:], y[250:])
    assert model.split_log_ == other.split_log_
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_arrays_that_have_room_are_left_alone():
    state = new_state(3, options(n_numeric=3), 16, GAUSSIAN)
    reserve_nodes(state)
    reserve_cells(state, 50)
    before = named_arrays(state)
    reserve_nodes(state)
    reserve_cells(state, 50)
    assert all(a is before[name] for name, a in named_arrays(state).items())


def test_at_most_a_fifth_of_the_cells_is_spare():
    X, y = np.random.default_rng(1).normal(size=(2000, 1)), np.arange(2000) % 500
    model = paper_tree(grace_period=10**9)
    for i in range(0, 500, 20):
        model.partial_fit(X[i : i + 20], y[i : i + 20])
        used, room = model._state.tree.counters[N_CELLS], len(model._state.tree.cells)
        assert used <= room <= 1.25 * used + 2


def test_what_was_seen_is_known_when_the_first_value_is_missing():
    X, y = stream(300, missing=False)
    model = eager(discount=0.7).partial_fit(X, y)
    state = model._state
    assert state.observed is None
    assert model.n_splits_ > 1
    answers = model.predict_proba(X)
    reserve_observed(state)
    missing, tree = state.observed, state.tree
    assert missing.scale.tolist() == [300.0] * 3
    np.testing.assert_array_equal(missing.cell, np.repeat(tree.cells.weight[:, None], 3, axis=1))
    np.testing.assert_array_equal(missing.leaf, np.repeat(tree.leaves.weight[:, None], 3, axis=1))
    np.testing.assert_allclose(model.predict_proba(X), answers, rtol=1e-12)


# --- new columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("binary", [False, True])
def test_new_columns_are_as_if_missing_so_far(leaf, binary):
    X, y = stream(400, missing=False)
    X = np.column_stack([X, X[:, 1] > 0])[:, [3, 0, 1, 2] if binary else [0, 1, 2]]
    known = 2 if binary else 1  # columns of the first rows
    X[:150, known:] = NAN
    X[:250, known + 1 :] = NAN
    names = "pqrs"[: X.shape[1]]
    # The number of columns must not enter the radius: it differs for a while.
    same = {"categorical_features": [0] if binary else None, "union_bound": False}
    same |= {"grace_period": 70}  # leave the sketches time to fill
    y %= 2
    narrow, wide = eager(leaf, **same), eager(leaf, **same)
    for i, x in enumerate(X.tolist()):
        row = {name: v for name, v in zip(names, x, strict=True) if not math.isnan(v)}
        narrow.learn_one(row, y[i])
        wide.partial_fit([x], [y[i]])
        if i % 10 == 0:
            asked = X[:: len(X) // 10, : narrow.n_features_in_]
            gaps = np.full((len(asked), X.shape[1] - asked.shape[1]), NAN)
            p = [list(narrow.predict_proba_one(row).values()) for row in asked]
            np.testing.assert_allclose(p, wide.predict_proba(np.hstack([asked, gaps])), atol=1e-9)
    assert narrow.n_features_in_ == X.shape[1]
    places = [[(s.node, s.feature, s.seen) for s in m.split_log_] for m in (narrow, wide)]
    assert places[0] == places[1]
    assert places[0][0][-1] < 150 < places[0][-1][-1]  # splits before and after


def test_there_are_only_the_arrays_a_model_needs():
    plain = new_state(4, options(n_numeric=4), None, GAUSSIAN)
    assert (plain.observed, plain.sketch, plain.model) == (None, None, NaiveBayes())
    assert new_state(4, options(n_numeric=0), 64, GAUSSIAN).sketch is None  # 0/1 columns need none
    assert new_state(4, options(n_numeric=4), 64, SKETCH).model.count.shape == (2, 4)
    assert new_state(4, options(n_numeric=4), 64, GAUSSIAN).model == ()


# --- bytes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("missing", [False, True])
def test_nbytes_is_the_sum_of_all_arrays(leaf, missing):
    X, y = stream(300, missing)
    model = eager(leaf)
    for i in range(0, 300, 50):
        model.partial_fit(X[i : i + 50], y[i : i + 50])
        state = model._state
        distinct = named_arrays(state)
        assert model.nbytes == state.nbytes == sum(a.nbytes for a in distinct.values())
        groups = (state.tree, state.observed, state.sketch, state.model)
        fields = sum(len(group) for group in groups if group is not None) - missing
        assert len(distinct) == fields
        assert len({id(a) for a in distinct.values()}) == fields
    assert (state.observed is None) == (not missing)
    assert (len(state.model) == 0) == (leaf == "gaussian")
    assert state.nbytes > X[:50].nbytes
