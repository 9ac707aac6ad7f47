import os
import signal
import sys
import time
from dataclasses import replace

import joblib
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from bench_records import record
from mist.datasets import DatasetError
from mist_bench import MEASURES, Run, StoreError, cluster, iter_grid, plan, run_grid, schedule
from mist_bench.cluster import LOST
from mist_bench.schedule import _time_left, find_absent
from mist_bench.store import path_of, read_records, write_record
from mist_bench.work import perform

CHEAP = plan(methods=["ncm", "slda"], datasets=["iris"], seeds=[1, 2])
MISSING = Run("outdoor", "ncm", 1, "honest")
"""scikit-learn knows no copy of this set, so without a file it fails at once, network or not."""


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    for name in ("MIST_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "no data"))


@pytest.fixture
def performed(monkeypatch):
    """The runs that are done, of those in this process."""
    runs = []

    def note(run):
        runs.append(run)
        return perform(run)

    monkeypatch.setattr(schedule, "perform", note)
    return runs


def figures(records):
    return {
        record.run: {
            key: value for key, value in record.measures.items() if not MEASURES[key].timed
        }
        for record in records
    }


def stamps(folder):
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*.json")
    }


def test_a_grid_from_nothing(tmp_path, performed):
    steps = list(iter_grid(CHEAP, tmp_path, jobs=1))
    assert performed == CHEAP
    assert steps[0].record is None
    assert steps[0].seconds_left is None
    assert [step.record.run for step in steps[1:]] == CHEAP
    assert [step.done for step in steps] == [0, 1, 2, 3, 4]
    assert {(step.total, step.failed) for step in steps} == {(4, 0)}
    assert all(step.seconds_left > 0 for step in steps[1:-1])
    assert steps[-1].seconds_left == 0
    assert list(read_records(tmp_path, CHEAP)) == CHEAP


def test_every_run_is_on_disk_before_it_is_reported(tmp_path):
    for step in iter_grid(CHEAP, tmp_path, jobs=1):
        assert len(read_records(tmp_path, CHEAP)) == step.done


def test_only_what_is_missing_is_done(tmp_path, performed):
    grid = iter_grid(CHEAP, tmp_path, jobs=1)
    for _ in range(3):
        next(grid)
    grid.close()
    assert performed == CHEAP[:2]
    path_of(tmp_path, CHEAP[0]).write_text('{"format": 1, "mis')
    before = stamps(tmp_path)
    del performed[:]

    steps = list(iter_grid(CHEAP, tmp_path, jobs=1))
    assert [step.done for step in steps] == [1, 2, 3, 4]
    assert performed == [CHEAP[0], *CHEAP[2:]]
    kept = path_of(tmp_path, CHEAP[1]).relative_to(tmp_path)
    assert stamps(tmp_path)[kept] == before[kept]

    del performed[:]
    assert [record.run for record in run_grid(CHEAP, tmp_path, jobs=1)] == CHEAP
    assert performed == []


def test_a_wider_plan_takes_over_what_is_there(tmp_path, performed):
    run_grid(CHEAP[:2], tmp_path, jobs=1)
    del performed[:]
    run_grid(CHEAP, tmp_path, jobs=1)
    assert performed == CHEAP[2:]


def test_fresh_does_everything(tmp_path, performed):
    run_grid(CHEAP, tmp_path, jobs=1)
    write_record(tmp_path, other := record(replace(CHEAP[0], seed=77)))
    del performed[:]
    run_grid(CHEAP, tmp_path, jobs=1, fresh=True)
    assert performed == CHEAP
    # What is not in the plan is not touched.
    assert path_of(tmp_path, other.run).exists()


def test_fresh_that_was_stopped_goes_on_without_it(tmp_path, performed, monkeypatch):
    monkeypatch.setattr("mist_bench.store.__version__", "0.0.1")
    run_grid(CHEAP, tmp_path, jobs=1)
    monkeypatch.undo()
    with pytest.raises(StoreError, match="--fresh"):
        run_grid(CHEAP, tmp_path, jobs=1)
    grid = iter_grid(CHEAP, tmp_path, jobs=1, fresh=True)
    assert [next(grid).done for _ in range(3)] == [0, 1, 2]
    grid.close()
    assert [step.done for step in iter_grid(CHEAP, tmp_path, jobs=1)] == [2, 3, 4]


def test_a_failing_run_does_not_stop_the_others(tmp_path, no_data):
    runs = [CHEAP[0], MISSING, *CHEAP[1:]]
    last = list(iter_grid(runs, tmp_path, jobs=2))[-1]
    assert (last.done, last.total, last.failed, last.seconds_left) == (5, 5, 1, 0)
    records = read_records(tmp_path, runs)
    assert [run for run in runs if records[run].failed] == [MISSING]
    assert records[MISSING].error.startswith("DatasetError: data set 'outdoor' is not here")


