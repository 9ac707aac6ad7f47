"""The next label of a stream: a conditional logit over the tree, recent Gaussians and priors.

Every expert gives a log probability of each class: the tree (and other models, if there are any),
each set of recent Gaussians, and the log priors of `mist.adaptation.label_memory`. The score of a
class is a weighted sum of what the experts say of it; all classes share the weights. They are
learnt row by row, by Newton's method with forgetting (Fisher scoring), so that they follow what
works now. They start at 1 for the tree and 0 for the rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.adaptation import calibration, label_memory, recent_gaussians
from mist.adaptation.calibration import FLOOR, new_calibration
from mist.adaptation.label_memory import N_PRIORS, LabelMemory, new_label_memory, write_priors
from mist.adaptation.packed import factorise, solve
from mist.adaptation.recent_gaussians import (
    HALF_LIVES,
    RecentGaussians,
    log_density,
    new_recent_gaussians,
)
from mist.engine.compiled import allocating, exact
from mist.engine.handle import parts_of
from mist.engine.state import packed_size

ALL_LEARNT = 4096
LEARN_EVERY = 2
"""After so many rows, the weights of the experts learn from one row in so many. Other rows need not
be predicted, unless somebody asks, and predicting takes longer than learning."""

_FORGETTING = 0.999
_RIDGE = 5.0
_RELEVANT = 1e-6
_CERTAIN = 1e-4
"""A label whose probability was nearer to 1 teaches the weights nothing."""


_UNCALIBRATED = new_calibration()
_UNCALIBRATED.flags.writeable = False

PREDICT, LEARN = 0, 1
"""What to do with a row, see `follow_rows`."""


class NextLabel(NamedTuple):
    """All that is kept to predict the label of the next row."""

    weights: Any  # float64 (experts,)
    curvature: Any  # float64 (packed experts,): decayed Fisher information
    labels: LabelMemory
    recent: RecentGaussians
    # Models from before it was kept have an exponent of 1; `writable` copies it for each of them.
    calibration: Any = _UNCALIBRATED  # float64 (2,): see `mist.adaptation.calibration`


class Workspace(NamedTuple):
    """Scratch arrays of one call."""

    says: Any  # float64 (experts, codes): log probabilities
    chances: Any  # float64 (codes,)
    mean: Any  # float64 (experts,)
    step: Any  # float64 (experts,)
    factor: Any  # float64 (packed experts,)
    columns: Any  # float64 (2, d)


def new_next_label(n_columns: int, n_models: int = 1) -> NextLabel:
    """Return the state before the first row.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    n_models : int
        Number of models whose probabilities are given with every row, at least 1.
    """
    n = n_models + len(HALF_LIVES) + N_PRIORS
    weights = np.zeros(n)
    weights[0] = 1.0
    curvature = np.zeros(packed_size(n))
    curvature[np.cumsum(np.arange(1, n + 1)) - 1] = _RIDGE
    labels, recent = new_label_memory(), new_recent_gaussians(n_columns)
    return NextLabel(weights, curvature, labels, recent, new_calibration())


def reserve_codes(next_label: NextLabel, n_codes: int) -> NextLabel:
    """Reserve so many classes."""
    return next_label._replace(
        labels=label_memory.reserve_codes(next_label.labels, n_codes),
        recent=recent_gaussians.reserve_codes(next_label.recent, n_codes),
    )


@allocating
def _make_workspace(next_label, n, d):
    experts = next_label.weights.size
    return Workspace(
        np.empty((experts, n)),
        np.empty(n),
        np.empty(experts),
        np.empty(experts),
        np.empty(next_label.curvature.size),
        np.empty((2, d)),
    )


@allocating
def follow_rows(handle, X, codes, weights, asked, ranks, models, out, shares, balanced):
    """Predict rows, each as the next of the stream, and learn them.

    Parameters
    ----------
    handle : address
        Of a `NextLabel`, alone; changed in place.
    X : float64 array, shape (n, d)
        Rows in internal column order; NaN is missing.
    codes : int64 array, shape (n,)
        Class codes; anything where the weight is 0.
    weights : float64 array, shape (n,)
        A row of weight 0 is predicted only.
    asked : int64 array, shape (n,)
        `PREDICT` if the row is predicted, less if it is not. More if the weights of the experts
        learn from it: the number of rows that it stands for.
    ranks : int64 array, shape (n_codes,)
        Rank of each class code among the sorted labels.
    models : float64 array, shape (n_models, n, n_labels)
        Class probabilities of the models, given before they learnt the row, in the order of ranks.
    out : int64 array, shape (n,)
        Receives class codes; -1 before the first learnt row.
    shares : float64 array of zeros, shape (n, n_labels)
        Receives class probabilities, in the order of ranks.
    balanced : bool
        Whether the probabilities of the models take all classes as equally frequent.
    """
    (next_label,) = parts_of(handle)
    work = _make_workspace(next_label, ranks.size, X.shape[1])
    for i in range(X.shape[0]):
        if asked[i] >= PREDICT:
            out[i] = _predict(next_label, X, i, ranks, models, shares, work)
        if weights[i] > 0.0:
            code = codes[i]
            count = next_label.labels.count
            if asked[i] >= LEARN and out[i] >= 0 and count[code] > 0.0:
                calibration.learn(
                    next_label.calibration,
                    work.says[0],
                    count,
                    code,
                    weights[i],
                    ranks.size,
                    asked[i],
                    balanced,
                )
                if work.chances[code] < 1.0 - _CERTAIN:
                    kept = _FORGETTING ** asked[i]
                    _learn_weights(next_label, code, ranks.size, kept, work)
            recent_gaussians.learn(
                next_label.recent, code, X, i, weights[i], work.columns[0], work.columns[1]
            )
            label_memory.learn(next_label.labels, code, weights[i])


@allocating
def predict_next(handle, X, ranks, models, out, shares):
    """Predict each row as if it were the next of the stream; parameters as for `follow_rows`."""
    (next_label,) = parts_of(handle)
    work = _make_workspace(next_label, ranks.size, X.shape[1])
    for i in range(X.shape[0]):
        out[i] = _predict(next_label, X, i, ranks, models, shares, work)


@exact
def _predict(next_label, X, i, ranks, models, shares, work):
    """Write the probabilities of a row; returns the class code, -1 if no class has rows."""
    n, says, chances = ranks.size, work.says, work.chances
    count = next_label.labels.count
    _write_experts(next_label, X, i, ranks, models, work)
    best = -np.inf
    for k in range(n):
        chances[k] = -np.inf
        if count[k] > 0.0:
            chances[k] = 0.0
            for e in range(says.shape[0]):
                chances[k] += next_label.weights[e] * says[e, k]
            best = max(best, chances[k])
    if best == -np.inf:
        return -1
    total, winner = 0.0, -1
    for k in range(n):
        chances[k] = math.exp(chances[k] - best)
        total += chances[k]
    for k in range(n):
        chances[k] /= total
        shares[i, ranks[k]] = chances[k]
        if (
            winner < 0
            or chances[k] > chances[winner]
            or (chances[k] == chances[winner] and ranks[k] < ranks[winner])
        ):
            winner = k
    return winner


@exact
def _write_experts(next_label, X, i, ranks, models, work):
    """Write what every expert says of every class."""
    n, says = ranks.size, work.says
    n_models = models.shape[0]
    for e in range(n_models):
        for k in range(n):
            share = models[e, i, ranks[k]]
            says[e, k] = max(FLOOR, math.log(share)) if share > 0.0 else FLOOR
    # The class that the first model finds most probable goes first: its density ends most others.
    top, rows = -1, next_label.recent.rows
    for k in range(n):
        if rows[k] > 0 and (top < 0 or says[0, k] > says[0, top]):
            top = k
    for m in range(next_label.recent.decay.size):
        row = says[n_models + m]
        row[:] = -np.inf
        if top >= 0:
            row[top] = log_density(next_label.recent, top, m, X, i, -np.inf, work.columns[0])
            best = row[top]
            for k in range(n):
                if k != top and rows[k] > 0:
                    row[k] = log_density(
                        next_label.recent, k, m, X, i, best + FLOOR, work.columns[0]
                    )
                    best = max(best, row[k])
        _normalise(row, n)
    first = n_models + next_label.recent.decay.size
    write_priors(next_label.labels, n, FLOOR, says[first:])


@exact
def _normalise(row, n):
    """Turn log densities into log probabilities, none below `FLOOR`; alike if there are none."""
    best, total = -np.inf, 0.0
    for k in range(n):
        best = max(best, row[k])
    if not -np.inf < best < np.inf:
        row[:] = FLOOR
        return
    for k in range(n):
        total += math.exp(row[k] - best)
    total = best + math.log(total)
    for k in range(n):
        row[k] = max(FLOOR, row[k] - total)


@exact
def _learn_weights(next_label, code, n, forgetting, work):
    """Move the weights towards the label of the row that was predicted last.

    ``forgetting`` is the factor on what was learnt before.
    """
    says, chances, mean, step = work.says, work.chances, work.mean, work.step
    weights, curvature, factor = next_label.weights, next_label.curvature, work.factor
    experts, at = weights.size, 0
    for e in range(experts):
        mean[e] = 0.0
        for k in range(n):
            mean[e] += chances[k] * says[e, k]
        step[e] = says[e, code] - mean[e]
    for e in range(experts):
        for _f in range(e + 1):
            curvature[at] *= forgetting
            at += 1
        curvature[at - 1] += (1.0 - forgetting) * _RIDGE
    for k in range(n):
        if chances[k] > _RELEVANT:
            at = 0
            for e in range(experts):
                away = chances[k] * (says[e, k] - mean[e])
                for f in range(e + 1):
                    curvature[at] += away * (says[f, k] - mean[f])
                    at += 1
    for at in range(curvature.size):
        factor[at] = curvature[at]
    factorise(factor, experts)
    solve(factor, step, experts)
    for e in range(experts):
        weights[e] += step[e]
