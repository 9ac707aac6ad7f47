"""Mixture leaves over hundreds of columns: one Gaussian of low rank a class."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from material import EAGER, fingerprint
from mist import MistClassifier, MistForest, SplitTest
from mist.engine.gaussian_mixtures import Mixture
from mist.engine.leaves.lowrank import LowRankLeaves
from mist.engine.state import M2, MEAN, leaf_cells

WIDE = 104
ZERO_ONE = 50


def wide_rows(seed: int, n: int = 240, holes: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 103 numeric columns that go together, and of one 0/1 column."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    loadings = rng.normal(size=(3, 5, WIDE))
    X = rng.normal(size=(3, WIDE))[y] + np.einsum(
        "ij,ijk->ik", rng.normal(size=(n, 5)), loadings[y]
    )
    X += rng.normal(size=X.shape) * 0.5
    X[:, ZERO_ONE] = rng.random(n) < (y + 1) / 4
    X[20:][rng.random((n - 20, WIDE)) < holes] = np.nan
    return X, y


def wide(**options: object) -> MistClassifier:
    return MistClassifier.from_settings(categorical_features=[ZERO_ONE], **options)


def growing(inheritance: str = "joint") -> MistClassifier:
    return wide(**EAGER, inheritance=inheritance)


def test_the_number_of_columns_decides():
    for n, kind in ((100, Mixture), (101, LowRankLeaves)):
        model = MistClassifier().partial_fit(np.arange(2.0 * n).reshape(2, n), [0, 1])
        assert type(model._state.model) is kind


def test_classes_are_told_by_how_columns_go_together():
    X, y = wide_rows(0, 1200)
    same = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    same /= np.array([X[y == c].std(axis=0) for c in range(3)])[y]
    model = MistClassifier().fit(same[:900], y[:900])
    assert model.score(same[900:], y[900:]) > 0.95
    assert MistClassifier("gaussian").fit(same[:900], y[:900]).score(same[900:], y[900:]) < 0.7


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("inheritance", ["joint", "gaussian"])
def test_sizes_of_batches_do_not_matter_bit_for_bit(inheritance, holes):
    X, y = wide_rows(1, holes=holes)
    weights = np.random.default_rng(11).choice([0.0, 1.0, 2.5], len(X))
    whole = growing(inheritance).partial_fit(X, y, sample_weight=weights)
    assert whole.n_splits_ > 1
    parts, told = growing(inheritance), growing(inheritance)
    for at in range(0, len(X), 7):
        part = slice(at, at + 7)
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=weights[part])
        told.prequential(X[part], y[part], sample_weight=weights[part])
    assert np.isfinite(whole.predict_proba(X)).all()
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert np.array_equal(told.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_children_together_weigh_what_their_parent_did(holes):
    X, y = wide_rows(2, holes=holes)
    model = wide(**{**EAGER, "max_leaves": 1}).partial_fit(X, y)
    before = model._state.tree.cells.mass[leaf_cells(model._state.tree, 0)]
    model.set_params(max_leaves=2).partial_fit(X[:40], y[:40])
    state = model._state
    assert model.n_leaves_ == 2
    masses = np.zeros(3)
    for leaf in (0, 1):
        for cell in leaf_cells(state.tree, leaf):
            masses[state.tree.cells.code[cell]] += state.tree.cells.mass[cell]
    assert masses.sum() == pytest.approx(before.sum() + 40.0)


def test_moments_of_cells_are_those_of_the_parts():
    X, y = wide_rows(3)
    model = growing().partial_fit(X, y)
    tree, pool = model._state.tree, model._state.model.pool
    n = model._state.options.n_numeric
    for leaf in range(model.n_leaves_):
        for cell in leaf_cells(tree, leaf):
            weight = tree.cells.weight[cell]
            assert pool.head["weight"][cell] == pytest.approx(weight)
            np.testing.assert_allclose(
                pool.mean[cell], tree.stats[cell, MEAN], rtol=1e-9, atol=1e-9
            )
            np.testing.assert_allclose(
                pool.m2[cell], tree.stats[cell, M2, :n], rtol=1e-9, atol=1e-9
            )


def test_a_given_back_cell_is_taken_anew():
    X, y = wide_rows(4)
    model = growing().partial_fit(X, y)
    tree, pool = model._state.tree, model._state.model.pool
    free = tree.cells.leaf < 0
    assert free.any()
    assert not pool.head["weight"][free].any()
    assert not pool.sketch[free].any()


def test_copies_learn_on_alike_and_apart():
    X, y = wide_rows(5)
    model = growing().partial_fit(X[:120], y[:120])
    before = fingerprint(model)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for each in copies:
        assert fingerprint(each) == before
        each.partial_fit(X[120:], y[120:])
    model.partial_fit(X[120:], y[120:])
    assert fingerprint(copies[0]) == fingerprint(copies[1]) == fingerprint(model)


def test_new_columns_begin_unknown():
    X, y = wide_rows(6, 120)
    names = [f"c{j}" for j in range(WIDE)]
    model = MistClassifier()
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip(names, x, strict=True)), int(label))
    before = [model.predict_proba_one(dict(zip(names, x, strict=True))) for x in X[:20]]
    for x, label in zip(X[:40], y[:40], strict=True):
        row = dict(zip(names, x, strict=True)) | {"new": 50.0 * label + x[0]}
        model.learn_one(row, int(label))
    assert model.n_features_in_ == WIDE + 1
    assert type(model._state.model) is LowRankLeaves
    assert all(np.isfinite(list(answer.values())).all() for answer in before)
    told = [model.predict_one({"new": 50.0 * c}) for c in range(3)]
    assert told == [0, 1, 2]


def cells_by_label(model: MistClassifier) -> dict[int, int]:
    tree = model._state.tree
    cells = leaf_cells(tree, 0)
    return dict(
        zip(model._labels.decode(tree.cells.code[cells]).tolist(), cells.tolist(), strict=True)
    )


def test_classes_of_two_models_are_added():
    X, y = wide_rows(7, 600)
    one, other = (
        wide(grace_period=10**9).partial_fit(X[r], y[r], classes=[0, 1, 2])
        for r in (slice(300), slice(300, None))
    )
    whole = wide(grace_period=10**9).partial_fit(X, y)
    mine, expected = cells_by_label(one), cells_by_label(whole)
    one.merge(other)
    stats, pool, n = whole._state.tree.stats, one._state.model.pool, whole._state.options.n_numeric
    for label in range(3):
        got, right = one._state.tree.stats[mine[label]], stats[expected[label]]
        np.testing.assert_allclose(got[[MEAN, M2]], right[[MEAN, M2]], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(pool.m2[mine[label]], right[M2, :n], rtol=1e-9, atol=1e-9)
    alike = np.mean(one.predict(X) == whole.predict(X))
    assert alike > 0.97


def test_densities_know_novelty():
    X, y = wide_rows(8, 900)
    model = MistClassifier(open_world=True).fit(X[:600], y[:600])
    assert np.median(model.novelty(X[600:])) > 0.2
    assert np.median(model.novelty(X[600:] + 4.0)) < 0.05
    assert (model.score_samples(X[600:]) > model.score_samples(X[600:] + 4.0)).mean() > 0.99


def test_forests_take_many_columns():
    X, y = wide_rows(9, 600)
    model = MistForest(n_trees=2).fit(X[:450], y[:450])
    assert model.score(X[450:], y[450:]) > 0.9


def test_bytes_grow_with_columns_and_not_with_their_square():
    rng = np.random.default_rng(0)
    sizes = []
    for d in (500, 1500):  # more than a full covariance is kept of
        X = rng.normal(size=(40, d))
        sizes.append(
            MistClassifier(split_test=SplitTest(thresholds="gaussian"))
            .fit(X, np.arange(40) % 2)
            .nbytes
        )
    assert sizes[1] < 3.1 * sizes[0]


@pytest.mark.parametrize("size", [1e145, 1e-150, 1e-310])
def test_extreme_values_give_finite_answers(size):
    X, y = wide_rows(10, 120, holes=0.05)
    model = MistClassifier().fit(X * size, y)
    assert np.isfinite(model.predict_proba(X * size)).all()


@pytest.mark.parametrize("leaf", ["full", "mixture"])
def test_leaves_that_inherit_nothing_begin_anew(leaf):
    """Whatever the place of the parent held."""
    X, y = wide_rows(12, 200)
    model = MistClassifier.from_settings(leaf=leaf, **EAGER, inheritance=None, max_leaves=2).fit(
        X, y
    )
    state = model._state
    split = model.split_log_[0]
    side = X[:, split.feature] <= split.threshold
    later = np.arange(len(X)) >= split.seen
    for rows, child in ((X[side & later], 0), (X[~side & later], 1)):
        held = state.model.common if leaf == "mixture" else state.model
        assert 0.0 < held.fresh[child] <= len(rows) < split.seen + 100


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_a_column_that_comes_late_is_soon_in_its_own_units(unit):
    X, y = wide_rows(13, 700)
    plain, late = MistClassifier(), MistClassifier()
    names = [f"c{j}" for j in range(WIDE)]
    rows = [dict(zip(names, x, strict=True)) for x in X]
    extra = np.random.default_rng(0).normal(size=len(X)) * unit
    for i in range(600):
        plain.learn_one(rows[i], int(y[i]))
        late.learn_one(rows[i] | ({"late": extra[i]} if i >= 540 else {}), int(y[i]))
    told = [late.predict_one(rows[i] | {"late": extra[i]}) for i in range(600, 700)]
    expected = [plain.predict_one(rows[i]) for i in range(600, 700)]
    assert np.mean(np.array(told) == y[600:]) > np.mean(np.array(expected) == y[600:]) - 0.03
