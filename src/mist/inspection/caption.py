"""Texts at the nodes in drawings of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.inspection.nodes import Node, heaviest
from mist.inspection.wording import count, number
from mist.texts import printable

__all__ = ["class_list", "condition", "row_count"]

Array = np.ndarray[Any, Any]


def condition(node: Node, spread: Array, longest: int | None = None) -> str:
    """Return the condition for going left; ``spread`` is from `mist.inspection.nodes.spreads`."""
    name, threshold = printable(node.column), number(node.threshold, spread[node.feature])
    return f"{_cut(name, longest)} <= {threshold}"


def row_count(rows: float) -> str:
    """Return a number of rows in words."""
    return f"{count(rows)} row" + "s" * (rows != 1)


def class_list(node: Node, labels: list[Any], most: int, longest: int | None = None) -> str:
    """Return the heaviest classes with their masses, and the number of other classes."""
    top = heaviest(node, labels, most)
    names = [_cut(printable(label), longest) for label, _ in top]
    text = ", ".join(f"{name} {count(mass)}" for name, (_, mass) in zip(names, top, strict=True))
    more = int(np.count_nonzero(node.masses)) - len(top)
    return f"{text} and {more} more" if more else text


def _cut(name: str, longest: int | None) -> str:
    # Imported here: it loads all of `mist.plotting`, which only drawings need.
    from mist.plotting.text_layout import short

    return name if longest is None else short(name, longest)
