"""Integration of truncated Gaussians, against another library and against wrong moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from mist_paper.theory import truncation
from mist_paper.theory.truncation import (
    drawn_moments,
    integrated_moments,
    moment_errors,
    wrong_sign,
)


@pytest.mark.parametrize("zeta", [-4.0, -1.5, 0.0, 0.7, 3.0, 8.0])
def test_integrals_are_those_of_scipy(zeta):
    distance, variance = integrated_moments(zeta)
    mean, expected = truncnorm.stats(-np.inf, zeta, moments="mv")
    assert zeta - distance == pytest.approx(float(mean), abs=1e-8)
    assert variance == pytest.approx(float(expected), rel=1e-6)


def test_integrals_follow_the_series_in_the_tail():
    for z in (15.0, 40.0):
        distance, variance = integrated_moments(-z)
        assert distance == pytest.approx(1 / z - 2 / z**3 + 10 / z**5, rel=80 / z**6)
        assert variance == pytest.approx(1 / z**2 - 6 / z**4 + 50 / z**6, rel=600 / z**6)
    assert integrated_moments(40.0) == pytest.approx((40.0, 1.0), rel=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("low", "high", "most"), [(0.0, 5.0, 1e-11), (5.0, 40.0, 1e-8)])
def test_moments_are_accurate_up_to_40_deviations(side, low, high, most):
    errors = moment_errors(side, low, high, 6)
    assert len(errors["zeta"]) == 12
    assert min(errors["zeta"]) == -high
    assert max(errors["mean"]) < most
    assert max(errors["variance"]) < most
    assert errors["shrinks"]


def test_wrong_moments_are_seen(monkeypatch):
    right = truncation.truncated_moments

    def wrong(mean, variance, v, left):
        kept_mean, kept_variance = right(mean, variance, v, left)
        return kept_mean, kept_variance * (1.0 if left else 1.001)

    monkeypatch.setattr(truncation, "truncated_moments", wrong)
    assert max(moment_errors("left", 0.0, 2.0, 3)["variance"]) < 1e-10
    assert max(moment_errors("right", 0.0, 2.0, 3)["variance"]) > 9e-4


def test_values_drawn_agree():
    got = drawn_moments(200_000, 1)
    for side in ("left", "right"):
        for key in ("mean", "variance"):
            assert max(abs(z) for z in got[side][key]) < 4.5
            assert np.std(got[side][key]) > 0.1
    middle = got["zeta"].index(0.0)
    assert got["left"]["kept"][middle] + got["right"]["kept"][middle] == 200_000


def test_the_remark_on_the_sign():
    got = wrong_sign()
    assert got["at_zero"] == pytest.approx(1 - 2 / np.pi)  # the paper has 0.84
    assert got["at_zero"] == pytest.approx(got["correct_at_zero"])
    zeta = got["negative_from"]
    hazard = norm.pdf(zeta) / norm.sf(zeta)
    assert 1 - zeta * hazard - hazard**2 == pytest.approx(0.0, abs=1e-9)
    assert got["largest_below"] > 1.2
