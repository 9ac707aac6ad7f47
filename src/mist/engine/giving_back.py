"""What a tree gives back to stay within its budget, and in which order.

First what is reserved and not used, and open trials of mixtures; then sketches; then the nearest
components of mixtures are joined; then splits are taken back, those of the least gain first. The
statistics of joined components and of merged leaves are those of all their rows, so no class is
lost. At the end there is one leaf with one Gaussian a class: `least_bytes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mist.engine import sketch_budget
from mist.engine.budget import EXACT, Budget, own_bytes
from mist.engine.capacity import (
    bytes_of_cell,
    bytes_of_leaf,
    new_state,
    reserve_cells,
    reserve_observed,
)
from mist.engine.cut_back import cut_back, renumber, splits_of_leaves
from mist.engine.kll import bytes_of_row, reserve_items
from mist.engine.leafmodel import LeafModel, kind_of
from mist.engine.state import N_CELLS, Options, State

__all__ = ["least_bytes", "new_budget"]


def new_budget(most: Callable[[int], int], n_codes: int, given: Any) -> Budget:
    """The budget of a tree that gives back all it can; parameters as for `Budget`."""
    optional = (_end_trials, sketch_budget.give_up)
    required = (_pack_if_enough, *optional, _join_components, _cut_subtrees, _pack)
    return Budget(most, n_codes, optional, required, _could_give, given)


def least_bytes(
    options: Options,
    n_columns: int,
    sketch_size: int | None,
    kind: LeafModel,
    n_classes: int,
    *,
    observed: bool,
) -> int:
    """Bytes of the least tree: one leaf, with one Gaussian or one cell for each class.

    Parameters
    ----------
    options, n_columns, sketch_size, kind
        As for `mist.engine.capacity.new_state`.
    n_classes : int
        Number of classes.
    observed : bool
        Whether values may be missing.

    Returns
    -------
    int
        As `mist.engine.budget.own_bytes` counts them.
    """
    # Arrays of zeros take no memory before they are written to.
    state = new_state(n_columns, options, sketch_size, kind)
    state.budget = EXACT
    if observed:
        reserve_observed(state)
    reserve_cells(state, n_classes)
    kind.reserve_least(state, n_classes)
    if state.sketch is not None:
        reserve_items(state, sketch_budget.rows_at_least(state))
    return own_bytes(state)


def _could_give(state: State) -> int:
    """Bytes of all trials and sketches."""
    return kind_of(state.model).bytes_of_trials(state) + sketch_budget.bytes_of_sketches(state)


def _end_trials(state: State, n_bytes: int) -> None:
    kind_of(state.model).end_trials(state, n_bytes)


def _pack(state: State, n_bytes: int) -> None:
    """Copy all leaves to arrays that have no more to spare than the next row needs.

    If a copy had less, two of the reasons to ask for room could take turns forever.
    """
    cut_back(state, [])


def _pack_if_enough(state: State, n_bytes: int) -> None:
    """Copy all leaves if that gives back enough."""
    tree = state.tree
    live = int((tree.cells.leaf[: tree.counters[N_CELLS]] >= 0).sum())
    spare = (len(tree.cells) - live) * bytes_of_cell(state)
    spare += kind_of(state.model).bytes_spare(state)
    if state.sketch is not None:
        spare += max(0, sketch_budget.rows_spare(state)) * bytes_of_row(state)
    if spare >= n_bytes:
        _pack(state, n_bytes)


def _join_components(state: State, n_bytes: int) -> None:
    """Join the nearest components; what is free already counts as given back."""
    lacking = n_bytes - kind_of(state.model).bytes_spare(state)
    if lacking > 0:
        kind_of(state.model).join_components(state, lacking)
    _pack(state, n_bytes)


def _cut_subtrees(state: State, n_bytes: int) -> None:
    """Take back splits that have leaves below, until there is enough room or no split."""
    wanted = state.budget.room(state) + n_bytes
    while state.budget.room(state) < wanted:
        cut = _least_useful(state, wanted - state.budget.room(state))
        if not cut:
            return
        number = cut_back(state, cut)
        for log in state.budget.logs:
            renumber(log, number, state)
        # The copy has reserved as many cells as there were before.
        _pack(state, n_bytes)


def _least_useful(state: State, n_bytes: int) -> list[int]:
    """Nodes with the least gain which, cut back, give back about so many bytes; at least one."""
    out: list[int] = []
    splits: Sequence[tuple[float, int]] = splits_of_leaves(state)
    nodes, leaves, given = state.tree.nodes, state.tree.leaves, 0
    for _, node in splits:
        if given >= n_bytes:
            break
        sides = [int(nodes.leaf[nodes[name][node]]) for name in ("left", "right")]
        # Most classes of the smaller side have a cell on the other side as well.
        shared = int(leaves.n_cells[sides].min())
        given += bytes_of_leaf(state) + shared * bytes_of_cell(state)
        out.append(node)
    return out
