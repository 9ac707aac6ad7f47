"""Labels that are renamed by `mist run --rename` and `mist relabel`."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from mist import load
from mist.baselines import NCM
from mist.cli import app
from mist.commands.renames import continue_renames
from mist.preprocessing import StreamPipeline
from published import paper_tree

N = 240


def pumps(n=N, seed=0):
    """Two numbers and three kinds of machine; every 9th pump is written wrong."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    X = rng.normal(4.0 * kinds[:, None] * [1.0, -1.0], 1.0)
    right = np.array(["pump", "fan", "valve"])[kinds]
    wrong = right.astype(object)
    wrong[np.flatnonzero(kinds == 0)[::9]] = "pmup"
    return X, right, wrong


def as_csv(X, y):
    return "a,b,y\n" + "".join(f"{a:.3f},{b:.3f},{v}\n" for (a, b), v in zip(X, y, strict=True))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, right, wrong = pumps()
    (tmp_path / "right.csv").write_text(as_csv(X, right))
    (tmp_path / "wrong.csv").write_text(as_csv(X, wrong))
    return tmp_path


def mist(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def run(*arguments, stdin=None):
    command = ["--target", "y", "--model", "mist-g", "--predictions", "p.csv", "--save", "m.mist"]
    outcome = mist("run", *arguments, *command, stdin=stdin)
    assert outcome.exit_code == 0, outcome.output
    with open("p.csv", newline="") as handle:
        return outcome, list(csv.reader(handle))


def refused(outcome, *parts):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.count("\n") == 1, outcome.stderr
    for part in parts:
        assert part in outcome.stderr


def probabilities():
    return load("m.mist").predict_proba(pumps(seed=1)[0])


RENAME = ["--rename", "pmup=pump"]


@pytest.mark.parametrize("order", ["file", "class-incremental"])
def test_a_label_is_read_as_what_was_meant(here, order):
    _, wanted = run("right.csv", "--order", order)
    shares = probabilities()
    outcome, got = run("wrong.csv", "--order", order, *RENAME)
    assert got == wanted
    assert load("m.mist").classes_.tolist() == ["fan", "pump", "valve"]
    np.testing.assert_array_equal(probabilities(), shares)
    assert outcome.stderr == ""


def test_labels_of_a_pipe_and_of_other_formats(here):
    X, right, wrong = pumps()
    _, wanted = run("right.csv")
    assert run("-", *RENAME, stdin=as_csv(X, wrong))[1] == wanted
    lines = [{"a": a, "b": b, "y": v} for (a, b), v in zip(X.round(3), wrong, strict=True)]
    (here / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    got = run("rows.jsonl", *RENAME)[1]
    assert [row[1:] for row in got] == [row[1:] for row in wanted]
    # The file declares labels, one of them wrong, or none of the right ones.
    for declared, labels in (
        ("pump,fan,valve,pmup", wrong),
        ("pump,fan,valve", wrong),
        ("pmup,fan,valve", np.where(right == "pump", "pmup", right)),
    ):
        head = f"@relation r\n@attribute a real\n@attribute b real\n@attribute y {{{declared}}}\n"
        (here / "rows.arff").write_text(head + "@data" + as_csv(X, labels)[5:])
        got = run("rows.arff", *RENAME)[1]
        assert [row[1:] for row in got] == [row[1:] for row in wanted]


def test_whole_numbers_stay_whole_numbers(here):
    X, right, _ = pumps()
    codes = np.unique(right, return_inverse=True)[1].astype(str).astype(object)
    codes[np.flatnonzero(codes == "1")[::9]] = "l"
    (here / "codes.csv").write_text(as_csv(X, codes))
    run("codes.csv", "--rename", "l=1")
    assert load("m.mist").classes_.tolist() == [0, 1, 2]
    np.savez("codes.npz", X=X, y=np.where(codes == "l", "9", codes).astype(int))
    arguments = ["run", "codes.npz", "--model", "mist-g", "--save", "m.mist"]
    assert mist(*arguments, "--rename", "9=1").exit_code == 0
    assert load("m.mist").classes_.tolist() == [0, 1, 2]
    # A text among the first labels makes all of them texts.
    assert mist(*arguments, "--rename", "9=one").exit_code == 0
    assert load("m.mist").classes_.tolist() == ["0", "1", "2", "one"]


def test_a_label_that_never_came_is_noted(here):
    outcome, _ = run("wrong.csv", *RENAME, "--rename", "pupm=pump")
    assert outcome.stderr == "note: no row has the label 'pupm' (--rename pupm=pump)\n"
    outcome, _ = run("-", "--rename", "x=pump", stdin=(here / "right.csv").read_text())
    assert outcome.stderr == "note: no row has the label 'x' (--rename x=pump)\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["pump"], "--rename 'pump' is not of the form OLD=NEW"),
        (["=pump"], "--rename '=pump' is not of the form OLD=NEW"),
        (["pmup="], "--rename 'pmup=' is not of the form OLD=NEW"),
        (["a=b=c"], "labels with '=' can be renamed in Python: model.rename_class(old, new)"),
        (["pump=pump"], "has the same label on both sides"),
        (["pmup=?"], "'?' means that a row has no label"),
        (["pmup=pump", "pmup=fan"], "gives 'pmup' two labels: 'pump' and 'fan'"),
        (["a=b", "b=c"], "give each label its last name, --rename a=c"),
    ],
)
def test_what_cannot_be_renamed(here, given, message):
    options = [part for each in given for part in ("--rename", each)]
    refused(mist("run", "wrong.csv", "--target", "y", "--model", "mist-g", *options), message)
    (here / "m.mist").touch()
    refused(mist("relabel", "m.mist", "-o", "n.mist", *options), message)


