"""Imports go in one direction: no file imports itself by way of others, or a higher layer.

All imports count: at the top of a file, for types only, and inside functions. Modules that are
named in strings and loaded by `importlib` do not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import mist.engine

ROOT = Path(__file__).parent.parent
FOLDERS = [folder for folder in (ROOT / "src", ROOT / "bench" / "src") if folder.is_dir()]

LAYERS: Mapping[str, Sequence[str]] = {
    "helpers": (
        *(
            "mist._version",
            "mist.archives",
            "mist.cells",
            "mist.files",
            "mist.folder_lock",
            "mist.locking",
            "mist.labels",
        ),
        *("mist.impurity", "mist.limits", "mist.onehot", "mist.plugins", "mist.settings"),
        *("mist.sparse_rows", "mist.tables", "mist.texts", "mist.threads", "mist.variants"),
        *("mist.tree_options", "mist.flat_settings", "mist.option_refusals"),
    ),
    "engine": ("mist.engine",),
    "adaptation": ("mist.adaptation",),
    "core": (
        *(
            "mist.decision",
            "mist.fitted",
            "mist.memory_budget",
            "mist.merge_checks",
            "mist.options",
            "mist.pooling",
            "mist.relabelling",
            "mist.rows",
        ),
        *("mist.fast_path", "mist.following_path"),
    ),
    "style of drawings": ("mist.plotting.theme", "mist.plotting.text_layout"),
    "inspection": ("mist.inspection",),
    "persistence": ("mist.persistence",),
    "base of estimators": ("mist.estimator",),
    "baselines": ("mist.baselines",),
    "trees": (
        "mist.verbs",
        "mist.classifier",
        "mist.random_feature_head",
        "mist.restarted_trees",
        "mist.forest",
        "mist.replay",
        "mist.replay_forest",
        "mist.quantile_sketch",
    ),
    "preprocessing": ("mist.preprocessing",),
    "streaming": ("mist.streaming",),
    "presets": ("mist.presets",),
    "evaluation": ("mist.evaluation",),
    "data": ("mist.datasets", "mist.io"),
    "other libraries": ("mist.interop",),
    "plotting": ("mist.plotting",),
    "report": ("mist.report",),
    "runs over streams": ("mist.streaming.runs",),
    "serving": ("mist.serving",),
    "commands": ("mist.commands",),
    "command line": ("mist.cli", "mist.__main__"),
    "public names": ("mist",),
    "benchmark": ("mist_bench",),
    "paper": ("mist_paper",),
    "their commands": (
        *("mist_bench.cli", "mist_bench.command", "mist_paper.cli", "mist_paper.command"),
        "mist_bench.capymoa_rivals",
    ),
}
"""From bottom to top, packages and modules; the longest name that fits a module counts."""

ROOTS = ("mist", "tiny")
"""Packages of which the list of layers names every part: alone, the name is that of one file."""


def is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def modules_in(folders: Sequence[Path]) -> dict[str, Path]:
    """Files by the names of their modules."""
    found = {}
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported_by(module: str, file: Path) -> Iterator[tuple[str, str]]:
    """What each import of a file names: a module, and what is taken from it or an empty text."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((source, alias.name) for alias in node.names)


