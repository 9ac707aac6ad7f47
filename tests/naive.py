"""A slow and obvious MIST tree: one row at a time, dicts, lists, loops and plain floats.

It is written to be read beside the paper's Algorithms 1 to 3 (what docs/method.md adds to them is
in `naive_splits`) and shares no code with the package,
so that the fast engine can be checked against it. Inside, features are in internal order: numeric
columns first, then categorical (0/1) ones. Missing values are NaN.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import accumulate, pairwise

from scipy.special import erfcx, ndtr

import naive_splits

MASK = (1 << 64) - 1
LOG_2PI = math.log(2.0 * math.pi)
MOST_LEVELS = 40  # of a sketch

# ---------------------------------------------------------------------------------------------
# Reference functions


def mix(z: int) -> int:
    """Return the SplitMix64 hash of a 64-bit integer."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw(seed: int, tag: int, a: int, b: int, c: int) -> int:
    """Return 64 random bits that depend on the five counters only."""
    z = mix(seed & MASK)
    for part in (tag, a, b, c):
        z = mix(z ^ part)
    return z


def uniform(seed: int, tag: int, a: int, b: int, c: int) -> float:
    """Return a random number in [0, 1) that depends on the five counters only."""
    return (draw(seed, tag, a, b, c) >> 11) * 2.0**-53


def truncated_moments(mean: float, var: float, v: float, side: str) -> tuple[float, float]:
    """Mean and variance of a Gaussian cut at v: Eq. 4, Algorithm 2 lines 4-11, appendix."""
    if var <= 0.0:
        return mean, 0.0
    sd = math.sqrt(var)
    # The right side is the left side seen in a mirror, so only "X <= v" has to be worked out.
    sign = 1.0 if side == "left" else -1.0
    zeta = sign * (v - mean) / sd
    if zeta < -8.0:
        # Far out the ratio is x + 1/(x + 2/(x + 3/...)) with x = -zeta; so no digits are lost.
        rest = 0.0
        for k in range(100, 1, -1):
            rest = k / (rest - zeta)
        beyond = 1.0 / (rest - zeta)
        return v - sign * sd * beyond, var * (rest - beyond) * beyond
    # phi(zeta) / Phi(zeta), with Phi written by erfcx so that neither tail underflows.
    ratio = math.sqrt(2.0 / math.pi) / float(erfcx(-zeta / math.sqrt(2.0)))
    new_var = var * (1.0 - ratio * (zeta + ratio))
    return mean - sign * sd * ratio, min(max(new_var, 0.0), var)


def gaussian_cdf(mean: float, var: float, v: float) -> float:
    """Phi((v - mean) / sd); a step at the mean when the variance is zero."""
    if var <= 0.0:
        return 1.0 if mean <= v else 0.0
    return float(ndtr((v - mean) / math.sqrt(var)))


def gini(counts: Sequence[float]) -> float:
    """Gini impurity of class counts: Eq. 1, left part."""
    n = sum(counts)
    return 1.0 - sum((c / n) ** 2 for c in counts)


def entropy(counts: Sequence[float]) -> float:
    """Entropy of class counts in bits."""
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c > 0.0)


def impurity_gain(
    impurity: Callable[[Sequence[float]], float], left: Sequence[float], total: Sequence[float]
) -> float:
    """Gain of cutting `total` into `left` and the rest: Eq. 1, right part."""
    n, n_left = sum(total), sum(left)
    if n_left <= 0.0 or n_left >= n:
        return 0.0
    right = [t - part for t, part in zip(total, left, strict=True)]
    return impurity(total) - n_left / n * impurity(left) - (n - n_left) / n * impurity(right)


def gini_gain(left_counts: Sequence[float], total_counts: Sequence[float]) -> float:
    """Gini gain of a cut: Eq. 1."""
    return impurity_gain(gini, left_counts, total_counts)


def info_gain(left_counts: Sequence[float], total_counts: Sequence[float]) -> float:
    """Information gain of a cut in bits: Eq. 1 with entropy for G."""
    return impurity_gain(entropy, left_counts, total_counts)


def radius(
    n: float,
    d: int,
    m: int,
    delta: float,
    bound: str = "mcdiarmid",
    union_bound: bool = True,
    criterion: str = "gini",
    k_local: int = 2,
) -> float:
    """Confidence radius of n rows, d features and m candidates: Eq. 3, Algorithm 1 line 12."""
    if bound == "mcdiarmid":
        log_term = math.log(2.0 * d * m / delta) if union_bound else math.log(1.0 / delta)
        return math.sqrt(32.0 * log_term / n)
    if bound == "rutkowski":
        return 8.0 * math.sqrt(math.log(1.0 / delta) / (2.0 * n))
    if bound == "hoeffding":
        scale = 1.0 if criterion == "gini" else math.log2(max(k_local, 2))
        return scale * math.sqrt(math.log(1.0 / delta) / (2.0 * n))
    raise ValueError(f"bound is {bound!r}; choose mcdiarmid, rutkowski or hoeffding")