@pytest.mark.parametrize("model", ["mist-g", "mist-forest+leaf='gaussian'"])
def test_a_run_that_goes_on_joins_what_was_learnt(here, model):
    lines = (here / "wrong.csv").read_text().splitlines(keepends=True)
    (here / "rows.csv").write_text("".join(lines[:150]))
    command = ["run", "rows.csv", "--target", "y", "--model", model, "--checkpoint", "c.mist"]
    first = mist(*command)
    assert first.exit_code == 0, first.output
    assert load("c.mist").classes_.tolist() == ["fan", "pmup", "pump", "valve"]
    (here / "rows.csv").write_text("".join(lines))
    second = mist(*command, *RENAME, "--save", "m.mist")
    assert second.exit_code == 0, second.output
    assert "The class pmup of the checkpoint is pump now" in second.stdout
    assert second.stderr == ""
    joined = load("m.mist")
    assert joined.classes_.tolist() == ["fan", "pump", "valve"]
    assert joined.n_rows_ == N
    X, right, _ = pumps(seed=1)
    assert np.mean(joined.predict(X) == right) > 0.95
    # Rows of the first run had the label: no note now.
    assert "note" not in mist(*command, *RENAME).stderr
    # The checkpoint knows the label from now on.
    (here / "rows.csv").write_text("".join([*lines, lines[-1].replace("pump", "pmup")] * 2))
    third = mist(*command, "--rename", "pump=Pump", "--save", "m.mist")
    assert third.exit_code == 0, third.output
    assert "The class pump of the checkpoint is Pump now" in third.stdout
    assert "Labels are read as in the checkpoint: pmup as Pump" in third.stdout
    assert load("m.mist").classes_.tolist() == ["Pump", "fan", "valve"]
    refused(
        mist(*command, "--rename", "pmup=fan"),
        "--rename pmup=fan: the checkpoint has learnt 'pmup' as 'Pump'; give that class another",
        "--rename Pump=fan",
    )
    refused(mist(*command, "--rename", "fan=pump", "--seed", 7), "--seed was 42 and is 7")


