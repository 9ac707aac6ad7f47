"""Where compiled code is kept, and what happens where it cannot be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import mist
from denial import can_deny, run_denied

LEARN = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    from mist import MistClassifier
    model = MistClassifier.paper(leaf="majority").partial_fit([[0.0], [9.0]], ["a", "b"])
    assert model.predict([[1.0]]).shape == (1,)
told = [str(each.message) for each in told if "compiled code" in str(each.message)]
print(len(told), *told)
"""


@pytest.fixture
def installed(tmp_path):
    """The package in a folder that may not be changed, and where that is."""
    if not can_deny(tmp_path):
        pytest.skip("permissions deny nothing here")
    folder = tmp_path / "site"
    shutil.copytree(
        Path(mist.__file__).parent, folder / "mist", ignore=shutil.ignore_patterns("__pycache__")
    )
    locked = tmp_path / "locked"
    locked.mkdir()
    folders = [locked, *(Path(root) for root, _, _ in os.walk(folder))]
    for each in folders:
        each.chmod(0o555)
    yield folder
    for each in folders:
        each.chmod(0o755)


def learn(installed, **variables):
    """What is said of compiled code by a process that learns."""
    root = installed.parent
    settings = {"XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None, "TMPDIR": str(root), **variables}
    outcome = run_denied("-c", LEARN, cwd=root, PYTHONPATH=str(installed), **settings)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_a_read_only_package_keeps_it_in_the_home_folder(installed):
    home = installed.parent / "home"
    home.mkdir()
    assert learn(installed, HOME=str(home)).startswith("0")
    assert list(home.rglob("*.nbc"))


def test_without_any_place_everything_works_and_the_way_out_is_told_once(installed):
    locked = str(installed.parent / "locked")
    told = learn(installed, HOME=locked)
    assert told.startswith("1 ")
    assert "set NUMBA_CACHE_DIR to a folder" in told
    assert learn(installed, HOME=locked, NUMBA_CACHE_DIR=f"{locked}/none") == told


def test_data_sets_without_a_home_folder_say_where_to_put_them(tmp_path, monkeypatch):
    from mist.datasets import DatasetError
    from mist.datasets.registry import REGISTRY
    from mist.datasets.store import cache_folder, locate

    def no_home(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DatasetError, match=r"no home folder.*MIST_DATA"):
        cache_folder()
    entry = next(entry for entry in REGISTRY.values() if entry.kind == "file")
    (tmp_path / entry.file).touch()
    monkeypatch.setenv("MIST_DATA", str(tmp_path))
    assert locate(entry) == ("MIST_DATA", tmp_path / entry.file)