def test_failures_are_kept_until_they_are_to_be_retried(tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "perform", lambda run: record(run, error="MemoryError"))
    assert all(record.failed for record in run_grid(CHEAP[:2], tmp_path, jobs=1))
    monkeypatch.undo()

    steps = list(iter_grid(CHEAP, tmp_path, jobs=1))
    assert [(step.done, step.failed) for step in steps] == [(2, 2), (3, 2), (4, 2)]
    before = stamps(tmp_path)
    steps = list(iter_grid(CHEAP, tmp_path, jobs=1, retry_failed=True))
    assert [(step.done, step.failed) for step in steps] == [(2, 0), (3, 0), (4, 0)]
    assert not any(record.failed for record in run_grid(CHEAP, tmp_path, jobs=1))
    for run in CHEAP[2:]:
        path = path_of(tmp_path, run).relative_to(tmp_path)
        assert stamps(tmp_path)[path] == before[path]


@pytest.mark.parametrize("reachable", [False, True])
def test_what_is_missing_is_fetched_once_before_anything_runs(
    tmp_path, no_data, monkeypatch, performed, reachable
):
    fetched = []

    def download(entry):
        fetched.append((entry.name, len(performed)))
        if not reachable:
            raise DatasetError("no network")

    monkeypatch.setattr(schedule, "download", download)
    # These runs need no file; their names alone define the results.
    monkeypatch.setattr(schedule, "perform", lambda run: performed.append(run) or record(run))
    names = ["letter", "iris", "outdoor", "mnist"]
    runs = plan(methods=["ncm"], datasets=names, seeds=[1, 2])
    write_record(tmp_path, record(runs[-1]))
    write_record(tmp_path, record(runs[-2]))
    run_grid(runs, tmp_path, jobs=1)
    assert fetched == [("letter", 0), ("outdoor", 0)]
    assert performed == runs[:-2]


def test_reasons_are_given_for_absent_data(no_data, monkeypatch):
    names = ["outdoor_in_order", "sea", "phishing_in_order", "outdoor", "iris"]
    reasons = find_absent(names)
    assert list(reasons) == ["outdoor_in_order", "outdoor"]
    assert reasons["outdoor"] == reasons["outdoor_in_order"]
    assert reasons["outdoor"].startswith("data set 'outdoor' is not here, and")
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setattr(schedule, "download", lambda entry: None)
    river = "river is not installed: pip install 'mist-tree[bench]'"
    assert find_absent(names) == {"phishing_in_order": river}


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_figures_do_not_depend_on_where_a_run_is_done(tmp_path, backend):
    alone = run_grid(CHEAP, tmp_path / "alone", jobs=1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = run_grid(CHEAP, tmp_path / "together")
    assert figures(together) == figures(alone)


@pytest.mark.parametrize("processes", [False, True])
def test_a_dask_cluster(tmp_path, processes):
    distributed = pytest.importorskip("distributed")
    workers = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=None
    )
    with workers, distributed.Client(workers), joblib.parallel_config(backend="dask"):
        together = run_grid(CHEAP, tmp_path / "together")
    assert figures(together) == figures(run_grid(CHEAP, tmp_path / "alone", jobs=1))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_run_that_kills_its_worker_is_recorded_and_the_others_go_on(tmp_path):
    deadly = CHEAP[1]
    # A function defined here is pickled by value, so workers get this one.
    with pytest.MonkeyPatch.context() as patch:

        def die(run):
            if run == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return perform(run)

        patch.setattr(schedule, "perform", die)
        steps = list(iter_grid(CHEAP, tmp_path, jobs=2))
    assert (steps[-1].done, steps[-1].failed) == (4, 1)
    records = read_records(tmp_path, CHEAP)
    assert [run for run in CHEAP if records[run].failed] == [deadly]
    assert "killed" in records[deadly].error


def test_a_run_that_ends_its_worker_each_time_is_tried_a_few_times(tmp_path):
    tried = tmp_path / "tried"
    tried.mkdir()
    with pytest.MonkeyPatch.context() as patch:

        def end(run):
            if run in CHEAP[:2]:
                (tried / f"{run.method} {time.time_ns()}").touch()
                os._exit(1)
            return perform(run)

        patch.setattr(schedule, "perform", end)
        last = list(iter_grid(CHEAP, tmp_path / "grid", jobs=2))[-1]
    assert (last.done, last.failed) == (4, 2)
    records = read_records(tmp_path / "grid", CHEAP)
    assert [run for run in CHEAP if records[run].error == LOST] == CHEAP[:2]
    methods = [path.name.split()[0] for path in tried.iterdir()]
    assert all(2 <= methods.count(name) <= 4 for name in ("ncm", "slda"))


