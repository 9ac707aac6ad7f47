"""Splits on trial: the test, its level, and the children that are promoted."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from material import fingerprint
from mist import MistClassifier
from mist.engine import candidate_splits
from mist.engine.inheritance import split_leaf
from mist.engine.leaf_copy import one_leaf_state
from mist.engine.state import State
from naive_candidate_splits import NaiveCandidateSplits
from published import paper_tree

NAN = np.nan
QUICK = {"split_test": "eprocess", "grace_period": 40, "rows_per_split": 150}


def xor_rows(n: int, seed: int = 0, holes: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class is told by two columns together and by neither alone; a third is noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    y = ((X[:, 0] > 0.0) ^ (X[:, 1] > 0.0)).astype(int)
    X[rng.random(X.shape) < holes] = NAN
    return X, y


def noise_rows(n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows that tell nothing of their class."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def model_of(leaf: str = "gaussian", **options: Any) -> MistClassifier:
    return paper_tree(leaf, **{**QUICK, **options})


def learn_in_cuts(model: MistClassifier, X, y, weights, sizes: list[int]) -> MistClassifier:
    row, turn = 0, 0
    while row < len(X):
        rows = slice(row, row + sizes[turn % len(sizes)])
        if weights[rows].any():
            model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        row, turn = rows.stop, turn + 1
    return model


# --- the test -----------------------------------------------------------------------------------


def test_a_split_that_two_columns_need_together_is_found():
    X, y = xor_rows(2000)
    model = model_of().partial_fit(X, y)
    assert model.n_splits_ >= 2
    assert {s.feature for s in model.split_log_[:2]} == {0, 1}
    assert model.score(X, y) > 0.9
    assert paper_tree(grace_period=40).partial_fit(X, y).n_splits_ == 0


def test_a_leaf_that_needs_no_split_keeps_its_level():
    # One Gaussian a class: a leaf is right as it is, whatever columns are tried.
    runs, delta = 40, 0.2
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 1500)
        X = rng.normal(size=(1500, 3)) + y[:, None] * [0.7, 0.3, 0.0]
        wrong += model_of(delta=delta).partial_fit(X, y).n_splits_ > 0
    assert wrong <= binom.ppf(0.999, runs, delta)


def fair_game(rng: np.random.Generator, delta: float, leaf: int = 0) -> bool:
    """Whether one of four candidates of three sets is ever promoted though none is better."""
    for number in (1, 2, 3):
        batch = candidate_splits.CandidateSet(
            number, 0.0, np.zeros(4, bool), tuple(no_state_trial() for _ in range(4))
        )
        for trial in batch.candidates:
            x = rng.choice([-1.0, 1.0], 2000) * rng.uniform(0.1, 1.0)
            reached = np.full(x.size, leaf)
            candidate_splits.stake(trial.capital, trial.most, reached, leaf, np.zeros(x.size), x)
        if candidate_splits.winner(batch, delta) is not None:
            return True
    return False


def no_state_trial() -> candidate_splits.CandidateSplit:
    return candidate_splits.CandidateSplit(None, 0.0, np.ones(4), np.ones(1))


def test_a_fair_game_is_won_with_a_probability_of_delta_at_most_over_all_batches():
    rng = np.random.default_rng(0)
    delta, runs = 0.3, 400
    won = sum(fair_game(rng, delta) for _ in range(runs))
    # The bound is not idle either: a threshold that forgot candidates or batches would be passed.
    assert 0.15 * delta * runs < won <= binom.ppf(0.999, runs, delta)


def test_the_richest_of_those_that_ever_had_enough_wins():
    def trial(most: float, now: float) -> candidate_splits.CandidateSplit:
        return no_state_trial()._replace(capital=np.full(4, now), most=np.array([most]))

    batch = candidate_splits.CandidateSet(
        1, 0.0, np.zeros(4, bool), (trial(59.0, 59.0), trial(61.0, 3.0))
    )
    assert (
        candidate_splits.winner(batch, 0.1) is batch.candidates[0]
    )  # needed: 2 candidates * 1 * 2 / 0.1 = 40
    assert candidate_splits.winner(batch, 2 * 2 / 60.0) is batch.candidates[1]
    assert candidate_splits.winner(batch, 2 * 2 / 58.0) is batch.candidates[0]
    assert candidate_splits.winner(batch._replace(number=2), 0.1) is None


# --- the twin -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_engine_and_twin_agree(seed):
    rng = np.random.default_rng(seed)
    X, y = xor_rows(400, seed, holes=0.05)
    X[: 100 * (seed % 2)] = rng.uniform(-1.0, 1.0, (100 * (seed % 2), 3))  # holes come later
    y[350:] += 2  # classes that come late
    weights = rng.choice([0.0, 1.0, 1.0, 2.0], len(X))
    options = {
        "grace_period": 20,
        "rows_per_split": 40,
        "sketch_size": 1024,
        "inheritance": ["gaussian", "mass", None][seed % 3],
        "max_features": [None, 0.6][seed // 3],
        "max_leaves": [None, 4][seed % 2],
        "variance_prior": [1.0, 0.1, 30.0][seed // 2],
        "delta": 0.5,
        "split_test": "eprocess",
    }
    twin, model = NaiveCandidateSplits("gaussian", **options), paper_tree("gaussian", **options)
    learn_in_cuts(model, X, y, weights, [1, 60, 7])
    for x, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        twin.learn_row(x, label, weight)
    made = [(s.node, s.feature, s.seen) for s in model.split_log_]
    assert made == [(node, feature, seen) for node, feature, _, seen in twin.splits]
    assert made
    proba = model.predict_proba(X)
    for x, p in zip(X[::5].tolist(), proba[::5].tolist(), strict=True):
        known = twin.predict_proba(x)
        assert p == pytest.approx([known[label] for label in model.classes_.tolist()], abs=1e-9)
    for leaf, batch in twin.batches.items():
        if options["max_leaves"] is None:
            mine = model._state.candidate_splits[int(model._state.tree.nodes.leaf[leaf])]
            assert [float(t.most[0]) for t in mine.candidates] == pytest.approx(
                [t.most for t in batch.candidates], rel=1e-6
            )


# --- rows, not calls, decide --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaf", "holes"), [("gaussian", 0.03), ("sketch", 0.03), ("mixture", 0.03)]
)
def test_sizes_of_batches_and_pickling_do_not_matter_bit_for_bit(leaf, holes):
    X, y = xor_rows(900, 3, holes)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 0.5, 1.0, 2.5], len(X))
    options = {"inheritance": "joint", "discount": 1.0, "class_prior": "balanced", "delta": 0.9}
    whole = model_of(leaf, **options).partial_fit(X, y, sample_weight=weights)
    assert whole.n_splits_ > 0
    assert whole._state.candidate_splits
    parts = learn_in_cuts(model_of(leaf, **options), X, y, weights, [1, 90, 13, 1, 2])
    assert fingerprint(parts) == fingerprint(whole)
    for duplicate in (lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy):
        original = model_of(leaf, **options).partial_fit(X[:333], y[:333], None, weights[:333])
        before = fingerprint(original)
        other = duplicate(original).partial_fit(X[333:], y[333:], sample_weight=weights[333:])
        assert fingerprint(other) == fingerprint(whole)
        assert fingerprint(original) == before


def test_foretelling_learns_the_same_and_foretells_the_same():
    X, y = xor_rows(700, 5)
    whole, told = model_of().partial_fit(X, y), model_of()
    answers = [told.predict(X[[i]])[0] if i else 0 for i in range(1)]
    answers += told.prequential(X[:300], y[:300]).tolist()[1:]
    answers += told.prequential(X[300:], y[300:]).tolist()
    assert whole.n_splits_ > 0
    assert fingerprint(told) == fingerprint(whole)
    again = model_of().partial_fit(X[:1], y[:1])
    for i in range(1, len(X)):
        assert again.predict(X[[i]])[0] == answers[i]
        again.partial_fit(X[[i]], y[[i]])


def test_memory_that_must_not_be_written_to_is_copied_with_the_candidates():
    X, y = noise_rows(400)
    model = model_of().partial_fit(X[:200], y[:200])

    def lock(state: State) -> None:
        for batch in state.candidate_splits.values():
            for trial in batch.candidates:
                trial.capital.flags.writeable = False
                trial.state.tree.stats.flags.writeable = False

    lock(model._state)
    model.__setstate__(model.__getstate__())
    expected = model_of().partial_fit(X, y)
    assert fingerprint(model.partial_fit(X[200:], y[200:])) == fingerprint(expected)


# --- promoted children --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaf", "holes"), [("gaussian", 0.03), ("sketch", 0.03), ("full", 0.03), ("mixture", 0.03)]
)
def test_promoted_children_are_those_of_a_tree_split_when_the_trial_was_opened(leaf, holes):
    X, y = xor_rows(900, 7, holes)
    y[500:] += 1
    options = {"inheritance": "joint", "discount": 1.0, "class_prior": "balanced"}
    model = model_of(leaf, **options)
    row, opened = 0, 0.0
    while not (row and model.n_splits_):
        batch = model._state.candidate_splits.get(0) if row else None
        opened = opened if batch is None else batch.opened
        model.partial_fit(X[[row]], y[[row]])
        row += 1
    split = model.split_log_[0]
    at = int(opened)
    assert 0 < at < split.seen == row

    other = model_of(leaf, max_leaves=1, **options).partial_fit(X[:at], y[:at])
    split_leaf(other._state, 0, split.feature, split.threshold, "joint", 1.0)
    other.set_params(max_leaves=2).partial_fit(X[at:row], y[at:row])
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    # What does not show in a prediction, such as sketches and trials of components, goes on too.
    other.partial_fit(X[row:], y[row:])
    model.set_params(max_leaves=2).partial_fit(X[row:], y[row:])
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.apply(X), model.apply(X))


@pytest.mark.parametrize(("leaf", "holes"), [("gaussian", 0.03), ("sketch", 0.03), ("full", 0.03)])
def test_a_transplanted_leaf_goes_on_as_the_original_does(leaf, holes):
    X, y = xor_rows(900, 2, holes)
    original = model_of(leaf, max_leaves=1, class_prior="balanced").partial_fit(X[:500], y[:500])
    other = copy.deepcopy(original)
    other._state = one_leaf_state(original._state, 0)
    np.testing.assert_array_equal(other.predict_proba(X), original.predict_proba(X))
    other.partial_fit(X[500:], y[500:])
    assert other.n_rows_ == 900
    np.testing.assert_array_equal(
        other.predict_proba(X), original.partial_fit(X[500:], y[500:]).predict_proba(X)
    )


# --- options ------------------------------------------------------------------------------------


def test_candidates_end_with_the_limit_of_leaves_and_with_another_test():
    X, y = xor_rows(900)
    model = model_of(max_leaves=2).partial_fit(X, y)
    assert model.n_leaves_ == 2
    assert not model._state.candidate_splits
    X, y = noise_rows(301)
    model = model_of().partial_fit(X[:300], y[:300])
    assert model._state.candidate_splits
    before = model.nbytes
    model.set_params(split_test="gap").partial_fit(X[300:301], y[300:301])
    assert not model._state.candidate_splits
    assert model.nbytes < before / 2


def test_the_next_columns_follow_and_a_round_begins_anew():
    X, y = noise_rows(1700, 6)
    model = model_of()
    seen = []
    for row in range(0, len(X), 20):
        model.partial_fit(X[row : row + 20], y[row : row + 20])
        batch = model._state.candidate_splits.get(0)
        if batch is not None and batch.number > len(seen):
            seen.append([int(t.state.tree.nodes.feature[0]) for t in batch.candidates])
    assert [len(columns) for columns in seen[:4]] == [4, 2, 4, 2]
    assert sorted(seen[0] + seen[1]) == list(range(6))
    assert sorted(seen[2] + seen[3]) == list(range(6))


def test_new_columns_come_to_the_candidates_as_well():
    X, y = noise_rows(200)
    model = model_of()
    for x, label in zip(X[:60].tolist(), y.tolist(), strict=False):
        model.learn_one({"a": x[0], "b": x[1]}, label)
    assert model._state.candidate_splits
    for x, label in zip(X[60:].tolist(), y[60:].tolist(), strict=True):
        model.learn_one({"a": x[0], "b": x[1], "c": x[2]}, label)
    batch = model._state.candidate_splits[0]
    assert {t.state.n_features for t in batch.candidates} == {len(batch.used)} == {3}
    # A trial that takes the leaf's place now makes a tree of three columns like any other.
    candidate_splits.promote(model._state, 0, batch.candidates[0])
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one({"a": x[0], "b": x[1], "c": x[2]}, label)
    assert model.n_leaves_ >= 2
    assert 0.0 < model.predict_proba_one({"c": 0.3})[0] < 1.0
