"""A server on this machine that answers like OpenML for one made-up data set."""

import hashlib
import json
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

ROWS = ("0.5,3,1,cat", "1.5,1,0,dog", "2.5,2,1,cat", "3.5,3,0,cat", "4.5,1,0,dog", "5.5,2,1,cat")
COLUMNS = {"length": "numeric", "day": "{1,2,3}", "flag": "numeric", "class": "{cat,dog}"}


def answers(rows=ROWS, columns=None):
    """Path: body, for data set 7."""
    columns = columns or COLUMNS
    head = [f"@attribute '{name}' {kind}" for name, kind in columns.items()]
    arff = "\n".join(["@relation tiny", *head, "@data", *rows, ""]).encode()
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "numeric" if kind == "numeric" else "nominal",
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(columns.items())
    ]
    description = {
        "id": "7",
        "name": "tiny",
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "file_id": "70",
        "url": "https://www.openml.org/data/v1/download/70/tiny.arff",
        "default_target_attribute": "class",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
        "description": "made up",
    }
    quality = [{"name": "NumberOfInstances", "value": str(len(rows))}]
    documents = {
        "/api/v1/json/data/7": {"data_set_description": description},
        "/api/v1/json/data/features/7": {"data_features": {"feature": features}},
        "/api/v1/json/data/qualities/7": {"data_qualities": {"quality": quality}},
    }
    served = {path: json.dumps(document).encode() for path, document in documents.items()}
    # Older versions of scikit-learn ask for the first of the two paths.
    return served | {"/data/v1/download/70": arff, "/data/v1/download/70/tiny.arff": arff}


@contextmanager
def serve(bodies, *, status=200, cut=None):
    """Serve `bodies`; `status` for all of them, and half of the body where the path holds `cut`."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = urlparse(self.path).path
            asked.append(path)
            body = bodies.get(path)
            if body is None or status != 200:
                self.send_error(status if body is not None else 404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            short = cut is not None and cut in path
            self.wfile.write(body[: len(body) // 2] if short else body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def redirect(monkeypatch, address):
    """Let scikit-learn's OpenML client talk to `address`."""

    def urlopen(request, *arguments, **options):
        path = urlparse(request.full_url).path
        return urllib.request.urlopen(
            urllib.request.Request(address + path, headers=dict(request.header_items())),
            *arguments,
            **options,
        )

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
