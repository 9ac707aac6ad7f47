import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench_records import record
from mist.cli import app
from mist_bench import MEASURES, SETTINGS, SUITES, command, follow, plan, schedule
from mist_bench.cli import Protocol, Suite
from mist_bench.methods import METHODS, RIVALS
from mist_bench.suites import PROTOCOLS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kill_and_resume.py"
SMALL = ("--models", "ncm", "--datasets", "iris", "--seeds", "1,2", "--jobs", "1")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to work in, and no data set files anywhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("MIST_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "no data"))
    return tmp_path


def bench(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def stamps(folder):
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("runs/**/*.*")
    }


def assert_one_line_error(outcome, *parts):
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("error: ")
    for part in parts:
        assert part in line


def test_help():
    outcome = bench("--help")
    assert outcome.exit_code == 0
    for option in ("--suite", "--models", "--jobs", "--out", "--retry-failed", "--fresh"):
        assert option in outcome.stdout


def test_choices_are_those_of_the_library():
    assert {suite.value for suite in Suite} == set(SUITES)
    assert {protocol.value for protocol in Protocol} == set(PROTOCOLS)


def test_list(here):
    outcome = bench("--list")
    assert outcome.exit_code == 0
    rows = {line.split()[0]: line for line in outcome.stdout.splitlines() if line.strip()}
    assert set(METHODS) | set(RIVALS) | set(SETTINGS) <= set(rows)
    assert rows["iris"].split() == [
        *("iris", "Iris", "quick,", "standard,", "real", "1", "class", "here")
    ]
    assert rows["ring"].rstrip().endswith(" here")
    assert rows["letter"].rstrip().endswith("to be downloaded")
    assert rows["outdoor"].rstrip().endswith("not here")
    assert rows["ncm"].rstrip().endswith("ready")
    assert list(here.iterdir()) == []


def test_list_without_river(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    outcome = bench("--list")
    (line,) = (line for line in outcome.stdout.splitlines() if line.startswith("arf "))
    assert line.rstrip().endswith("needs mist-tree[bench]")


def test_a_small_grid(here):
    outcome = bench(*SMALL, "--out", "out")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr == ""
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("NCM"))
    assert re.fullmatch(r"NCM\s+0\.\d{3} ± 0\.\d{3}\s*", row)
    out = here / "out"
    assert f"Report: {Path('out', 'report.html')}\n" in outcome.stdout
    assert f"Tables: {Path('out', 'tables')}\n" in outcome.stdout
    assert "<svg" in (out / "report.html").read_text(encoding="utf-8")
    files = sorted(path.name for path in (out / "runs" / "honest" / "iris").iterdir())
    assert files == ["ncm-1.json", "ncm-2.json"]
    tables = {path.name for path in (out / "tables").iterdir()}
    stems = {Path(name).stem for name in tables}
    assert tables == {stem + suffix for stem in stems for suffix in (".csv", ".md", ".tex")}
    assert {"final-accuracy", "nbytes", "rows-per-second", "data-sets", "failures"} <= stems
    assert "leaves" not in stems  # no tree among the methods
    timed = {key.replace("_", "-") for key, measure in MEASURES.items() if measure.timed}
    assert timed <= stems

    before = stamps(out)
    kept = {path: path.read_bytes() for path in (out / "tables").iterdir()}
    start = time.perf_counter()
    again = bench(*SMALL, "--out", "out")
    assert time.perf_counter() - start < 10
    assert (again.exit_code, again.stdout) == (0, outcome.stdout)
    assert stamps(out) == before
    assert {path: path.read_bytes() for path in (out / "tables").iterdir()} == kept


def test_a_grid_grows_and_shrinks_in_its_folder(here):
    bench(*SMALL)
    out = here / "mist-bench"
    before = stamps(out)
    outcome = bench(
        "--models", "ncm, slda", "--datasets", "iris", "--seeds", 2, "--seeds", 3,
        "--jobs", 1,
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    after = stamps(out)
    assert {path.name for path in after} - {path.name for path in before} == {
        "ncm-3.json",
        "slda-2.json",
        "slda-3.json",
    }
    assert all(after[path] == before[path] for path in before)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "2 methods, 1 data set, 2 seeds (2, 3); 4 runs, none failed." in page


def test_the_paper_protocol_has_results_of_its_own(here):
    outcome = bench(*SMALL, "--protocol", "paper")
    assert outcome.exit_code == 0, outcome.output
    assert [path.name for path in (here / "mist-bench" / "runs").iterdir()] == ["paper"]
    page = (here / "mist-bench" / "report.html").read_text(encoding="utf-8")
    assert "prepared as in the MIST paper" in page


def test_a_failing_run(here):
    arguments = ["--models", "ncm", "--datasets", "iris,outdoor", "--seeds", 1, "--jobs", 1]
    outcome = bench(*arguments)
    assert outcome.exit_code == 1
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("failed: honest/outdoor/ncm/1: DatasetError: data set 'outdoor' is not")
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("NCM"))
    assert row.split()[2:3] == ["failed"]
    assert "Failures" in outcome.stdout
    assert outcome.stdout.splitlines()[-1] == "1 of 2 runs failed; --retry-failed does them again"
    assert "1 failed" in (here / "mist-bench" / "report.html").read_text(encoding="utf-8")
    # Failures are outcomes: nothing is done again, and the exit code still reports them.
    before = stamps(here)
    again = bench(*arguments)
    assert (again.exit_code, again.stderr) == (1, "")
    assert stamps(here) == before


def test_retry_failed_and_an_error_with_brackets(here, monkeypatch):
    text = "ValueError: [/bold] [red] is no tag"
    monkeypatch.setattr(schedule, "perform", lambda run: record(run, error=text))
    outcome = bench(*SMALL)
    assert outcome.exit_code == 1
    # An error shared by every run is shown once.
    assert outcome.stderr.splitlines() == [f"failed: honest/iris/ncm/1: {text}"]
    assert text in outcome.stdout
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert bench(*SMALL).exit_code == 1
    assert bench(*SMALL, "--retry-failed").exit_code == 0
    assert bench(*SMALL).exit_code == 0


def test_a_folder_with_brackets(here):
    outcome = bench(*SMALL, "--out", "[bold]")
    assert outcome.exit_code == 0, outcome.output
    assert f"Report: {Path('[bold]', 'report.html')}\n" in outcome.stdout
    assert (here / "[bold]" / "report.html").exists()


def test_fresh(here):
    bench(*SMALL)
    before = stamps(here)
    assert bench(*SMALL, "--fresh").exit_code == 0
    after = stamps(here)
    assert set(after) == set(before)
    assert all(after[path][0] > before[path][0] for path in after if path.suffix == ".json")


def test_results_of_another_version(here):
    bench(*SMALL)
    path = here / "mist-bench" / "runs" / "honest" / "iris" / "ncm-2.json"
    path.write_text(path.read_text().replace('"mist": "', '"mist": "0.0.', 1))
    assert_one_line_error(bench(*SMALL), "ncm-2.json", "another folder", "--fresh")
    assert bench(*SMALL, "--fresh").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--models", "ncm,slad"], ["no method called 'slad'", "The nearest is 'slda'"]),
        (["--datasets", "iriss"], ["no data set in the grid called 'iriss'", "'iris'"]),
        (["--models", "ncm,ncm"], ["method 'ncm' is chosen twice"]),
        (["--seeds", "1,1"], ["seed 1 is chosen twice"]),
        (["--seeds", "1,x"], ["--seeds x: a seed must be a whole number, 0 or more"]),
        (["--seeds", "1.5"], ["--seeds 1.5: a seed"]),
        (["--seeds=-1"], ["--seeds -1: a seed"]),
        (["--seeds", str(2**32)], ["seed 4294967296 must be between 0 and"]),
        (["--models", ""], ["--models has no name"]),
        (["--datasets", " , "], ["--datasets has no name"]),
    ],
)
def test_bad_options(here, arguments, parts):
    assert_one_line_error(bench(*arguments), *parts)
    assert list(here.iterdir()) == []


