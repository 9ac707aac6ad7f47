"""A tree drawn with matplotlib: the root on the left, one line of text per leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["plot_tree"]

# All in points at the font size `_LETTERS`; they scale with the font size.
_LETTERS, _LEAST_LETTERS = 10.0, 2.0
_ROW, _PADDING, _BRANCH, _MARGIN = 23.0, 4.0, 26.0, 10.0
_LOOSEST = 3.0
"""Largest distance between rows, as a multiple of the least."""

_INCH = 72.0
_WIDEST = 100 * _INCH
_LONGEST_NAME = 24


class _Box(NamedTuple):
    node: Node
    text: str
    width: float
    row: float
    """Number of leaf rows above it."""


def plot_tree(
    model: FittedTree, ax: Axes | None = None, *, max_depth: int | None = None, max_classes: int = 3
) -> Axes:
    """Draw a tree, with the root on the left and one line per leaf.

    The upper branch is for values <= the threshold. The heavier branch, which rows with a missing
    value follow, is thicker. A box has the colour of its heaviest class; leaves also name it.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; the font shrinks until the tree fits. None makes a figure of the size that
        the tree needs.
    max_depth : int or None, default=None
        Depth of the deepest nodes to draw; None means all.
    max_classes : int, default=3
        Classes listed at a leaf with their masses, heaviest first.

    Returns
    -------
    matplotlib.axes.Axes
        The drawing; ``.figure.savefig("tree.svg")`` writes it.

    Raises
    ------
    ValueError
        If `max_depth` is below 0, or `max_classes` below 1.
    TypeError
        For a forest, or if `ax` is not axes.
    NotFittedError
        If nothing was learnt yet.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mist import MistClassifier
    >>> model = MistClassifier().fit([[0.0], [1.0], [9.0]], ["a", "a", "b"])
    >>> [text.get_text() for text in plot_tree(model, Figure().subplots()).texts]
    ['leaf 0: 3 rows; a 2, b 1']
    """
    from mist.inspection.colours import ON_TINT, tint
    from mist.plotting.theme import ink, names_as_they_are

    check_limits(max_depth, max_classes)
    labels = labels_of(model)
    places = dict(zip(labels, model._labels.ranks.tolist(), strict=True))
    with names_as_they_are():
        boxes = _boxes(model, labels, max_depth, max_classes)
        starts = _columns(boxes)
        width = _MARGIN + max(starts[box.node.depth] + box.width for box in boxes.values())
        height = _ROW * sum(not children_within(box.node, max_depth) for box in boxes.values())
        ax, room = _page(ax, width, height)
        scale = max(min(room[0] / width, room[1] / height, 1.0), _LEAST_LETTERS / _LETTERS)
        n_rows = height / _ROW
        pitch = min(max(room[1] / n_rows, scale * _ROW), _LOOSEST * scale * _ROW)
        top = max(room[1] - pitch * n_rows, 0.0) / 2
        ax.set_axis_off()
        ax.set_xlim(0.0, room[0])
        ax.set_ylim(room[1], 0.0)

        def at(box: _Box) -> tuple[float, float]:
            return scale * starts[box.node.depth], top + pitch * (box.row + 0.5)

        for box in boxes.values():
            x, y = at(box)
            children = children_within(box.node, max_depth)
            for child, sign in zip(children, ("≤", ">"), strict=False):
                x_child, y_child = at(boxes[child])
                bend = x_child - 0.75 * scale * _BRANCH
                heavier = box.node.missing_left == (child == box.node.left)
                ax.plot(
                    [x, bend, bend, x_child],
                    [y, y, y_child, y_child],
                    color=ink(),
                    linewidth=scale * (2.0 if heavier else 0.8),
                    solid_joinstyle="miter",
                    zorder=1,
                )
                ax.text(
                    (bend + x_child) / 2,
                    y_child,
                    sign,
                    fontsize=0.9 * scale * _LETTERS,
                    ha="center",
                    va="bottom" if sign == "≤" else "top",
                )
            ax.text(
                x + scale * _PADDING,
                y,
                box.text,
                fontsize=scale * _LETTERS,
                color=ON_TINT,
                va="center",
                zorder=3,
                bbox={
                    "boxstyle": f"square,pad={_PADDING / _LETTERS}",
                    "facecolor": tint(places[heaviest(box.node, labels, 1)[0][0]]),
                    "edgecolor": ink(),
                    "linewidth": scale * (0.8 if box.node.is_leaf else 1.6),
                },
            )
    return ax


def _boxes(
    model: FittedTree, labels: list[Any], max_depth: int | None, max_classes: int
) -> dict[int, _Box]:
    """Return the boxes to draw, by node; a node is in the middle of its children."""
    from mist.plotting.text_layout import length

    nodes, spread = nodes_of(model), spreads(model)
    order = list(_shown(nodes, max_depth))
    rows, n_leaves = {}, 0
    for node in order:
        if not children_within(node, max_depth):
            rows[node.node] = float(n_leaves)
            n_leaves += 1
    boxes = {}
    for node in reversed(order):  # children before their parents
        children = children_within(node, max_depth)
        if children:
            rows[node.node] = sum(rows[child] for child in children) / 2
            text = condition(node, spread, _LONGEST_NAME)
        else:
            what = f"leaf {node.node}" if node.is_leaf else f"{node.leaves} leaves"
            known = class_list(node, labels, max_classes, _LONGEST_NAME)
            text = f"{what}: {row_count(node.rows)}; {known}"
        width = _INCH * length(text, _LETTERS) + 2 * _PADDING
        boxes[node.node] = _Box(node, text, width, rows[node.node])
    return dict(reversed(boxes.items()))


def _shown(nodes: dict[int, Node], max_depth: int | None) -> Iterator[Node]:
    return (node for node in nodes.values() if max_depth is None or node.depth <= max_depth)


def _columns(boxes: dict[int, _Box]) -> list[float]:
    """Return the left edge of each depth; only conditions have boxes to their right, not leaves."""
    widths = [0.0] * (1 + max(box.node.depth for box in boxes.values()))
    for box in boxes.values():
        if box.node.left in boxes:
            widths[box.node.depth] = max(widths[box.node.depth], box.width + _BRANCH)
    starts = [_MARGIN]
    for width in widths[:-1]:
        starts.append(starts[-1] + width)
    return starts


def _page(ax: Axes | None, width: float, height: float) -> tuple[Axes, tuple[float, float]]:
    """Return the axes and their size in points."""
    from mist.plotting.theme import axes_for

    given = ax
    size = (min(points, _WIDEST) / _INCH for points in (width + _MARGIN, height + 2 * _MARGIN))
    ax = axes_for(given, *size)
    if given is None:
        ax.set_position((0.0, 0.0, 1.0, 1.0))  # this also excludes them from the layout
    area = ax.get_window_extent()
    points = _INCH / ax.figure.dpi
    return ax, (area.width * points, area.height * points)