# ---------------------------------------------------------------------------------------------
# The KLL sketch of one class at one leaf


def cumulative(items: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Turn sorted (value, weight) pairs into (value, weight so far) pairs."""
    sums = accumulate(w for _, w in items)
    return [(x, reached) for (x, _), reached in zip(items, sums, strict=True)]


def cdf(items: list[tuple[float, int]], v: float) -> float:
    """Share of the weight at or below v, F in Eq. 5; items are sorted (value, weight) pairs."""
    return sum(w for x, w in items if x <= v) / sum(w for _, w in items)


def quantile(items: list[tuple[float, int]], q: float, low: float, high: float) -> float:
    """Smallest item that has a share q of the weight at or below it, Algorithm 3 input (IQS)."""
    if q <= 0.0:
        return low
    if q >= 1.0:
        return high
    target = q * sum(w for _, w in items)
    return next(x for x, reached in cumulative(items) if reached >= target)


def to_single(x: float) -> float:
    """The nearest single-precision number, of those that are finite; NaN stays."""
    most = (2.0 - 2.0**-23) * 2.0**127
    return struct.unpack("f", struct.pack("f", min(max(x, -most), most)))[0] if x == x else x


def last_rounded_to(place: float) -> float:
    """Largest number that is, in single precision, not above a place: found by halving."""
    inside, outside = -1.7e308, 1.7e308
    while math.nextafter(inside, math.inf) < outside:
        middle = 0.5 * inside + 0.5 * outside
        if to_single(middle) <= place:
            inside = middle
        else:
            outside = middle
    return inside


class Sketch:
    """Columns of a KLL sketch that fill, and are compacted, together."""

    def __init__(
        self, k: int, n_columns: int, seed: int, node: int, code: int, single: bool = False
    ) -> None:
        self.k, self.seed, self.node, self.code, self.single = k, seed, node, code, single
        self.levels: list[list[list[float]]] = [[]]
        self.compactions = 0
        self.low = [math.inf] * n_columns
        self.high = [-math.inf] * n_columns

    def capacity(self, level: int) -> int:
        """Rows that a level may hold before it is compacted (KLL)."""
        depth = len(self.levels) - 1 - level
        return max(8, math.floor(self.k * (2.0 / 3.0) ** depth + 0.5))

    def n(self) -> int:
        """Rows inserted so far; exact."""
        return sum(len(rows) << level for level, rows in enumerate(self.levels))

    def insert(self, row: Sequence[float], copies: int) -> None:
        """Add a row `copies` times, one bit of `copies` a level: Algorithm 1 line 3."""
        if copies == 0:
            return
        if self.single:
            row = [to_single(x) for x in row]
        for j, x in enumerate(row):
            if not math.isnan(x):
                self.low[j] = min(self.low[j], x)
                self.high[j] = max(self.high[j], x)
        stored = [math.inf if math.isnan(x) else x for x in row]
        for bit in range(copies.bit_length()):
            if copies >> bit & 1:
                while len(self.levels) <= bit:
                    self.levels.append([])
                self.levels[bit].append(stored)
                while sum(map(len, self.levels)) >= sum(
                    self.capacity(h) for h in range(len(self.levels))
                ):
                    self.compact()

    def compact(self) -> None:
        """Sort the lowest full level and lift every second row with doubled weight (KLL)."""
        level = 0
        while len(self.levels[level]) < self.capacity(level):
            level += 1
        m = len(self.levels[level])
        columns = [sorted(column) for column in zip(*self.levels[level], strict=True)]
        rows = [[column[i] for column in columns] for i in range(m)]
        first = draw(self.seed, 1, self.node, self.code, self.compactions) >> 63
        half, odd = [rows[2 * i + first] for i in range(m // 2)], rows[m - m % 2 :]
        if level == MOST_LEVELS - 1:  # nowhere to rise to: half of the rows are forgotten
            self.levels[level] = half + odd
        else:
            if level == len(self.levels) - 1:
                self.levels.append([])
            self.levels[level] = odd
            self.levels[level + 1] += half
        self.compactions += 1

    def items(self, j: int) -> list[tuple[float, int]]:
        """Sorted (value, weight) pairs of column j without the missing values."""
        rows = ((row[j], 1 << level) for level, rows in enumerate(self.levels) for row in rows)
        return sorted((x, w) for x, w in rows if x < math.inf)


# ---------------------------------------------------------------------------------------------
# State of the tree


class Cell:
    """What a leaf knows about one class."""

    def __init__(self, d: int) -> None:
        self.weight = 0.0  # inherited and observed here: evidence for the moments
        self.mass = 0.0  # the same as a share in the prior
        self.count = 0.0  # observed here
        self.steps = 0  # rows learnt here, whatever their weight
        self.fw, self.mean, self.m2 = [0.0] * d, [0.0] * d, [0.0] * d
        self.prec = [0.0] * d  # 1 / variance (numeric) or the probability of a one (categorical)
        self.zero = [0.0] * d  # the probability of a zero (categorical): 1 - prec has fewer digits
        self.products = [[0.0] * d for _ in range(d)]  # of deviations, joint inheritance only
        self.sketch: Sketch | None = None


class Node:
    """A leaf, or an inner node once it has a left and a right child."""

    def __init__(self, d: int, epoch: int) -> None:
        self.mass = 0.0
        self.feature, self.threshold, self.left, self.right = -1, 0.0, -1, -1
        self.rows, self.n_updates, self.tried, self.refresh_at = 0.0, 0, 0, 1
        self.epoch, self.prior_only = epoch, False
        self.cells: dict[int, Cell] = {}  # class code -> cell, in order of creation
        self.spread, self.observed = [0.0] * d, [0.0] * d


# A class seen in one feature: its rows with a value, its distribution function, its median
Column = tuple[float, Callable[[float], float], float | None]


@dataclass
class NaiveMist:
    """The streaming decision tree of Algorithms 1 to 3, without a thought for speed."""

    leaf: str = "gaussian"
    _: KW_ONLY
    grace_period: int = 200
    delta: float = 0.1
    tie_threshold: float = 0.05
    sketch_size: int = 64
    sketch_dtype: str = "float64"
    inheritance: str | None = "gaussian"
    discount: float = 0.6
    bound: str = "mcdiarmid"
    split_test: str = "gap"
    rows_per_split: int = 500
    max_features: float | None = None
    union_bound: bool = True
    criterion: str = "gini"
    thresholds: str = "medians"
    n_thresholds: int = 10
    bandwidth: float = 0.2
    smoothing: float = 1e-3
    variance_prior: float = 1.0
    categorical_features: Sequence[int] | None = None
    max_leaves: int | None = None
    max_classes_per_leaf: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.leaf == "sketch" and self.thresholds == "gaussian":
            raise ValueError("leaf='sketch' needs sketches; thresholds='gaussian' keeps none")
        if self.criterion == "info_gain" and self.bound != "hoeffding":
            raise ValueError("criterion='info_gain' is only bounded by bound='hoeffding'")
        self.seed = self.random_state or 0
        self.labels: list[Hashable] = []  # position = class code
        self.nodes: list[Node] = []  # position = node id
        self.splits: list[tuple[int, int, float, int]] = []
        self.seen = 0  # rows learnt
        self.epoch = 0  # raised when a feature is first seen to vary

    # -- learning ------------------------------------------------------------------------------

    def start(self, n_columns: int) -> None:
        """Fix the internal order of the columns and plant the root."""
        categorical = sorted(self.categorical_features or [])
        numeric = [c for c in range(n_columns) if c not in categorical]
        self.order = numeric + categorical  # internal position -> the caller's column
        self.n_numeric, self.d = len(numeric), n_columns
        self.total = Cell(self.d)  # running statistics of all rows
        self.nodes.append(Node(self.d, self.epoch))

    def run_var(self, j: int) -> float:
        """Variance of feature j over all rows learnt so far."""
        return self.total.m2[j] / self.total.fw[j] if self.total.fw[j] > 0.0 else 0.0

    def route(self, x: Sequence[float], weight: float = 0.0) -> int:
        """Return the leaf of row x, adding weight to the nodes on the way: Algorithm 1 line 1."""
        at = 0
        while True:
            node = self.nodes[at]
            node.mass += weight
            if node.left < 0:
                return at
            value = x[node.feature]
            if math.isnan(value):
                go_left = self.nodes[node.left].mass >= self.nodes[node.right].mass
            else:
                go_left = value <= node.threshold
            at = node.left if go_left else node.right

    @staticmethod
    def welford(cell: Cell, x: Sequence[float], weight: float) -> list[float]:
        """Add a row to running moments, return the growth of m2: Algorithm 1 line 2."""
        growth = [0.0] * len(x)
        for j, value in enumerate(x):
            if not math.isnan(value):
                cell.fw[j] += weight
                delta = value - cell.mean[j]
                cell.mean[j] += delta * (weight / cell.fw[j])
                growth[j] = max(weight * delta * (value - cell.mean[j]), 0.0)
                cell.m2[j] += growth[j]
        return growth

    def learn_products(self, cell: Cell, x: Sequence[float], weight: float) -> None:
        """Add a row to the sums of products of two columns' deviations; Welford comes after."""
        for j in range(self.n_numeric):
            for i in range(j + 1):
                if not math.isnan(x[j]) and not math.isnan(x[i]):
                    after = (x[i] - cell.mean[i]) * (cell.fw[i] / (cell.fw[i] + weight))
                    cell.products[j][i] += weight * (x[j] - cell.mean[j]) * after
                    cell.products[i][j] = cell.products[j][i]

    def learn_row(self, x: Sequence[float], label: Hashable, weight: float = 1.0) -> None:
        """Learn one labelled row: Algorithm 1 lines 1-7."""
        if weight == 0.0:
            return
        if not self.nodes:
            self.start(len(x))
        row = [float(x[c]) for c in self.order]
        if label not in self.labels:
            self.labels.append(label)
        code = self.labels.index(label)
        self.seen += 1
        at = self.route(row, weight)
        leaf = self.nodes[at]
        if leaf.prior_only:
            leaf.cells, leaf.prior_only = {}, False
        varied = [m2 > 0.0 for m2 in self.total.m2]
        self.welford(self.total, row, weight)
        if any(self.total.m2[j] > 0.0 and not varied[j] for j in range(self.d)):
            self.epoch += 1
        cell = leaf.cells.setdefault(code, Cell(self.d))
        self.learn_products(cell, row, weight)
        cell.weight += weight
        cell.mass += weight
        cell.count += weight
        growth = self.welford(cell, row, weight)
        for j in range(self.d):
            leaf.spread[j] += growth[j]
            leaf.observed[j] += 0.0 if math.isnan(row[j]) else weight
        leaf.n_updates += 1
        if leaf.n_updates == leaf.refresh_at or leaf.epoch != self.epoch:
            for other in leaf.cells.values():
                self.refresh(leaf, other)
            leaf.epoch = self.epoch
            leaf.refresh_at = leaf.n_updates + 1 + leaf.n_updates // 256
        else:
            self.refresh(leaf, cell)
        self.sketch_row(at, code, row, weight)
        leaf.rows += weight
        reached = math.floor(leaf.rows / self.grace_period)
        if reached > leaf.tried:
            leaf.tried = reached
            n_leaves = 1 + len(self.splits)
            observed = sum(c.count > 0.0 for c in leaf.cells.values())
            if observed >= 2 and (self.max_leaves is None or n_leaves < self.max_leaves):
                self.attempt(at)

    def new_sketch(self, at: int, code: int) -> Sketch:
        """Return an empty sketch for a class at a leaf."""
        single = self.sketch_dtype == "float32"
        return Sketch(self.sketch_size, self.n_numeric, self.seed, at, code, single)

    def sketch_row(self, at: int, code: int, row: Sequence[float], weight: float) -> None:
        """Add a row to the sketch of its class, if it has one: Algorithm 1 line 3."""
        cells = self.nodes[at].cells
        cell = cells[code]
        if cell.steps == 0 and cell.sketch is None and self.thresholds != "gaussian":
            held = sum(c.sketch is not None for c in cells.values())
            if self.max_classes_per_leaf is None or held < self.max_classes_per_leaf:
                cell.sketch = self.new_sketch(at, code)
        if cell.sketch is not None:
            copies = math.floor(weight)
            part = weight - copies
            if part > 0.0 and uniform(self.seed, 2, at, code, cell.steps) < part:
                copies += 1
            cell.sketch.insert(row[: self.n_numeric], copies)
        cell.steps += 1

    def refresh(self, leaf: Node, cell: Cell) -> None:
        """Cache the density parameters of a cell: Section 3.2 and Algorithm 3 line 5."""
        for j in range(self.d):
            fw = cell.fw[j]
            if j >= self.n_numeric:
                cell.prec[j] = (cell.mean[j] * fw + 1.0) / (fw + 2.0)
                cell.zero[j] = ((1.0 - cell.mean[j]) * fw + 1.0) / (fw + 2.0)
            elif fw > 0.0:
                pooled, prior = leaf.spread[j] / leaf.observed[j], self.variance_prior
                var = (cell.m2[j] + prior * pooled) / (fw + prior) + 1e-9 * self.run_var(j)
                cell.prec[j] = min(1.0 / var, 1e300) if var > 0.0 else 0.0
            else:  # unknown here: negative, so that only the log term counts
                run_var = self.run_var(j)
                cell.prec[j] = max(-1.0 / run_var, -1e300) if run_var > 0.0 else 0.0

    # -- splitting -----------------------------------------------------------------------------

    def column(self, cell: Cell, j: int) -> Column:
        """Rows, distribution function and median of a class in feature j (Section 3.3)."""
        if j < self.n_numeric and cell.sketch is not None:
            items, n = cell.sketch.items(j), cell.sketch.n()
            if not items:
                return 0.0, lambda v: 0.0, None
            rows = cell.count * (sum(w for _, w in items) / n)
            median = quantile(items, 0.5, cell.sketch.low[j], cell.sketch.high[j])
            return rows, lambda v: cdf(items, v), median
        fw, mean = cell.fw[j], cell.mean[j]
        if fw == 0.0:
            return 0.0, lambda v: 0.0, None
        rows = cell.count * (fw / cell.weight)
        if j >= self.n_numeric:
            return rows, lambda v: 1.0 - mean, None
        return rows, lambda v: gaussian_cdf(mean, cell.m2[j] / fw, v), mean

    def candidates(
        self, at: int, j: int, observed: list[Cell], columns: list[Column]
    ) -> list[float]:
        """Thresholds to try for feature j: Section 3.3, Algorithm 1 line 5."""
        if j >= self.n_numeric:
            return [0.5]
        places = self.places(at, j, observed, columns)
        if self.sketch_dtype == "float32" and self.thresholds != "gaussian":
            return [last_rounded_to(v) for v in places]
        return places

    def places(self, at: int, j: int, observed: list[Cell], columns: list[Column]) -> list[float]:
        """Thresholds between, or at, the values that numeric feature j has in the sketches."""
        sketches = [c.sketch for c in observed if c.sketch is not None]
        steps = self.n_thresholds
        if self.thresholds in ("medians", "gaussian"):
            known = sorted({median for _, _, median in columns if median is not None})
            middles = []
            for a, b in pairwise(known):
                v = 0.5 * a + 0.5 * b
                middles.append(v if v < b else a)
            return middles
        if self.thresholds == "dense":
            low = min((s.low[j] for s in sketches), default=math.inf)
            high = max((s.high[j] for s in sketches), default=-math.inf)
            if not low < high:
                return []
            return [low + (high - low) * i / (steps + 1) for i in range(1, steps + 1)]
        pool = sorted(item for s in sketches for item in s.items(j))
        total = sum(w for _, w in pool)
        if not pool:
            return []
        draws = [uniform(self.seed, 3, at, self.nodes[at].tried, i) for i in range(steps)]
        return [next(x for x, r in cumulative(pool) if r > u * total) for u in draws]

    def gain(self, observed: list[Cell], columns: list[Column], v: float) -> float:
        """Gain of cutting a feature at v, scaled by the share of known values: Eq. 1."""
        # Without a test of the gain all classes count alike, however many rows they have.
        balanced = self.split_test in ("schedule", "eprocess")
        units = [1.0 / cell.count if balanced else 1.0 for cell in observed]
        total = [u * rows for u, (rows, _, _) in zip(units, columns, strict=True)]
        left = [u * rows * below(v) for u, (rows, below, _) in zip(units, columns, strict=True)]
        score = (gini_gain if self.criterion == "gini" else info_gain)(left, total)
        known = sum(total) / sum(u * c.count for u, c in zip(units, observed, strict=True))
        return max(score * known, 0.0)

    def allowed(self, at: int) -> list[int]:
        """Features that this attempt looks at: those with the smallest draws."""
        if self.max_features is None:
            return list(range(self.d))
        tried = self.nodes[at].tried
        order = sorted(range(self.d), key=lambda j: uniform(self.seed, 4, at, tried, j))
        return sorted(order[: math.ceil(self.max_features * self.d)])

    def attempt(self, at: int) -> None:
        """Split leaf `at` if its best cut is clearly best: Algorithm 1 lines 4-6 and 10-13."""
        leaf = self.nodes[at]
        if self.split_test == "schedule" and leaf.rows < self.rows_per_split:
            return
        observed = [cell for cell in leaf.cells.values() if cell.count > 0.0]
        best, second, best_cut = 0.0, 0.0, None
        tables = []  # of each feature, rows of every class and those left of its best cut
        for j in self.allowed(at):
            feature_best, feature_cut = 0.0, None
            columns = [self.column(cell, j) for cell in observed]
            known = [rows for rows, _, _ in columns]
            tables.append((known, [0.0] * len(known)))
            for v in self.candidates(at, j, observed, columns):
                score = self.gain(observed, columns, v)
                if score > feature_best + 1e-12:
                    feature_best, feature_cut = score, (j, v)
                    tables[-1] = (known, [rows * below(v) for rows, below, _ in columns])
            if feature_best > best + 1e-12:
                best, second, best_cut = feature_best, best, feature_cut
                best_table = len(tables) - 1
            else:
                second = max(second, feature_best)
        k_local = len(observed)
        by_class = self.thresholds in ("medians", "gaussian")
        m = max(1, k_local - 1) if by_class else self.n_thresholds
        if best_cut is None:
            return
        if self.bound.startswith("confseq") and self.split_test != "schedule":
            log_term = math.log((self.d * m if self.union_bound else 1) / self.delta)
            total, independent = sum(cell.count for cell in observed), self.bound != "confseq"
            how = (log_term, self.split_test, independent)
            if naive_splits.confseq_fires(total, tables, best_table, *how):
                self.split(at, *best_cut)
            return
        if self.split_test == "schedule":
            self.split(at, *best_cut)
            return
        bound = (self.bound, self.union_bound, self.criterion, k_local)
        eps = radius(leaf.rows, self.d, m, self.delta, *bound)
        statistic = best - second if self.split_test == "gap" else best
        if statistic > eps or eps < self.tie_threshold:
            self.split(at, *best_cut)

    def divide(self, cell: Cell, j: int, v: float) -> tuple[float, float]:
        """Mass of a class known to lie left and right of the cut: Algorithm 2 lines 5, 12, 17."""
        fw, mean = cell.fw[j], cell.mean[j]
        if fw == 0.0:
            return 0.0, 0.0
        if j >= self.n_numeric:
            return (1.0 - mean) * fw, mean * fw
        if self.inheritance == "joint" and cell.sketch is not None and cell.sketch.items(j):
            share = cdf(cell.sketch.items(j), v)
            return share * fw, (1.0 - share) * fw
        var = cell.m2[j] / fw
        left = gaussian_cdf(mean, var, v)
        # The mirrored tail keeps the digits that 1 - Phi would lose.
        right = gaussian_cdf(-mean, var, -v) if var > 0.0 else 1.0 - left
        return left * fw, right * fw

    def split(self, at: int, j: int, v: float) -> None:
        """Turn leaf `at` into a cut of feature j at v with two children: Algorithm 2."""
        leaf = self.nodes[at]
        known: dict[str, dict[int, float]] = {"left": {}, "right": {}}
        for code, cell in leaf.cells.items():
            known["left"][code], known["right"][code] = self.divide(cell, j, v)
        left_is_larger = sum(known["left"].values()) >= sum(known["right"].values())
        larger = "left" if left_is_larger else "right"
        leaf.feature, leaf.threshold = j, v
        leaf.left, leaf.right = len(self.nodes), len(self.nodes) + 1
        for side in ("left", "right"):  # line 1
            child = Node(self.d, self.epoch)
            if self.inheritance is not None:
                for code, cell in leaf.cells.items():  # line 2
                    unknown = max(cell.weight - cell.fw[j], 0.0) if side == larger else 0.0
                    arrived = known[side][code] + unknown
                    weight, fw = self.discount * arrived, self.discount * known[side][code]
                    if (arrived if self.inheritance == "joint" else weight) < 0.5:
                        continue
                    born = self.inherit(cell, j, v, side, weight, fw)
                    child.cells[code] = born
                    if self.inheritance == "joint":
                        born.mass = cell.mass * (arrived / cell.weight)
                        self.inherit_jointly(cell, born, j, v, side)
                        held = sum(c.sketch is not None for c in child.cells.values())
                        most = self.max_classes_per_leaf
                        some = cell.sketch is not None and cell.sketch.n() > 0
                        if some and (most is None or held < most):
                            born.sketch = self.inherit_sketch(cell, born, j, v, side)
                            born.sketch.node, born.sketch.code = len(self.nodes), code
            if not child.cells:  # nothing worth inheriting: keep the class masses until a row comes
                child.prior_only = True
                for code, cell in leaf.cells.items():
                    child.cells[code] = Cell(self.d)
                    child.cells[code].weight, child.cells[code].mass = cell.weight, cell.mass
            else:
                child.mass = sum(cell.mass for cell in child.cells.values())
                child.spread = [sum(c.m2[i] for c in child.cells.values()) for i in range(self.d)]
                child.observed = [sum(c.fw[i] for c in child.cells.values()) for i in range(self.d)]
                for cell in child.cells.values():
                    self.refresh(child, cell)
            self.nodes.append(child)
        leaf.cells = {}  # line 25
        self.splits.append((at, self.order[j], v, self.seen))

    def inherit(self, cell: Cell, j: int, v: float, side: str, weight: float, fw: float) -> Cell:
        """Return a class's cell in a child; fw is its known mass there: Algorithm 2 lines 3-21."""
        child = Cell(self.d)
        child.weight = child.mass = weight
        for i in range(self.d):  # lines 19-21
            child.mean[i] = cell.mean[i]
            child.fw[i] = cell.fw[i] * (weight / cell.weight)
            child.m2[i] = cell.m2[i] * (weight / cell.weight)
        child.fw[j], child.mean[j], child.m2[j] = fw, 0.0, 0.0
        if fw == 0.0:
            return child
        if j >= self.n_numeric:  # line 16
            child.mean[j] = 0.0 if side == "left" else 1.0
            return child
        mean, var = cell.mean[j], cell.m2[j] / cell.fw[j]
        if self.inheritance != "mass":  # lines 6-11
            mean, var = truncated_moments(mean, var, v, side)
        items = cell.sketch.items(j) if cell.sketch is not None else []
        if self.inheritance == "sketch" and items:
            r = cdf(items, v)
            q = r / 2.0 if side == "left" else r + (1.0 - r) / 2.0
            q = min(max(q, 0.01), 0.99)
            mean = quantile(items, q, cell.sketch.low[j], cell.sketch.high[j])
        child.mean[j], child.m2[j] = mean, var * fw
        return child

    def covariance(self, cell: Cell) -> list[list[float]]:
        """Covariance of a class's numeric columns, as if values were missing independently."""
        var = [cell.m2[i] / cell.fw[i] if cell.fw[i] > 0.0 else 0.0 for i in range(self.n_numeric)]
        S = [[0.0] * self.n_numeric for _ in var]
        for i in range(self.n_numeric):
            for k in range(self.n_numeric):
                both = cell.fw[i] * cell.fw[k] / cell.weight
                limit = math.sqrt(var[i]) * math.sqrt(var[k])
                if i == k:
                    S[i][k] = var[i]
                elif both > 0.0 and self.leaf in ("gaussian", "sketch"):
                    S[i][k] = min(max(cell.products[i][k] / both, -limit), limit)
        return S

    def inherit_jointly(self, cell: Cell, born: Cell, j: int, v: float, side: str) -> None:
        """Change all numeric columns as column j says, by their covariance with it."""
        scale = born.weight / cell.weight
        born.products = [[p * scale for p in row] for row in cell.products]
        if j >= self.n_numeric or self.leaf == "majority" or born.fw[j] == 0.0:
            return
        mean, var = born.mean[j], born.m2[j] / born.fw[j]
        items = cell.sketch.items(j) if cell.sketch is not None else []
        kept = [(x, w) for x, w in items if (x <= v) == (side == "left")]
        if len(kept) >= 4:
            total = sum(w for _, w in kept)
            mean = sum(x * w for x, w in kept) / total
            var = sum((x - mean) ** 2 * w for x, w in kept) / total
        S = self.covariance(cell)
        slope = [S[i][j] / S[j][j] if S[j][j] > 0.0 else 0.0 for i in range(self.n_numeric)]
        for i in range(self.n_numeric):
            if born.fw[i] > 0.0:
                born.mean[i] = cell.mean[i] + slope[i] * (mean - cell.mean[j])
            for k in range(self.n_numeric):
                S[i][k] -= slope[i] * (slope[k] * (S[j][j] - var)) if i != j or k != j else 0.0
        for i in range(self.n_numeric):
            born.m2[i] = max(S[i][i], 0.0) * born.fw[i]
            for k in range(self.n_numeric):
                born.products[i][k] = S[i][k] * born.fw[i] * born.fw[k] / born.weight
        born.mean[j], born.m2[j] = mean, var * born.fw[j]

    def inherit_sketch(self, cell: Cell, born: Cell, j: int, v: float, side: str) -> Sketch:
        """Cut column j and weight the values of the others by how probable this side is."""
        old, S = cell.sketch, self.covariance(cell)
        new = self.new_sketch(0, 0)
        new.low, new.high = list(old.low), list(old.high)
        total = old.n() * (born.weight / cell.weight)
        level, room = 0, new.capacity(0)
        while total / 2**level > room - 1:
            level += 1
            room += max(8, math.floor(self.sketch_size * (2.0 / 3.0) ** level + 0.5))
        m = max(1, round(total / 2**level))
        columns = []
        for i in range(self.n_numeric):
            items = old.items(i)
            share = sum(w for _, w in items) / old.n()
            if j < self.n_numeric:
                slope = S[i][j] / S[i][i] if S[i][i] > 0.0 else 0.0
                rest = max(S[j][j] - slope * S[i][j], 1e-6 * S[j][j])
                if i == j:
                    items = [(x, w) for x, w in items if (x <= v) == (side == "left")]
                    share = born.fw[j] / born.weight
                    if not items:
                        new.low[j], new.high[j] = math.inf, -math.inf
                    elif side == "left":
                        new.high[j] = min(new.high[j], to_single(v) if new.single else v)
                    else:
                        new.low[j] = items[0][0]
                else:
                    weighted = []
                    for x, w in items:
                        away = v - cell.mean[j] - slope * (x - cell.mean[i])
                        z = away / math.sqrt(rest) if rest > 0.0 else 0.0
                        weighted.append((x, w * float(ndtr(z if side == "left" else -z))))
                    items = weighted
            column = [math.inf] * m
            reached = list(accumulate(w for _, w in items))
            if reached and reached[-1] > 0.0:
                n = round(share * m)
                for q in range(n):
                    target = (q + 0.5) / n * reached[-1]
                    column[q] = next(
                        x for (x, _), upto in zip(items, reached, strict=True) if upto >= target
                    )
            columns.append(column)
        new.levels = [[] for _ in range(level)] + [
            [list(row) for row in zip(*columns, strict=True)]
        ]
        if not columns:
            new.levels[level] = [[] for _ in range(m)]
        return new

    # -- prediction ----------------------------------------------------------------------------

    def scores(self, leaf: Node, x: Sequence[float]) -> dict[int, float]:
        """Log prior plus log likelihood of each class at a leaf: Eq. 5 and Algorithm 3."""
        scores = {}
        for code, cell in leaf.cells.items():
            score = math.log(cell.mass + 1.0)  # line 2
            if not leaf.prior_only and self.leaf != "majority":
                for j in range(self.d):
                    if math.isnan(x[j]):
                        continue
                    if j >= self.n_numeric:  # lines 4-6
                        score += math.log(cell.prec[j] if x[j] == 1.0 else cell.zero[j])
                    elif self.leaf == "gaussian":
                        score += self.gaussian_term(cell, j, x[j])
                    else:
                        score += self.sketch_term(cell, j, x[j])
            scores[code] = score
        return scores

    @staticmethod
    def gaussian_term(cell: Cell, j: int, x: float) -> float:
        """Log Gaussian density of x up to a constant (Section 3.2)."""
        prec = cell.prec[j]
        if prec == 0.0:
            return 0.0
        square = prec * (x - cell.mean[j]) ** 2 if prec > 0.0 else 1.0
        return 0.5 * math.log(abs(prec)) - 0.5 * square

    def sketch_term(self, cell: Cell, j: int, x: float) -> float:
        """Log sketch density of x, lengths in units of the running deviation: Eq. 5."""
        sigma = math.sqrt(self.run_var(j))
        if sigma == 0.0:
            return 0.0
        sketch = cell.sketch
        items = sketch.items(j) if sketch is not None and sketch.n() >= 20 else []
        if not items or sketch.low[j] == sketch.high[j]:
            unit = math.log(sigma) if cell.prec[j] != 0.0 else 0.0
            return self.gaussian_term(cell, j, x) - 0.5 * LOG_2PI + unit
        low, high = sketch.low[j], sketch.high[j]
        if sketch.single:
            x = to_single(x)
        r = cdf(items, x)
        above = quantile(items, min(r + 0.25, 1.0), low, high)
        below = quantile(items, max(r - 0.25, 0.0), low, high)
        spacing = max(above, x) - min(below, x)  # reaches to x outside all values
        if spacing <= 0.0:
            spacing = self.smoothing * sigma
        h = self.bandwidth * spacing  # line 8
        inside = cdf(items, x + h) - cdf(items, x - h)  # line 9
        return math.log((inside + self.smoothing) / (2.0 * h / sigma + self.smoothing))  # line 10

    def predict_proba(self, x: Sequence[float]) -> dict[Hashable, float]:
        """Return the probability of every label learnt so far: Algorithm 3 line 15."""
        if not self.nodes:
            return {}
        row = [float(x[c]) for c in self.order]
        scores = self.scores(self.nodes[self.route(row)], row)
        top = max(scores.values())
        parts = {code: math.exp(score - top) for code, score in scores.items()}
        total = sum(parts.values())
        return {label: parts.get(code, 0.0) / total for code, label in enumerate(self.labels)}

    def predict(self, x: Sequence[float]) -> Hashable | None:
        """Return the most probable label, None before any row: Algorithm 1 line 8."""
        proba = self.predict_proba(x)
        if not proba:
            return None
        top = max(proba.values())
        return min(label for label, p in proba.items() if p == top)

    def apply(self, x: Sequence[float]) -> int:
        """Return the id of the leaf that answers for x."""
        return self.route([float(x[c]) for c in self.order]) if self.nodes else 0
