"""Merging what two leaves know of a class.

Moments merge exactly, and so does what Gaussian leaves and a class with one component a leaf
("full") are made of. A mixture merged from two streams is an approximation of the one that all rows
would have grown, see `mist.engine.reduction`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.arrays import per
from mist.engine.conformity import count_masses
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
    >>> print(half._state.tree.stats[0, MEAN])
    [1.5 2. ]
    """
    _check(state, cell, other, other_cell)
    if other.tree.cells.weight[other_cell] == 0.0:
        return
    if other.missing is not None and state.missing is None:
        reserve_missing(state)
    _add_moments(state, cell, other, other_cell)
    _add_sums(state, cell, other, other_cell)
    state.kind.merge(state, cell, other, other_cell)
    leaf = int(state.tree.cells.leaf[cell])
    batch = state.trials.get(leaf)
    if batch is not None:
        # The number stays: the next trials, due at once, need as much as if these had failed.
        state.trials[leaf] = batch._replace(trials=(), opened=-np.inf)
    state.kind.refresh(state, leaf)


def _check(state: State, cell: int, other: State, other_cell: int) -> None:
    if state is other:
        raise ValueError("a class is merged with that of another model, not of the same one")
    for what, own, their in (
        ("columns", state.n_features, other.n_features),
        ("numeric columns", state.options.n_numeric, other.options.n_numeric),
        ("kind of leaf", state.kind.name(state.model), other.kind.name(other.model)),
        ("products of deviations", state.options.products, other.options.products),
    ):
        if own != their:
            raise ValueError(f"models to be merged differ in their {what}: {own} and {their}")
    if not state.kind.merges:
        name = state.kind.name(state.model)
        raise ValueError(f"classes at {name} leaves are not merged: use another kind of leaf")
    for name, s, c in (("cell", state, cell), ("other_cell", other, other_cell)):
        cells = s.tree.cells
        if not 0 <= c < len(cells) or cells.leaf[c] < 0:
            raise ValueError(f"{name}={c} is not a cell in use")
        if s.tree.leaves.orphan[cells.leaf[c]]:
            raise ValueError(
                f"{name}={c} is of a leaf that has only the class masses of its parent: "
                "there is nothing to merge before it has learnt a row"
            )


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
    share = per(m, n + m)
    return mean + delta * share, other_m2 + delta * delta * (n * share)


def _add_moments(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's moments to those of another cell, of its leaf and of all rows."""
    tree = state.tree
    stats, leaf = tree.stats, tree.cells.leaf[cell]
    mean, m2 = other.tree.stats[other_cell, MEAN], other.tree.stats[other_cell, M2]
    more = _known(other, other_cell)
    if state.options.products:
        _add_products(state, cell, other, other_cell)
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
    constant = np.count_nonzero(scale[M2] == 0.0)
    if constant < tree.counters[N_CONSTANT]:
        tree.counters[N_CONSTANT] = constant
        tree.counters[EPOCH] += 1


def _add_products(state: State, cell: int, other: State, other_cell: int) -> None:
    """Add a cell's products of deviations to those of another cell; the means are still apart."""
    a = state.options.n_numeric
    rows, columns = np.tril_indices(a)
    pairs = []
    for s, c in ((state, cell), (other, other_cell)):
        # As if values were missing independently.
        known, weight = _known(s, c)[:a], s.tree.cells.weight[c]
        pairs.append(known[rows] * known[columns] / weight if weight > 0.0 else np.zeros(len(rows)))
    delta = other.tree.stats[other_cell, MEAN, :a] - state.tree.stats[cell, MEAN, :a]
    between = delta[rows] * delta[columns] * per(pairs[0] * pairs[1], pairs[0] + pairs[1])
    state.tree.products[cell] += other.tree.products[other_cell] + between


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
