"""Joining mixtures and reducing them to fewer components.

The components of two classes are put in one list. While they are more than a class may have, the
two with the least loss are joined. The loss is bounded as by Runnalls, "Kullback-Leibler approach
to Gaussian mixture reduction", IEEE Transactions on Aerospace and Electronic Systems 43(3), 2007:
the mass of the two times half the log determinant of their common covariance, minus the same of
either. Joining keeps the mass, mean and covariance of the class as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import per
from mist.engine.gaussian_mixtures import FLOOR, growth_of, new_component
from mist.engine.gaussians import LEAST_CHANCE, factorise
from mist.engine.mixture_upkeep import components_of, release, reserve_components
from mist.engine.state import State

Array = np.ndarray[Any, Any]

_NOTHING = 1e-9
"""A component is dropped if a smaller share of it than this is left."""


class Parts(NamedTuple):
    """Components of one class, over a numeric and b 0/1 columns; p = a (a + 1) / 2."""

    masses: Array  # float64 (n,): shares in the class
    weights: Array  # float64 (n,): of the rows behind the moments
    known: Array  # float64 (n, a + b): column weights; all equal if nothing was missing
    means: Array  # float64 (n, a + b)
    products: Array  # float64 (n, p): of numeric deviations, weighted and packed


def stacked(one: Parts, other: Parts) -> Parts:
    """Put the components of two classes in one list.

    Parameters
    ----------
    one, other : Parts
        Components over the same columns.

    Returns
    -------
    Parts
        Those of ``one``, then those of ``other``.
    """
    return Parts(*(np.concatenate(arrays) for arrays in zip(one, other, strict=True)))


def joined(parts: Parts, n_numeric: int) -> Parts:
    """Join components into one by Chan's formula.

    Masses and weights add, and mean and covariance are those of all together. Where the weights of
    columns differ, an entry of ``products`` is a covariance times the geometric mean of both
    columns' weights, and stays that.

    Parameters
    ----------
    parts : Parts
        One component or more.
    n_numeric : int
        Number of numeric columns.

    Returns
    -------
    Parts
        One component.

    Examples
    --------
    >>> means = np.array([[1.0], [3.0]])
    >>> two = Parts(np.ones(2), np.ones(2), np.ones((2, 1)), means, np.ones((2, 1)))
    >>> one = joined(two, 1)
    >>> print(one.masses, one.means, one.products)
    [2.] [[2.]] [[4.]]
    """
    known = parts.known.sum(axis=0)
    mean = per((parts.known * parts.means).sum(axis=0), known)
    away = (np.sqrt(parts.known) * (parts.means - mean))[:, :n_numeric]
    rows, columns = np.tril_indices(n_numeric)
    products = (parts.products + away[:, rows] * away[:, columns]).sum(axis=0)
    return Parts(
        parts.masses.sum(keepdims=True),
        parts.weights.sum(keepdims=True),
        known[None],
        mean[None],
        products[None],
    )


def reduced(parts: Parts, n_numeric: int, most: int) -> Parts:
    """Join the two components with the least loss until few enough remain.

    Covariances are shrunk a little towards that within the class, as they are while a component
    learns, so that a component of few rows has a determinant. For a 0/1 column the entropy replaces
    half the log determinant.

    Parameters
    ----------
    parts : Parts
        Components of a class.
    n_numeric : int
        Number of numeric columns.
    most : int
        Most components to remain, at least 1.

    Returns
    -------
    Parts
        ``most`` components, or ``parts`` if there are no more.

    Examples
    --------
    >>> means = np.array([[0.0], [9.0], [0.5]])
    >>> three = Parts(np.ones(3), np.ones(3), np.ones((3, 1)), means, np.ones((3, 1)))
    >>> print(reduced(three, 1, 2).means.ravel())
    [0.25 9.  ]
    """
    n = len(parts.masses)
    if n <= most:
        return parts
    parts = Parts(*(array.copy() for array in parts))
    prior, q = _prior(parts, n_numeric)

    def length(k: Parts) -> float:
        return _description(k, n_numeric, prior, q)

    lengths = [length(_take(parts, [i])) for i in range(n)]
    costs = np.full((n, n), np.inf)

    def weigh(i: int, j: int) -> None:
        loss = length(joined(_take(parts, [i, j]), n_numeric)) - lengths[i] - lengths[j]
        # Pairs whose loss cannot be computed are joined last.
        costs[i, j] = loss if np.isfinite(loss) else np.finfo(np.float64).max

    # `costs[i, j]` with i < j is the loss of joining i and j; inf elsewhere and for joined ones.
    left = list(range(n))
    for i in left:
        for j in range(i + 1, n):
            weigh(i, j)
    while len(left) > most:
        i, j = divmod(int(np.argmin(costs)), n)
        for array, one in zip(parts, joined(_take(parts, [i, j]), n_numeric), strict=True):
            array[i] = one[0]
        lengths[i] = length(_take(parts, [i]))
        left.remove(j)
        costs[j, :] = costs[:, j] = np.inf
        for other in left:
            if other != i:
                weigh(min(i, other), max(i, other))
    return _take(parts, left)


def with_joined(parts: Parts, i: int, j: int, n_numeric: int) -> Parts:
    """Join two components; the new one takes the place of the first.

    Examples
    --------
    >>> means = np.array([[0.0], [9.0], [2.0]])
    >>> three = Parts(np.ones(3), np.ones(3), np.ones((3, 1)), means, np.ones((3, 1)))
    >>> print(with_joined(three, 0, 2, 1).means.ravel())
    [1. 9.]
    """
    out = Parts(*(array.copy() for array in parts))
    for array, one in zip(out, joined(_take(parts, [i, j]), n_numeric), strict=True):
        array[i] = one[0]
    return _take(out, np.delete(np.arange(len(parts.masses)), j))


def parts_of(state: State, cell: int) -> Parts:
    """Return copies of the components of a cell.

    Parameters
    ----------
    state : State
        A model whose leaves keep covariances; unchanged.
    cell : int
        Index of the cell.

    Returns
    -------
    Parts
        In order of creation; none if the cell has learnt nothing.
    """
    mixture = state.model
    own = components_of(mixture, cell)
    weights = mixture.own.head["weight"][own]
    known = np.repeat(weights[:, None], state.n_features, axis=1)
    if state.observed is not None:
        known = state.observed.model.own.weight[own]
    masses = mixture.components["mass"][own]
    return Parts(masses, weights, known, mixture.own.mean[own], mixture.own.m2[own])


def merge_components(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add to a cell the components that another model has of its class.

    A fork may have begun with shares of the components (`State.carried`). When it is merged, these
    shares are subtracted. As long as no component was divided on either side, each is joined with
    its continuation, and nothing is lost.

    Parameters
    ----------
    state, other : State
        Models of the same columns; ``state`` is changed in place. Its moments are already those of
        both, and if ``other`` has column weights, so has ``state``.
    cell, other_cell : int
        Their cells of the class.
    """
    growth, a = state.model.growth, state.options.n_numeric
    mine, theirs = parts_of(state, cell), parts_of(other, other_cell)
    prior, most = _carried(other, other_cell), growth.most
    if prior is not None:
        # The components continue each other, so more than either has would be duplicates.
        most = max(len(mine.masses), len(theirs.masses))
        if state.carried is None:
            mine = _without(mine, prior)
        else:
            state.carried[_key(state, cell)] = prior + state.carried.get(_key(state, cell), 0.0)
    n, both = len(mine.masses), stacked(mine, theirs)
    # Nothing was divided: component k of one side continues component k of the other.
    if prior is not None and n == len(theirs.masses) == prior.shape[1]:
        pairs = [joined(_take(both, [k, n + k]), a) for k in range(n)]
        parts = Parts(*(np.concatenate(arrays) for arrays in zip(*pairs, strict=True)))
    else:
        parts = reduced(both, a, most)
    uneven = max(uneven_in(state, cell), uneven_in(other, other_cell))
    replace_components(state, cell, parts, uneven)
    # The other model may have had values in further columns.
    if state.observed is not None:
        n_known = int(np.count_nonzero(state.observed.scale[:a]))
        state.model = state.model._replace(growth=growth_of(a, n_known, growth.most))


