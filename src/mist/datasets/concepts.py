"""More generators of streams that drift, as in `mist.datasets.drifting`."""

from __future__ import annotations

import numpy as np

from mist.datasets.drifting import DriftStream, as_stream, concept_blocks, draw_noise
from mist.datasets.sampling import check_positive

__all__ = ["make_agrawal", "make_led", "make_mixed", "make_stagger"]


def make_agrawal(n_samples: int = 60_000, perturbation: float = 0.05, seed: int = 0) -> DriftStream:
    """Make the loan applicants of Agrawal et al. [1]_ by their functions 1, 4, 7 and 3.

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n, at least 4.
    perturbation : float, default=0.05
        After labelling, salary, commission above 0, age, value, years and loan move by up to this
        share of their range, either way, within the range.
    seed : int, default=0
        Seed of rows and perturbations.

    Returns
    -------
    DriftStream
        Columns salary, commission, age, education level, make of car, zip code, value of house,
        years in it, loan; classes 0 (group A) and 1 (group B); three abrupt drifts.

    Raises
    ------
    ValueError
        If there are fewer than 4 rows, or `perturbation` is not a share.

    References
    ----------
    .. [1] Agrawal, Imielinski and Swami, "Database mining: a performance perspective", IEEE
       Transactions on Knowledge and Data Engineering 5, 1993.

    Examples
    --------
    >>> from mist.datasets import make_agrawal
    >>> make_agrawal(n_samples=400).X.shape
    (400, 9)
    """
    block, drifts = concept_blocks(n_samples, 4)
    if not 0 <= perturbation <= 1:
        raise ValueError(f"perturbation={perturbation} must be a share between 0 and 1")
    rng = np.random.default_rng(seed)
    level, car, zipcode = rng.integers([0, 1, 0], [5, 21, 9], (n_samples, 3)).T
    house = 100_000.0 * (9 - zipcode)
    low = np.stack(np.broadcast_arrays(20_000.0, 10_000, 20, house / 2, 1, 0))
    high = np.stack(np.broadcast_arrays(150_000.0, 75_000, 80, house * 1.5, 30, 500_000))
    exact = rng.uniform(low, high)
    exact[2], exact[4] = rng.integers(20, 81, n_samples), rng.integers(1, 31, n_samples)
    exact[1, exact[0] >= 75_000] = 0
    salary, commission, age, _, _, loan = exact
    group = np.digitize(age, [40, 60])
    educated = (level >= np.array([0, 1, 2])[group]) & (level <= np.array([1, 3, 4])[group])
    least = np.array([[50_000, 75_000, 25_000], [25_000, 50_000, 50_000]])[
        educated.astype(int), group
    ]
    paid = (salary >= least) & (salary <= least + 50_000)
    able = 2 * (salary + commission) / 3 - loan / 5 > 20_000
    in_group_a = np.choose(block, [group != 1, paid, able, educated])
    moved = exact + perturbation * (high - low) * rng.uniform(-1, 1, low.shape)
    moved = np.clip(moved, low, high)
    moved[1, commission == 0] = 0
    X = np.column_stack([*moved[:3], level, car, zipcode, *moved[3:]])
    return as_stream("agrawal", X, ~in_group_a, drifts)


_SEGMENTS = (0x77, 0x12, 0x5D, 0x5B, 0x3A, 0x6B, 0x6F, 0x52, 0x7F, 0x7B)
"""Segments that are lit for each digit, the first in the highest of seven bits."""


