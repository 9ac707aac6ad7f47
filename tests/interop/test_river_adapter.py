import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pandas", reason="needs pandas: pip install 'mist-tree[frames]'")
pytest.importorskip("river", reason="needs river: pip install 'mist-tree[river]'")

import pandas as pd
from river import compose, datasets, ensemble, evaluate, metrics, preprocessing, utils

import mist
from material import fingerprint
from mist.interop.river import MistClassifier, MistForest
from mist.tree_options import SplitTest

SMALL = {
    "leaf": "gaussian",
    "grace_period": 20,
    "split_test": SplitTest(delta=0.5, tie_threshold=2.0),
}


def stream(n=120, seed=0):
    """Rows by name in which columns come and go, with classes that arrive late."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = int(rng.integers(1 + 3 * i // n))
        values = rng.normal(4 * label, 1, 4).tolist()
        names = ["d", "a", "c", "b"][: 2 if i < n // 2 else 4]
        rows.append((dict(zip(names, values, strict=False)), label))
    return rows


def learnt(model, rows):
    for x, y in rows:
        model.learn_one(x, y)
    return model


def content(model):
    """All that a model, or the model in it, has learnt, comparable bit for bit."""
    model = getattr(model, "model", model)
    return [fingerprint(tree) for tree in getattr(model, "trees_", [model])]


def frames(rows, lengths=(50, 30, 40)):
    at = 0
    for length in lengths:
        xs, ys = zip(*rows[at : at + length], strict=True)
        yield pd.DataFrame(xs), pd.Series(ys)
        at += length


# --- constructor --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(MistClassifier, mist.MistClassifier), (MistForest, mist.MistForest)],
)
def test_the_options_are_those_of_the_estimator(ours, theirs):
    here = dict(inspect.signature(ours).parameters)
    there = dict(inspect.signature(theirs).parameters)
    del there["random_state"]
    assert here.pop("seed").default == 0
    assert {name: p.default for name, p in here.items()} == {
        name: p.default for name, p in there.items()
    }


def test_options_reach_the_model_and_its_clones():
    test = SplitTest(delta=0.25)
    model = MistClassifier(leaf="sketch", split_test=test, seed=7)
    for copy in (model, model.clone()):
        assert (copy.leaf, copy.split_test, copy.seed) == ("sketch", test, 7)
        inner = copy.model.get_params()
        assert (inner["leaf"], inner["split_test"], inner["random_state"]) == ("sketch", test, 7)
    assert model.clone({"split_test": "gain"}).model.split_test == "gain"
    forest = MistForest(MistClassifier(leaf="gaussian"), n_trees=2)
    assert isinstance(forest.model.estimator, mist.MistClassifier)
    assert forest.clone().model.estimator.leaf == "gaussian"


def test_unknown_options_are_refused_by_name():
    with pytest.raises(TypeError, match=r"MistClassifier: .*'grace'"):
        MistClassifier(grace=1)
    with pytest.raises(TypeError, match=r"split_test=SplitTest\(delta=0.05\)"):
        MistClassifier(delta=0.05)
    with pytest.raises(ValueError, match="leaf='tree' is unknown"):
        MistClassifier(leaf="tree").learn_one({"a": 1.0}, 0)


# --- learning -----------------------------------------------------------------------------------


def test_rows_of_numbers_give_the_model_of_the_estimator():
    rows = [({"a": x["a"], "d": x["d"]}, y) for x, y in stream() if "a" in x]
    model = learnt(MistClassifier(**SMALL), rows)
    other = mist.MistClassifier(**SMALL, random_state=0)
    for x, y in rows:
        other.learn_one(x, y)
    assert model.model.n_splits_ > 0
    assert content(model) == content(other)


@pytest.mark.parametrize(
    "make", [lambda: MistClassifier(**SMALL), lambda: MistForest(MistClassifier(**SMALL), 2)]
)
def test_frames_equal_rows_bit_for_bit(make):
    one, many = make(), make()
    for X, y in frames(stream()):
        rows = X.to_dict("records")
        for x, label in zip(rows, y, strict=True):
            one.learn_one(x, label)
        many.learn_many(X, y)
        assert content(one) == content(many)
        shares = many.predict_proba_many(X)
        assert shares.index.equals(X.index)
        pd.testing.assert_frame_equal(shares, one.predict_proba_many(X), check_exact=True)
        assert many.predict_many(X).tolist() == one.predict_many(X).tolist()
        for x in rows:
            assert many.predict_proba_one(x) == one.predict_proba_one(x)
            assert many.predict_one(x) == one.predict_one(x)
    assert one.model.n_splits_ > 0
    assert list(many.predict_proba_one({})) == [0, 1, 2]


def test_the_order_of_features_does_not_matter_from_the_first_row_on():
    rng = np.random.default_rng(1)
    forth, back = MistClassifier(**SMALL), MistClassifier(**SMALL)
    for x, y in stream():
        names = rng.permutation(list(x)).tolist()
        forth.learn_one(x, y)
        back.learn_one({name: x[name] for name in names}, y)
    assert content(forth) == content(back)
    frame_forth, frame_back = MistClassifier(**SMALL), MistClassifier(**SMALL)
    for X, y in frames(stream()):
        frame_forth.learn_many(X, y)
        frame_back.learn_many(X[X.columns[::-1]], y)
    assert content(frame_forth) == content(frame_back)


def test_names_may_be_numbers_beside_text():
    rows = [({1: float(y), "1": 2.0 * y, (0, "x"): 1.0}, y) for y in (0, 1) * 20]
    model = learnt(MistClassifier(**SMALL), rows)
    assert model.model._names() == [(0, "x"), 1, "1"]
    X = pd.DataFrame([x for x, _ in rows])
    many = MistClassifier(**SMALL)
    many.learn_many(X, pd.Series([y for _, y in rows]))
    assert content(many) == content(model)
    assert many.predict_many(X).tolist() == [y for _, y in rows]


def test_weights_are_copies_of_rows():
    weighted, copied = MistClassifier(leaf="gaussian"), MistClassifier(leaf="gaussian")
    for x, y in stream(30):
        weighted.learn_one(x, y, w=2)
        copied.learn_one(x, y)
        copied.learn_one(x, y)
    ours, theirs = (m.predict_proba_one({"a": 2.0, "d": 1.0}) for m in (weighted, copied))
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_frames_without_rows_and_models_without_rows():
    X, y = next(frames(stream()))
    model = MistClassifier(**SMALL)
    model.learn_many(X[:0], y[:0])
    assert model.predict_one(stream()[0][0]) is None
    assert model.predict_proba_one({}) == {}
    assert model.predict_many(X[:2]).tolist() == [None, None]
    assert model.predict_proba_many(X[:2]).shape == (2, 0)
    model.learn_many(X, y)
    assert len(model.predict_many(X[:0])) == 0


def test_labels_keep_their_kind():
    for a, b in [("x", "y"), (False, True), (3, 8), (np.bool_(False), np.bool_(True))]:
        model = learnt(MistClassifier(**SMALL), [({"a": 0.0}, a), ({"a": 9.0}, b)] * 3)
        assert set(model.predict_proba_one({"a": 0.0})) == {a, b}
        assert model.predict_one({"a": 9.0}) == b
        many = model.predict_many(pd.DataFrame({"a": [0.0, 9.0]}, index=[7, 3]))
        assert many.to_dict() == {7: a, 3: b}


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": 1.0, "colour": "red"}, 0, "column 'colour' holds the text 'red'"),
        ({"a": np.inf, "new": 1.0}, 0, "infinity at row 0, column 'a'"),
        ({"a": 1.0, "new": 1.0}, "text", "mixes text labels with numbers"),
    ],
)
def test_a_refused_row_leaves_no_trace(x, y, message):
    model = learnt(MistClassifier(**SMALL), stream(30))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=message):
        model.learn_many(pd.DataFrame([x, x]), pd.Series([y, y]))
    assert pickle.dumps(model) == before


def test_text_is_refused_in_questions_too():
    model = learnt(MistClassifier(**SMALL), stream(30))
    for ask in (model.predict_one, model.predict_proba_one):
        with pytest.raises(ValueError, match="column 'a' holds the text 'red'"):
            ask({"a": "red"})
    with pytest.raises(ValueError, match="column 'a' holds the text 'red'"):
        model.predict_many(pd.DataFrame({"a": [1.0, "red"]}))
    with pytest.raises(ValueError, match="two columns named 'a'"):
        model.predict_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


# --- in river -----------------------------------------------------------------------------------


def test_a_pipeline_in_an_evaluation():
    model = preprocessing.StandardScaler() | MistClassifier(leaf="gaussian")
    score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert 0.86 < score.get() < 0.92


def test_encoders_whose_features_grow():
    rng = np.random.default_rng(0)
    colours = ["red", "green", "blue", "grey"]
    encode = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model = (encode + compose.SelectType(float)) | MistClassifier(leaf="gaussian")
    right = 0
    for i in range(200):
        label = int(rng.integers(min(4, 2 + i // 50)))
        x = {"colour": colours[label], "noise": float(rng.normal())}
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    inner = model["MistClassifier"].model
    assert inner.n_features_in_ == 5
    assert right > 180


def test_a_pipeline_learns_frames():
    rows = [(x, y) for x, y in stream() if "a" in x and "c" in x]
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    model = preprocessing.StandardScaler() | MistClassifier(leaf="gaussian")
    model.learn_many(X, y)
    assert (model.predict_many(X) == y).mean() > 0.95


def test_an_ensemble_of_river_takes_it():
    model = ensemble.BaggingClassifier(MistClassifier(leaf="gaussian"), n_models=2, seed=1)
    rows = stream(60)
    for x, y in rows:
        model.learn_one(x, y)
    assert np.mean([model.predict_one(x) == y for x, y in rows]) > 0.9


def test_classes_that_arrive_one_after_the_other_are_kept():
    """What river does not check: old classes outlive thousands of rows of others."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 6, (6, 5))

    def rows(label, n):
        return [dict(enumerate(v)) for v in rng.normal(centres[label], 1, (n, 5)).tolist()]

    model = MistClassifier(**SMALL)
    for label in range(6):
        for x in rows(label, 300):
            model.learn_one(x, label)
        for old in range(label + 1):
            held_out = rows(old, 50)
            assert set(model.predict_proba_one(held_out[0])) == set(range(label + 1))
            assert np.mean([model.predict_one(x) == old for x in held_out]) > 0.9
    assert model.model.n_splits_ > 0


