"""The columnar quantile sketch, against the twin's and against sorting."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from mist import MistClassifier
from mist.engine import kll
from mist.engine.inheritance import split_leaf
from mist.engine.kll_merge import merge_sketch
from mist.engine.sorted_columns import SortedColumns, count_at_most
from mist.engine.state import (
    BLOCK_SIZES,
    CAPS,
    FIRST_BLOCK,
    HIGH,
    LAST_BLOCK,
    LEVELS,
    LOW,
    N_CELLS,
    N_HELD,
    N_ITEMS,
    TOTALS,
    State,
    sketch_plan,
)
from naive_merge import merge_sketches
from published import paper_tree, rank_error

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split


def grown(X, y, weights=None, **options: Any) -> MistClassifier:
    options = {"grace_period": NEVER, **options}
    return paper_tree(**options).partial_fit(X, y, sample_weight=weights)


def levels(state: State, cell: int) -> list[list[list[float]]]:
    """Stored rows of a cell's sketch, lowest level first, as the twin keeps them."""
    record, sketch = state.tree.cells[cell], state.sketch
    rows, at = [], record.start
    for size in sketch.sizes[cell, : record.levels][::-1]:
        rows.append(sketch.items[at : at + size].tolist())
        at += size
    assert at - record.start == record.used
    assert not sketch.sizes[cell, record.levels :].any()
    return rows[::-1]


def column(state: State, cell: int, j: int) -> list[tuple[float, int]]:
    """Sorted (value, weight) pairs of one column without missing values."""
    kept = [(row[j], 1 << h) for h, rows in enumerate(levels(state, cell)) for row in rows]
    return sorted((v, w) for v, w in kept if v < math.inf)


def buffers(state: State) -> tuple[np.ndarray, np.ndarray]:
    n = int(state.tree.cells.used.max()) + 1
    return np.empty(n), np.empty(n)


def blocks(state: State) -> list[tuple[int, int]]:
    """Blocks of the pool in their order, as (first row, number of rows)."""
    cells, plan = state.tree.cells, state.sketch.plan
    out, before, cell = [], -1, int(state.tree.counters[FIRST_BLOCK])
    while cell >= 0:
        assert cells.before[cell] == before
        out.append((int(cells.start[cell]), int(plan[BLOCK_SIZES, cells.size_class[cell]])))
        before, cell = cell, int(cells.behind[cell])
    assert before == state.tree.counters[LAST_BLOCK]
    return out


def check_pool(state: State) -> None:
    """Every sketch has a block that holds it, and no row belongs to two of them."""
    cells, counters, own = state.tree.cells, state.tree.counters, blocks(state)
    owners = np.flatnonzero(cells.start[: counters[N_CELLS]] >= 0)
    assert (cells.leaf[owners] >= 0).all()
    block_sizes = state.sketch.plan[BLOCK_SIZES, cells.size_class[owners]]
    assert sorted(own) == sorted(
        zip(cells.start[owners].tolist(), block_sizes.tolist(), strict=True)
    )
    assert (cells.used[owners] <= block_sizes).all()
    ends = [0, *(start + rows for start, rows in own)]
    assert all(start >= end for (start, _), end in zip(own, ends, strict=False))
    assert ends[-1] <= counters[N_ITEMS] <= len(state.sketch.items)
    assert counters[N_HELD] == block_sizes.sum()


def check_view(state: State) -> None:
    """The sorted columns of MIST-K hold just what the sketches hold."""
    cells, view, d = state.tree.cells, state.model, state.options.n_numeric
    for cell in range(state.tree.counters[N_CELLS]):
        if cells.leaf[cell] < 0 or cells.start[cell] < 0:
            continue
        rows = slice(cells.start[cell], cells.start[cell] + cells.used[cell])
        for j in range(d):
            pairs = column(state, cell, j)
            n = int(view.count[cell, j])
            assert n == len(pairs)
            values, mass = view.values[rows, j], view.mass[rows, j]
            assert values[:n].tolist() == [v for v, _ in pairs]
            assert (values[n:] == np.inf).all()
            last = {}
            for v, reached in naive.cumulative(pairs):
                last[v] = reached  # equal values may stand in any order
            assert (np.diff(mass) > 0).all()
            assert dict(zip(values[:n], mass[:n], strict=True)) == last


