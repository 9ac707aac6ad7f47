"""Run the tests with the oldest and the newest versions of what the package stands on.

    python benchmarks/compatibility.py
    python benchmarks/compatibility.py --only oldest --full
    python benchmarks/compatibility.py --markdown matrix.md --keep /tmp/environments

Four environments are made: the lower bounds of ``pyproject.toml`` on the oldest Python that it
allows, the newest versions on that Python, the same without Numba's internals (``MIST_NUMBA`` is
``public``), and the newest versions on the newest Python found, on the PATH or under pyenv. The
newest Numba is the newest that is published, as there is no upper bound; that MIST can still use
its internals is what tests/engine/test_numba_access.py asks.

The environments are made by uv (``pip install uv``). Each gets the package as a user gets it,
installed and not editable, so that the environments share no compiled code. Tools of the tests are
the newest everywhere.

Without ``--full`` a part of the tests is run, chosen so that every function that is compiled is
compiled and every library that is imported is called: see `CHOSEN`. Without internals compiling
takes longer, and nothing changes but how functions are compiled: there it is always `COMPILING`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

HOME = Path(__file__).resolve().parent.parent
EXTRAS = ("frames", "kafka", "river", "zstd", "dask")
TOOLS = ("hypothesis", "pytest", "pytest-xdist")
SHOWN = ("numpy", "numba", "llvmlite", "scikit-learn", "scipy", "pandas")

COMPILING = {
    "tests/engine/test_numba_access.py": "which way Numba is used",
    "tests/classifier/test_fast_path.py": "handles and single rows, which know Numba from inside",
    "tests/classifier/test_mixture_leaves.py": "mixtures, the default leaves",
    "tests/classifier/test_wide_leaves.py": "leaves of low rank",
    "tests/classifier/test_candidate_splits.py": "splits on trial",
    "tests/classifier/test_merge.py": "forks and merging",
    "tests/classifier/test_open_world.py": "scores of novelty",
    "tests/classifier/test_forest.py": "forests, threads of joblib",
    "tests/engine/test_kll.py": "sketches and what is compiled of them",
    "tests/engine/test_precision.py": "sketches in single precision",
    "tests/persistence/test_format1.py": "files of models, of all kinds",
}
"""The tests of compiled code, and what for."""

CHOSEN = {
    **COMPILING,
    "tests/classifier/test_sklearn.py": "scikit-learn's checks of estimators",
    "tests/test_sklearn_tools.py": "pipelines, searches and calibration of scikit-learn",
    "tests/baselines/test_baseline_contract.py": "all baselines",
    "tests/preprocessing": "mixed columns",
    "tests/test_table_input.py": "pandas, polars and pyarrow",
    "tests/io": "files of all kinds, zstandard and Kafka among them",
    "tests/interop/test_river_adapter.py": "river",
    "tests/interop/test_dask.py": "Dask",
    "tests/plotting": "matplotlib",
    "tests/test_cli.py": "typer and rich",
    "tests/test_cli_inspect.py": "typer and rich",
    "tests/report/test_report_page.py": "jinja2",
}
"""The tests that are run, and what for."""


class Environment(NamedTuple):
    """What is installed for which Python."""

    name: str
    python: str
    oldest: bool
    internals: bool = True


class Outcome(NamedTuple):
    """What came of the tests in an environment."""

    environment: Environment
    versions: dict[str, str]
    counts: dict[str, int]
    failures: list[str]


def project() -> dict:
    """Return what pyproject.toml says of the project."""
    return tomllib.loads((HOME / "pyproject.toml").read_text())["project"]


def requirements(said: dict) -> list[Requirement]:
    """Everything that the package asks for, and its extras that are tested."""
    lines = [*said["dependencies"]]
    for extra in EXTRAS:
        lines += said["optional-dependencies"][extra]
    asked = map(Requirement, lines)
    return [r for r in asked if r.marker is None or r.marker.evaluate()]


def lower_bound(specifiers: SpecifierSet) -> Version:
    """The version after ``>=``."""
    return max(Version(s.version) for s in specifiers if s.operator == ">=")


def interpreters() -> Iterator[str]:
    """Name what may be a Python, on the PATH and under pyenv."""
    yield sys.executable
    for folder in os.get_exec_path():
        for file in sorted(Path(folder).glob("python3*")):
            if re.fullmatch(r"python3(\.\d+)?(\.exe)?", file.name):
                yield str(file)
    root = os.environ.get("PYENV_ROOT")
    if root is None and shutil.which("pyenv"):
        root = subprocess.run(
            ["pyenv", "root"], capture_output=True, text=True, check=False
        ).stdout.strip()
    for file in sorted(Path(root or os.devnull).glob("versions/*/bin/python3")):
        yield str(file)


def pythons(allowed: SpecifierSet) -> dict[str, str]:
    """Find interpreters by minor version, oldest first."""
    ask = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    found: dict[Version, str] = {}
    for python in interpreters():
        # A shim of pyenv may have no interpreter behind it.
        asked = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and Version(asked.stdout.strip()) in allowed:
            major, minor, _ = asked.stdout.strip().split(".")
            found.setdefault(Version(f"{major}.{minor}"), python)
    return {str(version): found[version] for version in sorted(found)}


def environments(allowed: SpecifierSet) -> list[Environment]:
    """Choose what is installed for which interpreter."""
    found = pythons(allowed)
    least = str(lower_bound(allowed))
    if least not in found:
        raise SystemExit(f"no Python {least} is on the PATH or under pyenv: install one")
    newest = list(found)[-1]
    made = [
        Environment("oldest", found[least], True),
        Environment("newest", found[least], False),
        Environment("public", found[least], False, internals=False),
    ]
    if newest != least:
        made.append(Environment(f"newest-{newest}", found[newest], False))
    return made


def call(command: Sequence[str | Path]) -> str:
    """Run a command and return what it prints; end with what it said if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def install(environment: Environment, folder: Path) -> Path:
    """Make an environment in a folder and return its Python."""
    uv = [sys.executable, "-m", "uv"]
    call([*uv, "venv", "--quiet", "--clear", "--python", environment.python, folder])
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [*uv, "pip", "install", "--quiet", "--python", python]
    resolution = "lowest-direct" if environment.oldest else "highest"
    package = f"{HOME}[{','.join(EXTRAS)}]"
    again = [f"--reinstall-package={name}" for name in ("mist-tree", "mist-tree-bench")]
    call([*pip, "--resolution", resolution, *again, package, HOME / "bench"])
    call([*pip, *TOOLS])
    return python


