"""CapyMOA's classifiers in a folder of the benchmark, with Java and without."""

import os
import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench_records import record
from mist.cli import app as mist
from mist.datasets import DriftStream, make_changing_classes
from mist_bench import MEASURES, Run, capymoa_rivals, capymoa_runs, command, default_methods, plan
from mist_bench.capymoa_runs import perform_rival
from mist_bench.in_order import read_stream
from mist_bench.methods import METHODS, RIVALS, find_method, make
from mist_bench.outcomes import arrange, group_of, title_of
from mist_bench.store import read_records
from mist_bench.work import describe, perform

has_java = find_spec("capymoa") is not None and bool(
    shutil.which("java") or os.environ.get("JAVA_HOME")
)
needs_java = pytest.mark.skipif(not has_java, reason="needs CapyMOA and Java: make test-capymoa")

SMALL = ("--datasets", "sea+n_samples=400,stagger+n_samples=600", "--seeds", "1,2")


def rivals(*arguments):
    return CliRunner().invoke(capymoa_rivals.app, list(map(str, arguments)))


def test_rivals_are_described_like_other_methods():
    assert not set(METHODS) & set(RIVALS)
    titles = [method.title for method in (*METHODS.values(), *RIVALS.values())]
    assert len(set(titles)) == len(titles)
    assert {method.needs for method in RIVALS.values()} == {"capymoa"}
    assert (title_of("capymoa-knn"), group_of("capymoa-knn")) == ("CapyMOA kNN", "other")
    assert find_method("mist") is METHODS["mist"]
    wide = find_method("capymoa-knn+window_size=5000")
    assert (wide.title, wide.parameters) == ("CapyMOA kNN, window_size=5000", {"window_size": 5000})
    with pytest.raises(ValueError, match="no option of capymoa-knn called 'k'"):
        find_method("capymoa-knn+k=3")
    with pytest.raises(ValueError, match=r"called 'capymoa-kn':.* nearest is 'capymoa-knn'"):
        find_method("capymoa-kn")
    with pytest.raises(ValueError, match=r"run by python -m mist_bench\.capymoa_rivals"):
        make("capymoa-arf")


def test_rivals_are_planned_on_streams_in_their_own_order_only():
    (run,) = plan(methods=["capymoa-arf"], datasets=["sea"], seeds=[1])
    assert describe(run)["model"] == {"ensemble_size": 10}
    with pytest.raises(ValueError, match=r"capymoa-arf runs on streams .* iris comes in tasks"):
        plan(methods=["capymoa-arf", "mist"], datasets=["sea", "iris"], seeds=[1])


def test_rivals_end_their_group_in_tables():
    methods = ["capymoa-nb", "no-change", "capymoa-arf+ensemble_size=5", "arf", "mist"]
    runs = plan(methods=methods, datasets=["sea"], seeds=[1])
    expected = ("mist", "arf", "capymoa-arf+ensemble_size=5", "no-change", "capymoa-nb")
    assert arrange([], datasets=["sea"], planned=runs).methods == expected


@pytest.fixture
def pretended(monkeypatch):
    """The runs that are done; none needs Java."""
    done = []
    monkeypatch.setattr(capymoa_rivals, "start_java", lambda: None)
    monkeypatch.setattr(
        capymoa_rivals, "perform_rival", lambda run: done.append(run) or result(run)
    )
    return done


def result(run, **changes):
    measures = {"prequential_accuracy": 0.75, "rows_per_second": 4321.0}
    return record(run, measures={**dict.fromkeys(MEASURES), **measures}, **changes)


def test_runs_are_kept_and_not_done_again(pretended, tmp_path):
    arguments = (*SMALL, "--models", "capymoa-ht,capymoa-nb", "--out", tmp_path)
    outcome = rivals(*arguments)
    assert outcome.exit_code == 0, outcome.output
    datasets = ["sea+n_samples=400", "stagger+n_samples=600"]
    runs = plan(methods=["capymoa-ht", "capymoa-nb"], datasets=datasets, seeds=[1, 2])
    assert pretended == runs == list(read_records(tmp_path, runs))
    first, *_, last = outcome.stdout.splitlines()
    key = "honest/sea+n_samples=400/capymoa-ht/1"
    assert first == f"1 of 8: {key}: prequential accuracy 0.750, 4,321 rows/s"
    assert last == f"8 runs are in {tmp_path}, 0 failed"
    assert rivals(*arguments).stdout.splitlines() == [last]
    assert len(pretended) == 8
    rivals(*arguments, "--fresh")
    assert len(pretended) == 16


def test_failed_runs_are_reported_and_done_again_if_asked(pretended, tmp_path, monkeypatch):
    arguments = (*SMALL, "--models", "capymoa-ht", "--out", tmp_path)
    monkeypatch.setattr(capymoa_rivals, "perform_rival", lambda run: record(run, error="Java: [x]"))
    outcome = rivals(*arguments)
    assert outcome.exit_code == 1
    assert outcome.stdout.splitlines()[0].endswith("capymoa-ht/1: failed: Java: [x]")
    assert outcome.stdout.splitlines()[-1].endswith("4 failed")
    monkeypatch.setattr(capymoa_rivals, "perform_rival", result)
    assert rivals(*arguments).exit_code == 1
    assert rivals(*arguments, "--retry-failed").exit_code == 0


def test_a_suite_is_run_without_the_streams_that_are_absent(pretended, tmp_path, monkeypatch):
    monkeypatch.setattr(capymoa_rivals, "find_absent", lambda names: {"sea": "no [sea]"})
    outcome = rivals("--models", "capymoa-nb", "--seeds", 1, "--out", tmp_path)
    assert outcome.stdout.splitlines()[0] == "sea is left out: no [sea]"
    assert len(pretended) == 30
    assert all(run.dataset != "sea" for run in pretended)


