"""``mist inspect``: show the content of a model file."""

from __future__ import annotations

import inspect as signatures
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from mist.adaptation.changes import Change
from mist.classifier import MistClassifier
from mist.commands.output import make_console, print_facts
from mist.engine.state import N_CELLS, State
from mist.estimator import settings_of
from mist.evaluation.changes import describe, in_words
from mist.io.applying import is_encoding
from mist.persistence import Contents, members, read_contents, restored

__all__ = ["inspect"]

_MOST_CLASSES = 20
_MOST_MEMBERS = 20
_LAST_CHANGES = 5
_COUNTS = {"rows": "n_rows_", "leaves": "n_leaves_", "splits": "n_splits_", "depth": "depth_"}


def inspect(path: Path, *, tree: bool = False, as_json: bool = False) -> None:
    """Validate a model file and print its content.

    Parameters
    ----------
    path : Path
        The file.
    tree : bool
        Whether to print the tree, or every tree of a forest.
    as_json : bool
        Whether to print JSON.

    Raises
    ------
    ValueError
        If it is not a valid model file, or has no tree to print.
    OSError
        If the file cannot be read.
    """
    contents = read_contents(path)
    model, attachment = restored(path, contents)
    found = _found(path, contents, model, attachment)
    texts = _texts(path, model) if tree else []
    if as_json:
        print(json.dumps({**found, "trees": texts} if tree else found, indent=2))
        return
    console = make_console()
    print_facts(console, _facts(found, _changed(model), _changes(model)))
    console.print()
    _print_members(console, found["members"])
    for text in texts:
        console.print()
        console.print(text, markup=False, soft_wrap=True)


def _found(path: Path, contents: Contents, model: Any, attachment: Any) -> dict[str, Any]:
    """Return everything that is printed about a file, as JSON values."""
    header, names = contents.header, getattr(model, "feature_names_in_", None)
    learnt, learner, changes = _has_learnt(model), _learner(model), _changes(model)
    return {
        "file": str(path),
        "size": path.stat().st_size,
        "format": header["format"],
        "version": header["version"],
        "library": header["library"],
        "class": header["class"],
        "parameters": {name: _plain(value) for name, value in _changed(model).items()},
        "fitted": learnt,
        "columns": getattr(model, "n_features_in_", None),
        "names": None if names is None else [str(name) for name in names],
        "classes": _classes(model),
        **{k: getattr(learner, v) for k, v in _COUNTS.items() if learnt and hasattr(learner, v)},
        **({"adapt": learner.adapt} if hasattr(learner, "adapt") else {}),
        **({"changes": [c._asdict() for c in changes]} if changes is not None else {}),
        "bytes": getattr(learner, "nbytes", None) if learnt else 0,
        "target": _target(attachment),
        "attachment": attachment is not None,
        "members": [member._asdict() for member in members(contents)],
    }


def _target(attachment: Any) -> str | None:
    """Return the name of the label column, if `mist run` has written the file."""
    encoding = attachment.get("encoding") if isinstance(attachment, dict) else None
    return encoding["target"] if is_encoding(encoding) else None


