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

LOST = 4.0
"""A pair with less evidence than minus this is given up."""

REST = 0.25
"""Growth of the mass before the next trial."""

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


def per(sums: Array, weights: Array) -> Array:
    """Sums by their weights, 0 where nothing is known."""
    return np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)


def covariance(M: Array, e: Array) -> Array:
    """Products of deviations by the geometric mean of the weights of both columns."""
    return per(M, np.sqrt(np.outer(e, e)))


@dataclass
class Density:
    """What is cached of a density: everything but the mean."""

    S: Array
    chances: Array  # of a 1 in each 0/1 column
    known: Array  # numeric columns that had a value

    @classmethod
    def of(cls, S: Array, chances: Array, e: Array) -> Density:
        """The density of a covariance, without the columns of weight 0."""
        known = e > 0
        return cls(positive(np.where(np.outer(known, known), S, 0.0)), chances, known)

    def log(self, x: Array, mean: Array, units: Array) -> float:
        """Log density of what is known of a row, the powers of 2 pi left out."""
        a = len(self.S)
        has = ~np.isnan(x)
        o = has[:a] & self.known
        away = (x[:a] - mean[:a])[o]
        S = self.S[np.ix_(o, o)]
        strange = has[:a] & ~self.known & (units > 0)
        ones, chances = x[a:][has[a:]], self.chances[has[a:]]
        return float(
            -0.5 * np.linalg.slogdet(S)[1]
            - 0.5 * away @ np.linalg.solve(S, away)
            - 0.5 * (np.log(units[strange]) + 1.0).sum()
            + (ones * np.log(chances) + (1 - ones) * np.log(1 - chances)).sum()
        )

    def estimates(self, x: Array, mean: Array) -> tuple[Array, Array, Array, Array]:
        """Missing columns: which, expected deviation, covariance left, share explained."""
        a = len(self.S)
        o, m = ~np.isnan(x[:a]) & self.known, np.isnan(x[:a]) & self.known
        slopes = np.linalg.solve(self.S[np.ix_(o, o)], self.S[np.ix_(o, m)]).T
        left = self.S[np.ix_(m, m)] - slopes @ self.S[np.ix_(o, m)]
        share = 1 - np.diag(left) / np.diag(self.S)[m]
        return m, slopes @ (x[:a] - mean[:a])[o], left, np.maximum(share, 0.0)


@dataclass
class Gaussian:
    """Moments of weighted rows."""

    n: float
    e: Array  # weight of each column
    mean: Array
    M: Array  # sum of products of deviations, numeric columns only
    ready: bool = False  # the density behind the estimates was made when first needed

    def learn(self, x: Array, r: float, density: Density | None = None) -> None:
        """Add a row of weight r: Chan's formula, with estimates of what is missing."""
        a = len(self.M)
        has = ~np.isnan(x)
        part = np.where(has, r, 0.0)
        delta = np.where(has, x - self.mean, 0.0)
        if density is not None and not has[:a].all():
            m, expected, left, share = density.estimates(x, self.mean)
            at = np.flatnonzero(m)
            part[at], delta[at] = r * share, expected
            self.M[np.ix_(at, at)] += left * np.sqrt(np.outer(part[at], part[at]))
        before, self.e, self.n = self.e, self.e + part, self.n + r
        self.mean = self.mean + per(part, self.e) * delta
        step = (np.sqrt(per(part * before, self.e)) * delta)[:a]
        self.M = self.M + np.outer(step, step)

    def lacks(self, x: Array) -> bool:
        """Whether the row has no value in a numeric column that is known."""
        a = len(self.M)
        return bool((np.isnan(x[:a]) & (self.e[:a] > 0)).any())

    def covariance(self) -> Array:
        return covariance(self.M, self.e[: len(self.M)])

    def chances(self) -> Array:
        """Probabilities of a 1 in the 0/1 columns."""
        e = self.e[len(self.M) :]
        p = (e * self.mean[len(self.M) :] + 0.5) / (e + 1)
        return np.clip(p, 1e-4, 1 - 1e-4)

    def news(self, made: Array) -> bool:
        """Whether twice as much is known of some column as when it was last looked at."""
        e = self.e[: len(self.M)]
        return bool(((e > 0) & (e >= 2 * made)).any())


