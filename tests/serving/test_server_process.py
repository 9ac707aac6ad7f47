"""The command in a process of its own: load, kills, stops and what it refuses."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import mist
from mist import MistClassifier
from mist.baselines import NCM
from mist.cli import app
from mist.persistence import Store
from mist.serving.folder import StateFolder

pytest.importorskip("starlette", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")

import serve_kills
import serve_load

needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


def test_clients_at_once_all_get_an_answer():
    found = serve_load.load("mist-g", 10.0, 8, ["--durable"])
    assert found.failed == 0
    assert len(found.predict) > 5 * len(found.learn) > 50
    assert found.accuracy > 0.7


@needs_kill
@pytest.mark.parametrize("clients", [1, 3])
def test_kills_lose_and_repeat_nothing(clients, capsys):
    assert serve_kills.torment("mist-g", 3, clients, seed=clients, longest=6.0, damage=0.5) == []
    assert "3 kills" in capsys.readouterr().out


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.mist"
    MistClassifier.paper().learn_many({"a": [0.0, 9.0]}, ["x", "y"]).save(path)
    return path


def running(model, port, *options):
    command = [sys.executable, "-m", "mist.cli", "serve", str(model), "--port", str(port), *options]
    log = model.with_suffix(".log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log)


def test_a_stop_writes_a_checkpoint_that_mist_loads(model, tmp_path):
    before, port = model.read_bytes(), serve_load.free_port()
    server = running(model, port)
    assert serve_load.wait_healthy(server, port), model.with_suffix(".log").read_text()
    serve_load.client_start(port)
    second = running(model, serve_load.free_port())
    assert second.wait(60) == 2
    assert "in use by mist serve" in model.with_suffix(".log").read_text()
    server.send_signal(signal.SIGTERM)
    server.wait(60)
    assert model.read_bytes() == before
    saved = Store(tmp_path / "model.mist.state").load()
    assert saved.n_rows_ == 2002
    server = running(model, port)
    assert serve_load.wait_healthy(server, port)
    report = serve_load.get_json(port, "/model")
    assert report["rows"] == 2002
    version = report["version"]
    assert (version["number"], version["parent"], version["rows"]) == (2, 1, 2002)
    assert version["accuracy"] == report["figures"]["accuracy"]
    server.terminate()
    server.wait(60)


def refused(*arguments):
    outcome = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert outcome.exit_code == 2, outcome.output
    (line,) = [each for each in outcome.stderr.splitlines() if each.startswith("error: ")]
    return line


def test_what_is_refused_at_the_start(model, tmp_path):
    assert "--new mist" in refused(tmp_path / "absent.mist")
    assert "no model called 'tree'" in refused(tmp_path / "absent.mist", "--new", "tree")
    (tmp_path / "token").write_text("short")
    assert "at least 16" in refused(model, "--token", tmp_path / "token")
    (tmp_path / "alarms.toml").write_text("[alarms]\nx = 1")
    assert "alarms.x is not a setting" in refused(model, "--alarms", tmp_path / "alarms.toml")
    (tmp_path / "bad.mist").write_bytes(b"no model")
    assert "bad.mist" in refused(tmp_path / "bad.mist")
    NCM().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "ncm.mist")
    assert "got a NCM" in refused(tmp_path / "ncm.mist")


def test_a_port_that_is_taken_is_named(model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port {port}" in refused(model, "--port", port)


def test_another_model_file_is_not_mixed_with_the_old_state(model, tmp_path):
    folder = StateFolder(tmp_path / "model.mist.state")
    restored = folder.restore(model)
    folder.save(restored.model, {}, 3)
    MistClassifier.paper().fit([[0.0], [1.0]], [0, 1]).save(model)
    with pytest.raises(ValueError, match="has changed since"):
        folder.restore(model)
    model.unlink()
    assert folder.restore(model).number == 3
    folder.close()


def test_a_missing_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'uvicorn' else find(name, *a)\n"
        "from mist.cli import app; app(['serve', 'x.mist', '--new', 'mist-g'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, cwd=tmp_path
    )
    assert done.returncode == 2
    assert (
        "error: mist serve needs uvicorn: python -m pip install 'mist-tree[serve]'" in done.stderr
    )
    assert not (tmp_path / "x.mist").exists()


def test_a_checkpoint_of_another_kind_is_refused(model, tmp_path):
    Store(tmp_path / "model.mist.state").save(mist.load(model))
    folder = StateFolder(tmp_path / "model.mist.state")
    with pytest.raises(ValueError, match="not a checkpoint of this version of mist serve"):
        folder.restore(model)
    folder.close()


def test_the_command_on_versions(model, tmp_path):
    folder = tmp_path / "model.mist.state"
    state = StateFolder(folder)
    restored = state.restore(model)
    state.save(restored.model, {}, 0, 0.5)
    state.save(restored.model.learn_many({"a": [5.0]}, ["z"]), {}, 1, 0.75)

    def said(*arguments, code=0):
        outcome = CliRunner().invoke(app, ["versions", *map(str, arguments)])
        assert outcome.exit_code == code, outcome.output
        return outcome.output

    assert "model.mist.state is in use by mist serve" in said(
        "rollback", folder, 1, code=2
    ).replace("\n", "")
    state.close()
    listed = said("list", folder)
    assert [line.split()[0] for line in listed.splitlines()[2:4]] == ["1", "2*"]
    assert "0.7500" in listed
    compared = said("diff", folder, 1)
    assert "z" in compared.splitlines()[0]
    assert "+0.2500" in compared
    said("tag", folder, 1, "good")
    assert "version 1 is the current one" in said("rollback", folder, "good")
    assert [line.split()[0] for line in said("list", folder).splitlines()[2:4]] == ["1*", "2"]
    assert "has no version 7: it has 1, 2, tags good" in said("rollback", folder, 7, code=2)
    assert "'3' is a number" in said("tag", folder, 1, "3", code=2)
    assert "has no versions: give the folder" in said("list", tmp_path, code=2)
    assert "it is not a folder, give the folder of mist run" in said("list", model, code=2)
