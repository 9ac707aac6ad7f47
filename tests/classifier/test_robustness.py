import numpy as np
import pytest

from material import EAGER, fingerprint
from mist.datasets import make_gaussian_classes
from published import paper_tree

ALL = pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full", "mixture"])
BOTH = pytest.mark.parametrize("leaf", ["gaussian", "sketch"])


# -- newcomers ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("d", [5, 20, 50])
@pytest.mark.parametrize("centre", [1000.0, 5.0], ids=["far", "near"])
def test_one_row_of_a_new_class_leaves_the_old_classes_alone(leaf, d, centre):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    model = paper_tree(leaf, max_leaves=1).partial_fit(
        rng.normal(10.0 * y[:, None], 10, (2000, d)), y
    )
    held_out = np.arange(2000) % 2
    X_test = rng.normal(10.0 * held_out[:, None], 10, (2000, d))
    before = model.score(X_test, held_out)
    newcomer = rng.normal(centre, 10, d)
    model.learn_one(newcomer, 2)
    assert before > 0.8
    assert model.score(X_test, held_out) >= before - 0.01
    # In few dimensions a single row amid a thousand others is rightly taken for one of them.
    if centre == 1000.0 or d >= 20:
        assert model.predict_one(newcomer) == 2
    if centre == 1000.0:
        # One row has no variance of its own: the newcomer is given that of the others.
        assert model.score(rng.normal(centre, 10, (200, d)), [2] * 200) > 0.99


@BOTH
def test_one_row_of_a_new_class_is_no_matter_of_scale(leaf):
    for scale in (1e-6, 1.0, 1e6):
        rng = np.random.default_rng(1)
        y = np.arange(400) % 2
        X = scale * rng.normal(4.0 * y[:, None], 1, (400, 10))
        model = paper_tree(leaf).partial_fit(X, y).learn_one(np.full(10, 100 * scale), 2)
        assert model.score(X, y) > 0.99
        assert model.predict_one(np.full(10, 100 * scale)) == 2


@BOTH
def test_a_class_first_seen_after_10000_rows(leaf):
    rng = np.random.default_rng(2)
    means = rng.uniform(0, 5, (4, 6))
    y = rng.integers(3, size=10_000)
    held_out = rng.integers(3, size=1000)
    X_test = rng.normal(means[held_out], 0.3)
    late_test = rng.normal(means[3], 0.3, (500, 6))
    model = paper_tree(leaf).partial_fit(rng.normal(means[y], 0.3), y)
    before = model.score(X_test, held_out)
    late = rng.normal(means[3], 0.3, (30, 6))
    model.learn_one(late[0], 3)
    assert model.predict_one(late[0]) == 3
    model.partial_fit(late[1:], [3] * 29)
    assert model.score(X_test, held_out) >= before - 0.01
    # A sketch of 30 rows says little about values beyond them.
    assert model.score(late_test, [3] * 500) > (0.98 if leaf == "gaussian" else 0.85)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@BOTH
def test_3000_classes_of_one_row_each(leaf):
    X = np.random.default_rng(3).uniform(-1000, 1000, (3000, 5))
    y = np.random.default_rng(4).permutation(3000)
    model = paper_tree(leaf)
    model.prequential(X, y)
    assert model.classes_.tolist() == list(range(3000))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y) == 1.0


# -- missing values ----------------------------------------------------------------------------


@ALL
def test_missing_values_cost_little(leaf):
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=5000)
    X = np.column_stack([rng.normal(4 * y, 1), rng.normal(size=5000)])
    X[rng.random(5000) < 0.1, 0] = np.nan
    out = paper_tree(leaf, grace_period=100).prequential(X, y)
    best = X[:, 0] > 2  # nothing better can be said; False where the value is missing
    assert (out == y)[2500:].mean() > (best == y)[2500:].mean() - 0.01
    keyed = paper_tree(leaf, grace_period=100)
    for x, label in zip(X[:1000], y[:1000], strict=True):
        row = {"b": x[1]} if np.isnan(x[0]) else {"a": x[0], "b": x[1]}
        keyed.learn_one(row, label)
    assert (
        fingerprint(keyed)[:2]
        == (fingerprint(paper_tree(leaf, grace_period=100).partial_fit(X[:1000], y[:1000]))[:2])
    )


@ALL
def test_a_single_missing_value_at_the_start_costs_nothing(leaf):
    rng = np.random.default_rng(6)
    y = rng.integers(2, size=2000)
    X = np.column_stack([rng.normal(4 * y, 1), rng.normal(size=2000)])
    whole = paper_tree(leaf).fit(X, y)
    holed = X.copy()
    holed[0, 0] = np.nan
    model = paper_tree(leaf).fit(holed, y)
    assert abs(model.score(X, y) - whole.score(X, y)) < 0.005
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.05)


@ALL
def test_a_column_without_any_value_counts_for_nothing(leaf):
    X, y = make_gaussian_classes(400, 4, 3, seed=1)
    holed = np.insert(X, 1, np.nan, axis=1)
    with_it, without = paper_tree(leaf).fit(holed, y), paper_tree(leaf).fit(X, y)
    np.testing.assert_allclose(with_it.predict_proba(holed), without.predict_proba(X), atol=1e-9)
    asked = np.insert(X, 1, 7.0, axis=1)
    np.testing.assert_allclose(with_it.predict_proba(asked), without.predict_proba(X), atol=1e-9)
    eager = paper_tree(leaf, **EAGER).fit(holed, y)
    assert eager.n_splits_ > 0
    assert 1 not in {split.feature for split in eager.split_log_}


