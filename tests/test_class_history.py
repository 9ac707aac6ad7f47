"""What a run counts for its report, next to the obvious counts over all rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist.presets import make_model
from mist.streaming.runs import class_history
from mist.streaming.runs.class_history import MOST_BINS, Classes, Mistakes, Timeline
from mist.streaming.runs.column_history import Columns
from mist.streaming.runs.session import Session

parts = st.lists(st.lists(st.integers(0, 4), max_size=60), max_size=12)


def flat(parts):
    return [row for part in parts for row in part]


@given(parts, st.integers(0, 12))
def test_a_timeline_counts_rows_by_class_and_part(parts, stop):
    timeline = Timeline()
    for i, part in enumerate(parts):
        if i == stop:
            timeline = Timeline(**timeline.state())
        timeline.add(np.array(part, dtype=np.int64))
    rows, width = np.array(flat(parts), dtype=int), timeline.width
    table = timeline.table(5)
    assert table.shape[1] == -(-len(rows) // width) <= MOST_BINS
    for i, counts in enumerate(table.T):
        part = rows[i * width : (i + 1) * width]
        assert counts.tolist() == np.bincount(part, minlength=5).tolist()


@given(parts, st.integers(0, 12))
def test_classes_and_constants_are_those_of_a_loop(parts, stop):
    classes = Classes()
    for i, part in enumerate(parts):
        if i == stop:
            classes = Classes(classes.state())
        codes = classes.add([f"c{label}" for label in part])
        assert [list(classes.first_rows)[code] for code in codes] == [f"c{k}" for k in part]
    rows = [f"c{label}" for label in flat(parts)]
    assert list(classes.first_rows) == list(dict.fromkeys(rows))
    assert all(rows.index(label) == row for label, row in classes.first_rows.items())
    assert dict(zip(classes.first_rows, classes.rows.tolist(), strict=True)) == Counter(rows)
    same = [i > 0 and label == rows[i - 1] for i, label in enumerate(rows)]
    assert classes.no_change.shares().tolist() == same
    leader, counts, right = None, Counter(), []
    for label in rows:
        right.append(label == leader)
        counts[label] += 1
        if leader is None or counts[label] > counts[leader]:
            leader = label
    assert classes.majority.shares().tolist() == right
    if rows:
        assert classes.accuracies() == (np.mean(right), np.mean(same))


def test_a_leader_far_ahead_is_counted_like_any_other():
    ahead, loop = Classes(), Classes()
    labels = ["a"] * 50 + ["b", "a"] * 20 + ["b"] * 80
    for begin in range(0, len(labels), 10):
        ahead.add(labels[begin : begin + 10])
    loop.add(labels)
    assert ahead.majority.shares().tolist() == loop.majority.shares().tolist()
    assert ahead.rows.tolist() == loop.rows.tolist() == [70, 100]


@given(parts, st.integers(0, 12), st.randoms(use_true_random=False))
def test_hits_and_confusions(parts, stop, random):
    mistakes, seen = Mistakes(), []
    for i, part in enumerate(parts):
        if i == stop:
            mistakes = Mistakes(mistakes.state())
        predicted = [random.randint(-1, 4) for _ in part]
        mistakes.add(np.array(part, dtype=np.int64), np.array(predicted, dtype=np.int64))
        seen += zip(part, predicted, strict=True)
    hits = Counter(code for code, other in seen if code == other)
    assert mistakes.hits(5).tolist() == [hits[code] for code in range(5)]
    assert mistakes.by_time.table(5).sum(axis=1).tolist() == mistakes.hits(5).tolist()
    pairs = Counter((code, other) for code, other in seen if code != other and other >= 0)
    found = zip(*(each.tolist() for each in mistakes.confusions()), strict=True)
    assert {(code, other): rows for code, other, rows in found} == pairs
    assert (np.diff(mistakes.confusions()[2]) <= 0).all()


def test_rare_confusions_are_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(class_history, "MOST_PAIRS", 4)
    mistakes = Mistakes()
    codes = np.repeat(np.arange(6), [5, 4, 3, 2, 1, 1])
    mistakes.add(codes, codes + 1)
    assert mistakes.confusions()[2].tolist() == [5, 4]
    assert Mistakes(mistakes.state()).forgotten == 7


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0.5, 1.0, 7.0, float("nan")])), min_size=2
    ),
    st.integers(1, 9),
)
def test_separation_is_the_correlation_ratio(rows, step):
    codes, values = (np.array(each) for each in zip(*rows, strict=True))
    columns = Columns()
    for begin in range(0, len(codes), step):
        part = slice(begin, begin + step)
        columns = Columns(columns.state())
        columns.add(1e6 + values[part, None], codes[part])
    known = ~np.isnan(values)
    x, k = values[known], codes[known]
    share = columns.separation()[0][0]
    if len(np.unique(x)) < 2:
        assert np.isnan(share)
        return
    between = sum(len(x[k == c]) * (x[k == c].mean() - x.mean()) ** 2 for c in np.unique(k))
    assert share == pytest.approx(between / (len(x) * x.var()), abs=1e-6)


def test_columns_that_come_later_and_too_many_cells(monkeypatch):
    columns = Columns()
    columns.add({"a": np.array([1.0, 2.0])}, np.array([0, 1]))
    columns.add({"b": np.array([5.0, 6.0]), "a": np.array([1.0, 2.0])}, np.array([0, 1]))
    assert columns.names == ["a", "b"]
    assert columns.separation()[0] == pytest.approx([1.0, 1.0])
    monkeypatch.setattr("mist.streaming.runs.column_history.MOST_CELLS", 3)
    columns.add({"a": np.array([1.0])}, np.array([0]))
    assert len(columns.separation()[0]) == 0
    again = Columns(columns.state())
    again.add({"a": np.array([1.0])}, np.array([0]))
    assert len(again.separation()[0]) == 0


def test_a_state_with_counts_of_classes_that_did_not_occur_is_refused():
    models = {"mist-g": make_model("mist-g")}
    for part, name, counts in (
        ("mistakes", "hits", np.array([3])),
        ("mistakes", "pairs", np.array([1])),
        ("columns", "sums", np.array([1.0])),
    ):
        state = Session(models).state()
        holder = state[part]["mist-g"] if part == "mistakes" else state[part]
        holder[name] = counts
        if name == "pairs":
            holder["pair_rows"] = np.array([1])
        if name == "sums":
            holder |= {"weights": counts, "origin": np.zeros(1), "squares": np.zeros(1)}
        with pytest.raises(ValueError, match="classes that did not occur"):
            Session(models, state)