# --- what is stored ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [8, 21])
@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_stored_items_equal_the_twins_after_every_row(leaf, k, dtype):
    rng = np.random.default_rng(k)
    n, d = 400, 3
    X = np.round(rng.normal(size=(n, d)), 1)  # with ties
    X[rng.random((n, d)) < 0.1] = NAN
    y = rng.integers(0, 2, n)
    weights = rng.choice([1.0, 1.0, 0.4, 2.5, 13.0], n)
    same = {"grace_period": NEVER, "sketch_size": k, "sketch_dtype": dtype, "random_state": 5}
    model, twin = paper_tree(leaf, **same), naive.NaiveMist(leaf, **same)
    for i in range(n):
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
        twin.learn_row(X[i].tolist(), int(y[i]), float(weights[i]))
        state = model._state
        check_pool(state)
        for code, cell in twin.nodes[0].cells.items():
            sketch = cell.sketch
            # Ours are kept sorted, all but the lowest.
            sorted_up = [np.sort(rows, axis=0).tolist() for rows in sketch.levels[1:]]
            assert levels(state, code) == [sketch.levels[0], *sorted_up]
            assert kll.total_weight(state.sketch, code) == sketch.n()
            assert state.sketch.ends[code, LOW].tolist() == sketch.low
            assert state.sketch.ends[code, HIGH].tolist() == sketch.high
        if isinstance(state.model, SortedColumns):
            check_view(state)
    assert max(len(rows) for rows in levels(state, 0)) < 60  # it did compact
    assert state.tree.cells.flips[:2].min() > 10


@pytest.mark.parametrize("k", [8, 64])
def test_weights_sum_to_n_and_ends_are_exact(k):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=3000), rng.exponential(size=3000)])
    model = paper_tree(grace_period=NEVER, sketch_size=k)
    for n in range(1, 3001, 100):
        model.partial_fit(X[n - 1 : n + 99], np.zeros(100, int))
        state = model._state
        assert kll.total_weight(state.sketch, 0) == n + 99
        for j in range(2):
            assert sum(w for _, w in column(state, 0, j)) == n + 99
            assert state.sketch.ends[0, LOW, j] == X[: n + 99, j].min()
            assert state.sketch.ends[0, HIGH, j] == X[: n + 99, j].max()
    capacity = sum(sketch_plan(k)[CAPS, : state.tree.cells.levels[0]])
    assert state.tree.cells.used[0] < capacity


def test_whole_weights_are_whole_copies():
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(300, 1)), rng.integers(0, 14, 300).astype(float)
    state = grown(X, np.zeros(300, int), weights, sketch_size=16)._state
    assert kll.total_weight(state.sketch, 0) == weights.sum()
    assert state.sketch.ends[0, :, 0].tolist() == [X[weights > 0].min(), X[weights > 0].max()]
    few = grown([[1.0], [2.0], [3.0]], [0, 0, 0], [5.0, 2.0, 2.0**31])._state
    assert column(few, 0, 0) == [(1.0, 1), (1.0, 4), (2.0, 2), (3.0, 2**31)]


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_a_sketch_at_its_last_level_forgets_half_of_that(leaf):
    """No weight leads beyond the arrays, and shares stay what they are."""
    rng, n = np.random.default_rng(6), 2**31
    model, twin = paper_tree(leaf, grace_period=NEVER, sketch_size=8), naive.Sketch(8, 2, 0, 0, 0)

    def learn(n_rows: int) -> None:
        X = rng.normal(size=(n_rows, 2))
        model.partial_fit(X, np.zeros(n_rows, int), sample_weight=float(n))
        for row in X.tolist():
            twin.insert(row, n)

    def agree() -> None:
        state = model._state
        assert [sorted(rows) for rows in levels(state, 0)] == [
            sorted(np.sort(rows, axis=0).tolist()) for rows in twin.levels
        ]
        assert state.tree.cells.flips[0] == twin.compactions
        assert kll.total_weight(state.sketch, 0) == twin.n()
        check_pool(state)
        if leaf == "sketch":
            check_view(state)

    learn(400)
    for _ in range(14):
        merge_sketch(model._state, 0, copy.deepcopy(model._state), 0)
        merge_sketches(twin, copy.deepcopy(twin))
        agree()
        learn(7)
        agree()
    assert len(twin.levels) == LEVELS == model._state.tree.cells.levels[0]
    assert twin.n() < 400 * n * 2**14  # half was forgotten
    v, w = np.transpose(column(model._state, 0, 0))
    assert w[v <= 0.0].sum() / w.sum() == pytest.approx(0.5, abs=0.25)
    # Rows that come one by one fill the last level, too, and its room is the largest there is.
    full = model._state.sketch.plan[TOTALS, LEVELS]
    for _ in range(20):
        learn(60)
        assert model._state.tree.cells.used[0] < full
        agree()


