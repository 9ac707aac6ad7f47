"""Compiled code that comes with the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mist
from mist.engine import numba_access
from mist.engine.ready_code import TARGET, find_ready_code

CPU, FEATURES = "x86-64", "+sse2,-avx2"

COMPILE = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
from mist.engine.random import share
print(share(2**63), share.standalone.stats.cache_path)
"""

KEEP = (
    COMPILE
    + """
import runpy
from pathlib import Path
runpy.run_path(sys.argv[1])["keep"](Path(sys.argv[2]))
"""
)

PACKAGING = Path(__file__).parents[2] / "packaging" / "ready_code.py"
HOST = ("x86_64-unknown-linux-gnu", "newest", "+sse2,+avx2,-amx")


def folder_for(tmp_path, target):
    (tmp_path / TARGET).write_text(json.dumps(target))
    return tmp_path


@pytest.mark.parametrize("features", ["", "+sse2", "+avx2,+sse2", "+sse2,-avx512f"])
def test_code_for_a_part_of_the_processor_is_used(tmp_path, features):
    target = (HOST[0], "oldest", features)
    found = find_ready_code(HOST, folder_for(tmp_path, target))
    assert found == (tmp_path, target)
    assert found.of(Path(mist.__file__).parent / "engine") == tmp_path / "engine"


@pytest.mark.parametrize(
    "target",
    [
        (HOST[0], "newer", "+sse2,+amx"),
        (HOST[0], "newer", "+sse2,+avx1024"),
        ("arm64-apple-darwin", "newest", "+sse2"),
        "no target",
        (HOST[0], "newest"),
    ],
)
def test_other_code_is_not(tmp_path, target):
    assert find_ready_code(HOST, folder_for(tmp_path, target)) is None


def test_without_a_folder_there_is_none(tmp_path):
    assert find_ready_code(HOST, tmp_path / "nothing") is None


def test_nobody_has_to_use_it(tmp_path, monkeypatch):
    folder = folder_for(tmp_path, HOST)
    monkeypatch.setenv("MIST_READY_CODE", "0")
    assert find_ready_code(HOST, folder) is None


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A copy of the package with ready code of one function."""
    if numba_access.WAY != "internals" or not PACKAGING.is_file():
        pytest.skip("no compiled code can be kept")
    root = tmp_path_factory.mktemp("installed")
    leave = shutil.ignore_patterns("__pycache__", "ready_code")
    shutil.copytree(Path(mist.__file__).parent, root / "mist", ignore=leave)
    target = {"NUMBA_CPU_NAME": CPU, "NUMBA_CPU_FEATURES": FEATURES}
    first = start(root, "build", KEEP, str(PACKAGING), str(root / "mist" / "ready_code"), **target)
    assert "compiling mist.engine.random.share" in first.stderr
    return root


def start(root, cache, code, *arguments, **variables):
    """Run code in a new process that uses the copy and keeps what it compiles in ``cache``."""
    settings = {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(root / cache), **variables}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **settings},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.5 ")
    return done


def test_what_is_ready_is_not_compiled_and_not_written_again(installed):
    assert json.loads((installed / "mist" / "ready_code" / TARGET).read_text())[1] == CPU
    for _ in range(2):
        done = start(installed, "first", COMPILE)
        assert "compiling" not in done.stderr
        assert not list((installed / "first").rglob("*.nb?"))


def test_everything_is_compiled_where_nobody_wants_it(installed):
    done = start(installed, "own", COMPILE, MIST_READY_CODE="0")
    assert "compiling mist.engine.random.share" in done.stderr
    # Own code goes first.
    assert "compiling" not in start(installed, "own", COMPILE).stderr


def test_code_of_another_version_is_not_used(installed):
    source = installed / "mist" / "engine" / "arrays.py"
    text = source.read_text()
    try:
        source.write_text(f"{text}\n# A comment changes nothing.\n")
        assert "compiling" not in start(installed, "commented", COMPILE).stderr
        source.write_text(f"{text}\nONE_MORE = 1\n")
        assert re.search("compiling .*share", start(installed, "changed", COMPILE).stderr)
    finally:
        source.write_text(text)
