"""CapyMOA's demands on a classifier, and our harness beside its loop for class-incremental data.

CapyMOA's own battery is ``tests/test_classifiers.py`` of its repository, which is in no package.
What it asks of a learner is asked here.
"""

import copy
import inspect
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("CapyMOA needs Java: no command java and no JAVA_HOME", allow_module_level=True)
# The package before its parts: it starts the Java machine.
pytest.importorskip("capymoa", reason="needs CapyMOA: pip install 'mist-tree[capymoa]'")

from capymoa.base import learner_from_params
from capymoa.core import Instance, LabeledInstance
from capymoa.core.io import load_model, save_model
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream, Schema

import mist
from mist.baselines import NCM
from mist.datasets import load_toy
from mist.evaluation import ClassIncrementalStream, evaluate
from mist.interop.capymoa import EstimatorClassifier, MistClassifier, MistForest

EAGER = {
    "leaf": "gaussian",
    "grace_period": 20,
    "split_test": mist.SplitTest(delta=0.5, tie_threshold=2.0),
}


def blobs(n=400, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n)
    return rng.normal(2.0 * y[:, None], 1.0, (n, 3)), y


def numbers(X, y):
    return NumpyStream(X, y, target_type="categorical")


LEARNERS = {
    "tree": lambda schema: MistClassifier(schema, **EAGER),
    "sketches": lambda schema: MistClassifier(schema, **{**EAGER, "leaf": "sketch"}),
    "forest": lambda schema: MistForest(schema, estimator=mist.MistClassifier(**EAGER), n_trees=2),
    "class means": lambda schema: EstimatorClassifier(schema, NCM()),
}
PAGE = Path(__file__).parents[2] / "docs/how-to/from-capymoa.md"
EACH = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


# --- what CapyMOA's battery asks ----------------------------------------------------------------


@EACH
def test_what_capymoa_asks_of_a_classifier(make, tmp_path):
    X, y = blobs()
    stream = numbers(X, y)
    learner = make(stream.get_schema())
    assert learner.predict(stream.next_instance()) is None
    assert learner.predict_proba(stream.next_instance()) is None

    stream.restart()
    results = prequential_evaluation(stream, learner, window_size=100)
    assert results.cumulative.accuracy() > 60
    # With us a first answer is a guess, which is wrong here; CapyMOA takes none for a wrong one.
    alone = make(stream.get_schema()).model
    hits = alone.prequential(X, y) == y
    hits[0] = False
    assert results.cumulative.accuracy() == pytest.approx(100 * hits.mean(), abs=1e-9)
    assert results.windowed.accuracy()[-1] == pytest.approx(100 * hits[-100:].mean(), abs=1e-9)

    stream.restart()
    instance = stream.next_instance()
    shares = learner.predict_proba(instance)
    assert (shares.dtype, shares.shape) == (np.float64, (4,))
    assert shares.sum() == pytest.approx(1.0)
    assert type(learner.predict(instance)) is int

    path = tmp_path / "model"
    with path.open("wb") as file:
        save_model(learner, file)
    with path.open("rb") as file:
        loaded = load_model(file)
    stream.restart()
    for _, one in zip(range(50), stream, strict=False):
        np.testing.assert_array_equal(loaded.predict_proba(one), learner.predict_proba(one))
    loaded.train(instance)
    assert loaded.predict(instance) in range(4)


@EACH
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_and_its_learner_share_nothing(make, how):
    X, y = blobs()
    stream = numbers(X, y)
    learner = make(stream.get_schema())
    for _, instance in zip(range(200), stream, strict=False):
        learner.train(instance)
    other = how(learner)
    assert other.schema is learner.schema
    before = learner.predict_proba(instance)
    np.testing.assert_array_equal(other.predict_proba(instance), before)
    wrong = LabeledInstance.from_array(learner.schema, instance.x, (instance.y_index + 1) % 4)
    for _ in range(200):
        other.train(wrong)
    np.testing.assert_array_equal(learner.predict_proba(instance), before)
    assert not np.array_equal(other.predict_proba(instance), before)


# --- constructors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(MistClassifier, mist.MistClassifier), (MistForest, mist.MistForest)],
)
def test_the_options_are_those_of_the_estimator(ours, theirs):
    here = dict(inspect.signature(ours).parameters)
    there = dict(inspect.signature(theirs).parameters)
    del there["random_state"]
    assert list(here)[:2] == ["schema", "random_seed"]
    assert here.pop("random_seed").default == 1
    del here["schema"]
    assert {name: p.default for name, p in here.items()} == {
        name: p.default for name, p in there.items()
    }


