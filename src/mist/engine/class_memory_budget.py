"""Class memories within a number of bytes: cells are joined where they tell least."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine.class_memory import BY_CODE, CELL_NODE, CLASS_CELL, ClassMemory, is_full
from mist.engine.class_memory_upkeep import selected, trimmed

Array = np.ndarray[Any, Any]

__all__ = ["coarsened", "most_cells"]


def most_cells(memory: ClassMemory, n_bytes: int) -> int:
    """Number of cells of a memory that fit into so many bytes, next to what it keeps of classes."""
    by_code = [getattr(memory, name) for name in BY_CODE]
    of_class = sum(array.itemsize * math.prod(array.shape[1:]) for array in by_code)
    # Classes with rows, and one that may be next: others may be known from this batch only.
    of_classes = of_class * (1 + np.count_nonzero(memory.rows))
    row = memory.mean.itemsize * memory.mean.shape[1] + memory.m2.itemsize * memory.m2.shape[1]
    of_cell = CLASS_CELL.itemsize + 2 * CELL_NODE.itemsize + row
    return int(max(0, (n_bytes - of_classes) // of_cell))


def coarsened(memory: ClassMemory, n_cells: int, n_numeric: int) -> ClassMemory:
    """Return a memory with at most so many cells: halves of a cut are joined again.

    The halves with the smallest share of their class go first, so classes keep about equal
    numbers of cells. From then on, cells with a smaller share are not cut. Each tree keeps a cell.

    Parameters
    ----------
    memory : ClassMemory
        The memory; it is not changed.
    n_cells, n_numeric : int
        Number of cells to keep, and of numeric columns.
    """
    memory = trimmed(memory)
    while (surplus := len(memory.cells) - n_cells) > 0:
        nodes, cells = memory.nodes, memory.cells
        above = np.flatnonzero(nodes.feature >= 0)
        left = nodes.first[above]
        ends = (nodes.feature[left] < 0) & (nodes.feature[left + 1] < 0)
        above, left = above[ends], left[ends]
        if not len(above):
            break
        kept, gone = nodes.cell[left], nodes.cell[left + 1]
        shares = (cells.rows[kept] + cells.rows[gone]) / memory.weight[nodes.code[above]]
        chosen = np.argsort(shares, kind="stable")[:surplus]
        above, left, kept, gone = above[chosen], left[chosen], kept[chosen], gone[chosen]
        memory.finest[0] = max(memory.finest[0], shares[chosen[-1]])
        _join(memory, kept, gone, n_numeric)
        nodes.feature[above], nodes.first[above], nodes.threshold[above] = -1, -1, 0.0
        nodes.cell[above], cells.node[kept] = kept, above
        keep_nodes, keep_cells = np.full(len(nodes), True), np.full(len(cells), True)
        keep_nodes[left] = keep_nodes[left + 1] = keep_cells[gone] = False
        memory = selected(memory, keep_nodes, keep_cells)
    return memory


def _join(memory: ClassMemory, one: Array, other: Array, a: int) -> None:
    """Add cells to others of the same class, weighted by their rows."""
    cells, mean, m2 = memory.cells, memory.mean, memory.m2
    rows = cells.rows[one] + cells.rows[other]
    part = np.divide(cells.rows[other], rows, out=np.full(len(rows), 0.5), where=rows > 0.0)
    away = mean[other] - mean[one]
    unknown = np.isnan(mean[one])
    mean[one] = np.where(unknown, mean[other], mean[one] + np.nan_to_num(away) * part[:, None])
    unit = memory.unit[cells.code[one], :a]
    steps = np.divide(np.nan_to_num(away[:, :a]), unit, out=np.zeros(unit.shape), where=unit > 0.0)
    lower = np.tril_indices(a)
    products = steps[:, lower[0]] * steps[:, lower[1]] if is_full(a) else steps**2
    weight = cells.weight[one] + cells.weight[other]
    first, second = (m2[each] / cells.weight[each, None] for each in (one, other))
    between = (part * (1.0 - part))[:, None] * products
    m2[one] = weight[:, None] * ((1.0 - part)[:, None] * first + part[:, None] * second + between)
    cells.rows[one], cells.weight[one] = rows, weight
    cells.own[one] += cells.own[other]
