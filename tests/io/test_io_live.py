import io
import json
import os
import threading
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mist.io import TableError, open_live
from mist.io.growing import MOST_TEXTS, GrowingEncoder
from mist.io.live import Ahead, LiveSource, make_records
from mist.io.livetable import LiveTable
from mist.io.pipe import PipeSource

CSV = "a,t,y\n1,red,u\n?,blue,\n3,?,v\n4,green,u\n"
JSON = (
    '{"a": 1, "t": "red", "y": "u"}\n{"t": "blue"}\n'
    '{"a": 3, "y": "v"}\n{"y": "u", "a": 4, "t": "green"}\n'
)


class Slices(LiveSource):
    """Records that come in batches of given sizes."""

    name = "slices"

    def __init__(self, records, sizes):
        self.records, self.sizes = records, sizes

    def batches(self, size, limit=None):
        start = 0
        for count in [*self.sizes, len(self.records)]:
            part = self.records[start : start + count]
            yield make_records(range(start + 1, start + 1 + len(part)), part)
            start += len(part)


def rows_of(table, size=1000):
    """Every row as a mapping of what it has, with its label."""
    rows = []
    for chunk in table.chunks(size):
        for i, label in enumerate(chunk.labels()):
            rows.append(({name: float(v[i]) for name, v in chunk.X.items()}, label))
    return rows


def pipe(text, **options):
    source = PipeSource(io.BytesIO(text.encode()), "standard input", **options)
    return LiveTable(source, "y")


def test_a_refused_batch_is_forgotten():
    encoder = GrowingEncoder()
    list(encoder.encode(make_records([1], [{"a": 1, "t": "red"}])))
    before = encoder.plain()
    for bad in ({"t": "blue", "a": "x"}, {"a": 2, "t=blue": 1, "t": "blue"}, {"b": 1, "t=red": 3}):
        with pytest.raises(TableError, match=r"is not a number|two columns would"):
            list(encoder.encode(make_records([2, 3], [{"t": "green"}, bad])))
        assert encoder.plain() == before


def test_csv_and_json_lines_bring_the_same_rows():
    nan = np.nan
    expected = [
        ({"a": 1.0, "t=red": 1.0}, "u"),
        ({"a": nan, "t=red": 0.0, "t=blue": 1.0}, ""),
        ({"a": 3.0, "t=red": nan, "t=blue": nan}, "v"),
        ({"a": 4.0, "t=red": 0.0, "t=blue": 0.0, "t=green": 1.0}, "u"),
    ]
    for text in (CSV, CSV.replace(",", ";"), CSV.replace(",", "\t"), JSON, "\n" + CSV):
        assert str(rows_of(pipe(text))) == str(expected)
    table = pipe(CSV)
    chunks = [chunk for chunk in table.chunks(1000) if len(chunk.y)]
    assert [chunk.rows.tolist() for chunk in chunks] == [[2], [3, 4], [5]]
    assert table.names == ("a", "t=red", "t=blue", "t=green")


def test_no_header_and_position_of_the_target():
    source = PipeSource(io.BytesIO(b"1,u\n2,v\n"), "pipe", header=False)
    table = LiveTable(source, "-1")
    assert rows_of(table) == [({"0": 1.0}, "u"), ({"0": 2.0}, "v")]
    assert table.target == "1"


cells = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["", "?"]))
texts = st.one_of(st.none(), st.sampled_from(["x", "y", "z", "NA"]))
objects = st.fixed_dictionaries(
    {}, optional={"n": cells, "t": texts, "y": st.sampled_from(["u", "v"])}
)


@example([{"t": None, "n": None}, {"n": 0}, {"t": "x"}], [])
@given(st.lists(objects, max_size=12), st.lists(st.integers(1, 4), max_size=12))
def test_nothing_depends_on_how_rows_arrive(records, sizes):
    def told(sizes):
        rows = []
        table = LiveTable(Slices(records, sizes), "y")
        for chunk in table.chunks(1000):
            for i, label in enumerate(chunk.labels()):
                # What is missing need not be said: a model takes an absent column so.
                row = {name: v[i] for name, v in chunk.X.items() if v[i] == v[i]}
                rows.append((row, label, set(chunk.names)))
        return rows, table.plain()

    assert told(sizes) == told([1] * len(records))


def test_a_column_of_numbers_stays_one():
    with pytest.raises(TableError, match=r"^row 3, column 'a': 'x' is not a number"):
        rows_of(pipe("a,y\n1,0\nx,0\n"))
    with pytest.raises(TableError, match=r"^row 2, column 'a': infinity is not allowed"):
        rows_of(pipe('{"a": 1, "y": 0}\n{"a": Infinity, "y": 0}\n'))


