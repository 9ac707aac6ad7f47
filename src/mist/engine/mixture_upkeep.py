"""The rare work on mixtures: larger arrays, inheriting at a split, scaling of components."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown, per
from mist.engine.budget import row_bytes
from mist.engine.capacity import size_for
from mist.engine.gaussian_mixtures import (
    FREE_COMPONENT,
    FREE_PROPOSAL,
    N_COMPONENTS,
    N_PROPOSALS,
    REST,
    Mixture,
    close_trial,
    growth_of,
    new_component,
    refresh_components,
    refresh_pool,
)
from mist.engine.gaussians import Gaussians, GaussiansObserved
from mist.engine.inheritance import fractions, truncated_moments
from mist.engine.leafmodel import ConditionalMoments, Side
from mist.engine.mixture_trials import FULL_COMPONENTS, FULL_PROPOSALS, SERVED, serve_due
from mist.engine.state import State, leaf_cells

Array = np.ndarray[Any, Any]

LEAST_MASS = 0.5
"""A component that inherits less than this is dropped."""

_TRACE = 1e-12
"""Least share of a component that goes to a side, so that its logarithm is finite."""


def reserve_components(state: State, n_more: int) -> None:
    """Reserve so many more components."""
    mixture = state.model
    free = _count_free(mixture.components.next, int(mixture.counters[FREE_COMPONENT]))
    needed = int(mixture.counters[N_COMPONENTS]) + max(0, n_more - free)
    n = size_for(state, len(mixture.components), needed, bytes_of_component(state), large=True)
    if n == len(mixture.components):
        return  # a model that is set costs a new handle
    state.model = mixture._replace(
        components=grown(mixture.components, n),
        own=Gaussians(*(grown(array, n) for array in mixture.own)),
        factor=grown(mixture.factor, n),
    )
    _grow_seen(state, "own", n)


def _grow_seen(state: State, pool: str, n: int) -> None:
    """Reserve the column weights of n Gaussians of a pool, "own" or "candidates"."""
    if state.observed is not None:
        seen = state.observed.model
        more = GaussiansObserved(*(grown(array, n) for array in getattr(seen, pool)))
        state.observed = state.observed._replace(model=seen._replace(**{pool: more}))


def count_known_columns(state: State, X: Array, weights: Array) -> int:
    """Count as known the columns that have their first value in row 0 of ``X``.

    Returns
    -------
    int
        Number of rows that can be learnt before another column has its first value.
    """
    assert state.observed is not None
    growth = state.model.growth
    unknown = np.flatnonzero(state.observed.scale[: growth.n_numeric] == 0.0)
    values = (X[:, unknown] == X[:, unknown]) & (weights > 0.0)[:, None]
    n_known = growth.n_numeric - int((~values[0]).sum())
    if n_known != growth.n_known:
        growth = growth_of(growth.n_numeric, n_known, growth.most)
        state.model = state.model._replace(growth=growth)
    later = np.flatnonzero(values[:, ~values[0]].any(axis=1))
    return int(later[0]) if later.size else len(X)


def components_of(mixture: Mixture, cell: int) -> list[int]:
    """Components of a cell, in order of creation."""
    return list(_chain(mixture.components.next, int(mixture.cells.first[cell])))


def on_cell_due(state: State, cell: int) -> None:
    """Divide each due component of a cell whose trial a pair has won; begin a trial for others."""
    while (reason := state.handle.call(serve_due, cell)) != SERVED:
        if reason == FULL_COMPONENTS:
            if _may_divide(state):
                reserve_components(state, 1)
            else:
                _put_off(state, cell, with_trial=True)
        elif reason == FULL_PROPOSALS:
            if state.budget is None or state.budget.has_room(state, bytes_of_trial(state)):
                reserve_proposals(state, 1)
            else:
                _put_off(state, cell, with_trial=False)
        else:
            _drop_free_proposals(state)
            return


def _may_divide(state: State) -> bool:
    """Whether the budget, if there is one, has room for one more component."""
    budget = state.budget
    return budget is None or budget.find_room(state, bytes_of_component(state))


def _put_off(state: State, cell: int, *, with_trial: bool) -> None:
    """Let the first component rest that is due to divide, or for a trial, for lack of room."""
    components = state.model.components
    for component in components_of(state.model, cell):
        if components.due[component] and (components.proposal[component] >= 0) == with_trial:
            _end_trial(state.model, component)
            return


def _end_trial(mixture: Mixture, component: int) -> None:
    """End the trial of a component, or what it is due for; it then rests as after a trial."""
    close_trial(mixture, component)
    mixture.components.seen[component] = -REST * mixture.components.mass[component]


def bytes_of_component(state: State) -> int:
    """Bytes that one more component takes."""
    mixture = state.model
    seen = () if state.observed is None else state.observed.model.own
    return row_bytes(mixture.components, mixture.factor, *mixture.own, *seen)


def bytes_of_trial(state: State) -> int:
    """Bytes that one more trial takes."""
    mixture = state.model
    seen = () if state.observed is None else state.observed.model.candidates
    candidates = row_bytes(*mixture.candidates, *seen)
    each = 2 * mixture.growth.pairs + 1
    return row_bytes(mixture.evidence, mixture.free) + each * candidates


def free_components(mixture: Mixture) -> int:
    """Components that are reserved and not in use."""
    free = _count_free(mixture.components.next, int(mixture.counters[FREE_COMPONENT]))
    return free + len(mixture.components) - int(mixture.counters[N_COMPONENTS])


def components_with_trial(mixture: Mixture) -> Array:
    """Components that have a trial."""
    # Free components have none: `close_trial` runs before a component is put on the free list.
    n = int(mixture.counters[N_COMPONENTS])
    return np.flatnonzero(mixture.components.proposal[:n] >= 0)


def end_trials(state: State, n_bytes: int) -> None:
    """End trials that have not won, those with the least evidence first; drop what is free.

    Parameters
    ----------
    state : State
        A model of mixtures; changed in place.
    n_bytes : int
        Bytes to give back.
    """
    mixture, each = state.model, bytes_of_trial(state)
    own = components_with_trial(mixture)
    free = len(mixture.free) - len(own)
    own = own[mixture.components.due[own] == 0]
    best = mixture.evidence[mixture.components.proposal[own]].max(axis=1, initial=-np.inf)
    n = max(0, -(-n_bytes // each) - free)
    for component in own[np.argsort(best, kind="stable")][:n].tolist():
        _end_trial(mixture, component)
    _pack_proposals(state)


def release(mixture: Mixture, cell: int) -> None:
    """Put all components of a cell on the free list."""
    for component in components_of(mixture, cell):
        close_trial(mixture, component)
        mixture.components.next[component] = mixture.counters[FREE_COMPONENT]
        mixture.counters[FREE_COMPONENT] = component
    mixture.cells.first[cell] = -1


def inherit(
    state: State,
    parents: Array,
    children: Array,
    side: Side,
    conditional: ConditionalMoments | None = None,
) -> None:
    """Give each new cell the part of its parent's components on one side of a split.

    Every component is cut as a Gaussian: its mass in the ratio of the normal distribution, its
    mean and covariance as those of the part, the other columns along with their correlation.

    Parameters
    ----------
    state : State
        The model; changed in place.
    parents, children : ndarray of int
        Detached cells, and the cells that inherit from them.
    side : Side
        The side of the split on which the new cells are.
    conditional : callable or None
        Conditional moments of a parent in the split column on that side, or None if unknown. For
        classes with one component they replace those of the Gaussian.
    """
    reserve_components(state, int(state.model.cells.n[parents].sum()))
    mixture = state.model
    for parent, cell in zip(parents.tolist(), children.tolist(), strict=True):
        mixture.cells.first[cell] = -1
        olds = components_of(mixture, parent)
        # A sketch does not say to which of several components its values belong.
        moments = conditional(parent) if conditional is not None and len(olds) == 1 else None
        parts = [_part(state, old, side, moments) for old in olds]
        # A class that goes to this side keeps one component at least.
        least = min(LEAST_MASS, max(part.mass for part in parts))
        for part in parts:
            if part.mass >= least:
                new = new_component(mixture, cell)
                mixture.own.head.weight[new] = part.weight
                mixture.own.mean[new] = part.mean
                mixture.own.m2[new] = part.m2
                if state.observed is not None:
                    seen = state.observed.model.own
                    seen.weight[new], seen.made[new] = part.known, 0.0
                    seen.uneven[new], seen.ready[new] = part.uneven, 0
                _set_mass(mixture, new, part.mass)
                mixture.cells.total[cell] += part.mass
        mixture.cells.log_total[cell] = math.log(mixture.cells.total[cell])


def _known(state: State, own: list[int]) -> Array:
    """Column weights of components, shape (components, d)."""
    if state.observed is not None:
        weights: Array = state.observed.model.own.weight[own]
        return weights
    return np.repeat(state.model.own.head["weight"][own][:, None], state.n_features, axis=1)


def overall_moments(state: State, cell: int) -> tuple[Array, Array]:
    """Mean of a class in every column and variance in the numeric ones, of all components."""
    mixture = state.model
    a = mixture.growth.n_numeric
    own = components_of(mixture, cell)
    weights = _known(state, own)
    total = weights.sum(axis=0)
    means = mixture.own.mean[own]
    diagonal = np.arange(a) * (np.arange(a) + 3) // 2
    mean = per((weights * means).sum(axis=0), total)
    between = (weights * (means - mean) ** 2).sum(axis=0)[:a]
    return mean, per(mixture.own.m2[own][:, diagonal].sum(axis=0) + between, total[:a])


def overall_covariances(state: State, cell: int, feature: int) -> tuple[Array, Array]:
    """Covariance of a class's numeric columns with one of them, and their variances."""
    mixture = state.model
    a = mixture.growth.n_numeric
    own = components_of(mixture, cell)
    weights = _known(state, own)[:, :a]
    both = np.sqrt(weights * weights[:, [feature]])
    total = np.sqrt(weights.sum(axis=0) * weights[:, feature].sum())
    mean, variance = overall_moments(state, cell)
    column = np.array([_at(feature, j) for j in range(a)])
    away = mixture.own.mean[own, :a] - mean[:a]
    between = (both * away * away[:, [feature]]).sum(axis=0)
    return per(mixture.own.m2[own][:, column].sum(axis=0) + between, total), variance


