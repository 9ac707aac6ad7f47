"""A machine that does to models all that users may do, in any order, and looks after every step.

Models with Gaussian, sketch and majority leaves have a slow twin (`naive`), which does the same:
splits, masses, moments, sketches and answers must be those of the twin. Others must be true to
themselves: mass, counts, probabilities, files. A refused call must leave no trace.
"""

from __future__ import annotations

import copy
import math
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone

import naive_fork
from agreeing import OPTIONS, choices, possible, same_label, same_tree, twin_answer
from material import fingerprint
from mist import MistClassifier, MistForest, load
from mist.engine.state import N_LEAVES, leaf_cells
from mist.flat_settings import set_settings
from mist.presets import PAPER_SETTINGS
from naive import NaiveMist
from reliability.world import WEIGHTS, Rows, World

PATHS = {"_checked_options", "_fast_path", "_following_path"}
"""Attributes that calls may make or drop."""

EAGER = {"grace_period": [3, 10, 40], "split_test": ["gain", "gap", "schedule"]}
"""Trees that do split after a few rows."""

CHANGEABLE = {
    "delta": [0.1, 0.5],
    "tie_threshold": [0.0, 1.0, 5.0],
    "n_thresholds": [1, 4, 10],
    "union_bound": [True, False],
    "rows_per_split": [1, 30],
    "max_leaves": [None, 1, 3],
    "max_features": [None, 0.3],
    "split_test": ["gain", "gap", "schedule"],
}
"""Options that may change while a model learns, whatever the others are."""

FIXED = {"leaf": "full", "grace_period": 11, "sketch_size": 99, "variance_prior": 0.7}
"""Options that may not."""

seeds = st.integers(0, 2**32 - 1)
numbers = st.integers(1, 2)
sizes = st.sampled_from([1, 1, 2, 7, 30])
weights_of = st.sampled_from(WEIGHTS)


def bits(model: Any) -> Any:
    """All that a tree or a forest knows, comparable bit for bit."""
    if isinstance(model, MistForest):
        trees = [bits(tree) for tree in getattr(model, "trees_", [])]
        masses = getattr(model, "_masses", np.zeros(0)).tobytes()
        return trees, masses, getattr(model, "_n_rows", 0)
    return fingerprint(model) if hasattr(model, "_state") else None