def test_a_fraction_of_a_copy_is_a_chance_of_one():
    n = 4000
    state = grown(np.zeros((n, 1)), np.zeros(n, int), np.full(n, 1.3))._state
    copies = kll.total_weight(state.sketch, 0)
    assert abs(copies - 1.3 * n) < 4 * math.sqrt(n * 0.3 * 0.7)


def test_levels_shrink_by_two_thirds_from_the_top():
    plan = sketch_plan(64)
    assert plan[CAPS, :7].tolist() == [64, 43, 28, 19, 13, 8, 8]
    assert plan[TOTALS, :4].tolist() == [0, 64, 107, 135]


# --- rank error -------------------------------------------------------------------------------


def worst_rank_error(seed: int, k: int, values: np.ndarray) -> float:
    state = grown(values[:, None], np.zeros(len(values), int), sketch_size=k, random_state=seed)
    pairs = column(state._state, 0, 0)
    kept, reached = np.array(naive.cumulative(pairs)).T
    ranked = np.sort(values)
    below = np.searchsorted(kept, ranked, side="right")
    shares = np.concatenate([[0.0], reached])[below] / len(values)
    return float(np.abs(shares - np.arange(1, len(values) + 1) / len(values)).max())


@pytest.mark.parametrize("order", ["random", "rising"])
def test_rank_error_is_within_the_published_bound(order):
    bound = rank_error(64)
    rng = np.random.default_rng(3)
    errors = []
    for seed in range(100):
        values = rng.normal(size=5000)
        errors.append(worst_rank_error(seed, 64, values if order == "random" else np.sort(values)))
    assert np.sum(np.array(errors) <= bound) >= 99


def test_a_larger_sketch_is_more_accurate():
    values = np.random.default_rng(4).normal(size=5000)
    errors = [np.mean([worst_rank_error(s, k, values) for s in range(10)]) for k in (16, 64, 256)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


# --- questions --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compacted() -> State:
    """A sketch of 500 rows with ties, and missing values in column 1; column 2 has no value."""
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(500, 3)), 1)
    X[rng.random(500) < 0.2, 1] = NAN
    X[:, 2] = NAN
    return grown(X, np.zeros(500, int), sketch_size=32)._state


@pytest.mark.parametrize("j", [0, 1])
def test_ranks_and_quantiles_equal_the_twins(compacted, j):
    pairs = column(compacted, 0, j)
    low, high = compacted.sketch.ends[0, :, j].tolist()
    cells, sketch = compacted.tree.cells, compacted.sketch
    for v in [*np.linspace(-4, 4, 81), -9.0, 9.0, pairs[0][0], pairs[-1][0]]:
        assert kll.rank(cells, sketch, 0, j, v) == naive.cdf(pairs, v)
    for q in [-0.1, 0.0, 1e-9, *np.linspace(0.01, 0.99, 99), 1.0, 1.5]:
        got = kll.quantile(cells, sketch, 0, j, q, *buffers(compacted))
        assert got == naive.quantile(pairs, q, low, high)


@pytest.mark.parametrize("j", [0, 1])
@pytest.mark.parametrize("ends", [(-9.0, 9.0), (-0.2, 0.2), (3.0, 4.0), (0.5, -0.5), (NAN, NAN)])
def test_median_does_not_depend_on_where_it_is_sought(compacted, j, ends):
    cells, sketch = compacted.tree.cells, compacted.sketch
    got = kll.median(cells, sketch, 0, j, *ends, *buffers(compacted))
    assert got == naive.quantile(column(compacted, 0, j), 0.5, -9.0, 9.0)


