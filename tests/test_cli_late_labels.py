"""`mist run --id`: labels that come later, in files and pipes; and `mist run --store`."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.commands.run_store import RunStore
from mist.persistence import Store, load
from mist.presets import make_model
from mist.serving.folder import StateFolder
from test_cli_run_sources import KILLED

HEADER = ["flow", "size", "speed", "hue", "kind"]


def make_rows(n=900, wait=60, seed=0):
    """Rows without a label, and labels that come in another order; some rows come with theirs."""
    rng = np.random.default_rng(seed)
    rows, waiting = [], []
    for number in range(n):
        k = int(rng.integers(3))
        cells = [f"{rng.normal(3 * k):.3f}", f"{rng.normal(-k):.3f}", ["red", "blue", ""][k]]
        if number % 7 == 3:
            rows.append([f"r{number}", *cells, "abc"[k]])
            continue
        rows.append([f"r{number}", *cells, ""])
        waiting.append((f"r{number}", "abc"[k]))
        if len(waiting) > wait:
            id, label = waiting.pop(int(rng.integers(len(waiting))))
            # Some answers have other cells again: those of the row as it was asked count.
            rows.append([id, "99" if number % 5 == 0 else "", "", "", label])
    return rows


def as_csv(rows, header=HEADER):
    return "".join(",".join(row) + "\n" for row in [header, *rows])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, stdin=None, code=0):
    command = ["run", "--target", "kind", "--model", "mist-g", *map(str, arguments)]
    outcome = CliRunner().invoke(app, command, input=stdin)
    assert outcome.exit_code == code, outcome.output
    return outcome


def predictions(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_a_row_is_predicted_when_it_comes_and_learnt_when_its_label_does(here):
    rows = [[*row[:3], row[4]] for row in make_rows()]
    (here / "flows.csv").write_text(as_csv(rows, ["flow", "size", "speed", "kind"]))
    outcome = run("flows.csv", "--id", "flow", "--predictions", "p.csv", "--save", "m.mist")
    model, asked, said, hits, learnt = make_model("mist-g", seed=42), {}, [], 0, 0
    for id, size, speed, label in rows:
        answers = bool(label) and id in asked
        x, found = asked.pop(id) if answers else ([float(size), float(speed)], "")
        if not answers and learnt:
            found = model.predict([x])[0]
        if label:
            model.partial_fit([x], [label])
            hits, learnt = hits + (found == label), learnt + 1
        else:
            asked[id] = x, found
        said.append([id, label, found])
    header, *lines = predictions("p.csv")
    assert header == ["row", "id", "label", "mist-g"]
    assert [line[1:] for line in lines] == said
    assert [int(line[0]) for line in lines] == list(range(2, 2 + len(rows)))
    counts = f"{len(rows) - learnt} rows asked, {learnt - 129} answered, 60 wait"
    assert f"Late labels: {counts}\n" in outcome.stdout
    assert f"{hits / learnt:.3f}" in outcome.stdout
    saved, X = load("m.mist"), {"size": [0.0, 3.0, 6.0], "speed": [0.0, -1.0, -2.0]}
    found = model.predict_proba(np.column_stack([*X.values()]))
    np.testing.assert_array_equal(saved.predict_proba_many(X), found)


def test_a_pipe_gives_what_a_file_gives_and_keys_may_be_absent(here):
    rows = make_rows(400)
    (here / "flows.csv").write_text(as_csv(rows))
    run("flows.csv", "--id", "flow", "--predictions", "file.csv")
    run("-", "--id", "flow", "--predictions", "pipe.csv", stdin=as_csv(rows))
    assert (here / "pipe.csv").read_bytes() == (here / "file.csv").read_bytes()
    objects = []
    for row in rows:
        each = {name: cell for name, cell in zip(HEADER, row, strict=True) if cell}
        numbers = {name: float(each[name]) for name in ("size", "speed") if name in each}
        objects.append({**each, **numbers})
    lines = "".join(json.dumps(each) + "\n" for each in objects)
    run("-", "--id", "flow", "--predictions", "lines.csv", stdin=lines)
    found, expected = predictions("lines.csv"), predictions("file.csv")
    assert [line[1:] for line in found] == [line[1:] for line in expected]


def test_a_killed_run_goes_on_with_the_rows_that_wait(here):
    (here / "flows.csv").write_text(as_csv(make_rows(1600, wait=300)))
    common = ["flows.csv", "--id", "flow", "--keep", 250, "--chunk-rows", 1500]
    first = run(*common, "--save", "whole.mist", "--predictions", "whole.csv")
    resumed = [
        *common, "--save", "again.mist", "--predictions", "again.csv",
        "--checkpoint", "check.mist", "--every", 800,
    ]  # fmt: skip
    command = ["run", *map(str, resumed), "--target", "kind", "--model", "mist-g"]
    died = subprocess.run([sys.executable, "-c", KILLED, *command], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    again = run(*resumed)
    assert "Going on after 1,000 rows" in again.stdout

    def late(outcome):
        (line,) = [each for each in outcome.stdout.splitlines() if each.startswith("Late labels")]
        return line

    assert late(again) == late(first)
    assert "dropped because too many waited" in late(first)
    for name in ("csv", "mist"):
        assert (here / f"again.{name}").read_bytes() == (here / f"whole.{name}").read_bytes()
    assert "--keep was 250 and is 9" in run(*resumed, "--keep", 9, code=2).stderr


def test_after_a_bad_row_no_row_waits_that_was_not_learnt(here):
    rows = make_rows(300)
    bad = [*rows[:250], ["r251", "tall", "1", "red", ""], *rows[250:]]
    common = ["-", "--id", "flow", "--checkpoint", "c.mist", "--predictions", "p.csv"]
    assert "'tall'" in run(*common, stdin=as_csv(bad), code=2).stderr
    run(*common, "--skip-learnt", stdin=as_csv(rows))
    run("-", "--id", "flow", "--predictions", "whole.csv", stdin=as_csv(rows))
    assert (here / "p.csv").read_bytes() == (here / "whole.csv").read_bytes()


def test_two_models_each_have_their_own_predictions(here):
    (here / "flows.csv").write_text(as_csv(make_rows(300)))
    run("flows.csv", "--id", "flow", "--predictions", "one.csv")
    run("flows.csv", "--id", "flow", "--predictions", "two.csv", "--model", "mist-k")
    one, two = predictions("one.csv"), predictions("two.csv")
    assert two[0] == ["row", "id", "label", "mist-g", "mist-k"]
    assert [line[:4] for line in two[1:]] == one[1:]


def test_errors_of_the_id_name_the_way_out(here):
    (here / "flows.csv").write_text(as_csv(make_rows(60)))

    def refused(*arguments):
        return run("flows.csv", *arguments, code=2).stderr

    assert "has no column 'flaw'; did you mean 'flow'?" in refused("--id", "flaw")
    assert "name two columns, --target and --id" in refused("--id", "kind")
    assert "omit --unlabelled error" in refused("--id", "flow", "--unlabelled", "error")
    order = ["--order", "class-incremental"]
    assert "--id cannot be used with --order class-incremental" in refused("--id", "flow", *order)
    (here / "full.csv").write_text("flow,size,kind\n" + "r1,1,a\nr2,2,b\n" * 20)
    assert "no row has an id in column 'flow' and no label" in run("full.csv", "--id", 0).stderr
    (here / "later.csv").write_text("flow,size,kind\nr1,1,\nr2,2,3\nr1,,x\n")
    found = run("later.csv", "--id", "flow", "--chunk-rows", 2, code=2).stderr
    assert "row 4, column 'kind': the label 'x' is not an integer" in found


def test_versions_are_kept_while_a_run_learns(here):
    (here / "flows.csv").write_text(as_csv(make_rows(1200)))
    common = ["flows.csv", "--id", "flow", "--every", 700, "--store", "kept"]
    outcome = run(*common, "--save", "m.mist", "--checkpoint", "c.mist")
    assert "Versions: kept" in outcome.stdout
    first, second, third = Store("kept").list()
    assert [first.note, second.note] == [
        "after 1,000 rows of flows.csv",
        "after 2,000 rows of flows.csv",
    ]
    assert (third.parent, third.classes) == (2, ("a", "b", "c"))
    assert first.rows < second.rows < third.rows
    assert f"{third.accuracy:.3f}" in outcome.stdout
    X = {"size": [1.0], "hue=red": [1.0]}
    newest = Store("kept").load()
    np.testing.assert_array_equal(
        newest.predict_proba_many(X), load("m.mist").predict_proba_many(X)
    )
    # Nothing new is learnt, so there is no new version.
    run(*common, "--checkpoint", "c.mist")
    assert Store("kept").list()[-1] == third
    path = "kept/version-000001.mist"
    assert CliRunner().invoke(app, ["predict", path, "flows.csv"]).exit_code == 0


def test_learning_goes_on_after_a_version_as_without_it(here):
    (here / "flows.csv").write_text(as_csv(make_rows(1200)))
    run("flows.csv", "--id", "flow", "--save", "plain.mist")
    run("flows.csv", "--id", "flow", "--save", "m.mist", "--store", "kept", "--every", 1)
    assert (here / "m.mist").read_bytes() == (here / "plain.mist").read_bytes()
    assert [version.number for version in Store("kept").list()] == [1, 2, 3]


def test_folders_that_are_refused_as_a_store(here):
    (here / "flows.csv").write_text(as_csv(make_rows(60)))
    (here / "file").write_text("x")
    model = make_model("mist-g").partial_fit([[0.0]], ["a"])
    state = StateFolder(here / "state")
    state.save(model, {}, 0)
    Store("own").save(model)

    def refused(*arguments):
        return run("flows.csv", *arguments, code=2).stderr

    assert "--store file: it is not a folder" in refused("--store", "file")
    assert "mist serve keeps its versions there" in refused("--store", "state")
    state.close()
    assert "mist serve keeps its versions there" in refused("--store", "state")
    assert "versions that mist run has not written" in refused("--store", "own")
    assert "--store writes one model" in refused("--store", "s", "--model", "mist-k")
    order = ["--order", "class-incremental", "--store", "s"]
    assert "--store cannot be used with --order" in refused(*order)


def test_a_run_that_begins_anew_has_no_parent_and_needs_the_same_columns(here):
    rows = make_rows(200)
    (here / "flows.csv").write_text(as_csv(rows))
    common = ["--id", "flow", "--store", "kept"]
    run("flows.csv", *common, "--every", 100)
    run("flows.csv", *common, "--every", 100)
    *_, last = Store("kept").list()
    assert last.about == {
        "by": "mist run",
        "target": "kind",
        "model": "mist-g",
        "columns": ["size", "speed", "hue"],
    }
    assert [version.parent for version in Store("kept").list()] == [None, None]
    before = (here / "kept" / "versions.json").read_bytes()
    (here / "other.csv").write_text(as_csv(rows, ["flow", "size", "speed", "tone", "kind"]))
    (here / "hues.csv").write_text(as_csv(rows).replace("kind", "sort"))
    found = run("other.csv", *common, code=2).stderr
    assert "with other columns: they have 'hue', this run has 'tone'" in found
    assert "Give another folder" in found
    found = run("hues.csv", *common, "--target", "sort", code=2).stderr
    assert "for the target 'kind', and this run has 'sort'" in found
    found = run("-", *common, stdin=as_csv(rows, ["flow", *"xyz", "kind"]), code=2).stderr
    assert "with other columns: they have 'hue', this run has 'x'" in found
    lines = '{"x": 1, "kind": "a"}\n{"x": 2, "kind": "b"}\n'
    assert "with other columns" in run("-", *common, stdin=lines, code=2).stderr
    assert (here / "kept" / "versions.json").read_bytes() == before
    # In a stream of objects the others may come later.
    run("-", *common, stdin=lines.replace("x", "size"))
    assert Store("kept").list()[-1].about["columns"] == ["size"]


def test_nobody_else_changes_the_folder_while_a_run_learns(here, monkeypatch):
    (here / "flows.csv").write_text(as_csv(make_rows(200)))
    said, save = [], RunStore.save

    def slow(self, *arguments):
        save(self, *arguments)
        for command in (["rollback", "kept", "1"], ["tag", "kept", "1", "good"]):
            outcome = CliRunner().invoke(app, ["versions", *command])
            said.append((outcome.exit_code, outcome.stderr))
        said.append((2, run("flows.csv", "--id", "flow", "--store", "kept", code=2).stderr))

    monkeypatch.setattr(RunStore, "save", slow)
    run("flows.csv", "--id", "flow", "--store", "kept")
    assert len(said) == 3
    for code, text in said:
        assert code == 2
        assert "kept is in use by mist run --store (process" in text
    assert CliRunner().invoke(app, ["versions", "tag", "kept", "1", "good"]).exit_code == 0


@pytest.mark.parametrize("option", ["save", "report", "predictions", "events", "checkpoint"])
def test_nothing_else_is_written_to_the_folder_of_versions(here, option):
    (here / "flows.csv").write_text(as_csv(make_rows(20)))
    os.mkdir("kept")
    for path in ("kept/versions.json", "kept/../kept/x", "kept"):
        found = run("flows.csv", "--store", "kept", f"--{option}", path, code=2).stderr
        assert f"--{option} {path} is in the folder of --store" in found


@pytest.mark.parametrize(
    ("given", "needed"), [("keep", "id"), ("keep-for", "id"), ("keep-versions", "store")]
)
def test_options_without_the_one_that_they_belong_to(here, given, needed):
    (here / "flows.csv").write_text(as_csv(make_rows(20)))
    found = run("flows.csv", f"--{given}", 5, code=2).stderr
    assert f"--{given} has no effect without --{needed}" in found


@pytest.mark.parametrize("option", ["hash", "text"])
@pytest.mark.parametrize("live", [False, True])
def test_the_id_is_not_encoded(here, option, live):
    (here / "flows.csv").write_text(as_csv(make_rows(20)))
    text = (here / "flows.csv").read_text()
    source = ["-"] if live else ["flows.csv"]
    found = run(*source, "--id", "flow", f"--{option}", 0, stdin=text, code=2).stderr
    assert f"column 'flow' is the id, which the model does not learn: omit --{option} flow" in found


@pytest.mark.parametrize("n", [999, 2500])
def test_ids_that_no_row_of_a_stream_has_are_noted_while_it_runs(here, n):
    lines = [json.dumps({"size": k % 7, "kind": "ab"[k % 2]}) for k in range(n)]
    found = run("-", "--id", "folw", stdin="\n".join(lines) + "\n").stderr
    assert found.count("name the column of the ids, --id COLUMN") == 1
    assert ("none of the first 1,000 rows has an id in column 'folw'" in found) == (n > 1000)


def test_an_id_after_many_rows_without_one_is_enough(here):
    lines = [json.dumps({"size": k % 7, "kind": "ab"[k % 2]}) for k in range(1500)]
    lines.insert(500, json.dumps({"flow": 1, "size": 3}))
    found = run("-", "--id", "flow", stdin="\n".join(lines) + "\n").stderr
    assert "name the column of the ids" not in found
