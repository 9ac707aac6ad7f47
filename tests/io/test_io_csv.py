import csv

import numpy as np
import pytest

from mist.io import TableError, load_csv, open_table
from mist.io.encode import MAX_CATEGORIES


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def read(path, target, **options):
    table = open_table(path, target, **options)
    chunks = list(table)
    return (
        table,
        np.concatenate([chunk.X for chunk in chunks]),
        np.concatenate([chunk.y for chunk in chunks]),
        np.concatenate([chunk.rows for chunk in chunks]),
    )


def test_numbers_labels_and_row_numbers(write):
    table, X, y, rows = read(write("a,b,y\n1,2.5,0\n-3,4e2,1\n"), "y")
    assert table.names == ("a", "b")
    assert table.target == "y"
    assert table.categorical == ()
    assert table.scanned == 0
    np.testing.assert_array_equal(X, [[1, 2.5], [-3, 400]])
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert y.tolist() == [0, 1]
    assert rows.tolist() == [2, 3]


@pytest.mark.parametrize("cell", ["", "?", "NA", "NaN", "nan", "-", " ? "])
def test_missing_cells_are_nan(write, cell):
    _, X, _, _ = read(write(f"a,y\n1,0\n{cell},0\n2,1\n"), "y")
    np.testing.assert_array_equal(X[:, 0], [1, np.nan, 2])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_out(write, delimiter):
    text = "a,b,y\n1,2,0\n3,4,1\n".replace(",", delimiter)
    _, X, y, _ = read(write(text), "y")
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    assert y.tolist() == [0, 1]


def test_delimiters_inside_quotes_do_not_count(write):
    table, X, y, _ = read(write('a;"b, c, d";y\n1;2;x\n3;4;"u; v"\n'), "y")
    assert table.names == ("a", "b, c, d")
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    assert y.tolist() == ["x", "u; v"]


def test_byte_order_mark_and_windows_line_ends(write):
    table, X, _, rows = read(write("a,y\r\n1,0\r\n2,1\r\n", encoding="utf-8-sig"), "y")
    assert table.names == ("a",)
    assert X[:, 0].tolist() == [1, 2]
    assert rows.tolist() == [2, 3]


def test_quoted_newlines_keep_line_numbers_right(write):
    path = write('a,t,y\n1,"two\nlines",0\n2,"three\n\nlines",0\nx,plain,1\n4,plain,1\n5,plain,1\n')
    with pytest.raises(TableError, match=r"^row 7, column 'a': 'x' is not a number"):
        read(path, "y")
    good = write('a,t,y\n1,"two\nlines",0\n2,"x, y",1\n')
    table, X, _, rows = read(good, "y")
    assert table.names == ("a", "t=two\nlines", "t=x, y")
    np.testing.assert_array_equal(X, [[1, 1, 0], [2, 0, 1]])
    assert rows.tolist() == [2, 4]


def test_blank_lines_are_skipped_but_counted(write):
    _, _, _, rows = read(write("\na,y\n1,0\n\n2,1\n\n"), "y")
    assert rows.tolist() == [3, 5]


def test_chunks_are_bounded_and_complete(write):
    text = "a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(1050))
    chunks = list(open_table(write(text), "y", chunk_rows=100))
    assert [len(chunk.y) for chunk in chunks] == [100] * 10 + [50]
    assert np.concatenate([c.X[:, 0] for c in chunks]).tolist() == list(range(1050))
    shares = [chunk.fraction for chunk in chunks]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_reading_is_lazy(write):
    # The bad row comes late: the first chunks are there before it is met.
    text = "a,y\n" + "1,0\n" * 5000 + "oops,0\n" + "1,0\n" * 10
    chunks = iter(open_table(write(text), "y", chunk_rows=100))
    for _ in range(50):
        assert len(next(chunks).y) == 100
    with pytest.raises(TableError, match=r"^row 5002, column 'a': 'oops' is not a number"):
        next(chunks)


def test_a_table_can_be_read_again(write):
    table = open_table(write("a,y\n1,0\n2,1\n"), "y")
    first, second = list(table), list(table)
    np.testing.assert_array_equal(first[0].X, second[0].X)


def test_limit(write):
    text = "a,y\n" + "".join(f"{i},0\n" for i in range(30))
    chunks = list(open_table(write(text), "y", chunk_rows=8, limit=20))
    assert [len(chunk.y) for chunk in chunks] == [8, 8, 4]
    assert len(open_table(write(text), "y", limit=1000).load().y) == 30
    # Rows behind the limit are not even looked at.
    text += "bad,0\n"
    assert len(open_table(write(text), "y", limit=30).load().y) == 30