def above_bounds(found: dict[str, str]) -> list[str]:
    """Name what is newer than pyproject.toml says that it may be: such a bound was not tested."""
    bounds = {r.name: lower_bound(r.specifier) for r in requirements(project())}
    return [
        f"{name}>={bound} cannot be had along with the others: {found[name]} was installed"
        for name, bound in bounds.items()
        if Version(found[name]) != bound
    ]


def versions(python: Path) -> dict[str, str]:
    """Versions of Python and of what the package asks for."""
    ask = (
        "import platform, sys; from importlib.metadata import version\n"
        "print('Python', platform.python_version())\n"
        "for name in sys.argv[1:]: print(name, version(name))"
    )
    names = dict.fromkeys([*SHOWN, *(r.name for r in requirements(project()))])
    return dict(line.split() for line in call([python, "-c", ask, *names]).splitlines())


def test(
    python: Path, folder: Path, arguments: Sequence[str], internals: bool
) -> tuple[dict[str, int], list[str]]:
    """Run tests with a Python; returns how many there were of each outcome, and those that failed.

    What the environment of the caller says of the package is not passed on.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MIST_", "NUMBA_", "PYTHON"))
    }
    environment |= {} if internals else {"MIST_NUMBA": "public"}
    log = folder / "tests.log"
    with log.open("w") as file:
        code = subprocess.run(
            [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=HOME,
            env=environment,
            stdout=file,
            stderr=file,
            check=False,
        ).returncode
    lines = log.read_text().splitlines()
    found = re.findall(r"(\d+) (passed|failed|skipped|errors?|xfailed)", lines[-1] if lines else "")
    counts = {what.removesuffix("s"): int(number) for number, what in found}
    if code not in (0, 1) or not counts:
        raise SystemExit(f"pytest ended with {code}, see {log}")
    return counts, [line for line in lines if line.startswith(("FAILED", "ERROR"))]


def chosen(environment: Environment, full: bool) -> list[str]:
    """The tests that are run in an environment."""
    if not environment.internals:
        return list(COMPILING)
    return ["tests", "bench/tests"] if full else list(CHOSEN)


def table(outcomes: Sequence[Outcome]) -> str:
    """The matrix in markdown."""
    heading = ["environment", "Python", *SHOWN, "passed", "failed", "skipped"]
    rows = [
        [
            outcome.environment.name,
            *(outcome.versions[name] for name in ("Python", *SHOWN)),
            str(outcome.counts.get("passed", 0)),
            str(outcome.counts.get("failed", 0) + outcome.counts.get("error", 0)),
            str(outcome.counts.get("skipped", 0)),
        ]
        for outcome in outcomes
    ]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    ruled = [heading, ["-" * width for width in widths], *rows]
    lines = (" | ".join(map(str.ljust, row, widths)) for row in ruled)
    return "".join(f"| {line} |\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of environments, with commas between them")
    parser.add_argument("--full", action="store_true", help="run all tests")
    parser.add_argument("--workers", default="0", help="processes that test, or auto")
    parser.add_argument("--markdown", type=Path, help="file for the table")
    parser.add_argument("--keep", type=Path, help="folder for the environments and their logs")
    options = parser.parse_args()
    made = environments(SpecifierSet(project()["requires-python"]))
    if options.only:
        wanted = options.only.split(",")
        made = [environment for environment in made if environment.name in wanted]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name:
        for environment in made:
            folder = (options.keep or Path(name)) / environment.name
            print(f"{environment.name}: installing", flush=True)
            python = install(environment, folder)
            print(f"{environment.name}: testing", flush=True)
            given = ["-n", options.workers, *chosen(environment, options.full)]
            counts, failures = test(python, folder, given, environment.internals)
            found = versions(python)
            failures += above_bounds(found) if environment.oldest else []
            outcomes.append(Outcome(environment, found, counts, failures))
            print("\n".join(failures), flush=True)
    told = table(outcomes)
    print(told)
    if options.markdown:
        options.markdown.write_text(told)
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
