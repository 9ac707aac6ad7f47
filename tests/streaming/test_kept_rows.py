import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist import MistClassifier
from mist.persistence import load_with_attachment, save
from mist.streaming import DelayedLabels, Kept, KeptRows


def kept(time, **row):
    return Kept(row, [], time)


def test_rows_leave_by_number_and_by_age():
    rows = KeptRows(most=3, seconds=10)
    for place in range(5):
        rows.keep(str(place), kept(float(place)))
    assert list(rows) == ["2", "3", "4"]
    rows.expire(12.5)
    assert list(rows) == ["3", "4"]
    assert rows.dropped == {"full": 2, "old": 1, "replaced": 0}


def test_rows_leave_when_they_take_too_much_memory():
    rows = KeptRows(most_bytes=10_000)
    for place in range(100):
        rows.keep(str(place), kept(float(place), text="x" * 1000, number=place))
    assert 3 <= len(rows) <= 6
    assert rows.dropped["full"] == 100 - len(rows)
    copy = KeptRows(most_bytes=10_000, state=rows.state())
    copy.keep("100", kept(100.0, text="x" * 1000, number=1))
    assert len(copy) == len(rows)


def test_the_same_id_replaces_its_row():
    rows = KeptRows()
    rows.keep("a", kept(1.0, size=1))
    rows.keep("a", kept(2.0, size=2))
    assert rows.take("a").row == {"size": 2}
    assert rows.dropped["replaced"] == 1
    assert rows.take("a") is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.dictionaries(st.text(), st.none() | st.floats(allow_nan=False) | st.text()),
            st.booleans(),
        )
    ),
    st.integers(1, 4),
)
def test_a_state_continues_like_the_rows(steps, most):
    rows, time = KeptRows(most, 5.0), 0.0
    for id, row, again in steps:
        time += 1.0
        rows.keep(id, Kept(row, [None, []], time))
        if again:
            rows = KeptRows(most, 5.0, rows.state())
        assert len(rows) <= most
    copy = KeptRows(most, 5.0, rows.state())
    assert [(id, copy.get(id)) for id in copy] == [(id, rows.get(id)) for id in rows]
    assert copy.dropped == rows.dropped


@pytest.mark.parametrize("most", [0, -1])
def test_a_limit_below_one_is_refused(most):
    with pytest.raises(ValueError, match="most"):
        KeptRows(most)


def test_an_age_of_nothing_is_refused():
    with pytest.raises(ValueError, match="seconds"):
        KeptRows(1, 0)


@pytest.mark.parametrize("count", [0, 1, 400, 901])
def test_rows_are_written_a_few_at_a_time(monkeypatch, count):
    rows, sizes = KeptRows(), []
    for place in range(count):
        rows.keep(str(place), Kept({"size": place}, ["x", [["x", 0.5]]], 1.0))
    whole = json.dumps([[id, *rows.get(id)] for id in rows])
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda each: sizes.append(len(each)) or dumps(each))
    assert rows.state()["rows"].tobytes().decode() == whole
    assert sum(sizes) == count
    assert max(sizes, default=0) <= 500


def test_a_state_that_is_not_one_is_refused():
    state = KeptRows().state()
    state["rows"] = state["rows"][:-1]
    with pytest.raises(ValueError, match="no valid rows"):
        KeptRows(state=state)


def test_a_late_label_learns_the_row_as_it_was(tmp_path):
    now = [0.0]
    late = DelayedLabels(MistClassifier.paper(), seconds=60, clock=lambda: now[0])
    row = {"size": 1.0}
    late.predict_one(row, "a")
    row["size"] = 99.0
    late.predict_one({"size": 5.0}, "b")
    save(late.model, tmp_path / "late.mist", attachment=late.state())
    model, state = load_with_attachment(tmp_path / "late.mist")
    late = DelayedLabels(model, seconds=60, state=state, clock=lambda: now[0])
    assert late.label_many([("a", "small"), ("c", "small"), ("a", "small")]) == 1
    assert late.unknown == 2
    twin = MistClassifier.paper().learn_one({"size": 1.0}, "small")
    assert late.model.export_text() == twin.export_text()
    now[0] = 61.0
    assert not late.label("b", "small")
    assert late.dropped["old"] == 1
    assert len(late) == 0


def test_a_row_that_is_refused_stays():
    late = DelayedLabels(MistClassifier.paper().learn_one({"size": 1.0}, "small"))
    late.predict_one({"size": 2.0}, "a")
    with pytest.raises(ValueError, match="label"):
        late.label("a", None)
    assert len(late) == 1
    assert json.dumps(late.dropped)
