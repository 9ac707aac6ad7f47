"""Class memories, rows replayed from them and trees grown on these, next to their slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist.engine.class_memory import (
    MOST_PAIRED_COLUMNS,
    is_full,
    learn_rows,
    n_moments,
    new_memory,
    reserve_cells,
    reserve_codes,
)
from mist.engine.class_memory_budget import coarsened
from mist.engine.class_memory_upkeep import (
    merged,
    trimmed,
    with_columns,
    with_first_trees,
    without_class,
)
from mist.engine.replay_trees import count_votes, grow, new_grower, new_nodes
from mist.engine.replayed_rows import count_draws, replay
from naive_replay import GROWTH, Bits, NaiveMemory, draw_rows, grow_tree, regions, vote

TREES, MOST, SEED = 2, 6.0, 5
DRAWS = 10


def stream(n, a, b, seed, missing=0.0, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = np.hstack([rng.normal(y[:, None], 1.0, (n, a)), rng.random((n, b)) < 0.4])
    X[:, : a // 2] = np.round(X[:, : a // 2], 1)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.choice([0.5, 1.0, 2.0], n)


def learnt(X, y, weights, n_numeric, kappa=1.0, memory=None):
    if memory is None:
        memory = new_memory(n_numeric, X.shape[1], TREES)
    memory, at = reserve_codes(memory, 3), 0
    while True:
        shift = np.zeros(X.shape[1])
        at = learn_rows(
            memory,
            X,
            y,
            weights,
            at,
            TREES,
            n_numeric,
            is_full(n_numeric),
            SEED,
            MOST,
            kappa,
            shift,
        )
        if at == len(X):
            return memory
        memory = reserve_cells(memory, TREES, 10**6)


def naive(X, y, weights, n_numeric, kappa=1.0):
    memory = NaiveMemory(n_numeric, MOST, kappa, SEED, full=is_full(n_numeric))
    for x, c, w in zip(X, y.tolist(), weights.tolist(), strict=True):
        memory.learn_row(x, c, w, TREES)
    return memory


def walked(memory, v, low, high):
    """Cells of a node from left to right, with the limits of their regions."""
    node = memory.nodes[v]
    if node.feature < 0:
        return [(int(node.cell), low, high)]
    below, above = high.copy(), low.copy()
    below[node.feature] = min(below[node.feature], node.threshold)
    above[node.feature] = max(above[node.feature], node.threshold)
    return walked(memory, node.first, low, below) + walked(memory, node.first + 1, above, high)


def matched(memory, twin):
    """Each cell of a memory with that of its twin."""
    d = memory.mean.shape[1]
    ends = np.full(d, -np.inf), np.full(d, np.inf)
    for (c, tree), root in twin.roots.items():
        ours, theirs = walked(memory, memory.roots[c, tree], *ends), regions(root, *ends)
        assert len(ours) == len(theirs)
        for (q, low, high), (cell, *limits) in zip(ours, theirs, strict=True):
            np.testing.assert_allclose([low, high], limits, rtol=1e-5, atol=1e-5)
            yield q, cell, low, high


def packed(covariance, n_numeric):
    lower = np.tril_indices(n_numeric)
    return covariance[lower] if is_full(n_numeric) else np.diag(covariance)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(2, 0), (3, 2), (1, 1), (0, 2), (MOST_PAIRED_COLUMNS + 1, 0)]),
    missing=st.sampled_from([0.0, 0.3]),
    kappa=st.sampled_from([0.0, 1.0]),
)
def test_cells_are_those_of_the_slow_twin(seed, shape, missing, kappa):
    X, y, weights = stream(150, *shape, seed, missing)
    memory = learnt(X, y, weights, shape[0], kappa)
    twin = naive(X, y, weights, shape[0], kappa)
    n = 0
    for q, cell, _, _ in matched(memory, twin):
        n += 1
        record = memory.cells[q]
        np.testing.assert_allclose(record.rows, cell.rows, rtol=1e-5)
        np.testing.assert_allclose(record.weight, cell.weight, rtol=1e-5)
        assert record.own == cell.own
        np.testing.assert_allclose(memory.mean[q], cell.mean, rtol=1e-5, atol=1e-5)
        unit = memory.unit[record.code, : shape[0]]
        covariance = memory.m2[q] / record.weight * packed(np.outer(unit, unit), shape[0])
        expected = packed(cell.covariance, shape[0])
        np.testing.assert_allclose(covariance, expected, rtol=1e-4, atol=1e-6)
    assert n == memory.counters[1]
    for c in range(3):
        np.testing.assert_allclose(
            sum(leaf.rows for leaf in twin.roots[c, 0].leaves()), weights[y == c].sum()
        )


@pytest.mark.parametrize("shape", [(3, 2), (MOST_PAIRED_COLUMNS + 1, 0)])
def test_rows_are_drawn_as_by_the_slow_twin(shape):
    X, y, weights = stream(120, *shape, 1, 0.1)
    X[y == 2, 0] = np.nan  # a class without a value in a column
    memory = learnt(X, y, weights, shape[0])
    d, p = sum(shape), n_moments(shape[0])
    counts = np.zeros(len(memory.cells), np.int64)
    n = count_draws(memory, np.array([2.0, 1.3, 0.7]), SEED, 1, TREES, 9, counts)
    drawn, labels = np.zeros((d, n)), np.zeros(n, np.int64)
    scratch = [np.zeros(p), np.zeros(d), np.zeros(d), np.zeros(d)]
    replay(memory, counts, SEED, 9, shape[0], is_full(shape[0]), drawn, labels, *scratch)
    n_cells = memory.counters[1]
    rates = np.array([2.0, 1.3, 0.7])[memory.cells.code[:n_cells]] * memory.cells.rows[:n_cells]
    assert (counts[:n_cells] - np.floor(rates) <= 1)[memory.cells.tree[:n_cells] == 1].all()
    assert not counts[:n_cells][memory.cells.tree[:n_cells] == 0].any()
    starts = np.cumsum(counts) - counts
    for q, cell, low, high in matched(memory, naive(X, y, weights, shape[0])):
        expected = draw_rows(
            cell, low, high, counts[q], shape[0], Bits(SEED, DRAWS, 9, q, 1), full=is_full(shape[0])
        )
        own = slice(starts[q], starts[q] + counts[q])
        np.testing.assert_allclose(drawn[:, own].T, expected, rtol=1e-3, atol=1e-3)
        assert (labels[own] == memory.cells.code[q]).all()
    assert np.isnan(drawn[0, labels == 2]).all()
    assert len(set(labels)) == 3


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), missing=st.sampled_from([0.0, 0.2]))
def test_trees_are_grown_as_by_the_slow_twin(seed, missing):
    X, y, _ = stream(80, 3, 1, seed, missing)
    X[60:70] = X[60]  # rows that cannot be told apart
    nodes = new_nodes(160)
    columns = np.ascontiguousarray(X.T)
    made = grow(columns, y, new_grower(80, 3, 4), 2, 2, seed, 4, nodes)
    tree = grow_tree(X, y, 2, 2, Bits(seed, GROWTH, 4, 0, 0))
    asked = np.vstack([X, stream(50, 3, 1, seed + 1, 0.3)[0]])
    votes = np.zeros((len(asked), 3))
    count_votes(nodes[:made].copy(), np.zeros(1, np.int64), asked, votes)
    for x, found in zip(asked, votes, strict=True):
        wanted = vote(tree, x)
        np.testing.assert_allclose(found, [wanted.get(c, 0.0) for c in range(3)])
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    if not missing:  # leaves are pure, and no two of these rows are alike
        assert (votes[:60].argmax(axis=1) == y[:60]).all()


def cells_of(memory, code, tree):
    """Content of the cells of one tree of a class, from left to right, of two numeric columns."""
    if memory.roots[code, tree] < 0:
        return None
    ends = np.zeros(memory.mean.shape[1])
    cells = [q for q, *_ in walked(memory, memory.roots[code, tree], ends, ends)]
    unit = memory.unit[code, :2]
    m2 = memory.m2[cells] * np.outer(unit, unit)[np.tril_indices(2)]
    return memory.cells.rows[cells].tolist(), memory.mean[cells].tolist(), m2.tolist()


def test_merged_memories_stand_side_by_side_and_learn_on():
    X, y, weights = stream(200, 2, 1, 3)
    one, other = y < 2, y > 0
    a = learnt(X[one], y[one], weights[one], 2)
    b = learnt(X[other], y[other] - 1, weights[other], 2)
    both = merged(a, b, np.array([1, 2, 0]), TREES, 2)
    assert both.roots.shape == (3, 2 * TREES)
    for tree in range(TREES):
        assert cells_of(both, 0, tree) == cells_of(a, 0, tree)
        assert cells_of(both, 1, tree) == cells_of(a, 1, tree)
        assert cells_of(both, 1, TREES + tree) == cells_of(b, 0, tree)
        assert cells_of(both, 2, tree) == cells_of(b, 1, tree)
        assert cells_of(both, 2, TREES + tree) is None
    whole = learnt(np.vstack([X[one], X[other]]), np.concatenate([y[one], y[other]]),
                   np.concatenate([weights[one], weights[other]]), 2)  # fmt: skip
    for name in ("rows", "weight", "seen", "centre", "spread"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), rtol=1e-9)
    before = cells_of(both, 1, TREES)
    both = learnt(X, y, weights, 2, memory=both)
    assert cells_of(both, 1, TREES) == before
    assert cells_of(both, 2, 0) != cells_of(b, 1, 0)
    thrice = merged(both, a, np.array([0, 1, 2]), TREES, 2)
    assert cells_of(thrice, 1, 2 * TREES) == cells_of(a, 1, 0)


def test_without_a_class_the_others_learn_on_as_before():
    X, y, weights = stream(200, 2, 1, 4)
    memory = learnt(X, y, weights, 2)
    rest = without_class(memory, 1)
    assert cells_of(rest, 1, 0) is None
    assert rest.counters[1] == len(rest.cells) < memory.counters[1]
    kept = y != 1
    again = learnt(X[kept], y[kept], weights[kept], 2, memory=rest)
    straight = learnt(X[kept], y[kept], weights[kept], 2, memory=trimmed(memory))
    for code in (0, 2):
        for tree in range(TREES):
            assert cells_of(again, code, tree) == cells_of(straight, code, tree)


def totals(memory, code, tree):
    """Weight, mean and covariance of all cells of a tree of a class, weighted by their rows."""
    ends = np.zeros(memory.mean.shape[1])
    cells = [q for q, *_ in walked(memory, memory.roots[code, tree], ends, ends)]
    rows, mean, unit = memory.cells.rows[cells], memory.mean[cells], memory.unit[code, :2]
    centre = rows @ mean / rows.sum()
    second = np.zeros((2, 2))
    for q, n, m in zip(cells, rows, mean, strict=True):
        own = np.zeros((2, 2))
        own[np.tril_indices(2)] = memory.m2[q] / memory.cells.weight[q]
        own = (own + np.tril(own, -1).T) * np.outer(unit, unit)
        second += n * (own + np.outer(m - centre, m - centre)[:2, :2])
    return rows.sum(), centre, second / rows.sum(), len(cells)


def test_joined_cells_keep_what_their_class_is_as_a_whole():
    X, y, weights = stream(400, 2, 1, 6)
    y[y == 2] = np.where(np.arange((y == 2).sum()) % 8 == 0, 2, 0)
    memory = learnt(X, y, weights, 2)
    half = coarsened(memory, int(memory.counters[1]) // 3, 2)
    assert len(half.cells) == half.counters[1] == int(memory.counters[1]) // 3
    counts = []
    for code in range(3):
        for tree in range(TREES):
            before, after = totals(memory, code, tree), totals(half, code, tree)
            for one, other in zip(before[:3], after[:3], strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
            counts.append((before[3], after[3]))
    # The class with few rows keeps its cells, as each of them is a larger share of it.
    kept = [after / before for before, after in counts]
    assert min(kept[4:]) > max(kept[:2])
    least = coarsened(memory, 1, 2)
    assert len(least.cells) == 3 * TREES
    # Cells with smaller shares than those that were joined are not cut again.
    again = learnt(X, y, weights, 2, memory=half)
    shares = again.cells.rows / again.weight[again.cells.code]
    assert (shares[: again.counters[1]] > 0).all()
    assert again.counters[1] < 1.5 * memory.counters[1]


def test_first_trees_stay_as_they_are():
    X, y, weights = stream(200, 2, 1, 7)
    memory = learnt(X, y, weights, 2)
    both = merged(memory, memory, np.arange(3), TREES, 2)
    first = with_first_trees(both, 1, TREES)
    for code in range(3):
        for tree in (0, TREES):
            assert cells_of(first, code, tree) == cells_of(memory, code, 0)
            assert cells_of(first, code, tree + 1) is None
    assert len(first.nodes) == 2 * len(first.cells) - 6


@pytest.mark.parametrize("n_numeric", [2, MOST_PAIRED_COLUMNS])
def test_new_columns_have_no_value_and_change_nothing_else(n_numeric):
    X, y, weights = stream(120, n_numeric, 1, 5)
    memory = trimmed(learnt(X, y, weights, n_numeric))
    wide = with_columns(memory, n_numeric, 2)
    assert np.isnan(wide.mean[:, n_numeric : n_numeric + 2]).all()
    np.testing.assert_array_equal(np.delete(wide.mean, [n_numeric, n_numeric + 1], 1), memory.mean)
    assert wide.m2.shape[1] == n_moments(n_numeric + 2)
    new = np.full((len(X), 2), np.nan)
    more = np.hstack([X[:, :n_numeric], new, X[:, n_numeric:]])
    grown = learnt(more, y, weights, n_numeric + 2, memory=trimmed(wide))
    assert grown.counters[1] > wide.counters[1]
    assert np.isnan(grown.mean[: grown.counters[1], n_numeric : n_numeric + 2]).all()
