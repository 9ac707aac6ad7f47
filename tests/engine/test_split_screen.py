"""Attempts to split that are passed over, against attempts that are all examined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist.engine import growth
from mist.engine.criterion import TIE, best_splits, most_gain, radius
from mist.engine.split_screen import cannot_split, screen_workspace
from mist.engine.state import NO_SCREEN, TOTALS, ScreenParams, sketch_plan
from mist.engine.thresholds import median_candidates, midpoint, observed_cells
from published import paper_tree

NEVER = 10**9  # grace period of a tree that does not split


def stream(seed: int, n: int = 1500, d: int = 4, k: int = 5, spread: float = 2.0):
    """Classes that arrive two at a time; the last column holds 0 and 1."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, k, n))
    y = np.concatenate([rng.permutation(part) for part in np.split(y, [n // 3, 2 * n // 3])])
    X = rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d))
    X[:, -1] = X[:, -1] > 0
    return X, y


def room_for(state: Any, n: int) -> Any:
    return screen_workspace(state.sketch, np.empty(n, np.int64), np.empty(n))


def gap_at(state: Any) -> tuple[float, float]:
    """Gap between the two best columns of the root, and the gain of the best."""
    tree = state.tree
    cells = observed_cells(tree, 0)
    gains, places = np.empty(state.n_features), np.empty(state.n_features)
    candidates = median_candidates(tree, None, state.sketch, cells, state.options.n_numeric)
    allowed = np.ones(state.n_features, dtype=np.bool_)
    args = (tree, None, state.sketch, cells, candidates, None, False, allowed, gains, places)
    best, second = best_splits(*args)
    if best >= 0:
        growth._remember(tree.leaves, 0, gains, places, best)
    return gains[max(best, 0)] - second, gains[max(best, 0)]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    thresholds=st.sampled_from(["medians", "gaussian"]),
    more=st.integers(0, 400),
    times=st.floats(0.3, 3.0),
)
def test_what_is_passed_over_has_no_gap_above_the_radius(seed, thresholds, more, times):
    X, y = stream(seed, spread=2.0 + seed % 3)
    model = paper_tree(grace_period=NEVER, thresholds=thresholds, categorical_features=[3])
    first = 700
    model.partial_fit(X[:first], y[:first])
    gap_at(model._state)  # the attempt whose columns are looked at below
    last = first + more
    state = model.partial_fit(X[first:last], y[first:last])._state if more else model._state
    # A radius near the gap: by its square, as `radius` has it.
    gap, _ = gap_at(state)
    cells = observed_cells(state.tree, 0)
    squared = (max(gap, 0.02) * times) ** 2 * last / np.log(10.0)
    glance = ScreenParams(squared, 1.0, False, 0.1, 0.0)
    room = room_for(state, len(cells))
    if cannot_split(glance, state.tree, state.sketch, 0, state.options.n_numeric, room):
        assert gap <= max(gap, 0.02) * times + 1e-9


@pytest.mark.parametrize(
    ("leaf", "options"),
    [
        ("gaussian", {}),
        ("gaussian", {"thresholds": "gaussian"}),
        ("sketch", {"delta": 0.9, "tie_threshold": 0.0}),
    ],
)
def test_the_tree_is_that_of_attempts_all_examined(monkeypatch, leaf, options):
    X, y = stream(3, n=4000, spread=4.0)
    calls = {}
    attempt = growth.attempt

    def grow(glance: Any) -> Any:
        count = 0

        def counted(*args: Any) -> Any:
            nonlocal count
            count += 1
            return attempt(*args)

        with monkeypatch.context() as patch:
            patch.setattr(growth, "attempt", counted)
            if glance is not None:
                patch.setattr(growth, "_screen_params", lambda *_: glance)
            fixed = {"grace_period": 20, "bound": "hoeffding", "tie_threshold": 0.02}
            model = paper_tree(leaf, categorical_features=[3], **{**fixed, **options})
            model.partial_fit(X, y)
        calls[glance is None] = count
        return model

    quick, slow = grow(None), grow(NO_SCREEN)
    assert quick.split_log_ == slow.split_log_
    assert quick.n_splits_ > 0
    np.testing.assert_array_equal(quick.predict_proba(X), slow.predict_proba(X))
    assert calls[True] < calls[False] / 2


@pytest.mark.parametrize(
    "options",
    [
        {"split_test": "gain"},
        {"split_test": "schedule"},
        {"criterion": "info_gain", "bound": "hoeffding"},
        {"bound": "confseq"},
        {"max_features": 0.5},
        {"thresholds": "dense"},
    ],
)
def test_other_tests_examine_every_leaf_that_is_due(options):
    model = paper_tree(grace_period=NEVER, **options).partial_fit([[0.0], [1.0]], [0, 1])
    assert growth._screen_params(model._state, model._rule) is NO_SCREEN


@pytest.mark.parametrize("bound", ["mcdiarmid", "rutkowski", "hoeffding"])
@pytest.mark.parametrize("union", [True, False])
def test_the_radius_at_a_glance_is_that_of_the_test(bound, union):
    X, y = stream(5)
    model = paper_tree(grace_period=NEVER, bound=bound, union_bound=union).partial_fit(X, y)
    state = model._state
    glance = growth._screen_params(state, model._rule)
    cells = observed_cells(state.tree, 0)
    counts = {"n_features": 4, "n_thresholds": len(cells) - 1, "union_bound": union}
    eps = radius(bound, len(X), 0.1, **counts)
    room = room_for(state, len(cells))
    most = most_gain(state.tree, cells, None)
    # Without columns to look at, all hangs on the radius and on the most that can be gained.
    state.tree.leaves.second[0] = -1
    for factor in (1.0 - 1e-9, 1.0 + 1e-9):
        changed = glance._replace(squared=glance.squared * ((most + TIE) / eps * factor) ** 2)
        assert cannot_split(changed, state.tree, state.sketch, 0, 4, room) == (factor > 1.0)


def test_at_a_radius_below_the_tie_threshold_every_leaf_is_examined():
    X, y = stream(5)
    state = paper_tree(grace_period=NEVER).partial_fit(X, y)._state
    room = room_for(state, 5)
    gap_at(state)
    # A radius of 2 is above all that can be gained.
    for tie in (0.0, 3.0):
        glance = ScreenParams(4.0 * len(X) / np.log(10.0), 1.0, False, 0.1, tie)
        assert cannot_split(glance, state.tree, state.sketch, 0, 4, room) == (tie == 0.0)


def test_an_empty_sketch_takes_a_closer_look():
    X, y = stream(5)
    weights = np.where(y == 0, 1e-9, 1.0)  # no copy of a row of class 0 is sketched
    state = paper_tree(grace_period=NEVER).partial_fit(X, y, sample_weight=weights)._state
    assert state.tree.cells.used[0] == 0
    glance = ScreenParams(4.0 * len(X) / np.log(10.0), 1.0, False, 0.1, 0.0)
    assert not cannot_split(glance, state.tree, state.sketch, 0, 4, room_for(state, 5))


@pytest.mark.parametrize("k", [8, 64, 8000, 32768])
def test_there_is_room_for_the_largest_sketch(k):
    state = paper_tree(grace_period=NEVER, sketch_size=k).partial_fit([[0.0]], [0])._state
    room = room_for(state, 1)
    assert room.values.size == room.weights.size == sketch_plan(k)[TOTALS].max() + 2


def test_a_midpoint_is_never_the_upper_of_two_neighbours():
    a = 1.0
    b = np.nextafter(a, 2.0)
    assert midpoint(a, b) == a
    assert midpoint(1.0, 2.0) == 1.5
