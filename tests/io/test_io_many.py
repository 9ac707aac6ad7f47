import gzip
import os

import numpy as np
import pytest

from mist.io import TableError, find_files, open_table


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pattern_is_read_as_one_table_in_natural_order(here):
    (here / "log10.csv").write_text("y,a,t\nv,10,red\n")
    (here / "log9.csv").write_text("a,t,y\n8,blue,u\n9,green,v\n")
    (here / "log9.txt").write_text("nonsense")
    table = open_table("log*.csv", "y", chunk_rows=1)
    assert table.names == ("a", "t=blue", "t=green", "t=red")
    chunks = list(table)
    assert [chunk.X[0].tolist() for chunk in chunks] == [
        [8, 1, 0, 0], [9, 0, 1, 0], [10, 0, 0, 1],
    ]  # fmt: skip
    assert [chunk.places() for chunk in chunks] == [["log9.csv:2"], ["log9.csv:3"], ["log10.csv:2"]]
    shares = [chunk.fraction for chunk in chunks]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert table.load().rows.tolist() == [2, 3, 2]


def test_files_in_the_order_given_and_folders_of_any_depth(here):
    (here / "x" / "y").mkdir(parents=True)
    for name in ("b.csv", "x/a.csv", "x/y/c.csv"):
        (here / name).write_text("a,y\n1,0\n")
    assert [str(f.path) for f in find_files(["b.csv", "x/a.csv"])] == ["b.csv", "x/a.csv"]
    assert [str(f.path) for f in find_files(["**/*.csv"])] == ["b.csv", "x/a.csv", "x/y/c.csv"]


def test_a_file_whose_name_looks_like_a_pattern(here):
    (here / "a[1].csv").write_text("a,y\n1,0\n")
    assert open_table("a[1].csv", "y").load().X.tolist() == [[1.0]]


def test_kinds_may_differ_and_files_may_be_compressed(here):
    (here / "1.csv").write_text("a,y\n1,0\n")
    (here / "2.csv.gz").write_bytes(gzip.compress(b"a;y\n2;1\n"))
    (here / "3.arff").write_text("@attribute a numeric\n@attribute y {0,1}\n@data\n3,0\n")
    data = open_table(["1.csv", "2.csv.gz", "3.arff"], "y").load()
    assert data.X[:, 0].tolist() == [1, 2, 3]
    assert data.y.tolist() == [0, 1, 0]


def test_json_lines_may_have_other_keys_in_each_file(here):
    (here / "1.jsonl").write_text('{"a": 1, "y": 0}\n')
    (here / "2.jsonl").write_text('{"b": "x", "y": 1}\n')
    data = open_table(["1.jsonl", "2.jsonl"], "y").load()
    assert data.names == ("a", "b=x")
    np.testing.assert_array_equal(data.X, [[1, np.nan], [np.nan, 1]])


def test_limit_over_files(here):
    for name in ("1.csv", "2.csv"):
        (here / name).write_text("a,y\n1,0\n2,1\n")
    assert len(open_table(["1.csv", "2.csv"], "y", limit=3).load().y) == 3


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            "a,b,y\n1,2,0\n",
            r"^1.csv has no column 'b', which 2.csv has; files that are read as one",
        ),
        ("y\n0\n", r"^2.csv has no column 'a', which 1.csv has"),
        ("a,y\nx,0\n", r"^2.csv, row 2, column 'a': 'x' is not a number"),
        ("a,y\n1\n", r"^2.csv, row 2: 1 cell, but the first row has 2"),
        ("a,y\n1,\n", r"^2.csv, row 2, column 'y': the label is missing"),
    ],
)
def test_errors_name_the_file(here, second, message):
    (here / "1.csv").write_text("a,y\n1,0\n")
    (here / "2.csv").write_text(second)
    with pytest.raises(TableError, match=message):
        open_table(["1.csv", "2.csv"], "y").load()


def test_nothing_matches(here):
    with pytest.raises(TableError, match=r"^no file matches 'no\*.csv'$"):
        open_table("no*.csv", "y")


def test_a_named_pipe_is_no_table(here):
    os.mkfifo("pipe.csv")
    with pytest.raises(TableError, match=r"^'pipe.csv' is not a regular file$"):
        open_table("pipe.csv", "y")


def test_format_says_what_a_file_is(here):
    (here / "a.log").write_text("a\ty\n1,5\tu\n")
    assert open_table("a.log", "y", kind="tsv", text_columns=["a"]).names == ("a=1,5",)


def write_parquet(path, columns):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra 'frames'")
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def test_a_folder_of_parquet_files_with_partitions(here):
    for year, kind, name, values in (
        (2023, "a%20b", "1.parquet", [1.0]),
        (2023, "c", "10.parquet", [3.0]),
        (2023, "c", "9.parquet", [2.0]),
        (2024, "__HIVE_DEFAULT_PARTITION__", "1.parquet", [4.0, 5.0]),
    ):
        path = here / "set" / f"year={year}" / f"kind={kind}" / name
        write_parquet(path, {"v": values, "y": ["u"] * len(values)})
    (here / "set" / "_SUCCESS.parquet").write_text("")
    table = open_table("set", "y")
    assert table.names == ("v", "year", "kind=a b", "kind=c")
    nan = np.nan
    np.testing.assert_array_equal(
        table.load().X,
        [
            [1, 2023, 1, 0],
            [2, 2023, 0, 1],
            [3, 2023, 0, 1],
            [4, 2024, nan, nan],
            [5, 2024, nan, nan],
        ],
    )
    assert list(table)[-1].places() == [
        f"set/year=2024/kind=__HIVE_DEFAULT_PARTITION__/1.parquet:{row}" for row in (1, 2)
    ]


def test_a_damaged_parquet_file_in_a_folder_is_named(here):
    write_parquet(here / "set" / "1.parquet", {"v": [1.0], "y": [0]})
    (here / "set" / "2.parquet").write_text("nonsense")
    with pytest.raises(TableError, match=r"^2.parquet is not a valid Parquet file"):
        open_table("set", "y")
