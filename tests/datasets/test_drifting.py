import hashlib
from itertools import pairwise

import numpy as np
import pytest

from mist.datasets import (
    make_agrawal,
    make_changing_classes,
    make_hyperplane,
    make_led,
    make_mixed,
    make_multimodal,
    make_rbf_drift,
    make_sea,
    make_stagger,
)

GENERATORS = [make_sea, make_rbf_drift, make_hyperplane]

PINNED = {
    make_sea: "2062f5565d856d35",
    make_rbf_drift: "f790a38934aac25f",
    make_hyperplane: "bd858c515c7a15af",
    make_agrawal: "ff32d7ec63b1d3f9",
    make_led: "d37966d7544b4537",
    make_stagger: "abc7562465f91154",
    make_mixed: "14a0ecb00db705a7",
}
"""Checksums of 2,000 rows with seed 1, rounded to six decimals."""


def digest(stream):
    return hashlib.sha256(np.round(stream.X, 6).tobytes() + stream.y.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("make", "checksum"), PINNED.items())
def test_streams_are_those_that_results_were_published_of(make, checksum):
    assert digest(make(n_samples=2000, seed=1)) == checksum


@pytest.mark.parametrize("make", GENERATORS)
def test_streams_are_tables_and_the_seed_decides_everything(make):
    stream, again, other = (make(n_samples=601, seed=seed) for seed in (3, 3, 4))
    assert stream.X.shape == (601, len(stream.categorical))
    assert stream.X.dtype == np.float64
    assert (stream.y.dtype, stream.drifts.dtype) == (np.int64, np.int64)
    assert np.isfinite(stream.X).all()
    assert not stream.categorical.any()
    assert stream.X_test is None
    assert digest(stream) == digest(again) != digest(other)


def test_sea_follows_its_limits_and_has_the_noise_asked_for():
    stream = make_sea(20_000, noise=0.0, seed=1)
    assert stream.drifts.tolist() == [5000, 10_000, 15_000]
    total = stream.X[:, 0] + stream.X[:, 1]
    for part, limit in zip(np.split(np.arange(20_000), stream.drifts), (8, 9, 7, 9.5), strict=True):
        assert np.array_equal(stream.y[part], total[part] <= limit)
        # The area of the triangle below the limit.
        assert stream.y[part].mean() == pytest.approx(limit**2 / 200, abs=0.02)
    noisy = make_sea(20_000, noise=0.1, seed=1)
    assert np.array_equal(noisy.X, stream.X)
    assert np.mean(noisy.y != stream.y) == pytest.approx(0.1, abs=0.01)


def test_blocks_of_concepts_are_as_equal_as_possible():
    assert make_sea(10).drifts.tolist() == [3, 5, 8]


def test_centroids_move_at_the_speed_asked_for():
    still = make_rbf_drift(30_000, n_centroids=5, speed=1e-9, seed=2)
    fast = make_rbf_drift(30_000, n_centroids=5, speed=1e-4, seed=2)
    assert np.array_equal(still.y, fast.y)
    assert np.bincount(still.y, minlength=5).min() > 0
    # Up to the first reflection a centroid has moved by speed times rows, seen in every row.
    moved = np.linalg.norm(fast.X - still.X, axis=1)
    rows = np.arange(30_000)
    assert moved[:300] == pytest.approx(1e-4 * rows[:300], abs=1e-6)
    assert (moved <= 1e-4 * rows + 1e-6).all()
    # The way there and back again is reflected within the cube.
    assert np.abs(fast.X.mean(axis=0) - 0.5).max() < 0.5


