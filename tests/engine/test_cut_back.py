"""Subtrees that become leaves: nothing is lost, the rest of the tree stays as it is."""

import numpy as np
import pytest

from material import EAGER, arrays, mixed_rows
from mist import MistClassifier
from mist.engine.cut_back import LEAST_GAIN, cut_back, splits_of_one, useless_splits
from mist.engine.state import M2, MEAN, N_NODES, leaf_cells
from mist.persistence.validate import check_state

LEAVES = ("gaussian", "sketch", "full", "mixture")


def grown(leaf="gaussian", holes=0.0, seed=0, **options):
    X, y = mixed_rows(seed, 500, 5, holes)
    options = {**EAGER, "categorical_features": [1], "adapt": None, **options}
    model = MistClassifier.from_settings(leaf=leaf, **options).partial_fit(X, y)
    assert model.n_leaves_ > 4
    return model, X


def inner_nodes(state):
    return np.flatnonzero(state.tree.nodes.feature[: state.tree.counters[N_NODES]] >= 0).tolist()


def below(state, node):
    """Nodes below a node, itself included."""
    nodes = state.tree.nodes
    if nodes.feature[node] < 0:
        return [node]
    sides = int(nodes.left[node]), int(nodes.right[node])
    return [node, *below(state, sides[0]), *below(state, sides[1])]


def moments(state, node):
    """Of each class below a node: weight, mass, rows, mean, squared deviations."""
    tree, out = state.tree, {}
    for leaf in (int(tree.nodes.leaf[n]) for n in below(state, node)):
        for cell in leaf_cells(tree, leaf).tolist() if leaf >= 0 else ():
            w, mean, m2 = tree.cells.weight[cell], tree.stats[cell, MEAN], tree.stats[cell, M2]
            sums = np.array([w, tree.cells.mass[cell], tree.cells.count[cell]])
            raw = w * mean, m2 + w * mean**2
            old = out.get(int(tree.cells.code[cell]), (0.0, 0.0, 0.0))
            out[int(tree.cells.code[cell])] = tuple(
                a + b for a, b in zip(old, (sums, *raw), strict=True)
            )
    return out


def route(state, x):
    nodes, node = state.tree.nodes, 0
    while nodes.feature[node] >= 0:
        goes_left = x[nodes.feature[node]] <= nodes.threshold[node]
        node = int((nodes.left if goes_left else nodes.right)[node])
    return node


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_one_subtree(leaf, holes):
    for cut in range(4):
        model, X = grown(leaf, holes)
        state = model._state
        node = inner_nodes(state)[cut]
        gone = set(below(state, node))
        before, wanted = model.predict_proba(X), moments(state, node)
        complete = ~np.isnan(X).any(axis=1)
        ends = np.array([route(state, x) for x in model._engine_order(X)])
        number = cut_back(state, [node])
        check_state(state, len(model.classes_))
        assert number[node] >= 0
        assert {int(n) for n in np.flatnonzero(number < 0)} == gone - {node}
        assert state.tree.nodes.leaf[number[node]] >= 0
        after = model.predict_proba(X)
        elsewhere = complete & ~np.isin(ends, list(gone))
        assert np.array_equal(after[elsewhere], before[elsewhere])
        now = [route(state, x) for x in model._engine_order(X)[complete]]
        assert now == [int(number[node if end in gone else end]) for end in ends[complete].tolist()]
        np.testing.assert_allclose(after.sum(axis=1), 1.0)
        found = moments(state, int(number[node]))
        assert found.keys() == wanted.keys()
        if holes == 0.0:
            for code, parts in wanted.items():
                for mine, part in zip(found[code], parts, strict=True):
                    np.testing.assert_allclose(mine, part, rtol=1e-9, atol=1e-9)
        model.partial_fit(X[:40], np.zeros(40, int))
        check_state(state, len(model.classes_))


