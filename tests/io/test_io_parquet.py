import datetime
import sys
import tracemalloc

import numpy as np
import pytest

from mist.io import TableError, open_table

pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra 'frames'")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write(tmp_path):
    def write(columns, **options):
        path = tmp_path / "table.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


def test_all_kinds_of_columns(write):
    path = write(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "f": [0.5, float("nan"), None],
            "b": [True, False, None],
            "t": ["red", None, "blue"],
            "d": pa.array(["u", "v", "u"]).dictionary_encode(),
            "y": ["cat", "dog", "cat"],
        }
    )
    table = open_table(path, "y")
    data = table.load()
    assert table.names == ("i", "f", "b=True", "b=False", "t=red", "t=blue", "d=u", "d=v")
    assert table.categorical == (2, 3, 4, 5, 6, 7)
    nan = np.nan
    np.testing.assert_array_equal(
        data.X,
        [
            [1, 0.5, 1, 0, 1, 0, 1, 0],
            [nan, nan, 0, 1, nan, nan, 0, 1],
            [3, nan, nan, nan, 0, 1, 1, 0],
        ],
    )
    assert data.y.tolist() == ["cat", "dog", "cat"]
    assert data.rows.tolist() == [1, 2, 3]


def test_batches_across_row_groups(write):
    path = write({"a": np.arange(1000.0), "y": np.arange(1000) % 4}, row_group_size=130)
    chunks = list(open_table(path, "y", chunk_rows=100))
    assert max(len(chunk.y) for chunk in chunks) <= 100
    assert np.concatenate([c.X[:, 0] for c in chunks]).tolist() == list(range(1000))
    assert np.concatenate([c.y for c in chunks]).tolist() == [i % 4 for i in range(1000)]
    assert np.concatenate([c.rows for c in chunks]).tolist() == list(range(1, 1001))
    assert chunks[0].y.dtype == np.int64


def test_categories_first_seen_late(write):
    path = write({"c": ["red"] * 250 + ["green"], "y": [0] * 251})
    table = open_table(path, "y", chunk_rows=100)
    assert table.names == ("c=red", "c=green")
    assert table.scanned == 251


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1.0, 2.0], [1, 2]),
        ([1.5, 2.0], ["1.5", "2"]),
        ([True, False], ["True", "False"]),
    ],
)
def test_labels(write, labels, expected):
    assert open_table(write({"a": [1.0, 2.0], "y": labels}), "y").load().y.tolist() == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": [1.0, 2.0], "y": [1, None]},
            r"^row 2, column 'y': the label is missing \(--unlabelled predict takes such rows\)$",
        ),
        (
            {"a": [1.0, 2.0], "y": ["u", None]},
            r"^row 2, column 'y': the label is missing \(--unlabelled predict takes such rows\)$",
        ),
        ({"a": [1.0, float("inf")], "y": [0, 1]}, r"^row 2, column 'a': infinity"),
        ({"a": [1.0, 2.0], "z": [0, 1]}, r"^table.parquet has no column 'y'; columns: a, z$"),
        (
            {"a": [datetime.date(2020, 1, 1)], "y": [0]},
            r"^column 'a' has type date32\[day\]; only numbers, booleans and texts are read: "
            r"leave it out: --ignore a$",
        ),
    ],
)
def test_errors(write, columns, message):
    path = write(columns)
    with pytest.raises(TableError, match=message):
        open_table(path, "y").load()


def test_no_rows(write):
    path = write({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    with pytest.raises(TableError, match=r"^table.parquet is empty: it has columns, but no rows$"):
        open_table(path, "y")


def test_no_parquet_file(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_text("a,y\n1,0\n")
    with pytest.raises(TableError, match=r"^table.parquet is not a valid Parquet file: ") as error:
        open_table(path, "y")
    assert "\n" not in str(error.value)


def test_without_pyarrow(write, monkeypatch):
    path = write({"a": [1.0], "y": [0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"need pyarrow: pip install 'mist-tree\[frames\]'$"):
        open_table(path, "y")


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary", "bool"])
def test_texts_of_every_type_are_read_alike(write, kind):
    texts = ["true", None, "false", "true"]
    if kind == "dictionary":
        column = pa.array(texts).dictionary_encode()
    elif kind == "bool":
        column = pa.array([True, None, False, True])
    else:
        column = pa.array(texts, getattr(pa, kind)())
    data = open_table(write({"a.b": column, "y": [0, 1, 0, 1]}), "y")
    names = tuple(f"a.b={text}".lower() for text in ("true", "false"))
    assert tuple(name.lower() for name in data.names) == names
    np.testing.assert_array_equal(data.load().X[:, 0], [1, np.nan, 0, 1])


def peak_of(read):
    """Most bytes that Python held at once; what pyarrow holds is told by its pool."""
    pool = pa.default_memory_pool()
    tracemalloc.start()
    most, before = 0, pool.bytes_allocated()
    try:
        for _ in read():
            most = max(most, pool.bytes_allocated() - before)
        return most + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_text_that_stands_in_every_row_is_held_once(write):
    long = pa.array(["x" * 50_000 + " "])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), long)
    path = write({"t": column, "a": np.zeros(20_000), "y": np.zeros(20_000, int)})
    assert path.stat().st_size < 100_000
    assert peak_of(lambda: open_table(path, "y")) < 30 * 2**20
    assert len(open_table(path, "a").load().y) == 20_000


def test_a_batch_of_long_texts_is_a_short_one(write, monkeypatch):
    path = write({"t": [f"{i:1000}" for i in range(100)], "y": [0] * 100}, use_dictionary=False)
    monkeypatch.setattr("mist.io.parquet.MOST_AT_ONCE", 20_000)
    table = open_table(path, "y", ignore=["y"], text_columns=["t"])
    chunks = list(table)
    assert max(len(chunk.y) for chunk in chunks) < 25
    assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == list(range(1, 101))


def test_a_text_that_is_not_utf8_is_refused(write):
    bad = pa.array([b"a", b"\xff"]).view(pa.string())
    path = write({"t": bad, "y": [0, 1]})
    message = r"^table.parquet is not a valid Parquet file: .*UTF-?8"
    with pytest.raises(TableError, match=f"(?i){message}"):
        open_table(path, "y").load()


@pytest.mark.parametrize("number", [False, True])
def test_codes_that_are_no_places_in_a_dictionary_are_refused(write, number):
    values = [1.5, 2.5, 1.5, 3.5] if number else ["u", "v", "u", "w"]
    path = write({"t": values * 2, "y": [0, 1] * 4}, compression="none", store_schema=False)
    data = path.read_bytes()
    # Eight codes of two bits: 0, 1, 0, 2 become 3, of which there is none.
    assert data.count(b"\x02\x03\x84\x84") == 1
    path.write_bytes(data.replace(b"\x02\x03\x84\x84", b"\x02\x03\xff\xff"))
    with pytest.raises(TableError, match=r"^table.parquet is not a valid Parquet file: "):
        open_table(path, "y").load()
