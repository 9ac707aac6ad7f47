import json
from dataclasses import asdict, replace

import pytest

from bench_records import record
from mist_bench import Run, StoreError, store
from mist_bench.record import Experiment
from mist_bench.store import (
    forget,
    path_of,
    read_record,
    read_records,
    write_record,
)
from mist_bench.work import perform

RUN = Run("iris", "ncm", 42, "honest")


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_round_trip_of_a_real_run_is_exact(tmp_path):
    written = perform(RUN)
    assert None in written.measures.values()
    path = write_record(tmp_path, written)
    assert path == path_of(tmp_path, RUN)
    assert asdict(read_record(tmp_path, RUN)) == asdict(written)


def test_round_trip_of_odd_floats_and_texts(tmp_path):
    written = record(
        Run("wine", "rls", 2**32 - 1, "paper"),
        0.1 + 0.2,
        measures={"leaves": None, "nbytes": 5e-324, "backward_transfer": -1 / 3},
        recall={'"quoted" \\ é 中': 1e300, "": None},
        error="ValueError: Zeile 1 – zu groß",  # noqa: RUF001
        seconds=1e-9,
    )
    write_record(tmp_path, written)
    assert asdict(read_record(tmp_path, written.run)) == asdict(written)


def test_a_figure_that_is_not_a_number_is_refused(tmp_path):
    # Files are JSON proper: an unknown figure is null, never NaN.
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_record(tmp_path, record(RUN, float("nan")))
    assert read_record(tmp_path, RUN) is None


def test_every_run_has_a_file_of_its_own(tmp_path):
    runs = [
        Run(dataset, method, seed, protocol)
        for dataset in ("iris", "wine")
        for method in ("hat", "hat-no-reset", "ncm")
        for seed in (1, 11)
        for protocol in ("honest", "paper")
    ]
    assert len({path_of(tmp_path, run) for run in runs}) == len(runs)


def test_nothing_there(tmp_path):
    assert read_record(tmp_path / "nowhere", RUN) is None
    assert read_records(tmp_path, [RUN]) == {}
    (tmp_path / "runs").write_text("a file where a folder should be")
    assert read_record(tmp_path, RUN) is None


def test_read_records_keeps_the_order_of_the_plan(tmp_path):
    runs = [replace(RUN, seed=seed) for seed in (5, 1, 3, 2)]
    for run in sorted(runs[:3]):
        write_record(tmp_path, record(run))
    assert list(read_records(tmp_path, runs)) == runs[:3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "3",
        '{"format": 1}',
        '{"format": 1, "mist": "0.1.0", "settings": {}, "record"',
        "\x00" * 100,
    ],
)
def test_garbage_counts_as_not_done(tmp_path, text):
    path = write_record(tmp_path, record(RUN))
    path.write_text(text)
    assert read_record(tmp_path, RUN) is None


@pytest.mark.parametrize("fields", [None, [], {}, "x", {"run": {}}, {"run": asdict(RUN), "a": 1}])
def test_a_record_of_another_form_counts_as_not_done(tmp_path, fields):
    path = write_record(tmp_path, record(RUN))
    change(path, record=fields)
    assert read_record(tmp_path, RUN) is None


def test_bytes_that_are_not_text_count_as_not_done(tmp_path):
    path = write_record(tmp_path, record(RUN))
    path.write_bytes(b"\xff\xfe" * 50)
    assert read_record(tmp_path, RUN) is None


def test_cut_anywhere_a_file_counts_as_not_done(tmp_path):
    path = write_record(tmp_path, record(RUN))
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert read_record(tmp_path, RUN) is None


