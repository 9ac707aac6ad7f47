"""The slow and obvious twin of a leaf with full covariances: full matrices, one row at a time.

It is written to be read beside "Full and mixture leaves" in docs/method.md and shares no code with
the package. Inside, columns are in internal order: numeric ones first, then the 0/1 columns.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

PAIRS = 5
"""Pairs of candidates of a trial (J)."""

Array = np.ndarray


def positive(S: Array) -> Array:
    """A covariance that has an inverse: columns without variance stand alone, at worst all do."""
    S = S.copy()
    still = ~(np.diag(S) > 0.0)
    S[still, :] = S[:, still] = 0.0
    S[still, still] = 1.0
    try:
        pivots = np.diag(np.linalg.cholesky(S)) ** 2
    except np.linalg.LinAlgError:
        return np.diag(np.diag(S))
    return S if (pivots > 1e-12 * np.diag(S)).all() else np.diag(np.diag(S))


def shrinkage(P: Array, n: float) -> float:
    """Oracle approximating shrinkage of the correlations of a covariance of n rows."""
    varies = np.diag(P) > 0.0
    sd = np.sqrt(np.diag(P)[varies])
    d = int(varies.sum())
    t = float(((P[np.ix_(varies, varies)] / np.outer(sd, sd)) ** 2).sum()) if d else 0.0
    if d < 2 or t <= d:
        return 1.0
    share = ((1 - 2 / d) * t + d * d) / ((n + 1 - 2 / d) * (t - d))
    return min(1.0, max(share, 1e-3))


@dataclass
class Density:
    """What is cached of a density: everything but the mean."""

    S: Array
    chances: Array  # of a 1 in each 0/1 column

    def log(self, x: Array, mean: Array) -> float:
        """Log density of a row, the powers of 2 pi left out."""
        a = len(self.S)
        away = x[:a] - mean[:a]
        ones = x[a:]
        return float(
            -0.5 * np.linalg.slogdet(self.S)[1]
            - 0.5 * away @ np.linalg.solve(self.S, away)
            + (ones * np.log(self.chances) + (1 - ones) * np.log(1 - self.chances)).sum()
        )


@dataclass
class Gaussian:
    """Moments of weighted rows."""

    n: float
    mean: Array
    M: Array  # sum of products of deviations, numeric columns only

    def learn(self, x: Array, r: float) -> None:
        """Add a row of weight r: Chan's formula."""
        a = len(self.M)
        delta = x - self.mean
        before, self.n = self.n, self.n + r
        self.mean = self.mean + r / self.n * delta
        self.M = self.M + r * before / self.n * np.outer(delta[:a], delta[:a])

    def chances(self) -> Array:
        """Probabilities of a 1 in the 0/1 columns."""
        p = (self.n * self.mean[len(self.M) :] + 0.5) / (self.n + 1)
        return np.clip(p, 1e-4, 1 - 1e-4)


@dataclass
class Candidate(Gaussian):
    """A Gaussian of a trial, with its density as it was when last made."""

    made: float = 0.0
    cached: Density | None = None

    def refresh(self, R: Array) -> None:
        self.made = self.n
        self.cached = Density(positive(self.M / self.n + R), self.chances())

    def log(self, x: Array) -> float:
        assert self.cached is not None
        return self.cached.log(x, self.mean)

    def learn_some(self, x: Array, r: float, R: Array, pace: float) -> None:
        if r < 1e-9:
            return
        self.learn(x, r)
        if self.n >= (1 + pace) * self.made:
            self.refresh(R)


@dataclass
class Pair:
    """Two Gaussians that might take a component's place."""

    A: Candidate
    B: Candidate
    evidence: float = 0.0

    def judge(self, x: Array, rho: float, l0: float, R: Array, pace: float) -> None:
        pi = self.A.n / (self.A.n + self.B.n)
        first = math.log(pi) + self.A.log(x)
        l1 = float(np.logaddexp(first, math.log(1 - pi) + self.B.log(x)))
        self.evidence += rho * (l1 - l0)
        s = math.exp(first - l1)
        self.A.learn_some(x, rho * s, R, pace)
        self.B.learn_some(x, rho * (1 - s), R, pace)


