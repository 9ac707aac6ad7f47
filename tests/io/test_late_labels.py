"""Rows that wait for labels in a table: which wait, what is filled in, what is counted."""

import numpy as np
import pytest

from mist.io import TableError, open_table
from mist.io.late_labels import LateLabels


def roles(late, ids, labels, **columns):
    table = {"id": ids, "y": labels, **columns}
    _, rows = late.fill(table, list(range(2, 2 + len(ids))), "y")
    return [row.role for row in rows]


def test_what_each_row_is():
    late = LateLabels("id")
    ids = ["a", "b", "a", "", "", "c", "d", "a"]
    labels = ["", "?", "x", "y", "", "z", "z", "x"]
    sizes = ["1", "2", "", "4", "5", "6", "", " "]
    found = roles(late, ids, labels, size=sizes)
    assert found == ["asked", "asked", "answer", "", "", "", "unknown", "unknown"]
    assert (late.asked, late.answered, late.unknown, len(late)) == (2, 1, 2, 1)
    assert late.summary() == "2 rows asked, 1 answered, 1 waits, 2 labels without a row"


def test_a_label_without_its_row_teaches_nothing():
    table = {"id": ["a", "b"], "y": np.array([1, 2]), "size": ["", "3"]}
    columns, _ = LateLabels("id").fill(table, [1, 2], "y")
    assert list(columns["y"]) == ["", "2"]
    assert columns["size"] == ["", "3"]


@pytest.mark.parametrize(
    ("asked", "later", "filled"),
    [
        (["1.5", "tall"], ["", "7"], ["1.5", "7"]),
        (np.array([1.5, 2.0]), np.array([np.nan, 7.0]), [1.5, 7.0]),
        (np.array([1, 2]), np.array([8, 7]), [1, 7]),
        (np.array([1, 2]), ["", "tall"], ["1", "tall"]),
        (["short", "x"], np.array([np.nan, 7.0]), ["short", "7"]),
        (["true", "x"], None, ["true", ""]),
        (np.array([1.5, 2.0]), None, [1.5, np.nan]),
        (None, np.array([5.0, 7.0]), [np.nan, 7.0]),
    ],
)
def test_cells_of_the_row_that_waited_replace_those_of_its_label(asked, later, filled):
    late = LateLabels("id")
    first = {"id": ["a", "b"], "y": ["", ""], "size": asked, "hue": ["red", ""]}
    second = {"id": ["a", "c"], "y": ["x", "x"], "size": later, "hue": ["blue", "green"]}
    late.fill({name: cells for name, cells in first.items() if cells is not None}, [2, 3], "y")
    given = {name: cells for name, cells in second.items() if cells is not None}
    columns, rows = late.fill(given, [4, 5], "y")
    assert rows[0].role == "answer"
    found = columns["size"]
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, filled)
    else:
        assert list(found) == filled
    assert columns["hue"] == ["red", "green"]


def test_rows_that_are_too_many_or_wait_too_long_are_dropped_and_counted():
    late = LateLabels("id", most=2, rows=4)
    assert roles(late, list("abca"), ["", "", "", "x"], size=["1"] * 4) == [*["asked"] * 3, ""]
    # b came in row 2 and waits until row 6.
    assert roles(late, ["", ""], ["y", "y"], size=["1"] * 2) == ["", ""]
    assert roles(late, ["b", "c"], ["x", "x"], size=["", ""]) == ["unknown", "unknown"]
    assert roles(late, ["d", "d", "d"], ["", "", "x"], size=["1"] * 3)[2] == "answer"
    assert late.dropped == {"full": 1, "old": 2, "replaced": 1}
    assert late.summary() == (
        "5 rows asked, 1 answered, 0 wait, 1 dropped because too many waited, 2 dropped after too "
        "many rows, 1 replaced by a row with the same id, 2 labels without a row"
    )


def test_a_state_continues_and_a_copy_goes_back():
    late = LateLabels("id", rows=3)
    roles(late, ["a", "b"], ["", ""], size=["1", "2"])
    again = LateLabels("id", rows=3, state=late.state())
    before = again.copy()
    assert roles(again, ["a"], ["x"], size=[""]) == ["answer"]
    assert roles(late, ["a"], ["x"], size=[""]) == ["answer"]
    assert str(again.state()) == str(late.state())
    again.go_back(before)
    assert (len(again), again.answered) == (2, 0)
    assert roles(again, ["", "", "a"], ["y"] * 3, size=[""] * 3)[2] == "unknown"


def test_a_column_that_is_no_id_is_refused():
    with pytest.raises(TableError, match=r"row 3, column 'id': the id has 1,200 char.* --id COL"):
        roles(LateLabels("id"), ["a", "b" * 1200], ["", ""], size=["1", "2"])


def test_the_chunks_of_a_table_have_the_rows_as_they_were_asked(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text("pet,size,id,hue\n,1,a,red\n,2,b,\ncat,,a,\ndog,9,b,blue\ncow,3,,red\n")
    late = LateLabels("id")
    table = open_table(path, "pet", unlabelled=True, late=late, chunk_rows=2)
    assert table.names == ("size", "hue=red", "hue=blue")
    chunks = list(table)
    X = np.concatenate([chunk.X for chunk in chunks])
    np.testing.assert_array_equal(X[:, 0], [1, 2, 1, 2, 3])
    np.testing.assert_array_equal(X[2], X[0])
    np.testing.assert_array_equal(X[3], X[1])
    assert [row.role for chunk in chunks for row in chunk.late] == [
        *["asked"] * 2,
        *["answer"] * 2,
        "",
    ]
    assert [label for chunk in chunks for label in chunk.labels()] == ["", "", "cat", "dog", "cow"]
    # Rows that are skipped are not taken: they are in the state of the run that goes on.
    late = LateLabels("id")
    skipped = next(open_table(path, "pet", unlabelled=True, late=late).chunks(1))
    assert [row.role for row in skipped.late] == ["asked", "unknown", "answer", ""]


def test_parquet_with_numbers_texts_and_bools(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "id": [1, 2, 1, None],
            "size": [1.5, 2.5, None, 4.0],
            "wild": [True, False, None, True],
            "hue": ["red", None, None, "blue"],
            "pet": [None, None, "cat", "dog"],
        }
    )
    pq.write_table(table, tmp_path / "pets.parquet")
    late = LateLabels("id")
    chunks = list(open_table(tmp_path / "pets.parquet", "pet", unlabelled=True, late=late))
    X = np.concatenate([chunk.X for chunk in chunks])
    np.testing.assert_array_equal(X[2], X[0])
    assert [row.id for chunk in chunks for row in chunk.late] == ["1", "2", "1", ""]
    assert (late.asked, late.answered) == (2, 1)
