"""The page on servers, followed from the command to an alarm."""

import http.server
import json
import re
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")

import serve_load

from mist.persistence import Store

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "production.md"


def blocks(language):
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_leads_from_the_command_to_an_alarm(tmp_path, capsys):
    got = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    (rules,) = blocks("toml")
    (tmp_path / "alarms.toml").write_text(rules.replace(":9000", f":{receiver.server_port}"))
    command = shlex.split(re.search(r"^\$ mist (serve .*)$", blocks("console")[0], re.MULTILINE)[1])
    port = serve_load.free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "mist.cli", *command, "--port", str(port)], cwd=tmp_path
    )
    try:
        assert serve_load.wait_healthy(server, port)
        names = {}
        for code in blocks("python no-run"):
            exec(compile(code.replace(":8000", f":{port}"), str(PAGE), "exec"), names)
        printed = capsys.readouterr().out
        end = time.monotonic() + 20
        while not got and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        server.terminate()
        server.wait(60)
        receiver.shutdown()
        receiver.server_close()
    assert printed.startswith("dns ")
    assert "'repeated': True" in printed
    assert "'unknown': []" in printed
    assert (got[0]["name"], got[0]["subject"]) == ("new_class", "web")
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [each["event"] for each in events][:1] == ["new class"]
    assert Store(tmp_path / "flows.mist.state").list()[-1].rows == 5