class Learner(RuleBasedStateMachine):
    """What all models have in common."""

    model: Any
    twin: NaiveMist | None = None
    named = False
    received = 0.0
    learnt = 0
    plain = True  # whether it is as if all rows had come in one batch

    def begin(self, model: Any, world: World, named: bool) -> None:
        self.model, self.world, self.named = model, world, named
        self.history: list[Rows] = []
        self.totals: dict[Any, float] = {}

    def names(self, d: int) -> list[str]:
        return [f"c{j}" for j in range(d)]

    def table(self, X: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(self.names(X.shape[1]), X.T, strict=True))

    def fitted(self) -> bool:
        return self.learnt > 0

    def note(self, rows: Rows, answers: Any = None) -> None:
        """Count the rows and teach them to the twin, whose answers come first."""
        given = [None] * len(rows.X) if answers is None else answers.tolist()
        for x, label, w, answer in zip(*(a.tolist() for a in rows), given, strict=True):
            if self.twin is not None:
                if answer is not None and self.twin.nodes:
                    shares, tolerance = twin_answer(self.twin, x, self.balance())
                    assert same_label(shares, tolerance, answer)
                self.twin.learn_row(x, label, w)
            if w > 0.0:
                self.learnt += 1
                self.received += w
                self.totals[label] = self.totals.get(label, 0.0) + w
        self.history.append(rows)

    def balance(self) -> dict[Any, float] | None:
        return self.totals if getattr(self.model, "class_prior", None) == "balanced" else None

    # --- learning ---------------------------------------------------------------------------

    @rule(
        seed=seeds,
        n=sizes,
        weights=weights_of,
        outlying=st.booleans(),
        way=st.sampled_from(["batch", "test then train", "one by one"]),
    )
    def learn(self, seed, n, weights, outlying, way):
        rows = self.world.rows(seed, n, weights, outlying)
        if not (self.fitted() or (rows.weights > 0.0).any()):
            return
        answers = None
        X: Any = self.table(rows.X) if self.named else rows.X
        if way == "one by one":
            for x, label, w in zip(*rows, strict=True):
                one = dict(zip(self.names(len(x)), x.tolist(), strict=True)) if self.named else x
                self.model.learn_one(one, label, float(w))
        elif way == "batch":
            learn = self.model.learn_many if self.named else self.model.partial_fit
            learn(X, rows.y, sample_weight=rows.weights)
        else:
            ask = self.model.prequential_many if self.named else self.model.prequential
            answers = ask(X, rows.y, sample_weight=rows.weights)
        self.note(rows, answers)

    @precondition(lambda self: self.fitted() and self.world.classes < 20)
    @rule(n=numbers)
    def classes_arrive(self, n):
        self.world.classes += n

    @precondition(lambda self: self.fitted() and self.named and self.world.columns < 7)
    @rule(seed=seeds, n=numbers, one=st.booleans())
    def columns_arrive(self, seed, n, one):
        self.plain = False
        self.world.grow(n)
        rows = self.world.rows(seed, 2, [1.0])
        if self.twin is not None:
            naive_fork.widen(self.twin, n)
        if one:
            for x, label in zip(rows.X, rows.y, strict=True):
                self.model.learn_one(dict(zip(self.names(len(x)), x.tolist(), strict=True)), label)
        else:
            self.model.learn_many(self.table(rows.X), rows.y)
        self.note(rows)

    # --- copies -----------------------------------------------------------------------------

    @precondition(lambda self: self.fitted())
    @rule(how=st.sampled_from(["file", "pickle", "deepcopy"]))
    def copied(self, how):
        before = bits(self.model)
        if how == "file":
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.mist"
                self.model.save(path)
                other = load(path)
        elif how == "pickle":
            other = pickle.loads(pickle.dumps(self.model))
        else:
            other = copy.deepcopy(self.model)
        assert bits(other) == before == bits(self.model)
        assert other.get_params().keys() == self.model.get_params().keys()
        self.model = other

    @precondition(lambda self: self.fitted() and self.plain and not self.named)
    @rule()
    def taught_anew(self):
        """A clone that learns all rows in one batch is the same, bit for bit."""
        X, y, weights = (np.concatenate(parts) for parts in zip(*self.history, strict=True))
        other = clone(self.model)
        assert bits(other.partial_fit(X, y, sample_weight=weights)) == bits(self.model)

    @precondition(lambda self: self.fitted())
    @rule(seed=seeds, number=st.integers(0, 3), forks=numbers, n=sizes, weights=weights_of)
    def forked_and_merged(self, seed, number, forks, n, weights):
        self.plain = False
        before = bits(self.model)
        parts, twins, batches = [], [], []
        began = [0.0, *(node.mass for node in self.twin.nodes[1:])] if self.twin else None
        for k in range(forks):
            part = self.model.fork(number + k)
            rows = self.world.rows(seed + k, n, weights)
            if self.named:
                part.learn_many(self.table(rows.X), rows.y, sample_weight=rows.weights)
            else:
                part.partial_fit(rows.X, rows.y, sample_weight=rows.weights)
            parts.append(part)
            batches.append(rows)
            if self.twin is not None:
                twin = naive_fork.fork(self.twin, number + k)
                for x, label, w in zip(*(a.tolist() for a in rows), strict=True):
                    twin.learn_row(x, label, w)
                twins.append(twin)
        assert bits(self.model) == before
        own, self.twin = self.twin, None
        for part, rows in zip(parts, batches, strict=True):
            self.model.merge(part)
            self.note(rows)
        self.twin = own
        for twin in twins:
            naive_fork.merge(self.twin, twin, began)

    # --- refusals ---------------------------------------------------------------------------

    def refused(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        before, keys = bits(self.model), set(vars(self.model))
        with pytest.raises((ValueError, TypeError)):
            call(*arguments, **named)
        assert bits(self.model) == before
        assert set(vars(self.model)) | PATHS == keys | PATHS

    @rule(
        seed=seeds,
        what=st.sampled_from(
            ["infinite", "too large", "labels", "weights", "shape", "mixed", "binary", "nan label"]
        ),
        one=st.booleans(),
    )
    def bad_rows(self, seed, what, one):
        rows = self.world.rows(seed, 1 if one else 5, [1.0])
        X, y, w = rows.X.copy(), rows.y.astype(object), rows.weights.copy()
        row = seed % len(X)
        if what in ("infinite", "too large"):
            X[row, -1] = math.inf if what == "infinite" else 1e151
        elif what == "labels":
            y = None if one else y[1:]
        elif what == "weights":
            w[row] = [-1.0, math.nan, math.inf, 2.0**31 + 1][seed % 4]
        elif what == "shape":
            if self.named or not self.fitted():
                return
            X = np.hstack([X, X])
        elif what == "mixed":
            y[row] = 3 if self.world.text else "three"
            if not self.fitted() and one:
                return
        elif what == "binary":
            if not self.world.binary:
                return
            X[row, 0] = 2.0
        else:
            y[row] = [None, math.nan, (1, 2)][seed % 3]
        if one and not self.named:
            label = None if y is None else y[0]
            self.refused(self.model.learn_one, X[0], label, float(w[0]))
        elif self.named:
            self.refused(self.model.learn_many, self.table(X), y, sample_weight=w)
        else:
            call = self.model.partial_fit if seed % 2 else self.model.prequential
            self.refused(call, X, y, sample_weight=w)

    # --- invariants -------------------------------------------------------------------------

    def trees(self) -> list[MistClassifier]:
        return self.model.trees_ if isinstance(self.model, MistForest) else [self.model]

    @invariant()
    def nothing_is_lost(self):
        if not self.fitted():
            return
        assert self.model.n_rows_ == self.learnt
        drawn = isinstance(self.model, MistForest) and self.model.bootstrap
        for tree in self.trees():
            arrays, options = tree._state.tree, tree.settings()
            received = float(arrays.nodes.mass[0]) if drawn else self.received
            assert arrays.nodes.mass[0] == pytest.approx(received, rel=1e-9)
            held = 0.0
            for leaf in range(int(arrays.counters[N_LEAVES])):
                cells = arrays.cells[leaf_cells(arrays, leaf)]
                record, mass = arrays.leaves[leaf], float(cells["mass"].sum())
                assert (cells["mass"] > 0.0).all()
                assert record["weight_seen"] == pytest.approx(
                    cells["count"].sum(), rel=1e-9, abs=1e-300
                )
                node = arrays.nodes.mass[record["node"]]
                assert node == pytest.approx(0.0 if record["prior_only"] else mass, rel=1e-9)
                held += 0.0 if record["prior_only"] else mass
            lost = 0.5 * 2 * tree.n_splits_ * len(tree.classes_)
            assert held <= received * (1 + 1e-9)
            whole = options["inheritance"] == "joint" and options["discount"] == 1.0
            if whole and not self.merged_apart():
                assert held >= (received - lost) * (1 - 1e-9)

    def merged_apart(self) -> bool:
        return False

    @invariant()
    def answers_are_probabilities(self):
        if not self.fitted():
            return
        X = self.world.questions(self.learnt)
        asked: Any = self.table(X) if self.named else X
        suffix = "_many" if self.named else ""
        proba = getattr(self.model, f"predict_proba{suffix}")(asked)
        labels = getattr(self.model, f"predict{suffix}")(asked)
        assert np.isfinite(proba).all()
        assert (proba >= 0.0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
        # With balanced priors the label is the one whose probability is largest for its frequency.
        scores = proba / self.model._totals().clip(1e-300) if self.model._is_balanced() else proba
        chosen = scores[np.arange(len(X)), np.searchsorted(self.model.classes_, labels)]
        np.testing.assert_allclose(chosen, scores.max(axis=1), rtol=1e-9)
        one = {k: float(v[0]) for k, v in asked.items()} if self.named else X[0]
        as_next = getattr(self.model, f"predict{suffix}")(asked, next_in_stream=True)
        assert self.model.predict_one(one) == as_next[0]
        if self.twin is not None:
            self.same_answers(X, proba, labels)

    def same_answers(self, X, proba, labels):
        assert self.twin is not None
        assert set(self.model.classes_.tolist()) == set(self.twin.labels)
        totals = self.balance()
        classes = self.model.classes_.tolist()
        frequencies = np.array([1.0 if totals is None else totals[c] for c in classes])
        for x, p, label in zip(X.tolist(), proba, labels.tolist(), strict=True):
            shares, tolerance = twin_answer(self.twin, x, totals)
            assert same_label(shares, tolerance, label)
            expected = np.array([shares[c] for c in classes]) * frequencies
            expected /= expected.sum()
            # A rare class gives its rounding to frequent ones as many times as they have more rows.
            tolerance *= frequencies.max() / frequencies.min()
            np.testing.assert_allclose(p, expected, atol=tolerance, rtol=0)


class Twinned(Learner):
    """Models that a slow twin follows."""

    @initialize(
        options=choices({**OPTIONS, **EAGER, "class_prior": ["counts", "balanced"]}),
        seed=seeds,
        columns=st.integers(1, 5),
        binary=st.integers(0, 2),
        missing=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
        scales=st.booleans(),
        named=st.booleans(),
    )
    def start(self, options, seed, columns, binary, missing, scales, named):
        binary = min(binary, columns)
        options = {**possible(options), "categorical_features": list(range(binary)) or None}
        prior = options.pop("class_prior")
        # A model forgets values without effect, which others may give an effect later.
        self.settings = {**PAPER_SETTINGS, **options, "class_prior": prior}
        self.begin(
            MistClassifier.from_settings(**self.settings),
            World(seed, columns, binary, missing, scales),
            named,
        )
        self.twin = NaiveMist(**options)

    @rule(name=st.sampled_from(sorted(CHANGEABLE)), at=st.integers(0, 2))
    def option_changes(self, name, at):
        value = CHANGEABLE[name][at % len(CHANGEABLE[name])]
        self.plain = False
        self.settings[name] = value
        set_settings(self.model, **self.settings)
        setattr(self.twin, name, value)

    @precondition(lambda self: self.fitted())
    @rule(name=st.sampled_from(sorted(FIXED)), seed=seeds)
    def option_may_not_change(self, name, seed):
        before = self.model.settings()
        if set_settings(self.model, **{name: FIXED[name]}).settings() == before:
            return  # it has no effect
        rows = self.world.rows(seed, 2, [1.0])
        if self.named:
            self.refused(self.model.learn_many, self.table(rows.X), rows.y)
        else:
            self.refused(self.model.partial_fit, rows.X, rows.y)
        set_settings(self.model, **self.settings)

    @invariant()
    def the_twin_knows_the_same(self):
        if self.fitted():
            same_tree(self.twin, self.model)


ALONE: dict[str, list[Any]] = {
    "leaf": ["mixture", "mixture", "full"],
    "grace_period": [3, 10, 40],
    "split_test": ["gain", "gap", "schedule", "eprocess"],
    "rows_per_split": [1, 30],
    "tie_threshold": [0.05, 5.0],
    "delta": [0.1, 0.5],
    "inheritance": ["gaussian", "mass", "sketch", "joint", "joint", None],
    "discount": [0.6, 1.0],
    "thresholds": ["medians", "dense", "sampled", "gaussian"],
    "sketch_size": [8, 64],
    "class_prior": ["counts", "balanced"],
    "max_components": [1, 3, 16],
    "max_leaves": [None, 3],
    "max_classes_per_leaf": [None, 1],
    "open_world": [False, True],
    "random_state": [None, 7],
}

FORESTS: dict[str, list[Any]] = {
    "n_trees": [1, 2],
    "max_features": [None, 0.5],
    "bootstrap": [False, True],
    "random_state": [None, 5],
}


class Alone(Learner):
    """Models without a twin: every leaf, and forests, which must be true to themselves."""

    apart = False

    @initialize(
        options=choices(ALONE),
        forest=st.one_of(st.none(), st.none(), choices(FORESTS)),
        seed=seeds,
        columns=st.sampled_from([1, 2, 3, 5, 102]),
        binary=st.integers(0, 2),
        missing=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
        scales=st.booleans(),
        named=st.booleans(),
    )
    def start(self, options, forest, seed, columns, binary, missing, scales, named):
        binary = min(binary, columns)
        options = possible({**options, "criterion": "gini"})
        options["categorical_features"] = list(range(binary)) or None
        model: Any = MistClassifier.from_settings(**options)
        if forest is not None:
            model = MistForest(model, **forest)
        self.begin(model, World(seed, columns, binary, missing, scales), named)

    @precondition(lambda self: self.fitted())
    @rule(seed=seeds, n=sizes, weights=weights_of)
    def merged_with_another(self, seed, n, weights):
        """A model that learnt other rows from the start, with splits of its own."""
        rows = self.world.rows(seed, n, weights)
        if not (rows.weights > 0.0).any():
            return
        other = clone(self.model)
        if self.named:
            other.learn_many(self.table(rows.X), rows.y, sample_weight=rows.weights)
        else:
            other.partial_fit(rows.X, rows.y, sample_weight=rows.weights)
        before = bits(other)
        self.plain, self.apart = False, True
        self.model.merge(other)
        assert bits(other) == before
        self.note(rows)

    def merged_apart(self) -> bool:
        return self.apart

    @precondition(lambda self: self.fitted() and self.model.get_params().get("open_world"))
    @rule(seed=seeds)
    def novelty_is_asked(self, seed):
        X = self.world.questions(seed)
        if not self.named:
            p = self.model.novelty(X)
            assert ((p > 0.0) & (p <= 1.0)).all()
            assert not np.isnan(self.model.score_samples(X)).any()
