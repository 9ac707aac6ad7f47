"""Split gains, confidence radii and the split test.

The Gini gain changes by at most 4/n when one of n rows is replaced, whatever the number of
classes, so McDiarmid's inequality gives a radius free of the class count (Theorem
"Tightness of the Gini Sensitivity", Corollary "Operational McDiarmid Radius").
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import allocating, exact, inlined
from mist.engine.thresholds import binary_masses, left_masses

TIE = 1e-12
"""A later candidate must be better by more than this, so that the first of equals is kept."""


@inlined
def impurity_term(mass, entropy):
    """Summand of the impurity: mass squared, or mass times its binary logarithm.

    ``entropy`` is True or None, so that only one of the two is compiled.
    """
    if entropy is None:
        return mass * mass
    return mass * math.log2(mass) if mass > 0.0 else 0.0


@exact
def split_gain(n_left, n_right, left, right, parent, entropy):
    """Gain of a split: impurity before it minus the mean impurity of both sides.

    ``n_left`` and ``n_right`` are masses; ``left``, ``right`` and ``parent`` sums of
    `impurity_term` over the classes on a side, and of both sides together.
    """
    n = n_left + n_right
    if not (n_left > 0.0 and n_right > 0.0):
        return 0.0
    if entropy is not None:
        total = n * math.log2(n) - n_left * math.log2(n_left) - n_right * math.log2(n_right)
        return max((total - parent + left + right) / n, 0.0)
    return max((left / n_left + right / n_right - parent / n) / n, 0.0)


@exact
def first_largest(gains):
    """Index of the largest positive gain, the first of equals; -1 if no gain is positive.

    Examples
    --------
    >>> first_largest(np.array([0.1, 0.3, 0.3])), first_largest(np.zeros(2))
    (1, -1)
    """
    best, top = -1, 0.0
    for j in range(gains.size):
        if gains[j] > top + TIE:
            best, top = j, gains[j]
    return best


@allocating
def best_splits(
    tree, observed, sketch, cells, candidates, entropy, balanced, allowed, gains, splits
):
    """Gain and threshold of every column's best candidate; the best column and runner-up.

    Parameters
    ----------
    tree, observed, sketch
        Parts of a `mist.engine.state.State`.
    cells : int64 array
        The leaf's observed cells.
    candidates : float64 array, shape (m, n_numeric)
        Candidate thresholds of the numeric columns, NaN where there is none. 0/1 columns
        have the one candidate 0.5.
    entropy : True or None
        True: information gain in bits in place of the Gini gain.
    balanced : bool
        Whether all classes count the same, however many rows they have.
    allowed : bool array, shape (d,)
        Columns that may be split on; the others get no gain.
    gains, splits : float64 arrays, shape (d,)
        Receive the best gain, 0 without one, and its threshold.

    Returns
    -------
    best : int
        Column with the best gain, the first of equals; -1 if no gain is positive.
    second : float
        Largest gain of the other columns; not to split is a candidate with gain 0.
    """
    m, n_numeric = candidates.shape
    d = gains.size
    known, left = np.empty(n_numeric), np.empty((m, n_numeric))
    n_known, parent = np.zeros(d), np.zeros(d)
    n_left = np.zeros((m, d))
    terms_left, terms_right = np.zeros((m, d)), np.zeros((m, d))
    total = 0.0
    for cell in cells:
        total += tree.cells.count[cell]
    each = total / cells.size
    # Classes are summed in the order of the chain: another order would round differently.
    for cell in cells:
        count = tree.cells.count[cell]
        left_masses(tree, observed, sketch, cell, candidates, known, left)
        if balanced:
            for j in range(n_numeric):
                known[j] *= each / count
                for i in range(m):
                    left[i, j] *= each / count
            count = each
        for j in range(n_numeric):
            n_known[j] += known[j]
            parent[j] += impurity_term(known[j], entropy)
        for i in range(m):
            for j in range(n_numeric):
                n_left[i, j] += left[i, j]
                terms_left[i, j] += impurity_term(left[i, j], entropy)
                terms_right[i, j] += impurity_term(known[j] - left[i, j], entropy)
        for j in range(n_numeric, d):
            seen, zeros = binary_masses(tree, observed, cell, j, count)
            n_known[j] += seen
            parent[j] += impurity_term(seen, entropy)
            n_left[0, j] += zeros
            terms_left[0, j] += impurity_term(zeros, entropy)
            terms_right[0, j] += impurity_term(seen - zeros, entropy)
    for j in range(d):
        gains[j], splits[j] = 0.0, np.nan
        if not allowed[j]:
            continue
        for i in range(m if j < n_numeric else 1):
            v = candidates[i, j] if j < n_numeric else 0.5
            gain = split_gain(
                n_left[i, j],
                n_known[j] - n_left[i, j],
                terms_left[i, j],
                terms_right[i, j],
                parent[j],
                entropy,
            ) * (n_known[j] / total)
            if gain > gains[j] + TIE:
                gains[j], splits[j] = gain, v
    best = first_largest(gains)
    second = 0.0
    for j in range(d):
        if j != best:
            second = max(second, gains[j])
    return best, second


@exact
def most_gain(tree, cells, entropy):
    """An upper bound of the gain of any split of a leaf, whatever its columns hold.

    Let p be the shares of the classes observed at the leaf. No gain exceeds the impurity of p; an
    information gain is at most one bit. A Gini gain is the sum over both sides of
    sum(l^2) / sum(l), where l are the shares that go to a side, minus sum(p^2). As a weighted mean
    of l never exceeds max(p), it is at most 2 max(p) - sum(p^2). With many classes that is far less
    than any radius.
    """
    total, terms, most = 0.0, 0.0, 0.0
    for cell in cells:
        total += tree.cells.count[cell]
        terms += impurity_term(tree.cells.count[cell], entropy)
        most = max(most, tree.cells.count[cell])
    if entropy is None:
        squares = terms / (total * total)
        return min(1.0, 2.0 * most / total) - squares
    return min(math.log2(total) - terms / total, 1.0)


def radius(
    bound: str,
    n: float,
    delta: float,
    *,
    n_features: int,
    n_thresholds: int,
    n_classes: int = 2,
    union_bound: bool = True,
    entropy: bool | None = None,
) -> float:
    """Confidence radius of the split test.

    Parameters
    ----------
    bound : {"mcdiarmid", "rutkowski", "hoeffding"}
        ``mcdiarmid``: sqrt(32 ln(2 d m / delta) / n); ``rutkowski``:
        8 sqrt(ln(1/delta) / (2 n)); ``hoeffding``: R sqrt(ln(1/delta) / (2 n)) with R = 1
        for the Gini gain and log2 of the class count for the information gain.
    n : float
        Rows observed at the leaf.
    delta : float
        Failure probability.
    n_features, n_thresholds : int
        d and m of the union bound.
    n_classes : int
        Classes observed at the leaf.
    union_bound : bool
        If false, ln(1/delta) replaces ln(2 d m / delta).
    entropy : True or None
        True if the gain is an information gain.

    Returns
    -------
    float
        The radius, in units of the gain.

    Examples
    --------
    >>> round(radius("mcdiarmid", 8600, 0.1, n_features=16, n_thresholds=9), 3)
    0.172
    """
    tests = 2 * n_features * n_thresholds if bound == "mcdiarmid" and union_bound else 1
    squared = squared_scale(bound, n_classes, entropy)
    return float(confidence_radius(squared, tests, float(delta), float(n)))


def squared_scale(bound: str, n_classes: int = 2, entropy: bool | None = None) -> float:
    """Factor of ln(tests / delta) / n under the root of `radius`."""
    if bound in ("mcdiarmid", "rutkowski"):
        return 32.0
    return (math.log2(max(n_classes, 2)) if entropy else 1.0) ** 2 / 2


@exact
def confidence_radius(squared, tests, delta, n):
    """Radius after n rows, from `squared_scale` and the number of tests."""
    return math.sqrt(squared * math.log(tests / delta) / n)
