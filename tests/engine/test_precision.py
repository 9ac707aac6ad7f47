"""Sketches in single precision: rounding, thresholds that route as it counts, and the twin."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from mist.engine.leaf_copy import one_leaf_state
from mist.engine.precision import routing_thresholds, stored
from mist.engine.state import HIGH, LOW
from mist.rows import LARGEST
from published import paper_tree

SINGLE = np.empty(0, np.float32)
MOST = float(np.finfo(np.float32).max)
finite = st.floats(-LARGEST, LARGEST)
near = st.builds(
    lambda x, k: float(np.float32(x)) * (1 + k * 2.0**-26), st.floats(-9, 9), st.integers(-9, 9)
)


@given(finite | near)
def test_a_value_is_stored_as_the_nearest_finite_one(x):
    with np.errstate(over="ignore"):
        nearest = float(np.float32(x))
    assert float(stored(SINGLE, x)) == math.copysign(min(abs(nearest), MOST), nearest)
    assert float(stored(SINGLE, x)) == naive.to_single(x)
    assert stored(np.empty(0), x) == x


@settings(max_examples=300)
@given(finite | near, st.lists(finite | near, max_size=5))
def test_a_threshold_routes_values_as_their_roundings_compare(v, values):
    edge = float(routing_thresholds(np.array([v]))[0])
    around = [math.nextafter(edge, way) for way in (-math.inf, math.inf)]
    for x in [v, edge, *around, *values]:
        if abs(x) <= LARGEST:
            assert (x <= edge) == (float(stored(SINGLE, x)) <= v)


def test_thresholds_are_those_of_the_twin():
    places = np.array([[0.1, 1.0, -3.7e5, 0.0], [math.nan, 1e-40, 2.0**-130, -1.0]])
    known = ~np.isnan(places)
    out = routing_thresholds(places)
    assert np.isnan(out[~known]).all()
    assert out[known].tolist() == [naive.last_rounded_to(v) for v in places[known].tolist()]


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("inheritance", ["gaussian", "sketch", "joint"])
@pytest.mark.parametrize("thresholds", ["medians", "dense", "sampled"])
def test_the_twin_grows_the_same_tree(leaf, inheritance, thresholds):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 240)
    # Values that single precision tells apart in part, and others that it does not.
    X = 1.0 + np.round(1e-7 * (y[:, None] * [3.0, 1.0] + rng.normal(size=(240, 2))), 8)
    same = {"sketch_size": 8, "sketch_dtype": "float32", "grace_period": 40, "tie_threshold": 9.0}
    same |= {"thresholds": thresholds, "inheritance": inheritance}
    model, twin = paper_tree(leaf, **same).partial_fit(X, y), naive.NaiveMist(leaf, **same)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        twin.learn_row(row, label, 1.0)
    assert model.n_splits_ > 1
    assert [(s.node, s.feature, s.threshold, s.seen) for s in model.split_log_] == twin.splits
    for row, shares in zip(X[::10].tolist(), model.predict_proba(X[::10]), strict=True):
        expected = twin.predict_proba(row)
        np.testing.assert_allclose(shares, [expected[label] for label in range(3)], atol=1e-6)


def test_rows_go_where_the_sketches_have_counted_them():
    rng = np.random.default_rng(2)
    X = 1.0 + 1e-7 * rng.normal(size=(400, 1))
    y = (X[:, 0] + 1e-8 * rng.normal(size=400) > 1.0).astype(int)
    model = paper_tree(
        sketch_size=4096, sketch_dtype="float32", grace_period=400, tie_threshold=9.0
    )
    model.partial_fit(X, y)
    (split,) = model.split_log_
    counted = np.float32(X[:, 0]).astype(float) <= split.threshold
    np.testing.assert_array_equal(X[:, 0] <= split.threshold, counted)
    # A threshold amid the values: without care some of them would be on the wrong side.
    assert 0 < counted.sum() < 400
    assert len(np.unique(np.float32(X))) < 20


def test_a_value_beyond_single_precision_is_not_missing():
    X = np.array([[1e100], [-1e100], [2.0], [math.nan]])
    state = paper_tree(sketch_dtype="float32").partial_fit(X, [0, 0, 0, 0])._state
    rows = state.sketch.items[state.tree.cells.start[0] :][:4, 0]
    assert rows.tolist() == [MOST, -MOST, 2.0, math.inf]
    assert state.sketch.ends[0, [LOW, HIGH], 0].tolist() == [-MOST, MOST]
    assert state.tree.stats[0, 0, 0] == pytest.approx(2.0 / 3.0)  # moments know the value itself


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_half_the_bytes_and_copies_that_stay_so(leaf):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    wide, single = (
        paper_tree(leaf, sketch_dtype=dtype).partial_fit(X, y)._state
        for dtype in ("float64", "float32")
    )
    for name in ("ends", "medians"):
        assert 2 * getattr(single.sketch, name).nbytes == getattr(wide.sketch, name).nbytes
    assert single.sketch.items.dtype == np.float32
    assert single.sketch.items.nbytes < 0.7 * wide.sketch.items.nbytes
    for copy in (one_leaf_state(single, 0), pickle.loads(pickle.dumps(single))):
        assert copy.sketch.items.dtype == copy.sketch.ends.dtype == np.float32
        used, start, there = single.tree.cells.used, copy.tree.cells.start, single.tree.cells.start
        for cell in range(4):
            np.testing.assert_array_equal(
                copy.sketch.items[start[cell] :][: used[cell]],
                single.sketch.items[there[cell] :][: used[cell]],
            )
