"""The pages of the documentation: their code runs, and their commands exist.

CONTRIBUTING.md says what the flags of code blocks mean. Links are checked by `make docs`.
"""

import doctest
import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from mist import plugins
from mist.cli import app

TOP = Path(__file__).parents[1]
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((TOP / "examples").glob("*.ipynb"))
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>\S[^\n`]*)\n(?P<body>.*?)^(?P=indent)``` *$", re.M | re.S
)
EXTRAS = {"capymoa", "confluent_kafka", "dask", "pandas", "polars", "pyarrow", "river"}
ALIKE = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    flags: list[str]
    body: str
    line: int
    """Number of its first line in the page."""
    follows: bool
    """Whether nothing but blank lines stands between it and the block before."""


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    blocks, end = [], 0
    for found in FENCE.finditer(text):
        language, *flags = found["info"].split()
        line = text.count("\n", 0, found.start("body")) + 1
        follows = bool(blocks) and not text[end : found.start()].strip()
        blocks.append(Block(language, flags, found["body"], line, follows))
        end = found.end()
    return blocks


def runs(block):
    if block.language == "python":
        return "no-run" not in block.flags
    return block.language == "console" and "run" in block.flags


def commands_of(block):
    """The calls of `mist` in a block, each as its list of arguments."""
    for line in block.body.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        call = []
        for word in [*lexer, "|"]:
            if set(word) <= set("();<>|&"):
                if call[:1] == ["mist"]:
                    yield call[1:]
                call = []
            else:
                call.append(word)


def named(pages):
    return pytest.mark.parametrize(
        "page", pages, ids=[page.relative_to(TOP).as_posix() for page in pages]
    )


def execute(source, name, line, names):
    """Run Python source as part of a file; returns what it printed."""
    code = compile("\n" * (line - 1) + source, name, "exec")
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            exec(code, names)
    except ImportError as error:
        lacking = next((extra for extra in EXTRAS if extra in str(error)), None)
        if lacking is None:
            raise
        pytest.skip(f"{lacking} is not installed")
    return out.getvalue()


def call(arguments):
    """Run the command `mist`; returns what it printed."""
    out = io.StringIO()
    with redirect_stdout(out):
        typer.main.get_command(app).main(arguments, prog_name="mist", standalone_mode=False)
    return out.getvalue()


def whole_command():
    """`mist` with the commands of installed packages in place of what forwards to them."""
    command = typer.main.get_command(app)
    added = plugins.added("commands")
    command.commands |= {k: typer.main.get_command(each.load()) for k, each in added.items()}
    return command


def check(wanted, got, where):
    assert doctest.OutputChecker().check_output(wanted, got, ALIKE), (
        f"{where} prints\n{got}\nand the page says\n{wanted}"
    )


@named([page for page in PAGES if any(map(runs, blocks_of(page)))])
def test_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "100")
    names, printed = {"__name__": "__page__"}, None
    for block in blocks_of(page):
        where = f"{page.relative_to(TOP)}:{block.line}"
        if runs(block):
            if block.language == "python":
                printed = execute(block.body, str(page), block.line, names)
            else:
                printed = "".join(call(arguments) for arguments in commands_of(block))
        elif block.language == "text" and block.follows and printed is not None:
            check(block.body, printed, where)
            printed = None
        else:
            printed = None


@named([page for page in PAGES if any(b.language == "console" for b in blocks_of(page))])
def test_commands_of_a_page_exist_and_have_its_options(page):
    def inert(command):
        command.callback = lambda **_: None
        for part in getattr(command, "commands", {}).values():
            inert(part)

    command = whole_command()
    inert(command)
    for block in blocks_of(page):
        if block.language == "console":
            for arguments in commands_of(block):
                command.main(arguments, prog_name="mist", standalone_mode=False)


def test_options_on_the_page_of_the_command_line_exist():
    def options(command):
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)
        for part in getattr(command, "commands", {}).values():
            yield from options(part)

    told = re.findall(r"`(--[a-z-]+)", (TOP / "docs/cli.md").read_text(encoding="utf-8"))
    assert len(told) > 10
    assert set(told) <= {*options(whole_command()), "--help"}


def test_all_pages_are_in_the_menu():
    menu = (TOP / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(TOP / "docs").as_posix() for page in PAGES[2:]]
    assert [page for page in pages if f" {page}\n" not in menu] == []


@named(NOTEBOOKS)
def test_notebook_runs_and_prints_what_it_holds(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    script = page.with_suffix(".py").read_text(encoding="utf-8")
    names = {"__name__": "__notebook__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            where = f"{page.name}, cell {number}"
            assert "".join(cell["source"]) in script, f"{where} is not that of the script"
            printed = execute("".join(cell["source"]), where, 1, names)
            held = [out["text"] for out in cell["outputs"] if out.get("name") == "stdout"]
            check("".join(text for part in held for text in part), printed, where)
