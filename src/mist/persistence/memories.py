"""Validation of class memories that are read from a file, before compiled code uses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.class_memory import N_CELL_NODES, N_CLASS_CELLS, ClassMemory, n_moments
from mist.persistence.class_paths import class_of
from mist.persistence.shapes import CLASS_MEMORY, fit, require
from mist.persistence.validate import check_forest

__all__ = ["check_replay_forest"]

Array = np.ndarray[Any, Any]


def check_replay_forest(model: Any) -> None:
    """Refuse a `MistReplayForest` that is not valid; raises as `validate_state` does."""
    check_forest(model)
    require(("_replay" in vars(model)) == ("trees_" in vars(model)), "it has no memories")
    if "_replay" not in vars(model):
        return
    replay = model._replay
    require(type(replay) is class_of("Replay"), "its memories have the wrong type")
    allowed = {"memory", "snapshot", "n_numeric", "options", "seed"}
    allowed |= {"max_bytes", "in_use"}
    require(set(vars(replay)) <= allowed, "its memories have an unknown attribute")
    n_numeric = model.trees_[0]._state.options.n_numeric
    require(replay.n_numeric == n_numeric, "its memories have other columns")
    require(type(replay.seed) is int and 0 <= replay.seed < 2**64, "their seed is not valid")
    names = ("memory_trees", "rows_per_cell", "inherited_rows")
    wanted = tuple(getattr(model, name) for name in names)
    require(replay.options == wanted, "the options of its memories differ")
    trees = replay.in_use
    require(type(trees) is int and 1 <= trees <= model.memory_trees, "it has too few memory trees")
    # The parameter may have been set since; it counts from the next row on.
    limit = replay.max_bytes
    require(limit is None or (type(limit) is int and limit >= 1), "their limit is not valid")
    n_codes = len(model._labels.ranks)
    for memory in (replay.memory, replay.snapshot):
        if memory is not None:
            _check_memory(memory, n_numeric, model.n_features_in_, replay.options[0])
    require(len(replay.memory.rows) == n_codes, "its memories have other classes")
    if replay.snapshot is not None:
        require(len(replay.snapshot.rows) <= n_codes, "its snapshot has other classes")


def _check_memory(memory: Any, n_numeric: int, n_columns: int, n_trees: int) -> None:
    require(type(memory) is ClassMemory, "a memory has the wrong type")
    sizes = {"d": n_columns, "moments": n_moments(n_numeric)}
    fit(memory, CLASS_MEMORY, sizes)
    n_nodes, n_cells = memory.counters[[N_CELL_NODES, N_CLASS_CELLS]].tolist()
    require(0 <= n_nodes <= sizes["nodes"], "a memory has fewer nodes than it counts")
    require(0 <= n_cells <= sizes["cells"], "a memory has fewer cells than it counts")
    n_codes, width = memory.roots.shape
    require(width >= n_trees, "a memory has too few trees")
    nodes, cells = memory.nodes[:n_nodes], memory.cells[:n_cells]
    inner = nodes.feature >= 0
    _check_within(nodes.feature, -1, n_columns, "a column of a node")
    _check_within(nodes.code, 0, n_codes, "a class of a node")
    _check_within(cells.code, 0, n_codes, "a class of a cell")
    _check_within(cells.tree, 0, width, "a tree of a cell")
    children = nodes.first[inner]
    _check_within(children, 1, n_nodes - 1, "a child of a node")
    # Children come after their parent, so that every walk ends.
    above = np.flatnonzero(inner)
    require((children > above).all(), "a node comes after its children")
    both = np.concatenate([children, children + 1])
    require((nodes.parent[both] == np.tile(above, 2)).all(), "a node has another parent")
    roots = memory.roots[memory.roots >= 0]
    # Compiled code looks for space for cells only: a cut adds two nodes and one cell.
    require(sizes["nodes"] >= 2 * sizes["cells"] - len(roots), "a memory has too few nodes")
    _check_within(memory.roots, -1, n_nodes, "a root")
    used = np.sort(np.concatenate([both, roots]))
    require(np.array_equal(used, np.arange(n_nodes)), "a node has no parent, or two")
    require((nodes.parent[roots] == -1).all(), "a root has a parent")
    at = nodes.cell[~inner]
    require(np.array_equal(np.sort(at), np.arange(n_cells)), "a cell has no node, or two")
    require((cells.node[at] == np.flatnonzero(~inner)).all(), "a cell has another node")


def _check_within(values: Array, low: int, end: int, what: str) -> None:
    inside = not len(values) or (values.min() >= low and values.max() < end)
    require(inside, f"{what} is out of range")
