"""The limit: naive Bayes and one quantile sketch a class, and not a thing besides.

What any tree with such leaves must do for a row at the least: score it by every class, update the
moments of its own, append it to the class's columnar sketch. There is one leaf, labels are codes,
nothing is checked, missing or weighted, and nothing splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

CAPACITY = 64
"""Rows of a level of a sketch; a full level sends every other one up."""
BLOCK = 32
"""Columns that are sorted together: a level of them stays in the fastest cache."""
FLOOR = 1e-9

_OPTIONS = {"cache": True, "nogil": True, "fastmath": True, "error_model": "numpy"}
fast = njit(**_OPTIONS)
inlined = njit(forceinline=True, **_OPTIONS)
"""For what every row goes through: a call would count references to all arrays."""


def comparisons(first_step):
    """Batcher's odd-even merge sort of a level; rows sorted in runs of `first_step` before."""
    pairs = []
    p = first_step
    while p < CAPACITY:
        k = p
        while k >= 1:
            for j in range(k % p, CAPACITY - k, 2 * k):
                for i in range(min(k, CAPACITY - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k //= 2
        p *= 2
    return np.array(pairs, dtype=np.int64)


SORT = comparisons(1)
MERGE = comparisons(CAPACITY // 2)
"""Above the lowest level a full one consists of two sorted halves."""


class Knowledge(NamedTuple):
    """What is known of K classes of d columns."""

    n: np.ndarray  # (K,)
    mean: np.ndarray  # (K, d)
    m2: np.ndarray  # (K, d)
    precision: np.ndarray  # (K, d)
    constant: np.ndarray  # (K,), the part of the score that no row changes
    items: np.ndarray  # (K, levels, CAPACITY, d)
    used: np.ndarray  # (K, levels)
    bits: np.ndarray  # (1,), state of the random numbers

    @property
    def nbytes(self):
        return sum(part.nbytes for part in self)


def nothing(n_classes, n_columns, n_rows):
    """Knowledge of no row, with room for so many."""
    levels = 2 + int(np.ceil(np.log2(max(n_rows / CAPACITY, 1.0))))
    return Knowledge(
        np.zeros(n_classes),
        *(np.zeros((n_classes, n_columns)) for _ in range(3)),
        np.zeros(n_classes),
        np.zeros((n_classes, levels, CAPACITY, n_columns)),
        np.zeros((n_classes, levels), dtype=np.int64),
        np.array([88172645463325252], dtype=np.uint64),
    )


@inlined
def best_class(own, X, i):
    """The class with the highest score, -1 if there is none yet."""
    best, answer = -np.inf, -1
    for k in range(len(own.n)):
        if own.n[k] > 0.0:
            distance = 0.0
            for j in range(X.shape[1]):
                t = X[i, j] - own.mean[k, j]
                distance += t * t * own.precision[k, j]
            score = own.constant[k] - 0.5 * distance
            if score > best:
                best, answer = score, k
    return answer


@inlined
def update(own, X, i, k):
    """Welford's moments, and what the score takes from them."""
    d = X.shape[1]
    own.n[k] += 1.0
    share = 1.0 / own.n[k]
    for j in range(d):
        t = X[i, j] - own.mean[k, j]
        own.mean[k, j] += t * share
        own.m2[k, j] += t * (X[i, j] - own.mean[k, j])
        own.precision[k, j] = 1.0 / (own.m2[k, j] * share + FLOOR)
    # One logarithm for eight columns: their product stays within range.
    logs = 0.0
    whole = d - d % 8
    for j in range(0, whole, 8):
        product = 1.0
        for m in range(j, j + 8):
            product *= own.precision[k, m]
        logs += np.log(product)
    for j in range(whole, d):
        logs += np.log(own.precision[k, j])
    own.constant[k] = np.log(own.n[k]) + 0.5 * logs


@inlined
def append(own, X, i, k, block, sort, merge):
    """A row into the lowest level of the sketch of class k."""
    at = own.used[k, 0]
    for j in range(X.shape[1]):
        own.items[k, 0, at, j] = X[i, j]
    own.used[k, 0] = at + 1
    level = 0
    while own.used[k, level] == CAPACITY:
        rise(own, k, level, block, sort if level == 0 else merge)
        level += 1


@fast
def rise(own, k, level, block, pairs):
    """Sort every column of a full level; every other row goes one level up.

    The two rows of a comparison are views: only then is it a few vector instructions.
    """
    bits = own.bits
    bits[0] ^= bits[0] << np.uint64(13)
    bits[0] ^= bits[0] >> np.uint64(7)
    bits[0] ^= bits[0] << np.uint64(17)
    odd = np.int64(bits[0] >> np.uint64(63))
    full, above, at = own.items[k, level], own.items[k, level + 1], own.used[k, level + 1]
    d = full.shape[1]
    for first in range(0, d, BLOCK):
        width = min(BLOCK, d - first)
        for r in range(CAPACITY):
            for c in range(width):
                block[r, c] = full[r, first + c]
        for p in range(len(pairs)):
            low, high = block[pairs[p, 0]], block[pairs[p, 1]]
            for c in range(BLOCK):
                u, v = low[c], high[c]
                low[c] = u if u < v else v
                high[c] = v if u < v else u
        for r in range(CAPACITY // 2):
            for c in range(width):
                above[at + r, first + c] = block[2 * r + odd, c]
    own.used[k, level] = 0
    own.used[k, level + 1] = at + CAPACITY // 2


@fast
def test_then_train(own, X, y, out, sort, merge):
    """Answer each row, then learn it."""
    block = np.zeros((CAPACITY, BLOCK))
    for i in range(len(X)):
        out[i] = best_class(own, X, i)
        update(own, X, i, y[i])
        append(own, X, i, y[i], block, sort, merge)


@fast
def answer(own, X, out):
    """Answer each row."""
    for i in range(len(X)):
        out[i] = best_class(own, X, i)