@pytest.mark.parametrize(
    ("target", "header", "labels", "names"),
    [
        ("b", True, [2, 5], ("a", "c")),
        (0, True, [1, 4], ("b", "c")),
        (-1, True, [3, 6], ("a", "b")),
        ("-3", True, [1, 4], ("b", "c")),
    ],
)
def test_target_by_name_and_position(write, target, header, labels, names):
    table, _, y, _ = read(write("a,b,c\n1,2,3\n4,5,6\n"), target, header=header)
    assert y.tolist() == labels
    assert table.names == names


@pytest.mark.parametrize("target", [2, -1, "2", "-1"])
def test_without_header(write, target):
    table, X, y, rows = read(write("1,2,7\n3,4,8\n"), target, header=False)
    assert table.names == ("0", "1")
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    assert y.tolist() == [7, 8]
    assert rows.tolist() == [1, 2]


def test_text_columns_become_indicators_in_place(write):
    table, X, _, _ = read(write("c,a,y\nred,1,0\nblue,2,1\n?,3,0\nred,4,1\n"), "y")
    assert table.names == ("c=red", "c=blue", "a")
    assert table.categorical == (0, 1)
    assert table.text_columns == ("c",)
    assert table.scanned == 4
    np.testing.assert_array_equal(
        X, [[1, 0, 1], [0, 1, 2], [np.nan, np.nan, 3], [1, 0, 4]]
    )  # a missing text is missing in all of its columns


def test_categories_first_seen_late_are_known_from_the_start(write):
    text = "c,y\n" + "red,0\n" * 250 + "green,1\n" + "red,0\n"
    shares = []
    table = open_table(write(text), "y", chunk_rows=100, on_scan=shares.append)
    assert len(shares) == 3
    assert table.scanned == 252
    chunks = list(table)
    assert {chunk.X.shape[1] for chunk in chunks} == {2}
    assert chunks[0].names == ("c=red", "c=green")
    assert chunks[-1].X[50].tolist() == [0, 1]


def test_a_column_is_text_when_most_of_its_first_cells_are(write):
    text = "c,y\nA1,0\nB2,0\n7,1\n?,0\n"
    table, X, _, _ = read(write(text), "y")
    assert table.names == ("c=A1", "c=B2", "c=7")
    assert X[2].tolist() == [0, 0, 1]


def test_a_stray_text_in_the_first_chunk_is_an_error(write):
    with pytest.raises(
        TableError, match=r"^row 4, column 'a': 'abc' is not a number \(declare 'a' as a text"
    ):
        read(write("a,y\n1,0\n2,1\nabc,0\n4,1\n"), "y")


def test_declared_text_columns(write):
    path = write("zip,a,y\n10115,1,0\n20095,2,1\nabc,3,0\n10115,4,1\n")
    table, X, _, _ = read(path, "y", text_columns=["zip"])
    assert table.names == ("zip=10115", "zip=20095", "zip=abc", "a")
    assert X[3].tolist() == [1, 0, 0, 4]


def test_ignored_columns(write):
    path = write("id,a,y\nx1,1,0\nx2,2,1\n")
    table, X, _, _ = read(path, "y", ignore=["id"])
    assert table.names == ("a",)
    assert table.scanned == 0
    np.testing.assert_array_equal(X, [[1], [2]])
    with pytest.raises(TableError, match=r"has no column 'nope'"):
        open_table(path, "y", ignore=["nope"])


def test_a_column_of_identifiers_is_refused(write):
    text = "id,y\n" + "".join(f"u{i},0\n" for i in range(MAX_CATEGORIES + 1))
    with pytest.raises(
        TableError,
        match=rf"^row {MAX_CATEGORIES + 2}, column 'id': more than {MAX_CATEGORIES} different",
    ):
        open_table(write(text), "y")


def test_a_number_column_with_late_text(write):
    text = "x,y\n" + "1,0\n" * 121 + "abc,0\n"
    table = open_table(write(text), "y", chunk_rows=50)
    with pytest.raises(TableError, match=r"^row 123, column 'x': 'abc' is not a number"):
        list(table)


@pytest.mark.parametrize("cell", ["1_000", "0x1F", "1,5,7"])
def test_cells_that_only_look_like_numbers(write, cell):
    text = "a;y\n1;0\n2;0\n3;0\n" + f"{cell};1\n"
    with pytest.raises(TableError, match=rf"^row 5, column 'a': '{cell}' is not a number"):
        read(write(text), "y")


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "1e999"])
def test_infinity(write, cell):
    path = write(f"a,b,y\n1,2,0\n3,4,0\n5,{cell},1\n")
    with pytest.raises(TableError, match=r"^row 4, column 'b': infinity is not allowed"):
        read(path, "y")


