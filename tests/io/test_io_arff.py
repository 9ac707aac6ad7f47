import numpy as np
import pytest

from mist.io import TableError, open_table

HEADER = """% a comment
@RELATION 'play tennis'

@attribute outlook {sunny, overcast, 'light rain'}
@ATTRIBUTE temperature NUMERIC
@attribute 'relative humidity' real
@attribute note string
@attribute play {yes, no}
@DATA
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "table.arff"
        path.write_text(text)
        return path

    return write


def read(path, target, **options):
    table = open_table(path, target, **options)
    return table, table.load()


def test_all_kinds_of_attributes(write):
    path = write(
        HEADER + "sunny, 21, 0.5, hot, yes\n% comment\n\n"
        "'light rain',?,1e-1,\"it's, well, wet\",no\novercast,3,?,?,no\n"
    )
    table, data = read(path, "play")
    assert table.names == (
        "outlook=sunny",
        "outlook=overcast",
        "outlook=light rain",
        "temperature",
        "relative humidity",
        "note=hot",
        "note=it's, well, wet",
    )
    assert table.categorical == (0, 1, 2, 5, 6)
    assert table.text_columns == ("note",)  # nominal values are declared: nothing to collect
    nan = np.nan
    np.testing.assert_array_equal(
        data.X,
        [[1, 0, 0, 21, 0.5, 1, 0], [0, 0, 1, nan, 0.1, 0, 1], [0, 1, 0, 3, nan, nan, nan]],
    )
    assert data.y.tolist() == ["yes", "no", "no"]
    assert data.rows.tolist() == [10, 13, 14]


def test_nominal_only_needs_no_first_pass(write):
    path = write("@relation r\n@attribute c {a,b}\n@attribute y {0,1}\n@data\na,0\nb,1\n")
    table, data = read(path, -1)
    assert table.scanned == 0
    assert data.y.dtype == np.int64
    assert data.y.tolist() == [0, 1]


def test_declared_values_win_over_missing_marks(write):
    path = write("@relation r\n@attribute c {NA,-}\n@attribute y {-,b}\n@data\nNA,-\n-,b\n?,b\n")
    _, data = read(path, "y")
    np.testing.assert_array_equal(data.X, [[1, 0], [0, 1], [np.nan, np.nan]])
    assert data.y.tolist() == ["-", "b", "b"]


def test_chunks(write):
    path = write(
        "@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n"
        + "".join(f"{i},{i % 2}\n" for i in range(250))
    )
    chunks = list(open_table(path, "y", chunk_rows=100))
    assert [len(chunk.y) for chunk in chunks] == [100, 100, 50]
    assert np.concatenate([c.X[:, 0] for c in chunks]).tolist() == list(range(250))
    assert chunks[0].y.dtype == np.int64
    assert chunks[-1].fraction == 1.0


ROW = "sunny,21,0.5,hot,yes\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROW + "sunny,warm,0.5,hot,yes\n", r"^row 11, column 'temperature': 'warm' is not a num"),
        (ROW + "foggy,1,0.5,hot,yes\n", r"^row 11, column 'outlook': unknown category 'foggy'$"),
        (ROW + "sunny,1,0.5,hot,maybe\n", r"^row 11, column 'play': unknown category 'maybe'$"),
        (
            ROW + "sunny,1,0.5,hot,?\n",
            r"^row 11, column 'play': the label is missing \(--unlabelled predict takes",
        ),
        (ROW + "sunny,1,0.5\n", r"^row 11: 3 cells, but the file declares 5 attributes$"),
        (ROW + "\n{0 sunny, 4 yes}\n", r"^row 12: sparse ARFF rows are not supported"),
        (ROW + "sunny,inf,0.5,hot,yes\n", r"^row 11, column 'temperature': infinity"),
        (ROW + "'sunny,1,0.5,hot,yes\n", r"^row 11: a quote is left open or misplaced$"),
        ("", r"^table.arff is empty: it has columns, but no rows$"),
    ],
)
def test_bad_rows(write, rows, message):
    with pytest.raises(TableError, match=message):
        read(write(HEADER + rows), "play")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^table.arff is empty$"),
        ("% only a comment\n", r"^table.arff is empty$"),
        ("@relation r\n@attribute a numeric\n", r"^table.arff has no @data line$"),
        ("@relation r\n@data\n1\n", r"^row 2: table.arff declares no @attribute$"),
        ("@relation r\na,b\n", r"^row 2: expected '@attribute NAME TYPE', found 'a,b'$"),
        ("@relation r\n@attribute a date\n", r"^row 2: attribute 'a' has type 'date'"),
        (
            "@relation r\n@attribute a {x,y\n",
            r"^row 2: the values of 'a' have no closing brace on the same line$",
        ),
        (
            "@relation r\n@attribute a real\n@attribute a real\n",
            r"^row 3: the attribute 'a' occurs twice$",
        ),
    ],
)
def test_bad_headers(write, text, message):
    with pytest.raises(TableError, match=message):
        open_table(write(text), "play")


def test_missing_target(write):
    with pytest.raises(TableError, match=r"^table.arff has no column 'class'; columns: outlook, "):
        open_table(write(HEADER + ROW), "class")
