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
from mist.engine import compiled, compiled_sources

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


def digest(cache, source):
    """What a new process does with compiled code, and the digest that it finds."""
    for function in vars(compiled_sources).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    return compiled_sources.digest_of_code(str(cache), source)


def saved_code(cache):
    """A file as Numba writes them."""
    file = cache / f"walk.{compiled_sources._TAG}.1.nbc"
    file.touch()
    return file


def test_code_of_other_sources_is_removed(tmp_path):
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    digest(cache, source)
    assert not cache.exists()  # Numba has kept nothing there
    cache.mkdir()
    of_another_python = cache / "walk.py27.1.nbc"
    of_another_python.touch()
    found = set()
    for text in ("STEP = 1", "STEP = 2"):
        (source / "constants.py").write_text(text)
        file = saved_code(cache)
        found.add(digest(cache, source))
        assert not file.exists()
        file = saved_code(cache)
        found.add(digest(cache, source))
        assert file.exists()
    assert len(found) == 2
    assert of_another_python.exists()


@pytest.mark.parametrize(
    "text",
    [
        '"""Walks."""\n\nSTEP = 1\n"""Of a walk."""\n\n\ndef walk():\n    return STEP\n',
        '# Walks.\nSTEP = (1)\ndef walk():\n    """Walk."""\n    # One step.\n    return STEP',
    ],
)
def test_comments_docstrings_and_layout_keep_it(tmp_path, text):
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    cache.mkdir()
    (source / "walks.py").write_text("STEP = 1\ndef walk(): return STEP")
    before = digest(cache, source)
    file = saved_code(cache)
    (source / "walks.py").write_text(text)
    assert digest(cache, source) == before
    assert file.exists()


def test_a_stamp_that_cannot_be_read_is_none(tmp_path):
    source = Path(compiled.__file__).parent
    expected = digest(tmp_path, source)
    (stamp,) = tmp_path.iterdir()
    for content in (b"", b"\xff\xfe", stamp.read_bytes()[:20]):
        stamp.write_bytes(content)
        file = saved_code(tmp_path)
        assert digest(tmp_path, source) == expected
        assert not file.exists()


def test_a_function_of_another_package_is_compiled_again_when_what_it_calls_changes(tmp_path):
    package = tmp_path / "rival"
    package.mkdir()
    code = (
        "from rival.outer import walk\n"
        "print(walk(5.0), sum(walk.standalone.stats.cache_hits.values()))"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(mist.__file__).parent.parent)])
    answers = []
    for factor, comment in ((2.0, ""), (2.0, "# Walk.\n\n"), (3.0, "")):
        (package / "outer.py").write_text(
            "from mist.engine.compiled import exact\n"
            "from rival.inner import step\n\n\n"
            f"{comment}@exact\ndef walk(x):\n    return step(x) + 1.0\n"
        )
        (package / "inner.py").write_text(
            "from mist.engine.compiled import inlined\n\n\n"
            f"{comment}@inlined\ndef step(x):\n    return {factor} * x\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done.stdout.split())
    assert answers == [["11.0", "0"], ["11.0", "1"], ["16.0", "0"]]


def test_files_with_compiled_functions_are_known_wherever_they_are():
    decorators = {"exact", "allocating", "undivided", "inlined", "summed"}
    counted = set(compiled_sources.files_that_count())
    for file in Path(mist.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "mist.engine.compiled":
                decorated = not decorators.isdisjoint(name.name for name in node.names)
                assert decorated == (file in counted) or "engine" in file.parts, file
    # Constants from elsewhere are part of the code, other files are not.
    names = {file.name for file in counted}
    assert {"limits.py", "locking.py", "row_loops.py", "mixture.py", "calibration.py"} <= names
    assert not {"classifier.py", "forest.py", "rows.py"} & names


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