def test_infinity_behind_a_text_column_names_the_right_column(write):
    path = write("c,b,y\nred,2,0\nblue,inf,0\n")
    with pytest.raises(TableError, match=r"^row 3, column 'b': infinity"):
        read(path, "y")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0", r"^row 4: 2 cells, but the first row has 3$"),
        ("1,2,3,4", r"^row 4: 4 cells, but the first row has 3$"),
        ("1", r"^row 4: 1 cell, but the first row has 3$"),
    ],
)
def test_ragged_row(write, row, message):
    with pytest.raises(TableError, match=message):
        read(write(f"a,b,y\n1,2,0\n3,4,1\n{row}\n5,6,0\n"), "y")


def test_missing_target(write):
    path = write("age,income,label\n1,2,0\n")
    with pytest.raises(
        TableError,
        match=r"^table.csv has no column 'lable'; did you mean 'label'\? "
        r"columns: age, income, label$",
    ):
        open_table(path, "lable")
    with pytest.raises(TableError, match=r"^table.csv has no column 3; positions run from 0 to 2$"):
        open_table(path, 3)
    with pytest.raises(TableError, match=r"has no column -4"):
        open_table(path, "-4")
    with pytest.raises(TableError, match=r"^the target is not given"):
        open_table(path)


@pytest.mark.parametrize("text", ["", "\n\n", "   \n", "\ufeff"])
def test_empty_file(write, text):
    with pytest.raises(TableError, match=r"^table.csv is empty$"):
        open_table(write(text), "y")


def test_header_without_rows(write):
    with pytest.raises(TableError, match=r"^table.csv is empty: it has columns, but no rows$"):
        open_table(write("a,y\n"), "y")


def test_no_column_besides_the_target(write):
    with pytest.raises(
        TableError, match=r"^table.csv has no column except the target 'y'; if .* --separator$"
    ):
        open_table(write("y\n1\n2\n"), "y")


def test_missing_label(write):
    with pytest.raises(
        TableError,
        match=r"^row 3, column 'y': the label is missing \(--unlabelled predict takes such rows\)$",
    ):
        read(write("a,y\n1,0\n2,?\n"), "y")


def test_integer_labels_stay_integers(write):
    text = "a,y\n" + "1,0\n" * 30 + "1,spam\n"
    table = open_table(write(text), "y", chunk_rows=10)
    with pytest.raises(
        TableError,
        match=r"^row 32, column 'y': the label 'spam' is not an integer like those before it "
        r"\(to take all labels as texts: --text y\)$",
    ):
        list(table)


def test_text_labels_may_look_like_integers_later(write):
    text = "a,y\n" + "1,spam\n" * 10 + "1,7\n"
    _, _, y, _ = read(write(text), "y", chunk_rows=10)
    assert y.tolist() == ["spam"] * 10 + ["7"]


def test_column_name_twice(write):
    with pytest.raises(
        TableError, match=r"^row 1: the column name 'a' occurs twice \(if .*--no-header\)$"
    ):
        open_table(write("a,b,a,y\n1,2,3,0\n"), "y")


def test_open_quote(write):
    with pytest.raises(TableError, match=r"^row 3: .*is a quote left open\?$"):
        read(write('a,y\n1,0\n2,"x\n3,0\n'), "y")


def test_not_utf8(write):
    text = "a,y\n" + "1,no\n" * 3000 + "1,café\n"
    path = write(text, encoding="latin-1")
    with pytest.raises(TableError, match=r"^row 3002: table.csv is not UTF-8 text"):
        list(open_table(path, "y", chunk_rows=500))


def test_files_that_are_none(tmp_path, write):
    with pytest.raises(TableError, match=r"^there is no file '.*nowhere.csv'$"):
        open_table(tmp_path / "nowhere.csv", "y")
    with pytest.raises(TableError, match=r"is a folder without Parquet files; .*'.*\*\.csv'$"):
        open_table(tmp_path, "y")
    with pytest.raises(TableError, match=r"^table.xlsx: unknown kind of file; known endings: "):
        open_table(write("x", name="table.xlsx"), "y")


@pytest.mark.parametrize("options", [{"chunk_rows": 0}, {"limit": 0}])
def test_options_are_checked(write, options):
    with pytest.raises(ValueError, match=r"must be at least 1, got 0"):
        open_table(write("a,y\n1,0\n"), "y", **options)


def test_load_csv_agrees_with_the_chunks(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "any.name"
    values = rng.normal(size=(500, 4))
    labels = rng.choice(["cat", "dog"], 500)
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["a", "b", "c", "d", "pet"])
        writer.writerows(
            [*map(repr, row), label] for row, label in zip(values.tolist(), labels, strict=True)
        )
    X, y = load_csv(path, "pet")
    np.testing.assert_array_equal(X, values)
    assert y.tolist() == labels.tolist()


def test_numbers_that_cannot_be_squared(write):
    with pytest.raises(TableError, match=r"^row 3, column 'a': -1e\+200 is too large; leave"):
        read(write("a,y\n1,0\n-1e200,0\n"), "y")
