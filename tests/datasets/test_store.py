import shutil
import zipfile

import numpy as np
import pytest

from mist.datasets import DatasetError, load
from mist.datasets.cache import cache_folder, checksum, write

TABLE = {
    "X": np.array([[5, 30, 1], [15, 10, 0], [25, 20, 1], [35, 30, 0], [45, 10, 0], [55, 20, 1]]),
    "y": np.array([1, 2, 1, 1, 2, 1], dtype=np.uint8),
}


def put(folder, name="tiny.npz", **arrays):
    path = folder / name
    write(path, TABLE | arrays)
    return path


def test_the_cache_follows_the_platform(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "mist"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "mist"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "mist"


def test_a_file_in_the_cache_is_used(cache, register, recwarn):
    register(sha256=checksum(put(cache)))
    data = load("tiny")
    assert np.array_equal(data.X, TABLE["X"])
    assert data.X.dtype == np.float64
    assert data.y.tolist() == TABLE["y"].tolist()
    assert data.y.dtype == np.int64
    assert data.feature_names == ("x0", "x1", "x2")
    assert data.n_train is None
    assert not recwarn.list


def test_mist_data_goes_before_the_cache(cache, register, tmp_path, monkeypatch):
    register()
    put(cache)
    put(tmp_path / "mine", X=TABLE["X"] + 1)
    monkeypatch.setenv("MIST_DATA", str(tmp_path / "mine"))
    assert load("tiny").X[0, 0] == 6
    shutil.rmtree(tmp_path / "mine")
    assert load("tiny").X[0, 0] == 5


def test_scale_features_and_training_part_of_the_file(cache, register):
    register()
    put(cache, scale=np.array([0.1, 1, 1]), features=np.array(list("abc")), n_train=np.array(3))
    data = load("tiny")
    assert data.X[:, 0] == pytest.approx([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
    assert data.feature_names == ("a", "b", "c")
    assert data.n_train == 3


def test_another_checksum_is_a_warning(cache, register):
    path = put(cache)
    register(sha256="0" * 64)
    with pytest.warns(UserWarning, match="not the reference copy of data set 'tiny'") as caught:
        data = load("tiny")
    assert data.X.shape == (6, 3)
    message = str(caught[0].message)
    for part in (str(path), f"expected sha256 {'0' * 64}", f"found {checksum(path)}"):
        assert part in message
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": TABLE["X"][:, :2]}, r"expected shape \(6, 3\), found \(6, 2\)"),
        ({"y": TABLE["y"] + 1}, r"expected labels \[1, 2\], found \[2, 3\]"),
        (
            {"y": TABLE["y"][[0, 0, 0, 0, 0, 1]]},
            r"expected class counts \[4, 2\], found \[5, 1\]",
        ),
    ],
)
def test_another_table_is_a_warning_where_no_checksum_is_known(cache, register, changed, message):
    register()
    put(cache, **changed)
    with pytest.warns(UserWarning, match=message):
        load("tiny")


@pytest.mark.parametrize("changed", [{"X": TABLE["X"][:, 0]}, {"y": TABLE["y"][:-1]}])
def test_no_table_at_all_is_an_error(cache, register, changed):
    register()
    path = put(cache, **changed)
    with pytest.raises(DatasetError, match="is not a table of labelled rows") as caught:
        load("tiny")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "damage", ["empty", "text", "half", "pickle", "flipped", "header", "packing"]
)
def test_a_damaged_file_is_an_error_that_names_it(cache, register, damage):
    register()
    path = put(cache)
    packed = path.read_bytes()
    if damage == "pickle":
        np.savez(path, X=np.array([{}], dtype=object), y=TABLE["y"])
    elif damage == "header":
        # What parses it raises neither ValueError nor OSError.
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", b"\x93NUMPY\x01\x00\x03\x00(\n(")
    elif damage == "packing":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("X.npy", b"")
    else:
        middle = len(packed) // 4
        flipped = bytes([packed[middle] ^ 255])
        path.write_bytes(
            {
                "empty": b"",
                "text": b"not an archive",
                "half": packed[: len(packed) // 2],
                "flipped": packed[:middle] + flipped + packed[middle + 1 :],
            }[damage]
        )
    with pytest.raises(DatasetError, match="replace or delete it") as caught:
        load("tiny")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("key", ["X", "y"])
def test_a_file_without_rows_or_labels(cache, register, key):
    register()
    write(cache / "tiny.npz", {other: TABLE[other] for other in TABLE if other != key})
    with pytest.raises(DatasetError, match=f"no array '{key}'"):
        load("tiny")


def test_writing_replaces_the_whole_file_or_nothing(tmp_path, monkeypatch):
    path = put(tmp_path)
    before = path.read_bytes()

    def fail(file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("numpy.savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        put(tmp_path, X=TABLE["X"] + 1)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["tiny.npz"]
