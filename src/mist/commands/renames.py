"""Labels that an option ``--rename OLD=NEW`` gives other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mist.io.source import NO_LABEL

__all__ = ["continue_renames", "label_of", "parse_renames", "rename_classes"]


def parse_renames(given: Sequence[str]) -> dict[str, str]:
    """Read the values of ``--rename``.

    Parameters
    ----------
    given : sequence of str
        Values of the form ``OLD=NEW``.

    Returns
    -------
    dict of str to str
        The new label of each old one.

    Raises
    ------
    ValueError
        If a value has another form, or two of them contradict each other.

    Examples
    --------
    >>> parse_renames(["pmup=pump", "pomp = pump"])
    {'pmup': 'pump', 'pomp': 'pump'}
    """
    renames: dict[str, str] = {}
    for text in given:
        old, *others = (part.strip() for part in text.split("="))
        if len(others) != 1 or not old or not others[0]:
            more = "; labels with '=' can be renamed in Python: model.rename_class(old, new)"
            raise ValueError(
                f"--rename {text!r} is not of the form OLD=NEW{more * (len(others) > 1)}"
            )
        (new,) = others
        if new in NO_LABEL:
            raise ValueError(f"--rename {text!r}: {new!r} means that a row has no label")
        if old == new:
            raise ValueError(f"--rename {text!r} has the same label on both sides")
        if renames.setdefault(old, new) != new:
            raise ValueError(f"--rename gives {old!r} two labels: {renames[old]!r} and {new!r}")
    for old, new in renames.items():
        if new in renames:
            raise ValueError(
                f"--rename {old}={new} and {new}={renames[new]}: give each label its last name, "
                f"--rename {old}={renames[new]}"
            )
    return renames


def continue_renames(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the renames of a run that continues another one: its own on top of the earlier ones.

    Parameters
    ----------
    before : mapping of str to str
        The new label of each old one in the earlier run.
    given : mapping of str to str
        The same in this run.

    Returns
    -------
    dict of str to str
        Each label with the last of its names.

    Raises
    ------
    ValueError
        If a label was learnt as another one than it is renamed to.

    Examples
    --------
    >>> continue_renames({"pmup": "pump"}, {"pump": "Pump", "pomp": "pmup"})
    {'pmup': 'Pump', 'pump': 'Pump', 'pomp': 'Pump'}
    >>> continue_renames({"pmup": "pump"}, {"pump": "pmup"})
    {'pump': 'pmup'}
    """
    for old, new in given.items():
        if before.get(old, new) != new:
            raise ValueError(
                f"--rename {old}={new}: the checkpoint has learnt {old!r} as {before[old]!r}; give "
                f"that class another label, --rename {before[old]}={new}, or delete the checkpoint "
                "to start again"
            )
    renames = {}
    for old in (*before, *given):
        new = before.get(old, old)
        new = given.get(new, new)
        if new != old:
            renames[old] = new
    return {old: renames.get(new, new) for old, new in renames.items()}


def rename_classes(model: Any, renames: Mapping[str, str]) -> list[str]:
    """Rename or join classes that a model has learnt; labels that it does not have are left out.

    Parameters
    ----------
    model : MistClassifier or MistForest
        A fitted model; changed in place.
    renames : mapping of str to str
        The new label of each old one, as text.

    Returns
    -------
    list of str
        The old labels of the model.

    Raises
    ------
    ValueError
        If a new label is not of the kind of the model's labels.
    """
    found = []
    for old, new in renames.items():
        label = label_of(model, old)
        if label is not None:
            model.rename_class(label, _converted(model, new, f"--rename {old}={new}"))
            found.append(old)
    return found


def label_of(model: Any, text: str) -> Any:
    """Return the label of a model that is printed as a text; None without one.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> label_of(MistClassifier().fit([[0.0], [1.0]], [3, 4]), "3")
    3
    """
    return next((label for label in model.classes_.tolist() if str(label) == text), None)


def _converted(model: Any, text: str, option: str) -> Any:
    """Return a label from its text, of the kind of the labels of a model."""
    known = label_of(model, text)
    if known is not None:
        return known
    kind = type(model.classes_.tolist()[0])
    if kind is str:
        return text
    try:
        return {int: int, float: float}[kind](text)
    except (KeyError, ValueError):
        shown = ", ".join(map(repr, model.classes_.tolist()[:3]))
        raise ValueError(
            f"{option}: {text!r} is not a label like those of the model, {shown}"
        ) from None
