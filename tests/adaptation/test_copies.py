"""Models that follow streams: saved, copied, merged, forked, and with new columns."""

import pickle
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import mist
from adaptation_streams import CENTRES, OFFSET, draw, eventful, everything, recall, shuffled
from material import by_trees
from mist import MistClassifier
from mist.adaptation.changes import Change
from mist.persistence import save
from mist.persistence.validate import validate_state

KINDS = [("gaussian", "stream"), ("gaussian", "classes"), ("mixture", "stream")]
kinds = pytest.mark.parametrize(("leaf", "adapt"), KINDS)
FIXTURES = Path(__file__).parent.parent / "fixtures"


def saved(model, path):
    save(model, path / "model.mist")
    return mist.load(path / "model.mist")


def pickled(model, path):
    return pickle.loads(pickle.dumps(model))


def copied(model, path):
    return deepcopy(model)


@pytest.mark.parametrize("way", [saved, pickled, copied])
@kinds
def test_a_copy_learns_on_bit_for_bit(leaf, adapt, way, tmp_path):
    X, y = eventful()
    model = MistClassifier(leaf, adapt=adapt)
    for first, last in ((0, 333), (333, 720), (720, 777), (777, 880)):
        model.partial_fit(X[first:last], y[first:last])
        other = way(model, tmp_path)
        assert everything(other) == everything(model)
        rest = slice(last, last + 60)
        if last < len(X):
            again = deepcopy(model)
            assert np.array_equal(
                other.prequential(X[rest], y[rest]), again.prequential(X[rest], y[rest])
            )
            assert everything(other) == everything(again)
    assert {change.kind for change in other.changes_} == {"class moved", "common shift"}
    shares = model.predict_proba(X, next_in_stream=True)
    assert np.array_equal(other.predict_proba(X, next_in_stream=True), shares)


@pytest.mark.parametrize("adapt", ["stream", "classes", None])
def test_a_clone_has_learnt_nothing(adapt):
    X, y = eventful()
    model = MistClassifier("gaussian", adapt=adapt).partial_fit(X, y)
    fresh = clone(model)
    assert fresh.adapt == adapt
    assert not hasattr(fresh, "classes_")
    assert everything(fresh.partial_fit(X, y)) == everything(model)
    model.fit(X[:300], y[:300])
    assert everything(model) == everything(clone(model).partial_fit(X[:300], y[:300]))


@pytest.mark.parametrize("name", ["gaussian", "sketch", "mixture"])
def test_files_without_adapt_follow_nothing(name):
    model = mist.load(FIXTURES / f"format1-{name}.mist")
    assert model.adapt is None
    assert model._follower is None
    assert model.changes_ == []
    label = model.classes_[0]
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    model.learn_one(dict.fromkeys(names, 0.0), label)
    assert model._follower is None


# --- merging ------------------------------------------------------------------------------------


def stationary(seed, labels, n=100):
    rng = np.random.default_rng(seed)
    y = shuffled(rng, labels, n)
    return draw(rng, y), y


def held_out(centres=CENTRES):
    rng = np.random.default_rng(9)
    y = np.repeat(np.arange(4), 60)
    return draw(rng, y, centres), y


@kinds
def test_merged_models(leaf, adapt):
    mine = MistClassifier(leaf, adapt=adapt).partial_fit(*stationary(0, [0, 1]))
    theirs = MistClassifier(leaf, adapt=adapt).partial_fit(*stationary(1, [3, 2, 1]))
    before = everything(theirs)
    mine.merge(theirs)
    validate_state(deepcopy(mine))
    assert everything(theirs) == before
    assert mine._follower.rows == mine.n_rows_ == 500
    assert min(recall(mine, *held_out()).values()) > 0.97
    mine.partial_fit(*stationary(2, [0, 1, 2, 3]))
    assert mine.changes_ == []
    validate_state(deepcopy(mine))
    X, y = held_out()
    assert np.mean(mine.predict(X, next_in_stream=True) == y) > 0.97
    rng = np.random.default_rng(3)
    later = shuffled(rng, [2, 3], 60)
    moved = draw(rng, later) + 9.0 * (later == 2)[:, None] * [0.0, 0.0, 1.0]
    mine.partial_fit(moved, later)
    assert [change.label for change in mine.changes_] == [2]


