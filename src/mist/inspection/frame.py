"""A tree as a data frame, and the import of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mist.fitted import FittedTree
from mist.impurity import gini_impurity
from mist.inspection.nodes import heaviest, labels_of, nodes_of

if TYPE_CHECKING:
    from pandas import DataFrame


__all__ = ["pandas", "to_frame"]


def pandas() -> Any:
    """Return pandas, or raise an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'mist-tree[frames]'") from error
    return pandas


def to_frame(model: FittedTree) -> DataFrame:
    """Return all nodes of a tree as a data frame, parents first and left before right.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree.

    Returns
    -------
    pandas.DataFrame
        One row per node, with the columns

        node, parent, depth
            Node ids, as `MistClassifier.apply` returns them, -1 above the root, and the distance
            from the root.
        is_leaf, feature, column, threshold, left, right
            Split column, its name, and children; values <= threshold go left. -1, None or NaN at a
            leaf.
        rows, mass
            Weight of the rows learnt at the node or below it, without and with inherited mass.
        n_classes, majority_class, impurity
            Classes with mass, the heaviest of them, and Gini impurity, of the leaf or of all leaves
            below the node together.
        nbytes
            Bytes of the class statistics of those leaves.
        gain, seen
            Gain of the split, and number of rows learnt by the model before it; NaN and 0 at a
            leaf.
        rule
            Conditions on the path from the root, joined by "and".

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError
        For a forest.
    NotFittedError
        If nothing was learnt yet.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> model = MistClassifier().fit([[0.0], [1.0], [9.0]], ["a", "a", "b"])
    >>> to_frame(model)[["node", "is_leaf", "rows", "n_classes", "majority_class"]]
       node  is_leaf  rows  n_classes majority_class
    0     0     True   3.0          2              a
    """
    nodes, labels = list(nodes_of(model).values()), labels_of(model)
    return pandas().DataFrame(
        {
            "node": [node.node for node in nodes],
            "parent": [node.parent for node in nodes],
            "depth": [node.depth for node in nodes],
            "is_leaf": [node.is_leaf for node in nodes],
            "feature": [node.feature for node in nodes],
            "column": [None if node.is_leaf else node.column for node in nodes],
            "threshold": [node.threshold for node in nodes],
            "left": [node.left for node in nodes],
            "right": [node.right for node in nodes],
            "rows": [node.rows for node in nodes],
            "mass": [node.mass for node in nodes],
            "n_classes": [int(np.count_nonzero(node.masses)) for node in nodes],
            "majority_class": [heaviest(node, labels, 1)[0][0] for node in nodes],
            "impurity": [float(gini_impurity(node.masses)) for node in nodes],
            "nbytes": [node.nbytes for node in nodes],
            "gain": [node.gain for node in nodes],
            "seen": [node.seen for node in nodes],
            "rule": [" and ".join(node.path) for node in nodes],
        }
    )