def scale_components(state: State, cell: int, mass: float, weight: float) -> None:
    """Multiply the masses of a cell's components, and the weights of their moments."""
    mixture = state.model
    for component in components_of(mixture, cell):
        _set_mass(mixture, component, float(mixture.components.mass[component]) * mass)
        mixture.own.head.weight[component] *= weight
        mixture.own.m2[component] *= weight
        if state.observed is not None:
            state.observed.model.own.weight[component] *= weight
    mixture.cells.total[cell] *= mass
    mixture.cells.log_total[cell] = math.log(mixture.cells.total[cell])


class _Part(NamedTuple):
    """The part of a component on one side of a split."""

    mass: float
    weight: float
    mean: Array
    m2: Array
    known: Array  # weight of every column
    uneven: int


def _part(state: State, component: int, side: Side, moments: tuple[float, float] | None) -> _Part:
    """The part of a component on one side of a split; its share is at least `_TRACE`."""
    mixture = state.model
    weight = float(mixture.own.head.weight[component])
    known = _known(state, [component])[0]
    uneven = 0 if state.observed is None else int(state.observed.model.own.uneven[component])
    mean, m2 = mixture.own.mean[component].copy(), mixture.own.m2[component].copy()
    if known[side.feature] > 0.0:
        share = _cut(mean, m2, known, mixture.growth.n_numeric, side, moments)
    else:
        share = float(side.takes_unknown)
    if not share > _TRACE:  # NaN, too: values may be too large for a variance
        share = _TRACE
    mass = float(mixture.components.mass[component]) * share
    return _Part(mass, weight * share, mean, m2 * share, known * share, uneven)


