"""What files and names of strangers can do: nothing."""

import ast
import json
import os
import stat
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress
from typer.testing import CliRunner

import mist
from mist import MistClassifier
from mist.cli import app
from mist.commands import output
from mist.commands.screen import Screen
from mist.files import replacing, write_text
from mist.texts import printable
from outline import assert_self_contained

SOURCES = [Path(mist.__file__).parents[1], Path(__file__).parents[1] / "bench" / "src"]

# --- the sources ---------------------------------------------------------------------------------

MODULES = {
    *("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "jsonpickle"),
    *("yaml", "code", "codeop", "runpy"),
}
"""Modules that run what they read, or are there for it."""

CALLS = {
    *("eval", "exec", "compile", "__import__", "execfile"),
    *("os.system", "os.popen", "tempfile.mktemp", "joblib.load", "torch.load", "read_pickle"),
    *("extractall", "unpack_archive", "from_pickle"),
}
"""Calls that run texts, read objects, make files at names that can be foreseen, or unpack files
wherever an archive says."""

IMPORTS = {
    "mist/persistence/class_paths.py": "the closed list of classes a file may hold",
    "mist/datasets/generated.py": "the generator that an entry of the catalogue names",
    "mist_bench/record.py": "a function of a plan that this process made; no record is ever called",
    "mist_bench/suites.py": "the generator that a suite names",
}
"""Where modules are imported by names that are not written out there, and why no file names them.
Packages whose names load on first use have closed lists, too."""


def dotted(node):
    """The name of what is called, without what it belongs to if that is no name."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def offences(text, where):
    """What a source does that could run or unpack what a file holds."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
        found += [f"{where}: import {n}" for n in names if n.split(".")[0] in MODULES]
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        keywords = {k.arg: getattr(k.value, "value", ...) for k in node.keywords}
        last = name.rpartition(".")[2]
        if name in CALLS or (last in CALLS and name not in ("re.compile", "ast.compile")):
            if not (last == "compile" and name != "compile"):
                found.append(f"{where}: {name}()")
        elif name in ("np.load", "numpy.load") and keywords.get("allow_pickle") is not False:
            found.append(f"{where}: {name}() may unpickle")
        elif keywords.get("allow_pickle") not in (None, False):
            found.append(f"{where}: {name}() unpickles")
        elif keywords.get("shell") not in (None, False):
            found.append(f"{where}: {name}() runs a shell")
        elif last == "import_module":
            known = where in IMPORTS or where.endswith("__init__.py")
            if not known and not isinstance(node.args[0], ast.Constant):
                found.append(f"{where}: imports any name")
    return found


def test_no_source_can_run_what_a_file_holds():
    sources = [(file, top) for top in SOURCES for file in sorted(top.rglob("*.py"))]
    assert len(sources) > 200
    found = [
        offence
        for file, top in sources
        for offence in offences(file.read_text(encoding="utf-8"), file.relative_to(top).as_posix())
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from cloudpickle import loads",
        "import yaml",
        "eval(x)",
        "exec(x)",
        "compile(x, '', 'exec')",
        "__import__(x)",
        "os.system(x)",
        "joblib.load(x)",
        "pd.read_pickle(x)",
        "np.load(x)",
        "np.load(x, allow_pickle=True)",
        "np.load(x, allow_pickle=flag)",
        "np.lib.format.read_array(x, allow_pickle=True)",
        "archive.extractall(x)",
        "shutil.unpack_archive(x)",
        "tempfile.mktemp()",
        "subprocess.run(x, shell=True)",
        "importlib.import_module(x)",
    ],
)
def test_the_walk_over_the_sources_finds(text):
    assert offences(text, "io/x.py") != []


@pytest.mark.parametrize(
    "text",
    ["re.compile(x)", "np.load(x, allow_pickle=False)", "json.load(x)", "import_module('json')"],
)
def test_the_walk_over_the_sources_lets_pass(text):
    assert offences(text, "io/x.py") == []


# --- files that are written ----------------------------------------------------------------------


@pytest.fixture
def foreseen(monkeypatch):
    """A name beside a file, as if somebody could foresee it."""
    monkeypatch.setattr("mist.files.uuid4", lambda: type("Foreseen", (), {"hex": "0"}))
    return f".model.mist-{os.getpid()}-0.part"


def test_nothing_is_written_through_a_link_that_lies_in_wait(tmp_path, foreseen):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / foreseen
    link.symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "model.mist", "text")
    assert victim.read_text() == "precious"
    # It is not ours to be removed.
    assert link.is_symlink()
    assert not (tmp_path / "model.mist").exists()


def test_a_dangling_link_is_not_followed(tmp_path, foreseen):
    (tmp_path / foreseen).symlink_to(tmp_path / "new")
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "model.mist", "text")
    assert not (tmp_path / "new").exists()


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "model.mist"
    victim.write_text("precious")
    path.symlink_to(victim)
    write_text(path, "text")
    assert victim.read_text() == "precious"
    assert not path.is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o007, 0o660)])
