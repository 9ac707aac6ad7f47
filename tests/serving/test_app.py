import base64
import json
import re
import threading
import time

import pytest

from mist import MistClassifier, MistForest
from mist.serving.access import is_allowed, read_token
from mist.serving.learner import Learner
from mist.serving.limits import Limits
from mist.serving.options import LearnerOptions
from outline import Outline
from served import JSON, LINES, make_client, make_service


@pytest.fixture
def client():
    with make_client() as client:
        yield client


@pytest.fixture
def taught(client):
    body = {"rows": [{"size": 1.0, "hue": "red"}, {"size": 9.0}], "labels": ["cat", "cow"]}
    assert client.post("/learn", json=body).json() == {"learnt": 2, "rows": 2}
    return client


def test_an_empty_model_predicts_nothing(client):
    answer = client.post("/predict", json={"row": {"size": 1}})
    assert (answer.status_code, answer.json()["label"]) == (200, None)


def test_one_row_and_many_rows(taught):
    one = taught.post("/predict", json={"row": {"size": 8.0}, "top": 1}).json()
    assert one["label"] == "cow"
    assert one["classes"] == [{"label": "cow", "probability": one["probability"]}]
    many = taught.post("/predict", json={"rows": [{"size": 8.0}, {"size": 1.1}]}).json()
    assert [each["label"] for each in many["predictions"]] == ["cow", "cat"]


def test_lines_of_json(client):
    lines = b'{"row": {"size": 1}, "label": "cat"}\n\n{"row": {"size": 9}, "label": "cow"}\n'
    assert client.post("/learn", content=lines, headers=LINES).json()["learnt"] == 2
    answer = client.post("/predict", content=b'{"row": {"size": 9}, "id": "a"}', headers=LINES)
    assert answer.json()["predictions"][0]["label"] == "cow"
    answer = client.post("/label", content=b'{"id": "a", "label": "ox"}', headers=LINES)
    assert answer.json() == {"learnt": 1, "rows": 3, "unknown": []}


def test_new_and_missing_columns(taught):
    assert taught.post("/learn", json={"row": {"age": 3, "size": None}, "label": "cat"}).is_success
    assert taught.get("/model").json()["columns"] == ["size", "hue", "age"]
    assert taught.post("/predict", json={"row": {"unheard": 1}}).is_success


def test_a_label_that_comes_later(taught):
    made = taught.post("/predict", json={"rows": [{"size": 8}, {"size": 2}], "keep": True}).json()
    ids = [each["id"] for each in made["predictions"]]
    answer = taught.post("/label", json={"ids": [*ids, "x"], "labels": ["cow", "cat", "cat"]})
    assert answer.json() == {"learnt": 2, "rows": 4, "unknown": ["x"]}
    answer = taught.post("/label", json={"id": ids[0], "label": "cow"})
    assert answer.status_code == 404
    assert answer.json()["unknown"] == [ids[0]]


def test_a_call_that_is_sent_again_is_learnt_once(taught):
    def send(body):
        return taught.post("/learn", content=body, headers={**JSON, "Idempotency-Key": "k"})

    body = b'{"row": {"size": 1}, "label": "cat"}'
    assert send(body).json() == {"learnt": 1, "rows": 3}
    assert send(body).json() == {"learnt": 1, "rows": 3, "repeated": True}
    assert send(body.replace(b"1", b"2")).status_code == 422
    assert taught.get("/model").json()["rows"] == 3


def test_a_label_without_its_row_that_is_sent_again_gets_the_same_status(taught):
    headers = {"Idempotency-Key": "k"}
    for repeated in (None, True):
        answer = taught.post("/label", json={"id": "x", "label": "cat"}, headers=headers)
        assert (answer.status_code, answer.json().get("repeated")) == (404, repeated)
        assert answer.json()["unknown"] == ["x"]