def test_texts_beyond_the_most_have_no_column():
    encoder = GrowingEncoder(["t"])
    records = make_records(range(MOST_TEXTS + 5), [{"t": i} for i in range(MOST_TEXTS + 5)])
    parts = list(encoder.encode(records))
    assert len(encoder.names) == MOST_TEXTS
    _, last = parts[-1]
    assert [values[-1] for values in last.values()] == [0.0] * MOST_TEXTS
    assert encoder.crowded == {"t": str(MOST_TEXTS)}
    # Known texts again are no crowd.
    full = GrowingEncoder(["t"])
    for _ in range(2):
        rows = [{"t": i} for i in range(MOST_TEXTS)]
        list(full.encode(make_records(range(MOST_TEXTS), rows)))
    assert not full.crowded


def test_a_copy_of_an_encoder_goes_on_like_it():
    first, second = make_records([1], [{"t": "x", "n": 1}]), make_records([2], [{"t": "y", "n": 2}])
    one, other = GrowingEncoder(), GrowingEncoder()
    list(one.encode(first))
    other.restore(json.loads(json.dumps(one.plain())))
    assert str(list(other.encode(second))) == str(list(one.encode(second)))
    assert str(other.apply(first)) == "{'t=x': array([1.]), 't=y': array([0.]), 'n': array([1.])}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^standard input is empty$"),
        ("\n\n", r"^standard input is empty$"),
        ("a,y\n1,0\n2\n", r"^row 3: 1 cell, but the first row has 2$"),
        ("a,a\n1,0\n", r"^row 1: the column name 'a' occurs twice \(if .*--no-header\)$"),
        ("a,b\n1,0\n", r"^standard input has no column 'y'; columns: a, b$"),
        ('{"a": 1, "y": [0]}\n', r"^row 1, column 'y': a cell cannot be a list"),
        ('{"a": 1, "Y": 0}\n' * 1002, r"no row so far has the column 'y' .*did you mean 'Y'\?$"),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(TableError, match=message):
        rows_of(pipe(text))


def test_compressed_and_other_bytes():
    import gzip

    for data, message in (
        (gzip.compress(b"a,y\n1,0\n"), r"^pipe is compressed; unpack it first: zcat"),
        (b"a,y\n1,caf\xe9\n", r"^pipe is not UTF-8 text"),
    ):
        with pytest.raises(TableError, match=message):
            rows_of(LiveTable(PipeSource(io.BytesIO(data), "pipe"), "y"))


def test_rows_before_a_bad_one_are_handed_over():
    chunks = pipe("a,y\n1,0\n2,1\n3\n").chunks(1000)
    assert next(chunks).labels() == [0, 1]
    with pytest.raises(TableError, match=r"^row 4: 1 cell"):
        list(chunks)


def test_rows_come_as_they_arrive_and_a_pause_is_told():
    read, write = os.pipe()
    chunks = LiveTable(PipeSource(os.fdopen(read, "rb"), "pipe"), "y").chunks(1000)
    with os.fdopen(write, "wb", buffering=0) as feed:
        feed.write(b"a,y\n1,u\n2,")
        assert next(chunks).labels() == ["u"]
        start = time.monotonic()
        assert next(chunks).labels() == []
        assert 0.2 < time.monotonic() - start < 5.0
        feed.write(b"v\n3,u\n")
        assert [label for _ in range(2) for label in next(chunks).labels()][:1] == ["v"]
    assert all(not len(chunk.y) or chunk.labels() == ["u"] for chunk in chunks)


def test_reading_ahead_is_bounded():
    taken = []

    def items():
        for i in range(1000):
            taken.append(i)
            yield i

    ahead = Ahead(items(), most=10)
    deadline = time.monotonic() + 10
    while len(taken) < 11 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(taken) == 11
    got = []
    while (some := ahead.take(3)) is not None:
        assert 0 < len(some) <= 3
        got += some
    assert got == list(range(1000))
    assert threading.active_count() < 50


def test_a_named_pipe(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    feeder = threading.Thread(target=lambda: path.write_text("a,y\n1,u\n"))
    feeder.start()
    assert rows_of(open_live(str(path), "y")) == [({"a": 1.0}, "u")]
    feeder.join()


def test_what_a_pipe_cannot_bring():
    with pytest.raises(TableError, match=r"a pipe can be csv, tsv, jsonl, not parquet"):
        open_live("-", "y", kind="parquet")
    with pytest.raises(TableError, match=r"the target is not given"):
        open_live("-", None)