def _changed(model: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    if isinstance(model, MistClassifier):
        defaults = MistClassifier().settings()
    else:
        parameters = signatures.signature(type(model)).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
    return {
        name: value
        for name, value in settings_of(model, deep=False).items()
        if repr(value) != repr(defaults[name])
    }


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value: itself, or its repr."""
    whole = value is None or isinstance(value, str | int)
    return value if whole or (isinstance(value, float) and math.isfinite(value)) else repr(value)


def _learner(model: Any) -> Any:
    """Return the model itself, or the model in a pipeline."""
    return getattr(model, "model_", model)


def _has_learnt(model: Any) -> bool:
    is_fitted = getattr(model, "__sklearn_is_fitted__", None)
    return is_fitted is None or bool(is_fitted())


def _changes(model: Any) -> list[Change] | None:
    """Return the changes found in the stream; None if the model keeps none."""
    return getattr(_learner(model), "changes_", None)


def _classes(model: Any) -> list[dict[str, Any]]:
    """Return every class with the weight learnt of it, if the model keeps that."""
    if not hasattr(model, "classes_"):
        return []
    learner = _learner(model)
    weights = _weights(learner)
    learnt = {}
    if weights is not None:
        learnt = dict(zip(learner._labels.ranks.tolist(), weights.tolist(), strict=True))
    return [
        {"label": label, "weight": None if weights is None else learnt.get(place, 0.0)}
        for place, label in enumerate(model.classes_.tolist())
    ]


def _weights(model: Any) -> np.ndarray[Any, Any] | None:
    """Return the weight learnt of each class, by code."""
    if hasattr(model, "trees_"):
        return model._masses
    state = getattr(model, "_state", None)
    if not isinstance(state, State):
        return getattr(state, "mass", getattr(state, "steps", None))
    n = len(model._labels.ranks)
    if state.options.balanced:
        return state.tree.totals[:n]
    cells = state.tree.cells[: state.tree.counters[N_CELLS]]
    own = cells[cells.leaf >= 0]
    return np.bincount(own.code, own.mass, n)


def _texts(path: Path, model: Any) -> list[str]:
    model = _learner(model)
    trees = getattr(model, "trees_", [model])
    if not all(hasattr(tree, "export_text") for tree in trees):
        raise ValueError(f"{path}: a {type(model).__name__} has no tree to show, omit --tree")
    if not _has_learnt(model):
        raise ValueError(f"{path}: the model has learnt nothing yet, so it has no tree to show")
    return [tree.export_text() for tree in trees if _has_learnt(tree)]


def _facts(
    found: dict[str, Any], changed: dict[str, Any], changes: list[Change] | None
) -> Iterator[tuple[str, str]]:
    yield "file", f"{found['file']}, {found['size']:,} bytes"
    yield "format", f"{found['format']} {found['version']}, written by MIST {found['library']}"
    yield "class", found["class"]
    given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    yield "parameters", given or "the defaults"
    if not found["fitted"]:
        yield "learnt", "nothing yet"
    if found["columns"] is not None:
        names = found["names"]
        named = "" if names is None else f": {', '.join(names)}"
        yield "columns", f"{found['columns']}{named}"
    if found["classes"]:
        shown = [_class_text(**each) for each in found["classes"][:_MOST_CLASSES]]
        more = len(found["classes"]) - len(shown)
        rest = f"; and {more:,} more (--json lists all)" if more else ""
        yield "classes", f"{len(found['classes']):,}: {'; '.join(shown)}{rest}"
    for name in _COUNTS:
        if name in found:
            yield name, f"{found[name]:,}"
    if "adapt" in found:
        yield "adapt", str(found["adapt"])
    if changes:
        last = "; ".join(f"{describe(c)} at row {c.row:,}" for c in changes[-_LAST_CHANGES:])
        yield "changes", f"{in_words(changes)}. The last: {last}"
    elif changes is not None and found.get("adapt") is not None:
        yield "changes", "none found"
    if found["bytes"] is not None:
        yield "bytes", f"{found['bytes']:,} in memory"
    if found["target"] is not None:
        yield "target", found["target"]
    if found["attachment"]:
        yield "attachment", "yes"


def _class_text(label: Any, weight: float | None) -> str:
    return str(label) if weight is None else f"{label} {weight:,.10g}"


def _print_members(console: Console, listed: list[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("member", "holds", "type", "shape", "bytes"):
        table.add_column(heading, justify="right" if heading == "bytes" else "left")
    largest = sorted(listed, key=lambda member: -member["size"])[:_MOST_MEMBERS]
    for member in largest:
        shape = "" if member["shape"] is None else " x ".join(map(str, member["shape"]))
        size = f"{member['size']:,}"
        table.add_row(member["name"], member["holds"], member["dtype"], shape, size)
    console.print(table)
    if len(listed) > len(largest):
        more = len(listed) - len(largest)
        console.print(f"and {more:,} smaller ones (--json lists all)")
