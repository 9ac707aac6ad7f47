"""`Journal`: a write-ahead log of records that survives a kill at any moment.

A log is a folder of segments, ``log-NUMBER``, named after the first record they may hold. A segment
begins with `MAGIC`, and then holds frames:

====== ======================================================================
bytes  content
====== ======================================================================
4      length of the payload
4      CRC-32 of everything after it in the frame
8      number of the record, one more than that of the record before
4      number of the group that was written and flushed together
1      1 in the last frame of its group, else 0
...    payload
====== ======================================================================

Records of one group are written by one call and flushed to the disk by one, and a group is begun
only when the one before is on the disk. So whatever a crash leaves of the last group is followed by
nothing, and a damaged frame that later groups follow is not the trace of a crash.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from mist.files import write_all

__all__ = [
    "MAGIC",
    "MOST_PAYLOAD",
    "Journal",
    "Record",
    "last_record",
    "read_records",
    "sync_folder",
]

MAGIC = b"MISTLOG1"
MOST_PAYLOAD = 1 << 30

_HEAD = struct.Struct("<II")
_BODY = struct.Struct("<QIB")
_FRAME = _HEAD.size + _BODY.size
_GROUP_AT = _HEAD.size + 8
_LOOK = 1 << 20
"""Positions that are looked at together for a frame behind damage."""


class Record(NamedTuple):
    """One record of a log.

    Attributes
    ----------
    number : int
        Its number.
    payload : bytes
        Its content.
    """

    number: int
    payload: bytes


class _Frame(NamedTuple):
    record: Record
    group: int
    last: bool
    end: int


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _framed(number: int, group: int, last: bool, payload: bytes) -> bytes:
    rest = _BODY.pack(number, group, last) + payload
    return _HEAD.pack(len(payload), zlib.crc32(rest)) + rest


def _frame_at(data: bytes, start: int) -> _Frame | None:
    """Return the frame at a position; None if there is no valid one."""
    if len(data) - start < _FRAME:
        return None
    length, checksum = _HEAD.unpack_from(data, start)
    end = start + _FRAME + length
    if length > MOST_PAYLOAD or end > len(data):
        return None
    if zlib.crc32(memoryview(data)[start + _HEAD.size : end]) != checksum:
        return None
    number, group, last = _BODY.unpack_from(data, start + _HEAD.size)
    return _Frame(Record(number, data[start + _FRAME : end]), group, bool(last), end)


def _sync(file: int) -> None:
    """Flush data and size of a file; the time of its last change is not needed."""
    (getattr(os, "fdatasync", None) or os.fsync)(file)


def _segment_paths(folder: Path) -> list[Path]:
    """Segments of a folder, the oldest first."""
    return sorted(path for path in folder.glob("log-*") if path.name[4:].isdecimal())


class _Segment(NamedTuple):
    path: Path
    frames: list[_Frame]  # of complete groups
    end: int  # behind the last complete group; 0 if even the magic number is incomplete
    size: int


def _read_segment(path: Path) -> _Segment:
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        if MAGIC.startswith(data):
            return _Segment(path, [], 0, len(data))
        raise ValueError(f"{path} is not a log of mist serve: move it out of the folder")
    frames: list[_Frame] = []
    end = len(MAGIC)
    while (frame := _frame_at(data, end)) is not None:
        frames.append(frame)
        end = frame.end
    if end < len(data):
        _refuse_damage(path, data, end, frames[-1] if frames else None)
    while frames and not frames[-1].last:
        frames.pop()
    return _Segment(path, frames, frames[-1].end if frames else len(MAGIC), len(data))


def _refuse_damage(path: Path, data: bytes, end: int, before: _Frame | None) -> None:
    """Refuse a segment if valid frames of a later group follow the first invalid one."""
    # The invalid frame is of the group of the frame before it, or of the next one if that was the
    # last of its group. Segments begin with group 1.
    torn = 1 if before is None else before.group + before.last
    for start in _possible_frames(data, end + 1, torn):
        frame = _frame_at(data, start)
        if frame is not None:
            raise ValueError(
                f"{path} is damaged at byte {end:,}: record {frame.record.number} behind it is "
                "intact, so this is not the end of a log that was cut by a crash. Restore the "
                "file, or cut it there to go on without the later records"
            )


def _possible_frames(data: bytes, start: int, group: int) -> Iterator[int]:
    """Yield the positions where a frame of a later group would fit, before any checksum."""
    for low in range(start, len(data) - _FRAME + 1, _LOOK):
        count = min(_LOOK, len(data) - _FRAME + 1 - low)
        # A number at each byte: the arrays lie on the data itself.
        lengths = np.ndarray((count,), "<u4", data, low, (1,))
        groups = np.ndarray((count,), "<u4", data, low + _GROUP_AT, (1,))
        room = len(data) - _FRAME - low - np.arange(count)
        yield from (low + np.flatnonzero((lengths <= room) & (groups > group))).tolist()


def _first_of(path: Path) -> int:
    """Number of the first record that a segment may hold."""
    return int(path.name[4:])


def _old_segments(folder: Path, after: int) -> list[Path]:
    """Segments all of whose records have at most this number."""
    return [p for p, later in pairwise(_segment_paths(folder)) if _first_of(later) <= after + 1]


def _read_segments(folder: Path, after: int = 0) -> Iterator[_Segment]:
    """Read the segments that may hold records behind a number.

    Only the last one may end with an incomplete group.
    """
    old = _old_segments(folder, after)
    paths = [path for path in _segment_paths(folder) if path not in old]
    if paths and _first_of(paths[0]) > after + 1:
        _refuse_gap(paths[0], _first_of(paths[0]), after)
    for path in paths:
        segment = _read_segment(path)
        if path != paths[-1] and segment.end < segment.size:
            raise ValueError(
                f"{path} ends in the middle of a record, but a later file follows: restore it"
            )
        yield segment


def _records_of(segments: Iterable[_Segment], after: int) -> Iterator[Record]:
    """Yield the records behind a number, and refuse a gap."""
    expected = after + 1
    for segment in segments:
        for frame in segment.frames:
            if frame.record.number < expected:
                continue
            if frame.record.number > expected:
                _refuse_gap(segment.path, frame.record.number, expected - 1)
            yield frame.record
            expected += 1


def _refuse_gap(path: Path, first: int, after: int) -> NoReturn:
    raise ValueError(
        f"{path} begins with record {first}, but the checkpoint ends with record {after}: restore "
        "the checkpoint that goes with this log"
    )


def last_record(folder: Path) -> int:
    """Number of the last record that the log of a folder has or had; 0 if it never had one.

    Raises
    ------
    ValueError
        If the newest segment is damaged.
    """
    paths = _segment_paths(folder)
    if not paths:
        return 0
    frames = _read_segment(paths[-1]).frames
    return frames[-1].record.number if frames else _first_of(paths[-1]) - 1


class Journal:
    """A write-ahead log.

    Parameters
    ----------
    folder : Path
        The folder; it is created.
    after : int, default=0
        Number of the last record that a checkpoint holds; earlier records are not needed.

    Attributes
    ----------
    number : int
        Number of the last record.
    cut : int
        Bytes of an incomplete last group that were cut when the log was opened.

    Raises
    ------
    ValueError
        If the log is damaged, or lacks records between the checkpoint and its own.
    OSError
        If it cannot be read or written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder))
    ...     journal.append([b"one", b"two"])
    ...     journal.close()
    ...     [record.payload for record in read_records(Path(folder), after=1)]
    2
    [b'two']
    """

    def __init__(self, folder: Path, after: int = 0) -> None:
        self.cut = 0
        self.number = after
        self._folder = folder
        self._file = -1
        self._size = 0
        self._group = 0
        self._broken = ""
        folder.mkdir(parents=True, exist_ok=True)
        segments = list(_read_segments(folder, after))
        self._records = list(_records_of(segments, after))
        if self._records:
            self.number = self._records[-1].number
        if segments:
            self._continue(segments[-1])
        else:
            self._begin(after + 1)

    def take_records(self) -> list[Record]:
        """Return the records that were there when the log was opened, behind the checkpoint.

        Once: they are not held after that.
        """
        records, self._records = self._records, []
        return records

    def _continue(self, segment: _Segment) -> None:
        """Open the newest segment, without what a crash has left of its last group."""
        path, frames, whole, size = segment
        last = frames[-1].record.number if frames else _first_of(path) - 1
        if last != self.number:
            # The checkpoint holds more than the log, which was not written for a time.
            self._begin(self.number + 1)
            self._remove_old(self.number)
            return
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        self.cut = size - whole
        self._group = frames[-1].group if frames else 0
        self._size = whole
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)
        if whole < len(MAGIC):
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            write_all(self._file, MAGIC)
            self._size = len(MAGIC)
        self._flush()

    def _begin(self, first: int) -> None:
        """Create the segment whose first record has a number.

        The log goes on in the old segment unless the new one is complete on the disk: a segment
        without its first bytes is not read again.
        """
        path = self._folder / f"log-{first:020d}"
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        file = os.open(path, flags, 0o666)
        try:
            write_all(file, MAGIC)
            _sync(file)
            sync_folder(self._folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self.close()
        self._file, self._size, self._group = file, len(MAGIC), 0

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write records as one group and flush it to the disk.

        Parameters
        ----------
        payloads : sequence of bytes
            Contents of the records, at least one.

        Returns
        -------
        int
            Number of the last of them.

        Raises
        ------
        OSError
            If they cannot be written; then none of them is in the log. If it is unknown what the
            disk holds, because flushing has failed, the log takes no more records.
        """
        if self._broken:
            raise OSError(5, self._broken, str(self._folder))
        self._group += 1
        data = b"".join(
            _framed(self.number + 1 + place, self._group, place == len(payloads) - 1, payload)
            for place, payload in enumerate(payloads)
        )
        before = self._size
        try:
            write_all(self._file, data)
        except OSError:
            self._group -= 1
            self._take_back(before)
            raise
        self._size += len(data)
        self._flush()
        self.number += len(payloads)
        return self.number

    def _take_back(self, size: int) -> None:
        try:
            os.ftruncate(self._file, size)
            os.lseek(self._file, size, os.SEEK_SET)
        except OSError as error:
            self._broken = f"the log could not be cut after a failed write ({error.strerror})"

    def _flush(self) -> None:
        try:
            _sync(self._file)
        except OSError as error:
            # What was written may be lost although a second try succeeds.
            self._broken = f"the log could not be flushed to the disk ({error.strerror})"
            raise

    @property
    def broken(self) -> str:
        """Why the log takes no more records; empty if it does."""
        return self._broken

    def forget(self, after: int) -> None:
        """Begin a new segment and remove those that are no longer needed.

        Parameters
        ----------
        after : int
            Records up to this number are no longer needed. The others stay, also those that a
            checkpoint holds: a start from an earlier checkpoint needs them.
        """
        if self._size > len(MAGIC):
            self._begin(self.number + 1)
        self._remove_old(after)

    def _remove_old(self, after: int) -> None:
        for path in _old_segments(self._folder, after):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Close and remove the log: later calls are not written to it, so it would have a gap."""
        self.close()
        for path in _segment_paths(self._folder):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_records(folder: Path, after: int = 0) -> Iterator[Record]:
    """Read the records of a log behind a checkpoint, without those of an incomplete last group.

    Parameters
    ----------
    folder : Path
        The folder of the log.
    after : int, default=0
        Number of the last record that the checkpoint holds.

    Returns
    -------
    iterator of Record
        Records with the numbers after + 1, after + 2, ...

    Raises
    ------
    ValueError
        If a segment is damaged or records are missing; the message names the file.
    """
    return _records_of(_read_segments(folder, after), after)
