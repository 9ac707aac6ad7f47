"""How dense a class is at a row, with all constants.

The scores that predictions compare leave out what all classes share: powers of 2 pi, units of the
columns, the total of the masses. A density has all of that, so that it can be compared between rows
and leaves.
"""

from __future__ import annotations

import math

from mist.engine.compiled import exact, inlined
from mist.engine.density import sketch_score
from mist.engine.gaussians import is_whole
from mist.engine.mixture import mixture_score, mixture_score_missing
from mist.engine.moments import FLOOR, gaussian_score, gaussian_score_missing
from mist.engine.state import EPOCH, GAUSSIAN, M2, MEAN, PREC

_HUGE = 1e300
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@inlined
def _log_likelihood(
    tree, missing, sketch, view, mixture, holes, binary, options, leaf, cell, row, sigma, room
):
    """Log density of a row in a class, up to what all classes share.

    The loop of predictions chooses likewise; there, a call would cost a third of the time.
    """
    cells, stats, n = tree.cells, tree.stats, options.n_numeric
    if mixture is not None:
        if holes is None:
            return mixture_score(mixture, cell, row, 0, sigma, -math.inf)
        whole = is_whole(row, 0)
        return mixture_score_missing(mixture, missing, whole, leaf, cell, row, 0, room, -math.inf)
    prior = math.log(cells.mass[cell] + 1.0)
    if view is not None:
        score = sketch_score(cells, stats, missing, sketch, view, cell, row, 0, sigma, options)
    elif holes is None:
        score = gaussian_score(cells, stats, binary, cell, row, 0, n)
    else:
        score = gaussian_score_missing(cells, stats, missing, cell, row, 0, n)
    return score - prior


@inlined
def settle(tree, X, i, n_numeric, row):
    """Copy a row, but where a numeric column never varied, with the one value it had."""
    for j in range(X.shape[1]):
        row[0, j] = X[i, j]
        if j < n_numeric and tree.scale[M2, j] == 0.0 and X[i, j] == X[i, j]:
            row[0, j] = tree.scale[MEAN, j]


@inlined
def class_density(
    tree, missing, sketch, view, mixture, holes, binary, options, leaf, cell, row, sigma, room
):
    """Log density of a settled row in a class at a leaf, nothing left out."""
    n = options.n_numeric
    density = _log_likelihood(
        tree, missing, sketch, view, mixture, holes, binary, options, leaf, cell, row, sigma, room
    )
    for j in range(n):
        if row[0, j] != row[0, j] or tree.scale[M2, j] == 0.0:
            continue
        if view is None:
            density -= _HALF_LOG_2PI
        elif sigma[j] > 0.0:
            density -= math.log(sigma[j])
    if options.leaf == GAUSSIAN and tree.leaves.epoch[leaf] != tree.counters[EPOCH]:
        density += _late_columns(tree, missing, cell, row, n)
    return density if density > -_HUGE else -_HUGE


@exact
def _late_columns(tree, missing, cell, row, n_numeric):
    """Log density in columns that had not varied yet when the cell's precisions were made."""
    stats, scale = tree.stats, tree.scale
    total = 0.0
    for j in range(n_numeric):
        if stats[cell, PREC, j] != 0.0 or scale[M2, j] == 0.0 or row[0, j] != row[0, j]:
            continue
        weight = tree.nodes.mass[0] if missing is None else missing.scale[j]
        variance, t = scale[M2, j] / weight, 0.0
        if missing is None or missing.cell[cell, j] > 0.0:
            variance *= FLOOR
            t = row[0, j] - stats[cell, MEAN, j]
        total -= 0.5 * math.log(variance) + 0.5 * t * t / variance
    return total


@exact
def overall_density(tree, missing, row, n_numeric):
    """Log density of a settled row under the moments of all rows, whatever their class."""
    scale = tree.scale
    total = 0.0
    for j in range(row.shape[1]):
        if row[0, j] != row[0, j]:
            continue
        weight = tree.nodes.mass[0] if missing is None else missing.scale[j]
        if j >= n_numeric:
            ones = (scale[MEAN, j] * weight + 1.0) / (weight + 2.0)
            total += math.log(ones if row[0, j] == 1.0 else 1.0 - ones)
        elif scale[M2, j] > 0.0:
            variance = scale[M2, j] / weight
            t = row[0, j] - scale[MEAN, j]
            total -= 0.5 * math.log(variance) + 0.5 * t * t / variance + _HALF_LOG_2PI
    return total if total > -_HUGE else -_HUGE


@exact
def write_marginals(densities, shares, out):
    """Write the log density of every row whatever its class.

    Parameters
    ----------
    densities : float64 array, shape (n, n_codes)
        Log density of each row in each class; -inf in a class that cannot have it.
    shares : float64 array, shape (n_codes,)
        Probability of each class.
    out : float64 array, shape (n,)
        Receives the log densities.
    """
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
