"""The slow and obvious twins of `mist.adaptation`: lists of rows, full matrices, `numpy.linalg`.

They are written from the docstrings of the package and share no code with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

Array = np.ndarray

FLOOR = -12.0
HALF_LIVES = (30.0, 300.0)


def packed(S: Array) -> Array:
    """The lower triangle, row by row."""
    return S[np.tril_indices(len(S))].copy()


def unpacked(low: Array, n: int) -> Array:
    """The lower triangle that was packed."""
    L = np.zeros((n, n))
    L[np.tril_indices(n)] = low
    return L


# --- classes that have moved ------------------------------------------------------------------


def p_value(scores: list[float]) -> float:
    """Rank of the last score among the 200 before it; 1 if there are fewer than 20."""
    *before, score = scores
    before = before[-200:]
    if len(before) < 20:
        return 1.0
    return (1 + sum(other <= score for other in before)) / (1 + len(before))


def alarms(scores: list[float]) -> list[int]:
    """Numbers of the scores at which the cumulative sum of the bets reaches 8 nats."""
    out, evidence = [], 0.0
    for n in range(len(scores)):
        p = p_value(scores[: n + 1])
        evidence += -2.0 if p > 0.3 else min(1.5, math.log(0.3 * p ** (0.3 - 1.0)))
        evidence = max(evidence, 0.0)
        if evidence >= 8.0:
            out.append(n)
            evidence = 0.0
    return out


# --- a shift that all classes share -----------------------------------------------------------


def angle(u: Array, v: Array, metric: Array) -> float:
    """Cosine of the angle between two vectors."""
    return float(u @ metric @ v / math.sqrt((u @ metric @ u) * (v @ metric @ v)))


class NaiveShift:
    """Looks for a common shift in rows of a class, 20 at a time."""

    def __init__(self, a: int) -> None:
        self.a = a
        self.shift, self.found, self.length = np.zeros(a), np.zeros(a), 0.0
        self.all: list[Array] = []
        self.known: dict[int, list[Array]] = defaultdict(list)  # rows of complete blocks
        self.block: dict[int, list[Array]] = defaultdict(list)
        self.closed: list[Array] = []  # scatter of blocks that are complete or were dropped
        self.freedom = 0
        self.last: dict[int, tuple[int, Array, float]] = {}  # row, difference, rows behind it
        self.unlike = [1.0] * 5  # squared lengths of differences, 1 if rows are independent
        self.changed = -math.inf

    def scatter(self) -> Array:
        """Squares and products of deviations within blocks."""
        scatter = sum(self.closed, np.zeros((self.a, self.a)))
        for rows in self.block.values():
            if rows:
                away = np.array(rows) - np.mean(rows, axis=0)
                scatter = scatter + away.T @ away
        return scatter

    def covariance(self) -> Array:
        """Covariance within blocks, and a thousandth of the overall variance."""
        freedom = self.freedom + sum(len(rows) - 1 for rows in self.block.values() if rows)
        out = self.scatter() / max(freedom, 1) + np.diag(1e-3 * np.var(self.all, axis=0))
        return out + np.diag((np.diag(out) == 0.0).astype(float))

    def close(self, code: int) -> None:
        rows = self.block.pop(code)
        away = np.array(rows) - np.mean(rows, axis=0)
        self.closed.append(away.T @ away)
        self.freedom += len(rows) - 1

    def learn(self, x: Array, code: int) -> None:
        if self.length > 0.0 or np.isnan(x).any():
            return
        self.all.append(x)
        self.block[code].append(x)
        if len(self.block[code]) < 20:
            return
        block, before, now = np.mean(self.block[code], axis=0), self.known[code], len(self.all)
        if len(before) >= 30:
            inverse = np.linalg.inv(self.covariance())
            plain = np.diag(1.0 / np.diag(self.scatter()))
            mine, worth = block - np.mean(before, axis=0), 20 * len(before) / (20 + len(before))
            inflation = max(1.0, float(np.mean(self.unlike)))
            self.unlike.append(min(30.0, worth * mine @ inverse @ mine / self.a))
            self.last[code] = (now, mine, worth)
            found = None
            for other, (at, theirs, _) in self.last.items():
                if other == code or now - at > 1000 or at <= self.changed:
                    continue
                # The other class has learnt its block since.
                rows = len(self.known[other])
                their_worth = 20 * rows / (20 + rows)
                both = mine @ inverse @ theirs
                squares = mine @ inverse @ mine, theirs @ inverse @ theirs
                evidence = min(
                    worth * (both - squares[1] / 2), their_worth * (both - squares[0] / 2)
                )
                cosine = both / math.sqrt(squares[0] * squares[1])
                alike = cosine > 0.8 and angle(mine, theirs, plain) > 0.8
                least = 6.0 if found is None else found[0]
                if evidence / inflation > least and alike:
                    found = evidence / inflation, theirs, their_worth, other, at
            against, support = 0, 2
            for other, (at, theirs, _) in self.last.items() if found is not None else ():
                if other not in (code, found[3]) and at >= found[4]:
                    differs = angle(mine, theirs, inverse) < 0.5
                    against, support = against + differs, support + (not differs)
            if found is not None and 2 * against <= support:
                _, theirs, their_worth, *_ = found
                self.found = (worth * mine + their_worth * theirs) / (worth + their_worth)
                self.length = math.sqrt(self.found @ inverse @ self.found)
        self.known[code] += self.block[code]
        self.close(code)
        if self.length > 0.0:
            self.changed = now
            for each in list(self.block):
                if self.block[each]:
                    self.close(each)

    def change(self) -> float:
        length, self.length = self.length, 0.0
        self.shift = self.shift + self.found
        self.found = np.zeros(self.a)
        return length


# --- the last rows of each class --------------------------------------------------------------


class NaiveRecent:
    """Gaussians of one class: a list of rows with their weights, and a ridge."""

    def __init__(self, d: int, half_life: float) -> None:
        self.d, self.decay = d, 0.5 ** (1.0 / half_life)
        self.rows: list[Array] = []
        self.weights: list[float] = []
        self.ridge = np.zeros(d)

    def mean(self) -> Array:
        return np.average(self.rows, axis=0, weights=self.weights)

    def learn(self, x: Array, w: float, ridge: Array, overall: Array) -> None:
        """Learn a row; a missing value counts as the mean, at first as that of all rows."""
        x = np.where(np.isnan(x), self.mean() if self.rows else overall, x)
        if not self.rows:
            self.ridge = self.d * ridge
        else:
            faded = self.decay**w
            turn = len(self.rows) % self.d
            self.weights = [each * faded for each in self.weights]
            self.ridge = self.ridge * faded
            if self.d > 100 or faded**self.d < 0.01:
                self.ridge += self.d * (1.0 - faded) * ridge
            else:
                self.ridge[turn] += self.d**2 * (1.0 - faded) * ridge[turn]
        self.rows.append(x)
        self.weights.append(w)

    def covariance(self) -> Array:
        away = np.array(self.rows) - self.mean()
        scatter = (away * np.array(self.weights)[:, None]).T @ away
        if self.d > 100:
            scatter = np.diag(np.diag(scatter))
        return (scatter + np.diag(self.ridge)) / (sum(self.weights) + self.d)

    def log_density(self, x: Array) -> float:
        """Log density, the powers of 2 pi left out."""
        away, S = np.where(np.isnan(x), 0.0, x - self.mean()), self.covariance()
        return float(-0.5 * np.linalg.slogdet(S)[1] - 0.5 * away @ np.linalg.solve(S, away))


class NaiveRecents:
    """The recent Gaussians of all classes."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.gaussians: dict[int, list[NaiveRecent]] = {}
        self.long: dict[int, list[tuple[float, Array]]] = defaultdict(list)
        self.all: list[tuple[float, Array]] = []

    def overall(self) -> tuple[Array, Array, Array]:
        """Weight, mean and sum of squared deviations of the values of each column."""
        out = np.zeros((3, self.d))
        for j in range(self.d):
            known = [(w, x[j]) for w, x in self.all if not np.isnan(x[j])]
            if known:
                w, v = np.array(known).T
                out[:, j] = w.sum(), np.average(v, weights=w), 0.0
                out[2, j] = w @ (v - out[1, j]) ** 2
        return out[0], out[1], out[2]

    def moments(self, code: int) -> tuple[float, Array]:
        """Weight and squared deviations; a missing value counts as the mean of the class so far."""
        n, mean, spread = 0.0, np.zeros(self.d), np.zeros(self.d)
        for w, x in self.long[code]:
            away = np.where(np.isnan(x), 0.0, x - mean)
            spread += w * n / (n + w) * away**2
            mean += away * w / (n + w)
            n += w
        return n, spread

    def learn(self, code: int, x: Array, w: float) -> None:
        """Rows here have no missing value before the second row of a class."""
        constant = self.overall()[2] == 0.0
        self.all.append((w, x))
        self.long[code].append((w, x))
        known, mean, squares = self.overall()
        within = sum((self.moments(each)[1] for each in self.long), np.zeros(self.d))
        pooled = (within + 0.02 * squares) / np.maximum(known, 1.0)
        n, spread = self.moments(code)
        ridge = np.where(pooled > 0.0, (spread + self.d * pooled) / (n + self.d), 1.0)
        for j in np.flatnonzero(constant & (pooled > 0.0)):
            for each in (each for pair in self.gaussians.values() for each in pair):
                each.ridge[j] = pooled[j] * (sum(each.weights) + self.d)
        if code not in self.gaussians:
            self.gaussians[code] = [NaiveRecent(self.d, half) for half in HALF_LIVES]
        for each in self.gaussians[code]:
            each.learn(x, w, ridge, mean)


