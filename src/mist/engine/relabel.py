"""Classes that are joined or dropped after they were learnt, and codes that are given anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.capacity import reserve_cells
from mist.engine.conformity import Conformity, count_masses, merge_scores
from mist.engine.cut_back import cut_back
from mist.engine.forget import empty_leaves, remove_cell
from mist.engine.leaf_copy import one_leaf_state
from mist.engine.merge import end_candidates, merge_cell
from mist.engine.state import (
    N_LEAVES,
    State,
    append_cells,
    find_cell,
    leaf_cells,
    rebuild_table,
)

Array = np.ndarray[Any, Any]


def join_class(state: State, old: int, new: int) -> None:
    """Add what the leaves hold of a class to another class, as if its rows had had that label.

    Weights, masses, counts and moments are added exactly, sketches and mixtures as when two models
    are merged. Candidate splits end.

    Parameters
    ----------
    state : State
        The model; changed in place.
    old, new : int
        Codes of the class that goes and of the one that stays.
    """
    with state.changing():
        for leaf in state.candidate_splits:
            end_candidates(state, leaf)
        for leaf in range(int(state.tree.counters[N_LEAVES])):
            if find_cell(state.tree, leaf, old) >= 0:
                _join_in_leaf(state, leaf, old, new)
        if state.options.balanced:
            state.tree.totals[new] += state.tree.totals[old]
        if state.conformity is not None:
            alone = Conformity(*(array[old : old + 1].copy() for array in state.conformity))
            merge_scores(state.conformity, alone, np.array([new]))
        _clear(state, old)


def _join_in_leaf(state: State, leaf: int, old: int, new: int) -> None:
    gone = int(find_cell(state.tree, leaf, old))
    cell = int(find_cell(state.tree, leaf, new))
    if cell < 0:
        reserve_cells(state, 1)
        (cell,) = append_cells(state.tree, leaf, np.array([new])).tolist()
        if state.observed is not None:
            state.observed.cell[cell] = 0.0
    if state.tree.leaves.prior_only[leaf]:
        state.tree.cells.mass[cell] += state.tree.cells.mass[gone]
    else:
        copy = one_leaf_state(state, leaf)
        merge_cell(state, cell, copy, int(find_cell(copy.tree, 0, old)))
    remove_cell(state, leaf, gone)


def homes_of(state: State, code: int) -> list[int]:
    """Parents of the leaves that hold one class alone, none of them below another one.

    Parameters
    ----------
    state : State
        The model.
    code : int
        Code of the class.

    Returns
    -------
    list of int
        Inner nodes; empty if no leaf but the root holds the class alone.
    """
    tree, nodes = state.tree, state.tree.nodes
    parent = {}
    for node in np.flatnonzero(nodes.feature >= 0).tolist():
        parent[int(nodes.left[node])] = parent[int(nodes.right[node])] = node
    found = set()
    for leaf in range(int(tree.counters[N_LEAVES])):
        alone = tree.cells.code[leaf_cells(tree, leaf)].tolist() == [code]
        if alone and int(tree.leaves.node[leaf]) in parent:
            found.add(parent[int(tree.leaves.node[leaf])])

    def is_below(node: int) -> bool:
        while node in parent:
            node = parent[node]
            if node in found:
                return True
        return False

    return [node for node in found if not is_below(node)]


def drop_class(state: State, code: int) -> Array:
    """Remove what the leaves hold of a class.

    A leaf that holds it alone is cut back with its sibling first, as no leaf may be empty.

    Parameters
    ----------
    state : State
        The model, which has other classes with rows; changed in place.
    code : int
        Class code.

    Returns
    -------
    ndarray of int64, shape (nodes before,)
        The new number of each node that is still there; -1 for the others.
    """
    number = np.arange(len(state.tree.nodes))
    with state.changing():
        for leaf in state.candidate_splits:
            end_candidates(state, leaf)
        while homes := homes_of(state, code):
            now = cut_back(state, homes)
            number = np.where(number >= 0, now[np.minimum(number, len(now) - 1)], -1)
        empty_leaves(state, code)
        _clear(state, code)
    return number


def _clear(state: State, code: int) -> None:
    """Clear what is kept by class code."""
    if state.options.balanced:
        state.tree.totals[code] = 0.0
    if state.conformity is not None:
        for array in state.conformity:
            array[code] = 0
        count_masses(state.tree, state.conformity.held)


def move_code(state: State, last: int, code: int) -> None:
    """Give a class another code, which no cell has.

    Parameters
    ----------
    state : State
        The model; changed in place.
    last, code : int
        The code that the class had, and its new one.
    """
    tree = state.tree
    with state.changing():
        tree.cells.code[(tree.cells.leaf >= 0) & (tree.cells.code == last)] = code
        tree.table[:] = -1
        rebuild_table(tree)
        by_code = [tree.totals] if state.options.balanced else []
        for array in (*by_code, *(state.conformity or ())):
            array[code], array[last] = array[last], 0
