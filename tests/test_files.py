"""Files that are written whole or not at all."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from mist import files
from mist.files import replacing, write_text


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.txt"
    write_text(path, "before")
    return path


def only(path):
    """Whether nothing is beside the file."""
    return [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch, name, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(files.os, name, fail)
    with pytest.raises(error):
        write_text(path, "after" * 10_000)
    assert path.read_text() == "before"
    assert only(path)


class Unclosable:
    """A file whose disk turns out to be full when it is closed, as over a network."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def full(*_):
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def write_much(path, last=lambda: None):
    with replacing(path) as file:
        file.write(b"after" * 10_000)
        last()


@pytest.mark.parametrize("name", ["fsync", "replace", "close", "write"])
def test_an_error_names_the_file_and_what_is_left(path, monkeypatch, name):
    opened = Path.open
    if name == "close":
        monkeypatch.setattr(Path, "open", lambda *given: Unclosable(opened(*given)))
    elif name != "write":
        monkeypatch.setattr(files.os, name, full)
    with pytest.raises(OSError, match="an existing file is unchanged") as caught:
        write_much(path, full if name == "write" else lambda: None)
    monkeypatch.undo()
    assert caught.value.errno == errno.EDQUOT
    assert caught.value.filename == str(path)
    assert path.read_text() == "before"
    assert only(path)


def test_an_error_of_another_file_keeps_its_name(path):
    with pytest.raises(FileNotFoundError) as caught:
        write_much(path, Path("/nowhere/else").read_bytes)
    assert caught.value.filename == "/nowhere/else"
    assert path.read_text() == "before"


def test_two_who_write_one_file_do_not_disturb_each_other(path):
    with replacing(path) as first:
        first.write(b"first")
        write_text(path, "second")
    assert path.read_text() == "first"
    assert only(path)


def test_a_file_that_cannot_be_opened_is_left(path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "after")
    monkeypatch.undo()
    assert path.read_text() == "before"
    assert only(path)


def test_text_that_cannot_be_encoded_leaves_the_old_file(path):
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "after\ud800")
    assert path.read_text() == "before"
    assert only(path)


def test_an_error_while_writing_leaves_the_old_file(path):
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"aft", None])
    assert path.read_text() == "before"
    assert only(path)


def test_parts_of_this_file_alone_are_cleared(tmp_path):
    path = tmp_path / "a[1].txt"
    mine, others = tmp_path / ".a[1].txt-0123.part", tmp_path / ".a1.txt-0123.part"
    for part in (mine, others):
        part.write_text("half")
    write_text(path, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([path, others])


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
def test_others_may_read_what_the_user_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "x", "")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


def test_text_is_utf8_with_plain_line_ends(tmp_path):
    path = tmp_path / "deep" / "er" / "x.csv"
    write_text(path, "a\né\n")
    assert path.read_bytes() == b"a\n\xc3\xa9\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    write_text(path, "through")
    reader.join()
    assert got == ["through"]
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]
