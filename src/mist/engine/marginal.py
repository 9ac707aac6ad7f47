"""Log densities with all constants.

The scores that predictions compare leave out terms that all classes share: powers of 2 pi, units of
the columns, the total of the masses. A density has them, so that it can be compared between rows
and leaves.
"""

from __future__ import annotations

import math

from mist.engine.compiled import exact, inlined
from mist.engine.state import M2, MEAN

_HUGE = 1e300
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@inlined
def settle(tree, X, i, n_numeric, row):
    """Copy a row to ``row[0]``; a numeric column that never varied gets the one value it had."""
    for j in range(X.shape[1]):
        row[0, j] = X[i, j]
        if j < n_numeric and tree.scale[M2, j] == 0.0 and X[i, j] == X[i, j]:
            row[0, j] = tree.scale[MEAN, j]


@inlined
def less_constants(density, tree, row, n_numeric):
    """Subtract log(2 pi) / 2 for each known value of a numeric column that has varied."""
    for j in range(n_numeric):
        if row[0, j] == row[0, j] and tree.scale[M2, j] != 0.0:
            density -= _HALF_LOG_2PI
    return density


@exact
def overall_density(tree, observed, row, n_numeric):
    """Log density of ``row[0]``, from `settle`, under the moments of the rows of all classes."""
    scale = tree.scale
    total = 0.0
    for j in range(row.shape[1]):
        if row[0, j] != row[0, j]:
            continue
        weight = tree.nodes.mass[0] if observed is None else observed.scale[j]
        if j >= n_numeric:
            # One row of each value is added, so that neither probability is 0.
            ones = (scale[MEAN, j] * weight + 1.0) / (weight + 2.0)
            total += math.log(ones if row[0, j] == 1.0 else 1.0 - ones)
        elif scale[M2, j] > 0.0:
            variance = scale[M2, j] / weight
            t = row[0, j] - scale[MEAN, j]
            total -= 0.5 * math.log(variance) + 0.5 * t * t / variance + _HALF_LOG_2PI
    return total if total > -_HUGE else -_HUGE


@exact
def write_marginals(densities, shares, out):
    """Write the log density of every row, summed over the classes.

    Parameters
    ----------
    densities : float64 array, shape (n, n_codes)
        Log density of each row in each class; -inf in a class that cannot have it.
    shares : float64 array, shape (n_codes,)
        Probability of each class.
    out : float64 array, shape (n,)
        Receives the log densities.
    """
    # The sum of exponentials is scaled by the largest term so far, in one pass.
    for i in range(out.size):
        best, total = -math.inf, 0.0
        for code in range(shares.size):
            if shares[code] > 0.0 and densities[i, code] > -math.inf:
                value = densities[i, code] + math.log(shares[code])
                if value > best:
                    total = total * math.exp(best - value) + 1.0
                    best = value
                else:
                    total += math.exp(value - best)
        out[i] = best + math.log(total)
