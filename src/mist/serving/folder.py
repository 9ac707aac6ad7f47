"""`StateFolder`: versions of a model, write-ahead log and lock of one server."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mist.persistence import Store, Version, load_with_attachment
from mist.serving.journal import sync_folder
from mist.texts import one_line

__all__ = ["Restored", "StateFolder", "digest_of"]

_FORMAT = 1


class Restored(NamedTuple):
    """What a server continues from.

    Attributes
    ----------
    model : object
        The model.
    attachment : object
        Attachment of the model file; None for a version.
    state : mapping or None
        State of the service; None if the model comes from the file and not from a version.
    number : int
        Number of the last record of the log that the model holds.
    unread : mapping of int to str
        Later versions that could not be read, and why.
    rolled_back : bool
        Whether an earlier version was made the current one since the last was saved.
    """

    model: Any
    attachment: Any
    state: Mapping[str, Any] | None
    number: int
    unread: Mapping[int, str] = MappingProxyType({})
    rolled_back: bool = False


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class StateFolder:
    """The folder of a server: a `mist.persistence.Store`, which it holds, and ``log-*``.

    Parameters
    ----------
    path : Path
        The folder; it is created.
    keep : int, default=3
        Versions to keep, see `mist.persistence.Store`.

    Attributes
    ----------
    version : Version or None
        The version that was restored, or saved since.
    needed : int
        Records of the log up to this number are not needed by the last two versions.

    Raises
    ------
    ValueError
        If another process holds the folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mist import MistClassifier
    >>> with TemporaryDirectory() as top:
    ...     model = MistClassifier.paper().fit([[0.0], [9.0]], ["low", "high"])
    ...     model.save(Path(top, "model.mist"))
    ...     folder = StateFolder(Path(top, "state"))
    ...     restored = folder.restore(Path(top, "model.mist"))
    ...     folder.save(restored.model, {"rows": 2}, number=7)
    ...     again = folder.restore(Path(top, "model.mist"))
    ...     folder.close()
    >>> restored.number, again.number, again.state
    (0, 7, {'rows': 2})
    """

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path
        self.version: Version | None = None
        self.needed = 0
        self._store = Store(path, keep)
        self._origin = ""
        self._last = 0
        self._store.hold("mist serve")

    def restore(self, model_file: Path) -> Restored:
        """Read the current version, or the model file if there is none.

        A version that cannot be read is passed over for its parent, the version before it.

        Parameters
        ----------
        model_file : Path
            The model that the server was started with.

        Returns
        -------
        Restored

        Raises
        ------
        ValueError
            If no version can be read, or the model file is not the one that they began with.
        OSError
            If a file cannot be read.
        """
        versions = {version.number: version for version in self._store.list()}
        if not versions:
            self._origin = digest_of(model_file)
            return Restored(*load_with_attachment(model_file), None, 0)
        wanted = number = self._store.current
        unread: dict[int, str] = {}
        while number in versions:
            try:
                model, attachment = self._store.load_with_attachment(number)
            except (ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in (errno.ENOENT, errno.EIO):
                    raise
                unread[number] = one_line(str(error))
                number = versions[number].parent
                continue
            state = self._state_of(attachment, number, model_file)
            self.version, self._last = versions[number], int(state["number"])
            return Restored(
                model, None, state["service"], self._last, unread, wanted != max(versions)
            )
        raise ValueError(
            f"no version in {self.path} can be read: {'; '.join(unread.values())}. Restore a file, "
            "or give another --state to start from the model file"
        )

    def _state_of(self, attachment: Any, number: int, model_file: Path) -> Mapping[str, Any]:
        """What a version holds next to the model; refuse it if it does not fit the model file."""
        state = attachment.get("serve") if isinstance(attachment, dict) else None
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise ValueError(
                f"version {number} in {self.path} is not a checkpoint of this version of mist "
                "serve: give another --state"
            )
        self._origin = str(state["origin"])
        if model_file.exists() and digest_of(model_file) != self._origin:
            raise ValueError(
                f"{model_file} has changed since {self.path} was begun with it. To continue what "
                f"was learnt, give the old file or none; to start from the new one, give another "
                "--state or remove the folder"
            )
        return state

    def save(
        self, model: Any, state: Mapping[str, Any], number: int, accuracy: float | None = None
    ) -> None:
        """Add a version, completely or not at all, and flush it to the disk.

        Parameters
        ----------
        model : object
            The model.
        state : mapping
            State of the service.
        number : int
            Number of the last record of the log that the model holds.
        accuracy : float or None, default=None
            Accuracy so far.
        """
        content = {
            "format": _FORMAT,
            "origin": self._origin,
            "number": number,
            "service": dict(state),
        }
        self.version = self._store.save(
            model, accuracy=accuracy, attachment={"serve": content}, about={"by": "mist serve"}
        )
        sync_folder(self.path)
        # A start from the version before needs the log behind it.
        self.needed = number if self._store.keep == 1 else self._last
        self._last = number

    def close(self) -> None:
        """Let another process use the folder."""
        self._store.release()
