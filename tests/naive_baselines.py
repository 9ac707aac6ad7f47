"""Slow and obvious baselines: they keep all rows and start from them at every question.

They share no code with the package. A twin answers ``scores(x)`` with one score for each
label it has seen; weights are used as the formulas have them, never by repeating rows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Naive:
    """Rows and labels, kept."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self.labels: list[Hashable] = []
        self.weights: list[float] = []

    def learn(self, x: Array, label: Hashable, weight: float = 1.0) -> None:
        if weight > 0.0:
            self.rows.append(np.array(x, dtype=float))
            self.labels.append(label)
            self.weights.append(weight)

    def rows_of(self, label: Hashable) -> tuple[Array, Array]:
        mine = [k for k, other in enumerate(self.labels) if other == label]
        return np.array([self.rows[k] for k in mine]), np.array([self.weights[k] for k in mine])

    def scores(self, x: Array) -> dict[Any, float]:
        return {label: self.score(x, label) for label in sorted(set(self.labels))}

    def score(self, x: Array, label: Hashable) -> float:
        raise NotImplementedError

    def predict(self, x: Array) -> Any:
        scores = self.scores(x)
        return max(scores, key=lambda label: scores[label])

    def proba(self, x: Array) -> list[float]:
        scores = list(self.scores(x).values())
        powers = [math.exp(s - max(scores)) for s in scores]
        return [p / sum(powers) for p in powers]


class NaiveNCM(Naive):
    def score(self, x: Array, label: Hashable) -> float:
        rows, weights = self.rows_of(label)
        return -0.5 * float(np.sum((x - np.average(rows, axis=0, weights=weights)) ** 2))