@kinds
def test_a_model_that_learnt_nothing_takes_over_the_shift(leaf, adapt):
    X, y = eventful()
    model = MistClassifier(leaf, adapt=adapt).partial_fit(X, y)
    assert model._follower.common.shift.any()
    empty = MistClassifier(leaf, adapt=adapt).merge(model)
    # Merging refreshes what is cached of the densities.
    assert np.mean(empty.predict(X) == model.predict(X)) > 0.99
    assert np.abs(empty.score_samples(X) - model.score_samples(X)).mean() < 0.05
    validate_state(deepcopy(empty))


@kinds
def test_forks(leaf, adapt):
    X, y = stationary(0, [0, 1, 2, 3])
    model = MistClassifier(leaf, adapt=adapt).partial_fit(X[:200], y[:200])
    parts = [model.fork(k).partial_fit(X[200 + k :: 2], y[200 + k :: 2]) for k in range(2)]
    for part in parts:
        validate_state(deepcopy(part))
        model.merge(part)
    validate_state(deepcopy(model))
    assert model._follower.rows == model.n_rows_ == 400
    assert model.changes_ == []
    assert min(recall(model, *held_out()).values()) > 0.97
    fresh, labels = stationary(4, [0, 1, 2, 3])
    assert np.mean(model.prequential(fresh, labels) == labels) > 0.97
    assert model.changes_ == []


def test_forks_learn_without_the_common_shift():
    X, y = eventful()
    model = MistClassifier("gaussian").partial_fit(X, y)
    plain = deepcopy(model)
    rng = np.random.default_rng(0)
    more = shuffled(rng, [0, 1, 2, 3], 20)
    rows = draw(rng, more, CENTRES + OFFSET)
    model.merge(model.fork().partial_fit(rows, more))
    shift = plain._follower.common.shift
    tree = plain._state.tree.stats[:, 0].copy()
    assert shift.any()
    plain._learn_rows(plain._rows_to_learn(rows - shift, more, None, None))
    shares = [by_trees(each, rows) for each in (model, plain)]
    np.testing.assert_allclose(*shares, atol=1e-6)
    assert not np.array_equal(tree, plain._state.tree.stats[:, 0])


# --- columns ------------------------------------------------------------------------------------


def test_new_columns_in_the_midst():
    rng = np.random.default_rng(0)
    y = shuffled(rng, [0, 1, 2, 3], 100)
    X = draw(rng, y)
    late = rng.normal(size=len(y)) + 6.0 * (y % 2)
    names = ["a", "b", "c"]
    one, many = MistClassifier("gaussian"), MistClassifier("gaussian")
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        row = dict(zip(names, x.tolist(), strict=True))
        one.learn_one(row if i < 150 else {**row, "d": late[i]}, label)
    table = dict(zip(names, X[:150].T, strict=True))
    many.learn_many(table, y[:150])
    many.learn_many({**dict(zip(names, X[150:].T, strict=True)), "d": late[150:]}, y[150:])
    assert everything(one) == everything(many)
    validate_state(deepcopy(one))
    assert one.n_features_in_ == 4
    assert one.predict_one({"a": 9.0, "b": 0.0, "c": 0.0, "d": 6.0}) == 1
    assert one.predict_one({"b": 9.0, "a": 0.0}) == 2
    assert one.changes_ == []


def test_a_common_shift_stays_with_its_columns():
    X, y = eventful()
    model = MistClassifier("gaussian").learn_many(dict(zip("abc", X.T, strict=True)), y)
    shift = model._follower.common.shift.copy()
    assert shift.any()
    model.learn_one({"a": 0.0, "b": 0.0, "c": 0.0, "d": 1.0}, 0)
    assert np.array_equal(model._follower.common.shift, [*shift, 0.0])
    validate_state(deepcopy(model))


def test_0_1_columns():
    X, y = eventful()
    X = np.column_stack([y % 2, X[:, 0], (y > 1).astype(float), X[:, 1:]])
    model = MistClassifier("gaussian", categorical_features=[0, 2]).partial_fit(X, y)
    assert len(model._follower.common.shift) == 3
    validate_state(deepcopy(model))
    assert model.score(X[-100:], y[-100:]) > 0.95
    assert np.mean(model.predict(X[-100:], next_in_stream=True) == y[-100:]) > 0.95


# --- forged files -------------------------------------------------------------------------------


