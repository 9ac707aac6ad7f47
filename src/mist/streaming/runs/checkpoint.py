"""Model files with the state to continue a run, or the encoding to read other tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mist.io.applying import is_encoding
from mist.io.late_labels import LateLabels
from mist.persistence import Store, load_with_attachment, save
from mist.presets import make_model
from mist.streaming.runs.session import Session

__all__ = ["Checkpoint", "Kept", "Saved", "load_run", "save_run", "save_version"]


class Kept(NamedTuple):
    """Content of a checkpoint.

    Attributes
    ----------
    models : dict
        Models by name.
    session : dict
        State of the session.
    predictions : int
        Size of the file of predictions in bytes.
    encoding : dict
        Encoding of rows as numbers.
    position : object
        Position in the stream; None for files, whose rows are counted.
    events : int
        Size of the file of changes in bytes.
    renames : dict of str to str
        Labels that are read as others.
    late : dict or None
        Rows that wait for their labels; None without an id column.
    """

    models: dict[str, Any]
    session: dict[str, Any]
    predictions: int
    encoding: dict[str, Any]
    position: Any
    events: int
    renames: dict[str, str]
    late: dict[str, Any] | None = None


class Saved(NamedTuple):
    """A model and the encoding of its tables.

    Attributes
    ----------
    model : object
        The model.
    encoding : dict
        Encoding of rows as numbers.
    """

    model: Any
    encoding: dict[str, Any]


class Checkpoint:
    """Checkpoint file, replaced repeatedly while a stream is learnt.

    Parameters
    ----------
    path : Path
        The file.
    every : int
        Least number of rows between two checkpoints.
    settings : mapping
        Options that must be the same when the run continues, by name.
    """

    def __init__(self, path: Path, every: int, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._every = every
        self._settings = dict(settings)
        self._last = 0

    def load(self) -> Kept | None:
        """Read the checkpoint of an earlier run, if there is one.

        Returns
        -------
        Kept or None
            None if there is no file.

        Raises
        ------
        ValueError
            If the file is not a checkpoint, or belongs to a run with other options.
        """
        if not self._path.exists():
            return None
        model, attachment = _load(self._path)
        settings = attachment.get("settings")
        if not isinstance(settings, dict):
            raise ValueError(f"{self._path} is a model, not a checkpoint: give another file")
        for option, value in self._settings.items():
            before = settings.get(option)
            if before != value:
                raise ValueError(
                    f"{self._path} is the checkpoint of a run with other options: {option} was "
                    f"{_shown(before)} and is {_shown(value)}; give another file, or delete this "
                    "one to start again"
                )
        try:
            kept = _kept(model, attachment)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._path} is not a valid checkpoint; delete it to start again"
            ) from error
        self._last = kept.session["done"]
        return kept

    def due(self, done: int) -> bool:
        """Return whether enough rows were learnt since the last checkpoint."""
        return done - self._last >= self._every

    def save(self, kept: Kept) -> None:
        """Write the file atomically.

        Parameters
        ----------
        kept : Kept
            Content of the checkpoint.
        """
        first, *others = kept.models
        save(
            kept.models[first],
            self._path,
            attachment={
                **kept._asdict(),
                "models": [(first, None), *((name, kept.models[name]) for name in others)],
                "settings": self._settings,
            },
        )
        self._last = kept.session["done"]


def save_run(path: Path, model: Any, encoding: Mapping[str, Any]) -> None:
    """Write a trained model with the encoding of its tables.

    Parameters
    ----------
    path : Path
        The file.
    model : object
        The model.
    encoding : mapping
        Encoding of rows as numbers.
    """
    save(model, path, attachment={"encoding": dict(encoding)})


def save_version(
    store: Store,
    model: Any,
    encoding: Mapping[str, Any],
    accuracy: float,
    note: str,
    about: Mapping[str, Any],
    anew: bool,
) -> None:
    """Add a trained model with the encoding of its tables to a store, as `save_run` writes it.

    Parameters
    ----------
    store : Store
        The store.
    model : object
        The model.
    encoding : mapping
        Encoding of rows as numbers.
    accuracy : float
        Share of rows predicted right so far; NaN if it is not known.
    note : str
        What to keep as a note.
    about : mapping
        What the index says of the version, see `mist.persistence.Store.save`.
    anew : bool
        Whether the model does not continue the current version.
    """
    known = accuracy if math.isfinite(accuracy) else None
    content = {"encoding": dict(encoding)}
    store.save(model, accuracy=known, note=note, attachment=content, about=about, anew=anew)


def load_run(path: Path) -> Saved:
    """Read a model that `save_run` or a checkpoint has written.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Saved
        The model (the first one of a checkpoint) and its encoding.

    Raises
    ------
    ValueError
        If the file has no encoding of tables.
    """
    model, attachment = _load(path)
    return Saved(model, attachment["encoding"])


def _load(path: Path) -> tuple[Any, dict[str, Any]]:
    model, attachment = load_with_attachment(path)
    if not isinstance(attachment, dict) or not is_encoding(attachment.get("encoding")):
        raise ValueError(
            f"{path} has a model, but no encoding of tables for it: use a file of mist run --save"
        )
    return model, attachment


def _kept(model: Any, attachment: Mapping[str, Any]) -> Kept:
    """Return the content of a checkpoint, or raise if `Checkpoint.save` cannot have written it."""
    # The first model is that of the file; the others are in the attachment.
    models = {name: model if other is None else other for name, other in attachment["models"]}
    # Files that were written before the file of changes existed, and before labels were kept.
    given = {"events": 0, "renames": {}, "late": None, **attachment}
    fresh = Session(models).state()
    # Written before probabilities were counted.
    given["session"] = {"sureness": fresh["sureness"], **given["session"]}
    kept = Kept(models, *(given[field] for field in Kept._fields[1:]))
    if not models:
        raise ValueError("the checkpoint has no model")
    for name, each in models.items():
        if type(each) is not type(make_model(name)):
            raise TypeError(f"the model of {name!r} has the wrong type")
    _check_like(fresh, kept.session)
    Session(models, kept.session)  # raises if its parts do not fit together
    _check_like(0, kept.predictions)
    _check_like(0, kept.events)
    _check_like({}, kept.renames)
    _check_like([""], [*kept.renames, *kept.renames.values()])
    if kept.late is not None:
        _check_like(LateLabels("").state(), kept.late)
        LateLabels("", state=kept.late)
    if kept.position is not None:
        _check_like({"offsets": {}, "rows": 0}, kept.position)
        _check_like([0], list(kept.position["offsets"].values()))
        _check_like([""], list(kept.position["offsets"]))
    return kept


def _check_like(pattern: Any, value: Any) -> None:
    """Refuse a value that does not have the structure of a pattern.

    In a pattern an empty dict allows any dict, a number is a lower limit, and the first item of a
    list is the pattern of all items.
    """
    if type(value) is not type(pattern):
        raise TypeError(f"{value!r} is not a {type(pattern).__name__}")
    if isinstance(pattern, dict) and pattern:
        if set(pattern) != set(value):
            raise ValueError(f"it has the wrong keys {sorted(value)}")
        for key, part in pattern.items():
            _check_like(part, value[key])
    elif isinstance(pattern, list) and pattern:
        for part in value:
            _check_like(pattern[0], part)
    elif isinstance(pattern, np.ndarray) and (value.ndim != 1 or value.dtype.kind not in "biuf"):
        raise TypeError("an array is not one-dimensional or not numeric")
    elif isinstance(pattern, tuple):
        _check_like([0], list(value))
    elif isinstance(pattern, int | float) and not value >= pattern:
        raise ValueError(f"{value} is too small")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "not given"
    return "not given" if value is None else str(value)
