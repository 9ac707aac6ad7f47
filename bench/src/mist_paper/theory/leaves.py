"""Simulated leaves: the classes' rows on either side of one threshold per column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOISE", "Case", "columns", "draw_counts", "gini_gains"]

Floats = NDArray[np.float64]

NOISE = (0.5, 0.5)
"""Shares of a column that carries no information on the class."""


@dataclass(frozen=True)
class Case:
    """Classes, the share of each left of the threshold of each column, and the order of the rows.

    Examples
    --------
    >>> case = Case("one good column", columns(2, (0.8, 0.2), NOISE))
    >>> case.gains().round(2), case.right("gap")
    (array([0.18, 0.  ]), array([ True, False]))
    """

    title: str
    """Description."""

    shares: Floats
    """Share of each class left of the threshold, shape (classes, columns)."""

    incremental: bool = False
    """Whether two classes come at a time, in place of all of them."""

    opposite: bool = False
    """Whether, within a class, rows on the left in one column are on the right in the other."""

    def gains(self) -> Floats:
        """Return the gain of each column if the classes are equally frequent."""
        known = np.full(len(self.shares), 1 / len(self.shares))
        return gini_gains(known, known[:, None] * self.shares)

    def right(self, statistic: str) -> NDArray[np.bool_]:
        """Return which columns may be split: any with a gain, or the only one with the largest.

        Parameters
        ----------
        statistic : {"gap", "gain"}
            What is compared with the radius.

        Returns
        -------
        ndarray of bool, shape (columns,)
            Whether a split of the column is right.
        """
        gains = self.gains().round(12)
        if statistic == "gain":
            return gains > 0
        best = gains == gains.max()
        return best if best.sum() == 1 else np.zeros(len(gains), bool)


def columns(n_classes: int, *left: tuple[float, float]) -> Floats:
    """Return shares of columns, each given by those of the even and of the odd classes.

    Parameters
    ----------
    n_classes : int
        Classes.
    *left : tuple of float
        One pair a column.

    Returns
    -------
    ndarray of shape (n_classes, columns)
        The shares.

    Examples
    --------
    >>> columns(3, (0.8, 0.2), (0.5, 0.5))
    array([[0.8, 0.5],
           [0.2, 0.5],
           [0.8, 0.5]])
    """
    return np.array([[pair[c % 2] for pair in left] for c in range(n_classes)])


def gini_gains(known: Any, left: Any) -> Floats:
    """Return the Gini gain of each column.

    Parameters
    ----------
    known : ndarray of shape (..., classes)
        Rows of each class.
    left : ndarray of shape (..., classes, columns)
        Rows of each class left of the threshold.

    Returns
    -------
    ndarray of shape (..., columns)
        The gains, 0 if one side is empty.

    Examples
    --------
    >>> gini_gains([10.0, 10.0], [[10.0, 5.0], [0.0, 5.0]])
    array([0.5, 0. ])
    """
    known, left = np.asarray(known, float), np.asarray(left, float)
    total, after = known.sum(axis=-1)[..., None], 0.0
    for side in (left, known[..., None] - left):
        n = side.sum(axis=-2)
        after = after + np.divide((side**2).sum(axis=-2), n, out=np.zeros_like(n), where=n > 0)
    whole = (known**2).sum(axis=-1)[..., None]
    # Rounding must not give a gain to a column without one.
    return np.maximum((after - whole / total) / total, 0.0)


def draw_counts(
    case: Case, rows: int, every: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw a leaf's rows and count them at each look.

    Parameters
    ----------
    case : Case
        Distribution of the rows.
    rows, every : int
        Rows in total, and from one look to the next.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    known : ndarray of shape (looks, classes)
        Rows of each class so far.
    left : ndarray of shape (looks, classes, columns)
        Rows of each class left of the threshold.

    Examples
    --------
    >>> case = Case("one good column", columns(2, (0.8, 0.2), NOISE))
    >>> known, left = draw_counts(case, 1000, 200, np.random.default_rng(0))
    >>> known.sum(axis=1), left.shape
    (array([ 200.,  400.,  600.,  800., 1000.]), (5, 2, 2))
    """
    n_classes, _ = case.shares.shape
    looks = rows // every
    chances = np.full((looks, n_classes), 1 / n_classes)
    if case.incremental:
        task = np.arange(looks) * (n_classes // 2) // looks
        chances = np.where(np.arange(n_classes) // 2 == task[:, None], 0.5, 0.0)
    more = rng.multinomial(every, chances)
    if case.opposite:
        p = case.shares[:, 0]
        both = np.maximum(2 * p - 1, 0)
        joint = np.stack([both, p - both, p - both, 1 - 2 * p + both], axis=1)
        places = rng.multinomial(more, joint)
        left = np.stack([places[..., 0] + places[..., k] for k in (1, 2)], axis=-1)
    else:
        left = rng.binomial(more[..., None], case.shares)
    return more.cumsum(axis=0).astype(float), left.cumsum(axis=0).astype(float)
