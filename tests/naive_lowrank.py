"""Classes of low rank plus a diagonal, slowly: dense matrices, no factors, no sketches kept."""

from __future__ import annotations

import numpy as np

from mist.engine.low_rank_gaussians import (
    CLASS_PACE,
    FIRST_SCALE,
    FLOOR,
    LAST_SCALE,
    LEAF_PACE,
    POOLED,
    sign_matrix,
)

Array = np.ndarray


def estimate(S: Array, test: Array) -> Array:
    """Nystroem's estimate of a positive semidefinite matrix from its product with another."""
    Y = S @ test
    B = test.T @ Y
    return Y @ np.linalg.pinv((B + B.T) / 2, rcond=1e-10, hermitian=True) @ Y.T


def ratio(x: Array, y: Array) -> Array:
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0)


class NaiveClass:
    """What a class keeps; ``S`` are the products of deviations that its sketch would tell."""

    def __init__(self, a: int, b: int) -> None:
        self.n = self.rows = self.fresh = self.renewal = 0.0
        self.weight, self.mean = np.zeros(a + b), np.zeros(a + b)
        self.m2, self.unit, self.S = np.zeros(a), np.zeros(a), np.zeros((a, a))


class NaiveLowRankLeaf:
    """A leaf whose classes share a diagonal."""

    def __init__(self, a: int, b: int, rank: int) -> None:
        self.a, self.b, self.rank = a, b, min(rank, a)
        self.signs = sign_matrix(a, self.rank)
        self.classes: dict[int, NaiveClass] = {}
        self.total = self.fresh = 0.0
        self.made = np.zeros(a)

    # --- learning

    def learn(self, g: int, x: Array, w: float) -> None:
        k = self.classes.setdefault(g, NaiveClass(self.a, self.b))
        known = ~np.isnan(x)
        part = w * known
        deviation = np.where(known, x - k.mean, 0.0)
        rest = np.zeros((self.a, self.a))
        if not known.all() and k.fresh > 0:
            part, deviation, rest = self._filled(k, x, w)
        first = (k.weight == 0) & (part > 0)
        after = k.weight + part
        share = ratio(part, after)
        step = np.where(first, 0.0, np.sqrt(share * k.weight) * deviation)[: self.a]
        k.mean = np.where(first, np.nan_to_num(x), k.mean + share * deviation)
        k.weight = after
        k.m2 += step**2 + np.diag(rest)
        k.n += w
        k.rows += 1
        self.total += w
        if k.renewal > 0:
            k.unit = np.where((k.unit == 0) & (step != 0), self._unit(k), k.unit)
            k.S += np.outer(step, step) + rest
            if rest.any():
                # What is noise tells nothing of other columns.
                k.S -= np.diag(np.where(np.diag(rest) > 0, self.noise * part[: self.a], 0.0))
        if min(k.rows, LAST_SCALE) >= max(2 * k.renewal, FIRST_SCALE):
            k.renewal = k.rows
            k.S = estimate(k.S, k.unit[:, None] * self.signs)
            k.unit = self._unit(k)
        squares = sum(k.m2 for k in self.classes.values())
        late = (squares > 0) & (squares < np.inf) & (squares >= 2 * self.made)
        if late.any() or self.total >= (1 + LEAF_PACE) * self.fresh:
            self.refresh()
        elif k.n >= (1 + CLASS_PACE) * k.fresh:
            self._finish(k)

    def _unit(self, k: NaiveClass) -> Array:
        return np.sqrt(ratio(k.weight[: self.a], k.m2))

    def _filled(self, k: NaiveClass, x: Array, w: float) -> tuple[Array, Array, Array]:
        a = self.a
        known = ~np.isnan(x)
        left = np.flatnonzero(~known[:a] & (k.weight[:a] > 0))
        given = np.flatnonzero(known[:a] & (k.weight[:a] > 0))
        deviation = np.where(known, x - k.mean, 0.0)
        slope = np.linalg.solve(k.C[np.ix_(given, given)], k.C[np.ix_(given, left)]).T
        deviation[left] = slope @ deviation[given]
        C = k.C[np.ix_(left, left)] - slope @ k.C[np.ix_(given, left)]
        part = w * known.astype(float)
        part[left] = w * (1 - np.diag(C) / np.diag(k.C)[left])
        rest = np.zeros((a, a))
        rest[np.ix_(left, left)] = C * np.sqrt(np.outer(part[left], part[left]))
        return part, deviation, rest

    # --- factors

    def refresh(self) -> None:
        a = self.a
        known = sum(k.weight[:a] for k in self.classes.values())
        pooled = sum(k.m2 for k in self.classes.values())
        self.made = pooled.copy()
        self.variance = ratio(pooled, known)
        raw = sum(self._own(k) for k in self.classes.values())
        unit = np.sqrt(ratio(np.ones(a), pooled))
        self.common = ratio(
            estimate(raw, unit[:, None] * self.signs), np.outer(known, known) ** 0.5
        )
        self.fresh = sum(k.n for k in self.classes.values())
        taken = np.zeros(a)
        for k in self.classes.values():
            taken += ratio(k.weight[:a], known) * np.diag(self._low_rank(k))
        noise = np.maximum(self.variance - taken, FLOOR * self.variance)
        # A column that varies within no class is measured by how the class means vary.
        between = ratio(sum(k.weight[:a] * k.mean[:a] ** 2 for k in self.classes.values()), known)
        centre = ratio(sum(k.weight[:a] * k.mean[:a] for k in self.classes.values()), known)
        means = [k.mean[:a][None] for k in self.classes.values() if (k.weight[:a] > 0).all()]
        agree = np.ptp(np.concatenate(means), axis=0) == 0 if means else np.ones(a, bool)
        between = np.where(agree, 1.0, between - centre**2)
        self.noise = np.where(self.variance > 0, noise, between)
        for k in self.classes.values():
            self._finish(k)

    def _own(self, k: NaiveClass) -> Array:
        return estimate(k.S, k.unit[:, None] * self.signs)

    def _low_rank(self, k: NaiveClass) -> Array:
        n = k.weight[: self.a]
        pooling = np.maximum(POOLED, 1 - n / (4 * self.rank))
        own = np.sqrt((1 - pooling) / (n + self.rank)) * (n > 0)
        common = np.sqrt(pooling * self.fresh / (self.fresh + self.rank))
        return np.outer(own, own) * self._own(k) + np.outer(common, common) * self.common

    def _finish(self, k: NaiveClass) -> None:
        k.C = self._low_rank(k) + np.diag(self.noise)
        k.fresh = k.n
        k.never = k.weight[: self.a] == 0
        n = k.weight[self.a :]
        k.chance = np.clip((n * k.mean[self.a :] + 0.5) / (n + 1), 1e-4, 1 - 1e-4)

    # --- densities

    def log_density(self, g: int, x: Array) -> float:
        k, a = self.classes[g], self.a
        known = ~np.isnan(x)
        use = known[:a] & (k.weight[:a] > 0)
        z = (x - k.mean)[:a][use]
        C = k.C[np.ix_(use, use)]
        score = -0.5 * z @ np.linalg.solve(C, z) - 0.5 * np.linalg.slogdet(C)[1]
        never = known[:a] & (k.weight[:a] == 0) & (self.variance > 0)
        score -= 0.5 * (np.log(self.variance[never]) + 1.0).sum()
        chance = np.where(x[a:] == 1, k.chance, 1 - k.chance)
        return float(score + np.log(chance[known[a:]]).sum())
