import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mist import MistClassifier, __version__, load
from mist.baselines import NCM
from mist.cli import app
from mist.persistence import save
from mist.preprocessing import StreamPipeline

FOLDER = Path(__file__).parent / "fixtures"


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setattr("mist.commands.output._PLAIN_WIDTH", 2000)


def inspect(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def facts(*arguments):
    """The labels and texts before the table, and the lines from its head on."""
    outcome = inspect(*arguments)
    assert outcome.exit_code == 0, outcome.output
    lines = [line.rstrip() for line in outcome.stdout.splitlines()]
    at = lines.index("")
    told = dict(line.split("  ", 1) for line in lines[:at])
    return {label: text.strip() for label, text in told.items()}, lines[at + 1 :]


def value(*arguments):
    outcome = inspect(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def test_a_tree_is_told_of():
    path = FOLDER / "format1-gaussian.mist"
    told, table = facts(path)
    assert told["file"] == f"{path}, {path.stat().st_size:,} bytes"
    assert told["format"] == "mist-model 1, written by MIST 0.1.0"
    assert told["class"] == "MistClassifier"
    assert told["parameters"] == (
        "adapt=None, categorical_features=['flag'], delta=0.5, grace_period=20, leaf='gaussian', "
        "split_test='gain', tie_threshold=1.0, union_bound=False"
    )
    assert told["columns"] == "2: size, flag"
    assert told["classes"] == "3: blue 20; green 20; red 20"
    assert (told["rows"], told["leaves"], told["splits"], told["depth"]) == ("60", "2", "1", "1")
    assert told["bytes"].endswith(" in memory")
    assert not {"attachment", "target"} & set(told)
    assert table[0].split() == ["member", "holds", "type", "shape", "bytes"]
    cells = next(line for line in table if "_state.tree.cells" in line)
    assert cells.split()[:3] == ["arrays/6.npy", "_state.tree.cells", "records"]
    assert table[-1] == "and 3 smaller ones (--json lists all)"


def test_the_tree_is_shown_as_text():
    _, lines = facts(FOLDER / "format1-gaussian.mist", "--tree")
    assert lines[-2].startswith("|--- size <= ")
    assert "leaf 2: 15 rows; green 20" in lines[-1]
    _, lines = facts(FOLDER / "format1-forest.mist", "--tree")
    assert sum(line.startswith("|---") for line in lines) == 4


def test_json_has_all_of_it():
    path = FOLDER / "format1-mixture.mist"
    told = value(path)
    assert told["file"] == str(path)
    assert (told["format"], told["version"], told["library"]) == ("mist-model", 1, "0.1.0")
    assert told["parameters"] == {
        "adapt": None,
        "max_components": 2,
        "open_world": True,
        "thresholds": "gaussian",
    }
    assert told["classes"] == [{"label": 0, "weight": 32.0}, {"label": 1, "weight": 32.0}]
    assert (told["columns"], told["names"], told["rows"]) == (2, None, 64)
    assert told["attachment"] is True
    holds = {member["holds"]: member for member in told["members"]}
    assert holds["attachment['mean']"]["shape"] == [2]
    assert holds["_state.model.own.mean"]["dtype"] == "float64"
    assert holds["header"]["name"] == "header.json"
    assert sum(member["size"] for member in told["members"]) > path.stat().st_size / 2
    assert "trees" not in told
    assert len(value(FOLDER / "format1-forest.mist", "--tree")["trees"]) == 2


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("forest", [(False, 27.0), (True, 13.0)]),
        ("methods", [(0, 10.0), (1, 10.0), (2, 10.0)]),
    ],
)
def test_classes_have_the_weight_that_was_learnt(name, classes):
    told = value(FOLDER / f"format1-{name}.mist")["classes"]
    assert [(each["label"], each["weight"]) for each in told] == classes


def test_where_only_the_leaves_know_the_weight_of_a_class_they_tell():
    model = load(FOLDER / "format1-sketch.mist")
    told = value(FOLDER / "format1-sketch.mist")["classes"]
    cells = model._state.tree.cells
    of_class_1 = cells.mass[(cells.leaf >= 0) & (cells.code == 1)].sum()
    assert told[1] == {"label": 1, "weight": pytest.approx(of_class_1)}


def test_classes_that_are_many_are_cut_short_and_declared_ones_weigh_nothing(tmp_path):
    X = np.arange(30.0)[:, None]
    NCM().partial_fit(X, np.arange(30), classes=[99]).save(tmp_path / "many.mist")
    told, _ = facts(tmp_path / "many.mist")
    assert told["classes"].startswith("31: 0 1; 1 1; ")
    assert told["classes"].endswith("; 19 1; and 11 more (--json lists all)")
    assert "rows" not in told
    listed = value(tmp_path / "many.mist")["classes"]
    assert (len(listed), listed[-1]) == (31, {"label": 99, "weight": 0.0})


