"""Merging what two leaves know of a class, where leaves keep covariances.

The components of both are put side by side, and while they are more than a class may have, the
two that lose least by it are joined. What is lost is bounded as by Runnalls, "Kullback-Leibler
approach to Gaussian mixture reduction", IEEE Transactions on Aerospace and Electronic Systems
43(3), 2007: the mass of the two times half the log determinant of their common covariance, less
the same of either. Joining keeps the mass, mean and covariance of the class as they are.

Moments merge exactly, and so does a class with one component a leaf ("full"). A mixture merged from
two streams is an approximation of the one that all rows would have grown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.components import components_of, pool, release, reserve_components
from mist.engine.conformity import count_masses
from mist.engine.gaussians import LEAST_CHANCE, factorise
from mist.engine.mixture import FLOOR, growth_of, new_component
from mist.engine.state import (
    EPOCH,
    M2,
    MEAN,
    N_CONSTANT,
    N_LEARNT,
    N_NODES,
    State,
    reserve_codes,
    reserve_missing,
)

Array = np.ndarray[Any, Any]


class Parts(NamedTuple):
    """Components of one class, over a numeric and b 0/1 columns; p = a (a + 1) / 2."""

    masses: Array  # float64 (n,): shares in the class
    weights: Array  # float64 (n,): of the rows behind the moments
    known: Array  # float64 (n, a + b): the same for each column; all equal if nothing was missing
    means: Array  # float64 (n, a + b)
    products: Array  # float64 (n, p): of numeric deviations, weighted and packed


def beside(one: Parts, other: Parts) -> Parts:
    """Put the components of two classes side by side.

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
    mean = _per((parts.known * parts.means).sum(axis=0), known)
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
    """Join the two components that lose least by it until few enough remain.

    Covariances are drawn a little towards that within the class, as they are while a component
    learns, so that one of few rows has a determinant. Of a 0/1 column, the entropy takes the place
    of half the log determinant.

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
        # What cannot be computed is joined last.
        costs[i, j] = loss if np.isfinite(loss) else np.finfo(np.float64).max

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


def parts_of(state: State, cell: int) -> Parts:
    """Return copies of what a cell's components have learnt.

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
    mixture = state.mixture
    own = components_of(mixture, cell)
    weights = mixture.own.head["weight"][own]
    known = np.repeat(weights[:, None], state.n_features, axis=1)
    if state.missing is not None:
        known = state.missing.mixture.own.weight[own]
    masses = mixture.components["mass"][own]
    return Parts(masses, weights, known, mixture.own.mean[own], mixture.own.m2[own])


