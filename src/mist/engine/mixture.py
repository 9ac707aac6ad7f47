"""A Gaussian mixture for each cell, grown by judged pairs of candidates (leaves "mixture", "full").

A *component* is a Gaussian with a share of the class's mass. Beside it stand, while it may still
divide, a *trial*: a copy of the component, frozen at its start, and pairs of Gaussians that might
take its place. Copy and pairs learn the same rows. Before each row is learnt, the log density that
a pair gives it, less that of the copy, is added to the pair's evidence: the pair that predicts
better by enough takes the component's place. Dividing and proposing are rare and not done here,
see `mist.engine.components`. A full-covariance leaf is a mixture of one component without trials.

A class's components depend on the rows of the class alone. For predictions their covariances are
drawn towards one that is pooled over all classes of the leaf.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact, inlined
from mist.engine.gaussians import (
    Gaussians,
    absorb,
    binary_score,
    clear,
    distance,
    factorise,
    learn_odds,
    new_gaussians,
    oracle_shrinkage,
)
from mist.engine.state import M2

N_COMPONENTS, FREE_COMPONENT, N_TRIALS, FREE_TRIAL = range(4)
"""Where each number stands in `Mixture.counters`."""

COMPONENT = np.dtype(
    [
        ("mass", np.float64),
        ("log_mass", np.float64),
        ("base", np.float64),  # log probability of zeros in the binary columns
        ("constant", np.float64),  # of the density for predictions
        ("next", np.int64),  # next component of the cell, or next free one
        ("trial", np.int64),  # -1: none
        ("tried", np.int64),  # directions proposed so far
        ("seen", np.float64),  # weight that the trial has learnt
        ("due", np.int64),  # 1: to be divided, or to be given new candidates
    ]
)

MIXED = np.dtype(
    [
        ("first", np.int64),  # ends of the chain of components; -1: none
        ("last", np.int64),
        ("n", np.int64),
        ("total", np.float64),  # sum of the masses
        ("log_total", np.float64),
    ]
)

FLOOR = 0.03
"""Variance added to candidates, as a share of the class's own variance in the column."""

POOLED = 0.03
"""Least share of the pooled covariance in that of a class."""

LEAST_CORRELATION_SHRINKAGE = 1e-3
LEAST_SHARE = 1e-3
"""A component with less responsibility for a row does not learn it."""

MOST_DIVIDED = 100
"""Numeric columns up to which components divide: beyond, a class has too few rows for it."""

LEAST_WEIGHT = 1e-9
CERTAIN = math.log(1e3)
"""Evidence that a pair needs, less the logarithm of the number of pairs."""

NEGLIGIBLE = 40.0
"""Components whose density is smaller than the class's largest by this logarithm are left out."""


class Growth(NamedTuple):
    """The numbers that decide on refreshing and dividing."""

    n_numeric: int
    most: int  # components of a cell
    pairs: int  # candidates of a trial
    own_pace: float  # growth of a component after which its factors are made anew
    trial_pace: float  # the same for candidates
    pool_pace: float  # growth of a leaf after which its pooled covariance is
    pool_always: float  # weight of a leaf up to which that is done at every row


class Mixture(NamedTuple):
    """All components of a model. Rows of ``own`` and ``factor`` are those of ``components``."""

    cells: Any  # records MIXED, one a cell of the tree
    components: Any  # records COMPONENT
    own: Gaussians
    factor: Any  # float64 (components, p): for predictions
    pooled: Any  # float64 (leaves, p): covariance within classes, shrunk
    fresh: Any  # float64 (leaves,): weight of the leaf when it was pooled
    evidence: Any  # float64 (trials, pairs)
    free: Any  # int64 (trials,): next free trial
    candidates: Gaussians  # 2 pairs + 1 a trial: the copy, then the pairs
    counters: Any  # int64
    growth: Growth


