"""A Gaussian mixture for each cell, which grows by proposals (leaves "mixture" and "full").

A *component* is a Gaussian with a share of the class's mass. While it may still divide it can have
a proposal, here called *trial*: a copy of the component, and *pairs* of Gaussians that might
replace it. Copy and pairs learn the same rows. Before each row is learnt, the log density that a
pair gives it minus that of the copy is added to the evidence of the pair. A pair with enough
evidence replaces the component, and one with too little is given up. Dividing and proposing are
rare work, see `mist.engine.mixture_trials`. A full-covariance leaf is a mixture of one component
without trials.

A class's components depend only on the rows of the class. For predictions their covariances are
shrunk towards one that is pooled over all classes of the leaf. So a component has two factors: one
for learning (``own.factor``) and one for predictions (``factor``).

The components of a cell form a chain: ``cells.first``, then ``components.next`` up to -1. Free
components are linked by the same field from `FREE_COMPONENT` on, free trials by ``free`` from
`FREE_PROPOSAL` on. Trial t has the 2 * pairs + 1 candidates from t * (2 * pairs + 1) on: the copy,
then both halves of each pair.

The functions share these parameters, with a numeric columns and p = a (a + 1) / 2:

tree, observed
    Parts of a `mist.engine.state.State`; ``observed`` may be None.
mixture : Mixture
    The leaf model.
complete : bool
    Whether row i has no missing value.
leaf, cell, component, g : int
    Indices of the leaf, the cell, the component and, in ``mixture.candidates``, a candidate.
X, i, w : float64 array, shape (n, d), int and float
    Rows in internal column order, the index of the row at hand, and its weight.
work : MixtureWorkspace or float64 array, shape (4, p)
    Workspace. Functions that renew factors take ``MixtureWorkspace.factors``: ``work[0]`` has the
    covariance within the class, from `_within`, and ``work[3]`` its column weights if values may be
    missing; the rest is scratch.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import allocating, exact, inlined
from mist.engine.gaussians import (
    Gaussians,
    GaussiansObserved,
    Space,
    absorb,
    absorb_seen,
    binary_score,
    clear,
    distance,
    factorise,
    factorise_seen,
    has_news,
    is_complete,
    lacks_known,
    learn_odds,
    log_density,
    new_gaussians,
    oracle_shrinkage,
)
from mist.engine.moments import running_variance
from mist.engine.records import new_records
from mist.engine.state import EPOCH, M2

N_COMPONENTS, FREE_COMPONENT, N_PROPOSALS, FREE_PROPOSAL = range(4)
"""Index of each number in `Mixture.counters`."""

COMPONENT = np.dtype(
    [
        ("mass", np.float64),
        ("log_mass", np.float64),
        ("zeros", np.float64),  # log probability of zeros in the binary columns
        ("constant", np.float64),  # of the density for predictions
        ("next", np.int64),  # next component of the cell, or next free one; -1 at the end
        ("proposal", np.int64),  # -1: none
        ("tried", np.int64),  # number of the next direction to propose
        # Weight that the trial has learnt. Without a trial, minus the weight until the next one.
        ("seen", np.float64),
        ("due", np.int64),  # 1: `mixture_trials.serve_due` divides it, or begins a trial
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
"""A component with a smaller responsibility for a row does not learn it."""

DOUBT = 0.5
"""Weight, in units of the number of columns, at which covariances are halved to fill in values."""

MOST_DIVIDED = 100
"""Most numeric columns with which components divide: beyond, a class has too few rows for it."""

LEAST_WEIGHT = 1e-9
CERTAIN = math.log(1e3)
"""Evidence that a pair needs, less the logarithm of the number of pairs."""

LOST = 4.0
"""A pair whose evidence is below minus this is given up: its log density is that much lower."""

REST = 0.25
"""A component rests after a trial without a winner until its mass has grown by this share. The
longer it has lived without dividing, the longer it rests: so trials cost less and less."""

NEGLIGIBLE = 40.0
"""Components are left out whose log density is below the class's largest by more than this."""


NOT_POOLED = -1.0
"""`Growth.pool_always` of a fork, which predicts nothing."""