def merge_class(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add to a cell what a leaf of another model knows of the same class.

    Weights, masses, counts and moments of the cell become those of both, as do the sums of its
    leaf, the masses of the nodes above it, and the running scale of the columns. Classes with one
    component (leaf "full") come out as if one leaf had learnt the rows of both, but for rounding.
    A mixture comes out as an approximation of that: of the components of both, those closest to
    each other are joined until no more than the model allows remain.

    What watches rows go by begins anew or stays as it was: trials of components end, splits on
    trial at the leaf end, and a sketch of the cell goes on to tell of the rows of ``state`` alone:
    of both streams only if they are alike.

    Parameters
    ----------
    state : State
        The model that takes in; changed in place. Its leaf gets its pooled covariance and all
        factors made anew.
    cell : int
        A cell of it, which may be empty (`mist.engine.state.append_cells`).
    other : State
        Another model of the same columns, in the same order, and the same kind of leaf; unchanged.
    other_cell : int
        Its cell of the same class; codes of a class may differ.

    Raises
    ------
    ValueError
        If the models cannot be merged, or a cell holds nothing of its own; then nothing is changed.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0], [3.0, 2.0]])
    >>> half, rest = (MistClassifier("full").fit(rows, [0, 0]) for rows in (X[:2], X[2:]))
    >>> merge_class(half._state, 0, rest._state, 0)
    >>> print(parts_of(half._state, 0).means)
    [[1.5 2. ]]
    """
    _check(state, cell, other, other_cell)
    theirs = parts_of(other, other_cell)
    if not len(theirs.masses):
        return
    n_numeric = state.options.n_numeric
    if other.missing is not None and state.missing is None:
        reserve_missing(state)
    parts = beside(parts_of(state, cell), theirs)
    uneven = max(_uneven(state, cell), _uneven(other, other_cell))
    _add_moments(state, cell, other, other_cell)
    _add_sums(state, cell, other, other_cell)
    _replace(state, cell, reduced(parts, n_numeric, state.mixture.growth.most), uneven)
    leaf = int(state.tree.cells.leaf[cell])
    batch = state.trials.get(leaf)
    if batch is not None:
        # The number stays: the next trials, due at once, need as much as if these had failed.
        state.trials[leaf] = batch._replace(trials=(), opened=-np.inf)
    pool(state, leaf)


def _check(state: State, cell: int, other: State, other_cell: int) -> None:
    if state.mixture is None or other.mixture is None:
        raise ValueError('classes are merged where leaves keep covariances: "full" or "mixture"')
    if state is other:
        raise ValueError("a class is merged with that of another model, not of the same one")
    for what, own, their in (
        ("columns", state.n_features, other.n_features),
        ("numeric columns", state.options.n_numeric, other.options.n_numeric),
        ("kind of leaf", state.options.leaf, other.options.leaf),
    ):
        if own != their:
            raise ValueError(f"models to be merged differ in their {what}: {own} and {their}")
    for name, s, c in (("cell", state, cell), ("other_cell", other, other_cell)):
        cells = s.tree.cells
        if not 0 <= c < len(cells) or cells.leaf[c] < 0:
            raise ValueError(f"{name}={c} is not a cell in use")
        if s.tree.leaves.orphan[cells.leaf[c]]:
            raise ValueError(
                f"{name}={c} is of a leaf that has only the class masses of its parent: "
                "there is nothing to merge before it has learnt a row"
            )


def _per(sums: Array, weights: Array) -> Array:
    """Divide by weights that may be 0 where the sums are."""
    return np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0)


def _take(parts: Parts, chosen: list[int] | Array) -> Parts:
    return Parts(*(array[chosen] for array in parts))


def _prior(parts: Parts, a: int) -> tuple[Array, float]:
    """Covariance that all components are drawn towards, packed, and its weight."""
    # Values may be too large for their squares to be added.
    parts = _take(parts, np.flatnonzero(np.isfinite(parts.products).all(axis=1)))
    known = parts.known[:, :a].sum(axis=0)
    rows, columns = np.tril_indices(a)
    prior = _per(parts.products.sum(axis=0), np.sqrt(known[rows] * known[columns]))
    diagonal = rows == columns
    prior[diagonal] += FLOOR * _per(joined(parts, a).products[0, diagonal], known)
    return prior, 0.1 * np.count_nonzero(known)


def _description(part: Parts, a: int, prior: Array, q: float) -> float:
    """Mass of a component times half its log determinant, and the entropy of its 0/1 columns."""
    rows, columns = np.tril_indices(a)
    known = part.known[0]
    S = _per(part.products[0] + q * prior, np.sqrt((known[rows] + q) * (known[columns] + q)))
    if not np.isfinite(S).all():
        return np.nan
    half = -factorise(S, np.empty_like(S), np.empty(a), a)
    chance = (known[a:] * part.means[0, a:] + 0.5) / (known[a:] + 1.0)
    chance = np.clip(chance, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    entropy = -(chance * np.log(chance) + (1.0 - chance) * np.log1p(-chance)).sum()
    return float(part.masses[0] * (half + entropy))


def _uneven(state: State, cell: int) -> int:
    """1 if the weights of the columns differ in a component."""
    if state.missing is None:
        return 0
    own = components_of(state.mixture, cell)
    return int(state.missing.mixture.own.uneven[own].max(initial=0))


def _known(state: State, cell: int) -> Array:
    """Weight of every column in a cell's moments."""
    if state.missing is not None:
        known: Array = state.missing.cell[cell]
        return known.copy()
    return np.full(state.n_features, state.tree.cells.weight[cell])