def test_a_column_without_values_has_no_median(compacted):
    cells, sketch, room = compacted.tree.cells, compacted.sketch, buffers(compacted)
    assert math.isnan(kll.median(cells, sketch, 0, 2, 0.0, 1.0, *room))
    for q in (0.0, 0.5, 1.0):
        assert math.isnan(kll.quantile(cells, sketch, 0, 2, q, *room))
    assert kll.rank(cells, sketch, 0, 2, 0.0) == 0.0
    assert kll.column(cells, sketch, 0, 2, *room) == 0


@pytest.mark.parametrize("n", [1, 2, 100, 101])
def test_a_sketch_that_holds_all_rows_is_exact(n):
    values = np.random.default_rng(7).normal(size=n)
    state = grown(values[:, None], np.zeros(n, int), sketch_size=200)._state
    cells, sketch = state.tree.cells, state.sketch
    for q in np.linspace(0.005, 0.995, 50):
        got = kll.quantile(cells, sketch, 0, 0, q, *buffers(state))
        assert got == np.quantile(values, q, method="inverted_cdf")
    for v in np.linspace(-3, 3, 50):
        assert kll.rank(cells, sketch, 0, 0, v) == np.mean(values <= v)
    expected = np.quantile(values, 0.5, method="inverted_cdf")
    for ends in ((-9.0, 9.0), (expected, expected), (5.0, 9.0)):
        assert kll.median(cells, sketch, 0, 0, *ends, *buffers(state)) == expected


@pytest.mark.parametrize("distinct", [1, 2, 5, 1000])
def test_weighted_quantile_is_the_sorted_one(distinct):
    rng = np.random.default_rng(distinct)
    for n in (1, 2, 3, 10, 200):
        values = rng.integers(0, distinct, n).astype(float)
        weights = 2.0 ** rng.integers(0, 5, n)
        pairs = sorted(zip(values.tolist(), weights.tolist(), strict=True))
        for target in rng.uniform(1e-9, weights.sum(), 20):
            got = kll.weighted_quantile(values.copy(), weights.copy(), n, target)
            assert got == next(v for v, reached in naive.cumulative(pairs) if reached >= target)
        whole = kll.weighted_quantile(values.copy(), weights.copy(), n, weights.sum())
        assert whole == values.max()


@pytest.mark.parametrize("m", [*range(1, 34), 63, 64, 65, 100])
def test_columns_are_sorted_each_on_its_own(m):
    rng = np.random.default_rng(m)
    items = np.round(rng.normal(size=(m + 4, 3)), 1)
    items[rng.random(items.shape) < 0.1] = np.inf
    before = items.copy()
    kll.sort_columns(items, 2, m)
    np.testing.assert_array_equal(items[2 : m + 2], np.sort(before[2 : m + 2], axis=0))
    np.testing.assert_array_equal(items[[0, 1, -2, -1]], before[[0, 1, -2, -1]])


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 99))
def test_two_sorted_parts_are_merged_column_by_column(a, b, seed):
    rng = np.random.default_rng(seed)
    # A network that merges zeros and ones merges everything (Knuth, volume 3, section 5.3.4).
    items = np.where(rng.integers(0, 2, (a + b + 4, 5)) == 1, rng.choice([1.0, np.inf]), 0.0)
    items[2 : 2 + a].sort(axis=0)
    items[2 + a : 2 + a + b].sort(axis=0)
    before = items.copy()
    kll.merge_columns(items, 2, a, b)
    np.testing.assert_array_equal(items[2 : 2 + a + b], np.sort(before[2 : 2 + a + b], axis=0))
    np.testing.assert_array_equal(items[[0, 1, -2, -1]], before[[0, 1, -2, -1]])


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 9), st.integers(0, 99))
def test_values_up_to_a_bound_are_counted_in_every_column(n, d, seed):
    rng = np.random.default_rng(seed)
    table = np.full((n + 3, d), rng.choice([-1.0, 99.0]))
    table[2 : n + 2] = np.sort(rng.integers(0, 50, (n, d)), axis=0)
    bounds = rng.integers(-1, 51, d) + rng.choice([0.0, 0.5])
    bounds[rng.random(d) < 0.1] = NAN
    found = np.empty(d)
    count_at_most(table, 2, n, bounds, found)
    assert found.tolist() == (table[2 : n + 2] <= bounds).sum(axis=0).tolist()


