import re

import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist_bench.record import Record
from mist_bench.store import write_record
from mist_paper.exhibit import Scope
from mist_paper.items import ITEMS, plan_of

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, ["paper", *map(str, arguments)])


def test_the_list_names_every_item(tmp_path):
    done = run("list", "--out", tmp_path)
    assert done.exit_code == 0
    names = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert set(ITEMS) <= names
    assert "0 of 350" in done.stdout
    # Without any name, too; and of some items with theirs.
    assert run("--out", tmp_path).stdout == done.stdout
    some = run("list", "stress,memory", "--out", tmp_path).stdout
    assert "klocal" not in some
    assert "0 of 240" in some
    assert re.search("all of these, which share runs +0 of", some)


def test_an_item_is_run_once(tmp_path):
    arguments = ("sketch-bound-kscale", "--seeds", "7", "--jobs", "1", "--out", tmp_path)
    first = run(*arguments)
    assert first.exit_code == 0, first.output
    assert "Margin of the sketches over k" in first.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Seeds 7." in page
    results = sorted((tmp_path / "experiments").rglob("*.json"))
    assert len(results) == 16
    times = [path.stat().st_mtime_ns for path in results]
    results[0].unlink()
    second = run(*arguments)
    assert second.exit_code == 0
    assert re.sub(r"\s", "", second.stdout) == re.sub(r"\s", "", first.stdout)
    # Only what was missing has been done again.
    assert [path.stat().st_mtime_ns for path in results[1:]] == times[1:]
    assert results[0].exists()
    listed = run("list", "--seeds", "7", "--out", tmp_path).stdout
    assert re.search(r"sketch-bound-kscale .* 16 of 16", listed)


def test_figures_are_files(tmp_path):
    done = run("fig:stress-vis", "tab:hyperparams", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Settings here and in the paper" in done.stdout
    for name in ("figures/stress-views.svg", "figures/stress-views.png", "tables/hyperparams.csv"):
        assert (tmp_path / name).stat().st_size > 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stres"], "no table, figure or theorem called 'stres'.* The nearest is 'stress'"),
        (["stress", "--jobs", "0"], "--jobs 0"),
        (["stress", "--seeds", "x"], "--seeds x: a seed must be a whole number"),
        (["stress", "--seeds", "3,3"], "seed 3 is chosen twice"),
        (["stress", "--seeds", str(2**32)], "seed 4294967296 must be between 0 and 4294967295"),
    ],
)
def test_errors(arguments, message, tmp_path):
    done = run(*arguments, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert re.search(message, done.stderr)
    assert not (tmp_path / "out").exists()


def test_results_of_other_settings_are_refused(tmp_path):
    arguments = ("sketch-bound-kscale", "--seeds", "7", "--jobs", "1", "--out", tmp_path)
    assert run(*arguments).exit_code == 0
    path = next((tmp_path / "experiments").rglob("*.json"))
    path.write_text(path.read_text().replace('"mist": "', '"mist": "0.0.'))
    done = run(*arguments)
    assert done.exit_code == 2
    assert "--fresh" in done.stderr
    assert run(*arguments, "--fresh").exit_code == 0


def test_without_river(tmp_path, monkeypatch):
    monkeypatch.setattr("mist_paper.command.installed", lambda extra: False)
    done = run("list", "--out", tmp_path)
    assert done.exit_code == 0
    # This table has only trees of another library.
    done = run("noreset", "--seeds", "7", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "river is not installed, so these are left out: efdt, efdt-no-reset, hat" in done.stdout
    assert "not run" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_results_of_river_are_read_without_it(tmp_path, monkeypatch):
    (one,) = [t for t in plan_of(["noreset"], Scope((7,))) if t.key == "paper/shuttle/efdt/7"]
    shape = {"rows": 10, "classes": 6, "tasks": 6}
    write_record(tmp_path, Record(one, measures={"mean_class_recall": 0.5}, shape=shape))
    monkeypatch.setattr("mist_paper.command.installed", lambda extra: False)
    done = run("noreset", "--seeds", "7", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "0.429 / 0.253" in done.stdout  # .5 of six classes is .429 of seven
