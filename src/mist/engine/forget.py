"""Forgetting a class: all leaves lose what they hold of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.conformity import count_masses
from mist.engine.inheritance import give_back
from mist.engine.leafmodel import kind_of
from mist.engine.state import (
    M2,
    N_LEAVES,
    N_NODES,
    State,
    detach_cell,
    find_cell,
    leaf_cells,
)

Array = np.ndarray[Any, Any]


def forget_class(state: State, code: int) -> None:
    """Remove what the leaves hold of a class; splits and other classes stay.

    A leaf that holds no other class keeps it, since a leaf must predict something.

    Parameters
    ----------
    state : State
        The model; changed in place.
    code : int
        Class code.
    """
    tree = state.tree
    with state.changing():
        _empty_leaves(state, code)
        if state.options.balanced:
            held = np.zeros(len(tree.totals))
            count_masses(tree, held)
            tree.totals[code] = held[code]
        if state.conformity is not None:
            for array in state.conformity:
                array[code] = 0
            count_masses(tree, state.conformity.held)
        for batch in state.candidate_splits.values():
            for candidate in batch.candidates:
                _empty_leaves(candidate.state, code)
                totals = candidate.state.tree.totals[code : code + 1]
                totals[:] = tree.totals[code : code + 1]


def _empty_leaves(state: State, code: int) -> None:
    """Remove the cells of a class from all leaves with other classes, and their mass from nodes."""
    tree = state.tree
    lost = np.zeros(int(tree.counters[N_NODES]))
    with state.changing():
        for leaf in range(int(tree.counters[N_LEAVES])):
            cell = int(find_cell(tree, leaf, code))
            if cell >= 0 and tree.leaves.n_cells[leaf] > 1:
                # A prior-only leaf has masses of its parent, which its node does not count.
                if not tree.leaves.prior_only[leaf]:
                    lost[tree.leaves.node[leaf]] = tree.cells.mass[cell]
                remove_cell(state, leaf, cell)
        _lower_nodes(tree, lost)


def _lower_nodes(tree: Any, lost: Array) -> None:
    """Take from the mass of each node but the root what the leaves below have lost.

    A missing value follows the heavier child. The mass of the root is the weight of all rows,
    which the scale of the columns depends on.
    """
    nodes = tree.nodes
    # Children have larger numbers than their parents.
    for node in reversed(range(len(lost))):
        if nodes.feature[node] >= 0:
            lost[node] = lost[nodes.left[node]] + lost[nodes.right[node]]
    masses = nodes.mass[1 : len(lost)]
    np.maximum(masses - lost[1:], 0.0, out=masses)


def remove_cell(state: State, leaf: int, cell: int) -> None:
    """Take a cell off its leaf, and renew what the leaf sums over its cells."""
    tree, leaves, gone = state.tree, state.tree.leaves, np.array([cell])
    leaves.sketched[leaf] -= int(tree.cells.start[cell] >= 0)
    detach_cell(tree, cell)
    give_back(state, gone)
    if leaves.prior_only[leaf]:
        return
    kept = leaf_cells(tree, leaf)
    leaves.weight[leaf] = tree.cells.weight[kept].sum()
    # The rows of the class are no evidence for a split any more.
    leaves.weight_seen[leaf] = tree.cells.count[kept].sum()
    leaves.tried[leaf] = int(leaves.weight_seen[leaf] // state.options.grace_period)
    tree.spread[leaf] = tree.stats[kept, M2].sum(axis=0)
    if state.observed is not None:
        state.observed.leaf[leaf] = state.observed.cell[kept].sum(axis=0)
    kind_of(state.model).refresh(state, leaf)