def test_nobody_may_do_more_with_a_file_half_written_than_with_others(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "model.mist") as file:
            half = Path(file.name)
            assert stat.S_IMODE(half.stat().st_mode) == mode
            file.write(b"text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.mist").stat().st_mode) == mode


# --- names that are shown ------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=1>',
    "[/red]",
    "[bold]",
    "[link=http://a]b",
    ":warning:",
    "a\x1b[2Jb",
    "a\u202eb",
    "\x9b31m",
    "$\\frac{1$",
    "{{ 7 * 7 }}",
]


def commands(text):
    """Characters that would command a terminal, line ends apart."""
    return {c for c in text if c != "\n" and not c.isprintable()}


def shown(show, terminal=False):
    """What a console gets, without its own colours."""
    file = StringIO()
    show(Screen(file=file, width=400, force_terminal=terminal, color_system=None))
    return file.getvalue()


@pytest.mark.parametrize("name", NASTY)
def test_a_console_prints_names_as_they_are_and_escapes_the_rest(name):
    from rich.table import Table

    def show(console):
        table = Table(name, "other")
        table.add_row(name, "")
        console.print(table)
        console.print(name)
        console.print(f"{name}\n{name}", soft_wrap=True)
        output.print_facts(console, [(name, name)])
        output.print_path(console, "Report", Path(name.replace("/", "-")))

    text = shown(show)
    assert commands(text) == set()
    assert text.count(printable(name)) >= 7


@pytest.mark.parametrize("name", NASTY)
def test_a_bar_is_called_what_it_is(name, monkeypatch):
    file = StringIO()
    screen = Screen(file=file, width=400, force_terminal=True, color_system=None)
    monkeypatch.setattr(output, "Screen", lambda **options: screen)
    bar = output.make_progress()
    assert isinstance(bar, Progress)
    with bar:
        bar.update(bar.add_task(name, total=1.0, note=name), completed=1.0)
    assert file.getvalue().count(printable(name)) >= 2
    assert printable(name) == name or name not in file.getvalue()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run over a file whose name, columns and classes are all nasty, and what was printed."""
    folder = tmp_path_factory.mktemp("nasty")
    rng = np.random.default_rng(0)
    rows = [
        {
            "<b>[/]": float(rng.normal(3 * k)),
            "x\x1b[2J": NASTY[k - 1],
            "$\\alpha": float(rng.normal()),
            "[red]y": NASTY[k],
        }
        for k in np.repeat(np.arange(len(NASTY)), 40).tolist()
    ]
    file = folder / "[bold]<i>\x1b[2J.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["run", file, "--target", "[red]y", "--model", "mist-g"]
    command += ["--report", folder / "r.html", "--save", folder / "m.mist"]
    outcome = CliRunner().invoke(app, [str(part) for part in command])
    assert outcome.exit_code == 0, outcome.output
    return folder, outcome.output


def test_a_run_prints_no_control_character(ran):
    assert commands(ran[1]) == set()
    assert "[bold]<i>" in ran[1]


def test_a_report_holds_names_as_texts(ran):
    page = (ran[0] / "r.html").read_text()
    assert_self_contained(page)
    assert "<img" not in page
    assert "[bold]&lt;i&gt;" in page
    assert commands(page) == set()


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "m.mist", "--tree"],
        ["inspect", "m.mist", "--json"],
        ["explain", "m.mist", "--row", '{"<b>[/]": 1.0, "$\\\\alpha": 2.0}'],
        ["explain", "m.mist", "--row", '{"a\\u001b": 1.0}'],
        ["predict", "m.mist", "\x1b[2J.csv"],
        ["run", "\x1b[2J.csv", "--target", "y"],
        ["run", "other.csv", "--target", "\x1b[2J"],
    ],
)
def test_no_command_prints_a_control_character(ran, command, monkeypatch):
    monkeypatch.chdir(ran[0])
    Path("other.csv").write_text("\x1b[31m,\x07\n1,2\n")
    outcome = CliRunner().invoke(app, command)
    assert commands(outcome.output) == set()
    assert outcome.exit_code in (0, 2)
    assert outcome.output != ""


def test_drawings_and_texts_of_a_tree_hold_no_control_character(ran):
    from mist.inspection import export_graphviz

    model = mist.load(ran[0] / "m.mist")
    dot = export_graphviz(model)
    assert commands(dot) == set()
    assert commands(model.export_text()) == set()
    explanation = model.explain({"<b>[/]": 1.0})
    assert commands(str(explanation)) == set()
    page = explanation._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert commands(page) == set()


def test_labels_of_a_model_in_a_notebook_are_texts():
    model = MistClassifier(random_state=3).fit([[0.0], [9.0]], NASTY[:2])
    assert "<script>alert" not in model._repr_html_()