def test_the_seed_reaches_a_model_that_has_none():
    schema = numbers(*blobs()).get_schema()
    assert MistClassifier(schema, 5).model.random_state == 5
    assert EstimatorClassifier(schema, mist.MistClassifier()).model.random_state == 1
    own = mist.MistClassifier(random_state=3)
    assert EstimatorClassifier(schema, own, random_seed=5).model.random_state == 3
    assert EstimatorClassifier(schema, own).model is not own


def test_capymoa_builds_it_anew_from_its_parameters():
    schema = numbers(*blobs()).get_schema()
    learner = MistClassifier(schema, random_seed=9, **EAGER)
    params = learner.get_params()
    assert params["grace_period"] == 20
    spec = {"learner": "mist.interop.capymoa.MistClassifier", "params": params}
    again = learner_from_params(spec, schema, random_seed=9)
    assert again.model.get_params() == learner.model.get_params()
    assert str(again) == "MistClassifier"
    assert str(EstimatorClassifier(schema, NCM())) == "NCM"


def test_unknown_options_are_refused_by_name():
    schema = numbers(*blobs()).get_schema()
    with pytest.raises(TypeError, match="unexpected keyword argument 'grace'"):
        MistClassifier(schema, grace=1)
    numeric = Schema.from_custom(["a", "target"], "target")
    with pytest.raises(ValueError, match="schema is for regression"):
        MistClassifier(numeric)


# --- labels and attributes ----------------------------------------------------------------------


def test_labels_that_never_came_have_no_probability():
    X, y = blobs(60)
    schema = numbers(X, y).get_schema()
    learner = MistClassifier(schema, **EAGER)
    for x, label in zip(X, y, strict=True):
        if label in (1, 3):
            learner.train(LabeledInstance.from_array(schema, x, int(label)))
    shares = learner.predict_proba(Instance.from_array(schema, X[0]))
    assert shares[[0, 2]].tolist() == [0.0, 0.0]
    assert shares.sum() == pytest.approx(1.0)


def test_rows_without_a_label_and_labels_outside_the_schema():
    schema = numbers(*blobs()).get_schema()
    learner = MistClassifier(schema, **EAGER)
    learner.train(LabeledInstance.from_array(schema, np.zeros(3), -1))
    assert learner.predict(Instance.from_array(schema, np.zeros(3))) is None
    with pytest.raises(ValueError, match="y_index 4 is not in the schema, which has 4 labels"):
        learner.train(LabeledInstance.from_array(schema, np.zeros(3), 4))
    assert learner.predict(Instance.from_array(schema, np.zeros(3))) is None


def test_nominal_attributes_become_columns_of_zeros_and_ones():
    schema = Schema.from_custom(
        ["size", "colour", "wet", "target"],
        "target",
        categories={
            "colour": ["red", "green", "blue"],
            "wet": ["no", "yes"],
            "target": ["a", "b"],
        },
    )
    learner = MistClassifier(schema, leaf="gaussian")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=90), rng.integers(3, size=90), rng.integers(2, size=90)])
    X[3, 1] = np.nan
    y = (X[:, 1] == 1).astype(int)
    for x, label in zip(X, y, strict=True):
        learner.train(LabeledInstance.from_array(schema, x, int(label)))
    assert learner.model.categorical_features == [1, 2, 3, 4]

    hot = (X[:, [1]] == [0, 1, 2]).astype(float)
    hot[3] = np.nan
    table = np.column_stack([X[:, 0], hot, X[:, 2]])
    by_hand = mist.MistClassifier("gaussian", categorical_features=[1, 2, 3, 4], random_state=1)
    by_hand.partial_fit(table, y)
    theirs = [learner.predict_proba(Instance.from_array(schema, x)) for x in X]
    as_next = by_hand.predict_proba(table, next_in_stream=True)
    np.testing.assert_array_equal(theirs, as_next)
    known = ~np.isnan(X[:, 1])  # without its colour a row tells nothing of its class
    assert np.argmax(theirs, axis=1)[known].tolist() == y[known].tolist()


# --- the loop for class-incremental data --------------------------------------------------------


def digits():
    table = load_toy("digits")
    return ClassIncrementalStream(table.X, table.y, classes_per_task=2)


