"""Files as people write them: what is read how, and what is refused with which way out."""

import io
import time

import numpy as np
import pytest

from mist.io import TableError, open_table
from mist.io.applying import apply_encoding, is_encoding
from mist.io.livetable import LiveTable
from mist.io.numerals import CellRules, NumberFormat
from mist.io.pipe import PipeSource

NAN = np.nan
NO_HEADER = r"if there is no header: --no-header \(if it is one: --header\)$"


@pytest.fixture
def read(tmp_path):
    """Columns and labels of a text, as a file and as a pipe."""

    def read(text, target="y", name="table.csv", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        chunk = open_table(path, target, **options).load()
        piped = from_pipe(text, target, **options)
        for column, values in chunk.columns().items():
            assert np.array_equal(piped.get(column, values), values, equal_nan=True), column
        return {name: v.tolist() for name, v in chunk.columns().items()}, chunk.y.tolist()

    return read


def from_pipe(text, target, header=None, ignore=(), missing=None, decimal=None, separator=None):
    source = PipeSource(
        io.BytesIO(text.encode()), "pipe", header=header, delimiter=separator, ignore=ignore
    )
    table = LiveTable(source, target, ignore=ignore, rules=CellRules.of(missing, decimal))
    columns = {}
    chunks = list(table.chunks(1000))
    for name in table.names:
        parts = [c.X.get(name, np.full(len(c.y), NAN)) for c in chunks if len(c.y)]
        columns[name] = np.concatenate(parts)
    # A 0/1 column is missing before its text first occurs.
    return {name: v for name, v in columns.items() if "=" not in name}


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,14", "2", "1.234,5", "-0,5"], [3.14, 2, 1234.5, -0.5]),
        (["1,234.5", "12", "1,000,000"], [1234.5, 12, 1e6]),
        (["12 345", "1 000 000"], [12345, 1e6]),
        (["1'234.5", "2"], [1234.5, 2]),
        (["12%", "3.5 %", ""], [12, 3.5, NAN]),
        (["12,5 %", "3 %"], [12.5, 3]),
        (["$1,200.50", "-$3", "$4"], [1200.5, -3, 4]),
        (["1.200,50 €", "3 €"], [1200.5, 3]),
        (["EUR 5.5", "EUR 7"], [5.5, 7]),
        (["1e3", "-2.5", "nan", "null", "n/a"], [1000, -2.5, NAN, NAN, NAN]),
    ],
)
def test_a_column_of_written_numbers(read, cells, numbers):
    columns, _ = read("a;y\n" + "".join(f"{cell};0\n" for cell in cells))
    np.testing.assert_array_equal(columns["a"], numbers)


def test_one_mark_for_all_columns(read):
    text = "a;b;y\n1,234;1;0\n5,678;2;1\n"
    with pytest.raises(
        TableError,
        match=r"^column 'a': '1,234' may be 1234 or 1.234; .*: --decimal \. or --decimal ,$",
    ):
        read(text)
    assert read(text, decimal=",")[0] == {"a": [1.234, 5.678], "b": [1, 2]}
    assert read(text, decimal=".")[0] == {"a": [1234, 5678], "b": [1, 2]}
    with pytest.raises(TableError, match=r"the decimal mark must be '\.' or ',', not ';'"):
        read(text, decimal=";")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("1;2.5;3,5", r"^row 4, column 'a': '3,5' is not a number .*: --decimal ,\)$"),
        ("12%;3%;0.12", r"^row 4, column 'a': '0\.12' is not a number with '%' like"),
        ("1;.;3", r"^row 3, column 'a': '\.' is not a number .*: --missing \.\)$"),
        ("2024-03-01;2024-03-02", r"^column 'a' holds dates or times.*--ignore a.*--text a\)$"),
    ],
)
def test_cells_that_do_not_fit(read, cells, message):
    with pytest.raises(TableError, match=message):
        read("a;b;y\n" + "".join(f"{cell};1;0\n" for cell in cells.split(";")))


@pytest.mark.parametrize(
    "moment",
    [
        *("2024-03-01 10:15:00", "2024-03-01T10:15:00.25+01:00", "2024/03/01", "1.3.2024"),
        *("3/14/2024 5:06 PM", "14-Mar-2024", "Mar 14, 2024", "10:15", "20240301T101500Z"),
        "Fri, 1 Mar 2024 10:15:00 GMT",
    ],
)
def test_moments_are_refused_or_left_out(read, moment):
    text = f'when;a;y\n"{moment}";1;0\n"{moment}";2;1\n'
    with pytest.raises(TableError, match=r"^column 'when' holds dates or times, such as '"):
        read(text)
    with pytest.raises(TableError, match=r"^column 'when' holds dates or times, such as '"):
        from_pipe(text, "y")
    assert read(text, ignore=["when"])[0] == {"a": [1, 2]}


@pytest.mark.parametrize("text", ["10.0.0.1", "1-2", "A-1", "12:5:", "v1.2.3"])
def test_texts_that_are_no_moments(read, text):
    assert list(read(f"t;a;y\n{text};1;0\n")[0]) == [f"t={text}", "a"]


