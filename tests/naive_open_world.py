"""The slow and obvious twins of densities and p-values, on top of the twins of the trees."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from scipy.special import logsumexp

from naive import Cell, NaiveMist, Node
from naive_mixture import NaiveMixtureLeaf

LOG_2PI = math.log(2.0 * math.pi)


def overall_density(tree: NaiveMist, x: Sequence[float]) -> float:
    """Log density of a row in internal order under the moments of all rows."""
    total, moments = 0.0, tree.total
    for j, value in enumerate(x):
        if math.isnan(value):
            continue
        if j >= tree.n_numeric:
            p = (moments.mean[j] * moments.fw[j] + 1.0) / (moments.fw[j] + 2.0)
            total += math.log(p if value == 1.0 else 1.0 - p)
        elif tree.run_var(j) > 0.0:
            square = (value - moments.mean[j]) ** 2 / tree.run_var(j)
            total -= 0.5 * (LOG_2PI + math.log(tree.run_var(j)) + square)
    return total


def late_columns(tree: NaiveMist, leaf: Node, cell: Cell, x: Sequence[float]) -> float:
    """What columns add that have varied elsewhere since the leaf's caches were made."""
    total = 0.0
    for j in range(tree.n_numeric):
        if leaf.epoch == tree.epoch or math.isnan(x[j]) or cell.prec[j] != 0.0:
            continue
        if tree.run_var(j) > 0.0:
            known = cell.fw[j] > 0.0
            variance = tree.run_var(j) * (1e-9 if known else 1.0)
            square = (x[j] - cell.mean[j]) ** 2 / variance if known else 1.0
            total -= 0.5 * (math.log(variance) + square)
    return total


def class_densities(tree: NaiveMist, x: Sequence[float]) -> dict[Hashable, float]:
    """Log p(x, leaf | class) of every class at the leaf of x, by label."""
    row = [float(x[c]) for c in tree.order]
    leaf = tree.nodes[tree.route(row)]
    scores = tree.scores(leaf, row)
    out = {}
    for code, cell in leaf.cells.items():
        density = scores[code] - math.log(cell.weight + 1.0)
        for j in range(tree.n_numeric):
            if not math.isnan(row[j]) and tree.run_var(j) > 0.0:
                # What a sketch says is in units of the column's deviation.
                sketch = tree.leaf == "sketch"
                density -= 0.5 * (math.log(tree.run_var(j)) if sketch else LOG_2PI)
        if tree.leaf == "gaussian":
            density += late_columns(tree, leaf, cell, row)
        if leaf.prior_only:
            density = overall_density(tree, row)
        share = cell.weight / masses(tree)[tree.labels[code]]
        out[tree.labels[code]] = math.log(share) + density
    return out


def masses(tree: NaiveMist) -> dict[Hashable, float]:
    """Mass of every class over all leaves."""
    out: dict[Hashable, float] = {}
    for node in tree.nodes:
        for code, cell in node.cells.items():
            label = tree.labels[code]
            out[label] = out.get(label, 0.0) + cell.weight
    return out


def log_density(tree: NaiveMist, x: Sequence[float]) -> float:
    """Log density of a row, classes as probable as they are heavy."""
    held = masses(tree)
    total = sum(held.values())
    densities = class_densities(tree, x)
    return float(logsumexp([v + math.log(held[c] / total) for c, v in densities.items()]))


def mixture_density(leaf: NaiveMixtureLeaf, x: Sequence[float], learnt: np.ndarray) -> float:
    """Log density of a row at a leaf that has learnt these rows, each of weight 1."""
    row, learnt = np.array(x, float)[leaf.order], learnt[:, leaf.order]
    still = np.ptp(learnt, axis=0) == 0
    still[leaf.a :] = False
    row[still] = learnt[0, still]
    n = int((~np.isnan(row) & ~still)[: leaf.a].sum())
    parts = []
    for c in leaf.classes.values():
        inside = [leaf.log(k, row) for k in c.components]
        density = logsumexp(inside, b=leaf.shares(c)) - 0.5 * n * LOG_2PI
        parts.append(density + math.log(c.moments.n / len(learnt)))
    return float(logsumexp(parts))


class NaiveNovelty:
    """The scores of every class, and the p-values that follow from them."""

    def __init__(self, tree: NaiveMist) -> None:
        self.tree = tree
        self.seen: dict[Hashable, float] = {}
        self.scores: dict[Hashable, list[tuple[float, float]]] = {}

    def at_orphan(self, x: Sequence[float]) -> bool:
        return self.tree.nodes[self.tree.apply(x)].prior_only

    def learn_row(self, x: Sequence[float], label: Hashable, weight: float) -> None:
        """Score a row, then let the tree learn it."""
        if weight == 0.0:
            return
        if self.seen.get(label, 0.0) >= 10.0 and not self.at_orphan(x):
            score = class_densities(self.tree, x).get(label, -math.inf)
            self.scores.setdefault(label, []).append((score, weight))
        self.tree.learn_row(x, label, weight)
        self.seen[label] = self.seen.get(label, 0.0) + weight

    def p_value(self, x: Sequence[float]) -> float:
        """The largest p-value over the classes with enough scores."""
        if self.at_orphan(x):
            return 1.0
        densities, found = class_densities(self.tree, x), []
        for label, scores in self.scores.items():
            last = scores[-256:]
            total = sum(w for _, w in last)
            if total >= 20.0:
                own = densities.get(label, -math.inf)
                found.append((1.0 + sum(w for s, w in last if s <= own)) / (1.0 + total))
        return max(found, default=1.0)