def graph_of(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """The modules that each module imports, of those that are given."""
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        named = imported_by(module, file)
        targets = {f"{a}.{b}" if f"{a}.{b}" in files else a for a, b in named}
        graph[module] = (targets & files.keys()) - {module}
    return graph


def cycle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules each of which imports the next, the first and the last the same; empty if none."""
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            for target in sorted(graph[module]):
                found = search(target, [*path, module])
                if found:
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := search(module, []))), [])


def layer_of(module: str, layers: Mapping[str, Sequence[str]]) -> str | None:
    """Layer of a module, None if it has none."""
    layer = {name: layer for layer, names in layers.items() for name in names}
    name = module
    while name not in layer and "." in name:
        name = name.rpartition(".")[0]
    return None if name in ROOTS and name != module else layer.get(name)


def upward(graph: Mapping[str, set[str]], layers: Mapping[str, Sequence[str]]) -> list[str]:
    """Imports of a higher layer."""
    heights = {layer: height for height, layer in enumerate(layers)}
    at = {module: layer_of(module, layers) for module in graph}
    return [
        f"{module} ({at[module]}) imports {target} ({at[target]})"
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if heights.get(at[target] or "", -1) > heights.get(at[module] or "", len(heights))
    ]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return graph_of(modules_in(FOLDERS))


def test_no_file_imports_itself_by_way_of_others(graph):
    assert " -> ".join(cycle_in(graph)) == ""


def test_no_file_imports_a_higher_layer(graph):
    assert upward(graph, LAYERS) == []


def test_every_module_belongs_to_a_layer(graph):
    assert [module for module in graph if layer_of(module, LAYERS) is None] == []


def test_no_file_of_the_package_imports_its_root(graph):
    # The root loads everything on demand, so it is above all files.
    assert [m for m, targets in graph.items() if is_in(m, "mist") and "mist" in targets] == []


def test_the_engine_lists_its_modules_from_bottom_to_top(graph):
    listed = re.findall(r"^``(\w+)``", mist.engine.__doc__, re.MULTILINE)
    place = {name: place for place, name in enumerate(listed)}

    def name_of(module: str) -> str:
        return module.split(".")[2]

    inside = {m: targets for m, targets in graph.items() if m.startswith("mist.engine.")}
    assert set(listed) == {name_of(module) for module in inside}
    for module, targets in inside.items():
        for target in targets & inside.keys():
            assert place[name_of(target)] <= place[name_of(module)], (module, target)


# --- the checks themselves, on a package that is made up ---------------------------------------

TINY = {"ground": ("tiny.base", "tiny.deep"), "roof": ("tiny.roof",), "sky": ("tiny",)}


def tiny(folder: Path, **files: str) -> dict[str, set[str]]:
    """The graph of a package with these files; `__` in a name stands for a folder."""
    for name, text in {"__init__": "", "base": "", "roof": "", **files}.items():
        path = folder / "tiny" / f"{name if name == '__init__' else name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return graph_of(modules_in([folder]))


def test_a_valid_package_passes(tmp_path):
    graph = tiny(tmp_path, roof="import math\nfrom tiny.base import x\n", deep__one="")
    assert graph["tiny.roof"] == {"tiny.base"}
    assert cycle_in(graph) == upward(graph, TINY) == []
    assert {module: layer_of(module, TINY) for module in graph} == {
        "tiny": "sky",
        "tiny.base": "ground",
        "tiny.deep": "ground",
        "tiny.deep.one": "ground",
        "tiny.roof": "roof",
    }
    assert layer_of("tiny.cellar", TINY) is None
    assert layer_of("tiny.basement", TINY) is None


@pytest.mark.parametrize(
    "text",
    [
        "import tiny.roof",
        "import tiny.roof as roof",
        "from tiny.roof import x",
        "from tiny import roof",
        "from . import roof",
        "from .roof import x",
        "def f():\n    from tiny.roof import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tiny.roof import x",
        "try:\n    import tiny.roof\nexcept ImportError:\n    pass",
    ],
)
def test_every_way_to_import_is_seen(text, tmp_path):
    graph = tiny(tmp_path, base=text, roof="from tiny.base import x")
    assert graph["tiny.base"] == {"tiny.roof"}
    assert cycle_in(graph) == ["tiny.base", "tiny.roof", "tiny.base"]
    assert upward(graph, TINY) == ["tiny.base (ground) imports tiny.roof (roof)"]


def test_imports_relative_to_a_folder_are_seen(tmp_path):
    inner = "from .two import x\nfrom ..roof import y\nfrom .. import base\nfrom . import z\n"
    graph = tiny(tmp_path, deep__one=inner, deep__two="")
    assert graph["tiny.deep.one"] == {"tiny.deep.two", "tiny.roof", "tiny.base", "tiny.deep"}
    assert upward(graph, TINY) == ["tiny.deep.one (ground) imports tiny.roof (roof)"]


def test_the_whole_cycle_is_named(tmp_path):
    graph = tiny(tmp_path, a="import tiny.b", b="import tiny.c", c="import tiny.b", roof="")
    assert cycle_in(graph) == ["tiny.b", "tiny.c", "tiny.b"]
    assert "tiny" in tiny(tmp_path, base="from tiny import version")["tiny.base"]
