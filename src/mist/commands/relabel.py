"""``mist relabel``: rename, join and drop classes of a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mist.commands.output import check_output
from mist.commands.renames import continue_renames, label_of, parse_renames, rename_classes
from mist.commands.screen import Screen
from mist.persistence import load_with_attachment, save

__all__ = ["relabel"]


def relabel(path: Path, out: Path, renames: Sequence[str], drops: Sequence[str]) -> None:
    """Write a model file with other classes, and print them.

    Parameters
    ----------
    path : Path
        Model file; of a checkpoint, all models are changed.
    out : Path
        File to write, which may be the same.
    renames : sequence of str
        Values of the form ``OLD=NEW``.
    drops : sequence of str
        Labels of classes to drop.

    Raises
    ------
    ValueError
        If nothing is to be changed, or a model cannot be changed so; then nothing is written.
    OSError
        If a file cannot be read or written.
    """
    wanted = parse_renames(renames)
    if not (wanted or drops):
        raise ValueError("mist relabel needs a change: --rename OLD=NEW or --drop LABEL")
    check_output(out)
    model, attachment = load_with_attachment(path)
    others = attachment.get("models", ()) if isinstance(attachment, Mapping) else ()
    for each in (model, *(other for _, other in others if other is not None)):
        _change(each, path.name, wanted, drops)
    if others:
        # A run that goes on from the checkpoint reads later rows so, too.
        before = attachment.get("renames", {})
        attachment = {**attachment, "renames": continue_renames(before, wanted)}
    save(model, out, attachment=attachment)
    Screen().print(f"{out}: classes {', '.join(map(str, model.classes_))}", soft_wrap=True)


def _change(model: Any, name: str, renames: Mapping[str, str], drops: Sequence[str]) -> None:
    """Rename and drop classes of one model; refuse labels that it does not have."""
    if not (hasattr(model, "rename_class") and hasattr(model, "classes_")):
        raise ValueError(
            f"{name} holds a {type(model).__name__}, fitted or not, without classes that can be "
            "renamed: use a fitted MistClassifier, MistForest or StreamPipeline"
        )
    for option, labels in (("--rename", renames), ("--drop", drops)):
        for label in labels:
            if label_of(model, label) is None:
                shown = ", ".join(map(str, model.classes_[:5]))
                more = ", ..." if len(model.classes_) > 5 else ""
                raise ValueError(
                    f"{option} {label!r}: {name} has no such class; it has {shown}{more}"
                )
    try:
        rename_classes(model, renames)
        for label in dict.fromkeys(drops):
            model.drop_class(label_of(model, label))
    except TypeError as error:  # the model of a pipeline
        raise ValueError(f"{name}: {error}") from error
