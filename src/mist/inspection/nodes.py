"""The nodes of a tree with their statistics, for tables and drawings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine import leaf_rules
from mist.engine.state import M2, State
from mist.fitted import FittedTree

__all__ = [
    "Node",
    "check_limits",
    "children_within",
    "heaviest",
    "labels_of",
    "nodes_of",
    "one_tree",
    "spreads",
]

Array = np.ndarray[Any, Any]


class Node(NamedTuple):
    """A node, split or leaf.

    Attributes
    ----------
    node, parent : int
        Node ids; the parent of the root is -1.
    depth : int
        Distance from the root.
    feature : int
        Split column; -1 at a leaf.
    column : str
        Its name; empty at a leaf.
    threshold : float
        Values <= threshold go left; NaN at a leaf.
    left, right : int
        Children; -1 at a leaf.
    missing_left : bool
        Whether rows with a missing value in the split column go left, the heavier child.
    rows : float
        Weight of the rows learnt at the node or below it.
    mass : float
        The same with inherited mass.
    masses : ndarray of float64, shape (n_codes,)
        Class masses, by class code, of the leaf or of the leaves below a split node.
    leaves : int
        Number of leaves below the node; 1 at a leaf.
    nbytes : int
        Bytes of the class statistics of these leaves.
    gain : float
        Gain of the split when it was made; NaN at a leaf or if unknown.
    seen : int
        Rows learnt by the model before the split; 0 at a leaf.
    path : tuple of str
        Conditions on the path from the root.
    """

    node: int
    parent: int
    depth: int
    feature: int
    column: str
    threshold: float
    left: int
    right: int
    missing_left: bool
    rows: float
    mass: float
    masses: Array
    leaves: int
    nbytes: int
    gain: float
    seen: int
    path: tuple[str, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.feature < 0


def one_tree(model: Any) -> State:
    """Return the state of a fitted tree.

    Raises
    ------
    TypeError
        If `model` is not a tree, but for example a forest.
    NotFittedError
        If nothing was learnt yet.
    """
    if hasattr(type(model), "new_tree"):
        raise TypeError(
            f"a {type(model).__name__} has many trees and predicts their mean: inspect "
            "one of them, such as forest.trees_[0]"
        )
    if not hasattr(type(model), "split_log_"):
        raise TypeError(f"model must be a MistClassifier, got {type(model).__name__}")
    return model._fitted()


def labels_of(model: FittedTree) -> list[Any]:
    """Return the label of each class code."""
    one_tree(model)
    labels: list[Any] = model.classes_[model._labels.ranks].tolist()
    return labels


def spreads(model: FittedTree) -> Array:
    """Return the standard deviation of each column, in the user's order; 0 if constant."""
    state = model._fitted()
    weight = state.tree.nodes.mass[0] if state.observed is None else state.observed.scale
    sums = state.tree.scale[M2]
    out = np.zeros(state.n_features)
    out[model._order] = np.sqrt(np.divide(sums, weight, out=np.zeros_like(sums), where=sums > 0))
    return out


def heaviest(node: Node, labels: list[Any], most: int) -> list[tuple[Any, float]]:
    """Return labels and masses of the heaviest classes; ties go to the class seen first."""
    order = np.argsort(-node.masses, kind="stable")[:most]
    return [(labels[code], float(node.masses[code])) for code in order if node.masses[code] > 0]


def nodes_of(model: FittedTree) -> dict[int, Node]:
    """Return all nodes by id, parents first and left before right.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.

    Returns
    -------
    dict of int to Node

    Raises
    ------
    TypeError
        For a forest.
    NotFittedError
        If nothing was learnt yet.
    """
    state = one_tree(model)
    tree, nodes, names = model.tree_, state.tree.nodes, model._column_names()
    n = len(tree.feature)
    parent = np.full(n, -1)
    for children in (tree.left, tree.right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    splits = {split.node: split for split in model.split_log_}

    by_leaf = leaf_rules.leaf_masses(state)
    masses = np.zeros((n, len(model._labels.ranks)))
    rows, nbytes, leaves = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for node in range(n - 1, -1, -1):  # children have larger numbers than their parents
        leaf = int(nodes.leaf[node])
        if leaf >= 0:
            masses[node, : by_leaf.shape[1]] = by_leaf[leaf]
            rows[node] = state.tree.leaves.weight_seen[leaf]
            nbytes[node] = leaf_rules.leaf_bytes(state, leaf)
            leaves[node] = 1
        elif node in splits:  # a fork has no record of earlier splits
            rows[node] += splits[node].rows
        if node > 0:
            for sums in (masses, rows, nbytes, leaves):
                sums[parent[node]] += sums[node]

    found = {}
    for node, path in leaf_rules.walk(tree, names):
        feature, left, right = (int(a[node]) for a in (tree.feature, tree.left, tree.right))
        split = splits.get(node)
        found[node] = Node(
            node=node,
            parent=int(parent[node]),
            depth=int(tree.depth[node]),
            feature=feature,
            column=names[feature] if feature >= 0 else "",
            threshold=float(tree.threshold[node]),
            left=left,
            right=right,
            missing_left=feature >= 0 and bool(nodes.mass[left] >= nodes.mass[right]),
            rows=float(rows[node]),
            mass=float(nodes.mass[node]),
            masses=masses[node],
            leaves=int(leaves[node]),
            nbytes=int(nbytes[node]),
            gain=split.gain if split else float("nan"),
            seen=split.seen if split else 0,
            path=path,
        )
    return found


def children_within(node: Node, max_depth: int | None) -> tuple[int, ...]:
    """Return the children that a drawing with a depth limit shows: left and right, or none."""
    deeper = max_depth is None or node.depth < max_depth
    return (node.left, node.right) if deeper and not node.is_leaf else ()


def check_limits(max_depth: int | None, max_classes: int) -> None:
    """Refuse limits that leave nothing to draw."""
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth={max_depth} must be at least 0, or None for the complete tree")
    if max_classes < 1:
        raise ValueError(f"max_classes={max_classes} must be at least 1")
