"""The naive twin against facts that are more obvious still."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from naive import (
    NaiveMist,
    Sketch,
    cdf,
    draw,
    gini_gain,
    info_gain,
    mix,
    quantile,
    radius,
    truncated_moments,
    uniform,
)

NAN = math.nan
EAGER = {"grace_period": 20, "split_test": "gain", "union_bound": False, "delta": 0.5}


def new_sketch(k: int = 64, n_columns: int = 1, seed: int = 0) -> Sketch:
    return Sketch(k, n_columns, seed, node=0, code=0)


def learn(model: NaiveMist, X, y, weights=None) -> NaiveMist:
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        model.learn_row(list(x), label, 1.0 if weights is None else weights[i])
    return model


def blobs(n: int, seed: int, centres: list[list[float]]) -> tuple[list[list[float]], list[str]]:
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        c = rng.randrange(len(centres))
        X.append([rng.gauss(m, 1.0) for m in centres[c]])
        y.append("abcdefgh"[c])
    return X, y


# -- random numbers ------------------------------------------------------------------------------


def test_mix_gives_the_published_splitmix64_outputs():
    # First outputs of SplitMix64 started at 1234567: state i is the seed plus i golden gammas.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [mix(1234567 + i * 0x9E3779B97F4A7C15 & (1 << 64) - 1) for i in range(3)] == expected


def test_draw_depends_on_every_counter():
    keys = [(0, 1, 2, 3, 4), (9, 1, 2, 3, 4), (0, 9, 2, 3, 4), (0, 1, 9, 3, 4), (0, 1, 2, 9, 4)]
    assert len({draw(*key) for key in [*keys, (0, 1, 2, 3, 9)]}) == 6


def test_uniform_is_uniform():
    u = sorted(uniform(0, 2, 0, 0, i) for i in range(4000))
    assert u[0] >= 0.0
    assert u[-1] < 1.0
    assert max(abs(x - i / 4000) for i, x in enumerate(u)) < 1.63 / math.sqrt(4000)  # KS at 1 %


# -- sketch --------------------------------------------------------------------------------------


def test_sketch_weights_sum_to_n_and_extremes_are_exact():
    rng = random.Random(1)
    sketch = new_sketch(k=8, n_columns=2)
    rows = [[rng.gauss(0, 1), rng.expovariate(1)] for _ in range(3000)]
    for n, row in enumerate(rows, start=1):
        sketch.insert(row, 1)
        assert sketch.n() == n
        assert sum(w for _, w in sketch.items(1)) == n
    for j in range(2):
        assert sketch.low[j] == min(row[j] for row in rows)
        assert sketch.high[j] == max(row[j] for row in rows)


@pytest.mark.parametrize("order", ["random", "rising", "falling"])
def test_rank_error_is_small(order):
    rng = random.Random(2)
    values = [rng.gauss(0, 1) for _ in range(5000)]
    if order != "random":
        values.sort(reverse=order == "falling")
    sketch = new_sketch()
    for v in values:
        sketch.insert([v], 1)
    items = sketch.items(0)
    ranked = sorted(values)
    worst = max(abs(cdf(items, v) - (i + 1) / 5000) for i, v in enumerate(ranked))
    assert worst < 0.05
    assert sum(map(len, sketch.levels)) < 300


def test_small_sketch_is_exact():
    values = [3.0, 1.0, 2.0, 2.0]
    sketch = new_sketch()
    for v in values:
        sketch.insert([v], 1)
    items = sketch.items(0)
    assert [cdf(items, v) for v in (0.5, 1.0, 2.0, 2.5, 3.0)] == [0.0, 0.25, 0.75, 0.75, 1.0]
    assert [quantile(items, q, 1.0, 3.0) for q in (0.0, 0.25, 0.26, 0.5, 0.76, 1.0)] == [
        1.0,
        1.0,
        2.0,
        2.0,
        3.0,
        3.0,
    ]


@pytest.mark.parametrize("m", [8, 9])
def test_compaction_keeps_every_second_row(m):
    starts = set()
    for seed in range(20):
        sketch = new_sketch(k=8, seed=seed)
        sketch.levels = [[[float(v)] for v in range(m, 0, -1)]]
        sketch.compact()
        lifted = [row[0] for row in sketch.levels[1]]
        starts.add(lifted[0])
        assert len(lifted) == m // 2
        assert all(b - a == 2.0 for a, b in pairwise(lifted))
        assert sketch.levels[0] == ([[float(m)]] if m % 2 else [])
        assert sketch.n() == m
    assert starts == {1.0, 2.0}


def test_columns_are_sorted_on_their_own():
    sketch = new_sketch(k=8, n_columns=2)
    for i in range(8):
        sketch.insert([float(i), float(-i)], 1)
    first, second = ([x for x, _ in sketch.items(j)] for j in range(2))
    assert first == sorted(first)
    assert first[0] - second[0] == 7.0  # the same position of both columns was kept


def test_copies_weigh_as_much_as_repeated_rows():
    rng = random.Random(3)
    sketch, total = new_sketch(k=16), 0
    for _ in range(200):
        copies = rng.randrange(0, 14)
        sketch.insert([rng.random()], copies)
        total += copies
        assert sketch.n() == total
    sketch = new_sketch()
    sketch.insert([1.0], 5)
    sketch.insert([2.0], 0)
    assert sketch.items(0) == [(1.0, 1), (1.0, 4)]
    assert sketch.high == [1.0]


def test_missing_values_have_no_rank():
    sketch = new_sketch(n_columns=2)
    for v in (1.0, NAN, 3.0, NAN):
        sketch.insert([v, NAN], 1)
    assert sketch.items(0) == [(1.0, 1), (3.0, 1)]
    assert sketch.items(1) == []
    assert sketch.n() == 4
    assert (sketch.low, sketch.high) == ([1.0, math.inf], [3.0, -math.inf])


# -- truncated moments ---------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("zeta", [-8.0, -3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 4.0, 8.0])
def test_truncated_moments_match_integration(zeta, side):
    mean, sd = 1.5, 0.7
    # In units of z, scaled by the density at the nearest point of the kept side to stay in range.
    low, high = (zeta - 12.0, zeta) if side == "left" else (zeta, zeta + 12.0)
    if side == "left" and zeta > 0.0:
        low = -12.0
    if side == "right" and zeta < 0.0:
        high = 12.0
    peak = norm.logpdf(min(max(0.0, low), high))

    def moment(power: int, centre: float) -> float:
        return quad(
            lambda z: (z - centre) ** power * math.exp(norm.logpdf(z) - peak),
            low,
            high,
            epsabs=1e-13,
            epsrel=1e-12,
            limit=400,
            points=[min(max(p, low), high) for p in (-3.0, 0.0, 3.0)],
        )[0]

    mass = moment(0, 0.0)
    centre = moment(1, 0.0) / mass
    var = moment(2, centre) / mass
    got_mean, got_var = truncated_moments(mean, sd**2, mean + zeta * sd, side)
    assert got_mean == pytest.approx(mean + sd * centre, abs=1e-9)
    assert got_var == pytest.approx(sd**2 * var, rel=1e-8)


@pytest.mark.parametrize("zeta", [10.0, 20.0, 40.0])
def test_truncated_moments_far_in_the_tail(zeta):
    # Far out the tail is nearly exponential; the series of Mills' ratio gives mean and variance.
    mean, var = truncated_moments(0.0, 1.0, zeta, "right")
    assert mean == pytest.approx(zeta + 1 / zeta - 2 / zeta**3 + 10 / zeta**5, abs=80 / zeta**7)
    assert var == pytest.approx(1 / zeta**2 - 6 / zeta**4 + 50 / zeta**6, abs=600 / zeta**8)
    mirrored = truncated_moments(0.0, 1.0, -zeta, "left")
    assert mirrored == (-mean, var)
    assert truncated_moments(0.0, 1.0, zeta, "left") == pytest.approx((0.0, 1.0), abs=1e-20)


def test_truncated_moments_without_variance():
    assert truncated_moments(2.0, 0.0, 1.0, "right") == (2.0, 0.0)


# -- gain and radius -----------------------------------------------------------------------------


def brute_gain(sample: list[tuple[bool, str]], criterion: str) -> float:
    def impurity(labels: list[str]) -> float:
        if criterion == "gini":  # chance that two draws (with replacement) differ
            return sum(a != b for a in labels for b in labels) / len(labels) ** 2
        shares = [c / len(labels) for c in Counter(labels).values()]
        return sum(p * math.log(1.0 / p, 2) for p in shares)

    left = [label for is_left, label in sample if is_left]
    right = [label for is_left, label in sample if not is_left]
    everyone = left + right
    parts = [part for part in (left, right) if part]
    after = sum(len(part) / len(everyone) * impurity(part) for part in parts)
    return impurity(everyone) - after


@pytest.mark.parametrize(("criterion", "gain"), [("gini", gini_gain), ("info_gain", info_gain)])
def test_gain_matches_counting_labels(criterion, gain):
    rng = random.Random(4)
    for _ in range(30):
        size = rng.randrange(2, 40)
        sample = [(rng.random() < 0.4, rng.choice("aabc")) for _ in range(size)]
        left = [sum(is_left and c == label for is_left, c in sample) for label in "abcd"]
        total = [sum(c == label for _, c in sample) for label in "abcd"]
        assert gain(left, total) == pytest.approx(brute_gain(sample, criterion), abs=1e-12)


def test_gain_of_known_cuts():
    assert gini_gain([5, 0], [5, 5]) == pytest.approx(0.5)
    assert info_gain([5, 0], [5, 5]) == pytest.approx(1.0)
    assert gini_gain([2, 2], [4, 4]) == pytest.approx(0.0)
    assert gini_gain([4, 4], [4, 4]) == gini_gain([0, 0], [4, 4]) == gini_gain([0], [0]) == 0.0


def test_radius_values():
    # 32 ln(2 * 10 * 5 / 0.1) / 1000 = 32 * 6.907755 / 1000
    assert radius(1000, 10, 5, 0.1) == pytest.approx(0.4701575, abs=1e-6)
    # 32 ln(10) / 200 = 0.3684136
    assert radius(200, 10, 5, 0.1, union_bound=False) == pytest.approx(0.6069709, abs=1e-6)
    # ln(10) / 400 = 0.005756463, its root 0.07587136
    assert radius(200, 10, 5, 0.1, "rutkowski") == pytest.approx(8 * 0.07587136, abs=1e-6)
    assert radius(200, 10, 5, 0.1, "hoeffding") == pytest.approx(0.07587136, abs=1e-7)
    by_entropy = {"criterion": "info_gain", "bound": "hoeffding"}
    assert radius(200, 10, 5, 0.1, k_local=8, **by_entropy) == pytest.approx(3 * 0.07587136)
    assert radius(200, 10, 5, 0.1, k_local=1, **by_entropy) == pytest.approx(0.07587136)
    with pytest.raises(ValueError, match="chernoff"):
        radius(200, 10, 5, 0.1, "chernoff")


# -- the tree ------------------------------------------------------------------------------------


def test_untrained_tree_has_no_answer():
    model = NaiveMist()
    model.learn_row([1.0], "a", 0.0)
    assert model.predict([1.0]) is None
    assert model.predict_proba([1.0]) == {}
    assert model.labels == []


@pytest.mark.parametrize(
    "options",
    [{"leaf": "sketch", "thresholds": "gaussian"}, {"criterion": "info_gain"}],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match=next(reversed(options))):
        NaiveMist(**options)


@pytest.mark.parametrize("prior", [0.1, 1.0, 30.0])
def test_unsplit_tree_is_gaussian_naive_bayes(prior):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = learn(NaiveMist(grace_period=1000, variance_prior=prior), X.tolist(), y.tolist())
    reference = GaussianNB().fit(X, y)
    root = model.nodes[0]
    for code, label in enumerate(model.labels):
        cell = root.cells[code]
        assert cell.mean == pytest.approx(reference.theta_[label].tolist(), rel=1e-9)
        assert [m2 / cell.count for m2 in cell.m2] == pytest.approx(
            np.var(X[y == label], axis=0).tolist(), rel=1e-9
        )
        assert cell.count == reference.class_count_[label]
    assert model.splits == []
    answers = [model.predict(x) for x in X.tolist()]
    assert np.mean(answers == reference.predict(X)) > 0.98
    # The same numbers, with the variances the method smooths towards the pooled ones.
    within = [sum(np.var(X[y == c, j]) * 50 for c in range(3)) / 150 for j in range(4)]
    reference.var_ = np.array(
        [
            [
                (np.var(X[y == c, j]) * 50 + prior * within[j]) / (50 + prior)
                + 1e-9 * np.var(X[:, j])
                for j in range(4)
            ]
            for c in range(3)
        ]
    )
    expected = reference.predict_proba(X)
    for x, row in zip(X.tolist(), expected, strict=True):
        proba = model.predict_proba(x)
        assert [proba[c] for c in range(3)] == pytest.approx(row.tolist(), abs=1e-9)


def test_weight_two_is_the_row_twice():
    X, y = blobs(60, 5, [[0.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    for leaf in ("gaussian", "sketch", "majority"):
        options = {"leaf": leaf, "grace_period": 1000}
        once = learn(NaiveMist(**options), X, y, [2.0] * len(y))
        twice = learn(
            NaiveMist(**options), [x for x in X for _ in "12"], [c for c in y for _ in "12"]
        )
        for x in X:
            assert once.predict_proba(x) == pytest.approx(twice.predict_proba(x), abs=1e-9)
        assert once.nodes[0].rows == twice.nodes[0].rows == 120


def test_fractional_weights_keep_the_sketch_size_in_mean():
    model = NaiveMist(grace_period=10_000)
    for i in range(2000):
        model.learn_row([float(i % 17)], "a", 0.3)
    cell = model.nodes[0].cells[0]
    assert cell.count == pytest.approx(600.0)
    assert abs(cell.sketch.n() - 600) < 4 * math.sqrt(2000 * 0.3 * 0.7)


@pytest.mark.parametrize("inheritance", ["gaussian", "mass"])
def test_children_obey_total_expectation(inheritance):
    X, y = blobs(400, 6, [[0.0, 0.0], [1.0, 3.0], [4.0, 1.0]])
    model = learn(NaiveMist(grace_period=10_000, inheritance=inheritance, discount=0.9), X, y)
    parent = dict(model.nodes[0].cells)
    model.split(0, 0, 0.4)
    left, right = model.nodes[1], model.nodes[2]
    assert left.mass + right.mass == pytest.approx(0.9 * 400, abs=1.0)  # up to cells below 1/2
    both = [code for code in parent if code in left.cells and code in right.cells]
    assert both
    for code in both:
        whole, a, b = parent[code], left.cells[code], right.cells[code]
        assert a.weight + b.weight == pytest.approx(0.9 * whole.weight)
        for j in range(2):
            total = a.fw[j] + b.fw[j]
            mean = (a.fw[j] * a.mean[j] + b.fw[j] * b.mean[j]) / total
            assert mean == pytest.approx(whole.mean[j])
            between = sum(c.fw[j] * (c.mean[j] - mean) ** 2 for c in (a, b))
            assert a.m2[j] + b.m2[j] + between == pytest.approx(0.9 * whole.m2[j])
        if inheritance == "gaussian":
            assert a.mean[0] < 0.4 < b.mean[0]
        assert (a.count, a.sketch) == (0.0, None)
    for cells in (left.cells.values(), right.cells.values()):
        for j in range(2):
            pooled = sum(c.m2[j] for c in cells) / sum(c.fw[j] for c in cells)
            for c in cells:
                var = (c.m2[j] + pooled) / (c.fw[j] + 1.0) + 1e-9 * model.run_var(j)
                assert c.prec[j] == pytest.approx(1.0 / var)


def test_sketch_inheritance_takes_the_medians_of_the_two_parts():
    model = NaiveMist(grace_period=10_000, inheritance="sketch", discount=1.0)
    for i in range(40):
        model.learn_row([float(i)], "a")
    model.split(0, 0, 19.5)
    assert model.nodes[1].cells[0].mean == [9.0]  # 10th of the 20 smallest
    assert model.nodes[2].cells[0].mean == [29.0]


def test_categorical_split_gives_each_child_its_co_occurrence_count():
    rows = [([1.0, 0.5], "a")] * 6 + [([0.0, 0.1], "a")] * 2 + [([0.0, 0.9], "b")] * 5
    model = NaiveMist(categorical_features=[0], grace_period=100, discount=0.5)
    for x, label in rows:
        model.learn_row(x, label)
    assert model.order == [1, 0]
    model.split(0, 1, 0.5)
    left, right = model.nodes[1], model.nodes[2]
    assert {c: cell.weight for c, cell in left.cells.items()} == pytest.approx({0: 1.0, 1: 2.5})
    assert {c: cell.weight for c, cell in right.cells.items()} == pytest.approx({0: 3.0})
    assert [left.cells[0].mean[1], right.cells[0].mean[1]] == [0.0, 1.0]
    assert model.splits == [(0, 0, 0.5, 13)]
    assert model.apply([0.0, 0.0]) == 1
    assert model.apply([1.0, 0.0]) == 2


def test_missing_values_go_with_the_larger_side():
    model = NaiveMist(grace_period=1000, discount=1.0)
    for i in range(30):
        model.learn_row([float(i % 3), 0.0], "a")
    for _ in range(10):
        model.learn_row([NAN, 1.0], "a")
        model.learn_row([NAN, 1.0], "b")
    model.split(0, 0, 0.5)
    left, right = model.nodes[1], model.nodes[2]
    assert left.mass < right.mass
    assert left.mass + right.mass == pytest.approx(50.0)
    assert [code for code in left.cells] == [0]
    assert right.cells[1].weight == 10.0  # nothing but unknown values, so all of it
    assert right.cells[1].fw == [0.0, 10.0]
    assert model.apply([NAN, 0.0]) == 2
    # Column 0 tells nothing of class b: only the log of the running deviation counts.
    root_var = model.run_var(0)
    assert model.nodes[2].cells[1].prec[0] == pytest.approx(-1.0 / root_var)


def test_without_inheritance_children_know_class_masses_until_their_first_row():
    X, y = blobs(100, 7, [[0.0], [6.0]])
    model = learn(NaiveMist(grace_period=1000, inheritance=None), X, y)
    masses = {model.labels[c]: cell.weight for c, cell in model.nodes[0].cells.items()}
    model.split(0, 0, 3.0)
    expected = {label: (n + 1.0) / 102.0 for label, n in masses.items()}
    for x in ([0.0], [6.0]):
        assert model.predict_proba(x) == pytest.approx(expected)
    assert (model.nodes[1].mass, model.nodes[2].mass) == (0.0, 0.0)
    model.learn_row([0.0], "a")
    assert model.predict_proba([0.0]) == {"a": 1.0, "b": 0.0}
    assert model.predict_proba([6.0]) == pytest.approx(expected)


def test_sketch_term_of_known_ranks():
    model = NaiveMist(leaf="sketch", grace_period=1000, bandwidth=0.25)
    for i in range(32):
        model.learn_row([float(i)], "a")
    # F(10) = 11/32; the quartile window runs from item 2 to item 18, so h = 0.25 * 16 = 4 and
    # F(14) - F(6) = 15/32 - 7/32. The deviation of 0..31 is the root of (32^2 - 1) / 12.
    sigma = math.sqrt((32**2 - 1) / 12)
    expected = math.log((8 / 32 + 1e-3) / (2 * 4 / sigma + 1e-3))
    assert model.sketch_term(model.nodes[0].cells[0], 0, 10.0) == pytest.approx(expected)


@pytest.mark.parametrize("rows", [[1.0, 2.0, 4.0, 5.5], [3.0] * 30])
def test_thin_or_constant_sketches_fall_back_to_the_gaussian(rows):
    model = NaiveMist(leaf="sketch", grace_period=1000)
    for v in rows:
        model.learn_row([v], "a")
    for v in (0.0, 10.0):
        model.learn_row([v], "b")
    sigma = float(np.std([*rows, 0.0, 10.0]))
    n, n_all = len(rows), len(rows) + 2
    spread = np.var(rows) * n
    var = (spread + (spread + 50.0) / n_all) / (n + 1) + 1e-9 * sigma**2
    expected = norm.logpdf(2.5, np.mean(rows), math.sqrt(var)) + math.log(sigma)
    assert model.sketch_term(model.nodes[0].cells[0], 0, 2.5) == pytest.approx(expected)


def test_candidates_of_each_kind():
    def candidates(thresholds: str, groups: list[list[float]]) -> list[float]:
        model = NaiveMist(thresholds=thresholds, n_thresholds=3, grace_period=1000)
        for label, values in enumerate(groups):
            for v in values:
                model.learn_row([v], label)
        cells = list(model.nodes[0].cells.values())
        return model.candidates(0, 0, cells, [model.column(cell, 0) for cell in cells])

    groups = [[1.0, 2.0, 9.0], [4.0, 4.0, 7.0], [2.0], [NAN]]
    assert candidates("medians", groups) == [3.0]
    assert candidates("gaussian", groups) == pytest.approx([3.0, 4.5])
    assert candidates("dense", groups) == [3.0, 5.0, 7.0]
    assert candidates("dense", [[2.0], [2.0, NAN]]) == candidates("sampled", [[NAN]]) == []
    sampled = candidates("sampled", groups)
    assert len(sampled) == 3
    assert set(sampled) <= {1.0, 2.0, 4.0, 7.0, 9.0}
    above = math.nextafter(1.0, 2.0)
    assert candidates("medians", [[1.0], [above]]) == [1.0]  # no float between: keep the lower


def test_equal_columns_only_split_as_a_tie():
    X, y = blobs(1000, 13, [[0.0], [9.0]])
    twins = [[x[0], x[0]] for x in X]
    assert learn(NaiveMist(tie_threshold=0.0), twins, y).splits == []
    tied = learn(NaiveMist(tie_threshold=10.0), twins, y)
    assert [split[1] for split in tied.splits[:1]] == [0]
    assert tied.splits[0][3] == 200  # the first attempt, after one grace period


def test_second_best_counts_even_when_it_comes_first():
    rng = random.Random(14)
    X, y = blobs(1000, 14, [[0.0], [9.0]])
    near = [[x[0] + rng.gauss(0.0, 2.0), x[0]] for x in X]
    far = [[rng.gauss(0.0, 1.0), x[0]] for x in X]
    assert learn(NaiveMist(tie_threshold=0.0), near, y).splits == []
    assert learn(NaiveMist(tie_threshold=0.0), far, y).splits[0][1] == 1


def test_gain_shrinks_with_the_share_of_missing_values():
    X = [[v, NAN if i % 2 else v] for i, v in enumerate([1.0] * 10 + [5.0] * 10)]
    model = learn(NaiveMist(grace_period=1000), X, ["a"] * 10 + ["b"] * 10)
    cells = list(model.nodes[0].cells.values())
    gains = [model.gain(cells, [model.column(c, j) for c in cells], 3.0) for j in range(2)]
    assert gains == pytest.approx([0.5, 0.25])


def test_a_column_that_starts_to_vary_reaches_every_cell_at_once():
    model = NaiveMist(grace_period=10_000)
    for i in range(300):
        model.learn_row([float(i % 7), 1.0], "ab"[i % 2])
    a = model.nodes[0].cells[0]
    assert a.prec[1] == 0.0
    model.learn_row([0.0, 2.0], "b")  # not a learning step at which all cells are due
    assert a.prec[1] > 0.0


def test_ties_go_to_the_label_that_sorts_first():
    model = learn(NaiveMist(leaf="majority"), [[0.0], [0.0], [0.0]], ["c", "b", "a"])
    assert model.predict([0.0]) == "a"


def test_a_node_counts_the_mass_that_passes_it():
    X, y = blobs(600, 8, [[0.0, 0.0], [5.0, 0.0]])
    model = learn(NaiveMist(**EAGER), X, y)
    assert model.splits
    assert model.nodes[0].mass == 600.0
    for node in model.nodes:
        if node.left < 0:
            assert node.mass == pytest.approx(sum(cell.weight for cell in node.cells.values()))


def test_max_leaves_and_max_classes_per_leaf():
    X, y = blobs(900, 9, [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
    free = learn(NaiveMist(**EAGER), X, y)
    bound = learn(NaiveMist(**EAGER, max_leaves=2, max_classes_per_leaf=2), X, y)
    assert len(free.splits) > 1
    assert len(bound.splits) == 1
    for node in bound.nodes:
        assert sum(cell.sketch is not None for cell in node.cells.values()) <= 2


@pytest.mark.parametrize(
    ("leaf", "thresholds"),
    [
        *[(leaf, t) for leaf in ("gaussian", "majority") for t in ("medians", "gaussian")],
        *[(leaf, t) for leaf in ("gaussian", "sketch", "majority") for t in ("dense", "sampled")],
        ("sketch", "medians"),
    ],
)
def test_eager_splitting_keeps_every_class(leaf, thresholds):
    centres = [[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]]
    X, y = blobs(800, 10, centres)
    order = sorted(range(800), key=lambda i: (i // 400, y[i]))  # classes come in blocks
    model = NaiveMist(**EAGER, leaf=leaf, thresholds=thresholds, n_thresholds=5)
    learn(model, [X[i] for i in order], [y[i] for i in order])
    assert len(model.splits) >= 2
    seen, hits = Counter(), Counter()
    for x, label in zip(*blobs(400, 11, centres), strict=True):
        seen[label] += 1
        hits[label] += model.predict(x) == label
    least = 0.7 if leaf == "majority" else 0.9
    assert {label: hits[label] / n > least for label, n in seen.items()} == dict.fromkeys(
        seen, True
    )


@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch", None])
@pytest.mark.parametrize("criterion", ["gini", "info_gain"])
def test_hoeffding_bound_with_missing_values_and_indicators(inheritance, criterion):
    rng = random.Random(12)
    model = NaiveMist(
        grace_period=50,
        bound="hoeffding",
        criterion=criterion,
        inheritance=inheritance,
        categorical_features=[1],
    )
    hits = 0
    for i in range(1000):
        label = rng.choice("abc")
        x = [rng.gauss(4.0 * "abc".index(label), 1.0), float(label == "c"), rng.random()]
        x = [NAN if rng.random() < 0.1 else v for v in x]
        hits += i >= 500 and model.predict(x) == label
        model.learn_row(x, label, rng.choice([0.5, 1.0, 2.5]))
    assert model.splits
    assert {feature for _, feature, _, _ in model.splits} <= {0, 1}
    assert hits / 500 > 0.8
    proba = model.predict_proba([NAN, NAN, NAN])
    assert sum(proba.values()) == pytest.approx(1.0)
