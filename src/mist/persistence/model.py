"""Saving models to files and loading them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from mist._version import __version__
from mist.locking import Lockable
from mist.persistence.codec import Decoder, Encoder, Unreadable
from mist.persistence.container import MOST_BYTES, Contents, read_contents, write_contents
from mist.persistence.validate import validate_state
from mist.texts import one_line

__all__ = ["Loaded", "load", "load_with_attachment", "restored", "save"]


class Loaded(NamedTuple):
    """A model and its attachment.

    Attributes
    ----------
    model : estimator
        The model.
    attachment : object
        The ``attachment`` given to `save`; None if there was none.
    """

    model: Any
    attachment: Any


def save(model: Any, path: str | os.PathLike[str], *, attachment: Any = None) -> None:
    """Write a model to a file, completely or not at all.

    Parameters
    ----------
    model : estimator
        A classifier or forest of this library, fitted or not; or an estimator of a class that
        `register` knows.
    path : str or path-like
        The file, by convention ``.mist``; an existing file is replaced once the new one is
        complete and on the disk. A missing folder is created.
    attachment : object, default=None
        A value to save with the model: None, bools, numbers, text, arrays, lists, tuples, sets and
        dicts of these, and objects of classes that files can hold, including other models.

    Raises
    ------
    TypeError
        If the model or the attachment holds something that files cannot; nothing is written.
    OSError
        If the file cannot be written; an existing file is then unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mist import MistClassifier
    >>> model = MistClassifier("gaussian").fit([[0.0], [9.0]], ["low", "high"])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.mist"), attachment={"row": 2})
    ...     copy, attachment = load_with_attachment(Path(folder, "model.mist"))
    >>> copy.predict([[8.0]]), attachment
    (array(['high'], dtype='<U4'), {'row': 2})
    """
    name = type(model).__name__
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"a {name} is not a model; save other values as the attachment of one")
    if isinstance(model, Lockable):
        model._lock.read(lambda: _write(model, Path(path), attachment))
    else:
        _write(model, Path(path), attachment)


def _write(model: Any, path: Path, attachment: Any) -> None:
    encoder = Encoder()
    encoded = encoder.encode(model, type(model).__name__)
    classes = getattr(model, "classes_", None)
    header = {
        "library": __version__,
        "class": encoded["is"],
        "classes": None if classes is None else encoder.encode(classes.tolist(), "classes_"),
        "model": encoded,
        "attachment": encoder.encode(attachment, "attachment"),
    }
    write_contents(path, header, encoder.arrays)


def load(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Any:
    """Read a model from a file that `save` has written.

    No code from the file is run, and everything that compiled code relies on is checked: at worst,
    a model from an untrusted file gives wrong answers.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=2**32
        Limit on the bytes of the unpacked file; a larger file is refused before it is read.

    Returns
    -------
    estimator
        The model. It predicts and continues to learn bit for bit like the saved one.

    Raises
    ------
    ValueError
        If it is not a model file, has a newer format, or is truncated, altered, inconsistent or
        too large. The message names the file.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mist
    >>> model = mist.MistClassifier("gaussian").fit([[0.0], [9.0]], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "model.mist"))
    ...     copy = mist.load(Path(folder, "model.mist"))
    >>> copy.partial_fit([[5.0]], [2]).predict([[5.2]])
    array([2])
    """
    return load_with_attachment(path, max_bytes=max_bytes).model


def load_with_attachment(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Loaded:
    """Read a model and its attachment.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=2**32
        As for `load`.

    Returns
    -------
    Loaded
        Model and attachment.

    Raises
    ------
    ValueError, OSError
        As for `load`.
    """
    return restored(Path(path), read_contents(Path(path), max_bytes=max_bytes))


def restored(path: Path, contents: Contents) -> Loaded:
    """Decode the model in the content of a file.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    contents : Contents
        From `mist.persistence.container.read_contents`.

    Returns
    -------
    Loaded
        Model and attachment.

    Raises
    ------
    ValueError
        If the content is not a valid model. The message names the file.
    """
    try:
        decoder = Decoder(contents.arrays, validate_state)
        header = contents.header
        model = decoder.decode(header["model"])
        attachment = decoder.decode(header["attachment"])
        listed = decoder.decode(header["classes"])
        decoder.finish()
        if not isinstance(model, BaseEstimator) or header["class"] != header["model"]["is"]:
            raise Unreadable("its content is not a model of the class that the header names")
        classes = getattr(model, "classes_", None)
        if listed != (None if classes is None else classes.tolist()):
            raise Unreadable("the classes in the header are not those of the model")
    except Unreadable as error:
        raise ValueError(f"{path}: {one_line(str(error))}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: the model in the file is not valid: {one_line(str(error))}"
        ) from error
    return Loaded(model, attachment)
