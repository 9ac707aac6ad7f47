"""`mist run --decision` and `--cost`: how labels are chosen, and which values are refused."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.commands.decisions import parse_decision
from mist.persistence import load

RARE = 30


@pytest.fixture
def here(tmp_path, monkeypatch):
    """One row in ten is of the second class, whose rows overlap with those of the first."""
    rng = np.random.default_rng(0)
    y = (np.arange(600) % 10 == 3).astype(int)
    x = rng.normal(size=600) + 1.2 * y
    (tmp_path / "t.csv").write_text(
        "x,y\n" + "".join(f"{a:.4f},{7 + b}\n" for a, b in zip(x, y, strict=True))
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mist(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run(*options, model="mist-g"):
    command = ["run", "t.csv", "--target", "y", "--model", model, "--predictions", "p.csv"]
    outcome = mist(*command, "--save", "m.mist", *options)
    assert outcome.exit_code == 0, outcome.output
    with open("p.csv", newline="") as handle:
        found = [row[2] for row in csv.reader(handle)][1:]
    return outcome, found.count("8"), load("m.mist")


@pytest.mark.parametrize("model", ["mist-g", "mist-forest+leaf='gaussian'+n_trees=2"])
def test_labels_are_chosen_by_the_rule(here, model):
    counts, balanced, costs = (
        run(*options, model=model)
        for options in (["--decision", "counts"], ["--decision", "balanced"], ["--cost", "8=40"])
    )
    assert counts[1] < RARE < balanced[1] < costs[1]
    assert [each[2].decision for each in (counts, balanced)] == ["counts", "balanced"]
    assert costs[2].decision[8] == 40.0
    assert all(each[0].stderr == "" for each in (counts, balanced, costs))


def test_a_cost_of_no_label_is_noted(here):
    outcome, *_ = run("--cost", "8=40", "--cost", "9=2")
    assert outcome.stderr == "note: no row has the label '9' (--cost 9=2)\n"


def test_the_rule_belongs_to_a_checkpoint(here):
    run("--decision", "counts", "--checkpoint", "c.mist")
    command = ["run", "t.csv", "--target", "y", "--model", "mist-g", "--predictions", "p.csv"]
    outcome = mist(*command, "--checkpoint", "c.mist", "--decision", "balanced")
    assert outcome.exit_code == 2
    assert "--decision was counts and is balanced" in outcome.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--decision", "fair"], "--decision 'fair' is unknown: give balanced or counts"),
        (["--decision", "a=3"], "costs have an option of their own, --cost a=3"),
        (["--decision", "counts", "--cost", "a=3"], "two rules: give one of them"),
        (["--cost", "a"], "--cost 'a' is not of the form LABEL=COST, such as fraud=20"),
        (["--cost", "=3"], "--cost '=3' is not of the form LABEL=COST"),
        (["--cost", "a=much"], "--cost 'a=much': 'much' is not a finite number above 0"),
        (["--cost", "a=0"], "--cost 'a=0': '0' is not a finite number above 0"),
        (["--cost", "a=inf"], "is not a finite number above 0"),
        (["--cost", "a=2", "--cost", "a=3"], "--cost gives 'a' two costs: 2 and 3"),
    ],
)
def test_what_is_refused(here, options, words):
    outcome = mist("run", "t.csv", "--target", "y", *options)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_labels_with_equals_signs_and_zeros_in_front():
    assert parse_decision(None, ["a=b=2", "01=3"]) == {"a=b": 2.0, "01": 3.0}
    assert parse_decision(None, ["-1=3"]) == {"-1": 3.0, -1: 3.0}
    assert parse_decision(None, ["--5=2", "-=3"]) == {"--5": 2.0, "-": 3.0}
    assert parse_decision(None, []) is None
