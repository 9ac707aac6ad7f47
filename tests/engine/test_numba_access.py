"""Numba's internals: in one file, and not needed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import numba_ways
from mist.engine import numba_access

ROOT = Path(__file__).parents[2]
FOLDERS = [folder for folder in (ROOT / "src", ROOT / "bench" / "src") if folder.is_dir()]
INTERNALS = "numba_internals.py"
ALLOWED = {
    "numba": {"config", "njit", "typeof", "types"},
    "numba.extending": {"overload", "typeof_impl"},
}
"""Documented names."""

DISPATCHERS = {"py_func", "signatures", "stats"}
"""Documented attributes of compiled functions."""

UNDOCUMENTED = {
    *("_cache", "_compiler", "_numba_type_", "_nrt", "enable_caching", "fndesc", "forceinline"),
    *("no_cfunc_wrapper", "no_cpython_wrapper", "nopython_signatures", "overloads"),
    *("pipeline_class", "targetctx", "targetdescr", "typingctx"),
}
"""Attributes and options of them that are not."""


def undocumented(source: str) -> Iterator[str]:
    """What a source uses of Numba that Numba does not document."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (n.name for n in node.names if n.name.partition(".")[0] == "numba")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            allowed = ALLOWED.get(node.module or "", set())
            yield from (f"{node.module}.{n.name}" for n in node.names if n.name not in allowed)
        elif isinstance(node, ast.Attribute) and node.attr in UNDOCUMENTED:
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg in UNDOCUMENTED:
            yield node.arg or ""
        elif isinstance(node, ast.Constant) and node.value in UNDOCUMENTED:
            yield node.value


def test_only_one_file_uses_what_numba_does_not_document():
    found = {
        file.name: names
        for folder in FOLDERS
        for file in folder.rglob("*.py")
        if (names := set(undocumented(file.read_text())))
    }
    assert set(found) == {INTERNALS}
    assert {"numba._dynfunc.make_function", "_cache", "_nrt"} <= found[INTERNALS]


@pytest.mark.parametrize(
    "source",
    [
        "import numba.core.types",
        "import numba",
        "from numba.core import cgutils",
        "from numba import core",
        "from numba.extending import intrinsic",
        "f.overloads",
        "njit(_nrt=False)",
        "options = {'forceinline': True}",
    ],
)
def test_all_such_uses_are_seen(source):
    assert list(undocumented(source))


def answer(code: str, *arguments: str, **variables: str) -> list[str]:
    """Words that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


CHOSEN = """
from mist.engine.numba_access import WAY, WHY, internals
print(WAY, internals is not None, "mist.engine.numba_internals" in sys.modules, WHY)
"""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        # A name that is gone, one that takes other arguments, another layout, other events.
        ("sys.modules['numba._dynfunc'] = None", "numba._dynfunc"),
        ("numba.core.cgutils.unpack_tuple = lambda tuple: ()", "positional argument"),
        ("BaseContext.get_abi_sizeof = lambda self, kind: None", "NoneType"),
        ("BaseContext.pack_value = lambda self, b, ty, value, ptr, align=None: None", "values"),
        ("numba.core.event.broadcast = lambda event: None", "compilations"),
    ],
)
def test_a_numba_that_has_changed_is_used_through_its_public_interface(change, why, tmp_path):
    start = f"import sys, numba\nfrom numba.core.base import BaseContext\n{change}\n"
    # What `check` compiled with another Numba must not be found.
    way, used, _, *reason = answer(start + CHOSEN, NUMBA_CACHE_DIR=str(tmp_path), MIST_NUMBA="")
    assert (way, used) == ("public", "False")
    assert why in " ".join(reason)


def test_without_compiled_code_nothing_of_it_is_imported():
    found = answer("import sys\n" + CHOSEN, NUMBA_DISABLE_JIT="1", MIST_NUMBA="")
    assert found[:3] == ["python", "False", "False"]


def test_internals_are_used_where_they_can_be():
    found = answer("import sys\n" + CHOSEN, NUMBA_DISABLE_JIT="0", MIST_NUMBA="internals")
    assert found == ["internals", "True", "True"]


@pytest.mark.skipif(not numba_access.COMPILES, reason="nothing is compiled")
def test_what_fails_is_told_where_internals_are_asked_for(monkeypatch):
    def fail(digest):
        raise AttributeError("no such name")

    monkeypatch.setattr("mist.engine.numba_internals.check", fail)
    assert numba_access._choose("") == ("public", None, "AttributeError: no such name")
    with pytest.raises(AttributeError, match="no such name"):
        numba_access._choose("internals")


def test_other_ways_are_refused():
    with pytest.raises(ValueError, match="MIST_NUMBA must be public, internals or empty, but is"):
        numba_access._choose("private")


@pytest.mark.skipif(numba_access.WAY != "internals", reason="there is nothing to compare with")
def test_without_internals_results_and_files_are_the_same():
    script = Path(numba_ways.__file__).read_text()
    found = answer(script, *numba_ways.MODELS, MIST_NUMBA="public")
    assert found[0] == "public"
    assert found[1:] == [numba_ways.outcome(name) for name in numba_ways.MODELS]