def test_a_hyperplane_turns_and_keeps_the_classes_balanced():
    stream = make_hyperplane(40_000, noise=0.0, speed=0.001, seed=3)
    assert stream.drifts.size == 0
    assert stream.y.mean() == pytest.approx(0.5, abs=0.02)
    # The first weights of the same seed, found again by hand.
    rng = np.random.default_rng(3)
    X, w = rng.random((40_000, 10)), rng.random(10)
    turns = rng.random((40_000, 10)) < 0.1
    way = np.ones(10)
    for row in range(500):
        assert stream.y[row] == (X[row] @ w >= w.sum() / 2)
        w += 0.001 * way
        way[turns[row]] *= -1
    assert make_hyperplane(1).y.shape == make_hyperplane(1, n_features=3).y.shape == (1,)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_sea, {"n_samples": 3}, "n_samples=3 is too few: 4 concepts"),
        (make_sea, {"noise": 1.5}, "noise=1.5"),
        (make_rbf_drift, {"n_samples": 0}, "n_samples=0"),
        (make_rbf_drift, {"n_centroids": 4}, "too few"),
        (make_rbf_drift, {"speed": -1}, "speed=-1"),
        (make_hyperplane, {"n_features": 0}, "n_features=0"),
        (make_hyperplane, {"noise": -0.1}, "noise=-0.1"),
    ],
)
def test_arguments_out_of_range(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


# -- classes that change -----------------------------------------------------------------------

KINDS = ("moved", "swap", "split", "offset", "recur")


@pytest.fixture(scope="module")
def table():
    X, y = make_multimodal(800, n_classes=7, n_features=4, seed=1)
    return np.round(X, 6), y


def origins(X, rows):
    """The table row that each row of a stream was made from; -1 for a row that was changed."""
    numbers = {tuple(row): number for number, row in enumerate(X.tolist())}
    return np.array([numbers.get(tuple(row), -1) for row in rows.tolist()])


def tasks_of(y):
    """The classes of a stream in pairs, by arrival; refuses pairs that are not apart."""
    classes, first = np.unique(y, return_index=True)
    arriving = classes[np.argsort(first)]
    pairs = [arriving[start : start + 2].tolist() for start in range(0, len(arriving), 2)]
    ends = [np.flatnonzero(np.isin(y, pair))[[0, -1]] for pair in pairs]
    assert all(end[1] < start[0] for end, start in pairwise(ends))
    return pairs


@pytest.mark.parametrize("kind", KINDS)
def test_all_classes_come_and_then_half_of_the_tasks_again(table, kind):
    X, y = table
    stream = make_changing_classes(X, y, kind=kind, seed=5)
    again = make_changing_classes(X, y, kind=kind, seed=5)
    assert digest(stream) == digest(again) != digest(make_changing_classes(X, y, kind=kind, seed=6))
    assert np.array_equal(stream.X_test, again.X_test)
    (drift,) = stream.drifts
    first, later = tasks_of(stream.y[:drift]), tasks_of(stream.y[drift:])
    assert [len(pair) for pair in first] == [2, 2, 2, 1]
    assert [set(pair) for pair in later] == [
        set(p) for p in (first if kind == "recur" else first[:2])
    ]
    # Nothing is changed before the drift.
    at = origins(X, stream.X[:drift])
    assert np.array_equal(y[at], stream.y[:drift])
    # A fifth is held out, the rest halved.
    counts, held_out = np.bincount(y), np.bincount(y) // 5
    returning = np.unique(stream.y[drift:])
    if kind != "swap":
        assert np.bincount(stream.y_test).tolist() == held_out.tolist()
        there = np.bincount(stream.y[drift:], minlength=7)[returning]
        assert there.tolist() == ((counts - held_out + 1) // 2)[returning].tolist()
    assert np.bincount(stream.y[:drift]).tolist() == ((counts - held_out) // 2).tolist()
    if kind == "recur":
        every = np.concatenate([at, origins(X, stream.X[drift:]), origins(X, stream.X_test)])
        assert sorted(every) == list(range(len(y)))


def within(X, y):
    """The pooled deviation of each column within classes."""
    means = np.array([X[y == label].mean(axis=0) for label in range(7)])
    return np.sqrt(((X - means[y]) ** 2).mean(axis=0))


def test_moved_and_split_classes_are_where_they_are_said_to_be(table):
    X, y = table
    for kind, size, share in (("moved", 1.5, 1), ("split", 2.0, 0.5)):
        stream = make_changing_classes(X, y, kind=kind, seed=2)
        (drift,) = stream.drifts
        later, returning = stream.y[drift:], np.unique(stream.y[drift:])
        for label in range(7):
            moved = origins(X, stream.X_test[stream.y_test == label]) < 0
            assert moved.mean() == pytest.approx(share * (label in returning), abs=0.05)
        for label in returning:
            moved = origins(X, stream.X[drift:][later == label]) < 0
            assert moved.mean() == pytest.approx(share, abs=0.05)
        if kind == "moved":
            label = returning[0]
            by = stream.X[drift:][later == label].mean(axis=0) - X[y == label].mean(axis=0)
            before = np.concatenate([stream.X[:drift][stream.y[:drift] == label]])
            spread = 3 * X[y == label].std(axis=0).max() / np.sqrt(len(before))
            assert np.sqrt(np.mean((by / within(X, y)) ** 2)) == pytest.approx(size, abs=spread)


def test_two_classes_exchange_their_labels(table):
    X, y = table
    stream = make_changing_classes(X, y, kind="swap", seed=2)
    (drift,) = stream.drifts
    other = {a: b for pair in tasks_of(stream.y[drift:]) for a, b in (pair, pair[::-1])}
    assert len(other) == 4
    expected = [other[label] for label in y[origins(X, stream.X[drift:])]]
    assert stream.y[drift:].tolist() == expected
    expected = [other.get(label, label) for label in y[origins(X, stream.X_test)]]
    assert stream.y_test.tolist() == expected


def test_an_offset_rises_to_one_deviation_for_all_classes(table):
    X, y = table
    stream = make_changing_classes(X, y, kind="offset", seed=2)
    plain = make_changing_classes(X, y, kind="recur", seed=2)
    by = stream.X_test - plain.X_test
    assert by == pytest.approx(np.tile(by[0], (len(by), 1)))
    assert np.sqrt(np.mean((by[0] / within(X, y)) ** 2)) == pytest.approx(1.0)
    (drift,) = stream.drifts
    later = stream.X[drift:]
    assert origins(X, later[:1]) >= 0
    nearest = {tuple(np.round(row, 5)) for row in (X + by[0]).tolist()}
    arrived = [tuple(np.round(row, 5)) in nearest for row in later.tolist()]
    assert arrived == [row >= len(later) / 2 for row in range(len(later))]


def test_labels_may_be_texts_and_tasks_larger():
    X, y = np.arange(24.0)[:, None], np.repeat(["x", "y", "z", "w"], 6)
    stream = make_changing_classes(X, y, kind="recur", classes_per_task=4)
    assert set(stream.y) == set(stream.y_test) == {"x", "y", "z", "w"}
    assert make_changing_classes(X, y, classes_per_task=1).X.shape == (4 * 2 + 2 * 3, 1)
    assert make_changing_classes(X % 2, y, kind="swap").categorical.all()


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0]] * 3, [0] * 3, {"kind": "drift"}, "kind='drift' must be one of moved, swap"),
        ([[1.0]] * 3, [0] * 3, {"classes_per_task": 0}, "classes_per_task=0"),
        ([[1.0]] * 3, [0] * 2, {}, "a label a row"),
        ([[np.nan]] * 3, [0] * 3, {}, "finite"),
        ([], [], {}, "X must be a table"),
        ([[1.0]] * 5, [0, 0, 0, 7, 7], {}, "class 7 has fewer than 3 rows"),
    ],
)
def test_tables_that_cannot_change(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        make_changing_classes(X, y, **options)
