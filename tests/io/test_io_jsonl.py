import json

import numpy as np
import pytest

from mist.io import TableError, open_table


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.jsonl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def lines(*objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def test_keys_come_and_go(write):
    path = write(
        lines(
            {"a": 1, "y": "u"},
            {"b": "red", "y": "v", "a": None},
            {"y": "u", "b": None, "c": True},
            {"c": False, "a": 2.5, "y": "v", "b": "?"},
        )
    )
    data = open_table(path, "y").load()
    assert data.names == ("a", "b=red", "c=true", "c=false")
    nan = np.nan
    np.testing.assert_array_equal(
        data.X, [[1, nan, nan, nan], [nan, 1, nan, nan], [nan, nan, 1, 0], [2.5, nan, 0, 1]]
    )
    assert data.y.tolist() == ["u", "v", "u", "v"]
    assert data.rows.tolist() == [1, 2, 3, 4]


def test_a_column_is_what_most_of_its_values_are_in_the_whole_file(write):
    # The first batch has numbers only; a CSV file would be refused.
    path = write(lines(*({"a": i, "y": 0} for i in range(3)), *({"a": "x", "y": 1},) * 4))
    table = open_table(path, "y", chunk_rows=2)
    assert table.names == ("a=0", "a=1", "a=2", "a=x")
    assert table.load().y.dtype == np.int64


def test_text_option_makes_texts_of_numbers(write):
    path = write(lines({"zip": 1.0, "y": 1}, {"zip": 2, "y": 2}, {"zip": None, "y": 1}))
    table = open_table(path, "y", text_columns=["zip", "y"])
    assert table.names == ("zip=1", "zip=2")
    np.testing.assert_array_equal(table.load().X, [[1, 0], [0, 1], [np.nan, np.nan]])
    assert table.load().y.tolist() == ["1", "2", "1"]


def test_large_whole_numbers(write):
    labels = [2**60, 2**60 + 1, 10**30]
    path = write(lines(*({"a": label, "y": str(label)} for label in labels)))
    data = open_table(path, "y").load()
    assert data.y.tolist() == [str(label) for label in labels]
    assert data.X[:, 0].tolist() == [float(label) for label in labels]
    data = open_table(write(lines(*({"a": 1, "y": label} for label in labels[:2]))), "y").load()
    assert data.y.tolist() == labels[:2]


def test_blank_lines_are_skipped_but_counted(write):
    data = open_table(write('\n{"a": 1, "y": 0}\n\n{"a": 2, "y": 1}\n\n'), "y").load()
    assert data.rows.tolist() == [2, 4]


def test_rows_behind_the_limit_are_not_looked_at(write):
    path = write(lines({"a": 1, "y": 0}, {"a": 2, "y": 1}) + "oops\n")
    assert len(open_table(path, "y", limit=2).load().y) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("oops", r"^row 2: not valid JSON: Expecting value"),
        ("[1]", r"^row 2: a row must be an object, .*, not a list$"),
        ("7", r"^row 2: .*, not a number$"),
        (
            '{"a": [1], "y": 0}',
            r"^row 2, column 'a': a cell cannot be a list, .* its own key, .*: --ignore a$",
        ),
        ('{"a": {"b": 1}, "y": 0}', r"^row 2, column 'a': a cell cannot be an object, "),
        ('{"a": "x", "y": 0}', r"^row 2, column 'a': 'x' is not a number \(declare 'a' as a text"),
        ('{"a": Infinity, "y": 0}', r"^row 2, column 'a': infinity is not allowed"),
        ('{"a": 1}', r"^row 2, column 'y': the label is missing"),
        ('{"a": 1, "y": 0.5}', r"^row 2, column 'y': the label '0.5' is not an integer"),
    ],
)
def test_bad_rows(write, line, message):
    path = write('{"a": 1, "y": 0}\n' + line + '\n{"a": 2, "y": 0}\n')
    with pytest.raises(TableError, match=message):
        open_table(path, "y", chunk_rows=1).load()


def test_no_such_column(write):
    with pytest.raises(TableError, match=r"no column 'why'; columns: a, y$"):
        open_table(write('{"a": 1, "y": 0}\n'), "why")
    with pytest.raises(TableError, match=r"^table.jsonl is empty$"):
        open_table(write("\n\n"), "y")


def test_unlabelled_rows_are_told(write):
    path = write(lines({"a": 1}, {"a": 2, "y": "u"}, {"a": 3, "y": "?"}, {"a": 4, "y": "v"}))
    chunks = list(open_table(path, "y", chunk_rows=1, unlabelled=True))
    assert [chunk.labels() for chunk in chunks] == [[""], ["u"], [""], ["v"]]
    assert [None if c.known is None else c.known.tolist() for c in chunks] == [
        [False], None, [False], None,
    ]  # fmt: skip


def test_unlabelled_rows_among_integers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,\n2,7\n3,?\n")
    (chunk,) = open_table(path, "y", unlabelled=True)
    assert chunk.y.dtype == np.int64
    assert chunk.labels() == ["", 7, ""]
    assert chunk.known.tolist() == [False, True, False]
