"""What installed packages add, and what is said where the package of the benchmark is not."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from typer.testing import CliRunner

import mist
from mist import plugins
from mist.cli import app
from mist.datasets import load
from mist.datasets.catalogue import all_entries, generated
from mist.persistence import class_paths
from mist_bench.baselines import PEC

ENTRIES = (generated("two", "mist.datasets:make_multimodal", "two classes", 2, 10),)
HINT = "pip install 'mist-tree[bench]' (in a checkout: pip install ./bench)"


class Own:
    """A class that an entry point of the tests names."""


@pytest.fixture
def alone(monkeypatch):
    """No package adds anything."""
    monkeypatch.setattr(plugins, "added", lambda group: {})


@pytest.fixture
def together(monkeypatch):
    """A package adds a data set and a class."""
    values = {"datasets": "test_plugins:ENTRIES", "classes": "test_plugins:Own"}
    points = {
        group: {"Own": EntryPoint("Own", value, f"mist.{group}")} for group, value in values.items()
    }
    monkeypatch.setattr(plugins, "added", lambda group: points.get(group, {}))


def run(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("name", ["bench", "paper"])
@pytest.mark.parametrize("arguments", [[], ["--help"], ["--suite", "quick", "-x"]])
def test_a_command_that_is_not_installed_says_how_to_get_it(alone, name, arguments):
    done = run(name, *arguments)
    assert done.exit_code == 2
    assert done.stderr == f"error: mist {name} is in a package of its own: {HINT}\n"
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["bench", "paper"])
def test_a_command_that_is_installed_has_its_own_options(name):
    done = run(name, "--help")
    assert done.exit_code == 0
    assert "--retry-failed" in done.stdout
    done = run(name, "--nonsense")
    assert done.exit_code == 2
    assert "--nonsense" in done.stderr


def test_help_names_the_commands_and_imports_no_package():
    code = (
        "import sys; sys.argv = ['mist', '--help']\n"
        "from mist.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*[n for n in sys.modules if n.startswith('mist_')], 'end')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " bench " in done.stdout
    assert " paper " in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["end"]


def test_a_package_adds_a_data_set(together):
    assert list(all_entries())[-1] == "two"
    assert load("two", rows=30).X.shape == (30, 10)
    assert "\ntwo " in run("data", "list").stdout
    assert "two classes" in run("data", "info", "two").stdout


def test_a_set_that_no_package_adds(alone):
    assert "ring" not in all_entries()
    with pytest.raises(ValueError, match=r"no data set called 'ring': .* pip install 'mist-tree"):
        load("ring")


def test_a_package_adds_a_class_of_files(together):
    assert class_paths.class_of("Own") is Own
    assert class_paths.name_of(Own) == "Own"
    with pytest.raises(ValueError, match="is the name of another class"):
        class_paths.register(type("Other", (), {}), "Own")


def test_a_file_of_a_class_that_moved_says_what_to_install(tmp_path, monkeypatch):
    model = PEC(width=2, teacher_width=4, n_outputs=3).fit([[0.0], [1.0]], [0, 1])
    model.save(tmp_path / "pec.mist")
    assert type(mist.load(tmp_path / "pec.mist")) is PEC
    monkeypatch.setattr(plugins, "added", lambda group: {})
    with pytest.raises(ValueError, match=r"'PEC' is an unknown type: pip install"):
        mist.load(tmp_path / "pec.mist")
    with pytest.raises(ValueError, match="is the name of another class"):
        class_paths.register(type("PEC", (), {}))
