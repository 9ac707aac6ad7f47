"""The betting martingale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_splits
from mist.engine.betting import BETS, LEAST, MOST, bet, wealth

scores = st.lists(st.floats(-1.0, 1.0), max_size=60)


def capital_after(rows) -> np.ndarray:
    capital = np.ones(len(BETS))
    for x in rows:
        bet(capital, x)
    return capital


@settings(deadline=None)  # the first call compiles
@given(scores)
def test_wealth_equals_the_twins(rows):
    assert wealth(capital_after(rows)) == pytest.approx(naive_splits.wealth(rows), rel=1e-12)


@settings(deadline=None)
@given(scores, st.floats(0.0, 1.0))
def test_a_row_without_advantage_leaves_the_expected_wealth_as_it_is(rows, x):
    capital = capital_after(rows)
    won, lost = capital.copy(), capital.copy()
    bet(won, x)
    bet(lost, -x)
    assert 0.5 * (wealth(won) + wealth(lost)) == pytest.approx(wealth(capital), rel=1e-12)


def test_wealth_seldom_exceeds_ten_without_advantage():
    rng = np.random.default_rng(1)
    fired = 0
    for _ in range(200):
        capital = np.ones(len(BETS))
        for x in rng.choice([-1.0, 1.0], 1000):
            bet(capital, x)
            if wealth(capital) > 10.0:
                fired += 1
                break
    assert 0 < fired < 20 + 3 * math.sqrt(200 * 0.1 * 0.9)  # three standard deviations above


@pytest.mark.parametrize(("x", "end"), [(1.0, MOST), (-1.0, LEAST)])
def test_capital_stays_finite_and_can_come_back(x, end):
    capital = np.ones(len(BETS))
    for _ in range(20_000):
        bet(capital, x)
    assert (capital == end).all()
    bet(capital, -x)
    assert np.isfinite(capital).all()
    assert ((capital < end) if x > 0 else (capital > end)).all()
