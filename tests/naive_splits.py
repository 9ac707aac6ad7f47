"""Slow and obvious twins of the split tests that docs/method.md adds to the paper's.

They share no code with the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def wealth(scores: Sequence[float]) -> float:
    """Mean capital of four gamblers who stake a fixed part of theirs on every score."""
    return sum(math.prod(1.0 + part * x for x in scores) for part in (0.05, 0.12, 0.3, 0.7)) / 4.0


def gini_gain(known: Sequence[float], left: Sequence[float]) -> float:
    """Gini gain of classes with so many rows, of which so many lie left."""
    n, n_left = sum(known), sum(left)
    if n_left <= 0.0 or n_left >= n:
        return 0.0
    right = [k - part for k, part in zip(known, left, strict=True)]
    sides = ((n_left, left), (n - n_left, right))
    after = sum(side / n * sum((part / side) ** 2 for part in parts) for side, parts in sides)
    return after - sum((k / n) ** 2 for k in known)


def gain_variances(known: Sequence[float], left: Sequence[float]) -> list[float]:
    """Delta method: what each class adds to the variance of the Gini gain."""
    n, n_left = sum(known), sum(left)
    if n_left <= 0.0 or n_left >= n:
        return [0.0] * len(known)
    p = [k / n for k in known]
    theta = [part / k if k else 0.0 for k, part in zip(known, left, strict=True)]
    p_left = sum(a * t for a, t in zip(p, theta, strict=True))
    q_left = [a * t / p_left for a, t in zip(p, theta, strict=True)]
    q_right = [a * (1.0 - t) / (1.0 - p_left) for a, t in zip(p, theta, strict=True)]
    Q_left, Q_right = sum(q * q for q in q_left), sum(q * q for q in q_right)
    out = []
    for c, k in enumerate(known):
        t = (k * theta[c] + 0.5) / (k + 1.0)
        slope = (2.0 * q_left[c] - Q_left) - (2.0 * q_right[c] - Q_right)
        out.append(p[c] ** 2 / k * t * (1.0 - t) * slope**2 if k else 0.0)
    return out


def confseq_boundary(n: float, log_term: float) -> float:
    """Robbins' normal mixture, in standard deviations."""
    r = 1.0 / 500.0
    return math.sqrt(2.0 * (1.0 + 1.0 / (n * r)) * (0.5 * math.log(1.0 + n * r) + log_term))


def confseq_noise(total: float, known: Sequence[float], log_term: float) -> float:
    """Gain of a column without information: the tail of Laurent and Massart."""
    n = sum(known)
    p = [k / n for k in known]
    tail = log_term + (2.0 * math.log(math.log(total)) if total > math.e else 0.0)
    squares = sum(a * a for a in p)
    scarcest = min(k / a for k, a in zip(known, p, strict=True) if k)
    noise = (1.0 - squares + 2.0 * math.sqrt(squares * tail) + 2.0 * max(p) * tail) / scarcest
    return noise * n / total


def confseq_fires(
    total: float,
    columns: Sequence[tuple[Sequence[float], Sequence[float]]],
    best: int,
    log_term: float,
    split_test: str,
    independent: bool,
) -> bool:
    """Whether the best column is proven best, or to have a gain at all.

    Each column has the rows of every class with a value in it, and those of them on the left.
    """
    shares = [sum(known) / total for known, _ in columns]
    gains = [share * gini_gain(*column) for share, column in zip(shares, columns, strict=True)]
    spread = [
        [share**2 * v for v in gain_variances(*column)]
        for share, column in zip(shares, columns, strict=True)
    ]
    factor = confseq_boundary(total, log_term)
    floor = confseq_noise(total, columns[best][0], log_term)
    if not gains[best] > math.sqrt(sum(spread[best])) * factor + floor:
        return False
    for j in range(len(columns)):
        if j != best and split_test == "gap":
            pairs = list(zip(spread[best], spread[j], strict=True))
            if independent:
                variance = sum(a + b for a, b in pairs)
            else:
                variance = sum((math.sqrt(a) + math.sqrt(b)) ** 2 for a, b in pairs)
            if not gains[best] - gains[j] > math.sqrt(variance) * factor + floor:
                return False
    return True


def likelihood_gain(rows: Sequence[Sequence[float]], j: int, v: float) -> float:
    """Gain of one Gaussian class, whose columns are taken as independent, by cutting j at v."""
    n, d = len(rows), len(rows[0])
    mean = [sum(row[k] for row in rows) / n for k in range(d)]

    def covariance(a: int, b: int) -> float:
        return sum((row[a] - mean[a]) * (row[b] - mean[b]) for row in rows) / n

    gain = 0.0
    for part in ([r[j] for r in rows if r[j] <= v], [r[j] for r in rows if r[j] > v]):
        if not part:
            continue
        middle = sum(part) / len(part)
        ratio = sum((x - middle) ** 2 for x in part) / len(part) / covariance(j, j)
        for k in range(d):
            if k != j:
                rho2 = covariance(j, k) ** 2 / (covariance(j, j) * covariance(k, k))
                gain -= 0.5 * len(part) / n * math.log(1.0 - rho2 * (1.0 - ratio))
    return gain