def test_a_file_under_the_name_of_another_run_counts_as_not_done(tmp_path):
    path = write_record(tmp_path, record(RUN))
    other = replace(RUN, seed=43)
    path.rename(path_of(tmp_path, other))
    assert read_record(tmp_path, other) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mist": "0.0.9"}, r"by version 0\.0\.9 \(format 1\), this is"),
        # The contents of a later format are unknown, so they are not read.
        ({"format": 2, "record": {"future": 1}}, r"\(format 2\), this is .* \(1\)"),
        ({"settings": {"data": {"name": "iris"}}}, "under other settings"),
    ],
)
def test_results_that_must_not_be_mixed(tmp_path, changes, words):
    path = write_record(tmp_path, record(RUN))
    change(path, **changes)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words) as caught:
        read_records(tmp_path, [RUN])
    assert str(path) in str(caught.value)
    assert "another folder" in str(caught.value)
    assert "--fresh" in str(caught.value)
    assert path.read_bytes() == before


def test_results_of_an_other_version_of_the_library(tmp_path, monkeypatch):
    write_record(tmp_path, record(RUN))
    monkeypatch.setattr(store, "__version__", "9.9.9")
    with pytest.raises(StoreError, match=r"this is 9\.9\.9"):
        read_record(tmp_path, RUN)


def test_forget(tmp_path):
    kept, gone, never = (replace(RUN, seed=seed) for seed in (1, 2, 3))
    for run in (kept, gone):
        write_record(tmp_path, record(run))
    forget(tmp_path, [gone, never])
    assert list(read_records(tmp_path, [kept, gone, never])) == [kept]


def test_parts_left_by_a_kill_are_cleared_with_the_next_write(tmp_path):
    path = path_of(tmp_path, RUN)
    path.parent.mkdir(parents=True)
    mine = path.with_name(f".{path.name}-0123.part")
    others = path.with_name(".ncm-4.json-0123.part")
    for part in (mine, others):
        part.write_text("half")
    assert read_record(tmp_path, RUN) is None
    write_record(tmp_path, record(RUN))
    assert sorted(path.parent.iterdir()) == sorted([path, others])


# --- variants and experiments ------------------------------------------------------------------


def doubled(n, seed=None):
    return {"twice": [2 * n], "seed": seed}


@pytest.mark.parametrize(
    "name",
    ["mist-g+leaf=../../../../evil", "mist-g+leaf=a/b", "mist-g+leaf=a\\b:*?", "mist-g+leaf=.."],
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    path = path_of(tmp_path, Run("iris", name, 42, "paper"))
    assert path.parent == tmp_path / "runs" / "paper" / "iris"
    assert not set(path.name) & set("/\\:*?")


def test_names_with_options_stay_readable(tmp_path):
    run = Run("ring+rows=600", "mist-g+delta=0.01", 42, "paper")
    path = path_of(tmp_path, run).relative_to(tmp_path)
    assert path.as_posix() == "runs/paper/ring+rows=600/mist-g+delta=0.01-42.json"


@pytest.mark.parametrize("seed", [{}, {"seed": 7}])
def test_an_experiment_is_done_stored_and_read_again(tmp_path, seed):
    experiment = Experiment.of(doubled, n=4, **seed)
    written = perform(experiment)
    assert written.result == {"twice": [8], "seed": seed.get("seed")}
    path = write_record(tmp_path, written)
    assert path.relative_to(tmp_path).parts[0] == "experiments"
    found = read_record(tmp_path, experiment)
    assert (found.run, found.result, found.seconds) == (experiment, written.result, written.seconds)
    # Other arguments are not checked.
    assert read_record(tmp_path, Experiment.of(doubled, n=5, **seed)) is None
    forget(tmp_path, [experiment])
    assert read_record(tmp_path, experiment) is None


def test_experiments_have_files_of_their_own(tmp_path):
    experiments = [
        Experiment.of(doubled, n=n, **seed) for n in (1, 2) for seed in ({}, {"seed": 0})
    ]
    assert len({path_of(tmp_path, experiment) for experiment in experiments}) == 4


def test_a_failed_experiment_becomes_its_record():
    record = perform(Experiment.of(doubled, m=4))
    assert record.failed
    assert "unexpected keyword argument 'm'" in record.error