class NaiveGaussianNB(Naive):
    def score(self, x: Array, label: Hashable) -> float:
        rows, weights = self.rows_of(label)
        mean = np.average(rows, axis=0, weights=weights)
        variance = np.average((rows - mean) ** 2, axis=0, weights=weights)
        everything = np.array(self.rows)
        centre = np.average(everything, axis=0, weights=self.weights)
        spread = np.average((everything - centre) ** 2, axis=0, weights=self.weights).max()
        variance = variance + 1e-9 * (spread if spread > 0 else 1.0)
        log_density = -0.5 * np.sum(np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
        return math.log(weights.sum()) + float(log_density)


class NaiveSLDA(Naive):
    shrinkage = 1e-4

    def scores(self, x: Array) -> dict[Any, float]:
        d = len(x)
        means, scatter = {}, np.zeros((d, d))
        for label in sorted(set(self.labels)):
            rows, weights = self.rows_of(label)
            means[label] = np.average(rows, axis=0, weights=weights)
            for row, weight in zip(rows, weights, strict=True):
                scatter += weight * np.outer(row - means[label], row - means[label])
        covariance = scatter / sum(self.weights)
        precision = np.linalg.inv(
            (1 - self.shrinkage) * covariance + self.shrinkage * np.identity(d)
        )
        return {
            label: float(m @ precision @ x - 0.5 * m @ precision @ m) for label, m in means.items()
        }


class NaiveSQDA(Naive):
    shrinkage = 1e-4

    def score(self, x: Array, label: Hashable) -> float:
        rows, weights = self.rows_of(label)
        mean = np.average(rows, axis=0, weights=weights)
        covariance = np.cov(rows.T, aweights=weights, ddof=0) if len(rows) > 1 else 0.0
        covariance = (1 - self.shrinkage) * covariance + self.shrinkage * np.identity(len(x))
        distance = (x - mean) @ np.linalg.inv(covariance) @ (x - mean)
        return -0.5 * float(distance + np.log(np.linalg.det(covariance)))


class NaiveRLS(Naive):
    """Ridge regression on all rows, solved anew."""

    ridge = 1.0
    constant = True

    def features(self, x: Array) -> Array:
        return np.append(x, 1.0) if self.constant else x

    def scores(self, x: Array) -> dict[Any, float]:
        Z = np.array([self.features(row) for row in self.rows])
        weights = np.array(self.weights)
        inverse = np.linalg.inv((Z.T * weights) @ Z + self.ridge * np.identity(Z.shape[1]))
        scores = {}
        for label in sorted(set(self.labels)):
            target = np.array([float(other == label) for other in self.labels])
            scores[label] = float(self.features(x) @ (inverse @ ((Z.T * weights) @ target)))
        return scores


class NaiveRandomFeatureRLS(NaiveRLS):
    def __init__(self, projection: Array, offsets: Array) -> None:
        super().__init__()
        self.projection, self.offsets = projection, offsets

    def features(self, x: Array) -> Array:
        hidden = [
            max(0.0, sum(x * self.projection[:, k]) + self.offsets[k])
            for k in range(len(self.offsets))
        ]
        return np.array([*hidden, 1.0])


class NaiveRandomFeatureLDA(Naive):
    """Shrunk discriminant on random features of all rows, computed anew at every question."""

    def __init__(
        self, projection: Array, offsets: Array, draws: Array, scale_rows: int, counts: bool
    ) -> None:
        super().__init__()
        self.projection, self.offsets, self.draws = projection, offsets, draws
        self.scale_rows, self.counts = scale_rows, counts

    def between(self, start: float, stop: float) -> list[tuple[Array, Any, float]]:
        """Rows with the part of their weight that falls between two total weights."""
        out, total = [], 0.0
        for row, label, weight in zip(self.rows, self.labels, self.weights, strict=True):
            part = min(total + weight, stop) - max(total, start)
            if part > 0:
                out.append((row, label, part))
            total += weight
        return out

    def standardised(self, x: Array) -> Array:
        if not self.scale_rows:
            return x
        first = self.between(0.0, self.scale_rows)
        rows, weights = np.array([row for row, _, _ in first]), [w for _, _, w in first]
        z = np.zeros(len(x))
        for j, column in enumerate(rows.T):
            if len(set(column)) > 1:
                centre = np.average(column, weights=weights)
                spread = math.sqrt(np.average((column - centre) ** 2, weights=weights))
                z[j] = (x[j] - centre) / spread
            else:
                others = [row[j] for row in self.rows if row[j] != column[0]]
                z[j] = (x[j] - column[0]) / abs(others[0] - column[0]) if others else 0.0
        return z

    def features(self, z: Array) -> Array:
        hidden = np.maximum(0.0, z @ self.projection + self.offsets)
        return np.array([*z, *hidden])

    def learnt(self, until: float) -> list[tuple[Array, Any, float]]:
        """Features, label and weight of all that was learnt up to a total weight."""
        first = self.between(0.0, min(until, self.scale_rows))
        if until < self.scale_rows:
            return first
        out = []
        labels = sorted({label for _, label, _ in first})
        groups = {a: [(self.standardised(x), w) for x, c, w in first if c == a] for a in labels}
        mass = {a: sum(w for _, w in group) for a, group in groups.items()}
        means = {a: sum(w * z for z, w in group) / mass[a] for a, group in groups.items()}
        rest = [math.sqrt(w) * (z - means[a]) for a in labels for z, w in groups[a]]
        if rest:
            _, s, basis = np.linalg.svd(np.array(rest) / math.sqrt(self.scale_rows))
            root = basis[: len(s)].T @ np.diag(s) @ basis[: len(s)]
            for a in labels:
                for draw in self.draws @ root:
                    for z in (means[a] + draw, means[a] - draw):
                        out.append((self.features(z), a, mass[a] / len(self.draws) / 2))
        for row, label, weight in self.between(self.scale_rows, until):
            out.append((self.features(self.standardised(row)), label, weight))
        return out

    def scores(self, x: Array) -> dict[Any, float]:
        total = sum(self.weights)
        scaled = total >= self.scale_rows
        phi = self.features(self.standardised(x)) if scaled else x
        now = self.learnt(total)
        labels = sorted({label for _, label, _ in now})
        mass = {a: sum(w for _, c, w in now if c == a) for a in labels}
        means = {a: sum(w * f for f, c, w in now if c == a) / mass[a] for a in labels}
        precision = self.precision(total, scaled)
        return {
            a: float(phi @ precision @ m - 0.5 * m @ precision @ m)
            + (math.log(mass[a] / total) if self.counts else 0.0)
            for a, m in means.items()
        }

    def precision(self, total: float, scaled: bool) -> Array:
        due, following = 0.0, 1.0
        while following <= total:
            due = following
            following = due + 1 if due < 50 else math.ceil(1.05 * due)
        before: dict[Any, float] = {}
        for k, label in enumerate(self.labels):
            before.setdefault(label, sum(self.weights[:k]))
        ages = [first + 2**k for first in before.values() for k in range(1, 9)]
        due = max([due, *(age for age in ages if age <= total)])
        if scaled:
            due = max(due, self.scale_rows)
        then = self.learnt(due)
        if not then:
            return np.identity(len(self.features(self.rows[0]) if scaled else self.rows[0]))
        p, labels = len(then[0][0]), {label for _, label, _ in then}
        scatter = np.zeros((p, p))
        for a in labels:
            rows = np.array([f for f, c, _ in then if c == a])
            weights = np.array([w for _, c, w in then if c == a])
            rest = rows - np.average(rows, axis=0, weights=weights)
            scatter += (rest.T * weights) @ rest
        covariance = scatter / max(due - len(labels), 1.0)
        sizes = np.diag(covariance)
        kept = np.flatnonzero((sizes > 1e-25) & (sizes >= 1e-7 * sizes.mean() * scaled))
        if not len(kept):
            return np.identity(p)
        units = np.diag(sizes[kept] ** -0.5)
        R = units @ covariance[np.ix_(kept, kept)] @ units
        q, square = len(kept), np.trace(R @ R)
        s = 1.0
        if square > q * (1 + 1e-12):
            above = (1 - 2 / q) * square + np.trace(R) ** 2
            s = above / ((due + 1 - 2 / q) * (square - np.trace(R) ** 2 / q))
        s = min(1.0, max(1e-5, s))
        precision = np.zeros((p, p))
        precision[np.ix_(kept, kept)] = (
            units @ np.linalg.inv((1 - s) * R + s * np.identity(q)) @ units
        )
        return precision


def gelu(v: Array) -> Array:
    return np.array([0.5 * s * (1 + math.erf(s / math.sqrt(2))) for s in v])


class Network:
    """Linear, layer norm, GELU, linear; parameters by name."""

    def __init__(self, **parameters: Array) -> None:
        self.parameters = {name: np.array(value) for name, value in parameters.items()}

    def __call__(self, x: Array, **changed: Array) -> Array:
        p = {**self.parameters, **changed}
        hidden = p["A"] @ x + p["a"]
        hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-5)
        return p["B"] @ gelu(p["gain"] * hidden + p["shift"]) + p["b"]