@dataclass
class Candidate(Gaussian):
    """A Gaussian of a trial, with its density as it was when last made."""

    made: float = 0.0
    made_of: Array | None = None  # weights of the columns at that time
    cached: Density | None = None

    def refresh(self, R: Array) -> None:
        a = len(self.M)
        self.made, self.made_of = self.n, self.e[:a].copy()
        self.cached = Density.of(self.covariance() + R, self.chances(), self.e[:a])

    def log(self, x: Array, units: Array) -> float:
        assert self.cached is not None
        return self.cached.log(x, self.mean, units)

    def learn_some(self, x: Array, r: float, R: Array, pace: float) -> None:
        if r < 1e-9:
            return
        if not self.ready and self.lacks(x):
            self.refresh(R)
            self.ready = True
        self.learn(x, r, self.cached)
        assert self.made_of is not None
        if self.n >= (1 + pace) * self.made or self.news(self.made_of):
            self.refresh(R)


@dataclass
class Pair:
    """Two Gaussians that might take a component's place."""

    A: Candidate
    B: Candidate
    evidence: float = 0.0

    def judge(self, x: Array, rho: float, l0: float, R: Array, units: Array, pace: float) -> None:
        pi = self.A.n / (self.A.n + self.B.n)
        first = math.log(pi) + self.A.log(x, units)
        l1 = float(np.logaddexp(first, math.log(1 - pi) + self.B.log(x, units)))
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

    def judge(self, x: Array, rho: float, R: Array, units: Array, pace: float) -> None:
        l0 = self.copy.log(x, units)
        for pair in self.pairs:
            pair.judge(x, rho, l0, R, units, pace)
        self.pairs = [pair for pair in self.pairs if pair.evidence >= -LOST]
        self.copy.learn_some(x, rho, R, pace)
        self.seen += rho

    def winner(self, a: int) -> Pair | None:
        """The best pair, if it has earned the component's place."""
        if not self.pairs:
            return None
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
    rest: float = 0.0  # weight to come before the next trial
    tried: int = 0  # directions so far
    made: float = 0.0  # weight when it was refreshed
    made_of: Array | None = None  # weights of the columns at that time
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
        a = len(self.moments.M)
        return covariance(sum(k.own.M for k in self.components), self.known()[:a])

    def known(self) -> Array:
        """Weights of the columns in all components."""
        return np.sum([k.own.e for k in self.components], axis=0)

    def variances(self) -> Array:
        return np.diag(self.moments.covariance())

    def floor(self) -> Array:
        return 0.03 * np.diag(self.variances())


