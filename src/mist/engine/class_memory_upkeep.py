"""Class memories copied, merged, widened, and their classes joined or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mist.engine.arrays import grown, per, wider, without_entry
from mist.engine.class_memory import (
    BY_CODE,
    N_CELL_NODES,
    N_CLASS_CELLS,
    ClassMemory,
    is_full,
    n_moments,
    reserve_codes,
    variance_at,
)

Array = np.ndarray[Any, Any]

_BY_CELL = ("cells", "mean", "m2")
_BY_COLUMN = ("seen", "centre", "spread", "unit")


def trimmed(memory: ClassMemory) -> ClassMemory:
    """Return a copy without spare capacity."""
    n_nodes, n_cells = memory.counters.tolist()
    lengths = {"nodes": n_nodes, **dict.fromkeys(_BY_CELL, n_cells)}
    arrays = memory._asdict()
    return ClassMemory(
        **{name: a[: lengths.get(name, len(a))].copy() for name, a in arrays.items()}
    )


def without_spare_codes(memory: ClassMemory) -> ClassMemory:
    """Return a memory without the codes after the last class that has rows.

    How many codes are reserved depends on how rows come in batches.
    """
    n = int(np.max(np.flatnonzero(memory.rows), initial=-1)) + 1
    return memory._replace(**{name: getattr(memory, name)[:n] for name in BY_CODE})


def with_columns(memory: ClassMemory, n_numeric: int, n_more: int) -> ClassMemory:
    """Return a memory with new numeric columns, without a value so far, after the numeric ones.

    Parameters
    ----------
    memory : ClassMemory
        The memory; it is not changed.
    n_numeric, n_more : int
        Numeric columns before, and new ones.
    """
    memory = trimmed(memory)
    nodes, m2 = memory.nodes, memory.m2
    nodes.feature[nodes.feature >= n_numeric] += n_more
    full = is_full(n_numeric)
    if full and not is_full(n_numeric + n_more):
        m2 = m2[:, [variance_at(j, full) for j in range(n_numeric)]]
    short = n_moments(n_numeric + n_more) - m2.shape[1]
    return memory._replace(
        m2=wider(m2, short, m2.shape[1]),
        mean=wider(memory.mean, n_more, n_numeric, fill=np.nan),
        **{name: wider(getattr(memory, name), n_more, n_numeric) for name in _BY_COLUMN},
    )


def with_indicators(memory: ClassMemory, siblings: Sequence[Sequence[int]]) -> ClassMemory:
    """Return a memory with new 0/1 columns at the end, 0 where one of its siblings had a value.

    Parameters
    ----------
    memory : ClassMemory
        The memory; it is not changed.
    siblings : sequence of sequence of int
        For each new column, the 0/1 columns of the same text column. Without any, the new column
        has had no value so far.
    """
    memory = trimmed(memory)
    for columns in siblings:
        n = memory.mean.shape[1]
        known = memory.mean[:, columns[0]] if len(columns) else np.full(len(memory.mean), np.nan)
        seen = memory.seen[:, columns[0]] if len(columns) else np.zeros(len(memory.seen))
        memory = memory._replace(
            mean=wider(memory.mean, 1, n),
            **{name: wider(getattr(memory, name), 1, n) for name in _BY_COLUMN},
        )
        memory.mean[:, n] = np.where(np.isnan(known), np.nan, 0.0)
        memory.seen[:, n] = seen
    return memory


def without_class(memory: ClassMemory, code: int) -> ClassMemory:
    """Return a memory that knows nothing of a class; its code stays."""
    return _with_classes(memory, np.arange(len(memory.rows)) != code)


def _with_classes(memory: ClassMemory, kept: Array) -> ClassMemory:
    """Return a memory that knows some classes only, given as a mask; codes stay."""
    memory = trimmed(memory)
    memory.roots[~kept], memory.cuts[~kept] = -1, 0
    memory.rows[~kept], memory.weight[~kept] = 0, 0.0
    for name in _BY_COLUMN:
        getattr(memory, name)[~kept] = 0.0
    return selected(memory, kept[memory.nodes.code], kept[memory.cells.code])


def joined(memory: ClassMemory, gone: int, into: int, n_trees: int, n_numeric: int) -> ClassMemory:
    """Return a memory in which a class has the trees of another one, too, whose code stays.

    Parameters
    ----------
    memory : ClassMemory
        The memory; it is not changed.
    gone, into : int
        Codes of the class that knows nothing afterwards, and of the one that has its trees.
    n_trees, n_numeric : int
        As for `merged`.
    """
    codes = np.arange(len(memory.rows))
    alone = _with_classes(memory, codes == gone)
    codes[gone] = into
    return merged(without_class(memory, gone), alone, codes, n_trees, n_numeric)


def without_code(memory: ClassMemory, code: int) -> ClassMemory:
    """Return a memory without a class that it knows nothing of; the last class has its code."""
    last = len(memory.rows) - 1
    memory = trimmed(memory)
    for records in (memory.nodes, memory.cells):
        records.code[records.code == last] = code
    return memory._replace(**{name: without_entry(getattr(memory, name), code) for name in BY_CODE})


def with_first_trees(memory: ClassMemory, n_kept: int, n_trees: int) -> ClassMemory:
    """Return a memory with the first trees only of every ``n_trees`` trees of each class."""
    memory = trimmed(memory)
    memory.roots[:, np.arange(memory.roots.shape[1]) % n_trees >= n_kept] = -1
    kept = memory.cells.tree % n_trees < n_kept
    # A node belongs to the tree of any cell under it; children follow their parents.
    nodes = np.zeros(len(memory.nodes), bool)
    nodes[memory.cells.node[kept]] = True
    for v in np.flatnonzero(memory.nodes.parent >= 0)[::-1].tolist():
        nodes[memory.nodes.parent[v]] |= nodes[v]
    return selected(memory, nodes, kept)


def selected(memory: ClassMemory, nodes: Array, cells: Array) -> ClassMemory:
    """Return a memory without spare capacity with some of its nodes and cells, given as masks."""
    memory = memory._replace(
        nodes=memory.nodes[nodes], **{name: getattr(memory, name)[cells] for name in _BY_CELL}
    )
    node_at, cell_at = np.cumsum(nodes) - 1, np.cumsum(cells) - 1
    _renumber(memory, node_at, cell_at)
    memory.roots[memory.roots >= 0] = node_at[memory.roots[memory.roots >= 0]]
    memory.counters[N_CELL_NODES] = len(memory.nodes)
    memory.counters[N_CLASS_CELLS] = len(memory.cells)
    return memory


def _renumber(memory: ClassMemory, node_at: Array, cell_at: Array) -> None:
    """Give nodes and cells other numbers wherever they are named, except in the roots."""
    nodes, cells = memory.nodes, memory.cells
    for names, at in ((nodes.first, node_at), (nodes.parent, node_at), (nodes.cell, cell_at)):
        names[names >= 0] = at[names[names >= 0]]
    cells.node[:] = node_at[cells.node]


def merged(
    memory: ClassMemory, other: ClassMemory, codes: Array, n_trees: int, n_numeric: int
) -> ClassMemory:
    """Return two memories side by side.

    A class that only the other one knows has its trees taken over and goes on learning with them.
    For a class that both know, the other's trees are added to those that learn.

    Parameters
    ----------
    memory, other : ClassMemory
        Memories with the same columns; neither is changed.
    codes : ndarray of int64
        Codes in ``memory`` of the classes of ``other``.
    n_trees, n_numeric : int
        Number of trees of a class that learn, and of numeric columns.
    """
    mine, theirs = trimmed(memory), trimmed(other)
    codes = codes[: len(theirs.rows)]
    mine = reserve_codes(mine, int(codes.max(initial=-1)) + 1)
    _renumber(
        theirs,
        np.arange(len(theirs.nodes)) + len(mine.nodes),
        np.arange(len(theirs.cells)) + len(mine.cells),
    )
    learnt = np.flatnonzero(theirs.rows[: len(codes)] > 0).tolist()
    first, n_more = np.zeros(len(theirs.rows), np.int32), theirs.roots.shape[1]
    for at in learnt:
        taken = np.flatnonzero(mine.roots[codes[at]] >= 0)
        first[at] = 0 if not taken.size else -(-(int(taken[-1]) + 1) // n_trees) * n_trees
    used = mine.roots.shape[1]
    width = max([used, *(first[learnt] + n_more).tolist()])
    mine = mine._replace(
        roots=wider(mine.roots, width - used, used, fill=-1),
        cuts=wider(mine.cuts, width - used, used),
    )
    for at in learnt:
        there = slice(first[at], first[at] + n_more)
        roots = theirs.roots[at]
        mine.roots[codes[at], there] = np.where(roots >= 0, roots + len(mine.nodes), -1)
        mine.cuts[codes[at], there] = theirs.cuts[at]
        _add_totals(mine, codes[at], theirs, at)
        _change_units(theirs, at, mine.unit[codes[at]], n_numeric)
    theirs.cells.tree[:] += first[theirs.cells.code]
    for records in (theirs.nodes, theirs.cells):
        records.code[:] = codes[records.code]
    stacked = {
        name: _stacked(getattr(mine, name), getattr(theirs, name)) for name in ("nodes", *_BY_CELL)
    }
    finest = np.maximum(mine.finest, theirs.finest)
    return mine._replace(**stacked, finest=finest, counters=mine.counters + theirs.counters)


def _stacked(one: Any, other: Any) -> Any:
    out = grown(one, len(one) + len(other))
    out[len(one) :] = other
    return out


def _add_totals(memory: ClassMemory, code: Any, other: ClassMemory, at: int) -> None:
    """Add the totals of a class of another memory to those of a class."""
    memory.rows[code] += other.rows[at]
    memory.weight[code] += other.weight[at]
    a, b = memory.seen[code].copy(), other.seen[at]
    away, share = other.centre[at] - memory.centre[code], per(b, a + b)
    memory.spread[code] += other.spread[at] + away**2 * a * share
    memory.centre[code] += away * share
    memory.seen[code] += b
    memory.unit[code] = np.where(memory.unit[code] > 0.0, memory.unit[code], other.unit[at])


def _change_units(memory: ClassMemory, code: int, unit: Array, a: int) -> None:
    """Put the moments of a class into other units, powers of two like its own."""
    factor = np.where(unit > 0.0, per(memory.unit[code], unit), 1.0)
    own = memory.cells.code == code
    lower = np.tril_indices(a)
    products = np.outer(factor[:a], factor[:a])
    memory.m2[own] *= (products[lower] if is_full(a) else np.diag(products)).astype(np.float32)
    memory.unit[code] = unit
