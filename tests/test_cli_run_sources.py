"""`mist run` on streams and many files, what it saves, and how it goes on after it was stopped."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.persistence import load
from mist.streaming.runs.session import Session

KINDS = ["cat", "hamster", "dog"]
HEADER = ["weight", "height", "coat", "pet"]


def make_pets(n_rows, bare=0):
    """Two numbers with gaps, a text, classes that come one after another; some have no label."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n_rows):
        k = i * 3 // n_rows
        coat = "silky" if i > 0.9 * n_rows else ["short", "long"][int(rng.random() < 0.5)]
        weight = "?" if i % 50 == 49 else f"{rng.normal(5 * k, 1):.3f}"
        label = "" if bare and i % bare == 0 else KINDS[k]
        rows.append([weight, f"{rng.normal(-4 * k, 1):.3f}", coat, label])
    return rows


def as_csv(rows):
    return "".join(",".join(row) + "\n" for row in [HEADER, *rows])


def as_json(rows):
    objects = []
    for row in rows:
        each = dict(zip(HEADER, row, strict=True))
        each["weight"] = None if each["weight"] == "?" else float(each["weight"])
        each["height"] = float(each["height"])
        objects.append({key: value for key, value in each.items() if value != ""})
    return "".join(json.dumps(each) + "\n" for each in objects)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mist(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def run(*arguments, stdin=None):
    """A run with the model that compiles quickest."""
    outcome = mist("run", *arguments, "--target", "pet", "--model", "mist-g", stdin=stdin)
    assert outcome.exit_code == 0, outcome.output
    return outcome


def refused(outcome, *parts):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.count("\n") == 1, outcome.stderr
    for part in parts:
        assert part in outcome.stderr


def value_of(path, name):
    """What `mist inspect` says of a model."""
    return json.loads(mist("inspect", path, "--json").stdout)[name]


def read_csv(path):
    with open(path, newline="") as handle:
        return list(csv.reader(handle))


def what_is_reported(path):
    """Plots and tables of a report, without those of seconds and rates."""
    page = path.read_text(encoding="utf-8")
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    drawings = [each for each in drawings if "Line charts of memory and speed" not in each]
    tables = re.findall(r"<table class=\"compact(?: rows)?\">.*?</table>", page, re.DOTALL)
    # Accuracy and recall, for wide and narrow screens, and confusions; classes and columns, and
    # rows that were unsure or novel.
    assert (len(drawings), len(tables)) == (5, 4)
    return drawings + tables


def test_from_a_file_to_a_model_to_predictions(here):
    (here / "pets.csv").write_text(as_csv(make_pets(600)))
    outcome = run("pets.csv", "--save", "pets.mist", "--predictions", "p.csv", "--report", "r.html")
    assert "Model: pets.mist" in outcome.stdout
    assert len(read_csv("p.csv")) == 601
    # Other columns too, in another order, and a text that was never seen.
    (here / "new.csv").write_text(
        "height,id,coat,weight\n-8.1,1,curly,10.2\n0.1,2,short,\n-4,3,?,5\n"
    )
    outcome = mist("predict", "pets.mist", "new.csv", "--out", "new-pets.csv")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout == ""
    assert outcome.stderr == "3 rows predicted\n"
    header, *lines = read_csv("new-pets.csv")
    assert header == ["row", "label", "prediction", "probability"]
    assert [line[:3] for line in lines] == [
        ["2", "", "dog"],
        ["3", "", "cat"],
        ["4", "", "hamster"],
    ]
    assert all(0.5 < float(line[3]) <= 1.0 for line in lines)
    assert value_of("pets.mist", "target") == "pet"
    # Columns are known by their names.
    row = '{"height": -8.1, "coat": "short", "weight": 10.2}'
    outcome = mist("explain", "pets.mist", "--row", row)
    assert outcome.exit_code == 0, outcome.output
    assert "height" in outcome.stdout
    assert "coat = short" in outcome.stdout
    # To standard output, with labels, from a pipe and from JSON lines.
    (here / "pets.jsonl").write_text(as_json(make_pets(600)))
    for file, stdin in (("pets.csv", None), ("pets.jsonl", None), ("-", as_csv(make_pets(600)))):
        outcome = mist("predict", "pets.mist", file, stdin=stdin)
        assert outcome.exit_code == 0, outcome.output
        assert len(outcome.stdout.splitlines()) == 601
        assert re.fullmatch(
            r"600 rows predicted, accuracy (0\.9\d\d|1\.000) on 600 with a label\n",
            outcome.stderr,
        )


def late_payments(text):
    """Rows with three late cells of a text: some payments of a shop that was not known."""
    rng = np.random.default_rng(8)
    k = rng.integers(0, 3, 600)
    shop = np.where(rng.random(600) < 0.6, k, rng.integers(0, 3, 600))
    coat = np.array(["red", "blue", "green"], dtype=object)[shop]
    coat[[440, 470, 505]] = text
    weight, height = rng.normal(3.0 * k), rng.normal(size=600)
    columns = zip(weight, height, coat, np.array(KINDS)[k], strict=True)
    return [[f"{w:.3f}", f"{h:.3f}", c, pet] for w, h, c, pet in columns]


@pytest.mark.parametrize("write", [as_csv, as_json])
def test_late_texts_in_a_pipe_cost_nothing_and_leave_what_a_file_does(here, write):
    shares = []
    for text in ("new", ""):
        run("-", "--predictions", "p.csv", "--save", "m.mist", stdin=write(late_payments(text)))
        _, *lines = read_csv("p.csv")
        shares.append(np.mean([line[1] == line[2] for line in lines[400:]]))
        if text:
            state = load("m.mist")._state
    assert shares[0] > 0.85
    assert abs(shares[0] - shares[1]) <= 0.01
    # A file is read twice, so that its texts are known from the start.
    (here / "pay.csv").write_text(as_csv(late_payments("new")))
    run("pay.csv", "--save", "f.mist")
    known = load("f.mist")._state
    assert state.options.n_numeric == known.options.n_numeric == 2
    np.testing.assert_allclose(state.tree.scale, known.tree.scale, atol=1e-9)


def test_a_pipe_with_rows_without_a_label(here):
    rows = make_pets(600, bare=7)
    outcome = run("-", "--predictions", "p.csv", "--save", "pets.mist", stdin=as_csv(rows))
    assert "standard input" in outcome.stdout
    _, *lines = read_csv("p.csv")
    assert [line[1] for line in lines] == [row[3] for row in rows]
    assert [line[0] for line in lines] == [str(i) for i in range(2, 602)]
    # Before anything was learnt there is no prediction: the first row has no label here.
    assert [line[2] for line in lines[:3]] == ["", "", "cat"]
    labelled = [line for line in lines if line[1]]
    share = sum(line[1] == line[2] for line in labelled) / len(labelled)
    assert share > 0.9
    assert f"{share:.3f}" in outcome.stdout
    page = (here / "mist-run.html").read_text(encoding="utf-8")
    assert "600 rows, 5 columns, 3 classes." in page
    assert f"{600 - len(labelled)} rows had no label" in page
    # The same rows as JSON lines give the same predictions, and what was learnt can be applied.
    run("-", "--predictions", "j.csv", stdin=as_json(rows))
    assert [line[1:] for line in read_csv("j.csv")] == [line[1:] for line in read_csv("p.csv")]
    outcome = mist("predict", "pets.mist", "-", stdin=as_json(rows))
    assert "600 rows predicted, accuracy " in outcome.stderr


def test_rows_without_a_label_in_a_file_are_an_error_unless_wanted(here):
    (here / "pets.csv").write_text(as_csv(make_pets(60, bare=7)))
    command = ["run", "pets.csv", "--target", "pet", "--model", "mist-g"]
    refused(mist(*command), "row 2, column 'pet': the label is missing (--unlabelled predict")
    assert mist(*command, "--unlabelled", "predict").exit_code == 0
    command[1] = "-"
    text = as_csv(make_pets(60, bare=7))
    refused(mist(*command, "--unlabelled", "error", stdin=text), "the label is missing")


@pytest.mark.parametrize("file", ["pets.csv", "-"])
def test_without_any_label_nothing_is_learnt(here, file):
    bare = as_csv([[*row[:3], ""] for row in make_pets(5)])
    (here / "pets.csv").write_text(bare)
    command = ["run", file, "--target", "pet", "--model", "mist-g", "--unlabelled", "predict"]
    refused(mist(*command, stdin=bare), "no row has a label in column 'pet'")


def test_a_column_that_only_names_rows_is_told(here):
    rows = ["".join((f"{i % 2}.5,P{i:04},", "cat" if i % 2 else "dog", "\n")) for i in range(1100)]
    text = "".join(["weight,the id,pet\n", *rows])
    (here / "pets.csv").write_text(text)
    refused(mist("run", "pets.csv", "--target", "pet"), "'the id'", "--ignore 'the id'")
    # A pipe cannot know beforehand.
    noted = run("-", stdin=text).stderr
    assert noted.count("note: ") == noted.count("--ignore 'the id'") == 1
    assert "note" not in run("-", "--ignore", "the id", stdin=text).stderr


def test_two_columns_of_one_name_are_refused(here):
    (here / "a.csv").write_text("coat=silky,coat,pet\n1,silky,cat\n2,short,dog\n")
    refused(mist("run", "a.csv", "--target", "pet"), "two columns would be called 'coat=silky'")


def test_files_are_one_stream(here):
    rows = make_pets(90)
    (here / "all.csv").write_text(as_csv(rows))
    for i in range(3):
        (here / f"part{i + 9}.csv").write_text(as_csv(rows[30 * i : 30 * i + 30]))
    run("all.csv", "--predictions", "all-p.csv", "--save", "all.mist")
    run("part*.csv", "--predictions", "part-p.csv", "--save", "part.mist")
    _, *whole = read_csv("all-p.csv")
    _, *parts = read_csv("part-p.csv")
    assert [line[1:] for line in whole] == [line[1:] for line in parts]
    assert parts[29][0] == "part9.csv:31"
    assert parts[30][0] == "part10.csv:2"
    assert (here / "all.mist").read_bytes() == (here / "part.mist").read_bytes()
    refused(
        mist("run", "part9.csv", "part10.csv", "--target", "pet", "--report", "part10.csv"),
        "cannot write 'part10.csv': it is an input file",
    )


KILLED = """
import os, signal, sys
from mist.streaming.runs.session import Session
from mist.cli import main

learn = Session.learn

def learn_and_die(self, chunk):
    answers = learn(self, chunk)
    if self.done >= 1500:
        os.kill(os.getpid(), signal.SIGKILL)
    return answers

Session.learn = learn_and_die
sys.argv[0] = "mist"
main()
"""


def test_killed_and_resumed_is_as_if_never_stopped(here):
    (here / "pets.csv").write_text(as_csv(make_pets(2400)))
    common = ["pets.csv", "--chunk-rows", 700, "--save"]
    run(*common, "whole.mist", "--predictions", "whole.csv", "--report", "whole.html")
    resumed = [
        *common, "again.mist", "--predictions", "again.csv", "--report", "again.html",
        "--checkpoint", "check.mist", "--every", 650,
    ]  # fmt: skip
    command = ["run", *map(str, resumed), "--target", "pet", "--model", "mist-g"]
    died = subprocess.run([sys.executable, "-c", KILLED, *command], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert not (here / "again.mist").exists()
    # Lines behind the checkpoint have to go.
    with open("again.csv", "a") as handle:
        handle.write("9999,cat,cat\n")
    outcome = run(*resumed)
    assert "Going on after 1,400 rows, from check.mist" in outcome.stdout
    assert (here / "again.csv").read_bytes() == (here / "whole.csv").read_bytes()
    assert (here / "again.mist").read_bytes() == (here / "whole.mist").read_bytes()
    assert what_is_reported(here / "again.html") == what_is_reported(here / "whole.html")
    # Once more: there is nothing left to do, and all comes out the same.
    assert "Going on after 2,400 rows" in run(*resumed).stdout
    assert (here / "again.mist").read_bytes() == (here / "whole.mist").read_bytes()
    # A checkpoint is a saved model, too.
    assert mist("predict", "check.mist", "pets.csv").exit_code == 0


def test_ctrl_c_keeps_a_checkpoint_of_a_file(here, monkeypatch):
    (here / "pets.csv").write_text(as_csv(make_pets(300)))
    run("pets.csv", "--save", "whole.mist")
    learn = Session.learn

    def learn_and_press(self, chunk):
        answers = learn(self, chunk)
        signal.raise_signal(signal.SIGINT)
        return answers

    command = ["pets.csv", "--chunk-rows", 100, "--save", "m.mist", "--checkpoint", "c.mist"]
    with monkeypatch.context() as patch:
        patch.setattr(Session, "learn", learn_and_press)
        outcome = mist("run", *command, "--target", "pet", "--model", "mist-g")
    assert outcome.exit_code == 130
    assert outcome.stderr == "stopped\n"
    assert not (here / "m.mist").exists()
    assert "Going on after 100 rows" in run(*command).stdout
    assert (here / "m.mist").read_bytes() == (here / "whole.mist").read_bytes()


def test_a_saved_forest_finds_its_columns_by_name(here):
    (here / "pets.csv").write_text(as_csv(make_pets(90)))
    command = ["run", "pets.csv", "--target", "pet", "--model", "mist-forest", "--save", "m.mist"]
    assert mist(*command).exit_code == 0
    outcome = mist("predict", "m.mist", "pets.csv", "--out", "out.csv")
    assert outcome.exit_code == 0, outcome.output
    forest = load("m.mist")
    assert forest.feature_names_in_[:2].tolist() == ["weight", "height"]
    assert forest.trees_[-1].explain({"height": -8.0}).columns[1] == "height"


def test_a_row_is_explained_as_it_is_predicted(here):
    rows = [{"hot": i % 2 == 1, "size": 3.0 + i % 2, "y": "ab"[i % 2]} for i in range(40)]
    (here / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["--target", "y", "--model", "mist-g", "--text", "size", "--save", "m.mist"]
    for file in ("rows.jsonl", "-"):
        assert mist("run", file, *command, stdin=(here / "rows.jsonl").read_text()).exit_code == 0
        told = mist("explain", "m.mist", "--row", '{"hot": true, "size": 4.0, "y": 7}').stdout
        assert "  hot = true\n" in told
        assert "  size = 4\n" in told
        assert "=true" not in told
        unknown = mist("explain", "m.mist", "--row", '{"sise": 1}')
        refused(unknown, "--row has the column 'sise', which the model has not learnt")
        refused(unknown, "did you mean 'size'?")
    mist("run", "rows.jsonl", *command[:-2], "--checkpoint", "c.mist")
    kept = mist("explain", "c.mist", "--row", '{"hot": true, "size": 4.0}')
    assert kept.stdout.startswith("prediction: b"), kept.output
    assert "  hot = true\n" in kept.stdout
    assert "  size = 4\n" in kept.stdout


def test_save_after_tasks(here):
    (here / "pets.csv").write_text(as_csv(make_pets(90)))
    run("pets.csv", "--order", "class-incremental", "--save", "m.mist", "--predictions", "p.csv")
    assert len(read_csv("p.csv")) == 73
    outcome = mist("predict", "m.mist", "pets.csv", "--out", "out.csv")
    assert outcome.stderr.startswith("90 rows predicted, accuracy ")


def test_a_checkpoint_is_of_one_run(here):
    (here / "pets.csv").write_text(as_csv(make_pets(60)))
    run("pets.csv", "--checkpoint", "c.mist", "--predictions", "p.csv")
    command = ["run", "pets.csv", "--target", "pet", "--model", "mist-g", "--checkpoint", "c.mist"]
    same = [*command, "--predictions", "p.csv"]
    refused(mist(*same, "--seed", 7), "c.mist is the checkpoint", "--seed was 42 and is 7")
    refused(mist(*command), "--predictions was p.csv and is not given")
    refused(mist(*same, "--ignore", "coat"), "--ignore was not given and is coat")
    (here / "p.csv").write_text("row\n")
    refused(mist(*same), "p.csv does not have the", "bytes of predictions that go with")
    # The file has grown by a text that has no column.
    run("pets.csv", "--checkpoint", "d.mist")
    (here / "pets.csv").write_text(as_csv([*make_pets(60), ["1", "2", "curly", "cat"]]))
    command[-1] = "d.mist"
    refused(mist(*command), "other columns or texts", "delete the checkpoint to start again")
    # Rows of known texts are learnt on top.
    (here / "pets.csv").write_text(as_csv([*make_pets(60), ["1", "2", "silky", "cat"]]))
    assert "Going on after 60 rows" in mist(*command).stdout
    run("pets.csv", "--save", "m.mist")
    command[-1] = "m.mist"
    refused(mist(*command), "m.mist is a model, not a checkpoint")


def test_a_pipe_goes_on_with_what_it_learnt(here):
    rows = make_pets(300)
    run("-", "--save", "whole.mist", "--predictions", "whole.csv", stdin=as_json(rows))
    parts = ["-", "--save", "parts.mist", "--predictions", "parts.csv", "--checkpoint", "c.mist"]
    run(*parts, stdin=as_json(rows[:130]))
    outcome = run(*parts, stdin=as_json(rows[130:]))
    assert "Going on after 130 rows" in outcome.stdout
    assert (here / "parts.mist").read_bytes() == (here / "whole.mist").read_bytes()
    whole, both = read_csv("whole.csv"), read_csv("parts.csv")
    assert [line[1:] for line in both] == [line[1:] for line in whole]
    # The same rows from the first one on: those that were learnt are left out.
    again = ["-", "--save", "again.mist", "--predictions", "again.csv", "--checkpoint", "d.mist"]
    run(*again, "--limit", 130, stdin=as_json(rows))
    run(*again, "--skip-learnt", stdin=as_json(rows))
    assert (here / "again.mist").read_bytes() == (here / "whole.mist").read_bytes()
    assert read_csv("again.csv") == whole


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["1", "2"], "row 62: 2 cells, but the first row has 4"),
        (["heavy", "1", "long", "cat"], "row 62, column 'weight': 'heavy' is not a number"),
        (["inf", "1", "long", "cat"], "row 62, column 'weight': infinity is not allowed"),
    ],
)
def test_an_error_in_a_stream_keeps_what_was_learnt(here, bad, message):
    text = as_csv([*make_pets(60), bad])
    outcome = mist(
        "run", "-", "--target", "pet", "--model", "mist-g", "--save", "m.mist", "--predictions",
        "p.csv", stdin=text,
    )  # fmt: skip
    refused(outcome, message)
    assert "Model: m.mist" in outcome.stdout
    assert len(read_csv("p.csv")) == 61
    assert (here / "mist-run.html").exists()


