"""class_prior: by the rows of each class so far, or all alike."""

import numpy as np
import pytest

from mist import MistClassifier
from mist.datasets import make_gaussian_classes
from mist.engine.state import leaf_cells
from published import paper_tree

LEAVES = ("gaussian", "sketch", "majority", "full", "mixture")


def uneven(seed=0):
    """Classes of 600, 60 and 6 rows that overlap."""
    X, y = make_gaussian_classes(n_samples=1800, n_classes=3, n_features=3, spread=2.0, seed=seed)
    kept = np.concatenate(
        [np.flatnonzero(y == label)[:n] for label, n in ((0, 600), (1, 60), (2, 6))]
    )
    kept = np.random.default_rng(seed).permutation(kept)
    return X[kept], y[kept]


def by_hand(model, X, totals):
    """Balanced probabilities from those by counts: P(leaf | class) in place of P(class | leaf)."""
    counts = model.predict_proba(X)
    tree, columns = model._state.tree, model._labels.ranks
    out = np.zeros_like(counts)
    for i, node in enumerate(model.apply(X)):
        for cell in leaf_cells(tree, tree.nodes.leaf[node]):
            column, weight = columns[tree.cells.code[cell]], tree.cells.weight[cell]
            out[i, column] = counts[i, column] * (weight + 0.5) / (weight + 1)
    out /= totals + 11
    return out / out.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("splits", [False, True])
def test_balanced_probabilities_follow_from_those_by_counts(leaf, splits):
    X, y = uneven()
    growth = (
        {"grace_period": 60, "split_test": "gain", "union_bound": False, "tie_threshold": 1.0}
        if splits
        else {}
    )
    by_counts = paper_tree(leaf, **growth).fit(X, y)
    balanced = paper_tree(leaf, class_prior="balanced", **growth).fit(X, y)
    assert (by_counts.n_leaves_ > 1) == splits
    assert balanced.n_leaves_ == by_counts.n_leaves_
    expected = by_hand(by_counts, X, np.bincount(y))
    weighted = expected * np.bincount(y)
    weighted /= weighted.sum(axis=1, keepdims=True)
    assert balanced.predict_proba(X) == pytest.approx(weighted, abs=1e-9)
    sure = np.sort(expected, axis=1)
    sure = sure[:, -1] - sure[:, -2] > 1e-6
    assert np.array_equal(balanced.predict(X)[sure], expected.argmax(axis=1)[sure])


def test_rare_classes_are_recognised_more_often():
    X, y = uneven()
    rare = y == 1
    by_counts = paper_tree().fit(X, y).predict(X)[rare] == 1
    balanced = paper_tree(class_prior="balanced").fit(X, y).predict(X)[rare] == 1
    assert balanced.mean() > by_counts.mean()


@pytest.mark.parametrize("leaf", ["mixture", "full", "gaussian"])
@pytest.mark.parametrize("n_typos", [1, 10])
def test_mistyped_labels_take_little_from_a_class(leaf, n_typos):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    names = np.array(["pump", "fan", "valve"], dtype=object)[y]
    for number, row in enumerate(np.flatnonzero(y == 0)[-n_typos:]):
        names[row] = f"pmup {number}"
    model = MistClassifier(leaf).fit(rng.normal(centres[y], 1.0), names.astype(str))
    found = model.predict(rng.normal(centres[np.zeros(2000, int)], 1.0)) == "pump"
    assert found.mean() > 0.9


def test_new_classes_are_answered_from_their_first_row():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [6.0, 6.0]])
    model = MistClassifier().fit(rng.normal(centres[y], 1.0), y)
    model.learn_one(centres[3], 3)
    rows = rng.normal(centres[np.full(2000, 3)], 1.0)
    assert (model.predict(rows) == 3).mean() > 0.95


def test_it_cannot_change_while_the_model_learns():
    X, y = uneven()
    model = paper_tree().partial_fit(X, y)
    model.set_params(class_prior="balanced")
    with pytest.raises(ValueError, match="class_prior was changed from 'counts' to 'balanced'"):
        model.partial_fit(X, y)
