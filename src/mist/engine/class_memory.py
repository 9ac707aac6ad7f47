"""Class memories: for each class, trees of cells that are grown from its own rows only.

A *cell* summarises the rows of one class in one region: their weight, mean and covariance. Each
class has several trees of cells, which differ by their random bits. A row goes down every tree of
its class to one cell. When a cell has learnt enough rows of its own, it is cut in two: the column
is drawn in favour of those in which the cell is wide compared with its class, the threshold near
the mean. Both halves inherit the moments of the cell, cut as a Gaussian.

At its first own row, a half keeps the inherited moments with a small weight, of one row by default.
So the moments of a cell are never those of a single row, except in a class of one row.

Moments of second order are kept in single precision and in units of their own, powers of two near
the first deviation in each column of the class.

Other classes play no part: the order of the classes does not matter, an absent class loses nothing,
and memories are merged by standing side by side.

The functions share these parameters, with a numeric and b binary columns:

memory : ClassMemory
    The memory.
q, c, j : int
    Index of a cell, class code, column.
X, i, w : float64 array, shape (m, a + b), int and float
    Rows, the index of the row at hand, and its weight. NaN is missing.
n_numeric : int
    The number a.
full : bool
    Whether cells have covariances, and not only variances.
seed : int
    Seed of the random bits.
shift : float64 array, shape (a + b,)
    Scratch array.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown
from mist.engine.compiled import exact
from mist.engine.random import CUTS, uniform
from mist.engine.records import new_records

CELL_NODE = np.dtype(
    [
        ("feature", np.int32),  # -1: the node has a cell
        ("first", np.int32),  # left child; the right one follows it
        ("parent", np.int32),  # -1: a root
        ("cell", np.int32),
        ("code", np.int32),
        ("threshold", np.float64),  # values up to it go left
    ]
)
CLASS_CELL = np.dtype(
    [
        ("rows", np.float64),  # weight of the rows of the region; a cut divides it
        ("weight", np.float64),  # behind the moments
        ("own", np.int32),  # rows learnt since the cell was made
        ("node", np.int32),
        ("code", np.int32),
        ("tree", np.int32),  # which of the trees of its class
    ]
)

MOST_PAIRED_COLUMNS = 24
"""Most numeric columns for which cells have a full covariance; above, variances only."""

ROWS_SHARE = 64.0
"""A class of n rows needs only n / ROWS_SHARE rows for a cut, so that small classes get cells."""

LEAST_ROWS = 3.0
"""No cell is cut with fewer rows of its own."""

FLAT = 1e-10
"""A cell is not cut in a column in which it has less than this share of its class's variance."""

LEAST_LEFT = 1e-6
"""A column with less than this share of its variance left after a cut has none left."""

MOST_UNITS = 1e12
"""Deviations count as at most so many units, so that single precision suffices."""

CUT_WIDTH = 0.5
"""Thresholds are drawn within so many standard deviations of the mean."""

N_CELL_NODES, N_CLASS_CELLS = range(2)

BY_CODE = ("roots", "cuts", "rows", "weight", "seen", "centre", "spread", "unit")
"""Fields of a `ClassMemory` with an entry for each class."""

_ROOT_2 = math.sqrt(2.0)
_PEAK = 1.0 / math.sqrt(2.0 * math.pi)


class ClassMemory(NamedTuple):
    """The memories of all classes; cells have p moments of second order."""

    nodes: Any  # records CELL_NODE
    cells: Any  # records CLASS_CELL
    mean: Any  # float64 (cells, a + b); NaN: no value so far
    m2: Any  # float32 (cells, p): weighted sums of products of deviations, in units of the class
    roots: Any  # int32 (codes, trees): -1 without a row
    cuts: Any  # int64 (codes, trees): cuts made so far
    rows: Any  # int64 (codes,)
    weight: Any  # float64 (codes,)
    seen: Any  # float64 (codes, a + b): weight of the values of a column
    centre: Any  # float64 (codes, a + b): their mean
    spread: Any  # float64 (codes, a + b): weighted sums of squares
    unit: Any  # float64 (codes, a + b): powers of two; 0: no deviation so far
    finest: Any  # float64 (1,): cells with a smaller share of their class are not cut
    counters: Any  # int64 (2,)


def is_full(n_numeric: int) -> bool:
    """Whether cells have covariances, and not only variances."""
    return n_numeric <= MOST_PAIRED_COLUMNS


