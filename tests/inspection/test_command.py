"""The command `mist explain`."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from mist import MistForest
from mist.cli import app
from mist.commands.explain import named_values
from mist.inspection import TextColumn
from mist.preprocessing import StreamPipeline
from published import paper_tree

NAMES = ["size", "hue=blue", "hue=red"]


def with_hue(explanation, text):
    """The same explanation, with the text column that is spread over two columns."""
    return replace(explanation, texts=(TextColumn("hue", text, (1, 2)),))


@pytest.fixture
def saved(tmp_path):
    model = paper_tree()
    for i in range(20):
        hue = dict.fromkeys(NAMES[1:], 0.0) | {f"hue={'red' if i % 2 else 'blue'}": 1.0}
        model.learn_one({"size": i % 2 * 9.0 + i % 3, **hue}, "large" if i % 2 else "small")
    model.save(tmp_path / "model.mist")
    return tmp_path / "model.mist", model


def asked(*arguments):
    return CliRunner().invoke(app, ["explain", *map(str, arguments)])


def test_a_row_by_name_is_explained(saved):
    path, model = saved
    done = asked(path, "--row", json.dumps({"size": 9, "hue": "red"}))
    assert done.exit_code == 0, done.output
    expected = model.explain({"size": 9.0, "hue=blue": 0.0, "hue=red": 1.0}, top=3)
    assert done.output == f"{with_hue(expected, 'red')}\n"
    assert done.output.startswith("prediction: large")
    assert "  hue = red\n" in done.output
    assert asked(path, "--row", "[9, 0, 1]").output == f"{expected}\n"
    by_column = json.dumps({"size": 9, "hue=blue": 0, "hue=red": 1})
    assert asked(path, "--row", by_column).output == f"{expected}\n"


def test_a_row_of_a_file_is_explained(saved, tmp_path):
    path, model = saved
    table = tmp_path / "rows.csv"
    table.write_text("hue,label,size\nblue,small,1\n?,large,8.5\n")
    blue = {"size": 1.0, "hue=blue": 1.0, "hue=red": 0.0}
    for line, row, text in ((2, blue, "blue"), (3, {"size": 8.5}, "")):
        done = asked(path, "--csv", table, "--line", line)
        assert done.output == f"{with_hue(model.explain(row, top=3), text)}\n"
    refused = asked(path, "--csv", table, "--line", 9)
    assert refused.exit_code == 2
    assert "rows.csv has no row on line 9" in refused.output


def test_a_pipeline_encodes_the_row_itself(tmp_path):
    line = StreamPipeline(model=paper_tree())
    line.learn_many({"size": [1.0, 9.0, 1.5, 8.0], "hue": ["blue", "NA", "blue", "NA"]}, [0, 1] * 2)
    line.save(tmp_path / "line.mist")
    (tmp_path / "rows.csv").write_text("hue,id,size\nNA,x7,9\n,x8,1\n")
    for line_number, hue in ((2, "NA"), (3, None)):
        x = {"size": 9.0 if hue else 1.0, "hue": hue}
        done = asked(tmp_path / "line.mist", "--csv", tmp_path / "rows.csv", "--line", line_number)
        assert done.output == f"{line.explain(x, top=3)}\n"
        assert ("  hue = NA\n" in done.output) == (hue == "NA")
    assert asked(tmp_path / "line.mist", "--row", '[9, "NA"]').output.startswith("prediction: 1")
    for row, message in (
        ('{"size": "big"}', "column 'size': 'big' is not a number"),
        ('{"siez": 3}', "the model has not learnt: did you mean 'size'?"),
        ('{"size": 3, "id": 3}', "'id', which the model has not learnt: leave it out."),
        ("[1]", "the row has 1 values, the model needs 2"),
    ):
        refused = asked(tmp_path / "line.mist", "--row", row)
        assert (refused.exit_code, message in refused.output) == (2, True), refused.output
    StreamPipeline(model=MistForest()).save(tmp_path / "forest.mist")
    assert "holds a MistForest" in asked(tmp_path / "forest.mist", "--row", "[1]").output
    StreamPipeline().save(tmp_path / "new.mist")
    assert "learnt nothing yet" in asked(tmp_path / "new.mist", "--row", "[1]").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --row or --csv"),
        (["--row", "{}", "--csv", "x.csv"], "give either --row or --csv"),
        (["--row", "{"], "--row is not valid JSON"),
        (["--row", "3"], "--row must be a JSON object"),
        (["--row", '{"size": "large"}'], "column 'size': 'large' is not a number"),
        (
            ["--row", '{"size": 1, "hou": "red"}'],
            "did you mean 'hue'? Its columns are size, hue, hue=blue, hue=red",
        ),
        (["--row", '{"length": 1}'], "'length', which the model has not learnt: leave it out."),
        (["--row", "[1, 2]"], "the row has 2 values"),
        (["--row", '["a", 0, 1]'], "could not convert"),
        (["--csv", "absent.csv"], "absent.csv: No such file"),
    ],
)
def test_what_is_no_row_is_refused_in_one_line(saved, arguments, message):
    done = asked(saved[0], *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.splitlines()) == 1


def test_what_holds_no_tree_is_refused(tmp_path):
    MistForest().save(tmp_path / "forest.mist")
    paper_tree().save(tmp_path / "new.mist")
    assert (
        "forest.mist holds a MistForest" in asked(tmp_path / "forest.mist", "--row", "[1]").output
    )
    assert "has learnt nothing yet" in asked(tmp_path / "new.mist", "--row", "[1]").output


def test_cells_become_values():
    assert named_values({"0": "1.5", "1": None}, [0, 1])[0] == 1.5
    values = named_values({"hue": "green", "size": "NA"}, NAMES)
    assert (values["hue=blue"], values["hue=red"]) == (0.0, 0.0)
    assert values["size"] != values["size"]
    assert all(v != v for v in named_values({"hue": None}, NAMES).values())
