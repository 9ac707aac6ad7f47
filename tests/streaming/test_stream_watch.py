import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist.adaptation.changes import Change
from mist.streaming import Presence, StreamWatch
from mist.streaming.curve import Curves
from mist.streaming.recent_window import RecentWindow


def slow_window(lines):
    """What the figures of a window are, from their definitions."""
    hit, sure, loss, novel = np.array(lines, dtype=float).T
    bins = np.minimum(9, (10 * sure).astype(int))
    error = sum(abs((hit - sure)[bins == b].sum()) for b in range(10)) / len(lines)
    return hit.mean(), sure.mean(), loss.mean(), novel.mean(), error


LINES = st.lists(
    st.tuples(st.booleans(), st.floats(0, 1), st.floats(0, 14), st.booleans()), min_size=1
)


@given(LINES, st.integers(1, 7), st.booleans())
def test_a_window_is_that_of_its_last_rows(lines, rows, restored):
    window = RecentWindow(rows)
    for line in lines:
        window.add(*line)
        if restored:
            window = RecentWindow(rows, window.state())
    found = (
        *(window.accuracy, window.confidence, window.log_loss),
        *(window.novel, window.calibration_error),
    )
    assert found == pytest.approx(slow_window(lines[-rows:]), abs=1e-9)


def test_an_empty_window_has_no_figures():
    window = RecentWindow(3)
    assert math.isnan(window.accuracy)
    assert math.isnan(window.calibration_error)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(1, 3))
def test_a_curve_keeps_the_mean(values, each):
    curves = Curves(["x"], each=each, most=8)
    for value in values:
        curves.add([value])
        curves = Curves(["x"], each=each, most=8, state=curves.state())
    points = curves.points("x")
    assert len(points) <= 9
    rows = np.diff([0, *(row for row, _ in points)])
    assert rows.sum() == len(values)
    assert (rows * [value for _, value in points]).sum() == pytest.approx(sum(values), abs=1e-6)


def watched(labels, predicted=None, columns=("a",), **options):
    watch, events = StreamWatch(**options), []
    for place, label in enumerate(labels):
        guess = label if predicted is None else predicted[place]
        events += watch.observe(label, guess, {guess: 1.0}, columns)
    return watch, events


def test_figures_of_a_stream():
    watch, _ = watched(["a", "b", "a", "a"], ["a", "a", "a", "b"])
    figures = watch.figures()
    assert figures["rows"] == 4
    assert figures["accuracy"] == 0.5
    assert figures["recent_log_loss"] == pytest.approx(-math.log(1e-6) / 2)
    assert figures["calibration_error"] == pytest.approx(0.5)
    recall = watch.recall_by_class()
    assert recall["a"] == {"rows": 3, "recall": 2 / 3, "recent": pytest.approx(2 / 3)}
    assert recall["b"]["recall"] == 0.0


def test_new_silent_and_returning_classes():
    labels = ["a", "b"] * 200 + ["a"] * 600 + ["b"]
    _, events = watched(labels, gaps=20, least_silence=100)
    assert [(e["row"], e["event"], e["label"]) for e in events if "label" in e] == [
        (1, "new class", "a"),
        (2, "new class", "b"),
        (500, "class silent", "b"),
        (1001, "class back", "b"),
    ]


def test_columns_that_come_and_go():
    watch = StreamWatch(gaps=10, least_silence=50)
    found = []
    for row in range(1, 301):
        names = ["a", *(["b"] if row < 100 else []), *(["c"] if row >= 150 else [])]
        found += watch.observe("x", "x", {"x": 1.0}, names)
    columns = [(e["row"], e["event"], e["column"]) for e in found if "column" in e]
    assert columns == [(150, "column silent", "b"), (150, "new column", "c")] or columns == [
        (150, "new column", "c"),
        (150, "column silent", "b"),
    ]


def test_what_the_model_knew_is_not_new():
    watch = StreamWatch(row=500)
    watch.know(["a"], ["x"])
    assert watch.observe("a", "a", {"a": 1.0}, ["x"]) == []
    assert watch.observe("b", "a", {"a": 1.0}, ["x", "y"]) == [
        {"row": 502, "event": "new class", "label": "b"},
        {"row": 502, "event": "new column", "column": "y"},
    ]


def test_changes_are_events():
    watch = StreamWatch()
    found = watch.changes(
        [Change(7, "class moved", "a", None), Change(9, "common shift", None, 2.0)]
    )
    assert found == [
        {"row": 7, "event": "class moved", "label": "a"},
        {"row": 9, "event": "common shift", "size": 2.0},
    ]
    assert watch.event_counts() == {"class moved": 1, "common shift": 1}


@given(st.lists(st.sampled_from("abc"), max_size=150), st.integers(0, 149))
def test_a_state_continues_like_the_watch(labels, at):
    options = {"window": 20, "gaps": 3, "least_silence": 5}
    one, all_events = watched(labels, **options)
    other, events = watched(labels[:at], **options)
    other = StreamWatch(**options, state=other.state())
    for label in labels[at:]:
        events += other.observe(label, label, {label: 1.0}, ["a"])
    assert events == all_events
    assert str(other.state()) == str(one.state())


def test_stationary_classes_are_not_silent():
    rng = np.random.default_rng(0)
    presence, found = Presence(gaps=20, least=1000), []
    labels = rng.choice(8, size=100_000, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.01, 0.008, 0.002])
    for row, label in enumerate(labels.tolist(), 1):
        presence.see(label, row)
        if row % 50 == 0:
            found += presence.silent(row)
    assert found == []
