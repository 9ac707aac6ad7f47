"""Kill a durable server again and again, and check that every acknowledged row is learnt once.

    python benchmarks/serve_kills.py
    python benchmarks/serve_kills.py --kills 30 --clients 1 --seed 2

Clients send rows to learn, and rows that are predicted first and labelled later, and wait for each
answer. After a failure they send the same call again with the same Idempotency-Key. Meanwhile the
server gets SIGKILL at moments drawn at random: while it starts, applies its log, learns or writes a
checkpoint; then it is started again, often with a newest version in which a byte was changed, so
that it has to start from the version before. At the end each class must have exactly the rows that
were acknowledged. With one client the order of calls is known, too: the model must then be the same
byte for byte as one that learnt these calls undisturbed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from serve_load import free_port, get_json, start_server, wait_healthy

import mist
from mist.persistence import Store, save
from mist.serving.limits import Limits
from mist.serving.options import ServiceOptions
from mist.serving.served_model import ServedModel
from mist.serving.service import Service

OPTIONS = ["--durable", "--every", "150", "--seconds", "1.5"]


class Client(threading.Thread):
    """Sends calls one after another, each until it is acknowledged."""

    def __init__(self, number: int, port: int) -> None:
        super().__init__()
        self.number = number
        self.done: list[dict[str, Any]] = []
        self.repeated = 0
        self.stopping = threading.Event()
        self._port = port
        self._rng = np.random.default_rng(number)
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        step = 0
        while not self.stopping.is_set():
            row, label = self._draw()
            if step % 4 == 3:
                name = f"{self.number}-{step}"
                self._send("/predict", {"row": row, "id": name})
                self._send("/label", {"id": name, "label": label}, f"label {name}")
            else:
                self._send("/learn", {"row": row, "label": label}, f"{self.number}-{step}")
            self.done.append({"row": row, "label": label})
            step += 1

    def _draw(self) -> tuple[dict[str, Any], str]:
        kind = int(self._rng.integers(3))
        row: dict[str, Any] = {
            "a": round(float(self._rng.normal(3 * kind)), 3),
            "b": round(float(self._rng.normal(-kind)), 3),
        }
        if self._rng.random() < 0.3:
            row["c"] = ["red", "green", "blue"][int(self._rng.integers(3))]
        return row, f"client {self.number} class {kind}"

    def _send(self, path: str, body: dict[str, Any], key: str = "") -> None:
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection(
                        "127.0.0.1", self._port, timeout=60
                    )
                self._connection.request("POST", path, json.dumps(body), headers)
                response = self._connection.getresponse()
                content = json.loads(response.read())
                if response.status == 200:
                    self.repeated += bool(content.get("repeated"))
                    return
                raise RuntimeError(f"{path}: {response.status} {content}")
            except (OSError, http.client.HTTPException, ValueError):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                time.sleep(0.02)


def undisturbed(model: Path, done: list[dict[str, Any]], out: Path) -> bytes:
    """The file of a model that learnt calls in their order, without a server."""
    service = Service(ServedModel(mist.load(model), Limits()), ServiceOptions())
    for each in done:
        call = {"do": "learn", "rows": [each["row"]], "labels": [each["label"]], "time": 0.0}
        service.apply(call)
    save(service.served.model, out)
    return out.read_bytes()


def differs(folder: Path, model: str, done: list[dict[str, Any]]) -> bool:
    """Whether the model of a server is another one than that which learnt the calls undisturbed."""
    save(Store(folder / f"{model}.mist.state").load(), folder / "left.mist")
    quiet = undisturbed(folder / f"{model}.mist", done, folder / "quiet.mist")
    return quiet != (folder / "left.mist").read_bytes()


def damage_newest(folder: Path, damaged: set[int], rng: random.Random) -> None:
    """Change a byte of the newest version, if the one before is complete."""
    store = Store(folder)
    number = store.current
    if number is None or len(store.list()) < 2 or not damaged.isdisjoint({number, number - 1}):
        return
    path = folder / f"version-{number:06}.mist"
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 + rng.randrange(255)
    path.write_bytes(data)
    damaged.add(number)


def torment(
    model: str,
    kills: int,
    clients: int,
    seed: int,
    longest: float = 7.0,
    damage: float = 0.25,
) -> list[str]:
    """Kill a server many times; return what is wrong at the end."""
    rng = random.Random(seed)
    damaged: set[int] = set()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        threads = [Client(number, port) for number in range(clients)]
        server = start_server(model, folder, port, OPTIONS)
        wait_healthy(server, port)
        for thread in threads:
            thread.start()
        serving = 0
        for number in range(kills):
            # Three in four while it serves, the others at any moment of its start.
            if rng.random() < 0.75:
                wait_healthy(server, port)
                time.sleep(rng.uniform(0.0, 2.5))
                serving += 1
            else:
                time.sleep(rng.uniform(0.0, longest))
            server.kill()
            server.wait()
            if rng.random() < damage:
                damage_newest(folder / f"{model}.mist.state", damaged, rng)
            server = start_server(model, folder, port, OPTIONS)
            if sys.stderr.isatty():
                print(f"\r{number + 1} kills", end="", file=sys.stderr)
        wait_healthy(server, port)
        time.sleep(1.0)
        for thread in threads:
            thread.stopping.set()
        for thread in threads:
            thread.join(120)
        report = get_json(port, "/model")
        server.terminate()
        server.wait(120)
        faults += check_rows(threads, report)
        if clients == 1 and differs(folder, model, threads[0].done):
            faults.append("the model differs from the undisturbed one")
        rows = sum(len(thread.done) for thread in threads)
        print(
            f"{model}, {clients} client(s): {kills} kills, {serving} of them while it served, "
            f"{len(damaged)} with a damaged version; "
            f"{rows:,} rows acknowledged, {sum(t.repeated for t in threads)} calls repeated after "
            f"a lost answer; {len(faults)} faults"
        )
        if faults:
            print((folder / "server.log").read_text(errors="replace")[-3000:])
    return faults


def check_rows(threads: list[Client], report: dict[str, Any]) -> list[str]:
    """Compare the rows of each class with what was acknowledged."""
    sent: dict[str, int] = {}
    for each in (call for thread in threads for call in thread.done):
        sent[each["label"]] = sent.get(each["label"], 0) + 1
    learnt = {each["label"]: each["rows"] for each in report["classes"]}
    return [
        f"{label}: {sent.get(label, 0)} rows acknowledged, {learnt.get(label, 0)} learnt"
        for label in sorted({*sent, *learnt})
        if sent.get(label, 0) != learnt.get(label, 0)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--model", default="mist-g")
    parser.add_argument("--damage", type=float, default=0.25, metavar="SHARE", help="of the kills")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = []
    for place, clients in enumerate(given.clients):
        share = given.kills // len(given.clients) + (place < given.kills % len(given.clients))
        found += torment(given.model, share, clients, given.seed + place, damage=given.damage)
    for fault in found:
        print(fault)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
