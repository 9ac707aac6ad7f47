"""The quantile sketch by itself, against sorting."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist import QuantileSketch

NUMBERS = st.floats(-1e6, 1e6, width=32)


def exact(values, ranks):
    return np.quantile(values, ranks, axis=0, method="inverted_cdf")


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=60), q=st.floats(0.01, 0.99), cut=st.floats(0, 1)
)
def test_few_values_are_told_exactly_also_after_merging(values, q, cut):
    values = np.array(values)
    at = int(cut * len(values))
    parts = [QuantileSketch().update(part) for part in (values[:at], values[at:])]
    whole = QuantileSketch().update(values)
    both = copy.deepcopy(parts[0]).merge(parts[1])
    for sketch in (whole, both):
        assert sketch.n == len(values)
        assert sketch.quantile(q) in (exact(values, q - 1e-9), exact(values, q))
        assert sketch.rank(values) == pytest.approx(
            [np.mean(values <= v) for v in values], abs=1e-12
        )
        assert sketch.quantile([0, 1]).tolist() == [values.min(), values.max()]


@pytest.mark.parametrize("seed", range(3))
def test_many_values_within_the_error_of_the_sketch(seed):
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.arange(60_000.0))
    apart = [
        QuantileSketch(random_state=i).update(part) for i, part in enumerate(np.split(values, 4))
    ]
    merged = apart[0].merge(apart[1]).merge(apart[2].merge(apart[3]))
    ranks = np.linspace(0.01, 0.99, 99)
    for sketch in (merged, QuantileSketch(random_state=seed).update(values)):
        assert sketch.n == 60_000
        assert np.abs(sketch.quantile(ranks) / 60_000 - ranks).max() < 1.6 / 256 * 2
        assert np.abs(sketch.rank(60_000 * ranks) - ranks).max() < 1.6 / 256 * 2
        assert sketch.nbytes < 40_000


def test_a_sketch_merged_into_an_empty_one_keeps_its_weights():
    full = QuantileSketch().update(np.random.default_rng(0).permutation(np.arange(1.0, 20_001)))
    empty = QuantileSketch().merge(full)
    assert empty.n == full.n == 20_000
    assert abs(empty.quantile(0.5) - 10_000) < 400
    assert empty.merge(QuantileSketch()).n == 20_000


def test_columns_are_streams_of_their_own():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3)) * [1, 10, 100]
    rows[::5, 1] = np.nan
    sketch = QuantileSketch().update(rows[:50]).update(rows[50:])
    assert sketch.quantile([0.25, 0.5]).shape == (2, 3)
    assert sketch.quantile(0.5).shape == (3,)
    assert sketch.quantile(0.5)[1] in exact(rows[~np.isnan(rows[:, 1]), 1], [0.5 - 1e-9, 0.5])
    assert sketch.rank(0.0)[0] == np.mean(rows[:, 0] <= 0)
    other = QuantileSketch().update(rows)
    assert sketch.n.tolist() == [200, 160, 200]
    assert sketch.merge(other).n.tolist() == [400, 320, 400]


@pytest.mark.parametrize("n", [3, 5000])
def test_missing_values_are_not_counted(n):
    values = np.arange(float(n))
    values[::3] = np.nan
    known = int((~np.isnan(values)).sum())
    sketch = QuantileSketch().update(values)
    assert sketch.n == known
    assert sketch.update([np.nan]).n == known
    assert repr(sketch) == f"QuantileSketch(size=256)  # {known:,} values"
    # Before the first missing value, and after a merge with a sketch that has none.
    late = QuantileSketch(random_state=1).update([1.0, 2.0]).update([np.nan, 3.0])
    assert late.n == 3
    assert late.merge(sketch).n == sketch.merge(QuantileSketch().update([5.0])).n + 2
    assert QuantileSketch().update([2.0, np.nan, 1.0], weight=[3, 4, 0]).n == 3
    assert QuantileSketch().update([np.nan]).n == 0


def test_masked_values_are_missing_and_dates_refused():
    flat = np.ma.array([1.0, 999.0, 3.0], mask=[0, 1, 0])
    assert QuantileSketch().update(flat).quantile([0.0, 1.0]).tolist() == [1.0, 3.0]
    rows = np.ma.array([[1.0, 999.0], [2.0, 4.0]], mask=[[0, 1], [0, 0]])
    sketch = QuantileSketch().update(rows)
    assert sketch.n.tolist() == [2, 1]
    assert sketch.quantile(1.0).tolist() == [2.0, 4.0]
    days = np.array(["2024-01-01", "NaT"], dtype="datetime64[ns]")
    for values in (days, days[:, None]):
        with pytest.raises(ValueError, match="holds dates or times"):
            QuantileSketch().update(values)


def test_weights_are_copies():
    sketch = QuantileSketch().update([1.0, 2.0, 3.0], weight=[1, 0, 6])
    assert sketch.n == 7
    assert sketch.rank([1.0, 2.0]).tolist() == [1 / 7, 1 / 7]
    assert sketch.update([2.0], weight=3).n == 10


def test_nothing_learnt():
    sketch = QuantileSketch()
    assert sketch.n == sketch.update([]).n == 0
    assert np.isnan(sketch.quantile(0.5))
    assert sketch.rank(3.0) == 0.0
    assert sketch.quantile([0.1, 0.2]).shape == (2,)
    assert np.isnan(QuantileSketch().update([np.nan]).quantile(0.5))


def test_it_travels_and_goes_on():
    sketch = QuantileSketch().update(np.arange(3000.0))
    other = pickle.loads(pickle.dumps(sketch))
    for one in (sketch, other):
        one.update(np.arange(3000.0, 6000.0))
    ranks = np.linspace(0, 1, 11)
    assert other.quantile(ranks).tolist() == sketch.quantile(ranks).tolist()
    assert repr(sketch) == "QuantileSketch(size=256)  # 6,000 values"


def test_bad_input_is_refused_and_not_learnt():
    sketch = QuantileSketch().update([1.0, 2.0])
    with pytest.raises(ValueError, match="infinity"):
        sketch.update([3.0, np.inf])
    with pytest.raises(ValueError, match=r"shape \(1, 1, 1\)"):
        sketch.update([[[3.0]]])
    with pytest.raises(ValueError, match="2 features"):
        sketch.update([[3.0, 4.0]])
    with pytest.raises(ValueError, match=r"q has the rank 1\.5"):
        sketch.quantile([0.5, 1.5])
    with pytest.raises(ValueError, match="nan"):
        sketch.quantile(np.nan)
    with pytest.raises(TypeError, match="must be a QuantileSketch, got int"):
        sketch.merge(3)
    with pytest.raises(ValueError, match="itself"):
        sketch.merge(sketch)
    with pytest.raises(ValueError, match="sketch_size"):
        sketch.merge(QuantileSketch(100).update([1.0]))
    with pytest.raises(ValueError, match="columns"):
        sketch.merge(QuantileSketch().update([[1.0, 2.0]]))
    assert sketch.n == 2
    with pytest.raises(ValueError, match="sketch_size"):
        QuantileSketch(1).update([1.0])