def pool(state: State, leaf: int) -> None:
    """Bring a leaf's pooled covariance and all its factors up to date."""
    refresh_pool(state.tree, state.model, state.observed, leaf, _workspace(state.model))
    for cell in leaf_cells(state.tree, leaf):
        _refresh(state, leaf, int(cell))


def _cut(
    mean: Array, m2: Array, known: Array, a: int, side: Side, moments: tuple[float, float] | None
) -> float:
    """Truncate a Gaussian in place; returns the share of its mass that is kept.

    ``known`` has the column weights; that of the split column is above 0. ``moments`` are the
    conditional mean and variance of the split column, or None for those of the Gaussian.
    """
    feature, v, left = side.feature, side.threshold, side.left
    if feature >= a:
        share = 1.0 - mean[feature] if left else mean[feature]
        mean[feature] = 0.0 if left else 1.0
        return float(share)
    variance = m2[_at(feature, feature)] / known[feature]
    if not 0.0 < variance < np.inf:
        return float((mean[feature] <= v) == left)
    before, spread = mean[[feature]], np.array([variance])
    share = float(fractions(before, spread, v)[0 if left else 1][0])
    if moments is None:
        kept = truncated_moments(before, spread, v, left)
        moments = float(kept[0][0]), float(kept[1][0])
    products = np.array([m2[_at(feature, j)] for j in range(a)])
    covariance = per(products, np.sqrt(known[feature]) * np.sqrt(known[:a]))
    shift, fall = moments[0] - before[0], 1.0 - moments[1] / variance
    mean[:a] += covariance / variance * shift
    rows, columns = _lower(a)
    slope = products / products[feature]
    m2 -= fall * slope[rows] * products[columns]
    # A copy of the split column has no variance left, or by rounding a negative one.
    diagonal = rows == columns
    m2[diagonal] = np.maximum(m2[diagonal], 0.0)
    return share