def _key(state: State, cell: int) -> tuple[int, int]:
    """Key of a cell in `State.carried`: leaf and class code."""
    cells = state.tree.cells
    return int(cells.leaf[cell]), int(cells.code[cell])


def _carried(state: State, cell: int) -> Array | None:
    """Masses and weights that the components of a fork's cell began with."""
    return None if state.carried is None else state.carried.get(_key(state, cell))


def _without(parts: Parts, prior: Array) -> Parts:
    """Subtract the shares that a fork began with; components without any rest are dropped."""
    taken = np.array([parts.masses, parts.weights])
    if prior.shape != taken.shape:  # a component was divided since: the same share of all
        prior = taken * (prior.sum(axis=1) / taken.sum(axis=1))[:, None]
    left = np.maximum(1.0 - per(prior, taken), 0.0)
    masses, weights = left
    known, products = parts.known * weights[:, None], parts.products * weights[:, None]
    rest = Parts(parts.masses * masses, parts.weights * weights, known, parts.means, products)
    return _take(rest, np.flatnonzero(left.min(axis=0) > _NOTHING))


def _take(parts: Parts, chosen: list[int] | Array) -> Parts:
    """Some of the components."""
    return Parts(*(array[chosen] for array in parts))


def _prior(parts: Parts, a: int) -> tuple[Array, float]:
    """Covariance that all components are shrunk towards, packed, and its weight."""
    # Squares of large values may overflow; such components are left out.
    parts = _take(parts, np.flatnonzero(np.isfinite(parts.products).all(axis=1)))
    known = parts.known[:, :a].sum(axis=0)
    rows, columns = np.tril_indices(a)
    prior = per(parts.products.sum(axis=0), np.sqrt(known[rows] * known[columns]))
    diagonal = rows == columns
    prior[diagonal] += FLOOR * per(joined(parts, a).products[0, diagonal], known)
    return prior, 0.1 * np.count_nonzero(known)