class Growth(NamedTuple):
    """The numbers that decide when factors are renewed and components divide."""

    n_numeric: int
    n_known: int  # columns in which some row had a value; the numbers below depend on it
    most: int  # most components of a cell
    divides: bool  # whether components have trials
    pairs: int  # pairs of a trial
    own_pace: float  # growth of a component after which its factors are renewed
    proposal_pace: float  # the same for candidates
    pool_pace: float  # growth of a leaf after which its pooled covariance is renewed
    pool_always: float  # weight of a leaf up to which that is done at every row


class Mixture(NamedTuple):
    """All components of a model. Rows of ``own`` and ``factor`` are those of ``components``."""

    cells: Any  # records MIXED, one a cell of the tree
    components: Any  # records COMPONENT
    own: Gaussians
    factor: Any  # float64 (components, p): for predictions
    # float64 (leaves, p): covariance within classes, shrunk. If a column varies within no class,
    # the diagonal has minus its variance over all rows: a negative entry marks such a column.
    pooled: Any
    fresh: Any  # float64 (leaves,): weight of the leaf when it was pooled
    evidence: Any  # float64 (trials, pairs)
    free: Any  # int64 (trials,): next free trial
    candidates: Gaussians  # 2 pairs + 1 a trial: the copy, then the pairs
    counters: Any  # int64
    growth: Growth


class MixtureObserved(NamedTuple):
    """`ObservedWeights.model`: column weights of components and candidates."""

    own: GaussiansObserved
    candidates: GaussiansObserved
    pooled: Any  # float64 (leaves, a): `ObservedWeights.leaf` when the covariance was pooled


def growth_of(n_numeric: int, n_known: int, most: int) -> Growth:
    """Return the numbers for so many numeric columns and so many components of a class.

    A factor costs time cubic in the columns, learning a row quadratic: the more columns there are,
    the longer a factor is kept. Columns in which no row had a value do not count.
    """
    a = n_known
    return Growth(
        n_numeric=n_numeric,
        n_known=a,
        most=most,
        divides=most > 1 and 0 < a <= MOST_DIVIDED,
        pairs=5,
        own_pace=min(max(0.02, a / 1000), 0.1),
        proposal_pace=min(max(0.1, a / 200), 0.5),
        pool_pace=min(max(0.02, a / 400), 0.1),
        pool_always=64.0 if a <= MOST_DIVIDED else 0.0,
    )


