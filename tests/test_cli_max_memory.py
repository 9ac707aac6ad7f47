"""`mist run --max-memory`: a budget for each model, and which values are refused."""

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.commands.sizes import parse_size
from mist.persistence import load


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Rows of six classes in eight columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=900)
    X = rng.normal(size=(900, 8)) + y[:, None]
    lines = [",".join(f"{value:.4f}" for value in row) for row in X]
    header = ",".join(f"x{j}" for j in range(8))
    rows = "".join(f"{line},{label}\n" for line, label in zip(lines, y, strict=True))
    (tmp_path / "t.csv").write_text(f"{header},y\n{rows}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options, model="mist-g"):
    command = ["run", "t.csv", "--target", "y", "--model", model, "--save", "m.mist", *options]
    return CliRunner().invoke(app, command)


@pytest.mark.parametrize(
    ("model", "share"), [("mist-g", 0.5), ("mist-forest+leaf='gaussian'+n_trees=2", 0.7)]
)
def test_the_model_keeps_within_the_budget(here, model, share):
    assert run(model=model).exit_code == 0
    budget = int(share * load("m.mist").nbytes)
    outcome = run("--max-memory", f"{budget}B", model=model)
    assert outcome.exit_code == 0, outcome.output
    limited = load("m.mist")
    assert limited.max_bytes == budget
    assert limited.nbytes <= budget
    assert list(limited.classes_) == list(range(6))


def test_class_incremental_order_keeps_the_budget_too(here):
    assert run("--order", "class-incremental", "--max-memory", "1MB").exit_code == 0
    assert load("m.mist").max_bytes == 1_000_000


def test_a_budget_in_which_no_leaf_fits_is_refused(here):
    outcome = run("--max-memory", "100B")
    assert outcome.exit_code == 2
    assert "max_bytes=100 is too small" in " ".join(outcome.stderr.split())


def test_a_model_without_a_limit_is_refused(here):
    outcome = run("--max-memory", "10MB", model="mist-features")
    assert outcome.exit_code == 2
    assert "max_bytes cannot limit the discriminant" in " ".join(outcome.stderr.split())


def test_the_budget_belongs_to_a_checkpoint(here):
    assert run("--max-memory", "1MB", "--checkpoint", "c.mist").exit_code == 0
    again = run("--max-memory", "2MB", "--checkpoint", "c.mist")
    assert again.exit_code == 2
    assert "--max-memory was 1000000 and is 2000000" in " ".join(again.stderr.split())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("400000", 400_000),
        ("12B", 12),
        ("2kb", 2000),
        ("2KiB", 2048),
        (" 50 MB ", 50_000_000),
        ("1.5GiB", 3 * 2**29),
        (".5mb", 500_000),
        ("1TB", 10**12),
    ],
)
def test_sizes(text, size):
    assert parse_size("--max-memory", text) == size


@pytest.mark.parametrize(
    "text", ["", "MB", "-5MB", "5 apples", "1e6", "5M", "1,5GB", "\u0665MB", "nan"]
)
def test_other_texts_are_refused_with_the_form(here, text):
    outcome = run("--max-memory", text)
    assert outcome.exit_code == 2
    assert "is not a size such as 50MB" in " ".join(outcome.stderr.split())
    assert "--max-memory" in outcome.stderr
