import numpy as np
import pytest

from material import BINARY, EAGER, fingerprint, mixed_rows
from published import paper_tree

X, Y = mixed_rows(3)
LEAVES = pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])


@LEAVES
def test_a_row_of_weight_0_is_absent(leaf):
    weights = np.random.default_rng(0).integers(0, 2, len(X)).astype(float)
    weights[:3] = [0, 1, 0]
    labels = np.where(weights == 0, Y + 10 * (np.arange(len(Y)) % 2), Y)
    rows = np.where((weights == 0)[:, None], 50 * np.nan_to_num(X), np.nan_to_num(X))
    kept = weights > 0
    some = paper_tree(leaf, **EAGER).partial_fit(rows[kept], labels[kept])
    every = paper_tree(leaf, **EAGER).partial_fit(rows, labels, sample_weight=weights)
    assert fingerprint(every) == fingerprint(some)
    foretold = paper_tree(leaf, **EAGER)
    out = foretold.prequential(rows, labels, sample_weight=weights)
    assert fingerprint(foretold) == fingerprint(some)
    np.testing.assert_array_equal(
        out[kept], paper_tree(leaf, **EAGER).prequential(rows[kept], labels[kept])
    )


def test_a_missing_value_in_a_row_of_weight_0_is_absent_too():
    rows = np.nan_to_num(X)
    plain = paper_tree().partial_fit(rows, Y)
    holed = paper_tree().partial_fit(
        np.vstack([np.full((1, 4), np.nan), rows]), [0, *Y], sample_weight=[0.0] + [1.0] * len(Y)
    )
    assert fingerprint(holed) == fingerprint(plain)


def test_a_call_in_which_all_weights_are_0_learns_nothing():
    model = paper_tree(**EAGER).partial_fit(X, Y)
    before = fingerprint(model)
    model.partial_fit(X, Y + 10, sample_weight=np.zeros(len(X)))
    assert fingerprint(model) == before


def test_prequential_of_weight_0_predicts_only():
    model = paper_tree(**EAGER).partial_fit(X, Y)
    before = fingerprint(model)
    out = model.prequential(X, Y, sample_weight=np.zeros(len(X)))
    np.testing.assert_array_equal(out, model.predict(X))
    assert fingerprint(model) == before


def test_fit_and_prequential_need_a_row_with_weight():
    for call in ("fit", "prequential"):
        model = paper_tree()
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"(?i)weight"):
            getattr(model, call)(X, Y, sample_weight=np.zeros(len(X)))
        assert vars(model) == before


@pytest.mark.parametrize("binary", [None, [BINARY]], ids=["numeric", "0/1"])
def test_weight_2_is_a_second_copy(binary):
    # 240 copies: up to 256 rows every learnt row renews the whole leaf.
    rows, labels = X[:120], Y[:120]
    options = {"max_leaves": 1, "categorical_features": binary}
    doubled = paper_tree(**options).fit(rows, labels, sample_weight=np.full(120, 2.0))
    twice = paper_tree(**options).fit(np.repeat(rows, 2, axis=0), np.repeat(labels, 2))
    np.testing.assert_allclose(doubled.predict_proba(X), twice.predict_proba(X), atol=1e-9)
    single = paper_tree(**options).fit(rows, labels)
    assert not np.allclose(doubled.predict_proba(X), single.predict_proba(X), atol=1e-3)


def test_two_halves_are_a_whole():
    rows, labels = X[:120], Y[:120]
    halves = paper_tree().fit(
        np.repeat(rows, 2, axis=0), np.repeat(labels, 2), sample_weight=np.full(240, 0.5)
    )
    whole = paper_tree().fit(rows, labels)
    np.testing.assert_allclose(halves.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_class_masses_are_sums_of_weights():
    model = paper_tree("majority").fit([[0.0]] * 3, list("aab"), sample_weight=[1.5, 0.25, 0.5])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[2.75 / 4.25, 1.5 / 4.25]])
    assert model.leaf_summary()[0].rows == 2.25
    assert model.n_rows_ == 3


