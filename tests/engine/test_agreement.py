"""The engine and the slow twin of `naive` learn the same tree from the same stream."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from agreeing import OPTIONS, choices, possible, same_label, same_splits, twin_answer
from mist import MistClassifier
from naive import NaiveMist
from published import paper_tree

TRAITS: dict[str, list[Any]] = {
    "seed": list(range(10_000)),
    "columns": list(range(1, 21)),
    "classes": list(range(1, 31)),
    "rows": list(range(20, 401)),
    "distance": [0.0, 1.0, 4.0, 20.0],  # between class centres
    "decimals": [0, 12],
    "blocks": [True, False],  # classes one after the other
    "singles": [0, 3],  # classes of one row
    "missing": [0.0, 0.1, 0.5],
    "whole_until": [0.0, 0.5],  # share of the stream before the first missing value
    "constants": [0, 1],
    "zero_one": [0.0, 0.3, 1.0],  # share of the 0/1 columns,
    "declared": [0.0, 0.5, 1.0],  # and of those declared among them
    "copied_column": [True, False],
    "copied_rows": [True, False],
    "weights": [[1.0], [0.0, 1.0], [0.3, 0.5, 1.0], [0.0, 0.4, 1.0, 2.0, 2.5, 7.0]],
    "text_labels": [True, False],
}

WORK = 30_000
"""Most rows times columns times classes of one stream: the twin is slow."""


class Stream(NamedTuple):
    options: dict[str, Any]
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    rng: np.random.Generator  # for how the stream is cut and what is asked


def stream(options: dict[str, Any], traits: dict[str, Any]) -> Stream:
    rng = np.random.default_rng(traits["seed"])
    d, k = traits["columns"], traits["classes"]
    n = min(traits["rows"], max(20, WORK // (d * k)))
    y = rng.integers(0, k, n)
    y[rng.permutation(n)[: traits["singles"]]] = k + np.arange(traits["singles"])
    if traits["blocks"]:
        y = np.sort(y)
    centres = rng.normal(size=(k + traits["singles"], d)) * traits["distance"]
    X = np.round(centres[y] + rng.normal(size=(n, d)), traits["decimals"])
    columns = rng.permutation(d)
    X[:, columns[: traits["constants"]]] = 3.1
    binary = columns[: math.ceil(traits["zero_one"] * d)]
    X[:, binary] = X[:, binary] > 0
    if traits["copied_column"] and d > 1:
        X[:, -1] = X[:, 0]
        binary = np.array([j for j in range(d) if np.isin(X[:, j], (0, 1)).all()], dtype=int)
    if traits["copied_rows"]:
        later = rng.integers(n // 2, n, n // 4)
        X[later], y[later] = X[later - n // 2], y[later - n // 2]
    late = np.arange(n)[:, None] >= n * traits["whole_until"]
    X[late & (rng.random((n, d)) < traits["missing"])] = np.nan
    weights = rng.choice(traits["weights"], n)
    weights[0] = 1.0  # a model that learnt nothing has no answer
    names = rng.permutation(k + traits["singles"])  # labels do not sort as they arrive
    labels = names[y].astype(str) if traits["text_labels"] else names[y]
    declared = binary[: math.ceil(traits["declared"] * binary.size)].tolist()
    options = {**possible(options), "categorical_features": declared or None}
    return Stream(options, X, labels, weights, rng)


def same_answers(twin: NaiveMist, model: MistClassifier, X: np.ndarray) -> None:
    proba, labels, leaves = model.predict_proba(X), model.predict(X), model.apply(X)
    assert set(model.classes_.tolist()) == set(twin.labels)
    np.testing.assert_array_equal(labels, model.classes_[proba.argmax(axis=1)])
    for x, p, label, leaf in zip(X.tolist(), proba, labels.tolist(), leaves, strict=True):
        shares, tolerance = twin_answer(twin, x)
        assert twin.apply(x) == leaf
        assert [shares[c] for c in model.classes_.tolist()] == pytest.approx(
            p.tolist(), abs=tolerance, rel=0
        )
        assert same_label(shares, tolerance, label)


def asked(s: Stream, n: int) -> np.ndarray:
    """Rows of the stream, some of them with values of other rows or without a value."""
    X = s.X[s.rng.integers(0, len(s.X), n)]
    swapped = s.rng.random(X.shape) < 0.2
    X[swapped] = s.X[s.rng.integers(0, len(s.X), n)][swapped]
    X[:2, s.rng.integers(X.shape[1])] = np.nan
    return X


def learn_both(s: Stream) -> tuple[NaiveMist, MistClassifier]:
    """Learn in batches of random sizes, in all ways there are, and ask in between."""
    twin, model = NaiveMist(**s.options), paper_tree(**s.options)
    row = 0
    while row < len(s.X):
        size = int(s.rng.choice([1, 2, 7, 40, 150]))
        batch = slice(row, row + size)
        X, y, weights = s.X[batch], s.y[batch], s.weights[batch]
        row += size
        way = s.rng.choice(["learn", "test then train", "one by one"])
        answers: list[Any] = [None] * len(X)
        if way == "learn":
            model.partial_fit(X, y, sample_weight=weights)
        elif way == "test then train":
            answers = model.prequential(X, y, sample_weight=weights).tolist()
        else:
            for x, label, weight in zip(X, y, weights, strict=True):
                model.learn_one(x, label, weight)
        rows = zip(X.tolist(), y.tolist(), weights.tolist(), answers, strict=True)
        for x, label, weight, answer in rows:
            if answer is not None and twin.nodes:
                shares, tolerance = twin_answer(twin, x)
                assert same_label(shares, tolerance, answer)
            twin.learn_row(x, label, weight)
        if s.rng.random() < 0.3:
            same_answers(twin, model, asked(s, 2))
    return twin, model


def depth(twin: NaiveMist) -> int:
    """Depth of the twin's tree; a node's parent has a smaller id."""
    depths = [0] * len(twin.nodes)
    for i, node in enumerate(twin.nodes):
        for child in (node.left, node.right):
            if child >= 0:
                depths[child] = depths[i] + 1
    return max(depths)


def agree(s: Stream) -> NaiveMist:
    """Compare all there is to compare; returns the twin."""
    twin, model = learn_both(s)
    same_splits(twin, model)
    assert (model.n_splits_, model.n_leaves_) == (len(twin.splits), len(twin.splits) + 1)
    assert (model.depth_, model.n_rows_) == (depth(twin), twin.seen)
    X = asked(s, 12)
    same_answers(twin, model, X)
    at_once = paper_tree(**s.options).partial_fit(s.X, s.y, sample_weight=s.weights)
    assert at_once.split_log_ == model.split_log_
    np.testing.assert_array_equal(at_once.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(at_once.apply(X), model.apply(X))
    return twin


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(options=choices(OPTIONS), traits=choices(TRAITS))
def test_engine_and_twin_agree_on_any_stream(options, traits):
    agree(stream(options, traits))


def test_engine_and_twin_agree_while_trees_grow():
    """Splits do happen: with every kind of leaf, threshold, inheritance, criterion and bound."""
    rng = np.random.default_rng(0)
    grown, deepest, used = 0, 0, Counter()
    for _ in range(90):
        options, traits = (
            {name: values[rng.integers(len(values))] for name, values in table.items()}
            for table in (OPTIONS, TRAITS)
        )
        options |= {"grace_period": int(rng.choice([5, 20])), "tie_threshold": 5.0}
        options |= {"split_test": "gain", "max_leaves": None if rng.random() < 0.7 else 3}
        traits |= {"classes": int(rng.integers(2, 9)), "distance": 4.0, "rows": 300}
        traits |= {"columns": int(rng.integers(2, 9))}
        s = stream(options, traits)
        twin = agree(s)
        grown += len(twin.splits) > 0
        deepest = max(deepest, depth(twin))
        if twin.splits:
            used.update(
                (name, s.options[name])
                for name in ("leaf", "thresholds", "inheritance", "criterion", "bound")
            )
    assert grown >= 50
    assert deepest >= 4
    for name in ("leaf", "thresholds", "inheritance", "criterion", "bound"):
        assert all(used[name, value] >= 3 for value in OPTIONS[name])


@pytest.mark.parametrize("way", ["partial_fit", "prequential", "learn_one"])
def test_rows_of_weight_zero_may_come_alone(way):
    X, y = [[0.0], [4.0], [1.0]], [0, 1, 0]
    model = paper_tree().partial_fit(X, y)
    before = model.predict_proba(X)
    if way == "learn_one":
        model.learn_one([2.0], 2, 0.0)
    else:
        getattr(model, way)([[2.0], [3.0]], [2, 1], sample_weight=[0.0, 0.0])
    assert (model.n_rows_, model.classes_.tolist()) == (3, [0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), before)
