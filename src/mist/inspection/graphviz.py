"""A tree as text in the DOT language, for Graphviz."""

from __future__ import annotations

from typing import Any

from mist.fitted import FittedTree
from mist.inspection.caption import class_list, condition, row_count
from mist.inspection.nodes import (
    Node,
    check_limits,
    children_within,
    heaviest,
    labels_of,
    nodes_of,
    spreads,
)

__all__ = ["export_graphviz"]

_HEAD = (
    "digraph Tree {",
    'graph [rankdir="TB"];',
    'node [shape=box, style="rounded,filled", color="#101418", fontcolor="#101418", '
    'fontname="Helvetica,sans-serif", fontsize=11];',
    'edge [color="#101418", fontname="Helvetica,sans-serif", fontsize=10];',
)


def export_graphviz(
    model: FittedTree, *, max_depth: int | None = None, max_classes: int = 3
) -> str:
    r"""Write a tree in the DOT language.

    A node shows its condition, its rows and its heaviest classes with their masses; for a split
    node these are of all leaves below it. It has the colour of its heaviest class, which its text
    also names. The edge that rows with a missing value follow is marked.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.
    max_depth : int or None, default=None
        Depth of the deepest nodes to draw; None means all.
    max_classes : int, default=3
        Classes listed at a node, heaviest first.

    Returns
    -------
    str
        Text for ``dot -Tsvg`` or ``graphviz.Source``. Names of columns and classes are escaped, so
        that any character is shown literally; control characters are written out.

    Raises
    ------
    ValueError
        If `max_depth` is below 0, or `max_classes` below 1.
    TypeError
        For a forest.
    NotFittedError
        If nothing was learnt yet.

    References
    ----------
    https://graphviz.org/doc/info/lang.html

    Examples
    --------
    >>> from mist import MistClassifier
    >>> model = MistClassifier().fit([[0.0], [1.0], [9.0]], ["a", "a", "b"])
    >>> print(export_graphviz(model).splitlines()[-2])
    0 [label="leaf 0\n3 rows\na 2, b 1", fillcolor="#a1c1f5"];
    """
    from mist.inspection.colours import tint

    check_limits(max_depth, max_classes)
    nodes, labels, spread = nodes_of(model), labels_of(model), spreads(model)
    places = dict(zip(labels, model._labels.ranks.tolist(), strict=True))
    lines, shown = list(_HEAD), [0]
    for id in shown:
        node = nodes[id]
        children = children_within(node, max_depth)
        title = _title(node, spread, max_depth)
        text = "\n".join([title, row_count(node.rows), class_list(node, labels, max_classes)])
        fill = tint(places[heaviest(node, labels, 1)[0][0]])
        lines.append(f"{id} [label={_quoted(text)}, fillcolor={_quoted(fill)}];")
        for child, answer in zip(children, ("yes", "no"), strict=False):
            missing = node.missing_left == (answer == "yes")
            label = f"{answer}, or missing" if missing else answer
            lines.append(f"{id} -> {child} [label={_quoted(label)}];")
        shown += children
    return "\n".join([*lines, "}"])


def _title(node: Node, spread: Any, max_depth: int | None) -> str:
    if node.is_leaf:
        return f"leaf {node.node}"
    hidden = not children_within(node, max_depth)
    return condition(node, spread) + (f"\n{node.leaves} leaves below" if hidden else "")


def _quoted(text: str) -> str:
    """Return a quoted DOT string; labels interpret escapes and HTML entities."""
    for character, escape in (("\\", "\\\\"), ("&", "&amp;"), ('"', '\\"'), ("\n", "\\n")):
        text = text.replace(character, escape)
    return f'"{text}"'
