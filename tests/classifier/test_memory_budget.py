"""The memory budget: it holds after every call, no class is lost, batches make no difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist import MistClassifier, MistForest, SplitTest, load

SPLITS = SplitTest("schedule", rows_per_split=60)


def stream(n, n_classes, d=3, seed=0, missing=0.0):
    """Rows of classes with three modes each, which come one after another and then all together."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 3, d)) * 4
    first, second = (rng.integers(0, n_classes, size) for size in (n // 2, n - n // 2))
    y = np.concatenate([np.sort(first), second])
    X = centres[y, rng.integers(0, 3, n)] + rng.normal(size=(n, d))
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def tree(leaf, max_bytes, **options):
    return MistClassifier(
        leaf, max_bytes=max_bytes, split_test=SPLITS, grace_period=30, adapt=None, **options
    )


def least(model, X, y):
    """The smallest budget that is not refused."""
    with pytest.raises(ValueError, match="bytes") as refused:
        type(model)(**{**model.get_params(deep=False), "max_bytes": 1}).partial_fit(X, y)
    return int(str(refused.value).split("takes ")[1].split()[0])


def cells_of(model):
    """Codes of the classes that have a cell at some leaf."""
    cells = model._state.tree.cells
    return set(cells.code[cells.leaf >= 0].tolist())


def assert_keeps(model, max_bytes):
    assert model.nbytes <= max_bytes
    assert cells_of(model) == set(range(len(model.classes_)))


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_the_budget_holds_and_batches_make_no_difference(leaf, data):
    n_classes, seed = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 99))
    missing = data.draw(st.sampled_from([0.0, 0.0, 0.05]))
    X, y = stream(data.draw(st.integers(50, 500)), n_classes, seed=seed, missing=missing)
    factor = data.draw(st.sampled_from([1.0, 1.02, 1.3, 2.0, 4.0]))
    budget = int(factor * least(tree(leaf, None), X, y))
    one, other = tree(leaf, budget), tree(leaf, budget)
    start = 0
    while start < len(X):
        end = start + data.draw(st.integers(1, 120))
        one.partial_fit(X[start:end], y[start:end])
        assert_keeps(one, budget)
        start = end
    for row, label in zip(X, y.tolist(), strict=True):
        other.learn_one(row, label)
        assert other.nbytes <= budget
    assert one.nbytes == other.nbytes
    assert one.n_leaves_ == other.n_leaves_
    assert [split.node for split in one.split_log_] == [split.node for split in other.split_log_]
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_a_model_that_follows_its_stream_keeps_its_budget(leaf):
    X, y = stream(700, 4, seed=3)
    X[400:] += 5.0
    model = MistClassifier(leaf, split_test=SPLITS, grace_period=30)
    budget = int(1.5 * least(model, X, y))
    one, other = (model.set_params(max_bytes=budget).__copy__() for _ in range(2))
    one.prequential(X, y)
    for row, label in zip(X, y.tolist(), strict=True):
        other.learn_one(row, label)
        assert_keeps(other, budget)
    assert_keeps(one, budget)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_with_room_for_all_nothing_changes():
    X, y = stream(600, 4)
    free, limited = tree("mixture", None).fit(X, y), tree("mixture", 2**40).fit(X, y)
    np.testing.assert_array_equal(free.predict_proba(X), limited.predict_proba(X))
    assert free.n_leaves_ == limited.n_leaves_ > 1


def test_the_smallest_budget_is_enough():
    X, y = stream(500, 5)
    budget = least(tree("mixture", None), X, y)
    model = tree("mixture", budget).fit(X, y)
    assert_keeps(model, budget)
    assert model.n_leaves_ == 1
    with pytest.raises(ValueError, match="too small"):
        tree("mixture", budget - 1).fit(X, y)


def test_a_call_that_cannot_fit_is_refused_and_changes_nothing():
    X, y = stream(500, 6)
    few = y < 2
    budget = least(tree("mixture", None), X[few], y[few])
    model = tree("mixture", budget).partial_fit(X[few], y[few])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="max_bytes") as refused:
        model.partial_fit(X, y)
    for what in (str(budget), "6 classes", "3 columns", "bytes", "leaf='gaussian'", "columns"):
        assert what in str(refused.value)
    assert len(model.classes_) == 2
    assert model.n_rows_ == few.sum()
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model.partial_fit(X[few], y[few])
    assert_keeps(model, budget)