def test_no_jobs(here):
    assert_one_line_error(
        bench(*SMALL, "--jobs", 0),
        "--jobs 0: give the number of runs at a time, or -1 for one per processor",
        "dask://localhost:8786",
    )
    assert list(here.iterdir()) == []


def test_out_is_a_file(here):
    (here / "taken").write_text("mine")
    assert_one_line_error(bench(*SMALL, "--out", "taken"), "taken")
    assert (here / "taken").read_text() == "mine"


def test_jobs_of_no_kind(here):
    assert_one_line_error(bench(*SMALL, "--jobs", "x"), "--jobs x: give the number of runs")
    assert list(here.iterdir()) == []


def test_a_dask_cluster(here, monkeypatch):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    )
    with cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        outcome = bench(*SMALL[:-2], "--jobs", address, "--out", "grid")
    assert outcome.exit_code == 0, outcome.output
    assert len(list((here / "grid").rglob("runs/**/*.json"))) == 2
    monkeypatch.setattr(follow, "_CONNECT_SECONDS", 0.2)
    outcome = bench(*SMALL[:-2], "--jobs", "dask://localhost:1", "--out", "grid")
    assert_one_line_error(outcome, "--jobs dask://localhost:1: no Dask scheduler answers there")


@pytest.mark.parametrize("arguments", [["--suite", "quik"], ["--protocol", "x"]])
def test_usage_errors(arguments):
    outcome = bench(*arguments)
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output


