"""A class that is forgotten: the others stay, the model is valid, the class can be learnt."""

import numpy as np
import pytest

from adaptation_streams import CENTRES, draw, recall, shuffled
from material import EAGER
from mist import MistClassifier
from mist.engine.forget import forget_class
from mist.engine.state import N_LEAVES, N_NODES, find_cell, leaf_cells
from mist.persistence.validate import check_state

MODELS = {
    "gaussian": {"leaf": "gaussian"},
    "sketch": {"leaf": "sketch"},
    "full": {"leaf": "full"},
    "mixture": {"leaf": "mixture"},
    "counts": {"leaf": "gaussian", "class_prior": "counts"},
    "no inheritance": {"leaf": "gaussian", "inheritance": None, "adapt": None},
}
NEVER = 10**9


def rows(seed=0, n=60, holes=0.0):
    rng = np.random.default_rng(seed)
    y = shuffled(rng, [0, 1, 2, 3], n)
    X = draw(rng, y, CENTRES / 3.0)
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def forget(model, label):
    forget_class(model._state, model._labels.codes[label])
    check_state(model._state, len(model._labels.ranks))


def mass(model, label):
    cells = model._state.tree.cells
    own = (cells.leaf >= 0) & (cells.code == model._labels.codes[label])
    return cells.mass[own].sum()


def masses_of(model, label):
    """Mass of a class below each node, by node; leaves with masses of their parent count none."""
    tree, out = model._state.tree, {}
    for node in reversed(range(int(tree.counters[N_NODES]))):
        leaf = int(tree.nodes.leaf[node])
        if leaf >= 0:
            cell = find_cell(tree, leaf, model._labels.codes[label])
            counted = cell >= 0 and not tree.leaves.prior_only[leaf]
            out[node] = float(tree.cells.mass[cell]) if counted else 0.0
        else:
            out[node] = out[int(tree.nodes.left[node])] + out[int(tree.nodes.right[node])]
    return np.array([out[node] for node in range(len(out))])


@pytest.mark.parametrize("prior", ["counts", "balanced"])
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_a_leaf_that_never_learnt_the_class(prior, holes):
    X, y = rows(holes=holes)
    options = {"leaf": "gaussian", "class_prior": prior, "grace_period": NEVER, "adapt": "classes"}
    for label in (0, 2, 3):
        model = MistClassifier.from_settings(**options).partial_fit(X, y)
        others = MistClassifier.from_settings(**options).partial_fit(X[y != label], y[y != label])
        forget(model, label)
        shares = model.predict_proba(X)
        assert not shares[:, label].any()
        # The variance prior pools the variances of all columns over all rows.
        kept = np.delete(shares, label, axis=1)
        np.testing.assert_allclose(kept, others.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_every_kind_of_leaf(name, holes):
    X, y = rows(1, 150, holes)
    model = MistClassifier.from_settings(**{**EAGER, **MODELS[name]}).partial_fit(X, y)
    assert model.n_leaves_ > 1
    before = {label: mass(model, label) for label in range(4)}
    below = masses_of(model, 2)
    nodes = model._state.tree.nodes.mass[: len(below)].copy()
    forget(model, 2)
    # The mass of the root is the weight of all rows.
    below[0] = 0.0
    lowered = np.maximum(nodes - below + masses_of(model, 2) * (below > 0.0), 0.0)
    np.testing.assert_allclose(model._state.tree.nodes.mass[: len(nodes)], lowered)
    tree, code = model._state.tree, model._labels.codes[2]
    for leaf in range(int(tree.counters[N_LEAVES])):
        if find_cell(tree, leaf, code) >= 0:
            assert tree.leaves.n_cells[leaf] == 1
    assert mass(model, 2) < before[2]
    assert {label: mass(model, label) for label in (0, 1, 3)} == {
        label: before[label] for label in (0, 1, 3)
    }
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # Elsewhere, it is learnt again.
    rng = np.random.default_rng(2)
    again = shuffled(rng, [0, 2], 80)
    centres = CENTRES / 3.0 + np.array([[0, 0, 0], [0, 0, 0], [9, 0, 9], [0, 0, 0]])
    model.partial_fit(draw(rng, again, centres), again)
    check_state(model._state, 4)
    test = np.repeat([1, 2, 3], 60)
    found = recall(model, draw(rng, test, centres), test)
    assert found[2] > 0.9
    assert min(found.values()) > 0.6


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_many_columns(leaf):
    rng = np.random.default_rng(0)
    y = shuffled(rng, [0, 1, 2], 60)
    X = rng.normal(size=(180, 104)) + y[:, None]
    model = MistClassifier(leaf).partial_fit(X, y)
    forget(model, 1)
    assert set(model.predict(X).tolist()) == {0, 2}
    model.partial_fit(X[y == 1] - 5.0, y[y == 1])
    check_state(model._state, 3)
    assert (model.predict(X[y == 1] - 5.0) == 1).all()


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_a_leaf_with_no_other_class_keeps_it(leaf):
    X, y = rows()
    model = MistClassifier(leaf).partial_fit(X[y == 1], y[y == 1])
    shares = model.predict_proba(X)
    forget(model, 1)
    assert np.array_equal(model.predict_proba(X), shares)
    model.partial_fit(X[y == 2], y[y == 2])
    forget(model, 1)
    assert (model.predict(X) == 2).all()
    forget(model, 2)
    assert (model.predict(X) == 2).all()


@pytest.mark.parametrize("prior", ["counts", "balanced"])
def test_all_classes_in_any_order(prior):
    rng = np.random.default_rng(0)
    X, y = rows()
    labels = np.concatenate([y, np.arange(4, 40)])
    X = np.concatenate([X, rng.normal(size=(36, 3))])
    model = MistClassifier("gaussian", class_prior=prior, open_world=True).partial_fit(X, labels)
    for count, label in enumerate(rng.permutation(40).tolist()):
        forget(model, label)
        held = model._state.conformity.held
        cells = leaf_cells(model._state.tree, 0)
        assert len(cells) == max(1, 39 - count)
        assert held.sum() == pytest.approx(model._state.tree.cells.mass[cells].sum())
    model.partial_fit(X, labels)
    check_state(model._state, 40)


def test_a_class_that_was_never_learnt_here():
    X, y = rows()
    model = MistClassifier("gaussian").partial_fit(X, y)
    shares = model.predict_proba(X)
    forget(model, 1)
    first = model.predict_proba(X)
    forget(model, 1)
    assert np.array_equal(model.predict_proba(X), first)
    assert not np.array_equal(first, shares)


def test_a_missing_value_follows_the_side_that_is_heavier_without_the_class():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [600, 60, 200]))
    X = rng.normal(np.array([[0.0, 0.0], [0.0, 6.0], [9.0, 3.0]])[y], 1.0)
    options = {"split_test": "schedule", "rows_per_split": 300, "max_leaves": 2, "adapt": None}
    model = MistClassifier.from_settings(leaf="gaussian", **options).partial_fit(X, y)
    left, right = model.apply([[0.0, 0.0], [9.0, 0.0]])
    assert (model.tree_.feature[0], left != right) == (0, True)
    unknown = [[np.nan, 3.0]]
    assert model.apply(unknown) == left
    forget(model, 0)
    assert model.apply(unknown) == right
    assert model.predict(unknown) == 2
    masses = model._state.tree.nodes.mass[[left, right]]
    assert masses == pytest.approx([mass(model, 1), mass(model, 2)], abs=1.0)
    assert model.to_frame().set_index("node").loc[[left, right], "mass"].tolist() == masses.tolist()