def run_loop(learner, stream, batch_size):
    harness = pytest.importorskip("capymoa.ocl.evaluation", exc_type=ImportError)
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def loader(X, y, size):
        return DataLoader(TensorDataset(torch.tensor(X), torch.tensor(y)), batch_size=size)

    return harness.ocl_train_eval_loop(
        learner,
        [loader(task.X_train, task.y_train, batch_size) for task in stream],
        [loader(task.X_test, task.y_test, 256) for task in stream],
    )


def test_the_loop_of_capymoa_and_our_harness_give_one_accuracy_matrix():
    stream = digits()
    schema = numbers(stream.X_train, stream.y_train).get_schema()
    # One row a batch: CapyMOA predicts a batch before it is learnt.
    # The loop predicts held-out rows one by one, too: they are not the next of the stream.
    options = {"leaf": "gaussian", "adapt": "classes"}
    theirs = run_loop(MistClassifier(schema, **options), stream, batch_size=1)
    ours = evaluate(mist.MistClassifier(**options, random_state=1), stream)
    learnt = np.tri(len(theirs.accuracy_matrix), dtype=bool)
    assert ours.accuracy_matrix[learnt] == pytest.approx(theirs.accuracy_matrix[learnt], abs=1e-6)
    assert ours.final_accuracy == pytest.approx(theirs.accuracy_final, abs=1e-6)
    assert ours.prequential_accuracy == pytest.approx(
        theirs.ttt.cumulative.accuracy() / 100, abs=1e-6
    )


def test_batches_teach_the_same_as_rows():
    pytest.importorskip("torch", reason="needs torch: pip install 'capymoa[torch]'")
    from mist.interop.capymoa_batch import EstimatorBatchClassifier

    stream = digits()
    schema = numbers(stream.X_train, stream.y_train).get_schema()
    tree = mist.MistClassifier("gaussian", adapt="classes")
    by_row, in_batches = (
        EstimatorClassifier(schema, tree),
        EstimatorBatchClassifier(schema, tree),
    )
    rows, batches = (run_loop(learner, stream, 32) for learner in (by_row, in_batches))
    np.testing.assert_array_equal(rows.accuracy_matrix, batches.accuracy_matrix)
    X, y = (np.concatenate([getattr(t, part) for t in stream]) for part in ("X_test", "y_test"))
    instance = Instance.from_array(schema, X[0])
    np.testing.assert_array_equal(
        by_row.predict_proba(instance), in_batches.predict_proba(instance)
    )
    results = prequential_evaluation(numbers(X, y), in_batches, batch_size=50)
    assert results.cumulative.accuracy() > 85


def test_batches_with_labels_that_are_missing_or_unknown():
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'capymoa[torch]'")
    from mist.interop.capymoa_batch import EstimatorBatchClassifier

    schema = numbers(*blobs()).get_schema()
    learner = EstimatorBatchClassifier(schema, mist.MistClassifier(**EAGER))
    X = torch.zeros((2, 3), dtype=torch.float64)
    learner.batch_train(X, torch.tensor([-1, -1]))
    assert learner.batch_predict_proba(X).tolist() == [[0.0] * 4] * 2
    with pytest.raises(ValueError, match="y_index 4 is not in the schema"):
        learner.batch_train(X, torch.tensor([0, 4]))
    learner.batch_train(X, torch.tensor([-1, 2]))
    assert learner.batch_predict(X).tolist() == [2, 2]
    assert learner.model.n_rows_ == 1


def test_the_page_for_users_of_capymoa(capsys):
    names = {}
    for block in re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
        assert capsys.readouterr().out.split("\n")[:-1] == re.findall(r"print\(.*\)  # (.*)", block)


# --- the next of the stream ---------------------------------------------------------------------


def test_an_instance_is_the_next_of_the_stream():
    y = np.repeat(np.arange(40) % 2, 10)  # labels come in runs
    X = np.random.default_rng(0).normal(y[:, None].astype(float))
    stream = numbers(X, y)
    learner = MistClassifier(stream.get_schema(), leaf="gaussian")
    plain = mist.MistClassifier("gaussian", random_state=1)
    expected, found = plain.prequential(X, y), []
    for instance in stream:
        found.append(learner.predict(instance))
        learner.train(instance)
    assert found[1:] == expected.tolist()[1:]
    stream.restart()
    instance = stream.next_instance()
    as_next = plain.predict_proba(X[:1], next_in_stream=True)[0].tolist()
    assert learner.predict_proba(instance).tolist() == as_next
    assert as_next != plain.predict_proba(X[:1])[0].tolist()
