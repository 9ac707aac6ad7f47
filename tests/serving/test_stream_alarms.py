"""Streams in which something happens raise its alarm within some rows; one without raises none."""

import errno
import http.server
import json
import os
import socket
import sys
import threading
import time

import numpy as np
import pytest

from mist import MistClassifier
from mist.serving.event_log import EventLog
from mist.serving.learner import Learner
from mist.serving.notifier import Notifier
from mist.serving.options import LearnerOptions
from mist.serving.reports import problems_of
from mist.streaming import Alarm, AlarmRules, Alarms
from served import make_service

EVENTS = frozenset(
    {"new_class", "class_silent", "class_moved", "common_shift", "new_column", "column_silent"}
)
N_COLUMNS = 4
CENTRES = np.random.default_rng(5).normal(scale=4.0, size=(5, N_COLUMNS))


def model():
    # The paper's tree, with what follows the stream: it compiles faster than the default.
    return MistClassifier.paper("G").set_params(adapt="stream")


def stationary(rng, count, classes=4):
    y = rng.integers(classes, size=count)
    return CENTRES[y] + rng.normal(size=(count, N_COLUMNS)), y


def alarms_in(parts, thresholds=None):
    """Rows and names of the alarms that a stream raises, learnt in calls of 50 rows."""
    service = make_service(model(), window=1000)
    alarms = Alarms(AlarmRules(thresholds or {}, EVENTS, every=0.0))
    found, now = [], 0
    for X, y in parts:
        for begin in range(0, len(y), 50):
            rows = [
                {f"x{j}": float(v) for j, v in enumerate(x) if not np.isnan(v)}
                for x in X[begin : begin + 50]
            ]
            labels = [f"class {k}" for k in y[begin : begin + 50]]
            service.apply({"do": "learn", "rows": rows, "labels": labels, "time": float(now)})
            now += 1
            found += alarms.of_events(service.take_events(), now)
            found += alarms.of_figures(service.watch.row, service.settled_figures(), now)
    return [(alarm.row, alarm.name, alarm.subject) for alarm in found]


def after(row, found):
    return [each for each in found if each[0] > row]


BEFORE = 4000


@pytest.fixture(scope="module")
def before():
    return stationary(np.random.default_rng(1), BEFORE)


def test_a_new_class_is_reported_with_its_first_row(before):
    rng = np.random.default_rng(2)
    X, y = stationary(rng, 200, classes=5)
    first = BEFORE + 1 + int(np.argmax(y == 4))
    found = after(BEFORE, alarms_in([before, (X, y)]))
    assert found[0] == (first, "new_class", "class 4")
    assert len(found) == 1


def test_a_class_that_moves_is_reported_within_300_rows(before):
    X, y = stationary(np.random.default_rng(3), 2000)
    X[y == 2] += [9.0, -9.0, 9.0, -9.0]
    found = after(BEFORE, alarms_in([before, (X, y)]))
    row, name, subject = next(each for each in found if each[1] == "class_moved")
    assert (name, subject) == ("class_moved", "class 2")
    assert row <= BEFORE + 300


def test_an_offset_is_reported_within_300_rows(before):
    X, y = stationary(np.random.default_rng(4), 2000)
    found = after(BEFORE, alarms_in([before, (X + 3.0, y)]))
    row = next(each[0] for each in found if each[1] == "common_shift")
    assert row <= BEFORE + 300


def test_a_silent_class_is_reported_within_1050_rows(before):
    # Each fourth row is of the class, so 20 gaps are 80 rows, and 1,000 is the least silence.
    X, y = stationary(np.random.default_rng(5), 2000, classes=3)
    found = after(BEFORE, alarms_in([before, (X, y)]))
    assert [each[1:] for each in found] == [("class_silent", "class 3")]
    assert found[0][0] <= BEFORE + 1050


def test_a_silent_column_and_a_loss_of_accuracy_are_reported(before):
    rng = np.random.default_rng(6)
    X, _ = stationary(rng, 2000)
    X[:, 1] = np.nan
    wrong = rng.integers(4, size=2000)
    found = after(BEFORE, alarms_in([before, (X, wrong)], {"accuracy": 0.7}))
    rows = {each[1]: each[0] for each in found[::-1]}
    assert rows["column_silent"] <= BEFORE + 1050
    assert rows["accuracy"] <= BEFORE + 1000


def test_a_stationary_stream_of_100_000_rows_raises_at_most_one_alarm():
    rng = np.random.default_rng(7)
    thresholds = {"accuracy": 0.8, "log_loss": 1.0, "calibration_error": 0.1}
    X, y = stationary(rng, 100_000)
    found = alarms_in([(X, y)], thresholds)
    # The empty model meets each class once.
    first = {(int(np.argmax(y == k)) + 1, "new_class", f"class {k}") for k in range(4)}
    assert first <= set(found)
    assert len(found) <= len(first) + 1, found


