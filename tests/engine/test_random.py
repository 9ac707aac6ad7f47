"""Counter-based random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive
from mist.engine import random
from mist.engine.random import COMPACTION, COPIES, SAMPLED, draw, mix, uniform

GOLDEN = 0x9E3779B97F4A7C15


@pytest.mark.parametrize(
    ("seed", "outputs"),
    [
        # First outputs of the published SplitMix64 generator for these seeds.
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423]),
    ],
)
def test_mix_is_splitmix64(seed, outputs):
    states = [(seed + i * GOLDEN) % 2**64 for i in range(3)]
    assert [int(mix(np.uint64(state))) for state in states] == outputs


def test_draw_and_uniform_equal_the_twins():
    rng = np.random.default_rng(0)
    for _ in range(500):
        seed = int(rng.integers(0, 2**63))
        tag = int(rng.choice([COMPACTION, COPIES, SAMPLED]))
        a, b, c = (int(rng.integers(0, 2 ** int(rng.integers(1, 40)))) for _ in range(3))
        assert int(draw(seed, tag, a, b, c)) == naive.draw(seed, tag, a, b, c)
        assert uniform(seed, tag, a, b, c) == naive.uniform(seed, tag, a, b, c)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_ends_of_the_seeds(seed):
    assert int(draw(seed, COPIES, 0, 0, 0)) == naive.draw(seed, COPIES, 0, 0, 0)


def test_every_counter_changes_the_draw():
    keys = [(5, 1, 2, 3, 4)]
    keys += [tuple(v + (i == j) for j, v in enumerate(keys[0])) for i in range(5)]
    keys += [(5, 1, 3, 2, 4), (5, 1, 2, 4, 3)]  # and their order counts
    assert len({int(draw(*key)) for key in keys}) == len(keys)


def test_tags_differ():
    names = ("COMPACTION", "COPIES", "SAMPLED", "COLUMNS", "TREES", "BOOTSTRAP")
    assert len({getattr(random, name) for name in names}) == len(names)


def test_uniform_fills_the_unit_interval_evenly():
    n = 5000
    u = np.sort([uniform(3, COPIES, 0, 0, i) for i in range(n)])
    assert u[0] >= 0.0
    assert u[-1] < 1.0
    # Kolmogorov-Smirnov distance at the 1 % level.
    assert np.abs(u - (np.arange(n) + 0.5) / n).max() < 1.63 / math.sqrt(n)


def test_bits_of_successive_compactions_are_fair_and_uncorrelated():
    n = 4000
    bits = np.array([int(draw(0, COMPACTION, 0, 0, i)) >> 63 for i in range(n)])
    limit = 3.3 / math.sqrt(n)  # more than three standard errors
    assert abs(bits.mean() - 0.5) < limit / 2
    assert abs(np.corrcoef(bits[1:], bits[:-1])[0, 1]) < limit
