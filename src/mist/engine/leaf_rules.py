"""Reading a tree: rules, class masses and bytes of its leaves, and the tree as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mist.engine.leafmodel import kind_of
from mist.engine.state import BLOCK_SIZES, N_CELLS, N_LEAVES, State, leaf_cells

Array = np.ndarray[Any, Any]


def walk(tree: Any, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All nodes, parents first and left before right, with the conditions that lead there."""
    # A stack of its own: trees may be deeper than Python's limit of recursion.
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        yield node, path
        if tree.feature[node] >= 0:
            name, v = names[tree.feature[node]], float(tree.threshold[node])
            stack.append((int(tree.right[node]), (*path, f"{name} > {v:.6g}")))
            stack.append((int(tree.left[node]), (*path, f"{name} <= {v:.6g}")))


def rules(tree: Any, names: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """Leaves from left to right, each with the conditions on its path."""
    return [(node, path) for node, path in walk(tree, names) if tree.feature[node] < 0]


def class_masses(state: State, leaf: int) -> tuple[Array, Array]:
    """Class codes and masses of a leaf, heaviest first."""
    cells = leaf_cells(state.tree, leaf)
    order = np.argsort(-state.tree.cells.mass[cells], kind="stable")
    return state.tree.cells.code[cells][order], state.tree.cells.mass[cells][order]


def leaf_masses(state: State) -> Array:
    """Mass of each class at each leaf, shape (leaves, class codes)."""
    tree = state.tree
    cells = tree.cells[: tree.counters[N_CELLS]]
    cells = cells[cells.leaf >= 0]  # the others are free
    masses = np.zeros((tree.counters[N_LEAVES], cells.code.max() + 1))
    masses[cells.leaf, cells.code] = cells.mass
    return masses


def leaf_bytes(state: State, leaf: int) -> int:
    """Bytes of a leaf's cells: moments, caches, sketches and the arrays of the leaf model."""
    cells = leaf_cells(state.tree, leaf)
    n = state.tree.spread[leaf].nbytes
    per_cell = [state.tree.cells, state.tree.stats]
    if state.observed is not None:
        per_cell.append(state.observed.cell)
        n += state.observed.leaf[leaf].nbytes
    if state.sketch is not None:
        sketch, records = state.sketch, state.tree.cells
        per_cell += [sketch.sizes, sketch.ends, sketch.medians]
        blocks = records.size_class[cells[records.start[cells] >= 0]]
        rows = int(sketch.plan[BLOCK_SIZES, blocks].sum())
        n += rows * state.options.n_numeric * sketch.items.itemsize
    n += kind_of(state.model).nbytes(state, leaf)
    return int(n + len(cells) * sum(a[:1].nbytes for a in per_cell))


def text(
    state: State, tree: Any, names: Sequence[str], labels: Sequence[Any], max_classes: int
) -> str:
    """The tree as indented text, one line a node; ``max_classes`` limits the classes of a leaf."""
    if max_classes < 1:
        raise ValueError(f"max_classes={max_classes} must be at least 1")
    lines = []
    for node, path in walk(tree, names):
        depth = len(path)
        indent = "|   " * max(depth - 1, 0) + "|--- " * (depth > 0)
        condition = f"{path[-1]}: " if path and tree.feature[node] < 0 else path[-1] if path else ""
        if tree.feature[node] >= 0:
            if condition:
                lines.append(f"{indent}{condition}")
            continue
        leaf = int(state.tree.nodes.leaf[node])
        codes, masses = class_masses(state, leaf)
        shown = ", ".join(
            f"{labels[c]} {m:.4g}" for c, m in zip(codes[:max_classes], masses, strict=False)
        )
        more = f" and {len(codes) - max_classes} more" if len(codes) > max_classes else ""
        rows = float(state.tree.leaves.weight_seen[leaf])
        lines.append(f"{indent}{condition}leaf {node}: {rows:.6g} rows; {shown}{more}")
    return "\n".join(lines)
