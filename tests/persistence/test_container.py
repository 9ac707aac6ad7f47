import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mist
from mist.baselines.ncm import NCM, NCMState
from mist.labels import Labels
from mist.persistence import read_contents
from mist.persistence.container import write_contents

FIXTURES = Path(__file__).parent.parent / "fixtures"
SMALL = FIXTURES / "format1-gaussian.mist"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Bytes of a small file, and where to write others."""
    folder = tmp_path_factory.mktemp("files")
    small().save(folder / "whole.mist")
    return (folder / "whole.mist").read_bytes(), folder / "other.mist"


def small():
    """A model made without a line of compiled code."""
    model = NCM()
    model._labels = Labels()
    model._labels.add(["a", "b"])
    model.classes_, model.n_features_in_ = model._labels.classes, 1
    model._state = NCMState(np.ones(2), np.zeros((2, 1)))
    return model


def refused(path):
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: ") as caught:
        mist.load(path)
    return str(caught.value)


def test_what_was_written_is_read(whole):
    data, path = whole
    path.write_bytes(data)
    contents = read_contents(path)
    assert contents.header["format"] == "mist-model"
    assert contents.header["version"] == 1
    assert contents.header["library"] == mist.__version__
    assert contents.header["class"] == "NCM"
    assert contents.header["classes"] == {"is": "list", "of": ["a", "b"]}
    assert contents.sizes["header.json"] > 0
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        with archive.open("arrays/4.npy") as member:
            assert np.load(member).shape == (2, 1)


def test_the_same_model_gives_the_same_file(whole):
    data, path = whole
    small().save(path)
    assert path.read_bytes() == data


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_byte_altered_is_noticed(whole, draw):
    data, path = whole
    at = draw.draw(st.integers(0, len(data) - 1))
    altered = bytearray(data)
    altered[at] ^= draw.draw(st.integers(1, 255))
    path.write_bytes(altered)
    refused(path)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_end_cut_off_or_added_is_noticed(whole, draw):
    data, path = whole
    n = draw.draw(st.integers(0, len(data) - 1))
    path.write_bytes(data[:n])
    refused(path)
    path.write_bytes(data + draw.draw(st.binary(min_size=1, max_size=200)))
    refused(path)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=500), st.booleans())
def test_other_bytes_are_no_model(whole, data, zipped):
    path = whole[1]
    path.write_bytes(b"PK\x03\x04" + data if zipped else data)
    assert "not a MIST model file" in refused(path)


def test_another_zip_is_no_model(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.zeros(3))
    assert "this is not a MIST model file" in refused(tmp_path / "data.npz")


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.mist"):
        mist.load(tmp_path / "nowhere.mist")
    with pytest.raises(OSError, match=re.escape(tmp_path.name)):
        mist.load(tmp_path)


# --- files that were sealed by somebody else ----------------------------------------------------


def forge(path, change, method=zipfile.ZIP_STORED):
    """A file with right checksums of what `change` makes of the members."""
    small().save(path)
    with zipfile.ZipFile(path) as archive:
        members = [[name, archive.read(name)] for name in archive.namelist()]
    by_name = dict(members)
    header = json.loads(by_name.pop("header.json"))
    more = change(by_name, header) or []
    for name, data in by_name.items():
        if name in header.get("members", ()):
            own = header["members"][name]
            own["bytes"] = own["bytes"] if "keep" in own else len(data)
            own["sha256"] = hashlib.sha256(data).hexdigest()
    by_name.setdefault("header.json", json.dumps(header).encode())
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in [*by_name.items(), *more]:
            archive.writestr(name, data)
        archive.comment = b"MIST sha256 " + 64 * b"0"
    data = path.read_bytes()[:-64]
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())
    return path


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_file_that_was_packed_anew_and_sealed_is_read(tmp_path, method):
    path = forge(tmp_path / "m.mist", lambda members, header: None, method)
    assert mist.load(path).classes_.tolist() == ["a", "b"]


def drop(members, header):
    del members["arrays/0.npy"]


def drop_header(members, header):
    members.clear()
    return [("other.json", b"{}")]


def broken_header(members, header):
    members["header.json"] = b'{"format":'


def deep_header(members, header):
    members["header.json"] = b"[" * 100_000


def nan_header(members, header):
    header["version"] = float("nan")


def add(members, header):
    members["arrays/9.npy"] = npy(np.zeros(2))


def add_odd(members, header):
    members["../evil.npy"] = b""


def add_absolute(members, header):
    members["/etc/passwd"] = b""


def add_folder(members, header):
    members["arrays/"] = b""


def add_again(members, header):
    return [("arrays/0.npy", members["arrays/0.npy"])]


def list_more(members, header):
    header["members"]["arrays/7.npy"] = {"bytes": 1}


def newer(members, header):
    header["version"] = 2


def no_library(members, header):
    del header["library"]


def odd_library(members, header):
    header["library"] = 3


def odd_version(members, header):
    header["version"] = "one"


def other_format(members, header):
    header["format"] = "other"


def longer(members, header):
    members["arrays/0.npy"] += b"\0" * 8


def shorter(members, header):
    members["arrays/0.npy"] = members["arrays/0.npy"][:-1]


def larger_than_told(members, header):
    members["arrays/0.npy"] += b"\0" * 8
    header["members"]["arrays/0.npy"]["keep"] = True


def other_shape(members, header):
    members["arrays/4.npy"] = npy(np.zeros((1, 2)))


def other_type(members, header):
    members["arrays/4.npy"] = npy(np.zeros((2, 1), np.float32))


def pickled(members, header):
    members["arrays/4.npy"] = npy(np.array([{}], dtype=object))


def no_npy(members, header):
    members["arrays/4.npy"] = b"nothing"


def by_hand(header):
    """An array whose header is any text."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def no_end(members, header):
    members["arrays/4.npy"] = by_hand(b"{'descr': '<f8', (")