def make_led(
    n_samples: int = 60_000, noise: float = 0.1, width: float = 5000, seed: int = 0
) -> DriftStream:
    """Make digits on a display of seven segments [1]_, which move to other columns gradually.

    In the four concepts the first 0, 3, 5 and 7 segments are exchanged with the columns from
    7 on. A row t rows after the middle of a change is of the new concept with probability
    ``1 / (1 + exp(-4 t / width))`` [2]_.

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n, at least 4.
    noise : float, default=0.1
        Share of segments that are inverted.
    width : float, default=5000
        Length of a change in rows.
    seed : int, default=0
        Seed of rows, noise and changes.

    Returns
    -------
    DriftStream
        24 columns of 0 and 1, the last 17 random at first; 10 classes; three gradual drifts.

    Raises
    ------
    ValueError
        If there are fewer than 4 rows, `noise` is not a share, or `width` is not above 0.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984.
    .. [2] Bifet, Holmes, Kirkby and Pfahringer, "MOA: Massive online analysis", JMLR 11, 2010.

    Examples
    --------
    >>> from mist.datasets import make_led
    >>> make_led(n_samples=10).X.shape
    (10, 24)
    """
    _, drifts = concept_blocks(n_samples, 4)
    check_positive(width=width)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, n_samples)
    lit = np.array(_SEGMENTS)[y, None] >> np.arange(6, -1, -1) & 1
    shown = lit ^ draw_noise(noise, rng, n_samples, 7)
    X = np.hstack([shown, rng.integers(0, 2, (n_samples, 17))]).astype(np.float64)
    n_moved = np.zeros(n_samples, dtype=np.int64)
    for middle, count in zip(drifts, (3, 5, 7), strict=True):
        # The logistic function, in a form that does not overflow.
        chance = 0.5 + 0.5 * np.tanh(2 * (np.arange(n_samples) - middle) / width)
        n_moved[rng.random(n_samples) < chance] = count
    moved = np.arange(7) < n_moved[:, None]
    X[:, :7], X[:, 7:14] = (
        np.where(moved, X[:, 7:14], X[:, :7]),
        np.where(moved, X[:, :7], X[:, 7:14]),
    )
    return as_stream("led", X, y, drifts, range(24))


def make_stagger(n_samples: int = 60_000, seed: int = 0) -> DriftStream:
    """Make STAGGER [1]_: objects of three sizes, colours and shapes, and rules that take turns.

    Class 1 is small and red, then green or circular, then medium or large; then these again.

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n, at least 6.
    seed : int, default=0
        Seed of the rows.

    Returns
    -------
    DriftStream
        Columns small, medium, large, red, green, blue, square, circular and triangular, 0 or 1; 2
        classes; five abrupt drifts.

    Raises
    ------
    ValueError
        If there are fewer than 6 rows.

    References
    ----------
    .. [1] Schlimmer and Granger, "Incremental learning from noisy data", Machine Learning 1, 1986.

    Examples
    --------
    >>> from mist.datasets import make_stagger
    >>> make_stagger(n_samples=600).drifts
    array([100, 200, 300, 400, 500])
    """
    block, drifts = concept_blocks(n_samples, 6)
    size, colour, shape = np.random.default_rng(seed).integers(0, 3, (3, n_samples))
    rules = [(size == 0) & (colour == 0), (colour == 1) | (shape == 1), size >= 1]
    X = np.eye(3)[np.column_stack([size, colour, shape])].reshape(n_samples, 9)
    return as_stream("stagger", X, np.choose(block % 3, rules), drifts, range(9))


def make_mixed(n_samples: int = 60_000, seed: int = 0) -> DriftStream:
    """Make Mixed [1]_: two 0/1 columns and two numbers, and classes that exchange their labels.

    A row (v, w, a, b) is positive if two of v, w and ``b < 0.5 + 0.3 sin(3 pi a)`` hold at least.

    Parameters
    ----------
    n_samples : int, default=60000
        Rows n, at least 6.
    seed : int, default=0
        Seed of the rows.

    Returns
    -------
    DriftStream
        Class 1 is positive in the first of six blocks; the labels are exchanged at five drifts.

    Raises
    ------
    ValueError
        If there are fewer than 6 rows.

    References
    ----------
    .. [1] Gama, Medas, Castillo and Rodrigues, "Learning with drift detection", SBIA 2004.

    Examples
    --------
    >>> from mist.datasets import make_mixed
    >>> make_mixed(n_samples=600).categorical
    array([ True,  True, False, False])
    """
    block, drifts = concept_blocks(n_samples, 6)
    rng = np.random.default_rng(seed)
    (v, w), (a, b) = rng.integers(0, 2, (2, n_samples)), rng.random((2, n_samples))
    positive = v + w + (b < 0.5 + 0.3 * np.sin(3 * np.pi * a)) >= 2
    X = np.column_stack([v, w, a, b])
    return as_stream("mixed", X, positive ^ (block % 2 == 1), drifts, range(2))