def test_texts_of_one_row_each(read):
    text = "id,a,y\n" + "".join(f"u{i},{i},0\n" for i in range(60))
    with pytest.raises(
        TableError,
        match=r"^column 'id' has 60 different texts in 60 rows, such as 'u0'.*"
        r"--ignore id \(--hash id makes 64 groups of them, --text id ",
    ):
        read(text)
    assert len(read(text, ignore=["id"])[0]) == 1


def test_texts_of_one_row_each_if_wanted(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,y\n" + "".join(f"u{i},0\n" for i in range(60)))
    assert len(open_table(path, "y", text_columns=["id"]).names) == 60


def test_hashed_texts(tmp_path):
    path = tmp_path / "table.csv"
    text = "id,a,y\n" + "".join(f"u{i % 200},{i},0\n" for i in range(400)) + ",400,1\n"
    path.write_text(text)
    table = open_table(path, "y", hashed=["id"])
    assert (table.scanned, len(table.names), len(table.categorical)) == (0, 65, 64)
    X = table.load().X
    assert set(X[:-1, :64].sum(axis=1)) == {1.0}
    assert np.isnan(X[-1, :64]).all()
    np.testing.assert_array_equal(X[:200, :64], X[200:-1, :64])
    # A pipe makes the same groups, and a model file keeps them.
    live = LiveTable(
        PipeSource(io.BytesIO(text.encode()), "pipe"), "y", rules=CellRules.of(hashed=["0"])
    )
    rows = [chunk.part(slice(None)) for chunk in live.chunks(1000) if len(chunk.y)]
    groups = [name for name in live.names if name.startswith("id=")]
    assert set(groups) <= set(table.names)
    np.testing.assert_array_equal(
        rows[-1].X[groups[0]], X[-len(rows[-1].y) :, table.names.index(groups[0])]
    )
    for plain in (table.plain(), live.plain()):
        assert is_encoding(plain)
        (chunk,) = apply_encoding(plain, [str(path)])
        same = [chunk.columns()[name] for name in groups]
        np.testing.assert_array_equal(same, [X[:, table.names.index(name)] for name in groups])


@pytest.mark.parametrize(("cell", "first"), [("2,5", 1.234), ("1,002.5", 1234)])
def test_another_column_of_the_file_shows_the_mark(tmp_path, cell, first):
    path = tmp_path / "table.csv"
    path.write_text(f"a;b;y\n1,234;1;0\n5,678;{cell};1\n")
    assert open_table(path, "y").load().X[0, 0] == first


def test_words_for_missing_values(read):
    text = "land,a,y\nNA,1,0\nDE,.,1\n?,3,1\n"
    with pytest.raises(TableError, match=r"'\.' is not a number"):
        read(text)
    columns, _ = read(text, missing=["?", "."])
    np.testing.assert_array_equal(columns["land=NA"], [1, 0, NAN])
    np.testing.assert_array_equal(columns["a"], [1, NAN, 3])


def test_a_pipe_of_numbers_that_begins_with_a_word():
    text = "a,y\nunknown,0\n1,0\n2,0\n3,0\n4,0\n"
    with pytest.raises(
        TableError,
        match=r"^row 6, column 'a' began with 'unknown', but now has numbers; .*"
        r"--missing unknown, .*--text a$",
    ):
        from_pipe(text, "y")
    assert from_pipe(text, "y", missing=["unknown"])["a"].tolist()[1:] == [1, 2, 3, 4]


def test_labels_with_leading_zeros_are_texts(read, tmp_path):
    assert read("a,y\n1,01\n2,1\n3,01\n", header=True)[1] == ["01", "1", "01"]
    late = tmp_path / "late.csv"
    late.write_text("a,y\n1,1\n2,01\n")
    with pytest.raises(TableError, match=r"^row 3, column 'y': the label '01' .*--text y\)$"):
        open_table(late, "y", chunk_rows=1).load()


def test_a_target_of_amounts(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,0.5\n2,1.25\n3,2\n")
    with pytest.raises(
        TableError,
        match=r"^the target 'y' holds numbers with decimals, such as '0.5': .*--text y$",
    ):
        open_table(path, "y")
    assert open_table(path, "y", text_columns=["y"]).load().y.tolist() == ["0.5", "1.25", "2"]


@pytest.mark.parametrize(
    "text",
    [
        "a   b  y\n1 2\t0\n  3  4   1  \n",
        "sep=;\na;b;y\n1;2;0\n3;4;1\n",
        "# made by x, at noon\n#\na,b,y\n1,2,0\n3,4,1\n",
        "# a b y\n1 2 0\n3 4 1\n",
        "#a,b,y\n1,2,0\n3,4,1\n",
        "a,b,y\n1,2,0\na,b,y\n3,4,1\n",
    ],
)
def test_lines_and_their_cells(read, text):
    columns, labels = read(text)
    assert list(map(list, columns.values())) == [[1, 3], [2, 4]]
    assert [name.removeprefix("#") for name in columns] == ["a", "b"]
    assert labels == [0, 1]


def test_runs_of_tabs(read, tmp_path):
    text = "a\tb\ty\n1\t\t2 0\n3\t4\t\t1\n"
    assert read(text, separator=" ")[0] == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(
        TableError, match=r"^row 3: 4 cells, .* \(for runs of tabs: --separator space"
    ):
        from_pipe(text, "y")
    (tmp_path / "tabs.txt").write_text(text)
    assert open_table(tmp_path / "tabs.txt", "y").names == ("a", "b")


def test_a_separator_that_is_given(read):
    assert read("a|y\n1|0\n", separator="|")[0] == {"a": [1]}
    with pytest.raises(TableError, match=r"^--separator must be one character, or comma,"):
        read("a|y\n1|0\n", separator="||")


@pytest.mark.parametrize(
    "text",
    [
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",
        "0,0,u\n0,1,v\n",
        "p,x,s\np,w,n\ne,x,s\n",
        "3,14;7;u\n2,71;8;v\n",
    ],
)
def test_a_header_that_is_absent(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=r"^row 1: '.*' is a cell, not the name.*" + NO_HEADER):
        open_table(path, -1)
    lines = text.count("\n")
    assert len(open_table(path, -1, header=False).load().y) == lines


@pytest.mark.parametrize("head", ["0,1,2", "2019,2020,y", "a1,b2,3d", "0,a,b"])
def test_headers_with_digits(tmp_path, head):
    path = tmp_path / "table.csv"
    path.write_text(head + "\n5,6,u\n7,8,v\n")
    assert open_table(path, -1).load().y.tolist() == ["u", "v"]


def test_json_texts_that_are_numbers(read):
    columns, _ = read('{"a": "3,5", "y": 0}\n{"a": "4", "y": 1}\n', name="table.jsonl")
    assert columns == {"a": [3.5, 4]}


@pytest.mark.parametrize("text", ['[{"a": 1, "y": 0}]\n', ' [\n {"a": 1,\n "y": 0}\n]\n'])
def test_a_json_array(read, text):
    for attempt in (lambda: read(text, name="t.json"), lambda: from_pipe(text, "y")):
        with pytest.raises(TableError, match=r"is one JSON array: .*jq -c '\.\[\]' FILE"):
            attempt()


def test_columns_that_cannot_be_read_are_left_out(read):
    nested = '{"a": 1, "geo": {"x": 1}, "y": 0}\n{"a": 2, "geo": [3], "y": 1}\n'
    with pytest.raises(TableError, match=r"^row 1, column 'geo': .*: --ignore geo$"):
        read(nested, name="table.jsonl")
    assert read(nested, name="table.jsonl", ignore=["geo"])[0] == {"a": [1, 2]}


def test_arff_as_weka_writes_it(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text(
        "@relation r\n@attribute a numeric % per week\n@attribute when date 'yyyy'\n"
        "@attribute 'k k' {'u}v',w} % {z, 'z\n@attribute y {no,yes}\n@data\n"
        "1 '2024' 'u}v'\tyes\n2\t\t2025 w  no\n"
    )
    with pytest.raises(TableError, match=r"^row 3: attribute 'when' has type 'date'.*--ignore w"):
        open_table(path, "y")
    chunk = open_table(path, "y", ignore=["when"]).load()
    assert chunk.names == ("a", "k k=u}v", "k k=w")
    assert chunk.X.tolist() == [[1, 1, 0], [2, 0, 1]]
    assert chunk.y.tolist() == ["yes", "no"]


def test_rows_for_a_model_are_read_as_it_learnt_them(tmp_path):
    path, new = tmp_path / "table.csv", tmp_path / "new.jsonl"
    path.write_text("a;land;y\n3,5;NA;0\n?;DE;1\n")
    encoding = open_table(path, "y", missing=["?"]).plain()
    assert is_encoding(encoding)
    assert encoding["formats"] == {"a": [",", ""]}
    # What the model does not need may be anything.
    new.write_text('{"a": "1.234,5", "land": "NA", "path": [1]}\n{"a": "?", "land": "DE"}\n')
    (chunk,) = apply_encoding(encoding, [str(new)])
    np.testing.assert_array_equal(chunk.X, [[1234.5, 1, 0], [NAN, 0, 1]])
    for wrong in ({"formats": {"a": [";", ""]}}, {"formats": [1]}, {"missing": [1]}):
        assert not is_encoding({**encoding, **wrong})


def test_a_format_divides_number_and_unit():
    assert NumberFormat(".", "$").number("$-5") == -5
    assert NumberFormat(".", "$").number("$5$") is None
    assert NumberFormat(",").number("1.5") is None
    assert NumberFormat(",").number("1.234.567,5") == 1234567.5


def test_long_cells_take_no_time(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n" + f"1{' ' * 100_000}x,1,0\n" + f"1{' -' * 50_000}x,2,0\n")
    begin = time.perf_counter()
    assert len(open_table(path, "y").names) == 3
    assert time.perf_counter() - begin < 10
