"""Bytes and work grow in proportion to what is learnt, and stay within the bounds set."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from mist.engine import capacity, driver, kll, state
from mist.engine.kll import SPARE_ROWS
from mist.engine.leaves.gaussian import GAUSSIAN
from mist.engine.state import CELL, LEAF, LEVELS, NODE, TOTALS, Options, sketch_plan
from published import paper_tree

NEVER = 10**9


def learnt(n, d, n_classes, **options):
    rng = np.random.default_rng(n + d)
    y = rng.permutation(np.arange(n) % n_classes)
    return paper_tree(**options).partial_fit(rng.normal(size=(n, d)) + y[:, None] % 7, y)


def most_bytes(d, n_classes, n_leaves, n_sketched, rows, k=64):
    """What MIST-G takes at most: ``n_sketched`` classes a leaf have sketches, all have moments."""
    # While a leaf is divided, its cells and those of both children are there.
    cells = math.ceil(1.25 * (n_leaves + 2) * n_classes) + 2
    levels = max(1, math.ceil(math.log2(max(2 * rows / k, 1.0)))) + 1
    pool = n_leaves * n_sketched * int(sketch_plan(k)[TOTALS, levels])
    return (
        cells * (CELL.itemsize + 8 * 3 * d)  # records and moments
        + cells * (2 * LEVELS + 8 * 2 * d + 8 * d)  # sizes of levels, ends and medians
        + 4 * cells * 4  # the table is at least half empty, and a power of two
        + 8 * d * (pool + max(pool // 4, SPARE_ROWS))
        + math.ceil(1.25 * 2 * n_leaves + 2) * NODE.itemsize
        + math.ceil(1.25 * n_leaves + 2) * (LEAF.itemsize + 8 * d)
        + 2 * 8 * d  # running moments
        + 8 * 11  # counters
        + sketch_plan(k).nbytes
    )


def test_limits_on_leaves_and_sketches_bound_the_bytes():
    n, d, n_classes, n_leaves, n_sketched = 20_000, 6, 12, 5, 3
    limits = {"max_leaves": n_leaves, "max_classes_per_leaf": n_sketched}
    eager = {"grace_period": 100, "tie_threshold": 9.0, "discount": 1.0}
    model = learnt(n, d, n_classes, **limits, **eager)
    assert model.n_leaves_ == n_leaves
    bound = most_bytes(d, n_classes, n_leaves, n_sketched, n)
    assert 0.4 * bound < model.nbytes <= bound
    # Without the limit on sketches the same stream needs more than that.
    assert learnt(n, d, n_classes, max_leaves=n_leaves, **eager).nbytes > bound


def test_bytes_are_linear_in_columns_and_in_classes():
    wide = [learnt(600, d, 3, grace_period=NEVER).nbytes / d for d in (100, 1_000)]
    assert wide[1] == pytest.approx(wide[0], rel=0.1)
    many = [learnt(3 * k, 4, k, grace_period=NEVER).nbytes / k for k in (200, 5_000)]
    assert many[1] == pytest.approx(many[0], rel=0.25)


def test_bytes_of_saturated_sketches_grow_with_the_logarithm_of_rows():
    sizes = [learnt(n, 20, 2, grace_period=NEVER).nbytes for n in (1_000, 10_000, 100_000)]
    # A level more each time that the rows double, of 8 rows.
    for before, after in pairwise(sizes):
        assert after - before < 2 * 2 * 4 * 8 * (20 * 8)


def counted(monkeypatch, module, name):
    """Calls of a function of a module, as a list that grows."""
    calls, original = [], getattr(module, name)

    def count(*arguments):
        calls.append(arguments[1:])
        return original(*arguments)

    monkeypatch.setattr(module, name, count)
    return calls


def test_arrays_grow_seldom_whatever_their_size(monkeypatch):
    pool = counted(monkeypatch, kll, "_enlarge_pool")
    cells = counted(monkeypatch, driver, "reserve_cells")
    often = []
    for k in (100, 1_000, 10_000):
        learnt(4 * k, 2, k, grace_period=NEVER)
        often.append((len(pool), len(cells)))
        pool.clear()
        cells.clear()
    # Ten times as much takes as many steps more as the step's factor goes into ten.
    for before, after in pairwise(often):
        assert after[0] - before[0] <= math.log(10) / math.log(5 / 4) + 3
        assert after[1] - before[1] <= math.log(10) / math.log(5 / 4) + 3


def test_a_search_among_many_cells_meets_few_of_them():
    options = Options(0, 1, 200, NEVER, 0.2, 1e-3, 1.0, False, False, 1)
    many, leaves, codes = capacity.new_state(1, options, None, GAUSSIAN), 200, 1_000
    capacity.reserve_cells(many, leaves * codes)
    for leaf in range(leaves):
        if leaf > 0:
            capacity.reserve_nodes(many)
            state.new_leaf(many.tree, state.new_node(many.tree, 0), 0)
        state.append_cells(many.tree, leaf, np.arange(codes))
    table = many.tree.table
    assert np.count_nonzero(table >= 0) == leaves * codes
    assert table.size <= 4 * len(many.tree.cells)
    # A search goes on to the next place that is empty.
    runs = np.diff(np.flatnonzero(np.r_[True, table < 0, True])) - 1
    assert 0 < runs.max() < 30
    assert np.square(runs).sum() / runs.sum() < 5
