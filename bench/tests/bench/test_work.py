import json
from dataclasses import asdict

import numpy as np
import pytest

from mist.datasets import Dataset
from mist.evaluation import ClassIncrementalStream
from mist_bench import MEASURES, SETTINGS, Run, work
from mist_bench import methods as method_registry
from mist_bench.methods import METHODS
from mist_bench.work import describe, perform


@pytest.fixture(autouse=True)
def no_stream_kept():
    """Streams are kept between runs; tests change what they are made from."""
    work._stream.cache_clear()
    yield
    work._stream.cache_clear()


def untimed(record):
    fields = asdict(record)
    del fields["seconds"]
    fields["measures"] = {
        key: value for key, value in record.measures.items() if not MEASURES[key].timed
    }
    return fields


@pytest.mark.parametrize("method", ["mist-g", "ncm"])
@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_a_record_is_complete(method, protocol):
    run = Run("iris", method, 3, protocol)
    record = perform(run)
    assert record.run == run
    assert not record.failed
    assert set(record.measures) == set(MEASURES)
    has_leaves = METHODS[method].made_by is None
    of_trees = {"leaves", "splits", "depth", "leaf_impurity", "classes_per_leaf"}
    unknown = {key for key, value in record.measures.items() if value is None}
    in_order = {"kappa", "kappa_temporal", "prequential_recall", "recovery_rows"}
    assert unknown == in_order | (set() if has_leaves else of_trees)
    assert all(type(value) in (float, type(None)) for value in record.measures.values())
    assert record.seconds > 0

    assert record.shape == {"rows": 120, "held_out": 30, "columns": 4, "classes": 3, "tasks": 3}
    assert record.boundaries == [40, 80, 120]
    matrix = record.accuracy_matrix
    assert [[value is None for value in row] for row in matrix] == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    # Ten held-out rows of each class: accuracy, recall and matrix agree.
    assert set(record.recall) == {"0", "1", "2"}
    assert record.measures["final_accuracy"] == pytest.approx(np.mean(matrix[-1]))
    assert list(record.recall.values()) == pytest.approx(matrix[-1])
    curves = record.curves
    assert len(curves["rows"]) == len(curves["windowed_accuracy"]) == 120
    assert len(curves["evaluation_rows"]) == len(curves["seen_accuracy"])
    assert curves["evaluation_rows"][-1] == curves["rows"][-1] == 120
    assert curves["seen_accuracy"][-1] == pytest.approx(record.measures["final_accuracy"])
    assert record.settings == dict(METHODS[method].parameters)
    json.dumps(asdict(record), allow_nan=False)


def test_equal_seeds_give_equal_figures_and_other_seeds_others():
    for method in ("mist-g", "pec"):
        first, again = (perform(Run("iris", method, 5, "honest")) for _ in range(2))
        assert untimed(first) == untimed(again)
        other = perform(Run("iris", method, 6, "honest"))
        assert untimed(first)["measures"] != untimed(other)["measures"]


def test_long_curves_are_thinned_out():
    record = perform(Run("multimodal", "ncm", 1, "honest"))
    rows = record.curves["rows"]
    assert len(rows) == 200
    assert rows[0] == 1
    assert rows[-1] == record.shape["rows"]
    assert rows == sorted(set(rows))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no\n  such   thing"), "ValueError: no such thing"),
        (MemoryError(), "MemoryError"),
        (FileNotFoundError(2, "No such file", "x.npz"), "FileNotFoundError: [Errno 2] No such"),
    ],
)
def test_an_error_in_a_run_becomes_its_record(monkeypatch, error, text):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(work, "iter_evaluate", fail)
    record = perform(Run("iris", "ncm", 1, "honest"))
    assert record.failed
    assert record.error.startswith(text)
    assert "\n" not in record.error
    assert record.measures == {}
    assert record.seconds > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_not_an_outcome(monkeypatch, error):
    def stop(*_, **__):
        raise error

    monkeypatch.setattr(work, "iter_evaluate", stop)
    with pytest.raises(error):
        perform(Run("iris", "ncm", 1, "honest"))


def test_a_data_set_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("MIST_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    record = perform(Run("outdoor", "ncm", 1, "honest"))
    assert record.error.startswith("DatasetError: data set 'outdoor' is not here")
    assert "outdoor.npz" in record.error
    assert str(tmp_path) in record.error


@pytest.fixture
def made(monkeypatch):
    """The arguments with which methods are built, on a table with two 0/1 columns."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 4)) + y[:, None]
    X[:, [1, 3]] = rng.integers(0, 2, (180, 2))
    names = ("a", "b", "c", "d")
    dataset = Dataset(
        name="iris",
        X=X,
        y=y,
        feature_names=names,
        class_names=("x", "y", "z"),
        categorical=np.array([False, True, False, True]),
        source="",
        licence="",
        citation="",
        n_train=None,
    )
    calls = []

    def make(name, **options):
        calls.append((name, options))
        return method_registry.make(name, **options)

    monkeypatch.setattr(work, "load", lambda *_, **__: dataset)
    monkeypatch.setattr(work, "make", make)
    return calls


def test_seed_and_categorical_columns_reach_the_model(made):
    record = perform(Run("iris", "mist-g", 17, "honest"))
    assert not record.failed, record.error
    assert made == [("mist-g", {"seed": 17, "categorical_features": [1, 3]})]


def test_methods_on_one_stream_share_it(monkeypatch):
    made = []

    def stream(*arguments, **options):
        made.append(options["scale"])
        return ClassIncrementalStream(*arguments, **options)

    monkeypatch.setattr(work, "ClassIncrementalStream", stream)
    for method in ("mist-g", "slda", "ncm", "rls", "vfdt"):
        assert not perform(Run("iris", method, 1, "honest")).failed
    assert sorted(made) == [False, True]


@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_what_is_described_is_what_is_done(monkeypatch, protocol):
    done = {}

    def load(name, **options):
        done["data"] = {"name": name, **options}
        return work_load(name, **options)

    def stream(X, y, *, seed, **options):
        done["stream"], done["seed"] = options, seed
        return ClassIncrementalStream(X, y, seed=seed, **options)

    work_load = work.load
    monkeypatch.setattr(work, "load", load)
    monkeypatch.setattr(work, "ClassIncrementalStream", stream)
    run = Run("ring", "ncm", 9, protocol)
    assert not perform(run).failed
    described = describe(run)
    assert (described["data"], described["stream"]) == (done["data"], done["stream"])
    assert done["seed"] == 9
    assert done["data"]["seed"] == 9


def test_descriptions_of_all_runs_are_json():
    for dataset in SETTINGS:
        for method in METHODS:
            for protocol in ("honest", "paper"):
                json.dumps(describe(Run(dataset, method, 1, protocol)), allow_nan=False)
