"""A radius that adapts to the variance of a Gini gain and is valid at all looks together.

Labels may arrive in any order, so the classes' weights p_c and rows n_c are taken as given and only
the share theta_c of each class that falls left of a threshold is random. The gain is

    F = sum_c (p_c theta_c)^2 / p_L + sum_c (p_c (1 - theta_c))^2 / p_R - sum_c p_c^2,

and its variance follows class by class from the derivatives in theta_c. A normal mixture (Robbins,
Annals of Mathematical Statistics 41, 1970) turns it into a boundary that is valid, asymptotically,
at every number of rows at once. Where a column is noise the derivatives vanish and F is a weighted
sum of squares, whose tail (Laurent and Massart, Annals of Statistics 28, 2000) is added.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import allocating, exact
from mist.engine.thresholds import binary_masses, left_masses

RATE = 1.0 / 500.0
"""Makes the boundary tightest at some hundred rows, when a leaf can first be split."""


@exact
def class_variances(total, known, left, variances):
    """Variance of one column's Gini gain, by the class it comes from.

    Parameters
    ----------
    total : float
        Rows of all classes, with or without a value in the column.
    known, left : float64 arrays, shape (classes,)
        Rows with a value in the column, and those of them left of the threshold.
    variances : float64 array, shape (classes,)
        Receives the variances; zeros if one of the sides is empty.

    Examples
    --------
    >>> variances = np.empty(2)
    >>> class_variances(200.0, np.full(2, 100.0), np.array([80.0, 20.0]), variances)
    >>> variances.round(6)
    array([0.000582, 0.000582])
    """
    n_left, n_right = 0.0, 0.0
    for c in range(known.size):
        n_left += left[c]
        n_right += known[c] - left[c]
    variances[:] = 0.0
    if not (n_left > 0.0 and n_right > 0.0):
        return
    # Divided before they are squared: the square of a tiny mass, from the tail of a Gaussian, would
    # underflow.
    pure_left, pure_right = 0.0, 0.0
    for c in range(known.size):
        pure_left += (left[c] / n_left) ** 2
        pure_right += ((known[c] - left[c]) / n_right) ** 2
    for c in range(known.size):
        if known[c] > 0.0:
            # Half a row is added on either side: a share of 0 or 1 in the sample need not be 0 or 1
            # in the population.
            share = (left[c] + 0.5) / (known[c] + 1.0)
            slope = 2.0 * left[c] / n_left - pure_left
            slope -= 2.0 * (known[c] - left[c]) / n_right - pure_right
            variances[c] = share * (1.0 - share) * known[c] * (slope / total) ** 2


@exact
def boundary(rows, log_term):
    """Number of standard deviations that bound a normal sum at all numbers of rows together.

    Parameters
    ----------
    rows : float
        Rows observed.
    log_term : float
        Logarithm of 1/delta, or of the number of tests over delta.

    Returns
    -------
    float

    Examples
    --------
    >>> round(boundary(1000.0, math.log(10.0)), 3)
    2.925
    """
    scaled = rows * RATE
    return math.sqrt(2.0 * (1.0 + 1.0 / scaled) * (0.5 * math.log1p(scaled) + log_term))


@exact
def noise(total, known, log_term):
    """Gain that a column without any information may show.

    Parameters
    ----------
    total : float
        Rows of all classes, with or without a value in the column.
    known : float64 array, shape (classes,)
        Rows with a value in the column.
    log_term : float
        As in `boundary`.

    Returns
    -------
    float

    Examples
    --------
    >>> round(noise(1000.0, np.array([500.0, 500.0]), math.log(10.0)), 5)
    0.01018
    """
    n, squares, largest = 0.0, 0.0, 0.0
    for c in range(known.size):
        n += known[c]
        squares += known[c] ** 2
        largest = max(largest, known[c])
    if not n > 0.0:
        return 0.0
    tail = log_term + 2.0 * math.log(max(math.log(total), 1.0))
    part = squares / n**2
    # With p_c = n_c / n, min_c n_c / p_c is n. The gain is that of the known rows times their
    # share n / total, so that n cancels.
    return (1.0 - part + 2.0 * math.sqrt(part * tail) + 2.0 * largest / n * tail) / total


@exact
def gain_radius(total, known, variances, log_term):
    """Radius of one column's gain.

    Parameters
    ----------
    total, log_term : float
        As in `noise`.
    known, variances : float64 arrays, shape (classes,)
        As in `class_variances`.

    Returns
    -------
    float
    """
    return math.sqrt(variances.sum()) * boundary(total, log_term) + noise(total, known, log_term)


@exact
def gap_radius(total, known, variances, gains, best, second, log_term, independent):
    """Radius that the gap between the best and the second gain must exceed.

    The best column has to beat every other one by the radius of their difference, and no split at
    all by the radius of its own gain. The runner-up need not be the hardest of them, since the
    radii differ. The value returned is the hardest demand, expressed as a demand on the gap.

    Parameters
    ----------
    total, log_term : float
        As in `noise`.
    known, variances : float64 arrays, shape (classes, d)
        As in `class_variances`, column by column.
    gains : float64 array, shape (d,)
        Gain of each column.
    best : int
        Column with the largest gain.
    second : float
        Largest gain of the others, 0 without one.
    independent : bool
        Whether two columns may be taken as independent within a class. If not, their deviations
        are added as if they were opposite, which holds for any dependence.

    Returns
    -------
    float
    """
    factor = boundary(total, log_term)
    demand = math.sqrt(variances[:, best].sum()) * factor - second
    for j in range(gains.size):
        if j != best:
            spread = 0.0
            for c in range(len(variances)):
                one, other = variances[c, best], variances[c, j]
                spread += one + other + (0.0 if independent else 2.0 * math.sqrt(one * other))
            demand = max(demand, math.sqrt(spread) * factor + gains[j] - second)
    return demand + noise(total, known[:, best], log_term)


@allocating
def leaf_radius(
    tree,
    observed,
    sketch,
    cells,
    n_numeric,
    gains,
    splits,
    best,
    second,
    log_term,
    gap,
    independent,
):
    """Radius of a leaf's best split.

    Parameters
    ----------
    tree, observed, sketch
        Parts of a `mist.engine.state.State`.
    cells : int64 array
        The leaf's observed cells.
    n_numeric : int
        Number of numeric columns, which come first; the others are 0/1 columns.
    gains, splits : float64 arrays, shape (d,)
        Gain and threshold of each column's best candidate, 0 and NaN without one.
    best : int
        Column with the largest gain.
    second : float
        Largest gain of the others.
    log_term : float
        As in `boundary`.
    gap, independent : bool
        Whether the radius is that of the gap, and if so of which form (see `gap_radius`).

    Returns
    -------
    float
    """
    d = splits.size
    candidates, left_here = np.empty((1, n_numeric)), np.empty((1, n_numeric))
    candidates[0] = splits[:n_numeric]
    known_here = np.empty(n_numeric)
    known, left = np.empty((cells.size, d)), np.empty((cells.size, d))
    total = 0.0
    for i in range(cells.size):
        cell = cells[i]
        total += tree.cells.count[cell]
        left_masses(tree, observed, sketch, cell, candidates, known_here, left_here)
        for j in range(n_numeric):
            known[i, j], left[i, j] = known_here[j], left_here[0, j]
        for j in range(n_numeric, d):
            count = tree.cells.count[cell]
            known[i, j], left[i, j] = binary_masses(tree, observed, cell, j, count)
    variances = np.zeros((cells.size, d))
    for j in range(d):
        if gains[j] > 0.0:
            class_variances(total, known[:, j], left[:, j], variances[:, j])
    if gap:
        return gap_radius(total, known, variances, gains, best, second, log_term, independent)
    return gain_radius(total, known[:, best], variances[:, best], log_term)
