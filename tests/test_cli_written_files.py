"""What `mist run` says first about files of ten kinds, and what other commands do with them."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.io.source import MISSING

N_ROWS = 120


def rows():
    rng = np.random.default_rng(0)
    for i in range(N_ROWS):
        label = int(rng.integers(0, 2))
        yield i, rng.normal(6 * label, 1), rng.normal(), label


def text(head, line):
    return head + "".join(line(i, a, b, y) + "\n" for i, a, b, y in rows())


def comma(value):
    return f"{value:.3f}".replace(".", ",")


WAY_OUT = "if there is no header: --no-header (if it is one: --header)"


def thousands(value):
    return f"{1e6 + 1e5 * value:,.2f}"


def arff(i, a, b, y):
    return f"{a:.3f} {b:.3f} {['no', 'yes'][y]}"


ARFF = (
    "@relation t\n@attribute a numeric % in volts\n@attribute b numeric\n"
    "@attribute y {no, yes}\n@data\n"
)

# Name, text, options, KB of the model (of one column or two), and labels.
READ = {
    "decimal commas": (
        *("t.csv", text("a;b;y\n", lambda i, a, b, y: f"{comma(a)};{comma(b)};{y}")),
        *([], 17.3, "0 1"),
    ),
    "thousands, currency and percent": (
        *("t.csv", text("a\tb\ty\n", lambda i, a, b, y: f"${thousands(a)}\t{b:.1f} %\t{y}")),
        *([], 17.3, "0 1"),
    ),
    "spaces without a header": (
        *("t.data", text("", lambda i, a, b, y: f"{a:9.3f} {b:9.3f}  {y}")),
        *(["--no-header", "--target", "-1"], 17.3, "0 1"),
    ),
    "tabs": (
        *("t.txt", text("a\tb\ty\n", lambda i, a, b, y: f"{a:.3f}\t{b:.3f}\t{y}")),
        *([], 17.3, "0 1"),
    ),
    "excel": ("t.csv", text("sep=;\na;y\n", lambda i, a, b, y: f"{comma(a)};{y}"), [], 14.3, "0 1"),
    "comments": (
        *("t.csv", text("# by me\n# in volts\na,y\n", lambda i, a, b, y: f"{a:.3f},{y}")),
        *([], 14.3, "0 1"),
    ),
    "arff apart by spaces": ("t.arff", text(ARFF, arff), [], 17.3, "no yes"),
    "labels 01 and 1": (
        *("t.csv", text("a,y\n", lambda i, a, b, y: f"{a:.3f},{['1', '01'][y]}")),
        *([], 14.3, "01 1"),
    ),
}

REFUSED = {
    "dates": (
        *("t.csv", text("t,a,y\n", lambda i, a, b, y: f"2024-03-01 10:{i % 60:02d},{a:.3f},{y}")),
        "error: column 't' holds dates or times, such as '2024-03-01 10:00'; leave it "
        "out (--ignore t), convert it to numbers first, for instance seconds, or take each as a "
        "category (--text t)",
    ),
    "names of rows": (
        *("t.csv", text("id,a,y\n", lambda i, a, b, y: f"user{i},{a:.3f},{y}")),
        "error: column 'id' has 120 different texts in 120 rows, such as 'user0': it names rows "
        "rather than groups of them; leave it out: --ignore id (--hash id makes 64 groups of "
        "them, --text id a column for each)",
    ),
    "no header": (
        *("t.csv", text("", lambda i, a, b, y: f"{a:.3f},{y}")),
        f"error: row 1: '5.868' is a cell, not the name of a column; {WAY_OUT}",
    ),
    "a word for missing values": (
        *("t.csv", text("a,y\n", lambda i, a, b, y: f"{a:.3f},{y}") + "none,0\n"),
        "error: row 122, column 'a': 'none' is not a number (declare 'a' as a text column if it "
        "holds text: --text a; or say that the cell is missing: --missing none)",
    ),
    "an array": (
        *("t.json", json.dumps([{"a": a, "y": y} for _, a, _, y in rows()], indent=1)),
        "error: t.json is one JSON array: give every row a line of its own, with one object (jq -c "
        "'.[]' FILE > ROWS.jsonl)",
    ),
    "amounts": (
        *("t.csv", text("a,y\n", lambda i, a, b, y: f"{a:.3f},{b + 5:.2f}")),
        "error: the target 'y' holds numbers with decimals, such as '5.64': models learn classes, "
        "not amounts (regression); name another column, or take each number as a class: --text y",
    ),
    "a list": (
        *("t.jsonl", text("", lambda i, a, b, y: json.dumps({"a": a, "p": [b], "y": y}))),
        "error: row 1, column 'p': a cell cannot be a list, only a number, a text, true, false or "
        "null: give every value its own key, or leave the column out: --ignore p",
    ),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mist(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


@pytest.mark.parametrize("kind", READ)
def test_the_first_lines_about_a_file_that_is_read(here, kind):
    name, content, options, size, labels = READ[kind]
    (here / name).write_text(content)
    outcome = mist("run", name, "--target", "y", *options, "--predictions", "p.csv")
    assert outcome.exit_code == 0, outcome.output
    head, rule, line, constants, files = outcome.stdout.splitlines()[:5]
    # As wide as its lines, which have the rate of this machine.
    head, rule, line = (re.sub(" +", " ", each).strip() for each in (head, rule, line))
    assert head == (
        "data set model final accuracy forgetting prequential accuracy rows/s KB leaves"
    )
    assert set(rule) == {"─"}
    assert re.sub("0.967 [0-9,]+ ", "0.967 RATE ", line) == (
        f"{name} MIST – – 0.967 RATE {size} 1"  # noqa: RUF001
    )
    assert constants == (
        "Prequential accuracy without a model: majority class so far 0.592, no change 0.458"
    )
    assert files == "Predictions: p.csv"
    assert re.sub("mist: compil.*\n", "", outcome.stderr) == ""
    with (here / "p.csv").open(newline="") as handle:
        found = {row[1] for row in list(csv.reader(handle))[1:]}
    assert " ".join(sorted(found)) == labels


@pytest.mark.parametrize("kind", REFUSED)
def test_the_only_line_about_a_file_that_is_refused(here, kind):
    name, content, said = REFUSED[kind]
    (here / name).write_text(content)
    outcome = mist("run", name, "--target", "y")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (2, "", f"{said}\n")


def test_a_country_called_na_is_a_missing_text_and_is_said(here):
    content = text("land,a,y\n", lambda i, a, b, y: f"{['NA', 'DE'][i % 2]},{a:.3f},{y}")
    (here / "t.csv").write_text(content)
    outcome = mist("run", "t.csv", "--target", "y", "--model", "mist-g")
    assert outcome.exit_code == 0, outcome.output
    note = (
        "note: 'NA' means a missing value in the text column 'land'. If it is a text, give the "
        "words that mean missing values without it: --missing '?'\n"
    )
    assert note in outcome.stderr
    assert "became 1 columns of 0/1" in outcome.stdout
    piped = mist("run", "-", "--target", "y", "--model", "mist-g", stdin=content)
    assert piped.stderr.count(note) == 1
    given = mist("run", "t.csv", "--target", "y", "--model", "mist-g", "--missing", "?")
    assert "note" not in given.stderr
    first, head = given.stdout.splitlines()[:2]
    assert first == ("First pass over 120 rows: 1 text column (land) became 2 columns of 0/1.")
    assert head.split()[:2] == ["data", "set"]


def test_saved_models_read_rows_as_they_were_learnt(here):
    (here / "t.csv").write_text(text("a;b;y\n", lambda i, a, b, y: f"{comma(a)};{b:.0f} %;{y}"))
    saved = ("--model", "mist-g", "--save", "m.mist")
    assert mist("run", "t.csv", "--target", "y", *saved).exit_code == 0
    outcome = mist("predict", "m.mist", "t.csv", "--out", "p.csv")
    assert outcome.exit_code == 0, outcome.output
    assert float(outcome.stderr.split("accuracy ")[1].split()[0]) > 0.9
    outcome = mist("explain", "m.mist", "--csv", "t.csv", "--line", 3)
    assert outcome.exit_code == 0, outcome.output


def test_explain_a_row_of_a_file_without_header(here):
    (here / "t.data").write_text(text("", lambda i, a, b, y: f"{a:.3f}  {b:.3f} {y}"))
    options = ("--target", "-1", "--no-header", "--model", "mist-g", "--save", "m.mist")
    assert mist("run", "t.data", *options).exit_code == 0
    outcome = mist("explain", "m.mist", "--csv", "t.data", "--line", 1)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: row 1: '5.868' is a cell, not the name of a column")
    outcome = mist("explain", "m.mist", "--csv", "t.data", "--line", 1, "--no-header")
    assert outcome.exit_code == 0, outcome.output
    (here / "many.csv").write_text(text("", lambda i, a, b, y: f"{a},{b},{y}") * 400)
    command = [sys.executable, "-c", "from mist.cli import main; main()", "predict", "m.mist"]
    # The reader takes one line of several thousand and goes away.
    with subprocess.Popen(
        [*command, "many.csv", "--no-header"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    ) as process:
        assert process.stdout.readline() == b"row,label,prediction,probability\r\n"
        process.stdout.close()
        assert re.sub(rb"mist: compil.*\n", b"", process.stderr.read()) == b""
    assert process.returncode == 141


def test_help_lists_the_words_for_missing_values(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERMINAL_WIDTH", "300")
    said = mist("run", "--help").output
    listed = said.split("(default: ? ")[1].split(")")[0].split()
    assert {"", "?", *listed} == MISSING
