"""What due components of a mixture get: a trial, or the pair that has won one in their place.

The functions share the parameters of `mist.engine.gaussian_mixtures`, and

work : float64 array, shape (4, p)
    Scratch array, as there.
axes, rows : float64 arrays, shapes (a, a) and (5, a)
    Scratch arrays.
"""

from __future__ import annotations

import math

import numpy as np

from mist.engine.compiled import allocating, exact, inlined
from mist.engine.gaussian_mixtures import (
    FREE_PROPOSAL,
    N_PROPOSALS,
    close_trial,
    has_capacity_for_component,
    new_component,
    refresh_candidate,
    refresh_components,
)
from mist.engine.handle import parts_of
from mist.engine.mixture_pairs import write_pairs
from mist.engine.state import M2

SERVED, FULL_COMPONENTS, FULL_PROPOSALS, FULL_CELL = range(4)
"""How `serve_due` ends: all is done; an array is full, and it is to be called again once it is
larger; or the cell now has as many components as it may, so that none of them has a trial."""


@allocating
def serve_due(handle, cell):
    """Divide each due component of a cell whose trial a pair has won; begin a trial for others.

    Parameters
    ----------
    handle : address
        Of the state, see `mist.engine.state.State.handle`.
    cell : int
        Index of the cell.

    Returns
    -------
    int
        `SERVED`, `FULL_COMPONENTS`, `FULL_PROPOSALS` or `FULL_CELL`.
    """
    tree, observed, _, mixture, _, _, _ = parts_of(handle)
    a = mixture.growth.n_numeric
    work = np.empty((4, mixture.pooled.shape[1]))
    return _serve_due(tree, mixture, observed, cell, work, np.empty((a, a)), np.empty((5, a)))


@inlined
def _serve_due(tree, mixture, observed, cell, work, axes, rows):
    """`serve_due` for the parts of a state."""
    components, cells, growth = mixture.components, mixture.cells, mixture.growth
    counters = mixture.counters
    component = cells.first[cell]
    while component >= 0:
        # A division appends a component that is not due.
        following = components.next[component]
        if components.due[component] == 1:
            if not growth.divides:
                close_trial(mixture, component)
            elif components.proposal[component] >= 0:
                if not has_capacity_for_component(mixture):
                    return FULL_COMPONENTS
                # The loop ends a trial that no pair has won, so this one has a winner.
                _divide(mixture, observed, cell, component)
                refresh_components(tree, mixture, observed, tree.cells.leaf[cell], cell, work)
                if cells.n[cell] >= growth.most:
                    component = cells.first[cell]
                    while component >= 0:
                        close_trial(mixture, component)
                        component = components.next[component]
                    return FULL_CELL
            else:
                if counters[FREE_PROPOSAL] < 0 and counters[N_PROPOSALS] == mixture.free.size:
                    return FULL_PROPOSALS
                take_proposal(mixture, component)
                _begin_trial(tree, mixture, observed, cell, component, work, axes, rows)
            components.due[component] = 0
        component = following
    return SERVED


@exact
def take_proposal(mixture, component):
    """Give a component a trial whose entries are yet to be set; capacity has been reserved."""
    counters = mixture.counters
    proposal = counters[FREE_PROPOSAL]
    if proposal >= 0:
        counters[FREE_PROPOSAL] = mixture.free[proposal]
    else:
        proposal = counters[N_PROPOSALS]
        counters[N_PROPOSALS] += 1
    mixture.components.proposal[component] = proposal
    return proposal


@exact
def _divide(mixture, observed, cell, component):
    """Replace a component by the best pair of its trial: one half takes its record, one a new one.

    The Gaussians of the pair, with what they have learnt as candidates, become components.
    """
    components, candidates = mixture.components, mixture.candidates
    proposal = components.proposal[component]
    pair = np.argmax(mixture.evidence[proposal])
    first = proposal * (2 * mixture.growth.pairs + 1) + 1 + 2 * pair
    mass = components.mass[component]
    other = new_component(mixture, cell)
    for half in range(2):
        target = component if half == 0 else other
        _copy_gaussian(mixture.own, target, candidates, first + half)
        if observed is not None:
            _copy_observed(observed.model.own, target, observed.model.candidates, first + half)
    close_trial(mixture, component)
    n, m = candidates.head.weight[first], candidates.head.weight[first + 1]
    components.mass[component] = mass * n / (n + m)
    components.mass[other] = mass * m / (n + m)
    components.log_mass[component] = math.log(components.mass[component])
    components.log_mass[other] = math.log(components.mass[other])
    components.tried[component] = 0


