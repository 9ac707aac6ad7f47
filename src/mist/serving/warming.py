"""Compiles what a model needs before the first request waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from mist.onehot import NUMBER
from mist.serving.limits import Limits
from mist.serving.served_model import ServedModel

__all__ = ["warm"]


def warm(served: ServedModel) -> None:
    """Let a copy of a model predict and learn a few rows, with and without missing values.

    Parameters
    ----------
    served : ServedModel
        The model; it stays as it is.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> served = ServedModel(MistClassifier.paper(), Limits())
    >>> warm(served)
    >>> served.rows
    0
    """
    copy = ServedModel(deepcopy(served.model), Limits())
    numbers = [name for name, kind in copy.kinds().items() if kind == NUMBER]
    labels = served.classes()[:2] or ["a", "b"]
    names = numbers or ["first", "second"]
    for texts in ((), ("x",), ("x", "y")) if copy.takes_texts else ((),):
        for some in (names, names[:1]):
            _use(copy, some, texts, labels)


def _use(copy: ServedModel, names: Sequence[str], texts: Sequence[str], labels: list[Any]) -> None:
    """Learn and predict rows with values in some columns, and the last text in another one."""
    text = {" warm": texts[-1]} if texts else {}
    rows = [{**{name: float(place) for name in names}, **text} for place in range(4)]
    for label in labels:
        copy.learn(rows, [label] * len(rows))
        copy.learn(rows[:1], [label])
    copy.novel(rows)
    copy.predict(rows[:1])
    copy.predict(rows)
