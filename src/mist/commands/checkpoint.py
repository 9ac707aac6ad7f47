"""Files of models with what is needed to go on, or to apply them to other tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mist.commands.session import Session
from mist.io.applying import is_encoding
from mist.persistence import load_with_attachment, save
from mist.presets import make_model

__all__ = ["Checkpoint", "Kept", "Saved", "load_run", "save_run"]


class Kept(NamedTuple):
    """What a checkpoint holds.

    Attributes
    ----------
    models : dict
        Models by name.
    session : dict
        State of the session.
    predictions : int
        Bytes of the file of predictions.
    encoding : dict
        How rows become numbers.
    position : object
        Where the stream goes on; None for files, whose rows are counted.
    """

    models: dict[str, Any]
    session: dict[str, Any]
    predictions: int
    encoding: dict[str, Any]
    position: Any


class Saved(NamedTuple):
    """A model and what it needs to read a table.

    Attributes
    ----------
    model : object
        The model.
    encoding : dict
        How rows become numbers.
    """

    model: Any
    encoding: dict[str, Any]


class Checkpoint:
    """A file that is written again and again while a stream is learnt.

    Parameters
    ----------
    path : Path
        The file.
    every : int
        Rows between two checkpoints at least.
    settings : mapping
        All that must be the same when the run goes on, by the name of the option.
    """

    def __init__(self, path: Path, every: int, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._every = every
        self._settings = dict(settings)
        self._last = 0

    def load(self) -> Kept | None:
        """Read what an earlier run left, if there is something.

        Returns
        -------
        Kept or None
            None if there is no file.

        Raises
        ------
        ValueError
            If the file is no checkpoint, or of a run with other options.
        """
        if not self._path.exists():
            return None
        model, attachment = _load(self._path)
        settings = attachment.get("settings")
        if not isinstance(settings, dict):
            raise ValueError(f"{self._path} holds a model, but no checkpoint; give another file")
        for option, value in self._settings.items():
            before = settings.get(option)
            if before != value:
                raise ValueError(
                    f"{self._path} is the checkpoint of a run with other options: {option} was "
                    f"{_shown(before)} and is {_shown(value)}; give another file, or delete this "
                    "one to begin anew"
                )
        try:
            kept = _kept(model, attachment)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._path} is no checkpoint that can be taken up; delete it to begin anew"
            ) from error
        self._last = kept.session["done"]
        return kept

    def due(self, done: int) -> bool:
        """Whether enough rows were learnt since the last time."""
        return done - self._last >= self._every

    def save(self, kept: Kept) -> None:
        """Write the file, whole or not at all.

        Parameters
        ----------
        kept : Kept
            What goes into it.
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
    """Write a trained model so that it can be applied to tables.

    Parameters
    ----------
    path : Path
        The file.
    model : object
        The model.
    encoding : mapping
        How rows become numbers.
    """
    save(model, path, attachment={"encoding": dict(encoding)})


def load_run(path: Path) -> Saved:
    """Read a model that `save_run` or a checkpoint has written.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Saved
        The model, of a checkpoint the first one, and its encoding.

    Raises
    ------
    ValueError
        If the file does not say how a table is read.
    """
    model, attachment = _load(path)
    return Saved(model, attachment["encoding"])


def _load(path: Path) -> tuple[Any, dict[str, Any]]:
    model, attachment = load_with_attachment(path)
    if not isinstance(attachment, dict) or not is_encoding(attachment.get("encoding")):
        raise ValueError(
            f"{path} holds a model, but not how to read a table for it; mist run --save writes both"
        )
    return model, attachment


def _kept(model: Any, attachment: Mapping[str, Any]) -> Kept:
    """What a checkpoint holds, if it is what `Checkpoint.save` writes."""
    # The first model is the one of the file; the others are attached.
    models = {name: model if other is None else other for name, other in attachment["models"]}
    kept = Kept(models, *(attachment[field] for field in Kept._fields[1:]))
    if not models:
        raise ValueError("it has no model")
    for name, each in models.items():
        if type(each) is not type(make_model(name)):
            raise TypeError(f"{name!r} is no such model")
    _check_like(Session(models).state(), kept.session)
    _check_like([0], list(kept.session["first_rows"].values()))
    _check_like(0, kept.predictions)
    if kept.position is not None:
        _check_like({"offsets": {}, "rows": 0}, kept.position)
        _check_like([0], list(kept.position["offsets"].values()))
        _check_like([""], list(kept.position["offsets"]))
    return kept


def _check_like(pattern: Any, value: Any) -> None:
    """Refuse what is not built like a pattern.

    Its empty dicts may hold anything, its numbers are the least there may be, and the first part
    of a list stands for all.
    """
    if type(value) is not type(pattern):
        raise TypeError(f"{value!r} is no {type(pattern).__name__}")
    if isinstance(pattern, dict) and pattern:
        if set(pattern) != set(value):
            raise ValueError(f"it has {sorted(value)}")
        for key, part in pattern.items():
            _check_like(part, value[key])
    elif isinstance(pattern, list) and pattern:
        for part in value:
            _check_like(pattern[0], part)
    elif isinstance(pattern, np.ndarray) and (value.ndim != 1 or value.dtype.kind not in "bif"):
        raise TypeError("an array is none of numbers")
    elif isinstance(pattern, tuple):
        _check_like([0], list(value))
    elif isinstance(pattern, int | float) and not value >= pattern:
        raise ValueError(f"{value} is too small")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "not given"
    return "not given" if value is None else str(value)
