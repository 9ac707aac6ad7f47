"""Numbers at the ends of what a computer holds: right answers, or an error that says what is wrong.

Everything here runs with warnings as errors.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from material import fingerprint, most_probable
from mist import MistClassifier, MistForest, MistReplayForest
from mist.adaptation.calibration import EXPONENT
from mist.engine.state import N_LEARNT
from mist.limits import LARGEST, LARGEST_WEIGHT, MOST_PAIRED

pytestmark = pytest.mark.filterwarnings("error")

LIKELIHOOD = {"criterion": "likelihood", "split_test": "schedule", "inheritance": "joint"}
SCHEDULE = {"split_test": "schedule", "rows_per_split": 60, "grace_period": 30}

KINDS: dict[str, Callable[[], Any]] = {
    "mixture": lambda: MistClassifier(),
    "mixture, split": lambda: MistClassifier.from_settings(**SCHEDULE),
    "full": lambda: MistClassifier("full"),
    "gaussian": lambda: MistClassifier("gaussian"),
    "gaussian, split": lambda: MistClassifier.from_settings(leaf="gaussian", **SCHEDULE),
    "gaussian, likelihood": lambda: MistClassifier.from_settings(
        leaf="gaussian", **{**SCHEDULE, **LIKELIHOOD}
    ),
    "sketch": lambda: MistClassifier("sketch"),
    "majority": lambda: MistClassifier.from_settings(leaf="majority", **SCHEDULE),
    "MIST-G": lambda: MistClassifier.paper("G"),
    "MIST-K": lambda: MistClassifier.paper("K"),
    "forest": lambda: MistForest(MistClassifier.from_settings(**SCHEDULE), n_trees=2),
    "replay": lambda: MistReplayForest(replay_trees=5, memory_trees=2),
}
all_kinds = pytest.mark.parametrize("kind", KINDS)
scored = pytest.mark.parametrize(
    "kind", ["mixture", "full", "gaussian", "sketch", "MIST-G", "MIST-K"]
)
WIDE = 120
"""Columns for which mixture leaves are of low rank."""


def rows(n: int = 400, d: int = 3, gap: float = 8.0, classes: int = 3) -> tuple[Any, Any]:
    """Classes a gap apart in every column, each with a spread of 1."""
    rng = np.random.default_rng(n + d)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + gap * y[:, None], y


def answered(model: Any, X: Any) -> np.ndarray:
    """Probabilities, looked over."""
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(most_probable(model, X), model.classes_[proba.argmax(axis=1)])
    return proba


def learnt_well(kind: str, X: Any, y: Any) -> None:
    """Whether rows that can be told apart are."""
    model = KINDS[kind]()
    out = model.prequential(X, y)
    answered(model, X)
    assert (out == y)[len(y) // 2 :].mean() > 0.98
    assert model.score(X, y) > 0.98


# --- scales and offsets -----------------------------------------------------------------------


@all_kinds
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 3e148])
def test_any_scale_from_the_smallest_to_the_largest(kind, scale):
    X, y = rows()
    learnt_well(kind, X * scale, y)


@all_kinds
@pytest.mark.parametrize("offset", [1e9, -1e12, 1e15])
def test_a_spread_of_one_far_from_zero(kind, offset):
    X, y = rows()
    learnt_well(kind, X + offset, y)


@all_kinds
def test_columns_of_all_scales_and_signs_beside_one_another(kind):
    X, y = rows(d=6)
    learnt_well(kind, X * np.array([1e-300, -1e-149, -1.0, 1e12, -1e148, 1e-20]), y)


@pytest.mark.parametrize("kind", ["mixture", "mixture, split", "forest"])
@pytest.mark.parametrize("how", ["small", "large", "far", "all scales"])
def test_wide_leaves_at_any_scale(kind, how):
    X, y = rows(300, WIDE)
    if how == "all scales":
        X *= 10.0 ** np.linspace(-149, 148, WIDE)
    else:
        X = X + 1e12 if how == "far" else X * {"small": 1e-150, "large": 3e148}[how]
    learnt_well(kind, X, y)


@scored
@pytest.mark.parametrize("scale", [1e-200, 1e-310, 5e-324])
def test_what_differs_by_less_than_can_be_squared_is_one_value(kind, scale):
    X, y = rows()
    model, flat = KINDS[kind]().fit(X * scale, y), KINDS[kind]().fit(np.zeros_like(X), y)
    np.testing.assert_allclose(answered(model, X * scale), flat.predict_proba(0.0 * X), rtol=1e-9)


def test_a_tree_that_counts_tells_all_numbers_apart():
    X, y = rows()
    learnt_well("majority", np.rint(X) * 5e-324, y)


@all_kinds
@pytest.mark.parametrize("scale", [1e-152, 1e-156, 1e-160, 1e-163])
def test_between_the_smallest_scale_and_nothing_answers_stay_probabilities(kind, scale):
    X, y = rows()
    answered(KINDS[kind]().fit(X * scale, y), np.vstack([X * scale, X]))


@all_kinds
@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 1e-300, 5e-324, -0.0])
def test_one_row_of_any_size_is_learnt_and_answered(kind, value):
    X, y = rows(200)
    X[7] = value
    model = KINDS[kind]()
    model.prequential(X, y)
    answered(model, np.vstack([X, np.full(3, value), np.full(3, -value), np.full(3, np.nan)]))


@all_kinds
def test_beyond_the_largest_value_nothing_is_learnt(kind):
    X, y = rows(60)
    model = KINDS[kind]().fit(X, y)
    before = model.predict_proba(X)
    for value in (math.nextafter(LARGEST, math.inf), -1e300, math.inf, -math.inf):
        bad = X.copy()
        bad[5, 2] = value
        for call in (model.partial_fit, model.prequential):
            with pytest.raises(ValueError, match="at row 5, column 2"):
                call(bad, y)
        with pytest.raises(ValueError, match="column 2"):
            model.learn_one(bad[5], 0)
        with pytest.raises(ValueError, match="at row 5, column 2"):
            model.predict(bad)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_rows_ == 60


# --- kinds of numbers -------------------------------------------------------------------------


@all_kinds
def test_zeros_of_either_sign_are_one_number(kind):
    X, y = rows()
    X = np.where(np.abs(X - 8.0) < 1.0, 0.0, X)
    plus, minus = KINDS[kind]().fit(X, y), KINDS[kind]().fit(np.where(X == 0.0, -0.0, X), y)
    for asked in (X, np.zeros((1, 3)), -np.zeros((1, 3))):
        np.testing.assert_array_equal(answered(plus, asked), answered(minus, asked))


@all_kinds
def test_whole_numbers_beyond_those_that_doubles_hold(kind):
    X, y = rows(gap=80.0)
    X = np.abs(X).astype(np.int64) * 2**10
    learnt_well(kind, X + 2**62, y)
    learnt_well(kind, X.astype(np.uint64) + np.uint64(2**63), y)


def test_labels_beyond_the_whole_numbers_of_doubles_stay_apart():
    X, y = rows()
    labels = 2**62 + y
    model = MistClassifier("gaussian").fit(X, labels)
    assert model.classes_.tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert model.score(X, labels) > 0.98


@all_kinds
def test_single_precision_is_learnt_as_the_same_numbers_in_double(kind):
    X, y = rows()
    X = X.astype(np.float32)
    one, other = KINDS[kind]().fit(X, y), KINDS[kind]().fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X.astype(np.float64)))
    assert one.score(X, y) > 0.98


# --- nothing to tell apart --------------------------------------------------------------------


@all_kinds
@pytest.mark.parametrize("d", [1, 3])
def test_rows_of_one_value_leave_the_shares_of_the_classes(kind, d):
    y = np.arange(400) % 4 == 0
    for value in (0.0, -7.25, LARGEST, 5e-324):
        model = KINDS[kind]().fit(np.full((400, d), value), y)
        proba = answered(model, np.array([[value] * d, [1.0] * d]))
        expected = np.array([[300.0, 100.0]] * 2)
        if "MIST" not in kind:
            # Densities are equal, so classes are equally probable, but for their priors.
            shares = np.array([300.5 / 311, 100.5 / 111])  # of the prior of a class without end
            calibration = model._calibration()
            exponent = 1.0 if calibration is None else calibration[EXPONENT]
            # So far from all rows these have no finite density, and priors no say.
            no_density = value == LARGEST and kind.startswith(("mixture", "full", "forest"))
            with_priors = slice(1) if no_density else slice(2)
            expected[with_priors] *= (shares / shares.sum()) ** exponent
        assert model.n_splits_ == 0
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(proba, expected, atol=0.02)


@all_kinds
def test_one_class_is_sure(kind):
    X, _ = rows()
    model = KINDS[kind]()
    assert set(model.prequential(X, ["only"] * len(X))) == {"only"}
    assert (answered(model, np.vstack([X, 1e150 * np.sign(X)])) == 1.0).all()


@all_kinds
def test_columns_and_rows_without_values(kind):
    X, y = rows(d=3)
    X[:, 1] = np.nan
    X[::9] = np.nan
    X = np.insert(X, 0, 3.5, axis=1)  # a constant
    model = KINDS[kind]()
    out = model.prequential(X, y)
    known = ~np.isnan(X[:, 1])
    assert (out == y)[known][150:].mean() > 0.98
    answered(model, np.vstack([X, np.full((1, 4), np.nan)]))
    alone = KINDS[kind]().fit(np.full((50, 4), np.nan), np.arange(50) % 2)
    np.testing.assert_allclose(answered(alone, X[:1]), [[0.5, 0.5]])


def test_a_million_rows_of_one_value():
    model = MistClassifier("gaussian").partial_fit([[3.25]], [1])
    model.partial_fit(np.full((1_000_000, 1), 3.25), np.zeros(1_000_000, dtype=np.int64))
    model.partial_fit([[4.0]], [1])
    assert model.n_rows_ == 1_000_002
    assert model._state.tree.stats[1, 0, 0] == 3.25
    assert model.predict([[3.25]]).tolist() == [0]
    answered(model, [[3.25], [4.0], [-1e150]])


# --- many -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "mixture", "majority", "forest"])
def test_thousands_of_classes_of_one_row_each(kind):
    n = {"gaussian": 20_000, "forest": 300}.get(kind, 1000)
    X = np.random.default_rng(0).permutation(n)[:, None] * [1.0, -3.0] + 1e9
    model = KINDS[kind]().partial_fit(X, np.arange(n))
    assert len(model.classes_) == n
    some = np.arange(0, n, n // 30)
    proba = answered(model, X[some])
    if kind != "majority":
        assert (model.predict(X[some]) == some).all()
    assert proba.shape == (len(some), n)


@pytest.mark.parametrize("kind", ["MIST-G", "mixture"])
def test_twenty_thousand_columns(kind):
    X, y = rows(30, 20_000, gap=1.0)
    model = KINDS[kind]()
    out = model.prequential(X, y)
    assert (out == y)[15:].mean() > 0.98
    answered(model, X[:5] * [[1.0], [1e6], [-1e100], [0.0], [1e-300]])


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_pairs_of_too_many_columns_are_refused_before_they_fill_the_memory(leaf):
    X, y = rows(4, MOST_PAIRED + 1)
    with pytest.raises(ValueError, match="use leaf='mixture', inheritance='gaussian'"):
        MistClassifier(leaf).partial_fit(X, y)
    model = MistClassifier(leaf, inheritance="gaussian").partial_fit(X, y)
    assert model.nbytes < 2**21
    named = MistClassifier(leaf).learn_one({"a": 1.0, "b": 2.0}, 0)
    before = fingerprint(named)
    with pytest.raises(ValueError, match="takes at most 4096 numeric columns, got 4099"):
        named.learn_one({f"c{j}": 1.0 for j in range(MOST_PAIRED + 1)}, 0)
    assert fingerprint(named) == before


# --- weights ----------------------------------------------------------------------------------


@all_kinds
@pytest.mark.parametrize("weight", [1e-300, 1e-12, LARGEST_WEIGHT])
def test_weights_of_any_size_alike_for_all_rows(kind, weight):
    X, y = rows()
    model = KINDS[kind]().partial_fit(X, y, sample_weight=weight)
    answered(model, X)
    if kind != "majority" or weight > 1.0:
        assert model.score(X, y) > 0.98


@all_kinds
@pytest.mark.parametrize("scale", [1e-150, 3e148])
def test_the_largest_weights_at_the_smallest_and_the_largest_scale(kind, scale):
    """Weighted sums of squares may be beyond all numbers; then a column tells nothing."""
    X, y = rows()
    model = KINDS[kind]()
    model.prequential(X * scale, y, sample_weight=np.full(len(y), LARGEST_WEIGHT))
    answered(model, np.vstack([X * scale, X, np.full((1, 3), np.nan)]))
    if scale < 1.0:
        assert model.score(X * scale, y) > 0.98


@all_kinds
def test_weights_of_all_sizes_beside_one_another(kind):
    X, y = rows()
    weights = np.resize([5e-324, 1e-300, 1e-3, 2.5, LARGEST_WEIGHT, 1.0, 0.0], len(y))
    model = KINDS[kind]()
    model.prequential(X, y, sample_weight=weights)
    answered(model, X)


@pytest.mark.parametrize("kind", ["gaussian", "sketch", "full"])
def test_masses_beyond_the_whole_numbers_of_doubles(kind):
    """Merging a model with its copy doubles all it knows."""
    X, y = rows()
    model = KINDS[kind]().partial_fit(X, y, sample_weight=LARGEST_WEIGHT / 4)
    model = model if model.n_splits_ == 0 else KINDS[kind]().partial_fit(X, y)
    before, mass = model.predict_proba(X), float(model._state.tree.nodes.mass[0])
    for _ in range(30):
        model.merge(copy.deepcopy(model))
    assert model.n_rows_ == 400 * 2**30 == model._state.tree.counters[N_LEARNT]
    assert model._state.tree.nodes.mass[0] == mass * 2**30
    assert (model.predict(X) == before.argmax(axis=1)).mean() > 0.98
    answered(model, X)
    state = fingerprint(model)
    model.learn_one(X[0], y[0])
    assert fingerprint(model) != state
    assert model.n_rows_ == 400 * 2**30 + 1
