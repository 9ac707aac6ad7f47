"""Cutting back: a leaf in place of a subtree, with what the leaves of the subtree held.

It is the reverse of inheritance: the statistics of each class are merged, so no class is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mist.engine.budget import EXACT
from mist.engine.capacity import reserve_cells, reserve_observed
from mist.engine.conformity import count_masses
from mist.engine.fork import bare, take_place
from mist.engine.growth import Split
from mist.engine.kll import reserve_items
from mist.engine.leaf_copy import copy_leaf
from mist.engine.leafmodel import kind_of
from mist.engine.merge import merge_leaf
from mist.engine.sketch_budget import rows_at_least
from mist.engine.state import (
    EPOCH,
    N_CELLS,
    N_CONSTANT,
    N_HELD,
    N_LEARNT,
    N_LEAVES,
    N_NODES,
    State,
    leaf_cells,
)

Array = np.ndarray[Any, Any]
_Masses = dict[int, float]

LEAST_GAIN = 0.05
"""A split is useless if its Gini gain is at most this share of the impurity of its node, or of 1
minus that, whichever is less. With K equal classes no gain exceeds 1 / K, with a rare class none
exceeds the impurity. Chosen on development seeds."""

_OF_AN_UNCHANGED_LEAF = ("tried", "best", "second", "best_at", "second_at")


def useless_splits(state: State) -> list[int]:
    """Nodes whose subtrees hardly separate the classes any more.

    A split is judged by the class masses of its two sides, inherited ones included: a split that
    separates absent classes stays.

    Parameters
    ----------
    state : State
        The model.

    Returns
    -------
    list of int
        Inner nodes, none of them below another one.
    """

    def useless(left: _Masses, right: _Masses) -> bool:
        both = _sum(left, right)
        total, before = sum(both.values()), _impurity(both)
        gain = before - _impurity(left) - _impurity(right)
        return gain <= LEAST_GAIN * min(before, total - before)

    return _from_below(state, useless)


def splits_of_one(state: State, code: int, *, subtrees: bool = False) -> list[int]:
    """Nodes with a side that holds one class alone.

    Parameters
    ----------
    state : State
        The model.
    code : int
        Code of the class.
    subtrees : bool, default=False
        Whether the other side may be a subtree, or a leaf with masses of its parent. If not, nodes
        have nothing but leaves below.

    Returns
    -------
    list of int
        Inner nodes, none of them below another one.
    """

    def useless(left: _Masses, right: _Masses) -> bool:
        return {code} in (set(left), set(right))

    return _from_below(state, useless, subtrees=subtrees)


def splits_of_leaves(state: State) -> list[tuple[float, int]]:
    """Nodes whose two children are leaves, with the gain in Gini impurity times the mass.

    Sorted by gain. Nodes with a child that has masses of its parent alone come last: the classes of
    such a child may have no other cell.
    """
    out: list[tuple[bool, float, int]] = []
    nodes, leaves = state.tree.nodes, state.tree.leaves
    n = int(state.tree.counters[N_NODES])
    for node in np.flatnonzero(nodes.feature[:n] >= 0).tolist():
        sides = [int(nodes.leaf[nodes[name][node]]) for name in ("left", "right")]
        if min(sides) >= 0:
            left, right = (_masses_of(state, leaf) for leaf in sides)
            gain = _impurity(_sum(left, right)) - _impurity(left) - _impurity(right)
            out.append((bool(leaves.prior_only[sides].any()), gain, node))
    return [(gain, node) for _, gain, node in sorted(out)]


def _masses_of(state: State, leaf: int) -> _Masses:
    """Class masses of a leaf, by code."""
    cells = leaf_cells(state.tree, leaf)
    records = state.tree.cells
    return dict(zip(records.code[cells].tolist(), records.mass[cells].tolist(), strict=True))


def _from_below(
    state: State, useless: Callable[[_Masses, _Masses], bool], *, subtrees: bool = False
) -> list[int]:
    """Nodes to cut back, judged from the leaves up.

    ``useless`` judges a split by the class masses of its sides, by class code. Without
    ``subtrees`` a split is judged only if both its sides are leaves or to become leaves.
    """
    tree, nodes = state.tree, state.tree.nodes
    held: dict[int, _Masses] = {}
    leaflike: set[int] = set()
    found: set[int] = set()
    # Children have larger numbers than their parents.
    for node in reversed(range(int(tree.counters[N_NODES]))):
        leaf = int(nodes.leaf[node])
        if leaf >= 0:
            held[node] = _masses_of(state, leaf)
            # A prior-only leaf has masses of its parent, not of its side.
            if not tree.leaves.prior_only[leaf]:
                leaflike.add(node)
            continue
        sides = int(nodes.left[node]), int(nodes.right[node])
        left, right = held[sides[0]], held[sides[1]]
        held[node] = _sum(left, right)
        if (subtrees or leaflike.issuperset(sides)) and useless(left, right):
            leaflike.add(node)
            found.add(node)
    return _topmost(nodes, found)


def _topmost(nodes: Any, found: set[int]) -> list[int]:
    """Those of some inner nodes that are not below another one."""
    below: set[int] = set()
    out = []
    for node in np.flatnonzero(nodes.feature >= 0).tolist():
        if node in found and node not in below:
            out.append(node)
        if node in found or node in below:
            below.update((int(nodes.left[node]), int(nodes.right[node])))
    return out


def _sum(left: _Masses, right: _Masses) -> _Masses:
    return {code: left.get(code, 0.0) + right.get(code, 0.0) for code in {**left, **right}}


def _impurity(masses: _Masses) -> float:
    """Gini impurity times the total mass."""
    total = sum(masses.values())
    return total - sum(mass * mass for mass in masses.values()) / total if total > 0.0 else 0.0


def cut_back(state: State, cut: list[int]) -> Array:
    """Replace subtrees by leaves, which hold what the leaves below held; the rest stays.

    Parameters
    ----------
    state : State
        The model; changed in place.
    cut : list of int
        Inner nodes, none of them below another one.

    Returns
    -------
    ndarray of int64, shape (nodes before,)
        The new number of each node that is still there; -1 for the others.
    """
    old = state.tree
    nodes, number, leaf_of = _pruned(old.nodes[: old.counters[N_NODES]], cut)
    with state.changing():
        out = bare(state, state.options, nodes)
        kind_of(out.model).copy_settings(out, state)
        if state.budget is not None:
            out.budget = EXACT
        out.tree.nodes.mass[:] = nodes["mass"]
        out.tree.scale[:] = old.scale
        out.tree.totals[:] = old.totals
        kept = [EPOCH, N_CONSTANT, N_LEARNT]
        out.tree.counters[kept] = old.counters[kept]
        if state.observed is not None:
            reserve_observed(out)
            assert out.observed is not None
            out.observed.scale[:] = state.observed.scale
        if state.budget is not None:
            _reserve_all(out, state)
        codes = np.arange(len(old.cells))
        taken = np.bincount(leaf_of, minlength=int(out.tree.counters[N_LEAVES]))
        filled = np.zeros(len(taken), dtype=bool)
        for leaf, slot in enumerate(leaf_of.tolist()):
            if not filled[slot]:
                copy_leaf(state, leaf, out, slot, with_proposals=bool(taken[slot] == 1))
            elif not old.leaves.prior_only[leaf]:
                merge_leaf(out, slot, state, leaf, codes)
            filled[slot] = True
            if taken[slot] == 1:
                for name in _OF_AN_UNCHANGED_LEAF:
                    out.tree.leaves[name][slot] = old.leaves[name][leaf]
        for slot in np.flatnonzero(taken > 1).tolist():
            rows = float(out.tree.leaves.weight_seen[slot])
            out.tree.leaves.tried[slot] = int(rows // state.options.grace_period)
            kind_of(out.model).refresh(out, slot)
        out.candidate_splits = {
            int(leaf_of[leaf]): batch
            for leaf, batch in state.candidate_splits.items()
            if taken[leaf_of[leaf]] == 1
        }
        out.conformity, out.screen = state.conformity, state.screen
        take_place(state, out)
        if state.conformity is not None:
            count_masses(state.tree, state.conformity.held)
    return number


def _reserve_all(state: State, source: State) -> None:
    """Reserve at once what copies of all cells and the next row need.

    One by one, arrays would be copied as often as there are cells. If subtrees are cut, that is
    more than is needed.
    """
    n = int(source.tree.counters[N_CELLS])
    reserve_cells(state, int(np.count_nonzero(source.tree.cells.leaf[:n] >= 0)))
    kind_of(state.model).reserve_as(state, source)
    if state.sketch is not None:
        reserve_items(state, int(source.tree.counters[N_HELD]) + rows_at_least(source))


def renumber(log: list[Split], number: Array, state: State) -> None:
    """Take splits that are gone out of a log, and give the others the new numbers of their nodes.

    Parameters
    ----------
    log : list of Split
        Changed in place.
    number : ndarray of int64
        As returned by `cut_back`.
    state : State
        The tree since.
    """
    inner = state.tree.nodes.feature >= 0
    log[:] = [
        split._replace(node=int(number[split.node]))
        for split in log
        if number[split.node] >= 0 and inner[number[split.node]]
    ]


def _pruned(nodes: Any, cut: list[int]) -> tuple[Any, Array, Array]:
    """The nodes that stay, the new number of each old node, and the new leaf of each old leaf."""
    n = len(nodes)
    top = np.full(n, -1)  # the node of `cut` that a node is, or is below
    top[cut] = cut
    for node in np.flatnonzero(nodes.feature >= 0).tolist():
        if top[node] >= 0:
            top[[nodes.left[node], nodes.right[node]]] = top[node]
    stays = (top < 0) | (top == np.arange(n))
    number = np.where(stays, np.cumsum(stays) - 1, -1)
    out = nodes[stays]
    for name in ("feature", "left", "right"):
        out[name][number[cut]] = -1
    inner = out.feature >= 0
    for side in (out.left, out.right):
        side[inner] = number[side[inner]]
    # Leaves keep their order: a new one takes the place of the first below it.
    olds = np.flatnonzero(nodes.leaf >= 0)
    olds = olds[np.argsort(nodes.leaf[olds])]
    homes = number[np.where(top[olds] >= 0, top[olds], olds)]
    places, first = np.unique(homes, return_index=True)
    out.leaf[:] = -1
    out.leaf[places[np.argsort(first)]] = np.arange(len(places))
    return out, number, out.leaf[homes]