def odd_indent(members, header):
    members["arrays/4.npy"] = by_hand(b"{'descr': '<f8'}\n  x\n y")


def below_zero(members, header):
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -1), }\n"
    members["arrays/4.npy"] = by_hand(text) + bytes(16)


def no_unicode(members, header):
    array = np.array([0x110000, 98], np.uint32).view("<U1")
    members["arrays/0.npy"] = npy(array)


def long_value(members, header):
    header["model"]["of"]["n_features_in_"] = {"is": "float", "of": "\x1b" + "x" * 10**5}


def huge(members, header):
    text = npy(np.zeros((2, 1)))
    members["arrays/4.npy"] = text.replace(b"(2, 1), }       ", b"(99999999, 1), }")
    header["members"]["arrays/4.npy"]["shape"] = [99999999, 1]


def other_classes(members, header):
    header["classes"] = {"is": "list", "of": ["a", "c"]}


def other_class(members, header):
    header["class"] = "SLDA"


def no_model(members, header):
    header["model"] = {"is": "list", "of": []}
    header["members"] = {}
    members.clear()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop, "member 'arrays/0.npy' is missing"),
        (drop_header, "unexpected member 'other.json'"),
        (broken_header, "damaged"),
        (deep_header, "damaged"),
        (nan_header, "NaN is not allowed"),
        (add, "member 'arrays/9.npy' is not listed"),
        (add_odd, "the unexpected member '../evil.npy'"),
        (add_absolute, "the unexpected member '/etc/passwd'"),
        (add_folder, "the unexpected member 'arrays/'"),
        (add_again, "the same member twice"),
        (list_more, "member 'arrays/"),
        (newer, "has format version 2, but this MIST reads versions up to 1"),
        (no_library, "does not say which version of MIST wrote"),
        (odd_library, "does not say which version of MIST wrote"),
        (odd_version, "unknown format version 'one'"),
        (other_format, "unknown format"),
        (longer, "has more or fewer bytes than its shape needs"),
        (shorter, "has more or fewer bytes than its shape needs"),
        (larger_than_told, "differs from the header"),
        (other_shape, "differs in type or shape"),
        (other_type, "differs in type or shape"),
        (pickled, "values of the unsupported type object"),
        (no_npy, "damaged"),
        (no_end, "damaged: ('EOF in multi-line statement'"),
        (odd_indent, "damaged: unindent"),
        (below_zero, "damaged: the shape (-2, -1) is negative"),
        (no_unicode, "damaged: a text is not Unicode"),
        (long_value, r"'\x1bxxx"),
        (huge, "has more or fewer bytes than its shape needs"),
        (other_classes, "are not those of the model"),
        (other_class, "class that the header names"),
        (no_model, "not a model"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_sealed_file_that_is_not_as_written_is_refused(tmp_path, change, message):
    told = refused(forge(tmp_path / "forged.mist", change))
    assert message in told
    assert told.isprintable()
    assert len(told) < 2000


def test_checksums_of_members_are_looked_at(tmp_path):
    path = tmp_path / "m.mist"

    def change(members, header):
        # The header is written here, so that nothing of it is put right.
        members["arrays/0.npy"] = npy(np.array(["b", "a"]))
        members["header.json"] = json.dumps(header).encode()

    assert "member 'arrays/0.npy' was altered" in refused(forge(path, change))


def test_a_bomb_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb.mist"
    zeros = np.zeros(2**21)
    write_contents(path, {"library": "0", "class": "NCM"}, [zeros])
    assert path.stat().st_size < 2**18
    with pytest.raises(ValueError, match="more than max_bytes=1,000,000: if you trust the file"):
        mist.load(path, max_bytes=10**6)
    assert read_contents(path).arrays[0].nbytes == zeros.nbytes


# --- writing ------------------------------------------------------------------------------------


def folder_of(path):
    return sorted(each.name for each in path.parent.iterdir())


def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(tmp_path, monkeypatch):
    path = tmp_path / "model.mist"
    small().save(path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    for place in ("mist.persistence.container.os.replace", "mist.files.os.fsync"):
        with monkeypatch.context() as patched:
            patched.setattr(place, fail)
            with pytest.raises(OSError, match="No space left"):
                small().save(path)
        assert path.read_bytes() == before
        assert folder_of(path) == ["model.mist"]


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    model = small()
    model.note_ = object()
    with pytest.raises(TypeError, match=r"^NCM\.note_ is a object"):
        model.save(tmp_path / "model.mist")
    assert list(tmp_path.iterdir()) == []


def test_saving_makes_folders_and_replaces_files(tmp_path):
    path = tmp_path / "new" / "model.mist"
    small().save(path)
    small().save(str(path))
    assert folder_of(path) == ["model.mist"]
    assert mist.load(str(path)).predict_proba is not None