# --- labels -----------------------------------------------------------------------------------


class NaiveLabels:
    """All labels of a stream so far."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []

    def priors(self, n: int) -> Array:
        """Four log priors of n classes: by counts, recent rows, what followed, and the same."""
        codes = [code for code, _ in self.seen]
        out, classes = np.full((4, n), FLOOR), sorted(set(codes))
        out[3] = -1.0
        if not codes:
            return out
        count = {k: sum(w for code, w in self.seen if code == k) for k in classes}
        total = sum(count.values())
        ages = np.arange(len(codes))[::-1]
        faded = 0.5 ** (ages / 100.0)
        recent = {k: sum(faded[i] for i, code in enumerate(codes) if code == k) for k in classes}
        after = [b for a, b in pairwise(codes) if a == codes[-1]]
        followed = dict.fromkeys(classes, 0.0)
        for i, code in enumerate(after):
            followed[code] += 0.5 ** ((len(after) - 1 - i) / 500.0)
        for k in classes:
            share = (recent[k] + 0.5 / len(classes)) / (sum(recent.values()) + 0.5)
            next_share = (followed[k] + 2.0 * share) / (sum(followed.values()) + 2.0)
            out[0, k] = math.log((count[k] + 0.5) / (total + 0.5 * len(classes)))
            out[1, k] = max(FLOOR, math.log(share))
            out[2, k] = max(FLOOR, math.log(next_share))
        out[3, codes[-1]] = 0.0
        return out


# --- the next label ---------------------------------------------------------------------------


class NaiveNextLabel:
    """Conditional logit over the experts, with dense Newton steps."""

    def __init__(self, d: int, n_models: int, balanced: bool = True) -> None:
        self.balanced = balanced
        n = n_models + len(HALF_LIVES) + 4
        self.weights = np.eye(n)[0]
        self.curvature = 5.0 * np.eye(n)
        self.labels, self.recents = NaiveLabels(), NaiveRecents(d)
        self.exponent, self.slope = 1.0, 5.0

    def calibrate(self, says: Array, code: int, w: float, stands_for: int) -> None:
        """One Newton step of the exponent on the log probabilities of the first model."""
        known = sorted({code for code, _ in self.labels.seen})
        often = np.array([sum(v for seen, v in self.labels.seen if seen == k) for k in known])
        counted = np.clip((often - 50.0) / 100.0, 0.0, 1.0)
        weight = w * counted[known.index(code)] if code in known else 0.0
        if weight <= 0.0:
            return
        chances = counted * (often if self.balanced else 1.0) * np.exp(self.exponent * says[known])
        chances /= chances.sum()
        mean = chances @ says[known]
        faded = 0.9998**stands_for
        back = (1.0 - faded) * 5.0
        self.slope = faded * self.slope + back + weight * (chances @ (says[known] - mean) ** 2)
        step = weight * (says[code] - mean) + back * (1.0 - self.exponent)
        self.exponent = min(3.0, max(0.02, self.exponent + step / self.slope))

    def experts(self, x: Array, models: Array) -> Array:
        """Log probability that each expert gives to each class, none below `FLOOR`."""
        n = models.shape[1]
        with np.errstate(divide="ignore"):
            rows = [np.maximum(FLOOR, np.log(each)) for each in models]
        for m in range(len(HALF_LIVES)):
            row = np.full(n, -np.inf)
            for code, gaussians in self.recents.gaussians.items():
                row[code] = gaussians[m].log_density(x)
            known = np.isfinite(row).any()
            rows.append(np.maximum(FLOOR, row - logsumexp(row)) if known else np.full(n, FLOOR))
        return np.concatenate([rows, self.labels.priors(n)])

    def predict(self, x: Array, models: Array) -> Array:
        """Class probabilities; all 0 before the first row."""
        scores = self.weights @ self.experts(x, models)
        known = {code for code, _ in self.labels.seen}
        if not known:
            return np.zeros(len(scores))
        scores[[k for k in range(len(scores)) if k not in known]] = -np.inf
        return np.exp(scores - logsumexp(scores))

    def learn(self, x: Array, code: int, w: float, models: Array, stands_for: int) -> None:
        """Learn a row; the weights learn from it if it stands for at least one row."""
        chances, says = self.predict(x, models), self.experts(x, models)
        known = any(seen == code for seen, _ in self.labels.seen)
        if stands_for > 0 and known:
            self.calibrate(says[0], code, w, stands_for)
        if stands_for > 0 and known and chances[code] < 1.0 - 1e-4:
            faded = 0.999**stands_for
            away = says - (says @ chances)[:, None]
            relevant = chances * (chances > 1e-6)
            self.curvature = faded * self.curvature + (1.0 - faded) * 5.0 * np.eye(len(says))
            self.curvature += (away * relevant) @ away.T
            self.weights = self.weights + np.linalg.solve(self.curvature, away[:, code])
        self.recents.learn(code, x, w)
        self.labels.seen.append((code, w))