def test_a_signal_ends_a_stream_in_order(here):
    command = [sys.executable, "-m", "mist.cli", "run", "-", "--target", "y", "--model", "mist-g"]
    with subprocess.Popen(
        [*command, "--predictions", "p.csv", "--save", "m.mist"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"a,y\n1,u\n9,v\n1.5,u\n")
        process.stdin.flush()
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None:
            # They are there before the pipe is closed.
            if os.path.exists("p.csv") and len(read_csv("p.csv")) == 4:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.stderr.read()
        assert re.sub(rb"mist: compil.*\n", b"", process.stderr.read()) == b""
        assert b"Model: m.mist" in process.stdout.read()
    answer = mist("predict", "m.mist", "-", stdin="a\n9\n").stdout.splitlines()[1]
    assert answer.startswith("2,,v,")
    assert (here / "mist-run.html").exists()


def test_a_topic_of_kafka_with_a_checkpoint(here):
    kafka = pytest.importorskip("confluent_kafka", reason="needs the extra 'kafka'")
    producer = kafka.Producer(
        {"bootstrap.servers": "nowhere:1", "test.mock.num.brokers": 1, "log_level": 0}
    )
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    rows = make_pets(300)
    for line in as_json(rows).splitlines():
        producer.produce("pets", line, partition=0)
    producer.flush(10)
    topic = f"kafka://{broker.host}:{broker.port}/pets"
    run("-", "--save", "pipe.mist", stdin=as_json(rows))
    for part in (110, 190):
        run(topic, "--limit", part, "--save", "kafka.mist", "--checkpoint", "c.mist", "--every", 50)
    assert (here / "kafka.mist").read_bytes() == (here / "pipe.mist").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-", "--order", "class-incremental"], ["needs all rows at once"]),
        (["pets.csv", "--order", "class-incremental", "--checkpoint", "c"], ["cannot be used"]),
        (
            ["pets.csv", "--order", "class-incremental", "--unlabelled", "predict"],
            ["--unlabelled predict cannot be used with --order class-incremental"],
        ),
        (["pets.csv", "--skip-learnt"], ["--skip-learnt is for a pipe"]),
        (["-", "pets.csv"], ["- is a stream: give it alone"]),
        (["pets.csv", "--model", "majority", "--save", "m"], ["--save writes one model"]),
        (["pets.csv", "--save", "no/m.mist"], ["there is no folder 'no'"]),
        (["pets.csv", "--checkpoint", "pets.csv"], ["it is an input file"]),
        (["pets.csv", "--save", "c", "--checkpoint", "./c"], ["--save and --checkpoint both name"]),
        (["no*.csv"], ["no file matches 'no*.csv'"]),
        (["."], ["is a folder without Parquet files"]),
    ],
)
def test_what_does_not_go_together(here, arguments, parts):
    (here / "pets.csv").write_text(as_csv(make_pets(10)))
    refused(mist("run", *arguments, "--target", "pet", "--model", "mist-g"), *parts)
    assert not (here / "mist-run.html").exists()


def test_predict_says_what_is_wrong(here):
    (here / "pets.csv").write_text(as_csv(make_pets(60)))
    (here / "bad.csv").write_text("weight,height\n1,2\n")
    refused(mist("predict", "none.mist", "pets.csv"), "none.mist")
    refused(mist("predict", "pets.csv", "pets.csv"), "pets.csv")
    run("pets.csv", "--save", "m.mist")
    (here / "out.csv").write_text("before")
    command = ["predict", "m.mist", "bad.csv", "--out", "out.csv"]
    refused(mist(*command), "bad.csv has no column 'coat', which the model has learnt")
    (here / "bad.csv").write_text("weight,height,coat\n1,2,short\nx,2,short\n")
    refused(mist(*command), "row 3, column 'weight': 'x' is not a number")
    assert (here / "out.csv").read_text() == "before"
    refused(mist("predict", "m.mist", "bad.csv", "--out", "m.mist"), "it is an input file")
    from mist import MistClassifier

    MistClassifier("gaussian").fit([[0.0], [1.0]], [0, 1]).save("bare.mist")
    refused(mist("predict", "bare.mist", "pets.csv"), "no encoding of tables for it")