def test_several_subtrees_at_once_are_one_after_another():
    model, X = grown()
    other, _ = grown()
    # Two nodes of the lowest rank, with leaves only below.
    pairs = [n for n in inner_nodes(model._state) if len(below(model._state, n)) == 3][-2:]
    cut_back(model._state, pairs)
    number = cut_back(other._state, [pairs[0]])
    cut_back(other._state, [int(number[pairs[1]])])
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
    mine, theirs = (list(arrays(m._state.tree.nodes)) for m in (model, other))
    assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_candidate_splits_of_other_leaves_stay():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 3))
    y = np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1]) % 2
    rules = {"split_test": "eprocess", "grace_period": 40, "rows_per_split": 150, "adapt": None}
    model = MistClassifier.from_settings(leaf="gaussian", **rules).partial_fit(X, y)
    state = model._state
    held = {int(state.tree.leaves.node[leaf]) for leaf in state.candidate_splits}
    node = next(n for n in inner_nodes(state)[1:] if held & set(below(state, n)))
    gone = set(below(state, node))
    number = cut_back(state, [node])
    check_state(state, len(model.classes_))
    kept = {int(state.tree.leaves.node[leaf]) for leaf in state.candidate_splits}
    assert kept == {int(number[each]) for each in held - gone}
    assert kept
    model.partial_fit(X, y)
    check_state(model._state, len(model.classes_))


def masses(state, node):
    return {code: parts[0][1] for code, parts in moments(state, node).items()}


def gini(of):
    shares = np.array(list(of.values())) / sum(of.values())
    return 1.0 - np.sum(shares**2)


def naive_useless(state, node):
    """Whether a node is or would become a leaf, and the nodes to cut back below it."""
    nodes = state.tree.nodes
    if nodes.feature[node] < 0:
        return True, []
    sides = [int(nodes.left[node]), int(nodes.right[node])]
    (left, cut), (right, more) = (naive_useless(state, side) for side in sides)
    if left and right:
        whole, parts = masses(state, node), [masses(state, side) for side in sides]
        total = sum(whole.values())
        gain = gini(whole) - sum(gini(part) * sum(part.values()) / total for part in parts)
        if gain <= LEAST_GAIN * min(gini(whole), 1.0 - gini(whole)):
            return True, [node]
    return False, cut + more


@pytest.mark.parametrize("seed", range(6))
def test_useless_splits(seed):
    model, _ = grown(seed=seed)
    state, rng = model._state, np.random.default_rng(seed)
    cells = np.flatnonzero(state.tree.cells.leaf >= 0)
    # All classes alike at many leaves, so that their splits are of no use.
    alike = rng.random(len(state.tree.leaves)) < 0.6
    of_leaf = alike[state.tree.cells.leaf[cells]]
    state.tree.cells.mass[cells[of_leaf]] = 5.0 + state.tree.cells.code[cells[of_leaf]]
    assert sorted(useless_splits(state)) == sorted(naive_useless(state, 0)[1])


def test_a_rare_class_alone_is_worth_a_split():
    X = np.concatenate([np.zeros((5000, 1)), np.full((5000, 1), 3.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    y = np.repeat([0, 1], 5000)
    model = MistClassifier.from_settings(
        leaf="gaussian", adapt=None, max_leaves=2, **EAGER
    ).partial_fit(X, y)
    tree = model._state.tree
    assert model.n_leaves_ == 2
    at = {(int(tree.cells.leaf[c]), int(tree.cells.code[c])): c for c in leaf_cells(tree, 0)}
    at.update({(1, int(tree.cells.code[c])): c for c in leaf_cells(tree, 1)})
    assert len(at) == 4
    for (leaf, code), cell in at.items():
        tree.cells.mass[cell] = 1e-3 if leaf != code else (1e5 if code == 0 else 10.0)
    assert useless_splits(model._state) == []
    # On the same side as the others it is not.
    for (leaf, code), cell in at.items():
        tree.cells.mass[cell] = 1e-3 if leaf == 1 else (1e5 if code == 0 else 10.0)
    assert useless_splits(model._state) == [0]


def test_a_side_of_one_class():
    X = np.repeat([[0.0], [9.0], [18.0]], 60, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape) / 4.0
    y = np.repeat([0, 1, 2], 60)
    order = np.random.default_rng(1).permutation(180)
    model = MistClassifier.from_settings(leaf="gaussian", adapt=None, **EAGER).partial_fit(
        X[order], y[order]
    )
    alone = {}
    for node in inner_nodes(model._state):
        tree = model._state.tree
        for side in (int(tree.nodes.left[node]), int(tree.nodes.right[node])):
            held = set(masses(model._state, side))
            if (
                tree.nodes.leaf[side] >= 0
                and len(held) == 1
                and len(below(model._state, node)) == 3
            ):
                alone.setdefault(held.pop(), []).append(node)
    assert alone
    for code in range(3):
        assert set(alone.get(code, [])) <= set(splits_of_one(model._state, code))
        if code not in alone:
            assert splits_of_one(model._state, code) == []
