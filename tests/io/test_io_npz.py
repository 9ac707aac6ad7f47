import io
import re
import tracemalloc
import zipfile

import numpy as np
import pytest

from mist.io import TableError, open_table


@pytest.fixture
def write(tmp_path):
    def write(save=np.savez_compressed, **arrays):
        path = tmp_path / "table.npz"
        save(path, **arrays)
        return path

    return write


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_chunks_hold_the_arrays(write, save, order):
    rng = np.random.default_rng(1)
    X = np.asarray(rng.integers(0, 255, (1050, 7)), dtype=np.uint8, order=order)
    y = rng.integers(0, 9, 1050).astype(np.uint8)
    chunks = list(open_table(write(save, X=X, y=y, n_train=np.array(800)), chunk_rows=100))
    assert [len(chunk.y) for chunk in chunks] == [100] * 10 + [50]
    np.testing.assert_array_equal(np.concatenate([c.X for c in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), y)
    assert chunks[0].X.dtype == np.float64
    assert chunks[0].y.dtype == np.int64
    assert chunks[1].rows[0] == 101
    assert chunks[0].names == tuple(f"x{i}" for i in range(7))


@pytest.mark.parametrize("scale", [0.1, np.array([1.0, 10.0, 0.5])])
def test_scale_multiplies(write, scale):
    X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int16)
    data = open_table(write(X=X, y=[0, 1], scale=scale)).load()
    np.testing.assert_array_equal(data.X, X * scale)


def test_names_of_columns_and_classes(write):
    path = write(X=np.eye(3), y=[2, 0, 1], features=["a", "b", "c"], classes=["u", "v", "w"])
    data = open_table(path).load()
    assert data.names == ("a", "b", "c")
    assert data.y.tolist() == ["w", "u", "v"]


def test_names_that_do_not_fit_are_left_alone(write):
    path = write(X=np.eye(3), y=[3, 1, 2], features=["a", "b"], classes=["u", "v", "w"])
    data = open_table(path).load()
    assert data.names == ("x0", "x1", "x2")
    assert data.y.tolist() == [3, 1, 2]


def test_another_array_as_target(write):
    path = write(X=np.eye(2), y=[0, 1], subject=["ann", "bob"])
    assert open_table(path, "subject").load().y.tolist() == ["ann", "bob"]


def test_nan_is_missing_and_infinity_is_refused(write):
    X = np.zeros((250, 2))
    X[3, 0] = np.nan
    assert np.isnan(open_table(write(X=X, y=np.zeros(250, int))).load().X[3, 0])
    X[211, 1] = -np.inf
    table = open_table(write(X=X, y=np.zeros(250, int)), chunk_rows=100)
    with pytest.raises(TableError, match=r"^row 212, column 'x1': infinity is not allowed"):
        list(table)


def test_float_labels(write):
    assert open_table(write(X=np.eye(2), y=[1.0, 2.0])).load().y.tolist() == [1, 2]
    with pytest.raises(
        TableError,
        match=r"^row 2, column 'y': the label is missing \(--unlabelled predict takes such rows\)$",
    ):
        open_table(write(X=np.eye(2), y=[1.0, np.nan])).load()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.eye(2)}, r"^table.npz has no array 'X'; arrays: a$"),
        ({"X": np.eye(2)}, r"^table.npz has no array 'y'; arrays: X$"),
        ({"X": np.eye(2), "y": [1, 2, 3]}, r"'X' has 2 rows, but there are 3 labels in 'y'$"),
        ({"X": np.ones(3), "y": [1, 2, 3]}, r"'X' must be a matrix .* has shape \(3,\)$"),
        ({"X": np.eye(2), "y": np.eye(2)}, r"the labels 'y' must be one-dimensional"),
        ({"X": [["a"]], "y": [1]}, r"'X' holds texts; only numbers are read$"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0, int)}, r"^table.npz is empty: it has columns"),
        ({"X": np.eye(2), "y": [0, 1], "scale": np.ones(3)}, r"'scale' must be one number or 2"),
        (
            {"X": np.eye(2).astype(object), "y": [0, 1]},
            r"array 'X' has type object; only numbers, .* not pickled objects$",
        ),
        ({"X": np.eye(2).astype(complex), "y": [0, 1]}, r"array 'X' has type complex128"),
    ],
)
def test_arrays_that_do_not_fit(write, arrays, message):
    with pytest.raises(TableError, match=message):
        open_table(write(**arrays)).load()


def test_no_archive(tmp_path):
    path = tmp_path / "table.npz"
    path.write_text("nothing of the kind")
    with pytest.raises(TableError, match=r"^table.npz is not an NPZ archive$"):
        open_table(path)


def test_truncated_array(write, tmp_path):
    with zipfile.ZipFile(write(np.savez, X=np.eye(50), y=np.zeros(50, int))) as archive:
        X, y = archive.read("X.npy"), archive.read("y.npy")
    path = tmp_path / "short.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", X[:-100])
        archive.writestr("y.npy", y)
    with pytest.raises(TableError, match=r"^short.npz is damaged: array 'X' ends early$"):
        open_table(path).load()


