"""Slow, obvious class memories, rows drawn from them, and trees grown on such rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from naive import draw, mix, uniform

STEP = 0x9E3779B97F4A7C15
CUTS, DRAWS, GROWTH = 9, 10, 11


class Bits:
    """A sequence of random bits."""

    def __init__(self, *counters: int) -> None:
        self.state = draw(*counters)

    def next(self) -> int:
        bits = mix(self.state)
        self.state = (self.state + STEP) % 2**64
        return bits

    def share(self) -> float:
        return (self.next() >> 11) / 2**53

    def below(self, n: int) -> int:
        return int(self.share() * n)

    def bell(self) -> float:
        bits = self.next()
        parts = sum(bits >> 16 * k & 0xFFFF for k in range(4))
        return (parts - 2 * 65535) * math.sqrt(3) / 65536


@dataclass
class Cell:
    """One region of one class: either the moments of its rows, or a cut into two."""

    rows: float
    weight: float
    mean: np.ndarray
    covariance: np.ndarray
    own: int = 0
    column: int = -1
    threshold: float = 0.0
    halves: list[Cell] = field(default_factory=list)

    def leaves(self) -> list[Cell]:
        return [leaf for half in self.halves for leaf in half.leaves()] or [self]

    def mass(self) -> float:
        return sum(leaf.rows for leaf in self.leaves())

    def of(self, x: Sequence[float]) -> Cell:
        """The cell of a row."""
        if not self.halves:
            return self
        left, right = self.halves
        value = x[self.column]
        if math.isnan(value):
            return (left if left.mass() >= right.mass() else right).of(x)
        return (left if value <= self.threshold else right).of(x)


def moments(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean and variance of weighted values without NaN; the first is NaN without any."""
    weight = sum(w for _, w in values)
    if not values:
        return math.nan, 0.0
    mean = sum(w * x for x, w in values) / weight
    return mean, sum(w * (x - mean) ** 2 for x, w in values) / weight


class NaiveMemory:
    """One tree of cells for each class."""

    def __init__(self, n_numeric: int, most: float, kappa: float, seed: int, *, full: bool) -> None:
        self.a, self.most, self.kappa, self.seed, self.full = n_numeric, most, kappa, seed, full
        self.roots: dict[tuple[int, int], Cell] = {}
        self.cuts: dict[tuple[int, int], int] = {}
        self.learnt: dict[int, list[tuple[np.ndarray, float]]] = {}

    def learn_row(self, x: np.ndarray, c: int, w: float, n_trees: int) -> None:
        self.learnt.setdefault(c, []).append((x, w))
        n = len(self.learnt[c])
        for tree in range(n_trees):
            d = len(x)
            fresh = Cell(0.0, 0.0, np.full(d, math.nan), np.zeros((self.a, self.a)))
            cell = self.roots.setdefault((c, tree), fresh).of(x)
            if cell.own == 0:
                cell.weight = min(cell.weight, self.kappa)
            self.absorb(cell, x, w)
            cell.rows += w
            cell.own += 1
            if cell.own >= min(self.most, max(3, n / 64)) and not self.cut(
                cell, c, tree, c * n_trees + tree
            ):
                cell.own = 1

    def absorb(self, cell: Cell, x: np.ndarray, w: float) -> None:
        known = np.where(np.isnan(cell.mean), x, cell.mean)
        away = np.where(np.isnan(x), 0.0, x - known)
        away = np.where(np.isnan(known), 0.0, away)
        before, cell.weight = cell.weight, cell.weight + w
        outer = np.outer(away[: self.a], away[: self.a]) * before * w / cell.weight**2
        cell.covariance = cell.covariance * (before / cell.weight) + outer
        cell.mean = known + away * (w / cell.weight)

    def variance(self, cell: Cell, j: int) -> float:
        if j < self.a:
            return float(cell.covariance[j, j])
        return 0.0 if math.isnan(cell.mean[j]) else cell.mean[j] * (1 - cell.mean[j])

    def cut(self, cell: Cell, c: int, tree: int, counter: int) -> bool:
        number = self.cuts.get((c, tree), 0)
        scores = []
        for j in range(len(cell.mean)):
            _, of_class = moments([(x[j], w) for x, w in self.learnt[c] if not math.isnan(x[j])])
            share = self.variance(cell, j) / of_class if of_class > 0 else 0.0
            if share < 1e-10:
                scores.append(0.0)
                continue
            share *= 0.5 if j >= self.a else 1.0
            scores.append(share / -math.log(uniform(self.seed, CUTS, counter, number, j) + 1e-12))
        if max(scores) <= 0.0:
            return False
        j = scores.index(max(scores))
        at, variance = float(cell.mean[j]), self.variance(cell, j)
        z = 0.5 * (2 * uniform(self.seed, CUTS, counter, number, len(cell.mean)) - 1)
        binary = j >= self.a
        cell.column, cell.threshold = j, 0.5 if binary else at + math.sqrt(variance) * z
        right = at if binary else 0.5 * math.erfc(z / math.sqrt(2))
        height = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        for part, sign in ((1 - right, -1), (right, 1)):
            half = Cell(
                cell.rows * part, cell.weight * part, cell.mean.copy(), cell.covariance.copy()
            )
            if binary:
                half.mean[j] = 1.0 if sign > 0 else 0.0
            else:
                ratio = height / part
                mean = at + sign * ratio * math.sqrt(variance)
                left = variance * (1 + sign * z * ratio - ratio**2)
                slope = cell.covariance[j] / variance
                if not self.full:
                    slope = np.eye(self.a)[j]
                half.mean[: self.a] += slope * (mean - at)
                half.covariance -= np.outer(slope, slope) * (variance - left)
            cell.halves.append(half)
        self.cuts[c, tree] = number + 1
        return True