class NaivePEC(Naive):
    """Students by the book; gradients by central differences of the loss."""

    def __init__(
        self, teacher: Network, newborn: Network, rate: float, expected: int | None = None
    ) -> None:
        super().__init__()
        self.teacher, self.newborn, self.rate, self.expected = teacher, newborn, rate, expected
        self.students: dict[Any, Network] = {}
        self.moments: dict[Any, dict[str, tuple[Array, Array]]] = {}
        self.steps: dict[Any, int] = {}

    def error(self, student: Network, x: Array, **changed: Array) -> float:
        return float(np.mean((student(x, **changed) - self.teacher(x)) ** 2))

    def score(self, x: Array, label: Hashable) -> float:
        return -self.error(self.students[label], x)

    def gradient(self, student: Network, x: Array, name: str, h: float = 1e-5) -> Array:
        value = student.parameters[name]
        slopes = np.empty(value.size)
        for k in range(value.size):
            step = np.zeros(value.size)
            step[k] = h
            step = step.reshape(value.shape)
            up = self.error(student, x, **{name: value + step})
            down = self.error(student, x, **{name: value - step})
            slopes[k] = (up - down) / (2 * h)
        return slopes.reshape(value.shape)

    def learn(self, x: Array, label: Hashable, weight: float = 1.0) -> None:
        super().learn(x, label, weight)
        if label not in self.students:
            self.students[label] = Network(**self.newborn.parameters)
            self.moments[label] = {
                name: (0.0 * value, 0.0 * value) for name, value in self.newborn.parameters.items()
            }
            self.steps[label] = 0
        student = self.students[label]
        rate = self.rate
        if self.expected is not None:
            rate *= max(1 - self.steps[label] / self.expected, 1 / self.expected)
        self.steps[label] += 1
        t = self.steps[label]
        gradients = {name: self.gradient(student, x, name) for name in student.parameters}
        for name, g in gradients.items():
            m, v = self.moments[label][name]
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g**2
            self.moments[label][name] = m, v
            m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
            student.parameters[name] = student.parameters[name] - rate * m_hat / (
                np.sqrt(v_hat) + 1e-8
            )
