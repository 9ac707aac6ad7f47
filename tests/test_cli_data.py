import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.datasets import REGISTRY
from mist.datasets.cache import cache_folder, checksum, write

MIST_DATA = os.environ.get("MIST_DATA")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """An empty cache, an empty MIST_DATA, a wide page."""
    monkeypatch.setenv(
        "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", f"{tmp_path}"
    )
    monkeypatch.setenv("MIST_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    monkeypatch.setattr("mist.commands.output._PLAIN_WIDTH", 2000)
    return tmp_path


def data(*arguments):
    return CliRunner().invoke(app, ["data", *arguments])


def facts(name):
    """The lines of ``mist data info``: label to text."""
    outcome = data("info", name)
    assert outcome.exit_code == 0, outcome.output
    lines = outcome.stdout.splitlines()
    return {label: text.strip() for label, text in (line.split("  ", 1) for line in lines)}


def outdoor(path, **arrays):
    """A table of the size of the set "outdoor", not its values."""
    y = (np.arange(4000) // 10 % 40).astype(np.uint8)
    write(path, {"X": np.zeros((4000, 21), dtype=np.uint8), "y": y} | arrays)


def test_list_shows_every_set_and_where_it_is(folders):
    outdoor(folders / "data" / "outdoor.npz")
    outdoor(cache_folder() / "letter.npz")
    outcome = data("list")
    assert outcome.exit_code == 0
    rows = {line.split()[0]: line.split() for line in outcome.stdout.splitlines() if line.strip()}
    assert next(iter(rows)) == "name"
    assert [name for name in rows if name in REGISTRY] == list(REGISTRY)
    assert rows["wine"] == ["wine", "178", "13", "3", "bundled", "CC", "BY", "4.0"]
    assert rows["covertype"][1:6] == ["581,012", "54", "7", "not", "here"]
    assert rows["outdoor"][1:5] == ["4,000", "21", "40", "MIST_DATA"]
    assert rows["letter"][4] == "cache"
    assert rows["ring"] == ["ring", "3,000", "8", "6", "generated", "BSD-3-Clause"]


def test_get_has_nothing_to_do_for_what_is_here(folders):
    path = folders / "data" / "outdoor.npz"
    outdoor(path)
    outcome = data("get", "iris", "ring", "outdoor")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines() == [
        "iris: nothing to fetch (bundled)",
        "ring: nothing to fetch (generated)",
        f"outdoor: nothing to fetch ({path})",
    ]


def test_get_says_why_not():
    outcome = data("get", "outdoor", "hapt")
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("error: data set 'outdoor' is not here")
    assert "data set 'hapt' is not here" in line
    assert "hapt561.npz" in line


@pytest.mark.parametrize("command", ["get", "info"])
def test_an_unknown_name(command):
    outcome = data(command, "boston")
    assert outcome.exit_code == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("error: no data set called 'boston': choose one of iris, ")


def test_get_without_a_name_is_a_usage_error():
    assert data("get").exit_code == 2


def test_info_of_a_set_that_is_not_here():
    shown = facts("letter")
    assert shown["rows"] == "20,000"
    assert shown["classes"] == "26"
    assert shown["class counts"].startswith("0 (A): 789; 1 (B): 766; ")
    assert shown["training part"] == "the first 16,000 rows"
    assert shown["download"] == "OpenML 6"
    assert shown["path"].startswith("not here; expected as letter.npz in the folder named by MIST")
    assert shown["sha256"] == REGISTRY["letter"].sha256
    assert "check" not in shown
    assert "Frey" in shown["citation"]


def test_info_tells_when_the_checksum_differs(folders):
    path = folders / "data" / "outdoor.npz"
    outdoor(path)
    shown = facts("outdoor")
    assert shown["path"] == f"{path} (MIST_DATA)"
    assert shown["check"] == (
        f"expected sha256 {REGISTRY['outdoor'].sha256}, found {checksum(path)}"
    )
    assert shown["download"] == "no public copy that scikit-learn knows"


def test_info_checks_a_downloaded_copy_by_its_content():
    outdoor(cache_folder() / "outdoor.npz", origin=np.array("elsewhere"))
    assert facts("outdoor")["check"] == "as in the registry"
    outdoor(cache_folder() / "outdoor.npz", origin=np.array("elsewhere"), X=np.zeros((4000, 3)))
    assert facts("outdoor")["check"] == "expected shape (4000, 21), found (4000, 3)"


def test_info_of_a_damaged_file(folders):
    (folders / "data" / "outdoor.npz").write_bytes(b"PK")
    assert "cannot be read" in facts("outdoor")["check"]


@pytest.mark.parametrize(("name", "where"), [("iris", "bundled"), ("ring", "generated")])
def test_info_of_a_set_without_a_file(name, where):
    shown = facts(name)
    assert shown["where"] == where
    assert shown.get("version") == ("1" if where == "generated" else None)
    assert not {"path", "sha256", "download"} & set(shown)


@pytest.mark.skipif(not MIST_DATA, reason="MIST_DATA is not set: no reference copies here")
def test_info_of_the_reference_copy(monkeypatch):
    monkeypatch.setenv("MIST_DATA", MIST_DATA)
    shown = facts("outdoor")
    assert shown["check"] == "as in the registry"
    assert shown["note"] == "In time order."


def test_help_of_data_imports_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['mist', 'data', '--help']\n"
        "from mist.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "print({'numpy', 'sklearn', 'numba'} & set(sys.modules))\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "Usage" in outcome.stdout
    assert outcome.stdout.splitlines()[-1] == "set()"
