"""Files that are larger than they look, or wider, or longer: refused or read in bounded memory."""

import gzip
import io
import tracemalloc
import zlib

import numpy as np
import pytest

from mist.io import LiveTable, TableError, open_table
from mist.io.applying import apply_encoding
from mist.io.bounds import MOST_CHARACTERS
from mist.io.compressed import open_bytes
from mist.io.live import Ahead
from mist.io.pipe import PipeSource

MIB = 2**20
BEGINS = {
    "csv": (b"a,y\n1,2\n", 3),
    "tsv": (b"a\ty\n1\t2\n", 3),
    "jsonl": (b'{"a": 1, "y": 2}\n', 2),
    "arff": (b"@relation r\n@attribute a real\n@attribute y real\n@data\n1,2\n", 6),
}
"""A sound beginning of each kind of text, and the line that follows it."""


def gzip_bomb(begin, n_bytes):
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(begin)]
    parts += [packer.compress(b"0" * MIB) for _ in range(n_bytes // MIB)]
    return b"".join([*parts, packer.flush()])


def zstandard_bomb(begin, n_bytes):
    zstandard = pytest.importorskip("zstandard", reason="needs the extra 'zstd'")
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    parts = [packer.compress(begin)]
    parts += [packer.compress(b"0" * MIB) for _ in range(n_bytes // MIB)]
    return b"".join([*parts, packer.flush()])


BOMBS = {".gz": gzip_bomb, ".zst": zstandard_bomb}


def peak_of(read):
    """Most bytes that Python held at once."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", BEGINS)
@pytest.mark.parametrize("ending", BOMBS)
def test_a_line_that_unpacks_without_end_is_refused_in_bounded_memory(tmp_path, kind, ending):
    begin, line = BEGINS[kind]
    path = tmp_path / f"bomb.{kind}{ending}"
    path.write_bytes(BOMBS[ending](begin, 256 * MIB))
    assert path.stat().st_size < 2 * MIB

    def read():
        with pytest.raises(TableError, match=rf"^row {line}: the line is longer than 16,777,216 "):
            open_table(path, "y", kind=kind).load()

    assert peak_of(read) < 120 * MIB


def test_where_bytes_are_no_text_is_told_in_bounded_memory(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip_bomb(b"a,y\n1,2\n\xff", 256 * MIB))

    def read():
        with pytest.raises(TableError, match=r"^row 3: bomb.csv.gz is not UTF-8 text"):
            open_table(path, "y")

    assert peak_of(read) < 60 * MIB


def test_a_text_cut_inside_a_character_is_told_of_its_last_line(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_bytes(b"a,y\n1,2\n3,\xc3")
    with pytest.raises(TableError, match=r"^row 3: cut.csv is not UTF-8 text"):
        open_table(path, "y").load()


@pytest.mark.parametrize("ending", BOMBS)
def test_a_file_is_unpacked_little_by_little(tmp_path, ending):
    path = tmp_path / f"long.csv{ending}"
    path.write_bytes(BOMBS[ending](b"", 512 * MIB))
    sizes = []

    def read():
        with open_bytes(path) as unpacked:
            sizes.extend(iter(lambda: len(unpacked.stream.read(MIB)), 0))

    assert peak_of(read) < 40 * MIB
    assert sum(sizes) == 512 * MIB


def test_the_longest_line_is_read(tmp_path):
    path = tmp_path / "long.jsonl"
    space = MOST_CHARACTERS - len('{"a": 1,"y": 2}\n')
    path.write_text('{"a": 1,' + " " * space + '"y": 2}\n{"a": 3, "y": 4}')
    assert open_table(path, "y").load().y.tolist() == [2, 4]
    path.write_text('{"a": 1,' + " " * (space + 1) + '"y": 2}\n')
    with pytest.raises(TableError, match=r"^row 1: the line is longer"):
        open_table(path, "y")


def test_a_record_over_many_lines_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mist.io.csv.MOST_CHARACTERS", 10_000)
    path = tmp_path / "quoted.csv"
    path.write_text('a,y\n1,2\n"' + '\n","' * 5000)
    with pytest.raises(TableError, match=r"^row 3: the record has more than 10,000 characters; is"):
        open_table(path, "y").load()
    # Many short records are none.
    path.write_text("a,y\n" + "1,2\n" * 5000)
    assert len(open_table(path, "y").load().y) == 5000


def wide(kind):
    """A file of four columns."""
    if kind == "npz":
        file = io.BytesIO()
        np.savez(file, X=np.eye(3), y=[0, 1, 0])
        return file.getvalue()
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow", reason="needs the extra 'frames'")
        from pyarrow import parquet

        file = io.BytesIO()
        parquet.write_table(pa.table({name: [1, 2, 3] for name in "abcy"}), file)
        return file.getvalue()
    return {
        "csv": b"a,b,c,y\n1,2,3,0\n4,5,6,1\n",
        "tsv": b"a\tb\tc\ty\n1\t2\t3\t0\n4\t5\t6\t1\n",
        "jsonl": b'{"a": 1, "b": 2, "y": 0}\n{"c": 1, "y": 1}\n',
        "arff": b"@relation r\n"
        + b"".join(b"@attribute %c real\n" % name for name in b"abcy")
        + b"@data\n1,2,3,0\n4,5,6,1\n",
    }[kind]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "arff", "npz", "parquet"])
def test_columns_are_limited(tmp_path, monkeypatch, kind):
    path = tmp_path / "wide.data"
    path.write_bytes(wide(kind))
    n_columns = 4 - (kind == "npz")
    monkeypatch.setattr("mist.io.bounds.MOST_COLUMNS", n_columns)
    assert len(open_table(path, "y", kind=kind).names) == 3
    monkeypatch.setattr("mist.io.bounds.MOST_COLUMNS", n_columns - 1)
    with pytest.raises(TableError, match=rf"^wide.data has more than {n_columns - 1} columns; "):
        open_table(path, "y", kind=kind)


@pytest.mark.parametrize("text", [wide("csv"), wide("jsonl")], ids=["csv", "jsonl"])
def test_columns_of_a_pipe_are_limited(monkeypatch, text):
    monkeypatch.setattr("mist.io.bounds.MOST_COLUMNS", 3)
    with pytest.raises(TableError, match="more than 3 columns"):
        list(LiveTable(PipeSource(io.BytesIO(text), "pipe"), "y").chunks(100))


def test_columns_made_of_texts_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("mist.io.bounds.MOST_COLUMNS", 3)
    path = tmp_path / "texts.csv"
    path.write_text("a,y\n" + "".join(f"t{i},0\n" for i in range(4)))
    with pytest.raises(TableError, match=r"^texts.csv has more than 3 columns"):
        open_table(path, "y")


def test_many_columns_are_no_matter_of_minutes(tmp_path):
    names = [f"c{i}" for i in range(100_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join([*names, "y"]) + "\n" + "1," * len(names) + "2\n")
    assert open_table(path, "y").names == tuple(names)
    path.write_text(",".join([*names, "c7"]) + "\n")
    with pytest.raises(TableError, match=r"^row 1: the column name 'c7' occurs twice"):
        open_table(path, "y")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arff", "npz", "parquet"])
def test_a_chunk_of_a_wide_table_has_fewer_rows(tmp_path, monkeypatch, kind):
    path = tmp_path / "wide.data"
    path.write_bytes(wide(kind))
    whole = open_table(path, "y", kind=kind).load()
    monkeypatch.setattr("mist.io.bounds.MOST_CELLS", 4)
    table = open_table(path, "y", kind=kind)
    chunks = list(table)
    assert [len(chunk.y) for chunk in chunks] == [1] * len(whole.y)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), whole.X)
    applied = list(apply_encoding(table.plain(), [str(path)], kind=kind))
    assert [len(chunk.y) for chunk in applied] == [1] * len(whole.y)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arff"])
def test_a_batch_of_long_lines_ends_early(tmp_path, monkeypatch, kind):
    path = tmp_path / "long.data"
    path.write_bytes(wide(kind))
    whole = open_table(path, "y", kind=kind).load()
    monkeypatch.setattr("mist.io.text.MOST_AT_ONCE", 5)
    chunks = list(open_table(path, "y", kind=kind))
    assert [len(chunk.y) for chunk in chunks] == [1, 1]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), whole.X)
    np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in chunks]), whole.rows)


def test_a_pipe_of_many_keys_comes_in_parts(monkeypatch):
    lines = "".join(f'{{"k{i}": {i}, "a": 1, "y": 0}}\n' for i in range(6)).encode()

    def read():
        chunks = LiveTable(PipeSource(io.BytesIO(lines), "pipe"), "y").chunks(100)
        rows = [
            {name: float(values[i]) for name, values in chunk.X.items() if values[i] == values[i]}
            for chunk in chunks
            for i in range(len(chunk.y))
        ]
        return rows

    whole = read()
    assert whole[5] == {"k5": 5.0, "a": 1.0}
    monkeypatch.setattr("mist.io.live.MOST_CELLS", 8)
    assert read() == whole


def test_what_is_read_ahead_is_weighed():
    taken = []

    def items():
        for item in range(100):
            taken.append(item)
            yield item

    ahead = Ahead(items(), most=20, weigh=lambda item: 7)
    got = ahead.take(1)
    while (some := ahead.take(3)) is not None:
        # Three that weigh 21 are kept, one is in the hand of the reader.
        assert len(taken) <= len(got) + 3 + 4
        got += some
    assert got == list(range(100))


def test_blank_lines_before_the_first_are_counted_and_not_kept():
    text = b"\n" * 300_000 + b"a,y\n1,0\n"
    rows = []

    def read():
        for chunk in LiveTable(PipeSource(io.BytesIO(text), "pipe"), "y").chunks(100):
            rows.extend(chunk.rows.tolist())

    assert peak_of(read) < MIB
    assert rows == [300_002]


def test_spaces_before_an_open_quote_are_no_matter_of_minutes(tmp_path):
    path = tmp_path / "spaces.arff"
    begin = b"@relation r\n@attribute a string\n@attribute y real\n@data\n"
    path.write_bytes(begin + b" " * 300_000 + b"'open,1\n")
    with pytest.raises(TableError, match=r"^row 5: a quote is left open or misplaced$"):
        open_table(path, "y").load()


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", b"\x1b[31ma,b\x07\n1,2\n"),
        ("csv", b'"a\nb",\x1b\n1,2\n'),
        ("tsv", b'"a"b\tc\n'),
        ("csv", b"a,y\n\x1b[2J,0\n1,1\n2,0\n"),
        ("jsonl", b'{"a\\u001b": {}, "y": 0}\n'),
        ("arff", b"@relation r\n@attribute \x1b \x1b\n"),
    ],
)
def test_messages_are_one_line_without_control_characters(tmp_path, kind, text):
    path = tmp_path / "odd\x1b[1m.csv"
    path.write_bytes(text)
    with pytest.raises(TableError) as caught:
        open_table(path, "y", kind=kind).load()
    assert str(caught.value).isprintable()


def test_a_message_of_a_long_cell_keeps_its_beginning_and_its_end(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,y\n1,0\n1,0\n" + "x" * 100_000 + ",0\n")
    with pytest.raises(TableError) as caught:
        open_table(path, "y").load()
    message = str(caught.value)
    assert message.startswith("row 4, column 'a': 'xxx")
    assert message.endswith("; or say that the cell is missing: --missing WORD)")
    assert len(message) < 1600


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\udc00\\ud800"'])
def test_half_a_pair_of_surrogates_is_no_text(tmp_path, text):
    path = tmp_path / "half.jsonl"
    path.write_text(f'{{"a": 1, "y": "\\ud83d\\ude00"}}\n{{"a": 1, "y": {text}}}\n')
    with pytest.raises(TableError, match=r"^row 2: not valid JSON: .*surrogates not allowed"):
        open_table(path, "y")


@pytest.mark.parametrize("end", ["[", '{"a":'])
def test_deep_json_is_refused(tmp_path, end):
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a": ' + end * 100_000 + "\n")
    with pytest.raises(TableError, match=r"^row 1: not valid JSON"):
        open_table(path, "y")


def test_a_gzip_file_beyond_its_end_is_told_of(tmp_path):
    path = tmp_path / "tail.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n1,0\n") + b"rest")
    with pytest.raises(TableError, match=r"^tail.csv.gz is not a valid .gz file"):
        open_table(path, "y").load()