def test_a_run_that_ends_its_dask_worker_each_time_is_recorded(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask

    deadly = CHEAP[1]
    with (
        # Every death counts, so that runs next to the deadly one are given up, too.
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None
        ) as workers,
        distributed.Client(workers),
        joblib.parallel_config(backend="dask"),
        pytest.MonkeyPatch.context() as patch,
    ):

        def end(run):
            if run == deadly:
                os._exit(1)
            return perform(run)

        patch.setattr(schedule, "perform", end)
        last = list(iter_grid(CHEAP, tmp_path))[-1]
    assert (last.done, last.failed) == (4, 1)
    records = read_records(tmp_path, CHEAP)
    assert [run for run in CHEAP if records[run].failed] == [deadly]
    assert records[deadly].error == LOST


def test_a_dask_cluster_whose_workers_are_gone_is_reported(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_NO_WORKER_SECONDS", 0.1)
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.05)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as nobody,
        distributed.Client(nobody),
        joblib.parallel_config(backend="dask"),
        pytest.raises(OSError, match=r"no worker for 0\.1 seconds: start workers"),
    ):
        run_grid(CHEAP, tmp_path)
    assert read_records(tmp_path, CHEAP) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_worker_that_is_killed_once_costs_no_run(tmp_path):
    marker = str(tmp_path / "killed")
    with pytest.MonkeyPatch.context() as patch:

        def die_once(run):
            if run == CHEAP[1] and not os.path.exists(marker):
                open(marker, "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return perform(run)

        patch.setattr(schedule, "perform", die_once)
        last = list(iter_grid(CHEAP, tmp_path / "grid", jobs=2))[-1]
    assert os.path.exists(marker)
    assert (last.done, last.failed) == (4, 0)


def test_too_few_jobs(tmp_path):
    with pytest.raises(ValueError, match="n_jobs"):
        run_grid(CHEAP, tmp_path, jobs=0)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "runs").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="runs"):
        run_grid(CHEAP, tmp_path, jobs=1)


def known(**seconds):
    """Records of runs named METHOD_DATASET_SEED."""
    return {
        run: record(run, seconds=value)
        for name, value in seconds.items()
        for method, dataset, seed in [name.split("_")]
        for run in [Run(dataset, method, int(seed), "honest")]
    }


def test_time_left():
    runs = plan(methods=["ncm", "slda"], datasets=["iris", "wine"], seeds=[1, 2])
    assert _time_left({}, runs, 1) is None
    # Seven runs are left; the only known time is the estimate for each.
    assert _time_left(known(ncm_iris_1=2.0), runs, 1) == pytest.approx(14)
    assert _time_left(known(ncm_iris_1=2.0), runs, 2) == pytest.approx(7)
    # NCM on iris: 2 s as the other seed; on wine: as NCM on iris, twice 2 s.
    # SLDA on iris 10 s, on wine twice 10 s.
    both = known(ncm_iris_1=2.0, slda_iris_1=10.0)
    assert _time_left(both, runs, 1) == pytest.approx(2 + 4 + 10 + 20)
    # NCM on iris as the other seed, not as NCM in general; SLDA, of which nothing is known, like
    # the mean of all.
    slow = known(ncm_iris_1=2.0, ncm_wine_1=6.0, ncm_wine_2=6.0)
    assert _time_left(slow, runs, 1) == pytest.approx(2 + 4 * 14 / 3)
    # The time of a failed run counts only for runs of the same kind.
    failed = {run: record(run, seconds=0.0, error="MemoryError") for run in runs[2:3]}
    left = [run for run in runs if run.method == "ncm"]
    assert runs[2].method == "ncm"
    assert _time_left(known(ncm_wine_1=6.0) | failed, left, 1) == pytest.approx(0 + 6)
    assert _time_left({run: record(run) for run in runs}, runs, 1) == 0


class Dying:
    """A joblib that is stopped after its first run, and whose workers then are found dead."""

    reason = KeyboardInterrupt

    def __init__(self, **options):
        pass

    def __call__(self, calls):
        function, arguments, _ = calls[0]
        try:
            yield function(*arguments)
            raise self.reason
        finally:
            raise TerminatedWorkerError


def test_an_interrupt_that_ends_a_worker_too_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(joblib, "Parallel", Dying)
    steps = iter_grid(CHEAP, tmp_path, jobs=1)
    assert [next(steps).done, next(steps).done] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    assert len(read_records(tmp_path, CHEAP)) == 1


def test_a_grid_that_the_caller_stops_does_no_more_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(joblib, "Parallel", Dying)
    steps = iter_grid(CHEAP, tmp_path, jobs=1)
    next(steps), next(steps)
    steps.close()
    assert len(read_records(tmp_path, CHEAP)) == 1
