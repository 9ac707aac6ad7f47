"""Where compiled code is kept, and what happens where it cannot be."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mist
from denial import can_deny, run_denied
from mist.engine import compiled

LEARN = """
import logging, warnings
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
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
    """A process that learns and prints what is said of compiled code."""
    root = installed.parent
    settings = {"XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None, "TMPDIR": str(root), **variables}
    outcome = run_denied("-c", LEARN, cwd=root, PYTHONPATH=str(installed), **settings)
    assert outcome.returncode == 0, outcome.stderr
    return outcome


def test_a_read_only_package_keeps_it_in_the_home_folder(installed):
    home = installed.parent / "home"
    home.mkdir()
    first = learn(installed, HOME=str(home))
    assert first.stdout.startswith("0")
    assert list(home.rglob("*.nbc"))
    # Whoever asks for the log can see what is compiled, and that it is compiled once.
    name = "mist.engine.row_loops.predict_rows"
    assert f"mist: compiling {name}; later starts read it from the disk" in first.stderr
    assert re.search(rf"mist: compiled {name} in [0-9.]+ s\n", first.stderr)
    assert "compil" not in learn(installed, HOME=str(home)).stderr


def test_without_any_place_everything_works_and_the_way_out_is_told_once(installed):
    locked = str(installed.parent / "locked")
    told = learn(installed, HOME=locked).stdout
    assert told.startswith("1 ")
    assert "set NUMBA_CACHE_DIR to a folder" in told
    assert learn(installed, HOME=locked, NUMBA_CACHE_DIR=f"{locked}/none").stdout == told


def forget(cache, source):
    """What a new process does with compiled code."""
    for function in (compiled._package, compiled._sources, compiled.forget_old_code):
        function.cache_clear()
    compiled.forget_old_code(str(cache), source)


def test_code_of_other_sources_is_removed(tmp_path):
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    forget(cache, source)
    assert not cache.exists()  # Numba has kept nothing there
    cache.mkdir()
    for text in ("STEP = 1", "STEP = 2"):
        (source / "constants.py").write_text(text)
        (cache / "walk.nbi").touch()
        forget(cache, source)
        assert [file.suffix for file in cache.iterdir()] == [".stamp"]
        (cache / "walk.nbi").touch()
        forget(cache, source)
        assert sorted(file.suffix for file in cache.iterdir()) == [".nbi", ".stamp"]


def test_a_function_of_another_package_is_compiled_again_when_what_it_calls_changes(tmp_path):
    package = tmp_path / "rival"
    package.mkdir()
    (package / "outer.py").write_text(
        "from mist.engine.compiled import exact\n"
        "from rival.inner import step\n\n\n"
        "@exact\ndef walk(x):\n    return step(x) + 1.0\n"
    )
    answers = []
    for factor in (2.0, 3.0):
        (package / "inner.py").write_text(
            "from mist.engine.compiled import inlined\n\n\n"
            f"@inlined\ndef step(x):\n    return {factor} * x\n"
        )
        code = "from rival.outer import walk; print(walk(5.0))"
        path = os.pathsep.join([str(tmp_path), str(Path(mist.__file__).parent.parent)])
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(float(done.stdout))
    assert answers == [11.0, 16.0]


def test_files_with_compiled_functions_are_known_wherever_they_are():
    decorators = {"exact", "allocating", "undivided", "inlined", "summed"}
    for file in Path(mist.__file__).parent.rglob("*.py"):
        source = file.read_bytes()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module == "mist.engine.compiled":
                decorated = not decorators.isdisjoint(name.name for name in node.names)
                assert decorated == bool(compiled._DECORATED.search(source)), file


def test_data_sets_without_a_home_folder_say_where_to_put_them(tmp_path, monkeypatch):
    from mist.datasets import DatasetError
    from mist.datasets.cache import cache_folder, locate
    from mist.datasets.catalogue import REGISTRY

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
