"""Simulated leaves, and the decisions of the split tests on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import naive
from mist_bench.record import Record
from mist_paper.exhibit import Scope
from mist_paper.theory.coverage import (
    BOUNDS,
    CASES,
    DELTAS,
    ITEM,
    many_looks,
    one_look,
    own_thresholds,
)
from mist_paper.theory.leaves import Case, columns, draw_counts, gini_gains

GAP, GAIN = 0, 1
MCDIARMID, HOEFFDING = BOUNDS.index("mcdiarmid"), BOUNDS.index("hoeffding")


def test_gains_are_the_twins():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5):
        known = rng.integers(1, 30, k)
        left = rng.integers(0, known[:, None] + 1, (k, 4))
        left[:, 0], left[:, 1] = 0, known  # all on one side
        expected = [naive.gini_gain(column, known.tolist()) for column in left.T.tolist()]
        got = gini_gains(np.tile(known, (3, 1)), np.tile(left, (3, 1, 1)))
        np.testing.assert_allclose(got, np.tile(expected, (3, 1)), atol=1e-14)


def test_gains_of_a_case_are_those_of_many_rows():
    for case in CASES.values():
        known, left = draw_counts(case, 400_000, 400_000, np.random.default_rng(1))
        np.testing.assert_allclose(gini_gains(known, left)[0], case.gains(), atol=0.004)


def test_counts_grow_from_look_to_look_and_follow_the_shares():
    shares = columns(4, (0.8, 0.2), (0.5, 0.5))
    known, left = draw_counts(Case("", shares), 50_000, 500, np.random.default_rng(2))
    assert (known.sum(axis=1) == 500 * np.arange(1, 101)).all()
    assert (np.diff(known, axis=0) >= 0).all()
    assert (np.diff(left, axis=0) >= 0).all()
    np.testing.assert_allclose(left[-1] / known[-1][:, None], shares, atol=0.02)
    known, _ = draw_counts(Case("", shares, incremental=True), 1000, 100, np.random.default_rng(3))
    assert known[4, 2:].sum() == 0.0  # the first two classes come first
    assert known[-1].min() > 0.0


def test_opposite_columns_do_not_lie_left_together():
    case = Case("", columns(2, (0.5, 0.5), (0.5, 0.5)), opposite=True)
    known, left = draw_counts(case, 1000, 1000, np.random.default_rng(4))
    assert left.sum(axis=2).tolist() == known.tolist()


def test_only_the_single_best_column_is_right_by_the_gap():
    assert CASES["equal-2"].right("gap").tolist() == [False, False]
    assert CASES["small-10"].right("gap").tolist() == [True, False]
    assert CASES["equal-2"].right("gain").tolist() == [True, True]
    assert CASES["noise"].right("gain").tolist() == [False] * 20


@pytest.mark.parametrize("name", ["small-2", "large-10", "among-noise"])
def test_one_look_counts_what_the_twin_counts(name):
    n, leaves, seed = 3000, 40, 5
    case = CASES[name]
    k, d = case.shares.shape
    rng = np.random.default_rng(seed)
    known = rng.multinomial(n, np.full(k, 1 / k), leaves)
    left = rng.binomial(known[..., None], case.shares)
    split, lesser = np.zeros((2, 3, 2, 2), int), np.zeros((2, 3, 2, 2), int)
    for of_class, counts in zip(known.tolist(), left, strict=True):
        gains = [naive.gini_gain(column, of_class) for column in counts.T.tolist()]
        first, second = sorted(gains)[:-3:-1]
        for index in np.ndindex(2, 3, 2, 2):
            statistic, bound, tied, a = index
            eps = naive.radius(n, d, 1, DELTAS[a], BOUNDS[bound])
            value = first - second if statistic == GAP else first
            if value > eps or (tied and eps < 0.05):
                split[index] += 1
                lesser[index] += case.gains()[int(np.argmax(gains))] < case.gains().max() - 1e-9
    got = one_look(name, n, leaves, seed)
    assert got["split"] == split.tolist()
    assert got["lesser"] == lesser.tolist()
    assert 0 < split.sum() < split.size * leaves


def test_the_last_of_many_looks_counts_only_if_none_before_it_did():
    rows, leaves, seed = 2000, 6, 7
    case = CASES["equal-2"]
    split = np.zeros((2, 3, 2, 2), int)
    for child in np.random.SeedSequence(seed).spawn(leaves):
        known, left = draw_counts(case, rows, 200, np.random.default_rng(child))
        for index in np.ndindex(2, 3, 2, 2):
            statistic, bound, tied, a = index
            for look, gains in enumerate(gini_gains(known, left)):
                eps = naive.radius(200.0 * (look + 1), 2, 1, DELTAS[a], BOUNDS[bound])
                gap = abs(gains[0] - gains[1])
                if (gap if statistic == GAP else gains.max()) > eps or (tied and eps < 0.05):
                    split[index] += 1
                    break
    assert many_looks("equal-2", rows, leaves, seed)["split"] == split.tolist()
    assert 0 < split.sum() < split.size * leaves


def test_mcdiarmid_keeps_the_level_and_hoeffding_does_not():
    got = many_looks("equal-2", 10_000, 60, 8)
    wrong = np.array(got["wrong"])
    most = 60 * 0.1 + 3 * math.sqrt(60 * 0.1 * 0.9)
    assert wrong[GAP, MCDIARMID, 0, 0] <= most < wrong[GAP, HOEFFDING, 0, 0]
    # The tie rule splits among columns with equal gains.
    assert wrong[GAP, HOEFFDING, 1].tolist() == [60, 60]
    assert not wrong[GAIN].any()
    noise = np.array(one_look("noise", 100_000, 50, 9)["wrong"])
    assert not noise[:, MCDIARMID, 0].any()
    assert (noise[:, MCDIARMID, 1, 0] == 50).all()


def test_the_radius_is_far_above_the_deviations():
    got = one_look("equal-2", 5000, 500, 10)
    assert got["gap_deviation"][0] < 0.3 * got["radii"][MCDIARMID][0]
    assert got["deviation"][0] < 0.5 * got["radii"][MCDIARMID][0] / 2
    assert got["gap_deviation"][1] > got["gap_deviation"][0] > 0.0


def test_too_many_wrong_leaves_fail():
    scope = Scope.quick()
    plan = [
        experiment for experiment in ITEM.plan(scope) if experiment.function.endswith("one_look")
    ]
    once = [experiment for experiment in plan if dict(experiment.arguments)["case"] == "equal-2"]
    result = one_look("equal-2", 200, 100, 0)

    def verdicts(wrong: int) -> list[str]:
        bad = {**result, "wrong": np.full((2, 3, 2, 2), wrong).tolist()}
        tables = ITEM.show(scope, {t: Record(t, result=bad) for t in once}).tables
        return [row[-2] for row in tables[0].rows]

    assert verdicts(0) == ["holds", "holds", "no guarantee"]
    assert verdicts(20) == ["fails", "fails", "no guarantee, above delta"]


def test_gains_at_own_thresholds_deviate_as_a_slow_count_says():
    got = own_thresholds(3, 1.0, 150, 1, 11)
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 150)
    x = rng.normal(size=150) + y
    medians = sorted(np.quantile(x[y == c], 0.5, method="inverted_cdf") for c in range(3))
    known, worst = np.bincount(y).tolist(), 0.0
    for v in (np.mean(medians[:2]), np.mean(medians[1:])):
        left = [int(np.sum(x[y == c] <= v)) for c in range(3)]
        parts = [norm.cdf(v - c) / 3 for c in range(3)]
        true = naive.gini_gain(parts, [1 / 3] * 3)
        worst = max(worst, abs(naive.gini_gain(left, known) - true))
    assert got["deviation"][0] == pytest.approx(worst)
    assert got["radius"][1] == pytest.approx(naive.radius(150, 1, 2, 0.01) / 2)
    assert got["beyond"] == [0, 0]
