"""Disks that are full and folders that are read-only: what is said, and what is left.

A limit on the size of files stands for a full disk: writing fails in the middle of a file, only
that the error is another.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from denial import can_deny, run_denied
from mist import load
from mist.cli import app
from mist.datasets.cache import read, write
from published import paper_tree

resource = pytest.importorskip("resource", reason="no limits on the size of files here")

SIZE = 1000
"""Bytes that a file may have."""

OUTPUTS = {
    "--predictions": "predictions.csv",
    "--checkpoint": "checkpoint.mist",
    "--save": "model.mist",
    "--report": "report.html",
}


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """Let no file get larger than a few bytes; nothing is printed in the block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal that comes with the error.
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    points = np.random.default_rng(0).normal(size=(300, 2))
    rows = [f"{a:.3f},{b:.3f},{'ab'[i % 2]}\n" for i, (a, b) in enumerate(points)]
    path.write_text("x,z,label\n" + "".join(rows))
    return path


def run(table: Path, folder: Path, option: str) -> list[str]:
    """A run that writes a file of one kind, and then the report."""
    given = {option: OUTPUTS[option], "--report": OUTPUTS["--report"]}
    paths = [part for name, file in given.items() for part in (name, str(folder / file))]
    return ["run", str(table), "--target", "label", "--model", "mist-g", *paths]


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_full_disk_names_the_file_and_leaves_what_was_there(table, tmp_path, option):
    command, path = run(table, tmp_path, option), tmp_path / OUTPUTS[option]
    assert CliRunner().invoke(app, command).exit_code == 0
    before = path.read_bytes()
    assert len(before) > SIZE
    with full_disk():
        outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"error: {path}: {os.strerror(errno.EFBIG)}; ")
    assert "Free space" in line
    # Predictions are written as they come, and begin anew with the run.
    assert path.read_bytes() == before[: SIZE if option == "--predictions" else None]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted({path.name, "report.html"})
    # Once there is room again, the same command does what it does.
    assert CliRunner().invoke(app, command).exit_code == 0
    if option != "--report":
        assert path.read_bytes() == before


def test_a_full_disk_ends_a_grid_which_goes_on_later(tmp_path):
    out = tmp_path / "grid"
    command = ["bench", "--models", "ncm", "--datasets", "iris", "--seeds", "1,2", "--jobs", "1"]
    warm = [*command, "--out", str(tmp_path / "warm")]
    assert CliRunner().invoke(app, warm).exit_code == 0  # else compiled code is not kept either
    command += ["--out", str(out)]
    with full_disk():
        outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 2
    assert "error: " in outcome.stderr
    assert f"{out}{os.sep}runs" in outcome.stderr
    assert os.strerror(errno.EFBIG) in outcome.stderr
    assert not [path for path in out.rglob("*") if path.is_file()]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert len(list(out.glob("runs/*/*/*.json"))) == 2


def test_a_full_disk_leaves_the_last_model_and_the_last_data(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(200, 3)), "y": np.arange(200) % 2}
    model = paper_tree().partial_fit(arrays["X"], arrays["y"])
    model.save(tmp_path / "m.mist")
    write(tmp_path / "d.npz", arrays)
    model.partial_fit(arrays["X"], arrays["y"])
    for name, save in (("m.mist", model.save), ("d.npz", lambda path: write(path, arrays))):
        with full_disk(), pytest.raises(OSError, match="an existing file is unchanged") as caught:
            save(tmp_path / name)
        assert caught.value.errno == errno.EFBIG
        assert caught.value.filename == str(tmp_path / name)
    assert load(tmp_path / "m.mist").n_rows_ == 200
    assert np.array_equal(read(tmp_path / "d.npz")["X"], arrays["X"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.npz", "m.mist"]


# --- read-only folders -------------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path):
    """A folder with a file, neither of which may be changed."""
    if not can_deny(tmp_path):
        pytest.skip("permissions deny nothing here")
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "kept").write_text("kept")
    folder.chmod(0o555)
    yield folder
    assert [path.name for path in folder.iterdir()] == ["kept"]
    folder.chmod(0o755)


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_read_only_folder_is_told_before_a_row_is_read(table, locked, option):
    arguments = run(table, locked.parent, option)
    path = locked / OUTPUTS[option]
    arguments[arguments.index(option) + 1] = str(path)
    outcome = run_denied("-m", "mist.cli", *arguments, cwd=locked.parent)
    assert outcome.returncode == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"error: cannot write {str(path)!r}: no permission to write to")


@pytest.mark.parametrize(
    "arguments", [["bench", "--models", "ncm", "--datasets", "iris"], ["paper", "tree-results"]]
)
def test_a_read_only_folder_is_told_before_a_run(locked, arguments):
    out = locked / "out"
    outcome = run_denied("-m", "mist.cli", *arguments, "--out", out, cwd=locked.parent)
    assert outcome.returncode == 2
    assert f"error: {out}: {os.strerror(errno.EACCES)}" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_models_and_data_sets_name_a_read_only_folder(locked):
    code = """
import sys
import numpy as np
from mist.datasets.cache import write
from mist.preprocessing import StreamEncoder
encoder = StreamEncoder().learn_many({"a": [1.0, 2.0]})
for save in (encoder.save, lambda path: write(__import__("pathlib").Path(path), {"X": np.ones(3)})):
    try:
        save("locked/file")
    except OSError as error:
        print(error.filename, error.errno)
"""
    outcome = run_denied("-c", code, cwd=locked.parent)
    assert outcome.stdout.split() == ["locked/file", str(errno.EACCES)] * 2, outcome.stderr
