"""`mist run --events`: the changes that models find in a stream, as they are found."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from mist import MistClassifier, load
from mist.adaptation.changes import Change
from mist.cli import app

KINDS = ["cat", "hamster"]
FAST = "mist+leaf=gaussian"


def rows_that_change(n_rows=1800, bare=0):
    """Two classes; both shift after a third of the rows, one moves after two thirds."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(n_rows):
        k = int(rng.integers(2))
        x = rng.normal(4.0 * k, 1.0, 2)
        if i >= n_rows // 3:
            x += [2.0, -1.5]
        if k and i >= 2 * n_rows // 3:
            x += [0.0, 12.0]
        label = "" if bare and i % bare == 0 else KINDS[k]
        rows.append([f"{x[0]:.3f}", f"{x[1]:.3f}", label])
    return rows


def as_csv(rows):
    return "".join(",".join(row) + "\n" for row in [["x", "z", "pet"], *rows])


def mist(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def run(*arguments, model=FAST, stdin=None):
    outcome = mist("run", *arguments, "--target", "pet", "--model", model, stdin=stdin)
    assert outcome.exit_code == 0, outcome.output
    return outcome


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.csv").write_text(as_csv(rows_that_change()))
    return tmp_path


def test_each_change_is_a_line(here):
    outcome = run("pets.csv", "--events", "e.jsonl", "--save", "m.mist")
    found = read(here / "e.jsonl")
    assert found == [change._asdict() for change in load("m.mist").changes_]
    assert [list(each) for each in found] == [["row", "kind", "label", "size"]] * len(found)
    assert [(each["kind"], each["label"]) for each in found] == [
        ("common shift", None),
        ("class moved", "hamster"),
    ]
    assert found[0]["row"] in range(600, 751)
    assert found[1]["row"] in range(1200, 1351)
    assert (found[0]["size"] > 1.0, found[1]["size"]) == (True, None)
    assert "Changes found: 1 class moved; 1 common shift\n" in outcome.stdout
    assert "Changes: e.jsonl" in outcome.stdout


def test_rows_are_those_learnt_and_labels_those_of_the_stream(here):
    numbers = {"cat": "7", "hamster": "-3", "": ""}
    rows = [[x, z, numbers[label]] for x, z, label in rows_that_change(bare=3)]
    (here / "pets.csv").write_text(as_csv(rows))
    run("pets.csv", "--events", "e.jsonl", "--unlabelled", "predict", "--save", "m.mist")
    found = read(here / "e.jsonl")
    assert found == [change._asdict() for change in load("m.mist").changes_]
    assert [each["label"] for each in found] == [None, -3]
    assert found[1]["row"] in range(800, 951)


@pytest.mark.parametrize("model", ["mist-g", "majority"])
def test_a_model_that_looks_for_no_changes_leaves_the_file_empty(here, model):
    if model == "majority":
        pytest.importorskip("mist_bench")
    outcome = run("pets.csv", "--events", "e.jsonl", model=model)
    assert (here / "e.jsonl").read_bytes() == b""
    assert "Changes found" not in outcome.stdout


def test_lines_of_several_models_name_the_model(here):
    outcome = run("pets.csv", "--events", "e.jsonl", "--model", "mist-g", "--model", "mist")
    found = read(here / "e.jsonl")
    assert {each["model"] for each in found} == {FAST, "mist"}
    for model in (FAST, "mist"):
        own = [each for each in found if each["model"] == model]
        assert own[0].items() >= {"kind": "common shift", "label": None}.items()
    assert "MIST: 1 class moved; 1 common shift" in outcome.stdout


def test_changes_in_class_incremental_order(here, monkeypatch):
    def regular(model):
        return [Change(row, "class moved", "cat", None) for row in range(60, model.n_rows_ + 1, 60)]

    # Rows of a class are shuffled in this order, so there is nothing to find.
    monkeypatch.setattr(MistClassifier, "changes_", property(regular))
    run("pets.csv", "--order", "class-incremental", "--events", "e.jsonl")
    assert [each["row"] for each in read(here / "e.jsonl")] == list(range(60, 1441, 60))


KILLED = """
import os, signal, sys
from mist.cli import main
from mist.streaming.runs.session import Session

learn = Session.learn

def learn_and_die(self, chunk):
    answers = learn(self, chunk)
    if self.done >= AT:
        os.kill(os.getpid(), signal.SIGKILL)
    return answers

Session.learn = learn_and_die
sys.argv[0] = "mist"
main()
"""


@pytest.mark.parametrize("at", [900, 1500])
def test_killed_and_resumed_has_every_change_once(here, at):
    run("pets.csv", "--events", "whole.jsonl", "--chunk-rows", 100)
    command = [
        *("run", "pets.csv", "--target", "pet", "--model", FAST, "--chunk-rows", "100"),
        *("--events", "again.jsonl", "--checkpoint", "c.mist", "--every", "500"),
    ]
    program = KILLED.replace("AT", str(at))
    died = subprocess.run([sys.executable, "-c", program, *command], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    # What was found behind the checkpoint is found again.
    with open("again.jsonl", "a") as handle:
        handle.write('{"row": 9999}\n')
    outcome = mist(*command)
    assert "Going on after" in outcome.stdout
    assert (here / "again.jsonl").read_bytes() == (here / "whole.jsonl").read_bytes()
    assert "Changes found: 1 class moved; 1 common shift\n" in outcome.stdout
    # Once more: nothing is left to do, and nothing is written twice.
    assert mist(*command).exit_code == 0
    assert (here / "again.jsonl").read_bytes() == (here / "whole.jsonl").read_bytes()


def test_a_checkpoint_is_of_one_file_of_changes(here):
    common = ["pets.csv", "--checkpoint", "c.mist"]
    run(*common, "--events", "e.jsonl")
    common += ["--target", "pet", "--model", FAST]
    refused = mist("run", *common)
    assert refused.exit_code == 2
    assert "--events was e.jsonl and is not given" in refused.stderr
    (here / "e.jsonl").write_text("")
    refused = mist("run", *common, "--events", "e.jsonl")
    assert refused.exit_code == 2
    assert "e.jsonl does not have the" in refused.stderr
    assert "bytes of changes that go with the checkpoint" in refused.stderr


def test_a_file_for_two_purposes_is_refused(here):
    arguments = ["pets.csv", "--target", "pet", "--events", "x", "--predictions", "x"]
    refused = mist("run", *arguments)
    assert refused.exit_code == 2
    assert "--predictions and --events both name x" in refused.stderr or (
        "--events and --predictions both name x" in refused.stderr
    )


def test_a_change_in_a_live_stream_is_in_the_file_at_once(here):
    lines = as_csv(rows_that_change()).splitlines(keepends=True)
    command = ["run", "-", "--target", "pet", "--model", FAST, "--events", "e.jsonl"]
    program = "import sys; sys.argv[0] = 'mist'; from mist.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120"},
        text=True,
    ) as process:
        process.stdin.write("".join(lines[:900]))
        process.stdin.flush()
        end = time.monotonic() + 120
        path = here / "e.jsonl"
        while not (path.exists() and path.read_text().endswith("\n")) and time.monotonic() < end:
            time.sleep(0.05)
        found = read(path)
        assert process.poll() is None
        process.stdin.write("".join(lines[900:]))
        process.stdin.close()
        assert process.wait(120) == 0
    assert [each["kind"] for each in found] == ["common shift"]
    assert read(path)[0] == found[0]
    assert len(read(path)) == 2


def test_the_report_marks_the_changes(here):
    run("pets.csv", "--report", "r.html")
    page = (here / "r.html").read_text(encoding="utf-8")
    # In the drawing for wide screens; the one for phones has no labels.
    assert page.count(">hamster moved</text>") == 1
    assert page.count(">class moved</text>") == 2
    assert "thin lines mark changes found in the stream (1 class moved; 1 common shift)" in page


def test_predictions_are_as_before(here):
    run("pets.csv", "--predictions", "p.csv", "--events", "e.jsonl")
    with open("p.csv", newline="") as handle:
        table = list(csv.reader(handle))
    assert (len(table), table[0]) == (1801, ["row", "label", FAST])