# --- mist relabel -------------------------------------------------------------------------------


def test_a_saved_model_is_mended(here):
    run("wrong.csv")
    mended = load("m.mist").rename_class("pmup", "pump").drop_class("valve")
    outcome = mist("relabel", "m.mist", *RENAME, "--drop", "valve", "-o", "n.mist")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout == "n.mist: classes fan, pump\n"
    X = pumps(seed=1)[0]
    np.testing.assert_array_equal(load("n.mist").predict_proba(X), mended.predict_proba(X))
    # The encoding of tables stays with the model, and the file may be replaced.
    assert mist("predict", "n.mist", "right.csv", "--out", "q.csv").exit_code == 0
    assert mist("relabel", "n.mist", "--rename", "fan=blower", "-o", "n.mist").exit_code == 0
    assert load("n.mist").classes_.tolist() == ["blower", "pump"]


def test_all_models_of_a_checkpoint_are_mended(here):
    models = ["--model", "mist-g", "--model", "mist-forest+leaf='gaussian'"]
    command = ["run", "wrong.csv", "--target", "y", *models, "--checkpoint", "c.mist"]
    assert mist(*command).exit_code == 0
    assert mist("relabel", "c.mist", *RENAME, "-o", "c.mist").exit_code == 0
    with open("wrong.csv", "a") as handle:
        handle.write((here / "wrong.csv").read_text().split("\n", 1)[1])
    again = mist(*command)
    assert again.exit_code == 0, again.output
    assert "is pump now" not in again.stdout
    assert "Labels are read as in the checkpoint: pmup as pump" in again.stdout
    assert load("c.mist").classes_.tolist() == ["fan", "pump", "valve"]


def test_what_relabel_refuses(here):
    run("wrong.csv")
    before = (here / "m.mist").read_bytes()
    refused(mist("relabel", "m.mist", "-o", "n.mist"), "needs a change", "--drop LABEL")
    for option in ("--drop", "--rename"):
        given = "pupm" if option == "--drop" else "pupm=pump"
        refused(
            mist("relabel", "m.mist", option, given, "-o", "m.mist"),
            f"{option} 'pupm': m.mist has no such class; it has fan, pmup, pump, valve",
        )
    X, right, _ = pumps()
    paper_tree().fit(X, np.unique(right, return_inverse=True)[1]).save("codes.mist")
    refused(
        mist("relabel", "codes.mist", "--rename", "1=one", "-o", "n.mist"),
        "--rename 1=one: 'one' is not a label like those of the model, 0, 1, 2",
    )
    NCM().fit(X, right).save("means.mist")
    refused(mist("relabel", "means.mist", *RENAME, "-o", "n.mist"), "means.mist holds a NCM")
    StreamPipeline(model=NCM()).fit(X, right).save("line.mist")
    refused(
        mist("relabel", "line.mist", "--rename", "pump=p", "-o", "n.mist"),
        "NCM has no rename_class: use MistClassifier or MistForest as model",
    )
    alone = [part for label in ("fan", "pmup", "pump", "valve") for part in ("--drop", label)]
    refused(mist("relabel", "m.mist", *alone, "-o", "m.mist"), "is the only class with rows")
    assert (here / "m.mist").read_bytes() == before
    assert not (here / "n.mist").exists()


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        ({}, {"a": "b"}, {"a": "b"}),
        ({"a": "b"}, {}, {"a": "b"}),
        ({"a": "b"}, {"a": "b"}, {"a": "b"}),
        ({"a": "b"}, {"b": "c"}, {"a": "c", "b": "c"}),
        ({"a": "b"}, {"b": "a"}, {"b": "a"}),
        ({"a": "b"}, {"c": "a"}, {"a": "b", "c": "b"}),
        ({"a": "c", "b": "c"}, {"c": "a"}, {"b": "a", "c": "a"}),
    ],
)
def test_renames_on_top_of_earlier_ones(before, given, after):
    assert continue_renames(before, given) == after