def _description(part: Parts, a: int, prior: Array, q: float) -> float:
    """Mass of a component times half its log determinant, and the entropy of its 0/1 columns."""
    rows, columns = np.tril_indices(a)
    known = part.known[0]
    S = per(part.products[0] + q * prior, np.sqrt((known[rows] + q) * (known[columns] + q)))
    if not np.isfinite(S).all():
        return np.nan
    half = -factorise(S, np.empty_like(S), np.empty(a), a)
    chance = (known[a:] * part.means[0, a:] + 0.5) / (known[a:] + 1.0)
    chance = np.clip(chance, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    entropy = -(chance * np.log(chance) + (1.0 - chance) * np.log1p(-chance)).sum()
    return float(part.masses[0] * (half + entropy))


def uneven_in(state: State, cell: int) -> int:
    """1 if the weights of the columns differ in a component."""
    if state.observed is None:
        return 0
    own = components_of(state.model, cell)
    return int(state.observed.model.own.uneven[own].max(initial=0))


def replace_components(state: State, cell: int, parts: Parts, uneven: int) -> None:
    """Replace the components of a cell; ``uneven`` as `uneven_in` says of those before."""
    release(state.model, cell)
    reserve_components(state, len(parts.masses))
    mixture = state.model
    added = [int(new_component(mixture, cell)) for _ in parts.masses]
    mixture.components.mass[added] = parts.masses
    mixture.components.log_mass[added] = np.log(parts.masses)
    mixture.cells.total[cell] = parts.masses.sum()
    mixture.cells.log_total[cell] = np.log(mixture.cells.total[cell])
    mixture.own.head.weight[added] = parts.weights
    mixture.own.mean[added] = parts.means
    mixture.own.m2[added] = parts.products
    if state.observed is not None:
        seen = state.observed.model.own
        seen.weight[added] = parts.known if uneven else parts.weights[:, None]
        seen.made[added] = 0.0
        seen.uneven[added] = uneven
        seen.ready[added] = 0
