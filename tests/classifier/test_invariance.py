import copy
import io
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from material import BINARY, EAGER, fingerprint, mixed_rows
from published import paper_tree

SETTINGS = settings(deadline=None, max_examples=20)
SEEDS = st.integers(0, 2**32 - 1)
LEAVES = st.sampled_from(["gaussian", "sketch", "majority"])
MODELS = st.fixed_dictionaries(
    {
        "leaf": LEAVES,
        "inheritance": st.sampled_from(["gaussian", "mass", "sketch", None]),
        "thresholds": st.sampled_from(["medians", "dense", "sampled"]),
        "categorical_features": st.sampled_from([None, [BINARY]]),
        "max_classes_per_leaf": st.sampled_from([None, 2]),
        "sketch_size": st.sampled_from([8, 64]),
    }
)


def eager(leaf="gaussian", **options):
    return paper_tree(leaf, **{**EAGER, **options})


# -- batches -----------------------------------------------------------------------------------


@SETTINGS
@given(MODELS, SEEDS, st.lists(st.integers(0, 300), max_size=12), st.sampled_from([0.0, 0.05]))
def test_sizes_of_batches_do_not_matter_bit_for_bit(options, seed, borders, holes):
    X, y = mixed_rows(seed, holes=holes)
    weights = np.random.default_rng(seed).choice([0.0, 1.0, 2.5], len(X))
    X[weights == 0] = 1.0
    whole = eager(**options).partial_fit(X, y, sample_weight=weights)
    parts, told = eager(**options), eager(**options)
    for rows in np.split(np.arange(len(X)), sorted({*borders, 0})):
        if weights[rows].any():
            parts.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
            told.prequential(X[rows], y[rows], sample_weight=weights[rows])
    assert parts.n_rows_ == (weights > 0).sum()
    assert whole.n_splits_ > 0
    assert fingerprint(parts) == fingerprint(whole) == fingerprint(told)


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_row_by_row_equals_one_call(leaf):
    X, y = mixed_rows(0)
    whole = eager(leaf)
    foretold = whole.prequential(X, y)
    rows = eager(leaf)
    answers = []
    for i in range(len(X)):
        if i:
            answers.append(rows.predict(X[[i]])[0])
        rows.partial_fit(X[[i]], y[[i]])
    assert whole.n_splits_ > 2
    assert fingerprint(rows) == fingerprint(whole)
    assert answers == foretold[1:].tolist()


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
@pytest.mark.parametrize("holes", [0.0, 0.02])
def test_sizes_of_batches_do_not_matter_at_leaves_with_many_rows(leaf, holes):
    # Beyond 256 rows a leaf renews the caches of all classes only now and then.
    X, y = mixed_rows(9, n=3000, holes=holes)
    whole = paper_tree(leaf).partial_fit(X, y)
    assert whole.n_leaves_ == 1
    for size in (7, 100):
        parts = paper_tree(leaf)
        for start in range(0, len(X), size):
            parts.partial_fit(X[start : start + size], y[start : start + size])
        assert fingerprint(parts) == fingerprint(whole)


# -- questions ---------------------------------------------------------------------------------


@SETTINGS
@given(MODELS, SEEDS)
def test_asking_changes_nothing(options, seed):
    X, y = mixed_rows(seed)
    model = eager(**options).partial_fit(X[:150], y[:150])
    before = fingerprint(model), set(vars(model))
    foreign = np.where(np.isnan(X), 0.0, X * 100)
    foreign[:, BINARY] = X[:, BINARY]
    for rows in (X, foreign):
        for ask in (model.predict, model.predict_proba, model.predict_log_proba, model.apply):
            ask(rows)
        for x in rows[:5]:
            model.predict_one(x)
            model.predict_proba_one(x)
    model.export_text()
    model.leaf_summary()
    repr(model)
    model.tree_.threshold[:] = 0.0
    model.split_log_.clear()
    assert (fingerprint(model), set(vars(model)) - {"_fast_path"}) == before


@SETTINGS
@given(MODELS, SEEDS)
def test_answers_do_not_hang_on_the_other_rows_asked(options, seed):
    X, y = mixed_rows(seed)
    model = eager(**options).partial_fit(X, y)
    together = model.predict_proba(X)
    np.testing.assert_allclose([model.predict_proba(x[None])[0] for x in X], together, atol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X[::-1])[::-1], together)
    np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-12)


# -- columns -----------------------------------------------------------------------------------