def test_of_a_pipeline_the_model_in_it_is_told_of(tmp_path):
    path, line = tmp_path / "line.mist", StreamPipeline(model=MistClassifier("gaussian"))
    line.learn_many({"size": [1.0, 9.0, 2.0], "coat": ["short", "long", None]}, ["a", "b", "a"])
    line.save(path)
    told, _ = facts(path)
    assert (told["class"], told["columns"]) == ("StreamPipeline", "2: size, coat")
    assert (told["classes"], told["rows"], told["leaves"]) == ("2: a 2; b 1", "3", "1")
    assert value(path, "--tree")["trees"] == [line.model_.export_text()]
    StreamPipeline().save(path)
    assert facts(path)[0]["learnt"] == "nothing yet"


def test_a_model_that_has_learnt_nothing(tmp_path):
    path = tmp_path / "new.mist"
    MistClassifier(categorical_features=np.array([0]), random_state=3).save(path)
    told, table = facts(path)
    assert told["learnt"] == "nothing yet"
    assert told["parameters"] == "categorical_features=array([0]), random_state=3"
    assert told["format"] == f"mist-model 1, written by MIST {__version__}"
    assert "rows" not in told
    assert any(line.startswith("header.json") for line in table)
    assert value(path)["parameters"] == {"categorical_features": "array([0])", "random_state": 3}
    failed = inspect(path, "--tree")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "has learnt nothing yet" in failed.stderr


def test_brackets_are_no_markup(tmp_path):
    model = NCM().fit([[0.0], [1.0]], ["[red]x[/red]", "[/]"])
    save(model, tmp_path / "odd.mist", attachment={"[bold]": np.zeros(2)})
    told, table = facts(tmp_path / "odd.mist")
    assert told["classes"] == "2: [/] 1; [red]x[/red] 1"
    assert any("attachment['[bold]']" in line for line in table)


def altered(path):
    data = bytearray((FOLDER / "format1-gaussian.mist").read_bytes())
    data[2000] ^= 1
    path.write_bytes(data)


NO_MODEL = "this is not a MIST model file: `mist run --save` writes one"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.write_text("a,b\n1,2\n"), NO_MODEL),
        (altered, "the file was altered or damaged: its checksum differs"),
    ],
    ids=["absent", "text", "altered"],
)
def test_bad_files_give_one_line_and_an_exit_code(tmp_path, make, message):
    path = tmp_path / "bad.mist"
    make(path)
    outcome = inspect(path)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr == f"error: {path}: {message}\n"


def test_a_model_without_a_tree_has_none_to_show():
    outcome = inspect(FOLDER / "format1-methods.mist", "--tree")
    assert outcome.exit_code == 2
    assert "a NCM has no tree to show" in outcome.stderr


def test_changes_found_in_the_stream(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), np.tile(["a", "b"], 1500)
    X[y == "b"] += 9.0
    for i in range(1, 10):
        X[300 * i :][y[300 * i :] == "a"] -= 9.0
    model = MistClassifier("gaussian").fit(X, y)
    n = len(model.changes_)
    assert n > 6
    model.save(tmp_path / "m.mist")
    told, _ = facts(tmp_path / "m.mist")
    assert told["adapt"] == "stream"
    last = "; ".join(f"a moved at row {change.row:,}" for change in model.changes_[-5:])
    assert told["changes"] == f"1 class moved, {n} moves in all. The last: {last}"
    told = value(tmp_path / "m.mist")
    assert told["adapt"] == "stream"
    assert told["changes"] == [change._asdict() for change in model.changes_]
    MistClassifier("gaussian", adapt="classes").fit(X[:50], y[:50]).save(tmp_path / "few.mist")
    assert facts(tmp_path / "few.mist")[0]["changes"] == "none found"
    line = StreamPipeline(model=MistClassifier("gaussian")).learn_many({"u": X[:, 0]}, y)
    line.save(tmp_path / "line.mist")
    assert value(tmp_path / "line.mist")["changes"] == [c._asdict() for c in line.changes_]
    save(NCM().fit(X, y), tmp_path / "ncm.mist")
    assert not {"adapt", "changes"} & set(value(tmp_path / "ncm.mist"))
    assert value(FOLDER / "format1-gaussian.mist")["adapt"] is None