@ALL
def test_rows_without_any_value_are_answered_by_the_class_masses(leaf):
    X, y = make_gaussian_classes(100, 2, 3)
    model = paper_tree(leaf).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 3), np.nan)), [[0.5, 0.5]])
    alone = paper_tree(leaf).fit(np.full((3, 2), np.nan), list("aab"))
    np.testing.assert_allclose(alone.predict_proba([[1.0, 2.0]]), [[0.6, 0.4]])


@ALL
def test_a_class_that_never_had_a_value_in_a_column_is_not_lost(leaf):
    rng = np.random.default_rng(7)
    y = np.arange(600) % 3
    X = rng.normal(6.0 * y[:, None], 1.0, (600, 2))
    X[y == 2, 1] = np.nan
    model = paper_tree(leaf).fit(X, y)
    assert model.score(X, y) > 0.98
    complete = rng.normal(12.0, 1.0, (100, 2))
    assert model.score(complete, [2] * 100) > 0.95


# -- many columns, large and constant values ---------------------------------------------------


@BOTH
@pytest.mark.parametrize("d", [400, 561])
def test_many_columns_do_not_underflow(leaf, d):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 1500)
    X = rng.normal(size=(1500, d)) * 10 + y[:, None] * 10.0
    model = paper_tree(leaf)
    assert (model.prequential(X, y) == y)[100:].mean() > 0.99
    far = model.predict_proba(np.vstack([X[:5], X[:5] * 1e6, -X[:5] * 1e9]))
    np.testing.assert_allclose(far.sum(axis=1), 1)


@BOTH
def test_a_large_origin_keeps_the_variance(leaf):
    rng = np.random.default_rng(9)
    y = np.arange(1000) % 2
    X = np.round(rng.normal(0, np.where(y == 0, 1.0, 8.0)), 3)[:, None]
    near = paper_tree(leaf).fit(X, y)
    far = paper_tree(leaf).fit(X + 1e9, y)
    asked = np.linspace(-20.13, 20.13, 41)[:, None]
    np.testing.assert_allclose(far.predict_proba(asked + 1e9), near.predict_proba(asked), atol=1e-3)
    assert far.predict([[1e9], [1e9 + 20]]).tolist() == [0, 1]


@BOTH
def test_a_constant_column_is_no_evidence(leaf):
    X, y = make_gaussian_classes(300, 3, 2, spread=2.0, seed=2)
    constant = np.insert(X, 0, 1.0, axis=1)
    model = paper_tree(leaf).fit(constant, y)
    expected = paper_tree(leaf).fit(X, y).predict_proba(X)
    for value in (1.0, 99.0, -1e9):
        constant[:, 0] = value
        np.testing.assert_allclose(model.predict_proba(constant), expected, atol=1e-12)


@BOTH
def test_only_constant_columns_leave_the_class_masses(leaf):
    model = paper_tree(leaf, **EAGER).fit(np.ones((100, 3)), [0, 1, 1, 1] * 25)
    assert model.n_splits_ == 0
    for value in (1.0, 99.0):
        np.testing.assert_allclose(model.predict_proba([[value] * 3]), [[26 / 102, 76 / 102]])


@BOTH
def test_a_value_far_from_a_class_that_hardly_varied_is_not_given_to_it(leaf):
    rng = np.random.default_rng(10)
    y = np.arange(200) % 2
    X = np.where(y == 0, 1.0, rng.normal(50, 30, 200))[:, None]
    model = paper_tree(leaf).fit(X, y)
    assert model.predict([[99.0], [-20.0]]).tolist() == [1, 1]
    assert model.predict([[1.0]]).tolist() == [0]
    X[0] = 0.9
    assert paper_tree(leaf).fit(X, y).predict([[99.0], [-20.0]]).tolist() == [1, 1]


@BOTH
def test_a_column_that_starts_to_vary_starts_to_count(leaf):
    rng = np.random.default_rng(11)
    y = np.arange(400) % 2
    X = np.column_stack([np.full(400, 3.0), rng.normal(size=400)])
    model = paper_tree(leaf, max_leaves=1).partial_fit(X, y)
    assert model.score(X, y) < 0.65
    X[:, 0] += 5.0 * y + rng.normal(0, 0.5, 400)
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.9


# -- small worlds ------------------------------------------------------------------------------


@BOTH
def test_one_column(leaf):
    X, y = make_gaussian_classes(2000, 3, 1, spread=0.3, seed=0)
    for options in ({}, EAGER):
        model = paper_tree(leaf, **options).partial_fit(X, y)
        assert model.score(X, y) > 0.9
    assert model.n_splits_ >= 2


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_one_class_never_splits(leaf):
    X = np.random.default_rng(12).normal(size=(2000, 3))
    model = paper_tree(leaf, **EAGER).partial_fit(X, ["only"] * 2000)
    assert model.n_splits_ == 0
    assert model.n_leaves_ == 1
    assert (model.predict_proba(X) == 1.0).all()
    assert set(model.predict(X)) == {"only"}
    model.partial_fit(X[:100] + 10, ["other"] * 100)
    assert model.n_splits_ > 0


@BOTH
def test_the_first_row_is_enough_to_answer(leaf):
    model = paper_tree(leaf).partial_fit([[1.0, 2.0]], ["a"])
    assert model.predict([[5.0, np.nan]]).tolist() == ["a"]
    assert model.predict_proba([[5.0, -1.0]]).tolist() == [[1.0]]
    model.partial_fit([[9.0, 2.0]], ["b"])
    assert model.predict([[1.0, 2.0], [9.0, 2.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_identical_rows_of_many_classes_cannot_be_split(leaf):
    model = paper_tree(leaf, **EAGER).partial_fit(np.ones((500, 2)), np.arange(500) % 5)
    assert model.n_splits_ == 0
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), np.full((1, 5), 0.2))