def part(*names, **change):
    """Replace fields of a named tuple of the follower."""

    def tamper(model):
        owner = model._follower
        for name in names[:-1]:
            owner = getattr(owner, name)
        group = getattr(owner, names[-1])
        made = {name: make(getattr(group, name)) for name, make in change.items()}
        setattr(owner, names[-1], group._replace(**made))

    return tamper


def inner(name, **change):
    """Replace fields of `labels` or `recent`."""

    def tamper(model):
        state = model._follower.expectation.state
        group = getattr(state, name)
        made = {field: make(getattr(group, field)) for field, make in change.items()}
        model._follower.expectation.state = state._replace(**{name: group._replace(**made)})

    return tamper


def attribute(name, value):
    return lambda model: setattr(model._follower, name, value)


def less(array):
    return array[:-1].copy()


def single(array):
    return array.astype(np.float32)


def narrower(array):
    return array[..., :-1].copy()


def fewer_codes(model):
    model._follower.moved = type(model._follower.moved)(*map(less, model._follower.moved))


def other_expectation_rows(model):
    model._follower.expectation.rows = -1


FORGED = {
    "no follower": lambda model: setattr(model, "_follower", None),
    "a follower of another type": lambda model: setattr(model, "_follower", {"rows": 3}),
    "no scores": lambda model: setattr(model._state, "conformity", None),
    "rows below 0": attribute("rows", -1),
    "rows with a fraction": attribute("rows", 3.5),
    "changes that are a tuple": attribute("changes", ()),
    "changes of another type": attribute("changes", [3]),
    "a change of an unknown class": attribute("changes", [Change(1, "class moved", 9, None)]),
    "too many changes": attribute("changes", [Change(1, "common shift", None, 1.0)] * 1001),
    "no expectation": attribute("expectation", None),
    "evidence of fewer classes": fewer_codes,
    "evidence of another type": part("moved", evidence=single),
    "scores read below 0": part("moved", read=lambda a: a - 10_000),
    "another evidence": attribute("moved", (np.zeros(4), np.zeros(4, np.int64))),
    "another common shift": attribute("common", ()),
    "a narrow shift": part("common", shift=less),
    "a narrow change of the shift": part("common", found=less),
    "narrow means": part("common", mean=narrower),
    "totals of fewer classes": part("common", total=less),
    "a smaller scatter": part("common", scatter=less),
    "fewer sums": part("common", sums=less),
    "rows of a block below 0": part("common", rows=lambda a: a - 100),
    "differences of another type": part("common", difference=single),
    "fewer experts": part("expectation", "state", weights=less),
    "a smaller curvature": part("expectation", "state", curvature=less),
    "rows of the expectation below 0": other_expectation_rows,
    "labels of another type": inner("labels", count=single),
    "counts of fewer labels": inner("labels", count=less),
    "a narrow table of what followed": inner("labels", followed=narrower),
    "a last label that is none": inner("labels", last=lambda a: a + 90),
    "a last label below -1": inner("labels", last=lambda a: a - 90),
    "recent means of fewer columns": inner("recent", mean=narrower),
    "smaller recent factors": inner("recent", factor=narrower),
    "recent factors of fewer classes": inner("recent", factor=less),
    "one memory": inner("recent", weight=narrower),
    "another decay": inner("recent", decay=lambda a: a * 0.5),
    "recent rows below 0": inner("recent", rows=lambda a: a - 10_000),
    "long-run means of fewer columns": inner("recent", long_mean=narrower),
    "an overall mean of fewer columns": inner("recent", overall=narrower),
}


@pytest.fixture(scope="module")
def followed():
    X, y = eventful()
    return MistClassifier("gaussian").partial_fit(X, y)


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_follower_is_refused(name, followed, tmp_path):
    model = deepcopy(followed)
    FORGED[name](model)
    save(model, tmp_path / "forged.mist")
    path = re.escape(str(tmp_path / "forged.mist"))
    with pytest.raises(ValueError, match=f"^{path}: "):
        mist.load(tmp_path / "forged.mist")


def test_a_follower_where_none_belongs_is_refused(followed):
    model = deepcopy(followed)
    other = MistClassifier("gaussian", adapt=None).partial_fit([[1.0, 2.0, 3.0]] * 4, [0, 1, 2, 3])
    validate_state(deepcopy(other))
    other._follower = model._follower
    with pytest.raises(ValueError, match="follower"):
        validate_state(deepcopy(other))