def growth_of(n_numeric: int, most: int) -> Growth:
    """Return the numbers for so many numeric columns and so many components of a class.

    A factor costs the cube of the columns, what a row changes in it the square: the more columns
    there are, the longer a factor has to serve.
    """
    a = n_numeric
    return Growth(
        n_numeric=a,
        most=most,
        pairs=5,
        own_pace=min(max(0.02, a / 1000), 0.1),
        trial_pace=min(max(0.1, a / 200), 0.5),
        pool_pace=min(max(0.02, a / 400), 0.1),
        pool_always=64.0 if a <= MOST_DIVIDED else 0.0,
    )


def new_mixture(growth: Growth, n_columns: int) -> Mixture:
    """Return a mixture without components, for a tree with one leaf and room for two cells."""
    a = growth.n_numeric
    mixture = Mixture(
        cells=np.zeros(2, MIXED).view(np.recarray),
        components=np.zeros(0, COMPONENT).view(np.recarray),
        own=new_gaussians(0, a, n_columns - a),
        factor=np.zeros((0, a * (a + 1) // 2)),
        pooled=np.zeros((1, a * (a + 1) // 2)),
        fresh=np.zeros(1),
        evidence=np.zeros((0, growth.pairs)),
        free=np.zeros(0, np.int64),
        candidates=new_gaussians(0, a, n_columns - a),
        counters=np.array([0, -1, 0, -1]),
        growth=growth,
    )
    mixture.cells.first[:] = -1
    return mixture


class Room(NamedTuple):
    """Room for what is computed on the way."""

    factors: Any  # float64 (3, p)
    row: Any  # float64 (a,)
    shares: Any  # float64 (most,)


@exact
def make_room(mixture):
    """Return room for the loops over rows."""
    growth = mixture.growth
    return Room(
        np.empty((3, mixture.pooled.shape[1])),
        np.empty(growth.n_numeric),
        np.empty(growth.most),
    )


@inlined
def has_room_for_component(mixture):
    """Whether a new component fits without growing the arrays."""
    counters = mixture.counters
    return counters[FREE_COMPONENT] >= 0 or counters[N_COMPONENTS] < mixture.components.size


@exact
def new_component(mixture, cell):
    """Append an empty component to a cell; room must have been reserved."""
    components, cells, counters = mixture.components, mixture.cells, mixture.counters
    component = counters[FREE_COMPONENT]
    if component >= 0:
        counters[FREE_COMPONENT] = components.next[component]
    else:
        component = counters[N_COMPONENTS]
        counters[N_COMPONENTS] += 1
    components.mass[component] = 0.0
    components.next[component] = -1
    components.trial[component] = -1
    components.tried[component] = 0
    components.seen[component] = 0.0
    components.due[component] = 0
    clear(mixture.own, component)
    if cells.first[cell] < 0:
        cells.first[cell] = component
        cells.n[cell] = 0
        cells.total[cell] = 0.0
    else:
        components.next[cells.last[cell]] = component
    cells.last[cell] = component
    cells.n[cell] += 1
    return component


@exact
def _within(mixture, cell, out):
    """Write the covariance within the components of a cell."""
    for at in range(out.size):
        out[at] = 0.0
    n = _add_up(mixture, cell, out)
    for at in range(out.size):
        out[at] /= n


@exact
def _add_up(mixture, cell, out):
    """Add the products of deviations of a cell's components; returns their weight."""
    n = 0.0
    component = mixture.cells.first[cell]
    while component >= 0:
        for at in range(out.size):
            out[at] += mixture.own.m2[component, at]
        n += mixture.own.head.weight[component]
        component = mixture.components.next[component]
    return n


@exact
def _add_floor(tree, cell, n_numeric, weight, S):
    """Add the floor to the diagonal of a packed covariance."""
    share = weight * FLOOR / tree.cells.weight[cell]
    at = 0
    for j in range(n_numeric):
        at += j
        S[at] += share * tree.stats[cell, M2, j]
        at += 1


@exact
def _refresh_component(tree, mixture, leaf, cell, component, room):
    """Make the factors of a component anew: for predictions, and for learning if it is not alone.

    ``room`` has shape (3, p), and ``room[0]`` holds the covariance within the class.
    """
    own, a = mixture.own, mixture.growth.n_numeric
    within, S, low = room[0], room[1], room[2]
    n = own.head.weight[component]
    base = learn_odds(own, component, a)
    if mixture.cells.n[cell] > 1:
        q = 0.1 * a
        for at in range(S.size):
            S[at] = (own.m2[component, at] + q * within[at]) / (n + q)
        _add_floor(tree, cell, a, q / (n + q), S)
        own.head.constant[component] = base + factorise(S, own.factor[component], low, a)
    mixture.components.base[component] = base
    _refresh_predictor(mixture, leaf, cell, component, room)
    own.head.fresh[component] = n


@exact
def refresh_components(tree, mixture, leaf, cell, room):
    """Make all factors of a cell anew."""
    _within(mixture, cell, room[0])
    component = mixture.cells.first[cell]
    while component >= 0:
        _refresh_component(tree, mixture, leaf, cell, component, room)
        component = mixture.components.next[component]


@exact
def _refresh_predictor(mixture, leaf, cell, component, room):
    """Make the factor for predictions anew; ``room[0]`` holds the covariance within the class."""
    own, a = mixture.own, mixture.growth.n_numeric
    within, S = room[0], room[1]
    n = own.head.weight[component]
    alone = mixture.cells.n[cell] == 1
    pooling = max(POOLED, 1.0 - mixture.cells.total[cell] / (2.0 * a))
    for at in range(S.size):
        S[at] = (1.0 - pooling) * within[at] + pooling * mixture.pooled[leaf, at]
        if not alone:
            S[at] = (own.m2[component, at] + a * S[at]) / (n + a)
    logs = factorise(S, mixture.factor[component], room[2], a)
    mixture.components.constant[component] = mixture.components.base[component] + logs


@exact
def _refresh_candidate(tree, mixture, cell, g, room):
    """Make the factor of a candidate anew."""
    candidates, a = mixture.candidates, mixture.growth.n_numeric
    S = room[1]
    n = candidates.head.weight[g]
    for at in range(S.size):
        S[at] = candidates.m2[g, at] / n
    _add_floor(tree, cell, a, 1.0, S)
    base = learn_odds(candidates, g, a)
    candidates.head.constant[g] = base + factorise(S, candidates.factor[g], room[2], a)
    candidates.head.fresh[g] = n


@exact
def refresh_trial(tree, mixture, cell, trial, room):
    """Make the factors of all candidates of a trial."""
    each = 2 * mixture.growth.pairs + 1
    for g in range(trial * each, (trial + 1) * each):
        pair = (g - trial * each - 1) // 2
        if pair < 0 or mixture.evidence[trial, pair] > -np.inf:
            _refresh_candidate(tree, mixture, cell, g, room)


@exact
def refresh_pool(tree, mixture, leaf, room):
    """Pool the covariance within the classes of a leaf, shrink it, and renew what depends on it."""
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    pooled = mixture.pooled[leaf]
    pooled[:] = 0.0
    n = 0.0
    cell = tree.leaves.first[leaf]
    while cell >= 0:
        n += _add_up(mixture, cell, pooled)
        cell = tree.cells.next[cell]
    for at in range(pooled.size):
        pooled[at] /= n
    shrinkage = _packed_shrinkage(pooled, n, a)
    at = 0
    for i in range(a):
        for j in range(i):
            pooled[at + j] *= 1.0 - shrinkage
        at += i + 1
    cell = tree.leaves.first[leaf]
    while cell >= 0:
        if mixture.cells.first[cell] >= 0:
            _within(mixture, cell, room[0])
        component = mixture.cells.first[cell]
        while component >= 0:
            if own.head.fresh[component] > 0.0:
                _refresh_predictor(mixture, leaf, cell, component, room)
            component = components.next[component]
        cell = tree.cells.next[cell]
    mixture.fresh[leaf] = tree.leaves.weight[leaf]


@exact
def _packed_shrinkage(S, n, n_columns):
    """The share of the identity for a packed covariance; columns that do not vary are left out."""
    total, varying = 0.0, 0
    row = 0
    for i in range(n_columns):
        if S[row + i] > 0.0:
            varying += 1
            total += 1.0
            column = 0
            for j in range(i):
                if S[column + j] > 0.0:
                    total += 2.0 * (S[row + j] / S[row + i]) * (S[row + j] / S[column + j])
                column += j + 1
        row += i + 1
    return oracle_shrinkage(total, float(varying), n, LEAST_CORRELATION_SHRINKAGE)


@inlined
def _candidate_score(candidates, g, X, i, n_numeric, deviation):
    return (
        candidates.head.constant[g]
        + binary_score(candidates.odds, g, X, i, n_numeric)
        - 0.5 * distance(candidates.factor, candidates.mean, g, X, i, n_numeric, deviation, np.inf)
    )


@exact
def _learn_candidate(tree, mixture, cell, g, X, i, w, room):
    if w < LEAST_WEIGHT:
        return
    candidates, growth = mixture.candidates, mixture.growth
    absorb(candidates, g, X, i, w, growth.n_numeric)
    if candidates.head.weight[g] >= (1.0 + growth.trial_pace) * candidates.head.fresh[g]:
        _refresh_candidate(tree, mixture, cell, g, room)


@exact
def winner(mixture, component):
    """The pair that has earned the place of a component with a trial, or -1."""
    components, candidates, growth = mixture.components, mixture.candidates, mixture.growth
    trial = components.trial[component]
    pair = np.argmax(mixture.evidence[trial])
    first = trial * (2 * growth.pairs + 1) + 1 + 2 * pair
    lighter = min(candidates.head.weight[first], candidates.head.weight[first + 1])
    earned = (
        mixture.evidence[trial, pair] > CERTAIN + math.log(growth.pairs)
        and lighter >= max(5.0, 0.5 * growth.n_numeric)
        and components.seen[component] >= max(20.0, growth.n_numeric)
    )
    return pair if earned else -1


@exact
def _judge(tree, mixture, cell, component, X, i, w, room, deviation):
    """Count a row for and against every pair of a trial, then let them all learn it."""
    candidates, growth = mixture.candidates, mixture.growth
    a, trial = growth.n_numeric, mixture.components.trial[component]
    copy = trial * (2 * growth.pairs + 1)
    alone = _candidate_score(candidates, copy, X, i, a, deviation)
    for pair in range(growth.pairs):
        if mixture.evidence[trial, pair] == -np.inf:
            continue
        first = copy + 1 + 2 * pair
        n, m = candidates.head.weight[first], candidates.head.weight[first + 1]
        one = math.log(n / (n + m)) + _candidate_score(candidates, first, X, i, a, deviation)
        other = math.log(m / (n + m)) + _candidate_score(candidates, first + 1, X, i, a, deviation)
        high = max(one, other)
        both = high + math.log(math.exp(one - high) + math.exp(other - high))
        mixture.evidence[trial, pair] += w * (both - alone)
        share = math.exp(one - both)
        _learn_candidate(tree, mixture, cell, first, X, i, w * share, room)
        _learn_candidate(tree, mixture, cell, first + 1, X, i, w * (1.0 - share), room)
    _learn_candidate(tree, mixture, cell, copy, X, i, w, room)
    components = mixture.components
    components.seen[component] += w
    worn = components.seen[component] >= 8.0 * max(30.0, 2.0 * a)
    components.due[component] = worn or winner(mixture, component) >= 0


@exact
def learn_mixture(tree, mixture, leaf, cell, X, i, w, room, deviation, shares):
    """Learn a row of weight w; the cell's moments have learnt it already.

    Parameters
    ----------
    tree, mixture
        The state.
    leaf, cell : int
        Where the row belongs; room for a component has been reserved.
    X : float64 array, shape (n, d)
        Rows without missing values.
    i : int
        Which of them.
    w : float
        Its weight, above 0.
    room : float64 array, shape (3, p)
        Room for covariances.
    deviation : float64 array, shape (a,)
        Room for a row.
    shares : float64 array
        Room for as many numbers as a cell may have components.

    Returns
    -------
    bool
        Whether a component is due to be divided or to be given new candidates.
    """
    cells, components, own = mixture.cells, mixture.components, mixture.own
    growth = mixture.growth
    a = growth.n_numeric
    if cells.first[cell] < 0:
        new_component(mixture, cell)
    n = _responsibilities(mixture, cell, X, i, deviation, shares)
    due = False
    k = 0
    component = cells.first[cell]
    while component >= 0:
        share = shares[k]
        if share > LEAST_SHARE:
            part = share * w
            if components.trial[component] >= 0:
                _judge(tree, mixture, cell, component, X, i, part, room, deviation)
            absorb(own, component, X, i, part, a)
            components.mass[component] += part
            components.log_mass[component] = math.log(components.mass[component])
            cells.total[cell] += part
            opens = components.trial[component] < 0 and n < growth.most and a > 0
            if opens and components.mass[component] >= max(2.0 * a, 30.0):
                components.due[component] = 1
            due |= components.due[component] == 1
        k += 1
        component = components.next[component]
    cells.log_total[cell] = math.log(cells.total[cell])
    weight = tree.leaves.weight[leaf]
    if weight <= growth.pool_always or weight >= (1.0 + growth.pool_pace) * mixture.fresh[leaf]:
        refresh_pool(tree, mixture, leaf, room)
    component = cells.first[cell]
    while component >= 0:
        if own.head.weight[component] >= (1.0 + growth.own_pace) * own.head.fresh[component]:
            _within(mixture, cell, room[0])
            _refresh_component(tree, mixture, leaf, cell, component, room)
        component = components.next[component]
    return due


@exact
def _responsibilities(mixture, cell, X, i, deviation, shares):
    """Write the probability of each component given the row; returns their number."""
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    n = mixture.cells.n[cell]
    if n == 1:
        shares[0] = 1.0
        return n
    best = -np.inf
    component = mixture.cells.first[cell]
    for k in range(n):
        shares[k] = (
            components.log_mass[component]
            + own.head.constant[component]
            + binary_score(own.odds, component, X, i, a)
            - 0.5 * distance(own.factor, own.mean, component, X, i, a, deviation, np.inf)
        )
        best = max(best, shares[k])
        component = components.next[component]
    total = 0.0
    for k in range(n):
        shares[k] = math.exp(shares[k] - best)
        total += shares[k]
    for k in range(n):
        shares[k] /= total
    return n


@inlined
def mixture_score(mixture, cell, X, i, deviation, need):
    """Log density of a row in a class, up to a constant; a lower bound if it is below ``need``."""
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    best, total = -np.inf, 0.0
    # A class may reach what it needs by many components that each stay a little below.
    need += mixture.cells.log_total[cell] - math.log(float(mixture.cells.n[cell]))
    component = mixture.cells.first[cell]
    while component >= 0:
        score = components.log_mass[component] + components.constant[component]
        score += binary_score(own.odds, component, X, i, a)
        most = 2.0 * (score - max(best - NEGLIGIBLE, need))
        if most > 0.0:
            away = distance(mixture.factor, own.mean, component, X, i, a, deviation, most)
            if away <= most and away < np.inf:
                score -= 0.5 * away
                if score > best:
                    total = total * math.exp(best - score) + 1.0
                    best = score
                else:
                    total += math.exp(score - best)
        component = components.next[component]
    if total == 0.0:
        return -np.inf
    return best + math.log(total) - mixture.cells.log_total[cell]
