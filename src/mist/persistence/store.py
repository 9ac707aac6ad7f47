"""`Store`: numbered versions of a model in a folder, to compare and to go back to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from mist.files import replacing
from mist.folder_lock import FolderLock
from mist.persistence.model import load_with_attachment, save

__all__ = ["Difference", "Store", "Version"]

_INDEX, _FORMAT = "versions.json", 1


class Version(NamedTuple):
    """One version in a store.

    Attributes
    ----------
    number : int
        Its number, from 1.
    saved : str
        When it was saved: ISO 8601, UTC.
    model : str
        Class of the model.
    rows, leaves, nbytes : int or None
        Rows learnt, leaves, and bytes in memory; None if the model does not say.
    classes : tuple of str
        Its labels, as text.
    accuracy : float or None
        As given to `Store.save`.
    parent : int or None
        The version that was current when this one was saved; None for a model that began anew.
    note : str
        As given to `Store.save`.
    tags : tuple of str
        Its tags.
    about : dict
        As given to `Store.save`.
    """

    number: int
    saved: str
    model: str
    rows: int | None
    classes: tuple[str, ...]
    leaves: int | None
    nbytes: int | None
    accuracy: float | None
    parent: int | None
    note: str
    tags: tuple[str, ...]
    about: dict[str, Any]


class Difference(NamedTuple):
    """What a later version has more than an earlier one; None where either does not say.

    Attributes
    ----------
    classes_added, classes_gone : tuple of str
        Labels that only the later, or only the earlier version has.
    rows, leaves, nbytes : int or None
        Differences of the counts.
    accuracy : float or None
        Difference of the accuracies.
    """

    classes_added: tuple[str, ...]
    classes_gone: tuple[str, ...]
    rows: int | None
    leaves: int | None
    nbytes: int | None
    accuracy: float | None


class Store:
    """Numbered versions of a model in a folder.

    Each version is a file of `mist.persistence.save`, ``version-000001.mist`` and so on, and an
    entry of ``versions.json``. Both are replaced as a whole: a kill at any moment leaves the
    versions of before, or those and the new one. A lock on the file ``lock`` lets one writer after
    the other change the folder, among all processes and threads; any number may read.

    Parameters
    ----------
    folder : str or path-like
        The folder; it is created with the first version.
    keep : int or None, default=None
        Versions that are kept. Older ones are removed when another one is saved, unless they have a
        tag or are the current one. None keeps all.

    Attributes
    ----------
    folder : Path
        The folder.
    keep : int or None
        As given.

    Raises
    ------
    ValueError
        If ``keep`` is less than 1.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mist import MistClassifier
    >>> with TemporaryDirectory() as folder:
    ...     store, model = Store(folder, keep=10), MistClassifier("gaussian")
    ...     first = store.save(model.partial_fit([[0.0], [9.0]], ["low", "high"]), accuracy=0.9)
    ...     second = store.save(model.partial_fit([[5.0]], ["middle"]), accuracy=0.7)
    ...     print(store.diff(first.number, second.number).classes_added)
    ...     store.tag("good", first.number)
    ...     store.rollback("good").number, store.load().classes_.tolist()
    ('middle',)
    (1, ['high', 'low'])
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int | None = None) -> None:
        if keep is not None and keep < 1:
            raise ValueError(f"keep={keep}: give the number of versions to keep, at least 1")
        self.folder = Path(folder)
        self.keep = keep
        self._held: FolderLock | None = None

    def hold(self, holder: str) -> None:
        """Keep all others from changing the folder until `release`, not only for each change.

        Parameters
        ----------
        holder : str
            Who does so, for the message that others get. One thread may then use this store.

        Raises
        ------
        ValueError
            If the folder is held already.
        """
        self._held = FolderLock(self.folder, holder)

    def release(self) -> None:
        """Let others change the folder; does nothing if it is not held."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def list(self) -> Sequence[Version]:
        """List the versions, the oldest first.

        Returns
        -------
        list of Version

        Raises
        ------
        ValueError
            If ``versions.json`` is not the index of a store.
        """
        index = self._read()
        return [_version(entry, index["tags"]) for entry in index["versions"]]

    @property
    def current(self) -> int | None:
        """Number of the current version: the last one saved, or gone back to; None without any."""
        number: int | None = self._read()["current"]
        return number

    def save(
        self,
        model: Any,
        *,
        accuracy: float | None = None,
        note: str = "",
        attachment: Any = None,
        about: Mapping[str, Any] | None = None,
        anew: bool = False,
    ) -> Version:
        """Save a model as the next version, which becomes the current one.

        Parameters
        ----------
        model : estimator
            As for `mist.persistence.save`.
        accuracy : float or None, default=None
            What to keep as its accuracy.
        note : str, default=""
            What to keep as a note.
        attachment : object, default=None
            As for `mist.persistence.save`.
        about : mapping or None, default=None
            What else to keep in the index, as values that JSON has.
        anew : bool, default=False
            Whether the model does not continue the current version, which is then not its parent.

        Returns
        -------
        Version
            The version.

        Raises
        ------
        ValueError
            If the accuracy is not a finite number, or another process holds the folder.
        TypeError
            If the model, the attachment or ``about`` holds something that files cannot.
        OSError
            If a file cannot be written; the earlier versions are then unchanged.
        """
        if accuracy is not None and not isfinite(accuracy):
            raise ValueError(f"accuracy={accuracy}: give a finite number, or None if it is unknown")
        given = json.loads(json.dumps(dict(about or {})))
        with self._alone(make=True):
            index = self._read()
            number = 1 + max([*_numbers(index), *self._files()]) if index["versions"] else 1
            save(model, self._path(number), attachment=attachment)
            parent = None if anew else index["current"]
            entry = _entry(model, number, accuracy, parent, note, given)
            kept = self._kept([*index["versions"], entry], index["tags"], number)
            self._write({**index, "current": number, "versions": kept})
            # Files without an entry: versions removed just now, and those whose save was cut short.
            for other in set(self._files()) - {version["number"] for version in kept}:
                if other < number:
                    with suppress(OSError):
                        self._path(other).unlink(missing_ok=True)
        return _version(entry, {})

    def load(self, which: int | str | None = None) -> Any:
        """Load a version.

        Parameters
        ----------
        which : int, str or None, default=None
            A number or a tag; None for the current version.

        Returns
        -------
        estimator
            The model.

        Raises
        ------
        ValueError
            If there is no such version, or its file is not there or not valid.
        """
        return self.load_with_attachment(which).model

    def load_with_attachment(self, which: int | str | None = None) -> Any:
        """Load a version and its attachment, see `mist.persistence.load_with_attachment`."""
        before = None
        while True:
            index = self._read()
            number = self._find(index, which)["number"]
            try:
                return load_with_attachment(self._path(number))
            except FileNotFoundError as error:
                # A writer may have removed it since the index was read: then that has changed.
                if index == before:
                    raise ValueError(self._without_file(index, number)) from error
                before = index

    def diff(self, old: int | str, new: int | str | None = None) -> Difference:
        """Say what has changed between two versions.

        Parameters
        ----------
        old, new : int or str
            Numbers or tags; ``new`` may be None for the current version.

        Returns
        -------
        Difference
        """
        index = self._read()
        a, b = (_version(self._find(index, which), {}) for which in (old, new))
        return Difference(
            tuple(label for label in b.classes if label not in a.classes),
            tuple(label for label in a.classes if label not in b.classes),
            _more(a.rows, b.rows),
            _more(a.leaves, b.leaves),
            _more(a.nbytes, b.nbytes),
            None if a.accuracy is None or b.accuracy is None else b.accuracy - a.accuracy,
        )

    def rollback(self, which: int | str) -> Version:
        """Make an earlier version the current one. Later versions stay.

        Parameters
        ----------
        which : int or str
            A number or a tag.

        Returns
        -------
        Version
            The version, from now on that of ``load()`` and the parent of the next one.

        Raises
        ------
        ValueError
            If there is no such version, or another process holds the folder.
        """
        with self._alone():
            index = self._read()
            entry = self._find(index, which)
            self._write({**index, "current": entry["number"]})
        return _version(entry, index["tags"])

    def tag(self, name: str, which: int | str | None = None) -> None:
        """Give a version a tag. A version with a tag is never removed.

        Parameters
        ----------
        name : str
            The tag; it is taken from the version that has it.
        which : int, str or None, default=None
            A number or another tag; None for the current version.

        Raises
        ------
        ValueError
            If there is no such version, or another process holds the folder.
        """
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{name!r} is no tag: give a text that is not empty")
        with self._alone():
            index = self._read()
            found = self._find(index, which)["number"]
            self._write({**index, "tags": {**index["tags"], name: found}})

    def untag(self, name: str) -> None:
        """Take a tag away.

        Raises
        ------
        ValueError
            If no version has it, or another process holds the folder.
        """
        with self._alone():
            index = self._read()
            if name not in index["tags"]:
                raise ValueError(f"no version has the tag {name!r}: {_known(index)}")
            tags = {other: number for other, number in index["tags"].items() if other != name}
            self._write({**index, "tags": tags})

    @contextmanager
    def _alone(self, make: bool = False) -> Iterator[None]:
        """Lock the folder for one change, unless it is held or, when nothing is made, not there."""
        if self._held is not None or not (make or self.folder.exists()):
            yield
            return
        with FolderLock(self.folder):
            yield

    def _path(self, number: int) -> Path:
        return self.folder / f"version-{number:06}.mist"

    def _files(self) -> Sequence[int]:
        """Numbers of the files that look like versions."""
        names = [path.stem.removeprefix("version-") for path in self.folder.glob("version-*.mist")]
        return [int(name) for name in names if name.isdecimal()]

    def _read(self) -> dict[str, Any]:
        path = self.folder / _INDEX
        try:
            index = json.loads(path.read_text("utf-8"))
            if index["format"] != _FORMAT:
                raise ValueError(f"its format is {index['format']!r}, not {_FORMAT}")
            for entry in index["versions"]:
                _version(entry, index["tags"])
        except FileNotFoundError:
            # The first save, cut short, leaves a file without an index; it is written again.
            if lost := max((number for number in self._files() if number > 1), default=0):
                raise ValueError(
                    f"{path} is missing, and the next save would remove the versions: restore it, "
                    f"or load {self._path(lost).name} and save it to another folder"
                ) from None
            return {"format": _FORMAT, "current": None, "versions": [], "tags": {}}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is not the index of a store ({error}): restore it, or give another folder"
            ) from error
        return dict(index)

    def _without_file(self, index: Mapping[str, Any], number: int) -> str:
        """Say that a version has no file, and which ones have one."""
        there = sorted({*_numbers(index)} & {*self._files()})
        back = f", or go back to a version that has one: {', '.join(map(str, there))}"
        return (
            f"version {number} in {self.folder} has no file: restore {self._path(number).name}"
            f"{back if there else ', or give another folder'}"
        )

    def _write(self, index: Mapping[str, Any]) -> None:
        with replacing(self.folder / _INDEX) as file:
            file.write(json.dumps(index, indent=1).encode())

    def _kept(
        self, versions: Sequence[Any], tags: Mapping[str, int], current: int
    ) -> Sequence[Any]:
        """The last versions, those with a tag, and the current one."""
        last = versions if self.keep is None else versions[-self.keep :]
        numbers = {entry["number"] for entry in last} | {*tags.values(), current}
        return [entry for entry in versions if entry["number"] in numbers]

    def _find(self, index: Mapping[str, Any], which: int | str | None) -> dict[str, Any]:
        number = index["current"] if which is None else which
        if isinstance(which, str):
            number = index["tags"].get(which)
        for entry in index["versions"]:
            if number is not None and entry["number"] == number:
                return dict(entry)
        asked = "no current version" if which is None else f"no version {which!r}"
        raise ValueError(f"{self.folder} has {asked}: {_known(index)}")


def _numbers(index: Mapping[str, Any]) -> Sequence[int]:
    return [entry["number"] for entry in index["versions"]]


def _known(index: Mapping[str, Any]) -> str:
    """Say what there is."""
    numbers = _numbers(index)
    if not numbers:
        return "it is empty, save a model first"
    tags = f", tags {', '.join(sorted(index['tags']))}" if index["tags"] else ""
    return f"it has {', '.join(map(str, numbers))}{tags}"


def _entry(
    model: Any,
    number: int,
    accuracy: float | None,
    parent: int | None,
    note: str,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    learner = getattr(model, "model_", model)  # the model in a pipeline
    return {
        "number": number,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": type(model).__name__,
        "rows": _count(learner, "n_rows_"),
        "classes": [str(label) for label in getattr(learner, "classes_", ())],
        "leaves": _count(learner, "n_leaves_"),
        "nbytes": _count(learner, "nbytes"),
        "accuracy": None if accuracy is None else float(accuracy),
        "parent": parent,
        "note": note,
        "about": dict(about),
    }


def _count(learner: Any, name: str) -> int | None:
    """A count that a model gives once it is fitted."""
    found = getattr(learner, name, None)
    return None if found is None else int(found)


def _version(entry: Mapping[str, Any], tags: Mapping[str, int]) -> Version:
    # The first indexes had nothing about a version.
    entry = {"about": {}, **entry}
    given = {name: entry[name] for name in Version._fields if name != "tags"}
    own = tuple(sorted(name for name, number in tags.items() if number == entry["number"]))
    return Version(
        **{**given, "classes": tuple(entry["classes"]), "tags": own, "about": dict(entry["about"])}
    )


def _more(old: int | None, new: int | None) -> int | None:
    return None if old is None or new is None else new - old
