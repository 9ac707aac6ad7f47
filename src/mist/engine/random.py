"""Counter-based random numbers: a value is a pure function of the seed, a purpose and counters.

No generator state is kept, so results depend neither on batch sizes nor on any global
generator. The mixing function is SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import exact

COMPACTION, COPIES, SAMPLED, COLUMNS, TREES, BOOTSTRAP, SKETCHED, FORKS = range(1, 9)
CUTS, DRAWS, GROWTH = range(9, 12)
"""Tags: what a number is drawn for. They must not change: saved models go on with the same bits."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_S16, _S32, _S48, _LOW = np.uint64(16), np.uint64(32), np.uint64(48), np.uint64(0xFFFF)
_ULP = 2.0**-53
_BELL_MEAN = 2.0 * 65535.0
_BELL_SCALE = math.sqrt(3.0) / 65536.0
_MOST_COPIES = 18
"""Largest Poisson number drawn: larger ones are less probable than one step of `uniform`."""


@exact
def mix(z):
    """SplitMix64: scramble 64 bits; all numbers are uint64 and wrap around."""
    z = z + _STEP
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@exact
def draw(seed, tag, a, b, c):
    """64 random bits for the purpose ``tag`` and the counters ``a, b, c``."""
    z = mix(mix(np.uint64(seed)) ^ np.uint64(tag))
    return mix(mix(mix(z ^ np.uint64(a)) ^ np.uint64(b)) ^ np.uint64(c))


@exact
def share(bits):
    """A float in [0, 1) with 53 of 64 random bits."""
    return float(bits >> _S11) * _ULP


@exact
def uniform(seed, tag, a, b, c):
    """A float in [0, 1) with 53 random bits."""
    return share(draw(seed, tag, a, b, c))


@exact
def following(state):
    """The state after ``state`` in a sequence of random bits, which are ``mix(state)``."""
    return state + _STEP


@exact
def below(n, bits):
    """A whole number from 0 to n - 1; n is far below 2**53."""
    return int(share(bits) * n)


@exact
def bell(bits):
    """A number with mean 0 and variance 1, nearly normal: the sum of four uniform numbers.

    It is between -3.47 and 3.47 (the Irwin-Hall distribution with four terms).
    """
    parts = (bits & _LOW) + ((bits >> _S16) & _LOW) + ((bits >> _S32) & _LOW) + (bits >> _S48)
    return (float(parts) - _BELL_MEAN) * _BELL_SCALE


@exact
def _poisson(u):
    """Poisson(1) quantile of ``u``."""
    copies, share = 0, math.exp(-1.0)
    below = share
    while u >= below and copies < _MOST_COPIES:
        copies += 1
        share /= copies
        below += share
    return copies


@exact
def resample(seed, first, weights, out):
    """Multiply the weights of rows by Poisson(1) numbers, as a bootstrap does to a stream.

    Parameters
    ----------
    seed : int
        Seed of the tree that learns the rows.
    first : int
        Number of the first row. Rows of weight 0 have no number: leaving them out changes nothing.
    weights : float64 array, shape (n,)
        Weights >= 0.
    out : float64 array, shape (n,)
        Receives the products.
    """
    row = first
    for i in range(weights.size):
        out[i] = 0.0
        if weights[i] > 0.0:
            out[i] = weights[i] * _poisson(uniform(seed, BOOTSTRAP, row, 0, 0))
            row += 1