@pytest.mark.parametrize(
    ("path", "body", "row", "column"),
    [
        ("/learn", {"rows": [{"size": 1}, {"size": "big"}], "labels": ["a", "b"]}, 1, "size"),
        ("/learn", {"rows": [{"size": 1}, {"size": [1]}], "labels": ["a", "b"]}, 1, "size"),
        ("/learn", {"rows": [{"size": 1}, {"size": 1e200}], "labels": ["a", "b"]}, 1, "size"),
        ("/learn", {"rows": [{"size": 1}, {"size": 1}], "labels": ["a", None]}, 1, "label"),
        ("/learn", {"rows": [{"size": 1}, {"size": 1}], "labels": ["a", 1.5]}, 1, "label"),
        ("/learn", {"rows": [{"size": 1}, {"size": 1}], "labels": ["a", 3]}, 1, "label"),
        ("/learn", {"rows": [{"size": 1}, {}], "labels": ["a", "b"]}, 1, None),
        ("/learn", {"row": {"hue": "x" * 1001}, "label": "a"}, 0, "hue"),
        ("/learn", {"row": {"hue": "a\0"}, "label": "a"}, 0, "hue"),
        ("/learn", {"row": {"hue": "\ud800"}, "label": "a"}, 0, "hue"),
        ("/predict", {"rows": [{"size": 1}, {"size": "big"}]}, 1, "size"),
        ("/predict", {"row": {"size": 1}, "id": ""}, 0, "id"),
        ("/explain", {"row": {"size": "big"}}, 0, "size"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_learnt(taught, path, body, row, column):
    answer = taught.post(path, content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["row"] == row
    assert answer.json().get("column") == column
    assert taught.get("/model").json()["rows"] == 2


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"\xff", JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b'{"row": {"a": %s}, "label": 1}' % (b"1" * 5000), JSON, 400),
        (b"[]", JSON, 422),
        (b'{"row": {"a": 1}, "row": {"a": 2}, "label": "x"}', JSON, 422),
        (b'{"row": {"a": 1, "a": 2}, "label": "x"}', JSON, 422),
        (b'{"row": {"a": 1}, "rows": [], "label": "x"}', JSON, 422),
        (b'{"row": {"a": 1}, "lable": "x"}', JSON, 422),
        (b'{"rows": [{"a": 1}], "labels": ["x", "y"]}', JSON, 422),
        (b"", LINES, 422),
        (b"row=1", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {}, 415),
    ],
)
def test_bodies_that_are_refused(client, content, headers, status):
    answer = client.post("/learn", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_limits_on_bytes_rows_and_columns():
    with make_client(limits=Limits(body_bytes=200, rows=2, columns=3)) as client:
        assert client.post("/learn", content=b" " * 201, headers=JSON).status_code == 413
        rows = {"rows": [{"a": 1}] * 3, "labels": ["x"] * 3}
        assert client.post("/learn", json=rows).status_code == 413
        lines = b'{"row": {"a": 1}, "label": "x"}\n' * 3
        assert client.post("/learn", content=lines, headers=LINES).status_code == 413
        wide = {"row": dict.fromkeys("abcd", 1), "label": "x"}
        assert client.post("/learn", json=wide).status_code == 422


def test_a_call_that_takes_too_long_is_given_up(monkeypatch):
    with make_client(limits=Limits(seconds=0.2)) as client:
        waiting = threading.Event()
        monkeypatch.setattr(client.service, "predict", lambda rows: waiting.wait(5))
        answer = client.post("/predict", json={"row": {"a": 1}})
        waiting.set()
        assert answer.status_code == 503
        assert "0.2 s" in answer.json()["error"]
        assert client.get("/health").is_success


def test_too_many_waiting_calls_are_refused(monkeypatch):
    with make_client(limits=Limits(waiting=1, seconds=20)) as client:
        go = threading.Event()
        admit = client.service.admit
        monkeypatch.setattr(client.service, "admit", lambda call: (go.wait(10), admit(call))[1])
        body = {"row": {"a": 1}, "label": "x"}
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.post("/learn", json=body)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        go.set()
        for thread in threads:
            thread.join()
        assert sorted(answer.status_code for answer in answers) == [200, 200, 429, 429]
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["Retry-After"]


def test_calls_that_wait_are_limited_in_bytes(monkeypatch):
    with make_client(limits=Limits(waiting_bytes=100)) as client:
        go = threading.Event()
        admit = client.service.admit
        monkeypatch.setattr(client.service, "admit", lambda call: (go.wait(10), admit(call))[1])
        body = {"row": {"a": 1, "long": "x" * 80}, "label": "x"}
        first = threading.Thread(target=lambda: client.post("/learn", json=body))
        first.start()
        time.sleep(0.2)
        assert client.post("/learn", json=body).status_code == 429
        go.set()
        first.join()
        assert client.post("/learn", json=body).is_success


def test_bodies_of_requests_that_are_not_answered_are_limited_in_bytes(monkeypatch):
    with make_client(limits=Limits(waiting_bytes=100)) as client:
        go, begun = threading.Event(), threading.Event()
        predict = client.service.predict
        monkeypatch.setattr(
            client.service, "predict", lambda rows: (begun.set(), go.wait(10), predict(rows))[2]
        )
        body = {"row": {"long": "x" * 200}}
        first = threading.Thread(target=lambda: client.post("/predict", json=body))
        first.start()
        assert begun.wait(10)
        refused = client.post("/predict", json=body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        go.set()
        first.join()
        assert client.post("/predict", json=body).is_success


def test_a_header_does_not_change_the_route_that_is_counted(client):
    for host in ("testserver", "other/path?x", "a/b#"):
        client.get("/health", headers={"Host": host})
    assert 'mist_requests_total{route="/health",status="200"} 3.0' in client.get("/metrics").text


def test_a_token_is_needed_for_everything():
    token = "correct-horse-battery"
    with make_client(token=token) as client:
        for path in ("/", "/model", "/health", "/metrics", "/openapi.json", "/docs"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
            assert client.get(path, headers={"Authorization": f"Bearer {token}"}).is_success
        assert client.post("/learn", content=b"{", headers=JSON).status_code == 401
        # A browser asks for a password.
        assert client.get("/").headers["WWW-Authenticate"].startswith("Basic")
        assert client.get("/", auth=("anyone", token)).is_success
        scheme = client.get("/openapi.json", auth=("", token)).json()["components"]
        assert scheme["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic ???", "Basic w", "Digest secret", "secret", "Bearer é"],
)
def test_other_headers_are_not_allowed(header):
    assert not is_allowed(header, "secret")


def test_a_password_may_have_a_colon():
    assert not is_allowed("Basic " + base64.b64encode(b"secret").decode(), "secret")
    assert is_allowed("Basic " + base64.b64encode(b"a:b:c").decode(), "b:c")


@pytest.mark.parametrize("content", ["", "short", "with space in the middle", "é" * 20])
def test_bad_tokens_are_refused(tmp_path, content):
    (tmp_path / "token").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="token"):
        read_token(tmp_path / "token")


def test_a_server_may_only_predict():
    with make_client(MistClassifier.paper().fit([[0.0], [9.0]], ["x", "y"]), read_only=True) as c:
        assert c.post("/predict", json={"row": {"0": 8.0}}).json()["label"] == "y"
        assert c.post("/learn", json={"row": {"0": 8.0}, "label": "x"}).status_code == 403
        assert c.post("/predict", json={"row": {"0": 8.0}, "keep": True}).status_code == 403


def test_explanations(taught):
    answer = taught.post("/explain", json={"row": {"size": 8.0, "hue": "red"}, "top": 2}).json()
    assert answer["label"] == "cow"
    assert {term["column"] for term in answer["evidence"]} == {
        "size",
        "hue",
        "prior of the classes",
    }
    assert "evidence for cow against cat" in answer["text"]


def test_what_cannot_be_explained(client):
    assert client.post("/explain", json={"row": {"a": 1}}).status_code == 409
    with make_client(MistForest(MistClassifier.paper("G"), n_trees=2)) as forest:
        assert forest.post("/explain", json={"row": {"a": 1}}).status_code == 422


def test_other_paths_and_methods(client):
    assert client.get("/learn").status_code == 405
    assert client.get("/nothing").status_code == 404
    assert "GET /docs" in client.get("/nothing").json()["error"]


# --- what can be read ----------------------------------------------------------------------------


def test_metrics(taught):
    taught.post("/learn", json={"row": {"size": 1.0}, "label": 'c"a\nt\\'})
    text = taught.get("/metrics").text
    assert 'mist_requests_total{route="/learn",status="200"} 2.0' in text
    assert "mist_rows_learnt_total 3.0" in text
    assert 'mist_class_rows_total{label="cow"} 1.0' in text
    assert 'mist_events_total{event="new class"} 3.0' in text
    assert re.search(r"mist_memory_mb \d\d+", text)
    assert "mist_healthy 1.0" in text


@pytest.mark.parametrize("attribute", ["fault", "checkpoint_error", "events_error"])
def test_the_metric_of_health_is_that_of_the_health_page(attribute):
    pytest.importorskip("prometheus_client", reason="needs the extra serve")
    from mist.serving.metrics import Metrics

    learner = Learner(make_service(), LearnerOptions())
    assert b"mist_healthy 1.0" in Metrics(learner).text()
    setattr(learner, attribute, "the disk is full")
    assert b"mist_healthy 0.0" in Metrics(learner).text()


def test_rows_that_were_learnt_before_are_counted_everywhere():
    model = MistClassifier.paper().learn_many({"a": [0.0, 9.0]}, ["x", "y"])
    with make_client(model) as client:
        assert client.post("/learn", json={"row": {"a": 1.0}, "label": "x"}).json()["rows"] == 3
        assert "mist_rows_learnt_total 3.0" in client.get("/metrics").text
        assert "<b>3</b><span>rows learnt</span>" in client.get("/").text
        assert client.get("/model").json()["rows"] == 3


def test_the_model_and_its_events(taught):
    report = taught.get("/model").json()
    assert report["kind"] == "StreamPipeline"
    assert [each["label"] for each in report["classes"]] == ["cat", "cow"]
    assert report["figures"]["rows"] == 2
    assert report["version"] is None, "there is no folder"
    events = taught.get("/events").json()["events"]
    assert [(each["event"], each.get("label")) for each in events] == [
        ("new class", "cat"),
        ("new class", "cow"),
    ]


def test_the_description_has_all_routes(client):
    document = client.get("/openapi.json").json()
    routes = {route.path: route.methods - {"HEAD"} for route in client.app.routes}
    pages = {"/", "/docs", "/openapi.json"}
    described = {path: {m.upper() for m in each} for path, each in document["paths"].items()}
    assert described == {path: methods for path, methods in routes.items() if path not in pages}
    assert document["openapi"] == "3.1.0"
    page = client.get("/docs")
    assert all(path in page.text for path in document["paths"])


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_need_nothing_else(taught, path):
    for _ in range(3):
        taught.post("/learn", json={"row": {"size": 1.0}, "label": "<script>alert(1)</script>"})
    answer = taught.get(path)
    outside = r"(src|href)=.?(https?:)?//|@import|url\(|<script|<link"
    assert not re.search(outside, answer.text)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert not Outline(answer.text).open


def test_health_names_what_is_wrong(taught, monkeypatch):
    def fail(call):
        raise RuntimeError("the tree is broken")

    monkeypatch.setattr(taught.service, "apply", fail)
    assert taught.post("/learn", json={"row": {"size": 1.0}, "label": "cat"}).status_code == 503
    monkeypatch.undo()
    answer = taught.get("/health")
    assert answer.status_code == 503
    assert "the tree is broken" in answer.json()["problems"][0]
    assert taught.post("/learn", json={"row": {"size": 1.0}, "label": "cat"}).status_code == 503
    assert "the tree is broken" in taught.get("/").text
