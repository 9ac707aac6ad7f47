"""Models to files and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from mist._version import __version__
from mist.gate import Gated
from mist.persistence.codec import Decoder, Encoder, Unreadable
from mist.persistence.container import MOST_BYTES, Contents, read_contents, write_contents
from mist.persistence.sound import check_sound
from mist.texts import one_line

__all__ = ["Loaded", "load", "load_with_attachment", "restored", "save"]


class Loaded(NamedTuple):
    """A model, and what was saved beside it.

    Attributes
    ----------
    model : estimator
        The model.
    attachment : object
        What was given as ``attachment``, None if nothing was.
    """

    model: Any
    attachment: Any


def save(model: Any, path: str | os.PathLike[str], *, attachment: Any = None) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A classifier or forest of this library, fitted or not; or an estimator of a class that
        `register` knows.
    path : str or path-like
        The file, by convention ``.mist``; an earlier one is replaced once the new one is complete
        and on the disk. Its folder is made if need be.
    attachment : object, default=None
        What is to be kept beside the model: None, bools, numbers, text, arrays, lists, tuples,
        sets and dicts of such, and objects of classes that files can hold, other models included.

    Raises
    ------
    TypeError
        If the model, or what is attached, holds something that files cannot; nothing is written.
    OSError
        If the file cannot be written; an earlier file is then as it was.

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
        raise TypeError(f"a {name} is no model; give what is to be kept beside one as attachment")
    if isinstance(model, Gated):
        model._gate.shared(lambda: _write(model, Path(path), attachment))
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

    Nothing that the file holds is run, and all that compiled code relies on is checked, so a file
    from a stranger can at worst answer wrongly.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=2**32
        Bytes that what the file holds may take; a file with more is refused before it is read.

    Returns
    -------
    estimator
        The model. It answers, and learns on, bit for bit as the one that was saved.

    Raises
    ------
    ValueError
        If it is no file of a model, of a newer format, cut short, altered, inconsistent or too
        large. The message names the file.
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
    """Read a model and what was saved beside it.

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
    """Make a model of what was read from a file.

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
        If what was read is not a sound model. The message names the file.
    """
    try:
        decoder = Decoder(contents.arrays, check_sound)
        header = contents.header
        model = decoder.decode(header["model"])
        attachment = decoder.decode(header["attachment"])
        listed = decoder.decode(header["classes"])
        decoder.finish()
        if not isinstance(model, BaseEstimator) or header["class"] != header["model"]["is"]:
            raise Unreadable("what it holds is no model of the class that the header names")
        classes = getattr(model, "classes_", None)
        if listed != (None if classes is None else classes.tolist()):
            raise Unreadable("the header lists other classes than the model has")
    except Unreadable as error:
        raise ValueError(f"{path}: {one_line(str(error))}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: the model in it is not sound: {one_line(str(error))}") from error
    return Loaded(model, attachment)
