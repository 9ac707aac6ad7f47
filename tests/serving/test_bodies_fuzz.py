"""Whatever a client sends, the answer is 2xx or 4xx, and the server works on."""

import json
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mist.serving.limits import Limits
from served import JSON, make_client

LIMITS = Limits(body_bytes=20_000, rows=20, columns=40, classes=30, text=50, waiting=50)


@pytest.fixture(scope="module")
def client():
    with make_client(limits=LIMITS) as client:
        rows = [{"size": 1.0, "hue": "red"}, {"size": 9.0, "hue": "blue"}]
        assert client.post("/learn", json={"rows": rows, "labels": ["cat", "cow"]}).is_success
        yield client


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["1", "nan", "", " ", "\0", "\ud800", "a" * 60, 1e150, 1e151, 2**70, -0.0])
)
NAMES = st.sampled_from(["size", "hue", "b", "c", "x=1", "size=1", ""]) | st.text(max_size=6)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ROWS = st.dictionaries(NAMES, SCALARS, max_size=5)
LABELS = st.sampled_from(["cat", "cow", "dog"]) | SCALARS
IDS = st.sampled_from(["i", "j", "k"]) | SCALARS
KEYS = {
    "row": ROWS | ANYTHING,
    "rows": st.lists(ROWS, max_size=4) | ANYTHING,
    "label": LABELS,
    "labels": st.lists(LABELS, max_size=4) | ANYTHING,
    "id": IDS,
    "ids": st.lists(IDS, max_size=4) | ANYTHING,
    "keep": st.booleans() | SCALARS,
    "top": st.integers(-1, 9) | SCALARS,
}
GOOD = [
    st.fixed_dictionaries({"row": ROWS, "label": LABELS}),
    st.fixed_dictionaries({"row": ROWS}, optional={"id": IDS, "top": KEYS["top"]}),
    st.fixed_dictionaries({"id": IDS, "label": LABELS}),
    st.integers(1, 4).flatmap(
        lambda n: st.fixed_dictionaries(
            {
                "rows": st.lists(ROWS, min_size=n, max_size=n),
                "labels": st.lists(LABELS, min_size=n, max_size=n),
            }
        )
    ),
]
BODIES = st.one_of(*GOOD, st.fixed_dictionaries({}, optional=KEYS), ANYTHING)
PATHS = st.sampled_from(["/learn", "/predict", "/label", "/explain"])
MEDIA = st.sampled_from([*[JSON["Content-Type"]] * 4, "application/x-ndjson", "text/csv", ""])


def encoded(body):
    return json.dumps(body).encode()


def is_fine(client, answer):
    assert 200 <= answer.status_code < 300 or 400 <= answer.status_code < 500, answer.text
    assert isinstance(answer.json(), dict)
    if not answer.is_success:
        assert answer.json()["error"]
    health = client.get("/health")
    assert health.is_success, health.text


@settings(
    deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=PATHS, media=MEDIA, bodies=st.lists(BODIES, min_size=1, max_size=3), key=st.booleans())
def test_any_json(client, path, media, bodies, key):
    content = b"\n".join(encoded(body) for body in (bodies if "nd" in media else bodies[:1]))
    headers = {"Content-Type": media, **({"Idempotency-Key": "k"} if key else {})}
    is_fine(client, client.post(path, content=content, headers=headers))


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=PATHS, media=MEDIA, content=st.binary(max_size=200), data=st.data())
def test_any_bytes(client, path, media, content, data):
    good = bytearray(encoded({"rows": [{"size": 1, "hue": "red"}], "labels": ["cat"]}))
    place = data.draw(st.integers(0, len(good) - 1))
    good[place : place + data.draw(st.integers(0, 3))] = content[:3]
    for body in (content, bytes(good)):
        is_fine(client, client.post(path, content=body, headers={"Content-Type": media}))


def test_what_was_learnt_can_be_read_and_saved(client, tmp_path):
    # After all that the tests above have sent.
    for path in ("/", "/model", "/metrics", "/events", "/docs", "/openapi.json"):
        assert client.get(path).is_success
    service = client.service
    service.served.model.save(tmp_path / "model.mist")
    assert len(service.served.classes()) <= LIMITS.classes
    encoder = service.served.model.encoder_
    assert len(encoder._owners) <= LIMITS.columns


def test_memory_is_bounded_by_the_limits():
    with make_client(limits=LIMITS, keep_rows=50) as client:

        def send(number):
            row = {f"c{number}": f"text {number}", "size": number}
            client.post("/learn", json={"row": row, "label": f"class {number}"})
            client.post("/predict", json={"row": {"size": 1}, "id": f"id {number}"})
            client.post(
                "/learn",
                json={"row": {"size": 1}, "label": "class 1"},
                headers={"Idempotency-Key": f"key {number % 100}"},
            )

        for number in range(200):
            send(number)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(200, 500):
            send(number)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 2_000_000
        assert len(client.service.kept) == 50