def test_a_method_that_needs_river(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    assert_one_line_error(
        bench("--models", "ncm,arf", "--datasets", "iris"),
        "arf needs river: pip install 'mist-tree[bench]'",
    )


def test_a_suite_without_river(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    asked = []
    monkeypatch.setattr(command, "plan", lambda suite, **options: asked.append(options) or stop())

    def stop():
        raise ValueError("enough")

    outcome = bench("--suite", "standard")
    assert outcome.stderr == "error: enough\n"
    assert asked[0]["methods"] == [
        name
        for name, method in METHODS.items()
        if method.group in ("ours", "tree", "other")
        and method.needs is None
        and name != "no-change"
    ]
    text = " ".join(outcome.stdout.split())
    assert text.startswith("river is not installed, so these are left out: efdt, efdt-no-reset,")
    assert "pip install 'mist-tree[bench]'" in text


def test_streams_without_data_are_left_out_with_the_reason(monkeypatch):
    reasons = {"outdoor_in_order": "no [public] copy", "sea": "no seas"}
    monkeypatch.setattr(command, "find_absent", lambda names: reasons)
    asked = []
    monkeypatch.setattr(command, "plan", lambda suite, **options: asked.append(options) or stop())

    def stop():
        raise ValueError("enough")

    outcome = bench("--suite", "drift", "--models", "no-change")
    left_out = ["outdoor_in_order is left out: no [public] copy", "sea is left out: no seas"]
    assert outcome.stdout.splitlines() == left_out
    assert asked[0]["datasets"] == [name for name in SUITES["drift"] if name not in reasons]
    # Streams that are named are not left out: their runs fail.
    outcome = bench("--models", "no-change", "--datasets", "outdoor_in_order", "--suite", "drift")
    assert outcome.stdout == ""
    assert asked[1]["datasets"] == ["outdoor_in_order"]


@pytest.mark.parametrize(
    ("option", "hint"), [([], "the same command goes on"), (["--fresh"], "without --fresh goes on")]
)
def test_an_interrupt(monkeypatch, option, hint):
    def perform(run):
        if run.seed == 2:
            raise KeyboardInterrupt
        return record(run)

    monkeypatch.setattr(schedule, "perform", perform)
    outcome = bench(*SMALL, *option)
    assert outcome.exit_code == 130
    kept, stopped = outcome.stderr.splitlines()
    assert kept.startswith("1 of 2 runs are kept in mist-bench: ")
    assert kept.endswith(hint)
    assert stopped == "stopped"


def test_an_interrupt_between_two_results_ends_the_work_without_a_word(monkeypatch):
    quiet = []

    def watched(*arguments, **options):
        try:
            yield from schedule.iter_grid(*arguments, **options)
        finally:
            quiet.append(any("still being processed" in str(f[1]) for f in warnings.filters))

    def note(step):
        if step.done == 1:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(schedule, "perform", record)
    monkeypatch.setattr(follow, "iter_grid", watched)
    monkeypatch.setattr(follow, "_note", note)
    assert bench(*SMALL).exit_code == 130
    assert quiet == [True]


@pytest.mark.skipif(sys.platform == "win32", reason="no process groups there")
def test_an_interrupt_of_the_real_processes(here):
    arguments = [sys.executable, "-m", "mist.cli", "bench", "--seeds", "1", "--jobs", "2"]
    grid = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whatever runs the tests in the background may ignore the signal, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while grid.poll() is None and not list(here.rglob("*.json")):
        time.sleep(0.01)
    # As a terminal does it: to the command and to its workers.
    os.killpg(grid.pid, signal.SIGINT)
    stdout, stderr = grid.communicate(timeout=60)
    assert grid.returncode == 130, stderr
    assert stdout == ""
    # On a busy machine the first result takes longer than the time between two notices.
    *notices, kept, stopped = stderr.splitlines()
    total = len(plan("quick", seeds=[1]))
    assert all(re.match(rf"\d+ of {total} runs", notice) for notice in notices), stderr
    where = f"of {total} runs are kept in mist-bench"
    assert re.fullmatch(rf"\d+ {where}: the same command goes on", kept)
    assert stopped == "stopped"


@pytest.mark.skipif(sys.platform == "win32", reason="no process groups there")
def test_killed_and_resumed_the_tables_are_the_same(here):
    """Three kills; the script itself takes ten and more."""
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    disturbed, quiet = script.Grid(here / "disturbed"), script.Grid(here / "undisturbed")
    assert script.disturb(disturbed, kills=3, seed=2) == []
    _, *arguments = quiet.arguments()
    outcome = bench(*arguments[:-4], "--jobs", 1, "--out", "undisturbed")
    assert outcome.exit_code == 0, outcome.output
    assert disturbed.faults(quiet) == []
    tables = {path.name for path in (here / "disturbed" / "tables").iterdir()}
    assert {"final-accuracy.csv", "ranks.md", "settings.tex", "recall-iris.csv"} <= tables
    assert {"learn-rows-per-second"} <= script.Grid.timed
    assert (here / "disturbed" / "report.html").exists()
