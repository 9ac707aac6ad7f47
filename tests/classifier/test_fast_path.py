"""The short way of single rows: what the checks of a batch would do, bit for bit, only sooner."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from material import BINARY, EAGER, fingerprint, mixed_rows
from mist import MistClassifier
from mist.engine.handle import Handle
from mist.engine.numba_access import WAY
from mist.flat_settings import set_settings
from mist.presets import PAPER_SETTINGS
from mist.tree_options import SplitTest
from published import paper_tree

NAMES = ["a", "b", "c", "d"]
compiled = pytest.mark.skipif(WAY != "internals", reason="no addresses, so no short way")


class Long(MistClassifier):
    """A classifier that checks every row."""

    def _enable_fast_path(self, *, checked: bool = False) -> None:
        pass


def pair(leaf: str, **options: Any) -> list[MistClassifier]:
    """Two equal models, of which the second never takes the short way."""
    return [kind.paper("G", leaf=leaf, **EAGER, **options) for kind in (MistClassifier, Long)]


def outcome(call: Any) -> Any:
    """What a call returns, and its type, or how it fails."""
    try:
        value = call()
    except Exception as error:
        return type(error), str(error).replace("Long", "MistClassifier")
    return "self" if isinstance(value, MistClassifier) else (type(value), repr(value))


# --- what may be passed ------------------------------------------------------------------------


def strided(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 2)[::2]


def unaligned(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64)


def frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def named(x: np.ndarray) -> dict[str, float]:
    return dict(zip(NAMES, x.tolist(), strict=False))


def with_value(value: Any) -> Any:
    return lambda x: {**named(x), "c": value}


class Defaults(dict):
    def __missing__(self, key: str) -> float:
        return 7.0


ROWS = [
    strided,
    unaligned,
    frozen,
    np.ndarray.tolist,
    tuple,
    lambda x: x[::-1][::-1],
    lambda x: x.astype(np.float32),
    lambda x: x.astype(">f8"),
    lambda x: x[None],
    lambda x: x[:, None],
    lambda x: x[:3],
    lambda x: x.astype(str),
    lambda x: x.astype(complex),
    lambda x: np.ma.masked_array(x),
    lambda x: np.where([0, 0, 1, 0], np.nan, x),
    lambda x: np.where([0, 0, 1, 0], -np.inf, x),
    lambda x: np.where([0, 0, 1, 0], 1e151, x),
    lambda x: np.where([0, 1, 0, 0], 0.5, x),
    lambda x: None,
    named,
    lambda x: dict(reversed(named(x).items())),
    lambda x: dict(enumerate(x.tolist())),
    lambda x: {k: v for k, v in named(x).items() if k != "b"},
    lambda x: {**{k: v for k, v in named(x).items() if k != "b"}, "e": 1.0},
    lambda x: {**named(x), "e": 1.0},
    lambda x: Defaults(a=1.0),
    lambda x: {},
    *map(with_value, [None, True, "1.5", "text", 10**400, np.float32(0.1), Fraction(1, 3)]),
    *map(with_value, [np.nan, np.inf, 1j, [1.0], np.array([1.0]), np.array(2.0)]),
]
LABELS = [0, 1, 2, True, 1.0, 0.5, np.int64(1), np.uint8(2), np.float32(1), np.nan, None, [1], 9]
LABELS += ["1", np.str_("one"), Fraction(1), 2**70]
WEIGHTS = [1.0, 0.5, 2, 0.0, -1.0, np.nan, 2.0**32, np.float64(1.5), True, "1", None]

rows = st.one_of(st.just(np.copy), st.just(named), st.sampled_from(ROWS))
labels = st.one_of(st.sampled_from([0, 1, 2]), st.sampled_from(LABELS))
weights = st.one_of(st.just(1.0), st.sampled_from(WEIGHTS))
steps = st.one_of(
    st.tuples(st.just("learn"), rows, labels, weights),
    st.tuples(st.just("learn"), rows, labels, weights),
    st.tuples(st.just("plain"), st.sampled_from([np.copy, named]), st.integers(1, 30)),
    st.tuples(st.just("predict"), rows),
    st.tuples(st.just("batch"), st.integers(1, 30)),
    st.tuples(st.just("set"), st.sampled_from([{"delta": 0.2}, {"delta": 7}, {"max_leaves": 3}])),
    st.tuples(st.just("replace"), st.sampled_from([copy.copy, copy.deepcopy, "pickle"])),
    st.tuples(st.just("fail"), st.booleans()),
)

X, Y = mixed_rows(3, n=600, n_classes=3, holes=0.0)


def do(model: MistClassifier, step: tuple[Any, ...], at: int) -> tuple[MistClassifier, Any]:
    """Take a step; returns the model that goes on, and what became of the call."""
    kind, x = step[0], X[at % len(X)].copy()
    if kind == "learn":
        return model, outcome(lambda: model.learn_one(step[1](x), step[2], step[3]))
    if kind == "plain":
        rows = [(step[1](X[i % len(X)]), int(Y[i % len(X)])) for i in range(at, at + step[2])]
        told = [
            call
            for row, label in rows
            for call in (
                outcome(partial(model.predict_one, row)),
                outcome(partial(model.learn_one, row, label)),
            )
        ]
        return model, told
    if kind == "predict":
        return model, outcome(lambda: model.predict_one(step[1](x)))
    if kind == "batch":
        part = [i % len(X) for i in range(at, at + step[1])]
        return model, outcome(lambda: model.partial_fit(X[part], Y[part]))
    if kind == "set":
        set_settings(model, **step[1])
    if kind == "fail":
        return model, outcome(lambda: model.partial_fit(X[:2], ["0", 1], classes=[5]))
    if kind == "replace" and step[1] == "pickle":
        return pickle.loads(pickle.dumps(model)), None
    return (step[1](model) if kind == "replace" else model), None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("leaf", "binary", "prior"), [("gaussian", [BINARY], "balanced"), ("sketch", None, "counts")]
)
@settings(deadline=None, max_examples=20)
@given(st.lists(steps, min_size=2, max_size=25))
def test_the_short_way_is_the_long_one_sooner(leaf, binary, prior, plan):
    short, long = pair(leaf, categorical_features=binary, class_prior=prior)
    for number, step in enumerate(plan):
        (short, told), (long, expected) = (do(model, step, 29 * number) for model in (short, long))
        assert told == expected
    if long.__sklearn_is_fitted__():
        assert fingerprint(short) == fingerprint(long)


@pytest.mark.parametrize("options", [{"open_world": True}, {"split_test": "eprocess"}], ids=str)
def test_the_short_way_with_what_learns_beside_the_tree(options):
    options = {**EAGER, "rows_per_split": 100, **options}
    short, long = (
        kind.from_settings(**{**PAPER_SETTINGS, **options}) for kind in (MistClassifier, Long)
    )
    for x, label in zip(X, Y.tolist(), strict=True):
        assert short.predict_one(x) == long.predict_one(x)
        short.learn_one(x, label)
        long.learn_one(x, label)
    assert fingerprint(short) == fingerprint(long)
    assert short.n_splits_ or short._state.candidate_splits


# --- when it is taken, and when no longer -------------------------------------------------------


@compiled
@pytest.mark.parametrize("as_row", [np.copy, named])
def test_plain_rows_do_not_meet_the_checks(monkeypatch, as_row):
    (model, _) = pair("gaussian")
    for label in range(3):
        model.learn_one(as_row(X[label]), label)
    for name in ("_rows_to_learn", "_one_row"):
        monkeypatch.setattr(MistClassifier, name, lambda *_, **__: pytest.fail("the long way"))
    model.learn_one(as_row(X[4]), 1)
    assert model.n_rows_ == 4
    assert model.predict_one(as_row(X[2])) in (0, 1, 2)


@compiled
def test_an_option_that_is_set_is_checked():
    model = paper_tree().learn_one(X[0], 0).learn_one(X[1], 0)
    model.split_test = SplitTest(delta=2.0)
    with pytest.raises(ValueError, match="delta"):
        model.learn_one(X[2], 0)
    assert model.n_rows_ == 2


@compiled
def test_a_handle_stays_with_its_arrays():
    model = paper_tree(**EAGER).learn_one(X[0], 0)
    state = model._state
    handle = state.handle
    assert state.handle is handle
    state.tree = state.tree._replace(scale=state.tree.scale.copy())
    assert state.handle is not handle
    for copied in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert copied._fast_path is None
        assert copied.predict_one(X[0]) == 0
    other = copy.deepcopy(state)
    assert other.handle.parts[0].stats is other.tree.stats is not state.tree.stats
    with pytest.raises(TypeError, match="handle"):
        pickle.dumps(handle)
    with pytest.raises(TypeError, match="handle"):
        copy.copy(handle)


@compiled
def test_a_handle_keeps_its_arrays():
    ends = [Handle((np.arange(5.0), None, 3)) for _ in range(50)]
    assert [end.parts[0].sum() for end in ends] == [10.0] * 50
    assert len({end.address for end in ends}) == 50


@pytest.mark.parametrize("leaf", ["gaussian", "mixture"])
def test_several_threads_may_ask_at_once(leaf):
    model = paper_tree(leaf, **EAGER).partial_fit(X, Y)
    expected = model.predict(X).tolist()
    model = pickle.loads(pickle.dumps(model))  # without a handle: all threads make one
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda _: [model.predict_one(x) for x in X], range(4))
    assert list(answers) == [expected] * 4