def _set_mass(mixture: Mixture, component: int, mass: float) -> None:
    """Set the mass of a component; the total of its cell is left to the caller."""
    mixture.components.mass[component] = mass
    mixture.components.log_mass[component] = math.log(mass)


def _refresh(state: State, leaf: int, cell: int) -> None:
    """Renew all factors of a cell."""
    mixture = state.model
    refresh_components(state.tree, mixture, state.observed, leaf, cell, _workspace(mixture))


def _workspace(mixture: Mixture) -> Array:
    """Workspace of the functions that renew factors."""
    return np.empty((4, mixture.pooled.shape[1]))


def _drop_free_proposals(state: State) -> None:
    """Renumber the trials without the free ones, if more than half of all are free."""
    if 2 * len(components_with_trial(state.model)) < len(state.model.free):
        _pack_proposals(state)


def _pack_proposals(state: State) -> None:
    """Renumber the trials without the free ones; none are to spare then."""
    mixture = state.model
    components, own = mixture.components, components_with_trial(mixture)
    each, proposals = 2 * mixture.growth.pairs + 1, components.proposal[own]
    places = (proposals[:, None] * each + np.arange(each)).ravel()
    components.proposal[own] = np.arange(len(own))
    mixture.counters[[N_PROPOSALS, FREE_PROPOSAL]] = len(own), -1
    state.model = mixture._replace(
        evidence=mixture.evidence[proposals],
        free=np.full(len(own), -1),
        candidates=Gaussians(*(array[places] for array in mixture.candidates)),
    )
    if state.observed is not None:
        seen = state.observed.model
        fewer = GaussiansObserved(*(array[places] for array in seen.candidates))
        state.observed = state.observed._replace(model=seen._replace(candidates=fewer))


def reserve_proposals(state: State, n_more: int) -> None:
    """Reserve so many more trials."""
    mixture = state.model
    free = _count_free(mixture.free, int(mixture.counters[FREE_PROPOSAL]))
    needed = int(mixture.counters[N_PROPOSALS]) + max(0, n_more - free)
    n = size_for(state, len(mixture.free), needed, bytes_of_trial(state), large=True)
    if n == len(mixture.free):
        return
    each = 2 * mixture.growth.pairs + 1
    state.model = mixture._replace(
        evidence=grown(mixture.evidence, n),
        free=grown(mixture.free, n),
        candidates=Gaussians(*(grown(array, n * each) for array in mixture.candidates)),
    )
    _grow_seen(state, "candidates", n * each)


@cache
def _lower(a: int) -> tuple[Array, Array]:
    """Row and column of every entry of a packed matrix."""
    rows, columns = np.tril_indices(a)
    return rows, columns


def _at(i: int, j: int) -> int:
    """Index of an entry of a packed matrix."""
    return max(i, j) * (max(i, j) + 1) // 2 + min(i, j)


def _chain(following: Array, first: int) -> Iterator[int]:
    """The indices of a chain from ``first`` up to -1."""
    while first >= 0:
        yield first
        first = int(following[first])


def _count_free(following: Array, first: int) -> int:
    return sum(1 for _ in _chain(following, first))
