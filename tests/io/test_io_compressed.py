import gzip

import numpy as np
import pytest

from mist.io import TableError, open_table

TEXT = "a,b,y\n" + "".join(f"{i},{i * i % 17},{i % 3}\n" for i in range(5000))


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    return open_table(path, "y").load()


def zstandard_frames(*texts):
    zstandard = pytest.importorskip("zstandard", reason="needs the extra 'zstd'")
    return b"".join(zstandard.compress(text.encode()) for text in texts)


def assert_same(path, plain):
    chunks = list(open_table(path, "y", chunk_rows=700))
    np.testing.assert_array_equal(np.concatenate([c.X for c in chunks]), plain.X)
    np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), plain.y)
    np.testing.assert_array_equal(np.concatenate([c.rows for c in chunks]), plain.rows)
    shares = [chunk.fraction for chunk in chunks]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_gzip(tmp_path, plain):
    path = tmp_path / "table.CSV.gz"
    # Two members, as `cat a.gz b.gz` makes them.
    path.write_bytes(gzip.compress(TEXT[:9000].encode()) + gzip.compress(TEXT[9000:].encode()))
    assert_same(path, plain)


def test_zstandard(tmp_path, plain):
    path = tmp_path / "table.csv.zst"
    path.write_bytes(zstandard_frames(TEXT[:9000], TEXT[9000:]))
    assert_same(path, plain)


def test_arff_and_json_lines(tmp_path):
    path = tmp_path / "a.arff.gz"
    path.write_bytes(gzip.compress(b"@attribute a numeric\n@attribute y {u,v}\n@data\n1,u\n2,v\n"))
    assert open_table(path, "y").load().y.tolist() == ["u", "v"]
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b'{"a": 1, "y": "u"}\n'))
    assert open_table(path, "y").load().X.tolist() == [[1.0]]


@pytest.mark.parametrize("cut", [-9, -1200])
def test_a_file_cut_short_is_damaged_not_shorter(tmp_path, cut):
    for name, data in (("t.csv.gz", gzip.compress(TEXT.encode())), ("t.csv.zst", None)):
        path = tmp_path / name
        path.write_bytes((zstandard_frames(TEXT) if data is None else data)[:cut])
        with pytest.raises(TableError, match=rf"^{name} is not a valid \.[a-z]+ file: "):
            open_table(path, "y").load()


def test_nonsense(tmp_path):
    for name in ("t.csv.gz", "t.csv.zst"):
        path = tmp_path / name
        path.write_bytes(b"a,y\n1,0\n")
        if name.endswith("zst"):
            pytest.importorskip("zstandard", reason="needs the extra 'zstd'")
        with pytest.raises(TableError, match=rf"^{name} is not a valid "):
            open_table(path, "y")


def test_not_utf8_inside(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n1,caf\xe9\n"))
    with pytest.raises(TableError, match=r"^row 2: t.csv.gz is not UTF-8 text"):
        open_table(path, "y").load()


def test_what_is_compressed_inside_must_not_be_outside(tmp_path):
    path = tmp_path / "t.parquet.gz"
    path.write_bytes(b"x")
    with pytest.raises(TableError, match=r"^t.parquet.gz: parquet files are compressed inside"):
        open_table(path, "y")