@dataclass
class Trial:
    """A copy of a component and the pairs that compete with it."""

    copy: Candidate
    pairs: list[Pair]
    seen: float = 0.0

    def judge(self, x: Array, rho: float, R: Array, pace: float) -> None:
        l0 = self.copy.log(x)
        for pair in self.pairs:
            pair.judge(x, rho, l0, R, pace)
        self.copy.learn_some(x, rho, R, pace)
        self.seen += rho

    def winner(self) -> Pair | None:
        """The best pair, if it has earned the component's place."""
        a = len(self.copy.M)
        best = max(self.pairs, key=lambda pair: pair.evidence)
        if self.seen < max(20, a) or best.evidence <= math.log(1000 * PAIRS):
            return None
        return best if min(best.A.n, best.B.n) >= max(5, a / 2) else None


@dataclass
class Component:
    """A Gaussian with a share of its class's mass."""

    own: Gaussian
    mass: float = 0.0
    trial: Trial | None = None
    tried: int = 0  # directions so far
    made: float = 0.0  # weight when it was refreshed
    chances: Array | None = None  # of that time
    learning: Density | None = None
    answering: Density | None = None


@dataclass
class NaiveClass:
    """What the leaf knows about one class."""

    moments: Gaussian  # the cell's
    components: list[Component] = field(default_factory=list)

    def within(self) -> Array:
        """W bar: the covariance within the components."""
        return sum(k.own.M for k in self.components) / sum(k.own.n for k in self.components)

    def variances(self) -> Array:
        return np.diag(self.moments.M) / self.moments.n

    def floor(self) -> Array:
        return 0.03 * np.diag(self.variances())