def test_figures_of_a_window_that_is_not_full_raise_nothing():
    rng = np.random.default_rng(8)
    X, _ = stationary(rng, 1000)
    parts = [(X, rng.integers(4, size=1000))]
    thresholds = {"accuracy": 0.7, "log_loss": 0.1, "calibration_error": 0.0}
    found = alarms_in([(X[:950], parts[0][1][:950])], thresholds)
    assert {name for _, name, _ in found} == {"new_class"}
    found = alarms_in(parts, thresholds)
    assert {name for row, name, _ in found if row == 1000} == set(thresholds)


# --- where alarms and events go ------------------------------------------------------------------

ALARM = Alarm("new_class", 7, "cat", None, None, "new class: cat")


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_alarms_are_posted():
    got = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(got) > 1 else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        rules = AlarmRules(webhook=f"http://127.0.0.1:{server.server_port}/x")
        notifier = Notifier(rules)
        notifier.send([ALARM])
        wait_for(lambda: notifier.sent == 1)
        notifier.send([ALARM])
        wait_for(lambda: notifier.failed == 1)
        server.shutdown()
    assert got[0] == ALARM._asdict()
    assert "500" in notifier.last_error
    notifier.close()


def test_an_answer_that_is_not_http_does_not_end_the_alarms():
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        answers = [b"nonsense\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"]

        def answer():
            for each in answers:
                connection = receiver.accept()[0]
                with connection:
                    connection.recv(10_000)
                    connection.sendall(each)

        threading.Thread(target=answer, daemon=True).start()
        notifier = Notifier(AlarmRules(webhook=f"http://127.0.0.1:{receiver.getsockname()[1]}/"))
        notifier.send([ALARM])
        wait_for(lambda: notifier.failed == 1)
        assert "BadStatusLine" in notifier.last_error
        learner = Learner(make_service(), LearnerOptions(), notifier=notifier)
        assert "nonsense" in problems_of(learner)[0]
        notifier.send([ALARM])
        wait_for(lambda: notifier.sent == 1)
    assert notifier.last_error == ""
    assert problems_of(learner) == []
    notifier.close()


def test_alarms_are_given_to_a_command(tmp_path):
    out = tmp_path / "alarm.json"
    write = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    notifier = Notifier(AlarmRules(command=(sys.executable, "-c", write, str(out))))
    notifier.send([ALARM])
    notifier.close(20)
    assert json.loads(out.read_text()) == ALARM._asdict()
    assert notifier.sent == 1


def test_a_command_that_fails_or_hangs_is_counted():
    rules = AlarmRules(command=(sys.executable, "-c", "import time; time.sleep(60)"), timeout=0.2)
    notifier = Notifier(rules)
    notifier.send([ALARM])
    wait_for(lambda: notifier.failed == 1)
    assert "timed out" in notifier.last_error
    notifier.close()


def test_the_learner_gives_alarms_and_writes_events(tmp_path):
    path = tmp_path / "events.jsonl"
    out = tmp_path / "alarms.jsonl"
    write = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
    rules = AlarmRules(
        {"accuracy": 0.9}, frozenset({"new_class"}), command=(sys.executable, "-c", write, str(out))
    )
    service = make_service(window=60)
    learner = Learner(
        service,
        LearnerOptions(),
        alarms=Alarms(rules),
        notifier=Notifier(rules),
        events=EventLog(path),
    )
    learner.start()
    rng = np.random.default_rng(0)
    rows = [{"a": float(x)} for x in rng.normal(size=100)]
    labels = rng.choice(["x", "y"], size=100).tolist()
    assert learner.submit({"do": "learn", "rows": rows, "labels": labels}).result()["learnt"] == 100
    learner.stop()
    learner.notifier.close(20)
    given = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(each["name"], each["subject"]) for each in given] == [
        ("new_class", given[0]["subject"]),
        ("accuracy", ""),
    ]
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(each["n"], each["event"]) for each in events] == [(1, "new class"), (2, "new class")]


def test_an_event_that_a_crash_left_incomplete_is_cut(tmp_path):
    path = tmp_path / "events.jsonl"
    EventLog(path).write([{"n": 1, "event": "new class"}])
    with path.open("ab") as file:
        file.write(b'{"n": 2, "ev')
    log = EventLog(path)
    assert log.last == 1
    log.write([{"n": 2, "event": "class silent"}])
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 2]


def test_events_that_are_written_in_parts_are_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.write([{"n": 1, "event": "new class"}])
    write, room = os.write, [15]

    def part(file, data):
        count = min(10, room[0], len(data))
        if not count:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= count
        return write(file, data[:count])

    monkeypatch.setattr(os, "write", part)
    with pytest.raises(OSError, match="No space left on device"):
        log.write([{"n": 2, "event": "class silent"}])
    room[0] = 1000
    log.write([{"n": 3, "event": "class back"}])
    monkeypatch.undo()
    log.close()
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 3]
    assert EventLog(path).last == 3


def test_another_file_is_not_continued(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(ValueError, match="not a file of events"):
        EventLog(path)
    assert path.read_text() == "dear diary\n"
