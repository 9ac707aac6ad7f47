"""What a child inherits, compared with the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from mist_paper.theory import variance
from mist_paper.theory.variance import (
    SCENARIOS,
    child_errors,
    child_truth,
    class_variance,
    mean_variance,
)


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_truth_is_that_of_many_rows(scenario):
    X, y = variance._draw_rows(scenario, 400_000, np.random.default_rng(0))
    assert X.std(axis=0) == pytest.approx(np.sqrt(1 + 0.49 * 0.61), rel=0.01)
    left = X[:, 0] <= 2.0
    shares, means = child_truth(scenario)
    np.testing.assert_allclose(np.bincount(y[left]) / left.sum(), shares, atol=0.005)
    for c in range(3):
        np.testing.assert_allclose(X[left & (y == c)].mean(axis=0), means[:, c], atol=0.02)


def test_a_child_has_alpha_times_its_part_and_not_alpha_times_the_parent():
    for rows in (0, 10):
        got = class_variance(0.6, 400, rows, 50_000, 1)
        assert got["inherited"] == pytest.approx(0.6 * 200)
        total = got["inherited"] + rows
        assert got["exact"] == pytest.approx(1 / (4 * (total + 1)))
        assert got["drawn"] == pytest.approx(got["exact"], rel=0.05)
        assert got["stated"] < got["exact"] <= got["own"]
    assert class_variance(0.6, 400, 1000, 1000, 1)["exact"] < got["stated"]


def test_variance_of_a_mean_is_that_of_student():
    got = mean_variance(0.6, 50, 400_000, 2)
    assert got["stated"] == pytest.approx(student(30, scale=np.sqrt(1 / 30)).var())
    assert abs(got["error"]) < 4
    assert got["half"] == pytest.approx(1 / 13, rel=0.05)


def test_errors_are_those_of_means_and_shares():
    got = child_errors("skewed", 300, 1, 3)
    rng = np.random.default_rng(np.random.SeedSequence(3).spawn(1)[0])
    variance._draw_rows("skewed", 300, rng)
    X, y = variance._draw_rows("skewed", 1500, rng)
    left = X[3:, 0] <= 2.0
    X, y = X[3:][left], y[3:][left]
    shares, means = child_truth("skewed")
    for i, rows in enumerate((0, 1, 5, 20, 100, 500)):
        if rows == 0:
            assert got["split"]["errors"][0] is got["other"]["gain"][0] is None
            continue
        counts = np.bincount(y[:rows], minlength=3)
        mine = [X[:rows][y[:rows] == c].mean(axis=0) - means[:, c] for c in np.flatnonzero(counts)]
        split, other = (np.array(mine) ** 2).mean(axis=0)
        assert got["split"]["errors"][i][0] == pytest.approx(split)
        assert got["other"]["errors"][i][0] == pytest.approx(other)
        smoothed = (counts + 1) / (rows + 3)
        assert got["classes"]["errors"][i][0] == pytest.approx(((smoothed - shares) ** 2).mean())
        errors = got["split"]["errors"][i]
        assert got["split"]["gain"][i] == pytest.approx(errors[0] - errors[2])


def test_inheritance_helps_where_its_assumptions_hold_and_harms_where_not():
    good = child_errors("independent", 1000, 25, 4)
    for key in ("split", "other", "classes"):
        assert all(e[2] < e[0] for e in good[key]["errors"] if e is not None)
    skewed = child_errors("skewed", 1000, 25, 5)["split"]
    assert skewed["errors"][1][2] < skewed["errors"][1][0]
    assert skewed["gain"][-1] + 3 * skewed["gain_error"][-1] < 0
    correlated = child_errors("correlated", 1000, 25, 6)["other"]
    assert correlated["gain"][-1] + 3 * correlated["gain_error"][-1] < 0