@exact
def _copy_gaussian(pool, target, other, g):
    """Copy a Gaussian of another pool."""
    pool.head.weight[target] = other.head.weight[g]
    for j in range(pool.mean.shape[1]):
        pool.mean[target, j] = other.mean[g, j]
    for at in range(pool.m2.shape[1]):
        pool.m2[target, at] = other.m2[g, at]
    _copy_factor(pool, target, other, g)


@exact
def _copy_factor(pool, target, other, g):
    """Copy the factor of a Gaussian, its log odds, and what belongs to them."""
    pool.head.fresh[target] = other.head.fresh[g]
    pool.head.constant[target] = other.head.constant[g]
    for at in range(pool.factor.shape[1]):
        pool.factor[target, at] = other.factor[g, at]
    for j in range(pool.odds.shape[1]):
        pool.odds[target, j] = other.odds[g, j]


@exact
def _copy_observed(seen, target, other, g):
    """Copy the column weights of a Gaussian of another pool."""
    for j in range(seen.weight.shape[1]):
        seen.weight[target, j] = other.weight[g, j]
    for j in range(seen.made.shape[1]):
        seen.made[target, j] = other.made[g, j]
        seen.variance[target, j] = other.variance[g, j]
    seen.uneven[target] = other.uneven[g]
    seen.ready[target] = other.ready[g]


@inlined
def _column_weight(own, observed, component, j):
    """Weight of the rows with a value in a column behind the moments of a component."""
    if observed is None:
        return own.head.weight[component]
    return observed.model.own.weight[component, j]


@exact
def _begin_trial(tree, mixture, observed, cell, component, work, axes, rows):
    """Write the candidates of a trial: a copy of the component, and the next pairs for it.

    All begin with the weight of few rows, so that they soon follow the rows that come.
    """
    own, candidates, growth = mixture.own, mixture.candidates, mixture.growth
    components, evidence = (
        mixture.components,
        mixture.evidence[mixture.components.proposal[component]],
    )
    a, n_candidates = growth.n_numeric, 2 * growth.pairs + 1
    copy = components.proposal[component] * n_candidates
    packed, between, variances = work[0], work[1], rows[4]
    at = 0
    for i in range(a):
        known = tree.cells.weight[cell] if observed is None else observed.cell[cell, i]
        variances[i] = tree.stats[cell, M2, i] / known if known > 0.0 else 0.0
        for j in range(i + 1):
            known = _column_weight(own, observed, component, i)
            between[at] = math.sqrt(known * _column_weight(own, observed, component, j))
            packed[at] = own.m2[component, at] / between[at] if between[at] > 0.0 else 0.0
            at += 1
    n_directions = max(2 * growth.n_known, 1)
    tried, mean = components.tried[component], own.mean[component]
    means = candidates.mean[copy : copy + n_candidates]
    m2 = candidates.m2[copy : copy + n_candidates]
    write_pairs(packed, mean, variances, tried, n_directions, means, m2, evidence, axes, rows)
    weight = own.head.weight[component]
    total = min(weight, 2.0 * growth.n_known + 10.0)
    for k in range(n_candidates):
        part = total if k == 0 else 0.5 * total
        candidates.head.weight[copy + k] = part
        for at in range(m2.shape[1]):
            m2[k, at] *= part * (between[at] / weight)
        if observed is not None:
            seen, known = observed.model.candidates, observed.model.own
            for j in range(seen.weight.shape[1]):
                seen.weight[copy + k, j] = part * (known.weight[component, j] / weight)
            seen.uneven[copy + k] = known.uneven[component]
            seen.ready[copy + k] = 0
    components.tried[component] = (tried + growth.pairs - 1) % n_directions
    components.seen[component] = 0.0
    _write_factors(tree, mixture, observed, cell, copy, evidence, work)


@exact
def _write_factors(tree, mixture, observed, cell, copy, evidence, work):
    """Write the factors of the candidates of a new trial."""
    refresh_candidate(tree, mixture, observed, cell, copy, work)
    for pair in range(evidence.size):
        if evidence[pair] > -np.inf:
            first = copy + 1 + 2 * pair
            refresh_candidate(tree, mixture, observed, cell, first, work)
            if pair == evidence.size - 1:
                refresh_candidate(tree, mixture, observed, cell, first + 1, work)
                continue
            # Both halves of a cut have the same covariance.
            candidates = mixture.candidates
            _copy_factor(candidates, first + 1, candidates, first)
            if observed is not None:
                seen = observed.model.candidates
                _copy_observed(seen, first + 1, seen, first)