def n_moments(n_numeric: int) -> int:
    """Moments of second order that a cell keeps."""
    return n_numeric * (n_numeric + 1) // 2 if is_full(n_numeric) else n_numeric


def new_memory(n_numeric: int, n_columns: int, n_trees: int) -> ClassMemory:
    """Return the memory of no class."""
    return ClassMemory(
        nodes=new_records(0, CELL_NODE),
        cells=new_records(0, CLASS_CELL),
        mean=np.zeros((0, n_columns)),
        m2=np.zeros((0, n_moments(n_numeric)), np.float32),
        roots=np.zeros((0, n_trees), np.int32),
        cuts=np.zeros((0, n_trees), np.int64),
        rows=np.zeros(0, np.int64),
        weight=np.zeros(0),
        seen=np.zeros((0, n_columns)),
        centre=np.zeros((0, n_columns)),
        spread=np.zeros((0, n_columns)),
        unit=np.zeros((0, n_columns)),
        finest=np.zeros(1),
        counters=np.zeros(2, np.int64),
    )


def reserve_codes(memory: ClassMemory, n_codes: int) -> ClassMemory:
    """Return a memory with arrays for at least so many classes."""
    old = len(memory.rows)
    if n_codes <= old:
        return memory
    memory = memory._replace(**{name: grown(getattr(memory, name), n_codes) for name in BY_CODE})
    memory.roots[old:] = -1
    return memory


