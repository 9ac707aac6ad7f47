"""The write-ahead log: whatever is cut or changed, no acknowledged record is lost or invented."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist.serving import journal as journal_module
from mist.serving.journal import MAGIC, Journal, _framed, last_record, read_records

GROUPS = [[b"one"], [b"", b"three" * 9], [b"four", b"five", b"six"], [b"seven"]]
RECORDS = [record for group in GROUPS for record in group]


def write(folder, groups):
    """Write groups; return the sizes of the file after each, and the number of records."""
    journal, ends = Journal(folder), []
    (path,) = folder.glob("log-*")
    for group in groups:
        journal.append(group)
        ends.append(path.stat().st_size)
    journal.close()
    return path, ends


def payloads(folder, after=0):
    return [record.payload for record in read_records(folder, after)]


def acknowledged(ends, size):
    """Records of the groups that end within a size."""
    return [r for group, end in zip(GROUPS, ends, strict=True) if end <= size for r in group]


def test_records_are_read_as_they_were_written(tmp_path):
    write(tmp_path, GROUPS)
    assert payloads(tmp_path) == RECORDS
    assert payloads(tmp_path, 5) == RECORDS[5:]
    assert [record.number for record in read_records(tmp_path)] == list(range(1, 8))


def test_a_log_cut_at_any_byte_keeps_complete_groups(tmp_path):
    path, ends = write(tmp_path / "whole", GROUPS)
    data = path.read_bytes()
    for size in range(len(data) + 1):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / path.name).write_bytes(data[:size])
        kept = acknowledged(ends, size)
        assert payloads(folder) == kept
        # The log goes on behind them, and a second crash finds no trace of the first.
        journal = Journal(folder)
        assert journal.number == len(kept)
        assert journal.cut == size - max(
            [len(MAGIC) * (size >= 8), *(e for e in ends if e <= size)]
        )
        journal.append([b"later"])
        journal.close()
        assert payloads(folder) == [*kept, b"later"]


def test_a_changed_byte_is_refused_or_cuts_the_last_group(tmp_path):
    path, ends = write(tmp_path / "whole", GROUPS)
    data = path.read_bytes()
    for place in range(len(data)):
        folder = tmp_path / str(place)
        folder.mkdir()
        changed = bytearray(data)
        changed[place] ^= 0x55
        (folder / path.name).write_bytes(changed)
        if place < ends[-2]:
            with pytest.raises(ValueError, match=path.name):
                payloads(folder)
        else:
            assert payloads(folder) == acknowledged(ends, ends[-2])


@given(st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=4), max_size=6), st.data())
def test_reopened_again_and_again(tmp_path_factory, groups, data):
    folder = tmp_path_factory.mktemp("log")
    written, held = [], 0
    journal = Journal(folder)
    for group in groups:
        journal.append(group)
        written += group
        step = data.draw(st.sampled_from(["continue", "reopen", "checkpoint", "torn"]))
        if step == "checkpoint":
            journal.forget(len(written))
            held = len(written)
        elif step != "continue":
            journal.close()
            if step == "torn":
                newest = max(folder.glob("log-*"))
                with newest.open("ab") as file:
                    file.write(data.draw(st.binary(max_size=30)))
            journal = Journal(folder, held)
        assert journal.number == len(written)
        assert payloads(folder, held) == written[held:]
    journal.close()


def test_a_checkpoint_removes_what_it_holds(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"a", b"b"])
    journal.forget(2)
    journal.forget(2)
    assert [path.name for path in tmp_path.glob("log-*")] == ["log-00000000000000000003"]
    journal.append([b"c"])
    journal.close()
    assert payloads(tmp_path, 2) == [b"c"]
    with pytest.raises(ValueError, match="begins with record 3, but the checkpoint ends"):
        payloads(tmp_path, 1)


def test_records_that_the_checkpoint_before_needs_stay(tmp_path):
    journal = Journal(tmp_path)
    for letter in (b"a", b"b", b"c"):
        journal.append([letter])
        journal.forget(journal.number - 1)
    journal.close()
    assert last_record(tmp_path) == 3
    names = sorted(path.name[-1] for path in tmp_path.glob("log-*"))
    assert names == ["3", "4"]
    assert payloads(tmp_path, 2) == [b"c"]
    # The number of an empty log is in the name of its file: records may have been removed.
    (tmp_path / "log-00000000000000000003").unlink()
    assert last_record(tmp_path) == 3
    for after in (0, 2):
        with pytest.raises(ValueError, match="begins with record 4, but the checkpoint ends"):
            Journal(tmp_path, after)
    Journal(tmp_path, after=3).remove()
    assert list(tmp_path.glob("log-*")) == []
    assert last_record(tmp_path) == 0


def test_damage_in_what_no_start_needs_is_not_read(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"a"])
    journal.forget(0)
    journal.append([b"b"])
    journal.close()
    old = min(tmp_path.glob("log-*"))
    old.write_bytes(b"damaged")
    assert payloads(tmp_path, 1) == [b"b"]
    with pytest.raises(ValueError, match=f"{old.name} is not a log"):
        payloads(tmp_path, 0)


def test_a_kill_between_checkpoint_and_new_log_repeats_nothing(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"a", b"b"])
    journal.close()
    journal = Journal(tmp_path, after=2)
    journal.append([b"c"])
    journal.close()
    assert payloads(tmp_path, 2) == [b"c"]


def test_a_checkpoint_ahead_of_the_log_begins_a_new_one(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"a"])
    journal.close()
    journal = Journal(tmp_path, after=10)
    assert journal.append([b"k"]) == 11
    journal.close()
    assert payloads(tmp_path, 10) == [b"k"]


def test_a_full_disk_takes_back_the_group(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.append([b"a"])
    write = os.write

    def full(file, data):
        if len(data) > 20:
            write(file, data[:20])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        journal.append([b"b" * 50])
    monkeypatch.undo()
    assert not journal.broken
    assert journal.append([b"c"]) == 2
    journal.close()
    assert payloads(tmp_path) == [b"a", b"c"]


@pytest.mark.parametrize("call", ["write", "fdatasync", "open"])
def test_a_disk_that_is_full_at_a_new_segment_keeps_the_old_one(tmp_path, monkeypatch, call):
    journal = Journal(tmp_path)
    journal.append([b"a"])
    before = sorted(tmp_path.glob("log-*"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        journal.forget(1)
    monkeypatch.undo()
    assert sorted(tmp_path.glob("log-*")) == before
    assert not journal.broken
    assert journal.append([b"b"]) == 2
    journal.close()
    assert payloads(tmp_path) == [b"a", b"b"]
    again = Journal(tmp_path, after=1)
    assert again.append([b"c"]) == 3
    again.forget(3)
    again.close()


def test_a_torn_end_is_looked_at_without_checksums_at_every_byte(tmp_path, monkeypatch):
    path, _ = write(tmp_path, [[b"whole"]])
    text = b'{"do":"learn","rows":[{"size":1.25}],"labels":["cat"]}' * 40_000
    with path.open("ab") as file:
        file.write(_framed(2, 2, True, text)[:-1])
    looks, reads = [], []
    frame_at, read_bytes = journal_module._frame_at, type(path).read_bytes
    monkeypatch.setattr(
        journal_module, "_frame_at", lambda data, at: looks.append(at) or frame_at(data, at)
    )
    monkeypatch.setattr(
        type(path), "read_bytes", lambda self: reads.append(self) or read_bytes(self)
    )
    journal = Journal(tmp_path)
    assert [record.payload for record in journal.take_records()] == [b"whole"]
    assert journal.take_records() == []
    assert journal.cut > 2_000_000
    assert len(looks) < 100
    assert len(reads) == 1
    journal.close()


def test_damage_is_found_far_in_front_of_an_intact_record(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_module, "_LOOK", 64)
    path, ends = write(tmp_path, [[b"a" * 500], [b"b" * 500], [b"c"]])
    data = bytearray(path.read_bytes())
    data[ends[0] + 30] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="record 3 behind it is intact"):
        payloads(tmp_path)


def test_a_failed_flush_ends_the_log(tmp_path, monkeypatch):
    journal = Journal(tmp_path)

    def fail(file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(OSError, match="Input/output"):
        journal.append([b"a"])
    monkeypatch.undo()
    with pytest.raises(OSError, match="could not be flushed"):
        journal.append([b"b"])
    assert journal.broken


def test_another_file_is_refused(tmp_path):
    (tmp_path / "log-00000000000000000001").write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a log of mist serve"):
        Journal(tmp_path)
