"""Load a server with clients that predict and learn single rows, and measure its answers.

    python benchmarks/serve_load.py
    python benchmarks/serve_load.py --seconds 60 --models mist-g mist river --durable

Each of 8 clients keeps one connection and sends one row at a time: nine in ten to /predict, one in
ten to /learn. The clients are threads of this process and take about one of two cores. ``river``
is river's Hoeffding tree behind the same server. A request has failed if its status is not 200.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

N_COLUMNS, N_CLASSES = 10, 6


class Outcome(NamedTuple):
    """What came of a load."""

    model: str
    seconds: float
    predict: list[float]
    learn: list[float]
    failed: int
    accuracy: float
    memory_mb: float

    @property
    def rate(self) -> float:
        return (len(self.predict) + len(self.learn)) / self.seconds


class RiverModel:
    """A model of river with the interface of `mist.serving.served_model.ServedModel`."""

    knows_novelty = False
    nbytes = 0

    def __init__(self) -> None:
        from river.tree import HoeffdingTreeClassifier

        self.model = HoeffdingTreeClassifier()
        self.rows = 0
        self._labels: dict[Any, None] = {}
        self._lock = threading.Lock()

    fitted = property(lambda self: self.rows > 0)
    tree = property(lambda self: self.model)

    def classes(self) -> list[Any]:
        return list(self._labels)

    def columns(self) -> list[str]:
        return []

    def check(self, rows: Any) -> None:
        pass

    def check_growth(self, rows: Any, labels: Any) -> None:
        pass

    def novel(self, rows: Any) -> list[bool]:
        return [False] * len(rows)

    def changes_after(self, row: int) -> list[Any]:
        return []

    def learn(self, rows: Any, labels: Any) -> None:
        with self._lock:
            for row, label in zip(rows, labels, strict=True):
                self.model.learn_one(row, label)
                self._labels[label] = None
                self.rows += 1

    def predict(self, rows: Any) -> list[Any]:
        from mist.serving.served_model import Prediction

        with self._lock:
            found = [self.model.predict_proba_one(row) for row in rows]
        return [Prediction(max(each, key=each.get) if each else None, each) for each in found]


def serve_river(port: int) -> None:
    """Serve river's tree, without checkpoints."""
    from mist.serving.app import make_app
    from mist.serving.http_server import open_socket, run_app
    from mist.serving.learner import Learner
    from mist.serving.options import LearnerOptions, ServiceOptions
    from mist.serving.service import Service

    learner = Learner(Service(RiverModel(), ServiceOptions()), LearnerOptions())
    run_app(make_app(learner), open_socket("127.0.0.1", port))


def free_port() -> int:
    """A port that was free a moment ago."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def start_server(model: str, folder: Path, port: int, options: list[str]) -> subprocess.Popen[Any]:
    """Start a server in a process of its own."""
    if model == "river":
        command = [sys.executable, __file__, "--serve-river", str(port)]
    else:
        command = [sys.executable, "-m", "mist.cli", "serve", str(folder / f"{model}.mist")]
        command += ["--new", model, "--port", str(port), *options]
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def wait_healthy(server: subprocess.Popen[Any], port: int, seconds: float = 1800.0) -> bool:
    """Wait until a server answers; False if it has ended before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    return False


def make_rows(seed: int, count: int) -> list[tuple[bytes, bytes]]:
    """Bodies of /predict and /learn for rows of six classes with two modes each."""
    centres = np.random.default_rng(0).normal(scale=2.0, size=(N_CLASSES, 2, N_COLUMNS))
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        label, mode = int(rng.integers(N_CLASSES)), int(rng.integers(2))
        values = centres[label, mode] + rng.normal(size=N_COLUMNS)
        row = {f"x{j}": round(float(v), 4) for j, v in enumerate(values)}
        body = {"row": row, "label": f"class {label}"}
        rows.append((json.dumps({"row": row}).encode(), json.dumps(body).encode()))
    return rows


def client(port: int, number: int, end: float, out: list[Any]) -> None:
    """Send rows until the end; append (times to predict, times to learn, failures)."""
    rows = make_rows(number + 1, 2000)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    predict: list[float] = []
    learn: list[float] = []
    failed = done = 0
    while time.perf_counter() < end:
        bodies, learns = rows[done % len(rows)], (done + number) % 10 == 9
        start = time.perf_counter()
        try:
            connection.request(
                "POST",
                "/learn" if learns else "/predict",
                bodies[learns],
                {"Content-Type": "application/json"},
            )
            response = connection.getresponse()
            response.read()
            failed += response.status != 200
        except (OSError, http.client.HTTPException):
            failed += 1
            connection.close()
        (learn if learns else predict).append(time.perf_counter() - start)
        done += 1
    out.append((predict, learn, failed))


def get_json(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def load(model: str, seconds: float, clients: int, options: list[str]) -> Outcome:
    """Load a fresh server for some seconds, after it has learnt 2,000 rows."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        server = start_server(model, folder, port, options)
        try:
            if not wait_healthy(server, port):
                raise RuntimeError((folder / "server.log").read_text(errors="replace"))
            client_start(port)
            out: list[Any] = []
            start = time.perf_counter()
            threads = [
                threading.Thread(target=client, args=(port, k, start + seconds, out))
                for k in range(clients)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took = time.perf_counter() - start
            figures = get_json(port, "/model")["figures"]
        finally:
            server.terminate()
            server.wait(60)
    predict = [t for each in out for t in each[0]]
    learn = [t for each in out for t in each[1]]
    failed = sum(each[2] for each in out)
    accuracy, memory = figures["recent_accuracy"], figures["memory_mb"]
    return Outcome(model, took, predict, learn, failed, accuracy, memory)


def client_start(port: int) -> None:
    """Teach the model its classes before the clock starts, in calls of 100 rows."""
    lines = [body for _, body in make_rows(0, 2000)]
    for begin in range(0, len(lines), 100):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        body = b"\n".join(lines[begin : begin + 100])
        connection.request("POST", "/learn", body, {"Content-Type": "application/x-ndjson"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode())
        connection.close()


def show(outcomes: list[Outcome], clients: int) -> None:
    print(f"\n{clients} clients, single rows, 9 in 10 predicted and 1 in 10 learnt; times in ms\n")
    print(
        "| model | requests | requests/s | predict p50 | p99 | learn p50 | p99 | failed "
        "| accuracy, recent | MB |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for each in outcomes:
        times = [1e3 * np.percentile(t, q) for t in (each.predict, each.learn) for q in (50, 99)]
        cells = " | ".join(f"{t:.1f}" for t in times)
        n = len(each.predict) + len(each.learn)
        print(
            f"| {each.model} | {n:,} | {each.rate:,.0f} | {cells} | {each.failed} "
            f"| {each.accuracy:.3f} | {each.memory_mb:,.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--models", nargs="+", default=["mist-g", "mist", "river"])
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--serve-river", type=int, metavar="PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve_river is not None:
        serve_river(given.serve_river)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = ["--durable"] if given.durable else []
    show([load(m, given.seconds, given.clients, options) for m in given.models], given.clients)


if __name__ == "__main__":
    main()