class NaiveMixtureLeaf:
    """One leaf that never splits, with a mixture of Gaussians for each class."""

    def __init__(
        self, n_columns: int, categorical: Sequence[int] = (), max_components: int = 16
    ) -> None:
        numeric = [j for j in range(n_columns) if j not in categorical]
        self.order = [*numeric, *sorted(categorical)]
        self.width, self.most = len(numeric), max_components
        self.met = np.zeros(self.width, bool)  # columns that some row had a value in
        self.classes: dict[Hashable, NaiveClass] = {}
        self.weight = self.pooled_at = 0.0
        self.pooled_of = np.zeros(self.width)
        self.P = np.zeros((self.width, self.width))
        # Running moments of all rows, and how many columns were constant when all was pooled.
        d = len(self.order)
        self.all_weight, self.all_mean, self.all_m2 = np.zeros(d), np.zeros(d), np.zeros(d)
        self.constant = d
        self.spare = np.zeros(self.width)

    @property
    def a(self) -> int:
        """Numeric columns that some row had a value in."""
        return int(self.met.sum())

    @property
    def own_pace(self) -> float:
        return min(max(0.02, self.a / 1000), 0.1)

    @property
    def proposal_pace(self) -> float:
        return min(max(0.1, self.a / 200), 0.5)

    @property
    def pool_pace(self) -> float:
        return min(max(0.02, self.a / 400), 0.1)

    def empty(self) -> Gaussian:
        d = len(self.order)
        return Gaussian(0.0, np.zeros(d), np.zeros(d), np.zeros((self.width, self.width)))

    # --- learning ----------------------------------------------------------------------------

    def learn(self, x: Sequence[float], label: Hashable, w: float = 1.0) -> None:
        row = np.asarray(x, float)[self.order]
        self.met |= ~np.isnan(row[: self.width])
        if label not in self.classes:
            self.classes[label] = NaiveClass(self.empty(), [Component(self.empty())])
        c = self.classes[label]
        self.weight += w
        has = ~np.isnan(row)
        self.all_weight[has] += w
        away = (row - self.all_mean)[has]
        self.all_mean[has] += away * w / self.all_weight[has]
        self.all_m2[has] += w * away * (row - self.all_mean)[has]
        c.moments.learn(row, w)
        due = []
        for k, r in zip(c.components, self.responsibilities(c, row), strict=True):
            if r > 1e-3:
                if k.trial is not None:
                    k.trial.judge(row, r * w, c.floor(), c.variances(), self.proposal_pace)
                elif self.a > 0 and len(c.components) < self.most:
                    k.rest = max(0.0, k.rest - r * w)
                if not k.own.ready and k.own.lacks(row):
                    k.own.ready = True
                    k.learning = self.learner(c, k)
                k.own.learn(row, r * w, k.learning)
                k.mass += r * w
                due += [k] if self.is_due(c, k) else []
        always = 64 if self.a <= 100 else 0
        column_weights = sum(other.moments.e[: self.width] for other in self.classes.values())
        news = (column_weights > 0) & (column_weights >= 2 * self.pooled_of)
        pools = self.weight <= always or self.weight >= (1 + self.pool_pace) * self.pooled_at
        if pools or news.any() or (self.all_m2 == 0).sum() < self.constant:
            self.pooled_of = column_weights
            self.pool()
        for k in c.components:
            unmade = k.made_of is None
            if unmade or k.own.n >= (1 + self.own_pace) * k.made or k.own.news(k.made_of):
                self.refresh(c, k)
        for k in due:
            self.on_cell_due(c, k)

    def responsibilities(self, c: NaiveClass, x: Array) -> Array:
        if len(c.components) == 1:
            return np.ones(1)
        units = c.variances()
        logs = [math.log(k.mass) + k.learning.log(x, k.own.mean, units) for k in c.components]
        return np.exp(np.array(logs) - logsumexp(logs))

    def is_due(self, c: NaiveClass, k: Component) -> bool:
        a = self.a
        if k.trial is None:
            opens = a > 0 and len(c.components) < self.most
            return opens and k.rest == 0.0 and k.mass >= max(2 * a, 30)
        worn = k.trial.seen >= 8 * max(30, 2 * a) or not k.trial.pairs
        return worn or k.trial.winner(a) is not None

    def on_cell_due(self, c: NaiveClass, k: Component) -> None:
        """Let a pair take the component's place, propose the next pairs, or rest."""
        if len(c.components) == self.most:
            return  # another component was divided a moment ago
        pair = k.trial.winner(self.a) if k.trial is not None else None
        if pair is None and k.trial is not None:
            k.trial, k.rest = None, REST * k.mass
            return
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
        S = k.own.covariance()
        t = min(n, 2 * a + 10)

        def candidate(weight: float, mean: Array, S: Array) -> Candidate:
            e = weight / n * k.own.e
            spread = np.sqrt(np.outer(e, e))[: self.width, : self.width]
            made = Candidate(weight, e, mean, S * spread)
            made.refresh(c.floor())
            return made

        pairs = []
        for u in self.directions(c, k, S):
            g, s2 = S @ u, u @ S @ u
            if s2 <= 1e-9:  # as a share of the class's variance
                continue
            shift = np.zeros(len(self.order))
            shift[: self.width] = math.sqrt(2 / math.pi) * g / math.sqrt(s2)
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
        columns = np.eye(self.width)[np.argsort(-widths, kind="stable")]
        around = [u for both in zip(axes, columns, strict=True) for u in both][: 2 * self.a]
        chosen = [around[(k.tried + i) % len(around)] / unit for i in range(PAIRS - 1)]
        k.tried += PAIRS - 1
        return chosen

    # --- what is cached ----------------------------------------------------------------------

    def pool(self) -> None:
        """Make the pooled covariance anew, and all densities for answers after it."""
        everyone = [k.own for c in self.classes.values() for k in c.components]
        known = np.sum([own.e for own in everyone], axis=0)[: self.width]
        P = covariance(sum(own.M for own in everyone), known)
        n = float(known[known > 0].mean()) if (known > 0).any() else 0.0
        keep = 1 - shrinkage(P, n)
        self.P = keep * P + (1 - keep) * np.diag(np.diag(P))
        # A column that varies within no class is measured by its variance over all rows.
        over_all = per(self.all_m2, self.all_weight)[: self.width]
        self.spare = np.where(np.diag(self.P) == 0, over_all, 0.0)
        self.constant = (self.all_m2 == 0).sum()
        self.pooled_at = self.weight
        for c in self.classes.values():
            for k in c.components:
                if k.chances is not None:
                    k.answering = self.answer(c, k)

    def refresh(self, c: NaiveClass, k: Component) -> None:
        """Make all that is cached of a component anew."""
        k.made, k.made_of = k.own.n, k.own.e[: self.width].copy()
        k.chances = k.own.chances()
        k.learning = self.learner(c, k)
        k.answering = self.answer(c, k)

    def learner(self, c: NaiveClass, k: Component) -> Density:
        """The density of a component for learning."""
        q, e = 0.1 * self.a, k.own.e[: self.width]
        S = covariance(k.own.M + q * (c.within() + c.floor()), e + q)
        if k.own.ready:
            believed = k.own.n / (k.own.n + 0.5 * self.a)
            S = believed * S + (1 - believed) * np.diag(np.diag(S))
        return Density.of(S, k.chances, e)

    def answer(self, c: NaiveClass, k: Component) -> Density:
        """The density of a component for answers."""
        a, e = self.a, k.own.e[: self.width]
        known = c.known()[: self.width] / sum(each.own.n for each in c.components)
        m = sum(each.mass for each in c.components) * known
        pooled = np.maximum(0.03, 1 - m / (2 * a)) if a else np.zeros(self.width)
        root, rest = np.sqrt(pooled), np.sqrt(1 - pooled)
        W = np.outer(rest, rest) * c.within() + np.outer(root, root) * self.P
        S = W if len(c.components) == 1 else covariance(k.own.M + a * W, e + a)
        S = S + np.diag(np.where(np.diag(S) == 0, self.spare, 0.0))
        # A new row about the mean of e rows.
        unsure = np.sqrt(1 + 1 / np.maximum(e, 1.0))
        return Density.of(S * np.outer(unsure, unsure), k.chances, e)

    # --- answering ---------------------------------------------------------------------------

    def scores(self, x: Sequence[float]) -> dict[Hashable, float]:
        """Logarithm of prior and density of every class, up to a constant."""
        row = np.asarray(x, float)[self.order]
        return {
            label: math.log(c.moments.n + 1)
            + logsumexp([self.log(k, row) for k in c.components], b=self.shares(c))
            for label, c in self.classes.items()
        }

    def log(self, k: Component, row: Array) -> float:
        return k.answering.log(row, k.own.mean, np.diag(self.P) + self.spare)

    def shares(self, c: NaiveClass) -> list[float]:
        total = sum(k.mass for k in c.components)
        return [k.mass / total for k in c.components]
