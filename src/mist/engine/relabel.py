"""Classes that are joined or dropped after they were learnt, and codes that are given anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from mist.engine.capacity import reserve_cells
from mist.engine.conformity import Conformity, merge_scores, reserve_classes
from mist.engine.cut_back import cut_back, splits_of_one
from mist.engine.forget import forget_class, remove_cell
from mist.engine.fork import bare, take_place
from mist.engine.leaf_copy import one_leaf_state
from mist.engine.leafmodel import kind_of
from mist.engine.merge import end_candidates, merge_cell
from mist.engine.state import (
    N_CELLS,
    N_LEAVES,
    State,
    append_cells,
    find_cell,
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
        reserve_classes(state, 1 + max(old, new))
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
        forget_class(state, old)


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


def holds_only(state: State, code: int) -> bool:
    """Whether no leaf holds another class than this one."""
    cells = state.tree.cells[: state.tree.counters[N_CELLS]]
    return bool((cells.code[cells.leaf >= 0] == code).all())


def drop_class(state: State, code: int) -> Array:
    """Remove what the leaves hold of a class.

    A leaf that holds it alone is cut back with its sibling first, as no leaf may be empty. A tree
    that holds no other class has learnt nothing afterwards.

    Parameters
    ----------
    state : State
        The model; changed in place.
    code : int
        Class code.

    Returns
    -------
    ndarray of int64, shape (nodes before,)
        The new number of each node that is still there; -1 for the others.
    """
    number = np.arange(len(state.tree.nodes))
    with state.changing():
        reserve_classes(state, 1 + code)
        if holds_only(state, code):
            _begin_again(state)
            number[1:] = -1
            return number
        for leaf in state.candidate_splits:
            end_candidates(state, leaf)
        while cut := splits_of_one(state, code, subtrees=True):
            now = cut_back(state, cut)
            number = np.where(number >= 0, now[np.minimum(number, len(now) - 1)], -1)
        forget_class(state, code)
    return number


def _begin_again(state: State) -> None:
    """Make a tree that has learnt nothing, with one leaf and as many class codes."""
    root = state.tree.nodes[:1].copy()
    for name in ("feature", "left", "right"):
        root[name] = -1
    root["leaf"] = 0
    out = bare(state, state.options, root)
    kind_of(out.model).copy_settings(out, state)
    take_place(state, out)


def move_code(state: State, last: int, code: int) -> None:
    """Give a class another code, which no cell has.

    Parameters
    ----------
    state : State
        The model; changed in place.
    last, code : int
        The code that the class had, and its new one.
    """
    with state.changing():
        reserve_classes(state, 1 + last)
        tree = state.tree
        tree.cells.code[(tree.cells.leaf >= 0) & (tree.cells.code == last)] = code
        tree.table[:] = -1
        rebuild_table(tree)
        by_code = [tree.totals] if state.options.balanced else []
        for array in (*by_code, *(state.conformity or ())):
            array[code], array[last] = array[last], 0
