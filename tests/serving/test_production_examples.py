"""The unit and the container file in examples/production: real options, and paths that agree."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
import typer

from mist.cli import app
from mist.commands.serve_options import ServeOptions
from mist.streaming import read_rules

TOP = Path(__file__).parents[2]
FOLDER = TOP / "examples" / "production"
UNIT, CONTAINER = FOLDER / "mist-serve.service", FOLDER / "Containerfile"
PAGE = (TOP / "docs" / "how-to" / "production.md").read_text(encoding="utf-8")


def options_of(arguments):
    """Options of a command line after ``mist``, read by the real parser."""
    group = typer.main.get_command(app)
    with group.make_context("mist", list(arguments), resilient_parsing=True) as context:
        _, command, rest = group.resolve_command(context, list(arguments))
    assert command.name == "serve"
    return ServeOptions(**command.make_context("serve", rest).params)


def unit():
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.read_text().replace("\\\n", " "))
    return parser


def instructions():
    """Instructions of the container file with their arguments, in their order."""
    lines = [line for line in CONTAINER.read_text().splitlines() if not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def one(name):
    (found,) = [argument for instruction, argument in instructions() if instruction == name]
    return found


def is_below(path, folder):
    return PurePosixPath(folder) in PurePosixPath(path).parents


def check_options(options, written):
    """Paths that are written are in the folder that lasts; the rules are those of the example."""
    assert options.durable
    assert options.keep_versions > 1
    assert options.new is not None
    for path in (options.model, options.events, options.folder):
        assert is_below(path, written), path
    assert str(options.alarms) == "/etc/mist/alarms.toml"
    read_rules(FOLDER / options.alarms.name)


def test_the_unit_starts_a_command_that_exists_and_may_write_where_it_does():
    service = unit()["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert program == "/opt/mist/bin/mist"
    check_options(options_of(arguments), f"/var/lib/{service['StateDirectory']}")
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    environment = dict(pair.split("=") for pair in service["Environment"].split())
    assert environment["NUMBA_CACHE_DIR"] == f"/var/cache/{service['CacheDirectory']}"
    assert service["ProtectSystem"] == "strict"
    assert options_of(arguments).host == "127.0.0.1"


def test_an_option_that_does_not_exist_is_found():
    arguments = shlex.split(unit()["Service"]["ExecStart"])[1:]
    with pytest.raises(Exception, match="No such option"):
        options_of([*arguments, "--keep-version", "5"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_unit(tmp_path):
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/mist/bin/mist serve", "/bin/true serve"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (
        0,
        [],
    )


def test_the_container_starts_a_command_that_exists_and_writes_into_its_volume():
    program, *arguments = json.loads(one("ENTRYPOINT")) + json.loads(one("CMD"))
    assert program == "mist"
    options = options_of(arguments)
    (volume,) = json.loads(one("VOLUME"))
    check_options(options, volume)
    assert one("WORKDIR") == volume
    assert int(one("EXPOSE")) == options.port
    assert options.host == "0.0.0.0"
    assert options.token is not None, "who reaches the port needs the token"
    health = json.loads(one("HEALTHCHECK").partition("CMD ")[2])
    assert str(options.token) in health[2]
    assert f":{options.port}/health" in health[2]
    compile(health[2], "health check", "exec")
    assert one("COPY") == f"alarms.toml {options.alarms}"
    assert (FOLDER / "alarms.toml").is_file()


def test_the_container_file_is_plain():
    found = instructions()
    names = [name for name, _ in found]
    known = {"FROM", "ARG", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE"}
    assert set(names) == {*known, "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim", one("FROM"))
    assert one("USER") == "mist"
    assert names.index("USER") < names.index("VOLUME") < names.index("ENTRYPOINT")
    runs = [argument for name, argument in found if name == "RUN"]
    assert "pip install --no-cache-dir" in runs[0]
    assert "NUMBA_CACHE_DIR=/var/cache/mist" in one("ENV")
    assert "/var/cache/mist" in runs[0]


def test_what_the_container_compiles_is_what_a_row_needs():
    code = json.loads([argument for name, argument in instructions() if name == "RUN"][1])[2]
    names = {}
    exec(compile(code, str(CONTAINER), "exec"), names)
    assert names["m"].model_.n_rows_ == 300


def test_the_page_shows_and_names_the_files():
    (rules,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert rules == (FOLDER / "alarms.toml").read_text()
    (part,) = re.findall(r"^```ini\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert set(part.splitlines()) <= set(UNIT.read_text().splitlines())
    for path in (UNIT, CONTAINER, FOLDER / "alarms.toml"):
        assert f"examples/production/{path.name}" in PAGE