def _chan(
    n: Array, mean: Array, m: Array, other_mean: Array, other_m2: Array
) -> tuple[Array, Array]:
    """Mean of two groups of weights n and m, and what is added to the first one's squares."""
    delta = other_mean - mean
    share = _per(m, n + m)
    return mean + delta * share, other_m2 + delta * delta * (n * share)


def _add_moments(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's moments to those of another cell, of its leaf and of all rows."""
    tree = state.tree
    stats, leaf = tree.stats, tree.cells.leaf[cell]
    mean, m2 = other.tree.stats[other_cell, MEAN], other.tree.stats[other_cell, M2]
    more = _known(other, other_cell)
    stats[cell, MEAN], gained = _chan(_known(state, cell), stats[cell, MEAN], more, mean, m2)
    stats[cell, M2] += gained
    tree.spread[leaf] += gained
    if state.missing is not None:
        state.missing.cell[cell] += more
        state.missing.leaf[leaf] += more
    # Weights may have been discounted, masses are as many as there were rows.
    rows = other.tree.cells.mass[other_cell] / other.tree.cells.weight[other_cell]
    scale, d = tree.scale, state.n_features
    so_far = np.full(d, tree.nodes.mass[0]) if state.missing is None else state.missing.scale
    scale[MEAN], gained = _chan(so_far, scale[MEAN], more * rows, mean, m2 * rows)
    scale[M2] += gained
    if state.missing is not None:
        state.missing.scale[:] += more * rows
        growth, a = state.mixture.growth, state.options.n_numeric
        n_known = int(np.count_nonzero(state.missing.scale[:a]))
        state.mixture = state.mixture._replace(growth=growth_of(a, n_known, growth.most))
    constant = np.count_nonzero(scale[M2] == 0.0)
    if constant < tree.counters[N_CONSTANT]:
        tree.counters[N_CONSTANT] = constant
        tree.counters[EPOCH] += 1


def _add_sums(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's weights and counts to those of another cell, its leaf and the nodes above."""
    tree, theirs = state.tree, other.tree.cells
    leaf, code = int(tree.cells.leaf[cell]), int(tree.cells.code[cell])
    mass = theirs.mass[other_cell]
    for name in ("weight", "mass", "count", "steps"):
        tree.cells[name][cell] += theirs[name][other_cell]
    tree.leaves.rows[leaf] += theirs.count[other_cell]
    tree.leaves.weight[leaf] += theirs.weight[other_cell]
    tree.counters[N_LEARNT] += theirs.steps[other_cell]
    for node in _path(tree, int(tree.leaves.node[leaf])):
        tree.nodes.mass[node] += mass
    if state.options.balanced:
        reserve_codes(state, code + 1)
        state.tree.totals[code] += mass
    if state.conformity is not None:
        count_masses(state.tree, state.conformity.held)


def _path(tree: Any, node: int) -> list[int]:
    """A node and all above it."""
    nodes, n = tree.nodes, int(tree.counters[N_NODES])
    above = {}
    for parent in np.flatnonzero(nodes.feature[:n] >= 0).tolist():
        above[int(nodes.left[parent])] = above[int(nodes.right[parent])] = parent
    path = [node]
    while path[-1] in above:
        path.append(above[path[-1]])
    return path


def _replace(state: State, cell: int, parts: Parts, uneven: int) -> None:
    """Put components in the place of those of a cell."""
    release(state.mixture, cell)
    reserve_components(state, len(parts.masses))
    mixture = state.mixture
    born = [int(new_component(mixture, cell)) for _ in parts.masses]
    mixture.components.mass[born] = parts.masses
    mixture.components.log_mass[born] = np.log(parts.masses)
    mixture.cells.total[cell] = parts.masses.sum()
    mixture.cells.log_total[cell] = np.log(mixture.cells.total[cell])
    mixture.own.head.weight[born] = parts.weights
    mixture.own.mean[born] = parts.means
    mixture.own.m2[born] = parts.products
    if state.missing is not None:
        seen = state.missing.mixture.own
        seen.weight[born] = parts.known if uneven else parts.weights[:, None]
        seen.made[born] = 0.0
        seen.uneven[born] = uneven
        seen.ready[born] = 0
