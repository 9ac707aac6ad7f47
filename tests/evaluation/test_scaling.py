import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

import naive_streams as naive
from mist.evaluation import ClassIncrementalStream
from mist.evaluation.scaling import standardise, standardise_as_they_come

nan = float("nan")


@st.composite
def tables(draw, min_rows=1):
    """Rows with holes, columns that do not vary, and columns far from 0."""
    n_rows, n_columns = draw(st.integers(min_rows, 12)), draw(st.integers(1, 3))
    cells = st.one_of(st.integers(-800, 800).map(lambda n: n / 8), st.just(nan))
    columns = []
    for _ in range(n_columns):
        values = st.lists(cells, min_size=n_rows, max_size=n_rows)
        alike = cells.map(lambda cell: [cell] * n_rows)
        offset = draw(st.sampled_from([0.0, 1e9, -1e9]))
        columns.append(np.array(draw(st.one_of(values, alike))) + offset)
    return np.column_stack(columns)


def stream_of(X, *, first_task, **options):
    """The rows in two tasks, the first with the first rows of the table, at least one held out."""
    y = np.repeat([0, 1], [first_task, len(X) - first_task])
    return ClassIncrementalStream(X, y, classes_per_task=1, test_size=0.4, **options)


@given(tables(), st.data())
def test_rows_in_the_scale_of_others_equal_the_slow_twin(table, data):
    cut = data.draw(st.integers(1, len(table)))
    expected = [naive.standardised(row, table[:cut].tolist()) for row in table.tolist()]
    assert standardise(table, table[:cut]) == pytest.approx(
        np.array(expected), rel=1e-9, abs=1e-9, nan_ok=True
    )


@given(tables())
def test_rows_as_they_come_equal_the_slow_twin(table):
    scaled = standardise_as_they_come(table)
    expected = naive.standardised_as_they_come(table.tolist(), len(table))
    assert scaled == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9, nan_ok=True)
    assert np.array_equal(np.isnan(scaled), np.isnan(table))
    bound = np.sqrt(np.arange(len(table)) + 1)[:, None]
    assert (np.abs(np.nan_to_num(scaled)) <= bound).all()


@pytest.mark.parametrize("offset", [1e9, -1e9, 1e12])
def test_a_huge_offset_does_not_matter(offset):
    X = np.random.default_rng(0).integers(-100, 100, (1000, 2)) / 8
    assert standardise_as_they_come(X + offset) == pytest.approx(
        standardise_as_they_come(X), abs=1e-9
    )
    assert standardise(X + offset, X[:50] + offset) == pytest.approx(
        standardise(X, X[:50]), abs=1e-9
    )


def test_the_first_value_may_be_far_from_the_rest():
    X = np.full((1000, 1), 1e9)
    X[0] = 0.0
    X[1:, 0] += np.random.default_rng(0).normal(size=999)
    expected = StandardScaler().fit_transform(X)[-1]
    assert standardise_as_they_come(X)[-1] == pytest.approx(expected, rel=1e-6)


def test_equal_values_are_not_blown_up():
    X = np.array([[0.1, 7e15], [0.1, 7e15], [0.1, 7e15]])
    assert not standardise_as_they_come(X).any()
    assert standardise(np.array([[0.3, 7e15 + 2]]), X) == pytest.approx(np.array([[0.2, 2.0]]))


@settings(deadline=None, max_examples=40)
@given(tables(min_rows=8), st.data())
def test_a_scaled_stream_equals_the_slow_twin(table, data):
    first_task = data.draw(st.integers(3, len(table) - 4))
    blur = data.draw(st.sampled_from([0.0, 0.6]))
    raw = stream_of(table, first_task=first_task, blur=blur)
    stream = stream_of(table, first_task=first_task, blur=blur, scale=True)
    rows, first = raw.X_train.tolist(), int(raw.boundaries[0])
    expected = naive.standardised_as_they_come(rows, first)
    assert stream.X_train == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9, nan_ok=True)
    assert np.array_equal(
        np.concatenate([task.X_train for task in stream]), stream.X_train, equal_nan=True
    )
    for learnt in range(1, len(rows) + 1):
        for task in stream:
            prepared = stream.prepare(task.X_test, learnt)
            seen = rows[: min(learnt, first)]
            expected = [naive.standardised(row, seen) for row in task.X_test.tolist()]
            assert prepared == pytest.approx(
                np.array(expected).reshape(task.X_test.shape), rel=1e-9, abs=1e-9, nan_ok=True
            )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 38), st.integers(0, 1000), st.sampled_from([0.0, 0.5]))
def test_later_rows_do_not_change_the_scale_of_earlier_ones(place, seed, blur):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(50.0), rng.normal(size=50)])
    options = {"classes_per_task": 1, "scale": True, "blur": blur, "seed": seed}
    y = np.repeat([0, 1], 25)
    order = ClassIncrementalStream(X, y, **{**options, "scale": False}).X_train[:, 0].astype(int)
    changed = X.copy()
    changed[order[place + 1 :]] = rng.normal(1e3, 1e2, (len(order) - place - 1, 2))
    before, after = (ClassIncrementalStream(table, y, **options) for table in (X, changed))
    assert np.array_equal(before.X_train[: place + 1], after.X_train[: place + 1])
    held_out = next(iter(before)).X_test
    assert np.array_equal(before.prepare(held_out, place + 1), after.prepare(held_out, place + 1))
    assert not np.array_equal(before.X_train, after.X_train)


def test_the_scale_stays_after_a_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2)) * np.linspace(1, 20, 4000)[:, None]
    y = np.repeat([0, 1], [3000, 1000])
    raw, stream = (
        ClassIncrementalStream(X, y, classes_per_task=1, scale=scale) for scale in (False, True)
    )
    assert raw.boundaries[0] == 2400
    scaler = StandardScaler().fit(raw.X_train[:1000])
    assert stream.X_train[999:] == pytest.approx(scaler.transform(raw.X_train[999:]))
    assert stream.X_train[500] == pytest.approx(
        StandardScaler().fit(raw.X_train[:501]).transform(raw.X_train[500:501])[0]
    )
    for learnt in (1000, 1001, 3200):
        assert stream.prepare(X[:5], learnt) == pytest.approx(scaler.transform(X[:5]))
    assert stream.prepare(X[:5], 999) != pytest.approx(scaler.transform(X[:5]), rel=1e-6)


def test_rows_are_prepared_only_where_the_scale_is_the_streams():
    X = np.random.default_rng(0).normal(3, 2, (40, 2))
    for options in ({}, {"protocol": "paper"}, {"protocol": "paper", "scale": True}):
        stream = stream_of(X, first_task=20, **options)
        assert stream.prepare(X, 7) is X
    with pytest.raises(ValueError, match="learnt=0 must be at least 1"):
        stream_of(X, first_task=20, scale=True).prepare(X, 0)


def test_the_table_is_not_changed():
    X = np.random.default_rng(0).normal(3, 2, (40, 2))
    before = X.copy()
    for protocol in ("honest", "paper"):
        stream_of(X, first_task=20, protocol=protocol, scale=True)
    assert np.array_equal(X, before)