def regions(cell: Cell, low: np.ndarray, high: np.ndarray) -> list[tuple[Cell, Any, Any]]:
    """Every leaf with the limits of its region."""
    if not cell.halves:
        return [(cell, low, high)]
    below, above = high.copy(), low.copy()
    below[cell.column] = min(below[cell.column], cell.threshold)
    above[cell.column] = max(above[cell.column], cell.threshold)
    left, right = cell.halves
    return regions(left, low, below) + regions(right, above, high)


def draw_rows(
    cell: Cell, low: np.ndarray, high: np.ndarray, n: int, a: int, bits: Bits, *, full: bool
) -> np.ndarray:
    """Rows from the Gaussian of a cell, within its region."""
    covariance = cell.covariance if full else np.diag(np.diag(cell.covariance))
    root = np.zeros((a, a))
    for i in range(a):
        for j in range(i + 1):
            rest = covariance[i, j] - root[i, :j] @ root[j, :j]
            if j < i:
                root[i, j] = rest / root[j, j] if root[j, j] > 0 else 0.0
            else:
                pivot = math.sqrt(max(rest, 0.0))
                root[i, i] = pivot if pivot > 1e-9 * math.sqrt(max(covariance[i, i], 0)) else 0.0
    out = []
    for _ in range(n):
        noise = np.array([0.6 * bits.bell() for _ in range(a)])
        x = cell.mean.copy()
        x[:a] = np.minimum(np.maximum(x[:a] + root @ noise, low[:a]), high[:a])
        for j in range(a, len(x)):
            one = bits.share() < x[j]
            x[j] = x[j] if math.isnan(x[j]) else float(one)
        out.append(x)
    return np.array(out).reshape(n, len(cell.mean))


def grow_tree(X: np.ndarray, y: np.ndarray, n_columns: int, n_thresholds: int, bits: Bits) -> Any:
    """A tree as nested tuples (column, threshold, where NaN goes, left, right), leaves as the
    shares of their two main classes.

    Nodes are cut level by level, as the random bits are drawn in that order. The rows of a node are
    in the order in which the division of its parent has left them.
    """
    root: list[Any] = []
    waiting = [(root, list(range(len(y))))]
    columns = list(range(X.shape[1]))
    for node, rows in waiting:
        counts = np.bincount(y[rows])
        found = None
        if np.count_nonzero(counts) > 1:
            found = best_split(X, y, rows, columns, n_columns, n_thresholds, bits)
        if found is None:
            order = np.argsort(-counts, kind="stable")[:2].tolist()
            part = counts[order[0]] / counts.sum()
            node.append({order[0]: part, order[-1]: 1.0 - part} if part < 1.0 else {order[0]: 1.0})
            continue
        j, t = found
        left, right = divided(X[:, j] <= t, rows)
        missing = bool(np.isnan(X[right, j]).any()) or len(right) > len(left)
        node.extend([j, t, missing, [], []])
        waiting += [(node[3], left), (node[4], right)]
    return root


def divided(goes_left: np.ndarray, rows: list[int]) -> tuple[list[int], list[int]]:
    """Rows left and right of a threshold; a row that goes right changes place with the last one."""
    rows, low, high = list(rows), 0, len(rows)
    while low < high:
        if goes_left[rows[low]]:
            low += 1
        else:
            high -= 1
            rows[low], rows[high] = rows[high], rows[low]
    return rows[:low], rows[low:]


def best_split(
    X: np.ndarray, y: np.ndarray, rows: list[int], columns: list[int], n_columns: int,
    n_thresholds: int, bits: Bits,
) -> tuple[int, float] | None:  # fmt: skip
    best, found, tried = -1.0, None, 0
    for k in range(len(columns)):
        if tried == n_columns:
            break
        other = k + bits.below(len(columns) - k)
        columns[k], columns[other] = columns[other], columns[k]
        j, varies = columns[k], False
        for _ in range(n_thresholds):
            t = threshold(X[:, j], rows, bits)
            if t is None:
                break
            varies = True
            left = [r for r in rows if X[r, j] <= t]
            right = [r for r in rows if not X[r, j] <= t]
            score = -1.0
            if left and right:
                score = sum((np.bincount(y[s]) ** 2).sum() / len(s) for s in (left, right))
            if score > best:
                best, found = score, (j, t)
        tried += varies
    return found


def threshold(values: np.ndarray, rows: list[int], bits: Bits) -> float | None:
    for _ in range(8):
        pair = [values[rows[bits.below(len(rows))]] for _ in range(2)]
        low, high = min(pair), max(pair)
        if low < high:
            middle = 0.5 * low + 0.5 * high
            return middle if middle < high else low
    return None


def vote(tree: list[Any], x: Sequence[float]) -> dict[int, float]:
    """Vote of a tree by class."""
    while len(tree) > 1:
        j, t, missing, left, right = tree
        goes_right = missing if math.isnan(x[j]) else not x[j] <= t
        tree = right if goes_right else left
    shares: dict[int, float] = tree[0]
    return shares