def test_flipped_bits(write):
    path = write(np.savez, X=np.eye(300), y=np.zeros(300, int))
    data = bytearray(path.read_bytes())
    data[5000] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(TableError, match=r"^table.npz is damaged: Bad CRC-32"):
        open_table(path).load()


# --- archives made by somebody else --------------------------------------------------------------


def member(header, data=b"", version=b"\x01\x00"):
    """An array whose header is written by hand."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data


def told(dtype, shape, fortran=False):
    return f"{{'descr': {dtype!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def archive(path, method=zipfile.ZIP_DEFLATED, **members):
    sound = {"X": npy(np.eye(2)), "y": npy(np.array([0, 1]))}
    with zipfile.ZipFile(path, "w", method) as out:
        for name, data in {**sound, **members}.items():
            out.writestr(f"{name}.npy", data)
    return path


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


HEADERS = {
    "no end of a bracket": member("{'descr': '<f8', ("),
    "an odd indentation": member("{'descr': '<f8'}\n  x\n y"),
    "no Python": member("\x00"),
    "a deep nest": member("(" * 3000),
    "no dict": member("[]"),
    "a shape below 0": member(told("<f8", (-2, 2)), bytes(32)),
    "another version": member(told("<f8", (2, 2)), bytes(32), b"\x07\x00"),
    "no magic": b"nothing",
    "nothing": b"",
}


@pytest.mark.parametrize("name", ["X", "y"])
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
@pytest.mark.filterwarnings("ignore:Reading")
def test_a_header_that_is_none_is_refused(tmp_path, name, header):
    path = archive(tmp_path / "forged.npz", **{name: header})
    with pytest.raises(TableError, match=rf"^forged.npz: array '{name}' is not a valid .npy: "):
        open_table(path)


def text_of_code(code):
    return member(told("<U1", (2,)), np.array([97, code], "<u4").tobytes())


FORGED = {
    "texts of no length": (
        {"y": member(told("<U0", (2,)))},
        "array 'y' has type <U0; only numbers",
    ),
    "texts without end": (
        {"y": member(told("<U99999999", (2,)))},
        "array 'y' has type <U99999999; texts of more than 4,096 characters are not read",
    ),
    "a text that is no Unicode": ({"y": text_of_code(0x110000)}, "damaged: a text is not Unicode"),
    "half a pair of surrogates": ({"y": text_of_code(0xD800)}, "damaged: a text is not Unicode"),
    "a class that is no Unicode": (
        {"classes": text_of_code(0xFFFFFFFF)},
        "damaged: a text is not Unicode",
    ),
    "more columns than bytes": (
        {"X": member(told("<f8", (2, 10**12)))},
        "more than 1,048,576 columns",
    ),
    "columns beyond all numbers": (
        {"X": member(told("<f8", (2, 10**30)))},
        "more than 1,048,576 columns",
    ),
    "rows beyond all numbers": (
        {"X": member(told("<f8", (10**30, 2))), "y": member(told("<i8", (10**30,)))},
        "damaged: array 'X' ends early",
    ),
    "a large matrix column by column": (
        {
            "X": member(told("<f8", (2**30, 2), fortran=True)),
            "y": member(told("<i8", (2**30,))),
        },
        "array 'X' takes 17,179,869,184 bytes, and is stored column by column: save its np",
    ),
    "many names of classes": (
        {"classes": member(told("<U100", (2**20,)))},
        "array 'classes' takes 419,430,400 bytes, more than are read of such an array",
    ),
    "a scale of many numbers": (
        {"scale": member(told("<f8", (10**12,)))},
        "'scale' must be one number or 2",
    ),
}


@pytest.mark.parametrize(("members", "message"), FORGED.values(), ids=FORGED)
def test_arrays_that_cannot_be_so_are_refused(tmp_path, members, message):
    path = archive(tmp_path / "forged.npz", **members)
    with pytest.raises(TableError, match=rf"^forged.npz.*{re.escape(message)}"):
        open_table(path).load()


def test_an_unknown_packing_is_refused(tmp_path):
    path = archive(tmp_path / "packed.npz", zipfile.ZIP_LZMA)
    with pytest.raises(TableError, match=r"^packed.npz is damaged: member 'X.npy' is compressed"):
        open_table(path)


def test_a_member_under_a_password_is_refused(tmp_path):
    path = archive(tmp_path / "secret.npz", zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(data)
    with pytest.raises(TableError, match=r"^secret.npz is damaged: .*encrypted"):
        open_table(path)


def test_every_cut_of_an_archive_is_refused(tmp_path):
    whole = archive(tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "cut.npz"
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(TableError, match=r"^cut.npz is not an NPZ archive"):
            open_table(path)


def test_a_bomb_of_rows_is_read_in_bounded_memory(tmp_path):
    n = 2**20
    X = member(told("<f8", (n, 8)), bytes(8 * 8 * n))
    path = archive(tmp_path / "bomb.npz", X=X, y=member(told("<i8", (n,)), bytes(8 * n)))
    del X
    assert path.stat().st_size < 2**18
    tracemalloc.start()
    try:
        rows = sum(len(chunk.y) for chunk in open_table(path))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert rows == n
