"""Forks: copies of a tree with empty leaves, into which parts of the rows are learnt."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from mist.engine.capacity import new_state
from mist.engine.conformity import new_conformity, reserve_classes
from mist.engine.leafmodel import kind_of
from mist.engine.random import FORKS, draw
from mist.engine.records import new_records
from mist.engine.state import CAPS, LEAF, N_LEARNT, N_LEAVES, N_NODES, Options, State, clear_leaf

NEVER = 2**62
"""Grace period of a tree that must not split."""


def fork(state: State, number: int, share: float) -> State:
    """A tree with the same splits that has learnt nothing, and does not split.

    Rows are routed as the model routes them. Missing values are routed by the masses of the nodes,
    so the fork begins with these masses; `State.began` records them.

    Parameters
    ----------
    state : State
        The model; unchanged.
    number : int
        Forks of the same tree with other numbers draw other random bits.
    share : float
        Share of each mixture that the fork begins with, so that its components continue those of
        the model. When it is merged, that share is subtracted from the model: the shares of all
        forks that are merged must not exceed 1 together.

    Returns
    -------
    State
        Shares no memory with the model.
    """
    out = bare(state, state.options._replace(grace_period=NEVER))
    renumber(out, number, int(state.tree.counters[N_LEARNT]))
    out.began = state.tree.nodes.mass[: state.tree.counters[N_NODES]].copy()
    out.began[0] = 0.0  # the root's mass is the weight of all rows, which divides the scale
    out.tree.nodes.mass[:] = out.began
    kind_of(out.model).fork_state(state, out, share)
    return out


def renumber(state: State, number: int, learnt: int = 0) -> None:
    """Let a fork draw random bits of its own from now on."""
    # One bit less, as a seed is an int64 that is not negative.
    seed = int(draw(state.options.seed, FORKS, number, learnt, 0)) >> 1
    state.options = state.options._replace(seed=seed)


def bare(state: State, options: Options, nodes: Any = None) -> State:
    """A tree with the same splits, or with other nodes, that has learnt nothing.

    Parameters
    ----------
    state : State
        The model; unchanged.
    options : Options
        Those of the new tree: of the same columns and kind.
    nodes : records NODE or None
        Nodes in place of those of the model.

    Returns
    -------
    State
        Shares no memory with the model.
    """
    size = None if state.sketch is None else int(state.sketch.plan[CAPS, 0])
    out = new_state(state.n_features, options, size, kind_of(state.model))
    nodes = (state.tree.nodes[: state.tree.counters[N_NODES]] if nodes is None else nodes).copy()
    leaf_nodes = np.flatnonzero(nodes.leaf >= 0)
    leaf_nodes = leaf_nodes[np.argsort(nodes.leaf[leaf_nodes])]
    n_leaves = len(leaf_nodes)
    out.tree = out.tree._replace(
        nodes=nodes,
        leaves=new_records(n_leaves, LEAF),
        spread=np.zeros((n_leaves, state.n_features)),
        totals=np.zeros_like(state.tree.totals),
    )
    kind_of(out.model).reserve_leaves(out, n_leaves)
    out.tree.counters[[N_NODES, N_LEAVES]] = len(nodes), n_leaves
    nodes.mass[:] = 0.0
    # Leaves keep their indices, so that forks are merged leaf by leaf.
    for leaf, node in enumerate(leaf_nodes.tolist()):
        clear_leaf(out.tree, leaf, node, 0)
        kind_of(out.model).reset_leaf(out, leaf)
    if state.conformity is not None:
        out.conformity = new_conformity()
        reserve_classes(out, len(state.conformity.held))
    return out


def take_place(state: State, other: State) -> None:
    """Let a state hold the arrays of another one, which is not used any more."""
    for part in fields(State):
        setattr(state, part.name, getattr(other, part.name))