def test_copies_take_one_row_a_set_bit():
    for copies in (0, 1, 2, 3, 13, 255, 2**31):
        assert kll.copies_bits(np.int64(copies)) == copies.bit_count()


# --- blocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_blocks_grow_and_their_rows_are_taken_again(leaf):
    rng = np.random.default_rng(8)
    model = paper_tree(leaf, grace_period=NEVER, sketch_size=32)
    X, y = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    block_sizes = []
    for i in range(0, 600, 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
        check_pool(model._state)
        block_sizes.append(int(model._state.tree.cells.size_class[0]))
    assert block_sizes == sorted(block_sizes)
    assert len(set(block_sizes)) > 4  # a small block first, larger ones as the sketch fills
    state = model._state
    room, held = len(state.sketch.items), int(state.tree.counters[N_HELD])
    split_leaf(state, 0, 0, 0.0, "gaussian", 1.0)
    check_pool(state)
    assert blocks(state) == []  # sketches are never inherited
    model.partial_fit(X[:300], y[:300])
    check_pool(model._state)
    assert len(model._state.sketch.items) == room  # the rows of the parent serve the children
    assert 0 < model._state.tree.counters[N_HELD] < 2 * held


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_a_class_takes_about_as_many_rows_as_it_has(leaf):
    for n in (1, 5, 10, 20, 50):
        y = np.arange(40 * n) % 40
        X = np.random.default_rng(n).normal(size=(len(y), 200))
        state = paper_tree(leaf, grace_period=NEVER).partial_fit(X, y)._state
        held = int(state.tree.counters[N_HELD])
        assert 40 * n <= held <= 40 * max(4, 1.5 * n)
        assert len(state.sketch.items) <= 1.5 * held


def test_little_of_the_pool_is_spare_when_classes_arrive_two_at_a_time():
    rng = np.random.default_rng(11)
    y = np.repeat(np.arange(10), 300).reshape(5, 600)
    y = rng.permuted(y, axis=1).ravel()
    state = grown(rng.normal(size=(len(y), 30)), y)._state
    used = int(state.tree.cells.used.sum())
    assert state.tree.counters[N_HELD] <= 1.3 * used
    assert len(state.sketch.items) <= 1.5 * used


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_pool_and_view_hold_through_many_splits(leaf):
    rng = np.random.default_rng(9)
    y = rng.integers(0, 6, 900)
    X = rng.normal(size=(900, 2)) + 3.0 * rng.normal(size=(6, 2))[y]
    X[rng.random(X.shape) < 0.05] = NAN
    model = paper_tree(leaf, grace_period=20, tie_threshold=9.0, sketch_size=8)
    for i in range(0, 900, 30):
        model.partial_fit(X[i : i + 30], y[i : i + 30], sample_weight=rng.choice([1, 2, 5], 30))
        check_pool(model._state)
        if leaf == "sketch":
            check_view(model._state)
    assert model.n_splits_ > 5


def test_a_leaf_sketches_only_so_many_classes():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 5, 200)
    state = grown(X, y, max_classes_per_leaf=2)._state
    assert (state.tree.cells.start[:5] >= 0).tolist() == [True, True, False, False, False]
    check_pool(state)


def test_block_sizes_grow_by_a_half_at_most():
    for k in (8, 64, 32768):
        plan = sketch_plan(k)
        block_sizes = plan[BLOCK_SIZES][plan[BLOCK_SIZES] > 0]
        ratios = block_sizes[1:] / block_sizes[:-1]
        assert ratios.min() > 1.0
        assert ratios.max() <= 1.5
        assert block_sizes[-1] == plan[TOTALS].max()
        assert set(block_sizes[block_sizes >= 4 * k].tolist()) <= set(plan[TOTALS].tolist())