@SETTINGS
@given(
    st.permutations(range(4)),
    SEEDS,
    st.sampled_from(["gaussian", "majority"]),
    st.booleans(),
)
def test_permuting_columns_permutes_splits_and_keeps_probabilities(order, seed, leaf, categorical):
    # Gains from Gaussians are never exactly equal; equal gains go to the first column.
    X, y = mixed_rows(seed)
    options = {"leaf": leaf, "thresholds": "gaussian"}
    there = [BINARY] if categorical else None
    here = [order.index(BINARY)] if categorical else None
    model = eager(categorical_features=there, **options).partial_fit(X, y)
    other = eager(categorical_features=here, **options).partial_fit(X[:, order], y)
    assert [order[s.feature] for s in other.split_log_] == [s.feature for s in model.split_log_]
    np.testing.assert_allclose(
        other.predict_proba(X[:, order]), model.predict_proba(X), atol=1e-9, rtol=1e-9
    )


@SETTINGS
@given(st.permutations(range(4)), SEEDS)
def test_permuting_columns_keeps_the_probabilities_of_sketches(order, seed):
    X, y = mixed_rows(seed)
    model = paper_tree("sketch", sketch_size=8).partial_fit(X, y)
    other = paper_tree("sketch", sketch_size=8).partial_fit(X[:, order], y)
    np.testing.assert_allclose(
        other.predict_proba(X[:, order]), model.predict_proba(X), atol=1e-9, rtol=1e-9
    )


@SETTINGS
@given(LEAVES, SEEDS, st.lists(st.integers(-60, 60), min_size=4, max_size=4))
def test_scaling_columns_by_powers_of_two_keeps_every_prediction(leaf, seed, exponents):
    X, y = mixed_rows(seed)
    scales = np.ldexp(1.0, exponents)
    model = eager(leaf).partial_fit(X, y)
    scaled = eager(leaf).partial_fit(X * scales, y)
    assert [s.feature for s in scaled.split_log_] == [s.feature for s in model.split_log_]
    thresholds = [s.threshold * scales[s.feature] for s in model.split_log_]
    assert [s.threshold for s in scaled.split_log_] == thresholds
    asked, _ = mixed_rows(seed + 1)
    np.testing.assert_array_equal(scaled.predict(asked * scales), model.predict(asked))
    np.testing.assert_array_equal(scaled.apply(asked * scales), model.apply(asked))


@SETTINGS
@given(
    st.sampled_from(["gaussian", "sketch"]),
    SEEDS,
    st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4),
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4),
)
def test_units_and_origin_of_columns_keep_predictions(leaf, seed, scales, shifts):
    X, y = mixed_rows(seed)
    X[:, BINARY] += np.random.default_rng(seed).normal(0, 0.1, len(X))  # no ties between values
    model = eager(leaf).partial_fit(X[:200], y[:200])
    moved = eager(leaf).partial_fit(X[:200] * scales + shifts, y[:200])
    asked = X[200:]
    first = np.sort(model.predict_proba(asked), axis=1)
    clear = first[:, -1] - first[:, -2] > 1e-6
    assert clear.sum() > 50
    np.testing.assert_array_equal(
        moved.predict(asked * scales + shifts)[clear], model.predict(asked)[clear]
    )


# -- labels ------------------------------------------------------------------------------------


@SETTINGS
@given(MODELS, SEEDS, st.lists(st.text(max_size=8), min_size=4, max_size=4, unique=True))
def test_renaming_labels_permutes_columns(options, seed, names):
    # numpy drops zero characters at the end of a text.
    names = np.array([name.replace("\0", "") + str(i) for i, name in enumerate(names)])
    X, y = mixed_rows(seed)
    model = eager(**options).partial_fit(X, y)
    renamed = eager(**options).partial_fit(X, names[y])
    assert renamed.classes_.tolist() == sorted(names.tolist())
    columns = [renamed.classes_.tolist().index(name) for name in names]
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(renamed.predict_proba(X)[:, columns], proba)
    untied = (proba == proba.max(axis=1, keepdims=True)).sum(axis=1) == 1
    np.testing.assert_array_equal(renamed.predict(X)[untied], names[model.predict(X)][untied])


# -- randomness --------------------------------------------------------------------------------