class NaiveMixtureLeaf:
    """One leaf that never splits, with a mixture of Gaussians for each class."""

    def __init__(
        self, n_columns: int, categorical: Sequence[int] = (), max_components: int = 16
    ) -> None:
        numeric = [j for j in range(n_columns) if j not in categorical]
        self.order = [*numeric, *sorted(categorical)]
        self.a, self.most = len(numeric), max_components
        self.own_pace = min(max(0.02, self.a / 1000), 0.1)
        self.trial_pace = min(max(0.1, self.a / 200), 0.5)
        self.pool_pace = min(max(0.02, self.a / 400), 0.1)
        self.classes: dict[Hashable, NaiveClass] = {}
        self.weight = self.pooled_at = 0.0
        self.P = np.zeros((self.a, self.a))

    def empty(self) -> Gaussian:
        return Gaussian(0.0, np.zeros(len(self.order)), np.zeros((self.a, self.a)))

    # --- learning ----------------------------------------------------------------------------

    def learn(self, x: Sequence[float], label: Hashable, w: float = 1.0) -> None:
        row = np.asarray(x, float)[self.order]
        if label not in self.classes:
            self.classes[label] = NaiveClass(self.empty(), [Component(self.empty())])
        c = self.classes[label]
        self.weight += w
        c.moments.learn(row, w)
        due = []
        for k, r in zip(c.components, self.responsibilities(c, row), strict=True):
            if r > 1e-3:
                if k.trial is not None:
                    k.trial.judge(row, r * w, c.floor(), self.trial_pace)
                k.own.learn(row, r * w)
                k.mass += r * w
                due += [k] if self.is_due(c, k) else []
        for k in c.components:
            if k.own.n >= (1 + self.own_pace) * k.made:
                self.refresh(c, k)
        always = 64 if self.a <= 100 else 0
        if self.weight <= always or self.weight >= (1 + self.pool_pace) * self.pooled_at:
            self.pool()
        for k in due:
            self.tend(c, k)

    def responsibilities(self, c: NaiveClass, x: Array) -> Array:
        if len(c.components) == 1:
            return np.ones(1)
        logs = [math.log(k.mass) + k.learning.log(x, k.own.mean) for k in c.components]
        return np.exp(np.array(logs) - logsumexp(logs))

    def is_due(self, c: NaiveClass, k: Component) -> bool:
        a = self.a
        if k.trial is None:
            return a > 0 and len(c.components) < self.most and k.mass >= max(2 * a, 30)
        return k.trial.winner() is not None or k.trial.seen >= 8 * max(30, 2 * a)

    def tend(self, c: NaiveClass, k: Component) -> None:
        """Let a pair take the component's place, or propose the next pairs."""
        if len(c.components) == self.most:
            return  # another component was divided a moment ago
        pair = k.trial.winner() if k.trial is not None else None
        if pair is None:
            k.trial = self.propose(c, k)
            return
        share = pair.A.n / (pair.A.n + pair.B.n)
        mass = k.mass
        k.own, k.mass, k.trial, k.tried = pair.A, mass * share, None, 0
        c.components.append(Component(pair.B, mass * (1 - share)))
        for each in c.components:
            self.refresh(c, each)
            if len(c.components) == self.most:
                each.trial = None

    def propose(self, c: NaiveClass, k: Component) -> Trial:
        n, mean, a = k.own.n, k.own.mean, self.a
        S = k.own.M / n
        t = min(n, 2 * a + 10)

        def candidate(weight: float, mean: Array, S: Array) -> Candidate:
            made = Candidate(weight, mean, weight * S)
            made.refresh(c.floor())
            return made

        pairs = []
        for u in self.directions(c, k, S):
            g, s2 = S @ u, u @ S @ u
            if s2 <= 1e-9:  # as a share of the class's variance
                continue
            shift = np.zeros(len(self.order))
            shift[:a] = math.sqrt(2 / math.pi) * g / math.sqrt(s2)
            half = S - 2 / math.pi * np.outer(g, g) / s2
            ends = (candidate(t / 2, m, half) for m in (mean - shift, mean + shift))
            pairs.append(Pair(*ends))
        pairs.append(Pair(candidate(t / 2, mean, S / 4), candidate(t / 2, mean, 2 * S)))
        return Trial(candidate(t, mean, S), pairs)

    def directions(self, c: NaiveClass, k: Component, S: Array) -> list[Array]:
        """The next directions, in the units of the columns."""
        unit = np.sqrt(np.where(c.variances() > 0, c.variances(), 1.0))
        seen = S / np.outer(unit, unit)
        axes = np.linalg.eigh(seen)[1].T[::-1]
        widths = np.round(np.diag(seen), 9)  # all 1 in a class with one component
        columns = np.eye(self.a)[np.argsort(-widths, kind="stable")]
        around = [u for both in zip(axes, columns, strict=True) for u in both]
        chosen = [around[(k.tried + i) % len(around)] / unit for i in range(PAIRS - 1)]
        k.tried += PAIRS - 1
        return chosen

    # --- what is cached ----------------------------------------------------------------------

    def pool(self) -> None:
        """Make the pooled covariance anew, and all densities for answers after it."""
        everyone = [k.own for c in self.classes.values() for k in c.components]
        n = sum(own.n for own in everyone)
        P = sum(own.M for own in everyone) / n
        keep = 1 - shrinkage(P, n)
        self.P = keep * P + (1 - keep) * np.diag(np.diag(P))
        self.pooled_at = self.weight
        for c in self.classes.values():
            for k in c.components:
                k.answering = self.answer(c, k)

    def refresh(self, c: NaiveClass, k: Component) -> None:
        """Make all that is cached of a component anew."""
        q = 0.1 * self.a
        S = (k.own.M + q * (c.within() + c.floor())) / (k.own.n + q)
        k.made, k.chances = k.own.n, k.own.chances()
        k.learning = Density(positive(S), k.chances)
        k.answering = self.answer(c, k)

    def answer(self, c: NaiveClass, k: Component) -> Density:
        """The density of a component for answers."""
        a = self.a
        m = sum(each.mass for each in c.components)
        pooled = max(0.03, 1 - m / (2 * a)) if a else 0.0
        W = (1 - pooled) * c.within() + pooled * self.P
        S = W if len(c.components) == 1 else (k.own.M + a * W) / (k.own.n + a)
        return Density(positive(S), k.chances)

    # --- answering ---------------------------------------------------------------------------

    def scores(self, x: Sequence[float]) -> dict[Hashable, float]:
        """Logarithm of prior and density of every class, up to a constant."""
        row = np.asarray(x, float)[self.order]
        return {
            label: math.log(c.moments.n + 1)
            + logsumexp([k.answering.log(row, k.own.mean) for k in c.components], b=self.shares(c))
            for label, c in self.classes.items()
        }

    def shares(self, c: NaiveClass) -> list[float]:
        total = sum(k.mass for k in c.components)
        return [k.mass / total for k in c.components]
