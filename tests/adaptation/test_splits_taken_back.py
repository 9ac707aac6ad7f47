"""Splits that no longer help, after classes have moved, are taken back."""

import numpy as np
import pytest

from adaptation_streams import draw, everything, shuffled
from material import EAGER
from mist import MistClassifier, load
from mist.adaptation.changes import CLASS_MOVED, CUT_BACK
from mist.adaptation.follower import SETTLED

EARLY = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
LATE = np.array([[0.0, 0.0, 0.0], [0.0, -9.0, 0.0], [0.0, 9.0, 0.0]])
OPTIONS = {**EAGER, "grace_period": 200, "adapt": "classes"}


def stream(late=2600):
    """Three classes, told apart by two columns; then one moves, and a column tells nothing."""
    rng = np.random.default_rng(0)
    y = [shuffled(rng, [0, 1, 2], 200), rng.integers(0, 3, late)]
    X = [draw(rng, y[0], EARLY), draw(rng, y[1], LATE)]
    return np.concatenate(X), np.concatenate(y)


def log_fits(model):
    """Whether the log has the splits of the tree, each with its node."""
    tree = model.tree_
    inner = {
        int(n): (int(tree.feature[n]), float(tree.threshold[n]))
        for n in np.flatnonzero(tree.feature >= 0)
    }
    return {split.node: (split.feature, split.threshold) for split in model.split_log_} == inner


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_a_split_between_places_that_were_left(leaf):
    X, y = stream()
    model = MistClassifier.from_settings(leaf=leaf, **OPTIONS).partial_fit(X[:600], y[:600])
    assert {split.feature for split in model.split_log_} == {0, 1}
    assert log_fits(model)
    model.partial_fit(X[600:], y[600:])
    kinds = [change.kind for change in model.changes_]
    assert CLASS_MOVED in kinds
    assert CUT_BACK in kinds
    assert {split.feature for split in model.split_log_} == {1}
    assert log_fits(model)
    (moved,) = (change for change in model.changes_ if change.kind == CLASS_MOVED)
    cuts = [change for change in model.changes_ if change.kind == CUT_BACK]
    assert all(change.row >= moved.row for change in cuts)
    assert all(change.label is None and change.size >= 1 for change in cuts)
    rng = np.random.default_rng(1)
    test = rng.integers(0, 3, 600)
    assert np.mean(model.predict(draw(rng, test, LATE)) == test) > 0.99


def test_absent_classes_keep_their_splits():
    # Class 2 does not come again; class 1, alone at its leaf, moves.
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    y = [shuffled(rng, [0, 1, 2], 200), rng.integers(0, 2, 2600)]
    X = [draw(rng, y[0], centres)]
    centres[1] = [9.0, 0.0, 9.0]
    X.append(draw(rng, y[1], centres))
    model = MistClassifier.from_settings(leaf="gaussian", **OPTIONS)
    model.partial_fit(np.concatenate(X), np.concatenate(y))
    assert CLASS_MOVED in {change.kind for change in model.changes_}
    assert 1 in {split.feature for split in model.split_log_}
    assert log_fits(model)
    assert (model.predict(draw(rng, np.full(200, 2), centres)) == 2).mean() > 0.95


@pytest.mark.parametrize("adapt", ["classes", "stream"])
def test_any_division_into_batches_and_single_rows(adapt, tmp_path):
    X, y = stream(SETTLED + 1100)
    options = {**OPTIONS, "adapt": adapt}
    whole = MistClassifier.from_settings(leaf="gaussian", **options).partial_fit(X, y)
    assert CUT_BACK in {change.kind for change in whole.changes_}
    one = MistClassifier.from_settings(leaf="gaussian", **options)
    for x, label in zip(X, y.tolist(), strict=True):
        one.learn_one(x, label)
    parts = MistClassifier.from_settings(leaf="gaussian", **options)
    for n, rows in enumerate(np.array_split(np.arange(len(X)), 37)):
        parts.partial_fit(X[rows], y[rows])
        if n == 30:
            parts.save(tmp_path / "model.mist")
            parts = load(tmp_path / "model.mist")
    assert everything(one) == everything(whole)
    assert everything(parts) == everything(whole)
