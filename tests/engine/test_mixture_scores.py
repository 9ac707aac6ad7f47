"""Scores of mixture leaves that end early, and the predictions made from them."""

import numpy as np
import pytest

from material import by_trees
from mist import MistClassifier, SplitTest
from mist.engine.compiled import exact
from mist.engine.gaussian_mixtures import mixture_score
from mist.engine.state import leaf_cells


@exact
def score_at(mixture, cell, X, i, deviation, need):
    return mixture_score(mixture, cell, X, i, deviation, need)


def overlapping(seed=0, n=4000, d=3):
    """Classes that are rings of small Gaussians, so that many components say much of each row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    angle = rng.integers(12, size=n) * (2 * np.pi / 12)
    X = rng.normal(size=(n, d)) * 0.6
    X[:, 0] += (2.0 + 0.5 * y) * np.cos(angle)
    X[:, 1] += (2.0 + 0.5 * y) * np.sin(angle)
    return X, y


@pytest.fixture(scope="module")
def model():
    X, y = overlapping()
    return MistClassifier("mixture", adapt=None, grace_period=10**9).partial_fit(X, y)


def test_predict_is_the_argmax_of_predict_proba(model):
    X, _ = overlapping(1)
    X = np.concatenate([X, 5.0 * X])
    assert model._state.model.cells.n[leaf_cells(model._state.tree, 0)].min() > 3
    shares = by_trees(model, X)
    assert np.array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])


def test_scores_do_not_depend_on_what_is_needed(model):
    X, _ = overlapping(2, 300)
    mixture, deviation = model._state.model, np.empty(X.shape[1])
    rng = np.random.default_rng(0)
    for cell in leaf_cells(model._state.tree, 0):
        for i in range(len(X)):
            wanted = score_at(mixture, cell, X, i, deviation, -np.inf)
            for below in (1e-9, 0.5, float(rng.exponential(5.0)), 60.0):
                assert score_at(mixture, cell, X, i, deviation, wanted - below) == wanted
            for above in (1e-6, 1.0, 30.0):
                found = score_at(mixture, cell, X, i, deviation, wanted + above)
                assert found in (wanted, -np.inf)


@pytest.mark.parametrize("leaf", ["gaussian", "full", "mixture"])
def test_guesses_change_no_result(leaf):
    # Guesses come from the rows before: right, wrong, or of a class that a leaf does not hold.
    X, y = overlapping(3, 1200)
    kept = []
    for kind in range(4):
        model = MistClassifier(leaf, adapt=None, grace_period=100, split_test=SplitTest(delta=0.5))
        rng, shares, out = np.random.default_rng(kind), [], []
        for start in range(0, len(X), 100):
            rows = slice(start, start + 100)
            batch = model._rows_to_learn(X[rows], y[rows], None, None)
            n = len(batch.codes)
            guesses = [np.full(n, -1), batch.codes.copy(), rng.integers(-1, 1, n), np.full(n, 0)]
            shares.append(np.zeros((n, len(model.classes_))))
            out.append(np.empty(n, np.int64))
            model._learn_rows(batch, out[-1], shares[-1], guesses[kind].astype(np.int64))
        kept.append((np.concatenate(out), np.concatenate(shares)))
    out, shares = kept[0]
    assert np.array_equal(model._labels.decode(out[1:]), model.classes_[shares[1:].argmax(axis=1)])
    for out, shares in kept[1:]:
        assert np.array_equal(out, kept[0][0])
        assert np.array_equal(shares, kept[0][1])
    # Nothing below 13 nats is left, and what is left adds up to 1.
    known = kept[0][1][kept[0][1] > 0.0]
    assert known.min() > 0.9 * np.exp(-13.0) / 3
    np.testing.assert_allclose(kept[0][1][1:].sum(axis=1), 1.0)
