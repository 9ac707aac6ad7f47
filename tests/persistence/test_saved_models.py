import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from alike import assert_alike

import mist
from mist import MistClassifier, MistForest, SplitTest, baselines
from mist.persistence import load_with_attachment, save
from mist.preprocessing import StreamEncoder, StreamPipeline
from mist_bench import baselines as more

HERE = Path(__file__).parent
EAGER = {"grace_period": 20, "split_test": "gain", "union_bound": False, "tie_threshold": 1.0}
EAGER["delta"] = 0.5


def rows(seed=0, n=160):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(2.5 * y[:, None] * [1.0, -0.5], 1.0)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mist"


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """What came of saving models of every kind, line by line."""
    paths = [str(HERE), str(HERE.parent.parent / "src")]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    folder = tmp_path_factory.mktemp("matrix")
    done = subprocess.run(
        [sys.executable, str(HERE / "matrix.py"), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return done.stdout.splitlines()


def test_models_of_every_kind_are_saved_and_learn_on_bit_for_bit(matrix):
    assert len(matrix) == 10 * 3 + 1 + 10
    assert [line for line in matrix if not line.endswith(": ok")] == []


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_a_saved_tree_goes_on_as_the_one_that_was_never_saved(leaf, path):
    X, y = rows()
    straight = MistClassifier.from_settings(leaf=leaf, **EAGER).partial_fit(X, y)
    MistClassifier.from_settings(leaf=leaf, **EAGER).partial_fit(X[:80], y[:80]).save(path)
    model = mist.load(path)
    assert model.n_rows_ == 80
    for row, label in zip(X[80:].tolist(), y[80:].tolist(), strict=True):
        model.learn_one(row, label)
    assert straight.n_splits_ > 0
    assert_alike(straight, model)
    assert straight.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert repr(straight) == repr(model)


def test_a_forest_goes_on_and_its_trees_share_their_labels_again(path):
    X, y = rows()
    X = np.nan_to_num(X)
    tree = MistClassifier(
        "gaussian", split_test=SplitTest("schedule", rows_per_split=40), grace_period=20
    )
    model = MistForest(tree, 2, random_features=3).partial_fit(X, y)
    model.save(path)
    other = mist.load(path)
    assert_alike(model, other)
    for each in (model, other):
        each.partial_fit(X + 1.0, y + 1)
    assert_alike(model, other)
    assert all(each._labels is other._labels for each in other.trees_)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_by_name_and_labels_that_were_declared_are_kept(path):
    model = MistClassifier.from_settings(leaf="gaussian", **EAGER)
    for i in range(60):
        model.learn_one({"a": float(i % 2), "b": i / 60}, "even" if i % 2 == 0 else "odd")
    model.partial_fit([[0.0, 0.0]], ["odd"], classes=["none", "odd"])
    model.save(path)
    other = mist.load(path)
    assert other.classes_.tolist() == ["even", "none", "odd"]
    for each in (model, other):
        each.learn_one({"b": 1.0, "c": 3.0}, "third")
    assert other.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_alike(model, other)
    assert other.predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})
    assert other.export_text() == model.export_text()


@pytest.mark.parametrize(
    "labels",
    [[True, False], [2**62, -3], [2.0, 1.0], ["ä", "\ud800"], np.array([1, 2], np.uint8)],
    ids=str,
)
def test_labels_of_every_kind_are_kept(labels, path):
    model = baselines.NCM().fit([[0.0], [9.0]], labels)
    model.save(path)
    other = mist.load(path)
    assert_alike(model, other)
    assert other.predict([[8.0]]).tolist() == [labels[1]]


def test_models_that_have_learnt_nothing_are_kept(path):
    seed = np.random.default_rng(5)
    for model in (
        MistClassifier(random_state=seed, categorical_features=np.array([True, False])),
        MistForest(MistClassifier("sketch"), random_state=np.random.RandomState(2)),
        baselines.SLDA(shrinkage=np.float64(0.1)),
    ):
        model.save(path)
        assert_alike(model, mist.load(path))
        assert not mist.load(path).__sklearn_is_fitted__()


def test_a_refused_call_leaves_a_model_that_can_be_saved(path):
    model = MistClassifier("gaussian")
    with pytest.raises(ValueError, match="infinit"):
        model.fit([[np.inf]], [0])
    model.save(path)
    assert_alike(model, mist.load(path))


def test_options_that_were_set_later_are_kept(path):
    X, y = rows()
    model = MistClassifier.from_settings(leaf="gaussian", **EAGER).fit(X, y)
    model.set_params(split_test__delta=0.25)
    model.save(path)
    other = mist.load(path)
    assert other.split_test.delta == 0.25
    assert_alike(model, other)
    model.set_params(split_test__delta=7).save(path)
    with pytest.raises(ValueError, match="delta=7"):
        mist.load(path).partial_fit(X, y)


def test_what_is_attached_comes_back(path):
    model, beside = (baselines.NCM().fit([[0.0], [c]], [0, 1]) for c in (3.0, 9.0))
    position = {"row": 7, "counts": np.arange(3), ("a", 1): [0.1, None], "models": [beside]}
    save(model, path, attachment=position)
    back = load_with_attachment(path)
    assert_alike(position, back.attachment)
    assert_alike(model, back.model)
    assert back.attachment["models"][0].predict([[4.0]]) == [0]
    assert_alike(model, mist.load(path))
    save(model, path)
    assert load_with_attachment(path).attachment is None


def test_a_value_is_no_model(path):
    with pytest.raises(TypeError, match=r"a dict is not a model; save .* as the attachment"):
        save({"row": 1}, path)
    assert not path.exists()


def test_models_of_river_say_that_they_cannot_be_saved(path):
    pytest.importorskip("river", reason="river is not installed")
    model = more.RiverClassifier().fit([[0.0], [9.0]], [0, 1])
    with pytest.raises(TypeError, match=r"RiverClassifier.*objects of river; use pickle"):
        model.save(path)
    assert not path.exists()


def test_models_of_classes_that_nobody_registered_say_so(path):
    class Own(MistClassifier):
        pass

    with pytest.raises(TypeError, match=r"Own is a Own, .* mist\.persistence\.register"):
        Own().save(path)


def test_other_ways_to_keep_models_work_for_one_from_a_file(path, tmp_path):
    X, y = rows()
    MistClassifier.from_settings(leaf="gaussian", **EAGER).fit(X, y).save(path)
    model = mist.load(path)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    pickled = pickle.loads(pickle.dumps(model))
    copies = {"pickle": pickled, "deepcopy": copy.deepcopy(model), "joblib": mapped}
    mapped.save(path)
    copies["joblib, then a file"] = mist.load(path)
    wanted = model.partial_fit(X, y).predict_proba(X)
    for name, each in copies.items():
        assert each.partial_fit(X, y).predict_proba(X).tobytes() == wanted.tobytes(), name


def test_a_pipeline_is_kept_with_its_encoder(path):
    model = StreamPipeline(StreamEncoder(standardise=True), MistClassifier("gaussian"))
    for i in range(40):
        model.learn_one({"size": float(i % 4), "coat": "xyz"[i % 3]}, "ab"[i % 2])
    model.save(path)
    other = mist.load(path)
    assert_alike(model, other)
    for each in (model, other):
        each.learn_one({"size": None, "coat": "new", "wings": 2}, "c")
    assert_alike(model, other)
    assert other.predict_one({"size": 1.0, "coat": "y"}) == model.predict_one(
        {"size": 1.0, "coat": "y"}
    )
    StreamPipeline().save(path)
    assert_alike(StreamPipeline(), mist.load(path))