def new_mixture(growth: Growth, n_columns: int) -> Mixture:
    """Return a mixture without components, for a tree with one leaf and two cells."""
    a = growth.n_numeric
    mixture = Mixture(
        cells=new_records(2, MIXED),
        components=new_records(0, COMPONENT),
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


class MixtureWorkspace(NamedTuple):
    """Workspace."""

    factors: Any  # float64 (4, p)
    row: Any  # float64 (a,)
    shares: Any  # float64 (most,)
    space: Space


@allocating
def make_workspace(mixture):
    """Return the workspace of the loops over rows."""
    growth = mixture.growth
    a, p = growth.n_numeric, mixture.pooled.shape[1]
    factors = np.empty((4, p))
    space = Space(np.empty((4, a)), np.empty(a, np.int64), np.empty(p), np.empty(p))
    return MixtureWorkspace(factors, np.empty(a), np.empty(growth.most), space)


@inlined
def has_capacity_for_component(mixture):
    """Whether a new component fits into the arrays."""
    counters = mixture.counters
    return counters[FREE_COMPONENT] >= 0 or counters[N_COMPONENTS] < mixture.components.size


@exact
def new_component(mixture, cell):
    """Append an empty component to a cell; capacity must have been reserved."""
    components, cells, counters = mixture.components, mixture.cells, mixture.counters
    component = counters[FREE_COMPONENT]
    if component >= 0:
        counters[FREE_COMPONENT] = components.next[component]
    else:
        component = counters[N_COMPONENTS]
        counters[N_COMPONENTS] += 1
    components.mass[component] = 0.0
    components.next[component] = -1
    components.proposal[component] = -1
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
def _within(mixture, observed, cell, out, known):
    """Write the covariance within the components of a cell; ``known`` as in `_add_up`."""
    for at in range(out.size):
        out[at] = 0.0
    n = _add_up(mixture, observed, cell, out, known, True)
    _average(observed, out, n, known, mixture.growth.n_numeric)


@exact
def _average(observed, out, n, known, n_numeric):
    """Divide sums of products of deviations by their weight, or by the column weights."""
    if observed is None:
        if n > 0.0:
            for at in range(out.size):
                out[at] /= n
    else:
        at = 0
        for i in range(n_numeric):
            for j in range(i + 1):
                both = math.sqrt(known[i] * known[j])
                out[at] = out[at] / both if both > 0.0 else 0.0
                at += 1


@inlined
def _is_finite(m2, component, n_numeric):
    """Whether the variances are finite: squares of large values may overflow."""
    # A finite number times 0 is 0; inf and NaN give NaN.
    total, at = 0.0, 0
    for j in range(n_numeric):
        at += j
        total += m2[component, at] * 0.0
        at += 1
    return total == 0.0


@exact
def _add_up(mixture, observed, cell, out, known, begin):
    """Add the products of deviations of a cell's components to ``out``; returns their weight.

    If values may be missing the column weights are added to ``known``, which is set to 0 before if
    ``reset_leaf``.
    """
    own, a = mixture.own, mixture.growth.n_numeric
    if observed is not None and begin:
        for j in range(a):
            known[j] = 0.0
    n = 0.0
    component = mixture.cells.first[cell]
    while component >= 0:
        if _is_finite(own.m2, component, a):
            for at in range(out.size):
                out[at] += own.m2[component, at]
            n += own.head.weight[component]
            if observed is not None:
                for j in range(a):
                    known[j] += observed.model.own.weight[component, j]
        component = mixture.components.next[component]
    return n


@inlined
def class_variance(tree, observed, cell, j):
    """Variance of a class in a column, from the moments of the tree."""
    weight = tree.cells.weight[cell] if observed is None else observed.cell[cell, j]
    return tree.stats[cell, M2, j] / weight if weight > 0.0 else 0.0


@exact
def _add_floor(tree, observed, cell, n_numeric, weight, S):
    """Add the floor to the diagonal of a packed covariance."""
    at = 0
    for j in range(n_numeric):
        at += j
        S[at] += weight * FLOOR * class_variance(tree, observed, cell, j)
        at += 1


@exact
def _refresh_learner(tree, mixture, observed, cell, component, base, work):
    """Renew the factor for learning. ``base`` is the log probability of zeros in binary columns."""
    own, a = mixture.own, mixture.growth.n_numeric
    within, S, low = work[0], work[1], work[2]
    n = own.head.weight[component]
    q = 0.1 * mixture.growth.n_known
    if observed is None:
        for at in range(S.size):
            S[at] = (own.m2[component, at] + q * within[at]) / (n + q)
        _add_floor(tree, observed, cell, a, q / (n + q), S)
        own.head.constant[component] = base + factorise(S, own.factor[component], low, a)
    else:
        seen = observed.model.own
        for at in range(S.size):
            S[at] = q * within[at]
        _add_floor(tree, observed, cell, a, q, S)
        at = 0
        for i in range(a):
            for j in range(i + 1):
                both = math.sqrt((seen.weight[component, i] + q) * (seen.weight[component, j] + q))
                S[at] = (own.m2[component, at] + S[at]) / both if both > 0.0 else 0.0
                # Estimates of missing values rely on covariances, which few rows overstate.
                if j < i and seen.ready[component]:
                    S[at] *= n / (n + DOUBT * mixture.growth.n_known)
                at += 1
        _keep_variances(seen, component, S, a)
        logs = factorise_seen(S, seen.weight, component, own.factor, low, a)
        own.head.constant[component] = base + logs


@exact
def _keep_variances(seen, g, S, n_numeric):
    """Keep the variances behind a factor: `absorb_seen` compares with them."""
    at = 0
    for j in range(n_numeric):
        at += j
        seen.variance[g, j] = S[at] if S[at] > 0.0 else 1.0
        at += 1


@exact
def _refresh_component(tree, mixture, observed, leaf, cell, component, work):
    """Renew the factors of a component: for predictions, and for learning if that is needed."""
    own, a = mixture.own, mixture.growth.n_numeric
    seen = None if observed is None else observed.model.own
    base = learn_odds(own, seen, component, a)
    # Learning needs a factor for the responsibilities of several components, or to fill in values.
    several = mixture.cells.n[cell] > 1
    if observed is not None:
        several |= observed.model.own.ready[component] == 1
        for j in range(a):
            observed.model.own.made[component, j] = observed.model.own.weight[component, j]
    if several:
        _refresh_learner(tree, mixture, observed, cell, component, base, work)
    mixture.components.zeros[component] = base
    _refresh_predictor(mixture, observed, leaf, cell, component, work)
    own.head.fresh[component] = own.head.weight[component]


@exact
def refresh_components(tree, mixture, observed, leaf, cell, work):
    """Renew all factors of a cell."""
    _within(mixture, observed, cell, work[0], work[3])
    component = mixture.cells.first[cell]
    while component >= 0:
        _refresh_component(tree, mixture, observed, leaf, cell, component, work)
        component = mixture.components.next[component]


@inlined
def _unpooled(mixture, leaf, at, v, component, alone, n, prior):
    """Variance of a column that varied within no class when the leaf was pooled.

    Parameters as in the module docstring, and

    at : int
        Index of the column's diagonal entry.
    v : float
        Share of the class in the variance: the class may vary in the column by now.
    alone : bool
        Whether the class has one component.
    n, prior : float
        Weight of the component in the column, and weight of ``v``.
    """
    if not alone:
        v = (mixture.own.m2[component, at] + prior * v) / (n + prior)
    return v if v > 0.0 else -mixture.pooled[leaf, at]


@inlined
def _unsure(n):
    """Variance of a new row about the mean of n rows, in units of the variance of a row."""
    return 1.0 + 1.0 / max(n, 1.0)


@exact
def _refresh_predictor(mixture, observed, leaf, cell, component, work):
    """Renew the factor for predictions.

    The mean of n rows is known up to an n-th part of the covariance, which is added.
    """
    own, a = mixture.own, mixture.growth.n_numeric
    within, S = work[0], work[1]
    n, prior = own.head.weight[component], float(mixture.growth.n_known)
    alone = mixture.cells.n[cell] == 1
    total = mixture.cells.total[cell]
    if observed is None:
        pooling = max(POOLED, 1.0 - total / (2.0 * prior))
        for at in range(S.size):
            S[at] = (1.0 - pooling) * within[at] + pooling * mixture.pooled[leaf, at]
            if not alone:
                S[at] = (own.m2[component, at] + prior * S[at]) / (n + prior)
        at = 0
        for j in range(a):
            at += j
            if mixture.pooled[leaf, at] < 0.0:
                v = (1.0 - pooling) * within[at]
                S[at] = _unpooled(mixture, leaf, at, v, component, alone, n, prior)
            at += 1
        unsure = _unsure(n)
        for at in range(S.size):
            S[at] *= unsure
        logs = factorise(S, mixture.factor[component], work[2], a)
    else:
        weight, known, pooling = observed.model.own.weight, work[3], work[2]
        weights = 0.0
        k = mixture.cells.first[cell]
        while k >= 0:
            weights += own.head.weight[k]
            k = mixture.components.next[k]
        for j in range(a):
            # The part of the class's mass with a value in the column.
            mass = total * (known[j] / weights)
            pooling[j] = max(POOLED, 1.0 - mass / (2.0 * prior)) if prior > 0.0 else 1.0
        at = 0
        for i in range(a):
            for j in range(i + 1):
                own_share = math.sqrt((1.0 - pooling[i]) * (1.0 - pooling[j]))
                S[at] = own_share * within[at]
                S[at] += math.sqrt(pooling[i] * pooling[j]) * mixture.pooled[leaf, at]
                if not alone:
                    both = (weight[component, i] + prior) * (weight[component, j] + prior)
                    S[at] = (own.m2[component, at] + prior * S[at]) / math.sqrt(both)
                at += 1
            if mixture.pooled[leaf, at - 1] < 0.0:
                v, seen = (1.0 - pooling[i]) * within[at - 1], weight[component, i]
                S[at - 1] = _unpooled(mixture, leaf, at - 1, v, component, alone, seen, prior)
        at = 0
        for i in range(a):
            for j in range(i + 1):
                S[at] *= math.sqrt(_unsure(weight[component, i]) * _unsure(weight[component, j]))
                at += 1
        logs = factorise_seen(S, weight, component, mixture.factor, work[2], a)
    mixture.components.constant[component] = mixture.components.zeros[component] + logs


@exact
def refresh_candidate(tree, mixture, observed, cell, g, work):
    """Renew the factor of a candidate."""
    candidates, a = mixture.candidates, mixture.growth.n_numeric
    S = work[1]
    n = candidates.head.weight[g]
    if observed is None:
        for at in range(S.size):
            S[at] = candidates.m2[g, at] / n
        _add_floor(tree, observed, cell, a, 1.0, S)
        base = learn_odds(candidates, None, g, a)
        logs = factorise(S, candidates.factor[g], work[2], a)
    else:
        seen = observed.model.candidates
        for at in range(S.size):
            S[at] = candidates.m2[g, at]
        for j in range(a):
            work[3, j] = seen.weight[g, j]
            seen.made[g, j] = seen.weight[g, j]
        _average(observed, S, n, work[3], a)
        _add_floor(tree, observed, cell, a, 1.0, S)
        base = learn_odds(candidates, seen, g, a)
        _keep_variances(seen, g, S, a)
        logs = factorise_seen(S, seen.weight, g, candidates.factor, work[2], a)
    candidates.head.constant[g] = base + logs
    candidates.head.fresh[g] = n


@exact
def refresh_pool(tree, mixture, observed, leaf, work):
    """Pool the covariance within the classes of a leaf, shrink it, and renew what depends on it.

    ``work`` is overwritten: the covariance within a class must be computed again afterwards.
    """
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    pooled, known = mixture.pooled[leaf], work[3]
    pooled[:] = 0.0
    n = 0.0
    cell = tree.leaves.first[leaf]
    begin = True
    while cell >= 0:
        n += _add_up(mixture, observed, cell, pooled, known, begin)
        begin = False
        cell = tree.cells.next[cell]
    _average(observed, pooled, n, known, a)
    if observed is not None:
        n, columns = 0.0, 0
        for j in range(a):
            observed.model.pooled[leaf, j] = observed.leaf[leaf, j]
            n += known[j]
            columns += known[j] > 0.0
        n /= max(columns, 1)
    shrinkage = _packed_shrinkage(pooled, n, a)
    at = 0
    for i in range(a):
        for j in range(i):
            pooled[at + j] *= 1.0 - shrinkage
        at += i
        if pooled[at] == 0.0:
            pooled[at] = -running_variance(tree, observed, i)
        at += 1
    tree.leaves.epoch[leaf] = tree.counters[EPOCH]
    cell = tree.leaves.first[leaf]
    while cell >= 0:
        if mixture.cells.first[cell] >= 0:
            _within(mixture, observed, cell, work[0], known)
        component = mixture.cells.first[cell]
        while component >= 0:
            # Where `fresh` is 0 factors were never made; the caller makes them next.
            if own.head.fresh[component] > 0.0:
                _refresh_predictor(mixture, observed, leaf, cell, component, work)
            component = components.next[component]
        cell = tree.cells.next[cell]
    mixture.fresh[leaf] = tree.leaves.weight[leaf]


@exact
def _packed_shrinkage(S, n, n_columns):
    """Shrinkage of the correlations of a packed covariance; constant columns are left out."""
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


@exact
def _candidate_score(mixture, observed, complete, g, X, i, work):
    """Log density of a row under a candidate, -inf if it cannot be computed."""
    candidates, a = mixture.candidates, mixture.growth.n_numeric
    constant = candidates.head.constant[g]
    if observed is not None and (observed.model.candidates.uneven[g] or not complete):
        return log_density(candidates, candidates.factor, constant, g, X, i, a, work.space)
    constant += binary_score(candidates.odds, g, X, i, a)
    away = distance(candidates.factor, candidates.mean, g, X, i, a, work.row, np.inf)
    return _finite(constant - 0.5 * away)


@inlined
def _finite(score):
    """The log density itself if it is finite; -inf for NaN and inf, which cannot be used."""
    return score if -np.inf < score < np.inf else -np.inf


@exact
def _learn_candidate(tree, mixture, observed, complete, cell, g, X, i, w, work):
    """Learn a row into a candidate. Parameters as in the module docstring."""
    if w < LEAST_WEIGHT:
        return
    candidates, growth = mixture.candidates, mixture.growth
    a = growth.n_numeric
    due = False
    if observed is None:
        absorb(candidates, g, X, i, w, a)
    else:
        seen = observed.model.candidates
        if not complete:
            seen.uneven[g] = 1
            if not seen.ready[g] and lacks_known(seen, g, X, i, a):
                refresh_candidate(tree, mixture, observed, cell, g, work.factors)
                seen.ready[g] = 1
        _absorb(candidates, seen, g, X, i, w, a, work.space)
        due = seen.uneven[g] and has_news(seen, g)
    if due or candidates.head.weight[g] >= (1.0 + growth.proposal_pace) * candidates.head.fresh[g]:
        refresh_candidate(tree, mixture, observed, cell, g, work.factors)


@exact
def _absorb(gaussians, seen, g, X, i, w, n_numeric, space):
    """Learn a row where values may be missing; fast as long as this Gaussian has had none missing.

    Parameters as in `mist.engine.gaussians`.
    """
    if seen.uneven[g]:
        absorb_seen(gaussians, seen, g, X, i, w, n_numeric, space)
    else:
        absorb(gaussians, g, X, i, w, n_numeric)
        seen.weight[g, :] = gaussians.head.weight[g]


@exact
def winner(mixture, component):
    """The pair with enough evidence to replace a component that has a trial, or -1."""
    components, candidates, growth = mixture.components, mixture.candidates, mixture.growth
    proposal = components.proposal[component]
    pair = np.argmax(mixture.evidence[proposal])
    first = proposal * (2 * growth.pairs + 1) + 1 + 2 * pair
    lighter = min(candidates.head.weight[first], candidates.head.weight[first + 1])
    earned = (
        mixture.evidence[proposal, pair] > CERTAIN + math.log(growth.pairs)
        and lighter >= max(5.0, 0.5 * growth.n_numeric)
        and components.seen[component] >= max(20.0, growth.n_numeric)
    )
    return pair if earned else -1


@exact
def _judge(tree, mixture, observed, complete, cell, component, X, i, w, work):
    """Add a row to the evidence of every pair of a trial, then let all candidates learn it.

    Parameters as in the module docstring; w is the part of the row that the component learns.
    """
    candidates, growth = mixture.candidates, mixture.growth
    proposal = mixture.components.proposal[component]
    copy = proposal * (2 * growth.pairs + 1)
    if observed is not None:
        _set_units(tree, observed, cell, work.space.row[3])
    # The copy is scored before it learns the row; each pair is, too.
    alone = _candidate_score(mixture, observed, complete, copy, X, i, work)
    n_left = 0
    for pair in range(growth.pairs):
        if mixture.evidence[proposal, pair] == -np.inf:
            continue
        first = copy + 1 + 2 * pair
        n, m = candidates.head.weight[first], candidates.head.weight[first + 1]
        one = _candidate_score(mixture, observed, complete, first, X, i, work)
        other = _candidate_score(mixture, observed, complete, first + 1, X, i, work)
        one += math.log(n / (n + m))
        other += math.log(m / (n + m))
        high = max(one, other)
        share = n / (n + m)
        # Without a usable density of the pair both halves learn by their weights. The evidence
        # changes only if pair and copy both have one.
        if high > -np.inf:
            both = high + math.log(math.exp(one - high) + math.exp(other - high))
            share = math.exp(one - both)
            if alone > -np.inf:
                mixture.evidence[proposal, pair] += w * (both - alone)
        if mixture.evidence[proposal, pair] < -LOST:
            mixture.evidence[proposal, pair] = -np.inf
            continue
        n_left += 1
        _learn_candidate(tree, mixture, observed, complete, cell, first, X, i, w * share, work)
        rest = w * (1.0 - share)
        _learn_candidate(tree, mixture, observed, complete, cell, first + 1, X, i, rest, work)
    _learn_candidate(tree, mixture, observed, complete, cell, copy, X, i, w, work)
    components = mixture.components
    components.seen[component] += w
    worn = components.seen[component] >= 8.0 * max(30.0, 2.0 * growth.n_known) or n_left == 0
    components.due[component] = worn or winner(mixture, component) >= 0


@exact
def _set_units(tree, observed, cell, units):
    """Write the variances of a class, which `log_density` takes for columns that are unknown."""
    for j in range(units.size):
        units[j] = class_variance(tree, observed, cell, j)


@exact
def learn_mixture(tree, mixture, observed, leaf, cell, X, i, w, work):
    """Learn a row of weight w; the cell's moments have learnt it already.

    Parameters
    ----------
    tree, mixture, observed, leaf, cell, X, i, w, work
        As in the module docstring. Capacity for one component has been reserved; ``X`` may hold NaN
        only if ``observed`` is given.

    Returns
    -------
    bool
        Whether `mist.engine.mixture_upkeep.on_cell_due` is to be called for the cell.
    """
    cells, components, own = mixture.cells, mixture.components, mixture.own
    growth = mixture.growth
    shares, factors = work.shares, work.factors
    complete = True if observed is None else is_complete(X, i)
    if cells.first[cell] < 0:
        component = new_component(mixture, cell)
        if observed is not None:
            forget_columns(observed.model.own, component)
    # All responsibilities are computed before any component learns. `shares` is in chain order.
    n = _responsibilities(tree, mixture, observed, complete, cell, X, i, work)
    due = False
    k = 0
    component = cells.first[cell]
    while component >= 0:
        share = shares[k]
        if share > LEAST_SHARE:
            part = share * w
            if components.proposal[component] >= 0:
                _judge(tree, mixture, observed, complete, cell, component, X, i, part, work)
            if observed is None:
                absorb(own, component, X, i, part, growth.n_numeric)
            else:
                _learn_component(
                    tree, mixture, observed, complete, leaf, cell, component, X, i, part, work
                )
            components.mass[component] += part
            components.log_mass[component] = math.log(components.mass[component])
            cells.total[cell] += part
            if components.proposal[component] < 0:
                if n < growth.most and growth.divides:
                    _wait(mixture, component, part)
            elif components.due[component] == 1 and winner(mixture, component) < 0:
                close_trial(mixture, component)
                components.seen[component] = -REST * components.mass[component]
            due |= components.due[component] == 1
        k += 1
        component = components.next[component]
    cells.log_total[cell] = math.log(cells.total[cell])
    # The pooled covariance is renewed if the leaf has grown by its pace, a column of any leaf has
    # begun to vary, or the weight of a column has doubled.
    weight = tree.leaves.weight[leaf]
    stale = weight >= (1.0 + growth.pool_pace) * mixture.fresh[leaf]
    stale |= tree.leaves.epoch[leaf] != tree.counters[EPOCH]
    if observed is not None:
        for j in range(growth.n_numeric):
            known = observed.leaf[leaf, j]
            stale |= known > 0.0 and known >= 2.0 * observed.model.pooled[leaf, j]
    if stale or weight <= growth.pool_always:
        refresh_pool(tree, mixture, observed, leaf, factors)
    # After the pool: the factors for predictions depend on it.
    component = cells.first[cell]
    while component >= 0:
        worn = own.head.weight[component] >= (1.0 + growth.own_pace) * own.head.fresh[component]
        if observed is not None:
            seen = observed.model.own
            worn |= seen.uneven[component] == 1 and has_news(seen, component)
        if worn:
            _within(mixture, observed, cell, factors[0], factors[3])
            _refresh_component(tree, mixture, observed, leaf, cell, component, factors)
        component = components.next[component]
    return due


@exact
def close_trial(mixture, component):
    """End the trial of a component, if it has one."""
    components, counters = mixture.components, mixture.counters
    proposal = components.proposal[component]
    if proposal >= 0:
        mixture.free[proposal] = counters[FREE_PROPOSAL]
        counters[FREE_PROPOSAL] = proposal
    components.proposal[component] = -1
    components.seen[component] = 0.0
    components.due[component] = 0


@inlined
def _wait(mixture, component, w):
    """Count a row of weight w while a component has no trial; it is due when its rest is over."""
    components, growth = mixture.components, mixture.growth
    if components.seen[component] < 0.0:
        components.seen[component] = min(0.0, components.seen[component] + w)
    if components.seen[component] == 0.0:
        components.due[component] = components.mass[component] >= max(2.0 * growth.n_known, 30.0)


@exact
def forget_columns(seen, g):
    """Reset the column weights of a Gaussian that has learnt nothing."""
    seen.weight[g, :] = 0.0
    seen.made[g, :] = 0.0
    seen.uneven[g] = 0
    seen.ready[g] = 0


@exact
def _learn_component(tree, mixture, observed, complete, leaf, cell, component, X, i, w, work):
    """Learn a row into a component where values may be missing.

    Parameters as in the module docstring.
    """
    seen, own, a = observed.model.own, mixture.own, mixture.growth.n_numeric
    if not complete:
        seen.uneven[component] = 1
        if not seen.ready[component] and lacks_known(seen, component, X, i, a):
            seen.ready[component] = 1
            _within(mixture, observed, cell, work.factors[0], work.factors[3])
            base = mixture.components.zeros[component]
            _refresh_learner(tree, mixture, observed, cell, component, base, work.factors)
    _absorb(own, seen, component, X, i, w, a, work.space)


@exact
def _responsibilities(tree, mixture, observed, complete, cell, X, i, work):
    """Write the probability of each component given the row; returns their number.

    Parameters as in the module docstring.
    """
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    n, shares = mixture.cells.n[cell], work.shares
    if n == 1:
        shares[0] = 1.0
        return n
    if observed is not None:
        _set_units(tree, observed, cell, work.space.row[3])
    best = -np.inf
    component = mixture.cells.first[cell]
    for k in range(n):
        score = components.log_mass[component] + own.head.constant[component]
        slow = False
        if observed is not None:
            slow = not complete or observed.model.own.uneven[component] == 1
        if slow:
            score = log_density(own, own.factor, score, component, X, i, a, work.space)
        else:
            score += binary_score(own.odds, component, X, i, a)
            score -= 0.5 * distance(own.factor, own.mean, component, X, i, a, work.row, np.inf)
        shares[k] = _finite(score)
        best = max(best, shares[k])
        component = components.next[component]
    if best == -np.inf:
        # No density can be computed: the masses decide.
        component = mixture.cells.first[cell]
        for k in range(n):
            shares[k] = components.log_mass[component]
            best = max(best, shares[k])
            component = components.next[component]
    total = 0.0
    for k in range(n):
        shares[k] = math.exp(shares[k] - best)
        total += shares[k]
    for k in range(n):
        shares[k] /= total
    return n


@exact
def mixture_score_missing(mixture, observed, complete, leaf, cell, X, i, work, need):
    """`mixture_score` for rows, or models, with missing values.

    Parameters as in the module docstring, and ``need`` as in `mixture_score`.
    """
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    uneven = not complete
    units, at = work.space.row[3], 0
    component = mixture.cells.first[cell]
    if observed is not None:
        while component >= 0:
            uneven |= observed.model.own.uneven[component] == 1
            component = components.next[component]
    if not uneven:
        return mixture_score(mixture, cell, X, i, work.row, need)
    # Variances of all classes, for columns that a component does not know.
    for j in range(a):
        at += j
        units[j] = abs(mixture.pooled[leaf, at])
        at += 1
    best, total = -np.inf, 0.0
    component = mixture.cells.first[cell]
    while component >= 0:
        score = components.log_mass[component] + components.constant[component]
        score = log_density(own, mixture.factor, score, component, X, i, a, work.space)
        if score > best:
            total = total * math.exp(best - score) + 1.0
            best = score
        elif score > -np.inf:
            total += math.exp(score - best)
        component = components.next[component]
    if total == 0.0:
        return -np.inf
    return best + math.log(total) - mixture.cells.log_total[cell]


@inlined
def mixture_score(mixture, cell, X, i, deviation, need):
    """Log density of a row in a class, up to a constant; a lower bound if it is below ``need``.

    ``deviation`` of shape (a,) is a scratch array.
    """
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    if need > -np.inf and not _reaches(mixture, cell, X, i, deviation, need):
        return -np.inf
    best, total = -np.inf, 0.0
    component = mixture.cells.first[cell]
    while component >= 0:
        score = components.log_mass[component] + components.constant[component]
        score += binary_score(own.odds, component, X, i, a)
        # Squared distance from which on the component is left out; `distance` stops there.
        most = 2.0 * (score - best + NEGLIGIBLE)
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


@inlined
def _reaches(mixture, cell, X, i, deviation, need):
    """Whether the log density of a row in a class may reach ``need``."""
    components, own, a = mixture.components, mixture.own, mixture.growth.n_numeric
    # The sum over n components reaches `need` only if one of them reaches its n-th part.
    floor = need + mixture.cells.log_total[cell] - math.log(float(mixture.cells.n[cell]))
    component = mixture.cells.first[cell]
    while component >= 0:
        score = components.log_mass[component] + components.constant[component]
        most = 2.0 * (score + binary_score(own.odds, component, X, i, a) - floor)
        if most > 0.0:
            away = distance(mixture.factor, own.mean, component, X, i, a, deviation, most)
            if away <= most and away < np.inf:
                return True
        component = components.next[component]
    return False
