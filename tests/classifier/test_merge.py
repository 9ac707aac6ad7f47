"""Models merged: forks of a tree, models that learnt apart, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from material import BINARY, EAGER, by_trees, fingerprint, mixed_rows, state_arrays
from mist import MistClassifier, MistForest, SplitTest
from mist.engine.state import M2, MEAN, N_LEAVES, leaf_cells
from mist.persistence import load, save

OPTIONS: dict[str, Any] = {**EAGER, "leaf": "gaussian", "categorical_features": [BINARY]}


def grown(seed: int = 0, n: int = 300, **options: Any) -> MistClassifier:
    """A tree that has split."""
    model = MistClassifier.from_settings(**{**OPTIONS, **options}).fit(
        *mixed_rows(seed, n, holes=0.0)
    )
    assert model.n_leaves_ > 3
    return model


def without_splits(model: MistClassifier) -> MistClassifier:
    """A copy that learns as the model, but does not split any more."""
    out = copy.deepcopy(model)
    out._state.options = out._state.options._replace(grace_period=2**62)
    return out


def sums(model: MistClassifier) -> dict[Any, np.ndarray]:
    """All that is a sum over rows, by leaf and label."""
    state = model._state
    tree, out = state.tree, {}
    for leaf in range(int(tree.counters[N_LEAVES])):
        node = int(tree.leaves.node[leaf])
        out[node] = np.array([tree.leaves.weight_seen[leaf], tree.leaves.weight[leaf]])
        out[node, "spread"] = tree.spread[leaf]
        for cell in leaf_cells(tree, leaf):
            label = model._labels.decode(tree.cells.code[[cell]])[0]
            held = tree.cells[cell]
            out[node, label] = np.concatenate(
                [
                    [held["weight"], held["mass"], held["count"], held["steps"]],
                    tree.stats[cell, MEAN],
                    tree.stats[cell, M2],
                    tree.products[cell],
                    [] if state.observed is None else state.observed.cell[cell],
                ]
            )
    out["masses"], out["scale"] = tree.nodes.mass[: len(model.tree_.feature)], tree.scale.ravel()
    out["learnt"] = np.array([model.n_rows_])
    if state.options.balanced:
        out["totals"] = tree.totals[: len(model._labels.ranks)][np.argsort(model._labels.ranks)]
    return out


def assert_same_sums(one: MistClassifier, other: MistClassifier) -> None:
    mine, theirs = sums(one), sums(other)
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        np.testing.assert_allclose(value, theirs[key], rtol=1e-9, atol=1e-7, err_msg=str(key))


# --- forks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("inheritance", ["joint", "gaussian"])
def test_what_forks_learn_is_added_exactly(holes, inheritance):
    base = grown(inheritance=inheritance, discount=0.6)
    X, y = mixed_rows(1, 400, n_classes=6, holes=holes)
    weights = np.random.default_rng(2).integers(1, 3, len(X)).astype(float)
    expected = without_splits(base).partial_fit(X, y, sample_weight=weights)
    parts = []
    for number, rows in enumerate((slice(150), slice(150, 300), slice(300, None))):
        part = base.fork(number).partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        assert part.n_leaves_ == base.n_leaves_
        parts.append(part)
    whole = copy.deepcopy(base).merge(parts[0].merge(parts[1])).merge(parts[2])
    if holes == 0.0:  # else heavier children change while rows come
        assert_same_sums(whole, expected)
    assert whole.n_rows_ == expected.n_rows_
    assert whole.classes_.tolist() == expected.classes_.tolist()
    # Without what each has learnt of how sure it may be.
    shares = [by_trees(each, X) for each in (whole, expected)]
    assert np.abs(shares[0] - shares[1]).mean() < 0.05


@given(
    places=st.lists(st.integers(0, 3), min_size=60, max_size=60),
    order=st.permutations(range(4)),
    bracket=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_neither_order_nor_brackets_matter(places, order, bracket):
    base = grown(thresholds="gaussian")
    X, y = mixed_rows(3, 60, n_classes=6, holes=0.0)
    parts = [base.fork(number) for number in range(4)]
    for number, part in enumerate(parts):
        mine = np.array(places) == number
        if mine.any():
            part.partial_fit(X[mine], y[mine])
    a, b, c, d = (parts[i] for i in order)
    whole = copy.deepcopy(base)
    if bracket:
        whole.merge(a.merge(b)).merge(c.merge(d))
    else:
        whole.merge(d.merge(c.merge(b.merge(a))))
    expected = without_splits(base).partial_fit(X, y)
    assert_same_sums(whole, expected)


def test_a_fork_has_the_tree_and_nothing_else():
    base = grown()
    before = fingerprint(base)
    part = base.fork()
    with pytest.raises(ValueError, match="merge it into"):
        part.partial_fit(*mixed_rows(4)).predict(mixed_rows(4)[0])
    for ask in (part.predict_one, part.predict_proba_one):
        with pytest.raises(ValueError, match="a fork has only"):
            ask(mixed_rows(4)[0][0])
    with pytest.raises(ValueError, match="a fork has only"):
        part.prequential(*mixed_rows(4))
    for row, label in zip(*mixed_rows(5, 30), strict=True):
        part.learn_one(row, label)
    assert part.n_rows_ == 330
    np.testing.assert_array_equal(part.tree_.feature, base.tree_.feature)
    assert fingerprint(base) == before
    assert base.fork(1)._state.options.seed != base.fork(2)._state.options.seed


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_forks_are_kept_in_files(leaf, tmp_path):
    base = grown(leaf=leaf, inheritance="joint", discount=1.0, open_world=True)
    X, y = mixed_rows(1, 100, holes=0.0)
    path, whole = tmp_path / "part.mist", copy.deepcopy(base)
    for part in (base.fork(), base._fork(1, 0.5), base._fork(2, 0.5).partial_fit(X, y)):
        save(part, path)
        kept = [array.tobytes() for array in state_arrays(load(path))]
        assert kept == [array.tobytes() for array in state_arrays(part)]
        whole.merge(load(path))
    assert whole.n_rows_ == 400
    part._state.began = part._state.began[:1]
    save(part, path)
    with pytest.raises(ValueError, match="began with other nodes"):
        load(path)


@pytest.mark.parametrize("forest", [False, True])
def test_a_fork_answers_nothing_whatever_it_has_learnt(forest):
    X, y = mixed_rows(0, 60, holes=0.0)
    model: Any = MistForest(MistClassifier.from_settings(**OPTIONS), n_trees=2) if forest else None
    part = (
        (model or MistClassifier.from_settings(**OPTIONS))
        .fit(X, y)
        .fork()
        .partial_fit(X[:9], y[:9])
    )
    named = dict(enumerate(X.T))
    for call, arguments in (
        (part.predict, (X,)),
        (part.predict_proba, (X,)),
        (part.predict_many, (named,)),
        (part.predict_one, (X[0],)),
        (part.prequential, (X, y)),
        (part.prequential_many, (named, y)),
    ):
        with pytest.raises(ValueError, match="a fork has only what it learnt itself"):
            call(*arguments)
    assert part.n_rows_ == 9


def test_a_merged_model_goes_on():
    """The next row at a leaf that has passed several grace periods examines it, and once."""
    model = MistClassifier("gaussian", grace_period=100, split_test=SplitTest(delta=0.5))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 2)) + 8.0 * np.column_stack([y, 0 * y])
    model.partial_fit(X[:50], y[:50])
    model.merge(model.fork().partial_fit(X[50:], y[50:]))
    assert (model.n_rows_, model.n_leaves_) == (2000, 1)
    model.learn_one(X[0], y[0])
    (made,) = model.split_log_
    assert (made.rows, made.seen) == (2001.0, 2001)
    assert model.score(X, y) == 1.0


def test_a_fork_of_a_tree_that_has_split_since():
    base = MistClassifier.from_settings(**{**OPTIONS, "class_prior": "counts"})
    base.fit(*mixed_rows(0, 100, holes=0.0))
    X, y = mixed_rows(1, 300, holes=0.0)
    part = base.fork().partial_fit(X, y)
    base.partial_fit(*mixed_rows(2, 300, holes=0.0))
    assert base.n_leaves_ > part.n_leaves_ > 1
    mass = base._state.tree.nodes.mass[0]
    base.merge(part)
    assert base.n_rows_ == 700
    assert base._state.tree.nodes.mass[0] == mass + 300
    assert base.score(X, y) > 0.6


# --- models that learnt apart -----------------------------------------------------------------


def test_models_of_one_leaf_are_added_exactly_whatever_their_labels():
    X, y = mixed_rows(6, 200, n_classes=5, holes=0.1)
    names = np.array(["d", "b", "a", "e", "c"])[y]
    options = {**OPTIONS, "grace_period": 10**9}
    one = MistClassifier.from_settings(**options).partial_fit(
        X[y < 3], names[y < 3], classes=["a", "z"]
    )
    other = MistClassifier.from_settings(**options).partial_fit(
        X[y > 1], names[y > 1], classes=["y"]
    )
    before = fingerprint(other)
    rows = np.concatenate([np.flatnonzero(y < 3), np.flatnonzero(y > 1)])
    whole = MistClassifier.from_settings(**options).partial_fit(X[rows], names[rows])
    assert one.merge(other) is one
    assert one.classes_.tolist() == ["a", "b", "c", "d", "e", "y", "z"]
    assert fingerprint(other) == before
    # Without what each has learnt of how sure it may be.
    mine, theirs = (by_trees(each, X) for each in (one, whole))
    mine = mine[:, :5]
    np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_an_empty_model_becomes_the_other():
    other = grown()
    one = MistClassifier.from_settings(**OPTIONS).merge(other)
    assert_same_sums(one, other)
    assert one.split_log_ == other.split_log_
    X = mixed_rows(0)[0]
    shares = [by_trees(each, X) for each in (one, other)]
    np.testing.assert_allclose(*shares, atol=1e-9)
    # And nothing comes of an empty one.
    before = fingerprint(one)
    assert fingerprint(one.merge(MistClassifier.from_settings(**OPTIONS))) == before


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_trees_that_split_differently(leaf):
    (X, y), (Z, z) = mixed_rows(0, 500, holes=0.0), mixed_rows(0, 1000, holes=0.0)
    Z, z = Z[500:], z[500:]
    # Otherwise a class moves between the two streams, and what it was is forgotten.
    options = {"leaf": leaf, "inheritance": "joint", "discount": 1.0, "adapt": None}
    small = MistClassifier.from_settings(**{**OPTIONS, **options, "max_leaves": 3}).fit(X, y)
    large = MistClassifier.from_settings(**{**OPTIONS, **options, "max_leaves": 3}).fit(Z, z)
    large.max_leaves = small.max_leaves = 6
    large.partial_fit(X[:100], y[:100])
    small._check_rule()
    assert large.n_leaves_ > small.n_leaves_ > 1
    before = fingerprint(large)
    for one, other in ((copy.deepcopy(small), large), (copy.deepcopy(large), small)):
        one.merge(other)
        assert one.n_rows_ == 1100
        np.testing.assert_array_equal(one.tree_.feature, large.tree_.feature)
        assert one.split_log_ == large.split_log_
        tree = one._state.tree
        total = sum(tree.cells.mass[leaf_cells(tree, k)].sum() for k in range(one.n_leaves_))
        # What is less than half a row of a class is lost where a leaf is divided.
        assert 0.97 * 1100 < total <= 1100 + 1e-6
        assert tree.nodes.mass[0] == 1100
        assert one.score(X, y) > min(small.score(X, y), large.score(X, y)) - 0.03
        one.partial_fit(X, y)
    assert fingerprint(large) == before


def test_scores_of_an_open_world_are_remembered():
    X, y = mixed_rows(0, 400, n_classes=2, holes=0.0)
    options = {**OPTIONS, "grace_period": 10**9, "open_world": True}
    one, other = (
        MistClassifier.from_settings(**options).fit(X[r], y[r])
        for r in (slice(200), slice(200, 400))
    )
    scored = one._state.conformity.scored.copy()
    one.merge(other)
    codes = one._labels.encode(other._labels.codes)
    assert (
        one._state.conformity.scored[codes[0]]
        == scored[codes[0]] + (other._state.conformity.scored[0])
    )
    assert np.median(one.novelty(X)) > 0.2
    far = X.copy()
    far[:, [0, 2, 3]] += 30.0
    assert np.median(one.novelty(far)) < 0.05


# --- refusals ---------------------------------------------------------------------------------


def refusals() -> dict[str, tuple[Any, Any]]:
    X, y = mixed_rows(7, 40, holes=0.0)

    def fit(X: Any = X, y: Any = y, **options: Any) -> MistClassifier:
        return MistClassifier.from_settings(**{**OPTIONS, "grace_period": 500, **options}).fit(X, y)

    def frame(*names: str) -> Any:
        return pytest.importorskip("pandas").DataFrame(X, columns=list(names))

    split = grown()
    return {
        "differ in delta: 0.5 and 0.1": (fit(), fit(delta=0.1)),
        "differ in leaf": (fit(), fit(leaf="full")),
        "differ in sketch_size: 64 and 32": (fit(), fit(sketch_size=32)),
        "their columns: 4 and 3": (fit(), fit(X[:, :3])),
        "column 2 is 'c' in one and 'x' in the other": (fit(frame(*"abcd")), fit(frame(*"abxd"))),
        "categorical_features: column 1": (fit(), fit(categorical_features=None)),
        "mixes text labels": (fit(), fit(y=y.astype(str))),
        "copies of one model": (split, copy.deepcopy(split)),
    }


def test_what_cannot_be_merged_is_refused_and_changes_nothing():
    for words, (one, other) in refusals().items():
        before = fingerprint(one), fingerprint(other)
        with pytest.raises(ValueError, match=words):
            one.merge(other)
        assert (fingerprint(one), fingerprint(other)) == before


def test_models_of_another_kind_and_the_same_model_are_refused():
    model = grown()
    with pytest.raises(ValueError, match="cannot be merged with itself"):
        model.merge(model)
    with pytest.raises(TypeError, match="same type, got MistForest"):
        model.merge(MistForest())
    with pytest.raises(ValueError, match="unknown"):
        MistClassifier(leaf="oak").merge(model)


# --- forests ----------------------------------------------------------------------------------


def forest(**options: Any) -> MistForest:
    return MistForest(MistClassifier.from_settings(**OPTIONS), n_trees=2, **options)


def test_forests_merge_tree_by_tree():
    X, y = mixed_rows(8, 400, n_classes=4, holes=0.0)
    base = forest().fit(X[:200], y[:200])
    part = base.fork().partial_fit(X[200:], y[200:] + 2)
    expected = [without_splits(tree).partial_fit(X[200:], y[200:] + 2) for tree in base.trees_]
    base.merge(part)
    assert base.n_rows_ == 400
    assert base.classes_.tolist() == [0, 1, 2, 3, 4, 5]
    for tree, alone in zip(base.trees_, expected, strict=True):
        assert_same_sums(tree, alone)
    np.testing.assert_allclose(base._masses.sum(), 400.0)
    apart = forest().merge(forest().fit(X[:200], y[:200])).merge(forest().fit(X[200:], y[200:]))
    assert apart.score(X, y) > 0.6
    base.partial_fit(X, y)
    drawn = forest(bootstrap=True).fit(X, y)
    assert drawn.fork(1).trees_[0].random_state != drawn.fork(2).trees_[0].random_state


@pytest.mark.parametrize(
    ("options", "words"),
    [({"random_features": 9}, "random_features=9"), ({"bootstrap": True}, "differ in bootstrap")],
)
def test_forests_that_cannot_be_merged(options, words):
    X, y = mixed_rows(8, 60, holes=0.0)
    one = forest(random_features=options.get("random_features", 0)).fit(X, y)
    shares = one.predict_proba(X)
    with pytest.raises(ValueError, match=words):
        one.merge(forest(**options).fit(X, y))
    np.testing.assert_array_equal(one.predict_proba(X), shares)
