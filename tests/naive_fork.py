"""The slow and obvious twin of forks, of merging trees with the same splits, and of new columns.

It shares no code with the package. Everything is said of a `naive.NaiveMist`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

from naive import Cell, NaiveMist, draw
from naive_merge import merge_sketches

FORKS = 8  # what the random bits of forks are drawn for


def cells_of(twin: NaiveMist) -> list[Cell]:
    """All cells, that of all rows first."""
    return [twin.total, *(cell for node in twin.nodes for cell in node.cells.values())]


def widen(twin: NaiveMist, n_more: int) -> None:
    """Add numeric columns that no row had so far, behind the numeric ones."""
    at, old = twin.n_numeric, twin.d
    twin.order = [*twin.order[:at], *range(old, old + n_more), *twin.order[at:]]
    twin.n_numeric, twin.d = at + n_more, old + n_more
    nothing = [0.0] * n_more
    for cell in cells_of(twin):
        for values in (cell.fw, cell.mean, cell.m2, cell.prec, cell.zero, *cell.products):
            values[at:at] = nothing
        cell.products[at:at] = [[0.0] * twin.d for _ in nothing]
        if cell.sketch is None:
            continue
        if at == 0:  # there were no columns to be sketched
            cell.sketch = None
            continue
        sketch = cell.sketch
        sketch.levels = [[row + [math.inf] * n_more for row in rows] for rows in sketch.levels]
        sketch.low += [math.inf] * n_more
        sketch.high += [-math.inf] * n_more
    for node in twin.nodes:
        node.spread[at:at] = node.observed[at:at] = nothing
        node.feature += n_more if node.feature >= at else 0


def fork(twin: NaiveMist, number: int) -> NaiveMist:
    """The same tree that knows nothing and never splits; rows go where they would have gone."""
    out = copy.deepcopy(twin)
    out.grace_period = 2**62
    out.seed = draw(twin.seed, FORKS, number, twin.seen, 0) >> 1
    out.seen, out.epoch, out.total = 0, 0, Cell(twin.d)
    for node in out.nodes:
        node.cells, node.prior_only = {}, False
        node.rows, node.n_updates, node.tried, node.refresh_at, node.epoch = 0.0, 0, 0, 1, 0
        node.spread, node.observed = [0.0] * twin.d, [0.0] * twin.d
    out.nodes[0].mass = 0.0
    return out


def add_moments(mine: Cell, other: Cell) -> list[float]:
    """Chan's formula, column by column; returns by how much the sums of squares grow."""
    gained = []
    for j, (n, m) in enumerate(zip(mine.fw, other.fw, strict=True)):
        share = m / (n + m) if m > 0.0 else 0.0
        delta = other.mean[j] - mine.mean[j]
        gained.append(other.m2[j] + delta * delta * (n * share))
        mine.fw[j] += m
        mine.mean[j] += delta * share
        mine.m2[j] += gained[j]
    return gained


def add_products(mine: Cell, other: Cell) -> None:
    """The same for products of two columns, as if values were missing independently."""
    for i in range(len(mine.products)):
        for j in range(len(mine.products)):
            n, m = (c.fw[i] * c.fw[j] / c.weight if c.weight else 0.0 for c in (mine, other))
            away = (other.mean[i] - mine.mean[i]) * (other.mean[j] - mine.mean[j])
            between = away * (n * m / (n + m)) if n + m > 0.0 else 0.0
            mine.products[i][j] += other.products[i][j] + between


def merge(twin: NaiveMist, other: NaiveMist, began: Sequence[float] | None = None) -> None:
    """Add what a tree with the same splits has learnt; a fork's nodes began with some mass."""
    varied = [m2 > 0.0 for m2 in twin.total.m2]
    twin.labels += [label for label in other.labels if label not in twin.labels]
    twin.seen += other.seen
    add_moments(twin.total, other.total)
    if any(m2 > 0.0 and not had for m2, had in zip(twin.total.m2, varied, strict=True)):
        twin.epoch += 1
    for at, theirs in enumerate(other.nodes):
        node = twin.nodes[at]
        node.mass += theirs.mass - (began[at] if began else 0.0)
        if theirs.left < 0 and theirs.cells and not theirs.prior_only:
            _merge_leaf(twin, at, other)
        elif node.left < 0 and node.epoch != twin.epoch and not node.prior_only:
            _refresh(twin, at)


def _refresh(twin: NaiveMist, at: int) -> None:
    node = twin.nodes[at]
    for cell in node.cells.values():
        twin.refresh(node, cell)
    node.epoch = twin.epoch


def _merge_leaf(twin: NaiveMist, at: int, other: NaiveMist) -> None:
    node, theirs = twin.nodes[at], other.nodes[at]
    if node.prior_only:
        node.cells, node.prior_only = {}, False
    for their_code, cell in theirs.cells.items():
        code = twin.labels.index(other.labels[their_code])
        mine = node.cells.setdefault(code, Cell(twin.d))
        add_products(mine, cell)
        for j, gain in enumerate(add_moments(mine, cell)):
            node.spread[j] += gain
            node.observed[j] += cell.fw[j]
        mine.weight += cell.weight
        mine.mass += cell.mass
        mine.count += cell.count
        mine.steps += cell.steps
        if cell.sketch is None:
            continue
        held = sum(c.sketch is not None for c in node.cells.values())
        most = twin.max_classes_per_leaf
        if mine.sketch is None and (most is None or held < most):
            mine.sketch = twin.new_sketch(at, code)
        if mine.sketch is not None:
            merge_sketches(mine.sketch, copy.deepcopy(cell.sketch))
    node.rows += theirs.rows
    node.n_updates += theirs.n_updates
    node.refresh_at = node.n_updates + 1
    _refresh(twin, at)
