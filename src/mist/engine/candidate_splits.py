"""Candidate splits: copies of a leaf that are already split, compared with the leaf row by row.

A leaf has up to four candidate splits (`CandidateSplit`), each a copy of the leaf that was split on
another column. Every row that reaches the leaf is predicted by the leaf and by the candidates, and
then all of them learn it. The score of a candidate is the probability that its child gave to the
class of the row minus the one that the leaf gave. It is a number in [-1, 1], on which
`mist.engine.betting` stakes a capital. A candidate whose capital has grown enough replaces the
leaf, with all that its children have learnt.

The candidates of a leaf make a *batch*. If the conditional mean of a candidate's score is never
above 0, its capital, 1 at first, exceeds c at any time with probability at most 1/c (Ville's
inequality). Each of M candidates must exceed M k (k + 1) / delta in the k-th batch of the leaf.
Summed over the batches, a leaf splits where nothing is won with probability at most delta.

Related: Amoukou, Mishra and Veloso, "Correcting split selection in online decision trees via
anytime-valid inference", 2026.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.betting import BETS, bet, wealth
from mist.engine.capacity import reserve_codes, reserve_nodes, reserve_observed
from mist.engine.compiled import exact
from mist.engine.driver import run_until_request
from mist.engine.fork import NEVER
from mist.engine.inheritance import give_back, split_leaf
from mist.engine.leaf_copy import copy_leaf, one_leaf_state
from mist.engine.leafmodel import kind_of
from mist.engine.row_loops import Notes, outputs_of
from mist.engine.state import State, clear_leaf, detach_cells, leaf_cells, new_leaf, new_node

Array = np.ndarray[Any, Any]

MOST_TRIALS = 4
"""Largest number of candidate splits of a leaf at a time."""


class CandidateSplit(NamedTuple):
    """A candidate split: a copy of a leaf, split on one column."""

    state: State  # node 0 is the split
    gain: float  # of the split, when the candidate was opened
    capital: Array  # float64 (4,): of the gamblers of `mist.engine.betting`
    most: Array  # float64 (1,): their largest wealth so far


class CandidateSet(NamedTuple):
    """The candidate splits of a leaf."""

    number: int  # how many batches the leaf has had, this one included
    opened: float  # weight observed at the leaf when they were opened
    used: Array  # bool (d,): columns that were candidates in this round of the columns
    candidates: tuple[CandidateSplit, ...]


def new_notes(n: int) -> Notes:
    """Empty records of n rows."""
    return Notes(np.full(n, -1, np.int64), np.zeros(n), -1)


def open_candidates(
    state: State, leaf: int, gains: Array, places: Array, inheritance: str | None, discount: float
) -> None:
    """Replace the candidate splits of a leaf by those of the next columns.

    Once all columns with a gain have been candidates, the next round begins.

    Parameters
    ----------
    state : State
        The model; its ``candidates`` are changed.
    leaf : int
        Index of the leaf.
    gains, places : ndarray, shape (d,)
        Gain and threshold of every column's best split; columns without gain are no candidates.
    inheritance, discount
        What the children inherit, see `mist.engine.inheritance.split_leaf`.
    """
    before = state.candidate_splits.pop(leaf, None)
    # `used` is copied before it is written: it belongs to the batch before.
    used = np.zeros(len(gains), np.bool_) if before is None else before.used
    if not ((gains > 0.0) & ~used).any():
        used = np.zeros(len(gains), np.bool_)
    order = np.argsort(-gains, kind="stable")
    columns = [int(j) for j in order if gains[j] > 0.0 and not used[j]][:MOST_TRIALS]
    if not columns:
        return
    candidates = []
    for column in columns:
        children = one_leaf_state(state, leaf)
        split_leaf(children, 0, column, float(places[column]), inheritance, discount)
        children.options = children.options._replace(grace_period=NEVER)
        candidates.append(
            CandidateSplit(children, float(gains[column]), np.ones(len(BETS)), np.ones(1))
        )
    used = used.copy()
    used[columns] = True
    state.candidate_splits[leaf] = CandidateSet(
        number=1 if before is None else before.number + 1,
        opened=float(state.tree.leaves.weight_seen[leaf]),
        used=used,
        candidates=tuple(candidates),
    )


def follow(
    state: State,
    X: Array,
    codes: Array,
    weights: Array,
    ranks: Array,
    notes: Notes,
    first: int,
    last: int,
) -> None:
    """Let all candidate splits predict and then learn the rows that the tree has just learnt.

    A row counts once, whatever its weight: the gamblers need scores in [-1, 1].

    Parameters
    ----------
    state : State
        The model; its ``candidates`` are changed in place.
    X, codes, weights, ranks
        As for `mist.engine.row_loops.run`.
    notes : Notes
        What `run` recorded of the rows.
    first, last : int
        The rows from ``first`` on and before ``last``.
    """
    rows = slice(first, last)
    X, codes, weights, reached = X[rows], codes[rows], weights[rows], notes.leaf[rows]
    chance = np.empty(len(X))
    for leaf, batch in state.candidate_splits.items():
        for candidate in batch.candidates:
            children = candidate.state
            if state.observed is not None and children.observed is None:
                reserve_observed(children)
            kind_of(children.model).copy_settings(children, state)
            if state.options.balanced:
                reserve_codes(children, len(ranks))
            # `only=leaf`: of the rows of other leaves it learns only what the whole tree shares.
            outputs = outputs_of(notes=Notes(reached, chance, leaf))
            row = 0
            while row < len(X):
                row, _ = run_until_request(children, X, codes, weights, row, ranks, outputs)
            stake(candidate.capital, candidate.most, reached, leaf, notes.chance[rows], chance)


@exact
def stake(capital, most, reached, leaf, alone, divided):
    """Bet on every row of a leaf that its children give its class a higher probability.

    Parameters
    ----------
    capital : float64 array, shape (4,)
        Changed in place.
    most : float64 array, shape (1,)
        The largest wealth so far, changed in place.
    reached : int64 array, shape (n,)
        The leaf of every row.
    leaf : int
        Whose rows count.
    alone, divided : float64 arrays, shape (n,)
        Probabilities given to the classes of the rows by the leaf and by its children.

    Examples
    --------
    >>> capital, most = np.ones(4), np.ones(1)
    >>> stake(capital, most, np.array([0, 1, 0]), 0, np.full(3, 0.2), np.array([0.8, 0.0, 0.1]))
    >>> capital.round(3), most.round(4)
    (array([1.025, 1.059, 1.145, 1.321]), array([1.1755]))
    """
    for i in range(reached.size):
        if reached[i] == leaf:
            bet(capital, divided[i] - alone[i])
            most[0] = max(most[0], wealth(capital))


def winner(batch: CandidateSet, delta: float) -> CandidateSplit | None:
    """The candidate split whose evidence suffices, the richest if several; or None."""
    needed = len(batch.candidates) * batch.number * (batch.number + 1) / delta
    earned = [candidate for candidate in batch.candidates if candidate.most[0] > needed]
    return max(earned, key=lambda candidate: float(wealth(candidate.capital)), default=None)


def promote(state: State, leaf: int, candidate: CandidateSplit) -> None:
    """Replace a leaf by one of its candidate splits; the others end.

    Parameters
    ----------
    state : State
        The model; changed in place.
    leaf : int
        Index of the leaf.
    candidate : CandidateSplit
        One of its candidates, which has learnt all rows since it was opened.
    """
    del state.candidate_splits[leaf]
    reserve_nodes(state)
    tree, source = state.tree, candidate.state.tree
    olds = leaf_cells(tree, leaf)
    detach_cells(tree, leaf)
    give_back(state, olds)
    node, nodes = int(tree.leaves.node[leaf]), tree.nodes
    sides = [int(source.nodes.left[0]), int(source.nodes.right[0])]
    children = [new_node(tree, nodes.depth[node]) for _ in sides]
    nodes.feature[node], nodes.threshold[node] = source.nodes.feature[0], source.nodes.threshold[0]
    nodes.left[node], nodes.right[node], nodes.leaf[node] = *children, -1
    # As in `split_leaf`, the left child takes over the record of the leaf.
    clear_leaf(tree, leaf, children[0], 0)
    slots = [leaf, new_leaf(tree, children[1], 0)]
    for side, child, slot in zip(sides, children, slots, strict=True):
        nodes.mass[child] = source.nodes.mass[side]
        copy_leaf(candidate.state, int(source.nodes.leaf[side]), state, slot, with_proposals=True)
        # The copy has learnt rows: multiples of the grace period it has passed count as examined.
        tried = state.tree.leaves.weight_seen[slot] // state.options.grace_period
        state.tree.leaves.tried[slot] = int(tried)