def test_what_cannot_be_run(tmp_path, monkeypatch):
    for arguments, message in (
        (("--models", "arf"), "--models arf: choose one of capymoa-ht, "),
        (("--datasets", "iris"), "iris comes in tasks"),
    ):
        outcome = rivals(*arguments, "--out", tmp_path)
        assert outcome.exit_code == 2
        assert message in outcome.stderr
    monkeypatch.setitem(sys.modules, "capymoa", None)
    outcome = rivals(*SMALL, "--out", tmp_path)
    assert outcome.exit_code == 2
    assert "CapyMOA is not installed here: use make bench-capymoa" in outcome.stderr


def test_mist_bench_shows_rivals_and_does_not_run_them(pretended, tmp_path):
    small = ("--datasets", "sea+n_samples=400", "--seeds", "1", "--out", str(tmp_path))
    rivals(*small, "--models", "capymoa-ht")

    def shown(*arguments):
        outcome = CliRunner().invoke(mist, ["bench", *small, "--jobs", "1", *arguments])
        assert outcome.exit_code == 0, outcome.output
        return outcome.stdout

    table = shown("--models", "no-change,capymoa-ht,capymoa-nb")
    assert "CapyMOA HT" in table
    assert "0.750" in table
    row = next(line for line in table.splitlines() if line.startswith("CapyMOA naive Bayes"))
    assert "not run" in row
    assert "CapyMOA HT" not in shown("--models", "no-change")
    folder = tmp_path / "runs" / "honest" / "sea+n_samples=400"
    assert {path.name for path in folder.iterdir()} == {"no-change-1.json", "capymoa-ht-1.json"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "CapyMOA" not in page


def test_rivals_in_the_folder_are_shown_unless_methods_are_named(pretended, tmp_path):
    datasets = ["sea+n_samples=400", "led+n_samples=400"]
    rivals("--datasets", datasets[0], "--seeds", 1, "--models", "capymoa-nb", "--out", tmp_path)
    options = {"suite": "drift", "datasets": datasets, "seeds": [1], "out": tmp_path}
    runs = command._plan(command.BenchOptions(**options), Console())
    assert list(dict.fromkeys(run.method for run in runs)) == [
        *default_methods("drift"),
        "capymoa-nb",
    ]
    assert len(runs) == 2 * (len(default_methods("drift")) + 1)
    named = command.BenchOptions(methods=["mist"], **options)
    assert len(command._plan(named, Console())) == 2


# -- with Java ---------------------------------------------------------------------------------


@needs_java
def test_no_change_is_that_of_this_package():
    ours = perform(Run("stagger+n_samples=1200", "no-change", 3, "honest"))
    theirs = perform_rival(Run("stagger+n_samples=1200", "capymoa-no-change", 3, "honest"))
    assert not theirs.failed, theirs.error
    for key in ("prequential_accuracy", "kappa", "kappa_temporal", "recovery_rows"):
        assert theirs.measures[key] == ours.measures[key]
    assert list(theirs.measures) == list(MEASURES)
    assert theirs.curves == ours.curves
    assert (theirs.shape, theirs.boundaries) == (ours.shape, ours.boundaries)
    assert theirs.settings["capymoa"].count(".") == 2


@needs_java
@pytest.mark.parametrize("method", RIVALS)
def test_rivals_learn_and_are_tested_on_held_out_rows(method):
    run = Run("multimodal_recur", method, 3, "honest")
    found = perform_rival(run)
    assert not found.failed, found.error
    assert found.shape["held_out"] == 800
    assert set(found.recall) == set(map(str, range(8)))
    assert found.measures["rows_per_second"] > 0
    assert found.measures["nbytes"] is None
    if method != "capymoa-no-change":
        assert found.measures["prequential_accuracy"] > 0.6
    again = perform_rival(run)
    assert again.recall == found.recall
    assert again.curves == found.curves


@needs_java
def test_the_seed_and_the_parameters_reach_the_forest():
    runs = [
        Run("sea+n_samples=3000", f"capymoa-arf+ensemble_size={size}", 1, "honest")
        for size in (1, 3)
    ]
    one, three = (perform_rival(run) for run in runs)
    assert one.curves != three.curves
    assert three.settings["ensemble_size"] == 3
    capymoa_runs.start_java()
    table = capymoa_runs._java_stream("sea+n_samples=3000", 1)
    models = [
        capymoa_runs._make(Run("sea", "capymoa-arf", s, "honest"), table.schema) for s in (1, 2)
    ]
    first, second = (table.loop(model, 3000) for model in models)
    assert (first != second).any()


@needs_java
def test_labels_and_0_1_columns_reach_java(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.choice([3, 7, 20], 600)
    X = np.column_stack([y == 7, y + rng.normal(size=600)]).astype(float)
    made = make_changing_classes(X, y, kind="recur", classes_per_task=3)
    stream = DriftStream(
        "x", made.X, made.y, made.drifts, made.categorical, made.X_test, made.y_test
    )
    read_stream.cache_clear()
    capymoa_runs._java_stream.cache_clear()
    monkeypatch.setattr(capymoa_runs, "read_stream", lambda name, seed: stream)
    found = perform_rival(Run("sea", "capymoa-nb", 5, "honest"))
    schema = capymoa_runs._java_stream("sea", 5).schema
    capymoa_runs._java_stream.cache_clear()
    assert not found.failed, found.error
    assert set(found.recall) == {"3", "7", "20"}
    assert min(found.recall.values()) > 0.8
    assert schema.get_label_values() == ["3", "7", "20"]
    assert "@attribute x0 {0,1}" in str(schema)
    assert "@attribute x1 numeric" in str(schema)
