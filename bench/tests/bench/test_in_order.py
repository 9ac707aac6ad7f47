"""Runs on streams in their own order, and their report."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from mist.datasets import Dataset, DriftStream, load, make_changing_classes, make_sea
from mist_bench import MEASURES, SETTINGS, Run, in_order
from mist_bench.baselines import NoChange
from mist_bench.grid_page import render_bench
from mist_bench.in_order import drift_measures, read_stream
from mist_bench.outcomes import arrange
from mist_bench.plots import _borders, curve_plots
from mist_bench.scores import headline_of, scores
from mist_bench.work import perform


@pytest.fixture(autouse=True)
def no_stream_kept():
    read_stream.cache_clear()
    yield
    read_stream.cache_clear()


def test_a_generated_stream_is_that_of_its_generator_and_seed():
    stream, expected = read_stream("sea+n_samples=500", 3), make_sea(500, seed=3)
    assert np.array_equal(stream.X, expected.X)
    assert np.array_equal(stream.y, expected.y)
    assert read_stream("sea+n_samples=500", 3) is stream
    fast, moderate = (read_stream(f"rbf_{s}+n_samples=500", 3) for s in ("fast", "moderate"))
    assert not np.array_equal(fast.X, moderate.X)
    assert np.array_equal(fast.X[0], moderate.X[0])


def test_changing_classes_are_made_from_the_table():
    table = load("multimodal")
    stream = read_stream("multimodal_split", 4)
    expected = make_changing_classes(table.X, table.y, kind="split", seed=4)
    assert np.array_equal(stream.X, expected.X)
    assert np.array_equal(stream.X_test, expected.X_test)


def test_a_table_comes_in_its_own_order_and_may_be_cut(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100_500, 2))
    y, mask = np.arange(100_500) % 7, np.array([False, True])
    table = Dataset("covertype", X, y, ("a", "b"), tuple("abcdefg"), mask, "", "")
    monkeypatch.setattr(in_order, "load", lambda *_, **__: table)
    stream = read_stream("covertype_in_order", 3)
    assert np.array_equal(stream.X, X[:100_000])
    assert np.array_equal(stream.y, y[:100_000])
    assert stream.drifts.tolist() == []
    assert stream.categorical.tolist() == [False, True]
    assert len(read_stream("electricity_in_order", 3).y) == 100_500


def test_measures_of_known_predictions():
    y = np.repeat([0, 1], 1000)
    stream = DriftStream("x", y[:, None] * 1.0, y, np.array([1000]), np.array([True]))
    # The second class is answered right from its 300th row on.
    predicted = np.where(np.arange(2000) < 1300, 0, 1)
    found = drift_measures(stream, predicted)
    assert found["prequential_accuracy"] == 0.85
    assert found["kappa"] == pytest.approx((0.85 - 0.5) / 0.5)
    assert found["kappa_temporal"] == pytest.approx((0.85 - 1998 / 2000) / (2 / 2000))
    assert found["prequential_recall"] == pytest.approx((1 + 0.7) / 2)
    # 196 of the 200 rows up to row 496 after the drift are right.
    assert found["recovery_rows"] == 496
    assert np.isnan(drift_measures(replace(stream, drifts=np.array([1900])), y)["recovery_rows"])


def test_no_change_is_the_label_before():
    y = ["b", "b", "a", "a", "c"]
    assert NoChange().prequential(np.zeros((5, 1)), y).tolist() == ["a", "b", "b", "a", "a"]
    model = NoChange().fit(np.zeros((5, 1)), y)
    assert model.predict(np.zeros((2, 1))).tolist() == ["c", "c"]
    assert model.predict_proba(np.zeros((1, 1))).tolist() == [[0, 0, 1]]
    at_once = NoChange().prequential(np.zeros((5, 1)), y)[3:]
    model = NoChange().partial_fit(np.zeros((3, 1)), y[:3])
    assert model.prequential(np.zeros((2, 1)), y[3:]).tolist() == at_once.tolist()


@pytest.mark.parametrize("method", ["mist-g", "no-change"])
def test_a_record_of_a_stream_in_its_own_order(method):
    run = Run("stagger+n_samples=1200", method, 3, "honest")
    record = perform(run)
    assert not record.failed, record.error
    assert list(record.measures) == list(MEASURES)
    assert record.boundaries == [200, 400, 600, 800, 1000, 1200]
    shape = {"rows": 1200, "held_out": 0, "columns": 9, "classes": 2, "drifts": 5}
    assert record.shape == shape
    assert record.recall == {}
    assert record.accuracy_matrix == ()
    assert record.curves["rows"][-1] == 1200
    assert len(record.curves["rows"]) == len(record.curves["windowed_accuracy"]) == 200
    assert (record.measures["leaves"] is None) == (method == "no-change")
    for key in ("final_accuracy", "mean_class_recall", "average_forgetting"):
        assert record.measures[key] is None
    if method == "no-change":
        assert record.measures["kappa_temporal"] == 0
        y = read_stream(run.dataset, 3).y
        hits = np.mean(np.append(False, y[1:] == y[:-1]))
        assert record.measures["prequential_accuracy"] == pytest.approx(hits)
    json.dumps(asdict(record), allow_nan=False)


def test_held_out_rows_are_those_of_the_end():
    record = perform(Run("multimodal_recur", "gaussian-nb", 3, "honest"))
    assert not record.failed, record.error
    assert record.shape["held_out"] == 800
    assert set(record.recall) == set(map(str, range(8)))
    mean = np.mean(list(record.recall.values()))
    assert record.measures["mean_class_recall"] == pytest.approx(mean)
    assert mean > 0.8
    # Labels that were exchanged late are not followed by means over all rows.
    swapped = perform(Run("multimodal_swap", "gaussian-nb", 3, "honest"))
    assert swapped.measures["mean_class_recall"] < 0.8
    assert swapped.measures["prequential_accuracy"] < record.measures["prequential_accuracy"]


@pytest.fixture(scope="module")
def small():
    methods, datasets = ("no-change", "gaussian-nb"), ("sea+n_samples=2000", "led+n_samples=2000")
    plan = [Run(d, m, s, "honest") for d in datasets for s in (1, 2) for m in methods]
    return plan, datasets, [perform(run) for run in plan]


def test_methods_are_ranked_by_prequential_accuracy(small):
    plan, datasets, records = small
    outcomes = arrange(records, datasets=datasets, planned=plan)
    assert headline_of(outcomes) == scores(outcomes).measure == "prequential_accuracy"
    assert scores(outcomes).matrix.shape == (2, 2)
    nothing = arrange([], datasets=datasets, planned=plan)
    assert headline_of(nothing) == "final_accuracy"


def test_the_report_speaks_of_drifts(small):
    plan, datasets, records = small
    outcomes = arrange(records, datasets=datasets, planned=plan)
    (plot,) = curve_plots(outcomes, datasets[0], "d0")
    assert "Dotted lines: drifts." in plot.caption
    assert _borders(outcomes, datasets[0]) == ([500, 1000, 1500], False)
    page = render_bench("Benchmark", "", records, datasets=datasets, planned=plan)
    assert "2 classes in their own order, 3 known drifts, 3 columns; 2,000 rows learnt" in page
    assert "mean rank 1.00, mean prequential accuracy" in page
    for title in ("Kappa", "Kappa-temporal", "Rows until recovered from a drift"):
        assert title in page
    assert "inal accuracy" not in page
    assert SETTINGS[datasets[0]].title in page