def test_equal_seeds_give_equal_models_and_other_seeds_other_sketches():
    X, y = mixed_rows(0, n=1000)
    make = {
        "none": lambda: None,
        "zero": lambda: 0,
        "five": lambda: 5,
        "state": lambda: np.random.RandomState(5),
        "generator": lambda: np.random.default_rng(5),
    }
    prints = {}
    for name, seed in make.items():
        first = eager("sketch", sketch_size=8, random_state=seed()).partial_fit(X, y)
        again = eager("sketch", sketch_size=8, random_state=seed()).partial_fit(X, y)
        assert fingerprint(first) == fingerprint(again)
        prints[name] = fingerprint(first)
    assert prints["none"] == prints["zero"]
    for name in ("five", "state", "generator"):
        assert prints[name][0] != prints["none"][0]


def test_the_global_random_numbers_of_numpy_are_left_alone():
    X, y = mixed_rows(0)
    state = np.random.get_state()  # noqa: NPY002 - the state that must not change
    model = eager("sketch", thresholds="sampled").partial_fit(X, y)
    model.prequential(X, y)
    model.predict(X)
    after = np.random.get_state()  # noqa: NPY002
    assert state[0] == after[0]
    assert (state[1] == after[1]).all()
    assert state[2:] == after[2:]


# -- copies ------------------------------------------------------------------------------------


def _by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def _by_oldest_protocol(model):
    return pickle.loads(pickle.dumps(model, protocol=2))


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "pickle protocol 2": _by_oldest_protocol,
    "deepcopy": copy.deepcopy,
    "joblib": _by_joblib,
}


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES.keys())
@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_copies_continue_as_the_original_does(leaf, duplicate):
    X, y = mixed_rows(4)
    options = {"leaf": leaf, "categorical_features": [BINARY], "thresholds": "sampled"}
    straight = eager(**options).partial_fit(X, y)
    original = eager(**options).partial_fit(X[:170], y[:170])
    before = fingerprint(original)
    twin = duplicate(original)
    assert fingerprint(twin) == before
    assert twin.get_params() == original.get_params()
    twin.partial_fit(X[170:], y[170:])
    assert fingerprint(twin) == fingerprint(straight)
    assert fingerprint(original) == before
    original.partial_fit(X[170:], y[170:])
    assert fingerprint(original) == fingerprint(straight)
    np.testing.assert_array_equal(twin.predict_proba(X), straight.predict_proba(X))


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES.keys())
def test_copies_keep_names_and_labels(duplicate):
    model = eager()
    for i in range(60):
        model.learn_one({"a": float(i % 2), "b": i / 60}, "even" if i % 2 == 0 else "odd")
    twin = duplicate(model)
    for m in (model, twin):
        m.learn_one({"c": 1.0}, "a third label")
    assert fingerprint(twin) == fingerprint(model)
    assert twin.export_text() == model.export_text()
    assert twin.predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})


def test_an_untouched_model_can_be_copied():
    for duplicate in COPIES.values():
        twin = duplicate(paper_tree("sketch", grace_period=7))
        assert twin.get_params() == paper_tree("sketch", grace_period=7).get_params()
        assert twin.predict_one([1.0]) is None


# -- threads and processes ---------------------------------------------------------------------


def _trained(seed):
    X, y = mixed_rows(seed, n=2000)
    model = eager("sketch" if seed % 2 else "gaussian", random_state=seed)
    for rows in np.split(np.arange(len(X)), 20):
        model.partial_fit(X[rows], y[rows])
        model.predict(X[rows])
    return fingerprint(model), model.predict_proba(X).tobytes()


def test_models_may_learn_in_threads_side_by_side():
    with ThreadPoolExecutor(4) as pool:
        side_by_side = list(pool.map(_trained, range(4)))
    assert side_by_side == [_trained(seed) for seed in range(4)]


def test_threads_may_ask_one_model():
    X, y = mixed_rows(5, n=1000)
    model = eager("sketch").partial_fit(X, y)
    expected = model.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: model.predict_proba(X), range(12)):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system"
)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_predicts_and_learns():
    X, y = mixed_rows(6)
    model = eager("sketch").partial_fit(X[:200], y[:200])
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child():
        first = model.predict_proba(X)
        model.partial_fit(X[200:], y[200:])
        sender.send((first, model.predict_proba(X)))

    process = context.Process(target=child)
    process.start()
    assert receiver.poll(60), "the child did not answer"
    first, second = receiver.recv()
    process.join(10)
    assert process.exitcode == 0
    np.testing.assert_array_equal(first, model.predict_proba(X))
    np.testing.assert_array_equal(second, model.partial_fit(X[200:], y[200:]).predict_proba(X))