def reserve_cells(memory: ClassMemory, n_trees: int, most: int) -> ClassMemory:
    """Return a memory with space for more cells: at least one more in each of some trees.

    There are not to be more than ``most`` cells, unless these few are.
    """
    least = int(memory.counters[N_CLASS_CELLS]) + n_trees
    n_cells = max(least, min(least + least // 4, most))
    lengths = {"nodes": 2 * n_cells, "cells": n_cells, "mean": n_cells, "m2": n_cells}
    return memory._replace(**{name: grown(getattr(memory, name), n) for name, n in lengths.items()})


@exact
def variance_at(j, full):
    """Index of the variance of a numeric column among the moments of second order."""
    return j * (j + 3) // 2 if full else j


@exact
def _weight_under(memory, v):
    """Weight of the rows under a node, by a walk that needs no stack."""
    nodes, total, at = memory.nodes, 0.0, v
    while True:
        while nodes.feature[at] >= 0:
            at = nodes.first[at]
        total += memory.cells.rows[nodes.cell[at]]
        while at != v and at != nodes.first[nodes.parent[at]]:
            at = nodes.parent[at]
        if at == v:
            return total
        at += 1


@exact
def cell_of(memory, v, X, i):
    """Cell of a row under a node; a missing value goes where its class has more weight."""
    nodes = memory.nodes
    while nodes.feature[v] >= 0:
        x, left = X[i, nodes.feature[v]], nodes.first[v]
        if x == x:
            v = left if x <= nodes.threshold[v] else left + 1
        else:
            heavier = _weight_under(memory, left) >= _weight_under(memory, left + 1)
            v = left if heavier else left + 1
    return nodes.cell[v]


@exact
def _new_root(memory, c, tree):
    """Give a tree of a class its first cell."""
    nodes, cells = memory.nodes, memory.cells
    v, q = memory.counters[N_CELL_NODES], memory.counters[N_CLASS_CELLS]
    memory.counters[N_CELL_NODES] += 1
    memory.counters[N_CLASS_CELLS] += 1
    memory.roots[c, tree] = v
    nodes.feature[v], nodes.first[v], nodes.parent[v] = -1, -1, -1
    nodes.cell[v], nodes.code[v], nodes.threshold[v] = q, c, 0.0
    cells.rows[q], cells.weight[q], cells.own[q] = 0.0, 0.0, 0
    cells.node[q], cells.code[q], cells.tree[q] = v, c, tree
    memory.mean[q, :] = np.nan
    memory.m2[q, :] = 0.0


@exact
def _count_in_class(memory, c, X, i, w):
    """Add a row to the totals of its class."""
    memory.rows[c] += 1
    memory.weight[c] += w
    for j in range(X.shape[1]):
        x = X[i, j]
        if x == x:
            memory.seen[c, j] += w
            away = x - memory.centre[c, j]
            if memory.seen[c, j] == w:
                memory.centre[c, j] = x
            else:
                memory.centre[c, j] += w / memory.seen[c, j] * away
                memory.spread[c, j] += w * away * (x - memory.centre[c, j])
                if memory.unit[c, j] == 0.0 and away != 0.0:
                    memory.unit[c, j] = math.ldexp(1.0, math.frexp(away)[1])


@exact
def _absorb(memory, q, X, i, w, n_numeric, full, shift):
    """Learn a row of weight w; a missing value counts as the mean of the cell."""
    mean, m2, c = memory.mean, memory.m2, memory.cells.code[q]
    before = memory.cells.weight[q]
    memory.cells.weight[q] = before + w
    r = w / memory.cells.weight[q]
    for j in range(mean.shape[1]):
        x = X[i, j]
        shift[j] = 0.0
        if x == x and mean[q, j] == mean[q, j]:
            shift[j] = x - mean[q, j]
            mean[q, j] += r * shift[j]
        elif x == x:
            mean[q, j] = x
    for j in range(n_numeric):
        unit = memory.unit[c, j]
        away = shift[j] / unit if unit > 0.0 else 0.0
        shift[j] = min(max(away, -MOST_UNITS), MOST_UNITS)
    at = 0
    for j in range(n_numeric):
        scaled = shift[j] * before * r
        if full:
            for k in range(j + 1):
                m2[q, at + k] += scaled * shift[k]
            at += j + 1
        else:
            m2[q, j] += scaled * shift[j]


@exact
def _fade_inherited(memory, q, kappa):
    """Let inherited moments count as ``kappa`` rows."""
    if memory.cells.weight[q] > kappa:
        factor = kappa / memory.cells.weight[q]
        for k in range(memory.m2.shape[1]):
            memory.m2[q, k] *= factor
        memory.cells.weight[q] = kappa


@exact
def _variance(memory, q, j, n_numeric, full):
    """Variance of a column in a cell, in its unit; 0 without a value."""
    if j < n_numeric:
        return float(memory.m2[q, variance_at(j, full)]) / memory.cells.weight[q]
    p = memory.mean[q, j]
    return p * (1.0 - p) if p == p else 0.0


@exact
def _column_to_cut(memory, q, n_numeric, full, seed):
    """Column in which to cut a cell, -1 if it is flat in all."""
    c, tree = memory.cells.code[q], memory.cells.tree[q]
    counter = c * memory.roots.shape[1] + tree
    best, most = -1, 0.0
    for j in range(memory.mean.shape[1]):
        overall = memory.spread[c, j] / memory.seen[c, j] if memory.seen[c, j] > 0.0 else 0.0
        if j < n_numeric and overall > 0.0:
            overall /= memory.unit[c, j] * memory.unit[c, j]
        share = _variance(memory, q, j, n_numeric, full) / overall if overall > 0.0 else 0.0
        if not share >= FLAT:
            continue
        if j >= n_numeric:
            share *= 0.5
        score = share / -math.log(uniform(seed, CUTS, counter, memory.cuts[c, tree], j) + 1e-12)
        if score > most:
            best, most = j, score
    return best


@exact
def _inherit(memory, q, j, moved, variance, part, n_numeric, full, shift):
    """Cut the moments of a cell: the mean of column j moves, its variance changes, others follow.

    Both are in the unit of the column. ``part`` is the share of the weight that the cell keeps.
    """
    m2, w, c = memory.m2, memory.cells.weight[q], memory.cells.code[q]
    memory.cells.weight[q] = w * part
    if not full:
        for k in range(n_numeric):
            m2[q, k] *= part
        memory.mean[q, j] += moved * memory.unit[c, j]
        m2[q, j] = variance * (w * part)
        return
    before = m2[q, variance_at(j, full)] / w
    for k in range(n_numeric):
        low, high = min(j, k), max(j, k)
        shift[k] = m2[q, high * (high + 1) // 2 + low] / w / before
    at = 0
    for k in range(n_numeric):
        memory.mean[q, k] += shift[k] * moved * memory.unit[c, k]
        old = m2[q, at + k] / w
        for i in range(k + 1):
            less = shift[k] * shift[i] * (before - variance)
            m2[q, at + i] = (m2[q, at + i] / w - less) * (w * part)
        if m2[q, at + k] < LEAST_LEFT * old * (w * part):
            m2[q, at + k] = 0.0
        at += k + 1


@exact
def _divide(memory, q, j, threshold, right):
    """Make two cells of one, with a share of its rows on the right; returns the right cell."""
    cells, nodes, mean, m2 = memory.cells, memory.nodes, memory.mean, memory.m2
    v, other = memory.counters[N_CELL_NODES], memory.counters[N_CLASS_CELLS]
    memory.counters[N_CELL_NODES] += 2
    memory.counters[N_CLASS_CELLS] += 1
    memory.cuts[cells.code[q], cells.tree[q]] += 1
    above = cells.node[q]
    nodes.feature[above], nodes.threshold[above] = j, threshold
    nodes.first[above], nodes.cell[above] = v, -1
    cells.weight[other], cells.code[other] = cells.weight[q], cells.code[q]
    cells.tree[other], cells.rows[other] = cells.tree[q], cells.rows[q] * right
    cells.rows[q] *= 1.0 - right
    for side in range(2):
        e = other if side else q
        nodes.feature[v + side], nodes.first[v + side], nodes.parent[v + side] = -1, -1, above
        nodes.cell[v + side], nodes.code[v + side] = e, cells.code[q]
        nodes.threshold[v + side] = 0.0
        cells.node[e], cells.own[e] = v + side, 0
    for k in range(mean.shape[1]):
        mean[other, k] = mean[q, k]
    for k in range(m2.shape[1]):
        m2[other, k] = m2[q, k]
    return other


@exact
def _cut(memory, q, n_numeric, full, seed, shift):
    """Cut a cell in two; False if it is flat."""
    j = _column_to_cut(memory, q, n_numeric, full, seed)
    if j < 0:
        return False
    cells, mean, m2 = memory.cells, memory.mean, memory.m2
    if j >= n_numeric:
        right = mean[q, j]
        other = _divide(memory, q, j, 0.5, right)
        for k in range(m2.shape[1]):
            m2[other, k] *= right
            m2[q, k] *= 1.0 - right
        cells.weight[other] *= right
        cells.weight[q] *= 1.0 - right
        mean[q, j], mean[other, j] = 0.0, 1.0
        return True
    counter = cells.code[q] * memory.roots.shape[1] + cells.tree[q]
    number = memory.cuts[cells.code[q], cells.tree[q]]
    variance = _variance(memory, q, j, n_numeric, full)
    sd = math.sqrt(variance)
    z = CUT_WIDTH * (2.0 * uniform(seed, CUTS, counter, number, mean.shape[1]) - 1.0)
    right = 0.5 * (1.0 - math.erf(z / _ROOT_2))
    height = _PEAK * math.exp(-0.5 * z * z)
    low, high = height / (1.0 - right), height / right
    threshold = mean[q, j] + sd * z * memory.unit[cells.code[q], j]
    other = _divide(memory, q, j, threshold, right)
    _inherit(
        memory, q, j, -sd * low, variance * (1.0 - z * low - low * low), 1.0 - right,
        n_numeric, full, shift,
    )  # fmt: skip
    _inherit(
        memory, other, j, sd * high, variance * (1.0 + z * high - high * high), right,
        n_numeric, full, shift,
    )  # fmt: skip
    return True


@exact
def learn_rows(
    memory, X, codes, weights, start, n_trees, n_numeric, full, seed, most, kappa, shift
):
    """Learn rows; returns the index of the first one that was not learnt for lack of capacity.

    Parameters
    ----------
    codes, weights : int64 and float64 array, shape (m,)
        Class codes, and weights; rows of weight 0 are left out.
    start : int
        First row to learn.
    n_trees : int
        The first so many trees of each class learn.
    most : float
        Rows of its own after which a cell is cut; small classes need fewer.
    kappa : float
        Weight in rows of inherited moments, once a cell learns a row of its own.
    """
    cells = memory.cells
    for i in range(start, len(X)):
        w, c = weights[i], codes[i]
        if not w > 0.0:
            continue
        if memory.counters[N_CLASS_CELLS] + n_trees > len(cells):
            return i
        _count_in_class(memory, c, X, i, w)
        need = min(most, max(LEAST_ROWS, memory.rows[c] / ROWS_SHARE))
        for tree in range(n_trees):
            if memory.roots[c, tree] < 0:
                _new_root(memory, c, tree)
            q = cell_of(memory, memory.roots[c, tree], X, i)
            if cells.own[q] == 0:
                _fade_inherited(memory, q, kappa)
            _absorb(memory, q, X, i, w, n_numeric, full, shift)
            cells.rows[q] += w
            cells.own[q] += 1
            if cells.own[q] < need or cells.rows[q] < memory.finest[0] * memory.weight[c]:
                continue
            # A flat cell is examined again after as many rows; its moments stay.
            if not _cut(memory, q, n_numeric, full, seed, shift):
                cells.own[q] = 1
    return len(X)