def test_sketches_take_weights_as_copies():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    rows = rng.normal(2.0 * y, 1.0)[:, None]
    # Every third row of class 0 stands for three: the same mixture as with equal weights.
    weights = np.where(y == 0, np.where(rows[:, 0] > 0.5, 3.0, 1.0), 1.0)
    times = weights.astype(int)
    weighted = paper_tree("sketch").fit(rows, y, sample_weight=weights)
    copied = paper_tree("sketch").fit(np.repeat(rows, times, axis=0), np.repeat(y, times))
    asked = np.linspace(-2, 4, 61)[:, None]
    gap = np.abs(weighted.predict_proba(asked) - copied.predict_proba(asked))
    plain = paper_tree("sketch").fit(rows, y)
    gap_plain = np.abs(plain.predict_proba(asked) - copied.predict_proba(asked))
    assert gap.mean() < 0.5 * gap_plain.mean()


@LEAVES
def test_fractional_weights_give_the_same_model_every_time(leaf):
    weights = np.random.default_rng(1).uniform(0, 3, len(X))
    first = paper_tree(leaf, **EAGER).fit(X, Y, sample_weight=weights)
    again = paper_tree(leaf, **EAGER).fit(X, Y, sample_weight=weights)
    assert fingerprint(first) == fingerprint(again)
    assert first.n_splits_ > 2
    np.testing.assert_allclose(first.predict_proba(X).sum(axis=1), 1)


def test_a_number_is_the_weight_of_every_row():
    for weight in (2, 0.5, np.float32(1.5)):
        scalar = paper_tree(**EAGER).partial_fit(X, Y, sample_weight=weight)
        vector = paper_tree(**EAGER).partial_fit(X, Y, sample_weight=[float(weight)] * len(X))
        assert fingerprint(scalar) == fingerprint(vector)


def test_no_weights_are_weights_of_1():
    plain = paper_tree(**EAGER).partial_fit(X, Y)
    for weights in (np.ones(len(X)), np.ones(len(X), dtype=int), [1] * len(X)):
        model = paper_tree(**EAGER).partial_fit(X, Y, sample_weight=weights)
        assert fingerprint(model) == fingerprint(plain)


def test_the_grace_period_counts_weight():
    rows = np.array([[0.0], [9.0]] * 20) + np.linspace(0, 1, 40)[:, None]
    labels = [0, 1] * 20
    eager = {**EAGER, "grace_period": 80, "tie_threshold": 9.0}
    assert paper_tree(**eager).fit(rows, labels).n_splits_ == 0
    model = paper_tree(**eager).fit(rows, labels, sample_weight=np.full(40, 2.0))
    assert model.split_log_[0].rows == 80.0
    assert model.split_log_[0].seen == 40


def test_the_largest_weight_is_taken():
    for leaf in ("gaussian", "sketch"):
        model = paper_tree(leaf).fit([[0.0], [1.0]], [0, 1], sample_weight=[2.0**31, 1.0])
        assert model.leaf_summary()[0].rows == 2.0**31 + 1
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]).sum(axis=1), 1)


ONES = np.ones(len(X))
BAD_WEIGHTS = {
    "negative": (np.where(np.arange(len(X)) == 7, -1.0, 1.0), r"(?i)negative"),
    "NaN": (np.where(np.arange(len(X)) == 7, np.nan, 1.0), "NaN"),
    "infinity": (np.where(np.arange(len(X)) == 7, np.inf, 1.0), r"(?i)inf"),
    "too large": (np.where(np.arange(len(X)) == 7, 2.0**31 + 1, 1.0), r"row 7 is .*2\*\*31"),
    "too few": (ONES[1:], r"sample_weight.*\(299,\)|inconsistent"),
    "too many": ([1.0] * (len(X) + 1), r"sample_weight.*\(301,\)|inconsistent"),
    "a table": (np.ones((len(X), 1)), r"(?i)sample.weights? must be 1D"),
    "text": (["heavy"] * len(X), "not a number"),
}


@pytest.mark.parametrize(("weights", "match"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
@pytest.mark.parametrize("call", ["fit", "partial_fit", "prequential"])
def test_refused_weights_and_nothing_learnt(call, weights, match):
    model = paper_tree(**EAGER).partial_fit(X, Y)
    before = fingerprint(model)
    with pytest.raises(ValueError, match=match):
        getattr(model, call)(X, Y, sample_weight=weights)
    assert fingerprint(model) == before
    fresh = paper_tree()
    untouched = dict(vars(fresh))
    with pytest.raises(ValueError, match=match):
        getattr(fresh, call)(X, Y, sample_weight=weights)
    assert vars(fresh) == untouched