def test_a_saved_model_goes_on_as_if_nothing_had_been():
    rows = stream()
    model = learnt(MistClassifier(**SMALL), rows[:60])
    loaded = pickle.loads(pickle.dumps(model))
    assert content(learnt(loaded, rows[60:])) == content(learnt(model, rows[60:]))
    assert model.model.n_splits_ > 0


def test_memory_is_that_of_the_arrays():
    model = MistClassifier(**SMALL)
    assert model._raw_memory_usage == 0
    learnt(model, stream(30))
    assert model._raw_memory_usage == model.model.nbytes > 0
    assert model._memory_usage == utils.pretty.humanize_bytes(model.model.nbytes)


# --- imports ------------------------------------------------------------------------------------

ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {'river', 'capymoa'}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""


def output(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_package_loads_neither_library():
    assert output("import mist.interop, sys; print({'river', 'capymoa'} & set(sys.modules))") == (
        "set()"
    )


@pytest.mark.parametrize("name", ["river", "capymoa"])
def test_without_the_library_the_error_says_what_to_install(name):
    code = f"{ABSENT}\ntry:\n    import mist.interop.{name}\nexcept ImportError as e:\n    print(e)"
    assert output(code).endswith(f"pip install 'mist-tree[{name}]'")


# --- the next of the stream ---------------------------------------------------------------------


def test_rows_are_the_next_of_the_stream():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40) % 2, 10)  # labels come in runs
    rows = [({"a": float(rng.normal(label))}, int(label)) for label in y]
    model, plain = MistClassifier(**SMALL), mist.MistClassifier(**SMALL, random_state=0)
    answers = []
    for x, label in rows:
        answers.append(model.predict_one(x))
        model.learn_one(x, label)
        plain.learn_one(x, label)
    X, labels = np.array([[x["a"]] for x, _ in rows]), np.array([label for _, label in rows])
    fresh = mist.MistClassifier(**SMALL, random_state=0)
    assert answers[1:] == fresh.prequential(X, labels).tolist()[1:]
    x = {"a": 0.5}
    frame = pd.DataFrame([x, x])
    as_next = plain.predict_proba(frame, next_in_stream=True)[0].tolist()
    of_table = plain.predict_proba(frame)[0].tolist()
    assert as_next != of_table
    assert list(model.predict_proba_one(x).values()) == as_next
    # As river demands, a frame of rows is predicted as its rows one by one.
    assert model.predict_proba_many(frame).to_numpy().tolist() == [as_next] * 2
    assert model.predict_many(frame).tolist() == [model.predict_one(x)] * 2
    assert model.model.predict_proba_many(frame).tolist() == [of_table] * 2


def test_changes_are_those_of_the_model():
    rng = np.random.default_rng(0)
    model = MistClassifier(leaf="gaussian")
    for i in range(600):
        far = 30.0 if i >= 300 and i % 2 else 0.0
        model.learn_one({"a": float(rng.normal(9.0 * (i % 2) + far))}, "xy"[i % 2])
    assert ("class moved", "y") in [(change.kind, change.label) for change in model.changes_]
    assert model.changes_ == model.model.changes_


def test_classes_are_renamed_and_dropped():
    model = MistClassifier(leaf="gaussian", adapt=None)
    for x, y in [(0.0, "pump"), (0.2, "pmup"), (9.0, "fan"), (8.8, "fan"), (20.0, "test")]:
        model.learn_one({"size": x}, y)
    model.rename_class("pmup", "pump")
    model.drop_class("test")
    assert set(model.predict_proba_one({"size": 0.1})) == {"fan", "pump"}
    assert model.predict_one({"size": 0.1}) == "pump"
