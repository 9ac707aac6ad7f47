"""Classes two at a time from round Gaussians: what was learnt early is still known at the end."""

import numpy as np
import pytest

from material import EAGER
from published import paper_tree


def stream(d, K, n, sigma, seed=0, n_test=1000):
    """Rows in task order, two classes a task, and held-out rows of all classes."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0, 5, (K, d))
    y = np.arange(n) * K // n
    for first in range(0, K, 2):
        task = np.flatnonzero(y // 2 == first // 2)
        y[task] = rng.permutation(y[task])
    held_out = np.arange(n_test) % K
    return rng.normal(means[y], sigma), y, rng.normal(means[held_out], sigma), held_out


S1 = (54, 6, 20_000, 1.0)
S2 = (50, 10, 20_000, 1.0)
S3 = (10, 50, 50_000, 0.3)
S4 = (561, 6, 2_000, 1.0)
STORM = {"grace_period": 20, "split_test": "gain", "union_bound": False}


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("form", [S1, S2, S3, S4], ids=["S1", "S2", "S3", "S4"])
def test_defaults_know_every_class_at_the_end(leaf, form):
    X, y, X_test, y_test = stream(*form)
    assert paper_tree(leaf).partial_fit(X, y).score(X_test, y_test) > 0.99


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch"])
def test_a_storm_of_splits_forgets_nothing(leaf, inheritance):
    X, y, X_test, y_test = stream(*S3)
    model = paper_tree(leaf, inheritance=inheritance, **STORM).partial_fit(X, y)
    assert model.n_splits_ >= 20
    assert model.score(X_test, y_test) > 0.95


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_without_inheritance_the_same_splits_forget(leaf):
    X, y, X_test, y_test = stream(*S3)
    with_it = paper_tree(leaf, **STORM).partial_fit(X, y)
    without = paper_tree(leaf, inheritance=None, **STORM).partial_fit(X, y)
    assert without.n_splits_ >= 20
    assert with_it.score(X_test, y_test) - without.score(X_test, y_test) >= 0.1


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch"])
def test_the_moment_of_a_split_forgets_nothing(leaf, inheritance):
    # Before and after every single split: accuracy on held-out rows of all classes so far.
    X, y, X_test, y_test = stream(10, 10, 3_000, 0.3, seed=1)
    model = paper_tree(leaf, inheritance=inheritance, **EAGER)
    drops = []
    for start in range(0, len(X), 20):
        seen = np.isin(y_test, y[:start]) if start else np.zeros(len(y_test), dtype=bool)
        before = model.score(X_test[seen], y_test[seen]) if start else 1.0
        splits = model.n_splits_ if start else 0
        model.partial_fit(X[start : start + 20], y[start : start + 20])
        if start and model.n_splits_ > splits:
            drops.append(before - model.score(X_test[seen], y_test[seen]))
    assert len(drops) >= 8
    assert max(drops) <= 0.01


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_the_first_class_is_still_known_after_all_the_others(leaf):
    X, y, X_test, y_test = stream(10, 20, 8_000, 0.3, seed=2)
    model = paper_tree(leaf, **EAGER).partial_fit(X, y)
    assert model.n_splits_ >= 20
    for label in (0, 1):
        own = y_test == label
        assert model.score(X_test[own], y_test[own]) > 0.95


def test_majority_leaves_alone_cannot_tell_classes_without_splits():
    # The streams are no gift: class masses without the columns do not solve them.
    X, y, X_test, y_test = stream(*S1)
    model = paper_tree("majority", max_leaves=1).partial_fit(X, y)
    assert model.score(X_test, y_test) < 0.2