def test_new_columns_are_refused_or_fit():
    X, y = stream(300, 3)
    model = tree("gaussian", None)
    budget = least(model, X, y)
    limited = tree("gaussian", budget).learn_many({f"c{j}": X[:, j] for j in range(3)}, y)
    wide = {f"c{j}": X[:, j % 3] for j in range(6)}
    with pytest.raises(ValueError, match="6 columns"):
        limited.learn_many(wide, y)
    assert limited.n_features_in_ == 3
    limited.set_params(max_bytes=4 * budget).learn_many(wide, y)
    assert_keeps(limited, 4 * budget)


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_a_lower_budget_is_kept_from_the_next_call_on(leaf):
    X, y = stream(600, 4)
    model = tree(leaf, None).fit(X, y)
    assert model.n_leaves_ > 1
    least_bytes = least(model, X, y)
    for budget in (model.nbytes * 2 // 3, int(1.2 * least_bytes), least_bytes):
        model.set_params(max_bytes=budget).partial_fit(X[:1], y[:1])
        assert_keeps(model, budget)
        assert all(split.node < len(model.tree_.feature) for split in model.split_log_)
    assert model.score(X, y) > 0.5
    size = model.nbytes
    model.set_params(max_bytes=None).partial_fit(X, y)
    assert model.nbytes > size


def test_a_saved_model_goes_on_with_its_budget(tmp_path):
    X, y = stream(600, 4)
    budget = int(1.6 * least(tree("mixture", None), X, y))
    model = tree("mixture", budget).fit(X[:400], y[:400])
    model.save(tmp_path / "model.mist")
    other = load(tmp_path / "model.mist")
    assert other.max_bytes == budget
    for each in (model, other):
        each.partial_fit(X[400:], y[400:])
        assert_keeps(each, budget)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_the_budget_of_the_first_model_holds_for_a_merged_one():
    X, y = stream(600, 4)
    least_bytes = least(tree("mixture", None), X, y)
    part = tree("mixture", None).fit(X[::2], y[::2])
    model = tree("mixture", 2 * least_bytes).fit(X[1::2][y[1::2] < 3], y[1::2][y[1::2] < 3])
    model.merge(part)
    assert_keeps(model, 2 * least_bytes)
    assert len(model.classes_) == 4
    small = tree("mixture", least(model, X[y < 2], y[y < 2])).fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="max_bytes"):
        small.merge(part)
    assert len(small.classes_) == 2


def test_candidate_splits_have_no_budget():
    X, y = stream(50, 2)
    with pytest.raises(ValueError, match="eprocess"):
        MistClassifier(split_test="eprocess", max_bytes=2**20).fit(X, y)


@pytest.mark.parametrize("adapt", [None, "stream"])
def test_a_forest_shares_its_budget(adapt):
    X, y = stream(900, 4)
    forest = MistForest(
        MistClassifier("gaussian", split_test=SPLITS, grace_period=30), 3, adapt=adapt
    )
    budget = int(1.5 * least(forest, X, y))
    one, other = (forest.set_params(max_bytes=budget).__copy__() for _ in range(2))
    for start in range(0, len(X), 130):
        one.partial_fit(X[start : start + 130], y[start : start + 130])
        assert one.nbytes <= budget
    for start in range(0, len(X), 9):
        other.partial_fit(X[start : start + 9], y[start : start + 9])
        assert other.nbytes <= budget
    assert all(cells_of(each) == {0, 1, 2, 3} for each in one.trees_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    one.set_params(max_bytes=budget * 3 // 4).partial_fit(X[:5], y[:5])
    assert one.nbytes <= budget * 3 // 4


def test_a_forest_refuses_what_does_not_fit_and_what_has_no_limit():
    X, y = stream(300, 4)
    forest = MistForest(MistClassifier("gaussian"), 3, max_bytes=10_000)
    with pytest.raises(ValueError, match="a forest of trees"):
        forest.fit(X, y)
    with pytest.raises(ValueError, match="random_features"):
        MistForest(random_features=100, max_bytes=2**20).fit(X, y)
