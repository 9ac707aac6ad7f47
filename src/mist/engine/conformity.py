"""P-values of an open world: each class remembers the log densities of its last rows.

A row is scored just before it is learnt, by the log density that its own class gives it. The rank
of a new row's density among those scores is a p-value in the manner of split-conformal prediction.
The first scores of a class are left out and old ones are dropped, since the model that gave them
has changed since.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown
from mist.engine.budget import row_bytes
from mist.engine.capacity import next_size, reserve_codes
from mist.engine.compiled import exact, inlined
from mist.engine.state import N_CELLS, State

Array = np.ndarray[Any, Any]

MATURE = 10.0
"""Weight that a class must have learnt before its rows are scored."""

REMEMBERED = 256
"""Number of scores that a class keeps: the last ones."""

ENOUGH = 20.0
"""A class whose scores weigh less has no p-value."""


class Conformity(NamedTuple):
    """The scores of each class, by class code."""

    held: Any  # float64 (codes,): mass over all leaves
    seen: Any  # float64 (codes,): weight learnt
    scored: Any  # int64 (codes,): rows scored so far
    scores: Any  # float64 (codes, REMEMBERED): ring buffers, next entry `scored` % REMEMBERED
    weights: Any  # float64 (codes, REMEMBERED): 0 where there is no score yet


def new_conformity() -> Conformity:
    """Return empty scores, for a model without classes."""
    return Conformity(
        held=np.zeros(0),
        seen=np.zeros(0),
        scored=np.zeros(0, np.int64),
        scores=np.zeros((0, REMEMBERED)),
        weights=np.zeros((0, REMEMBERED)),
    )


def reserve_classes(state: State, n_codes: int) -> None:
    """Reserve so many classes in all that is kept by class code."""
    if state.options.balanced:
        reserve_codes(state, n_codes)
    conformity = state.conformity
    if conformity is not None and n_codes > len(conformity.held):
        n = n_codes if state.budget is not None else next_size(len(conformity.held), n_codes)
        state.conformity = Conformity(*(grown(array, n) for array in conformity))


def trim_classes(state: State, n_codes: int) -> None:
    """Drop what is reserved beyond so many classes."""
    if len(state.tree.totals) > n_codes:
        state.tree = state.tree._replace(totals=state.tree.totals[:n_codes].copy())
    conformity = state.conformity
    if conformity is not None and len(conformity.held) > n_codes:
        state.conformity = Conformity(*(array[:n_codes].copy() for array in conformity))


def bytes_for_classes(state: State, n_codes: int) -> int:
    """Bytes of the totals and scores of so many classes."""
    each = row_bytes(state.tree.totals) if state.options.balanced else 0
    if state.conformity is not None:
        each += row_bytes(*state.conformity)
    return n_codes * each


@exact
def count_masses(tree, held):
    """Write the mass of every class, summed over all leaves, to ``held``."""
    held[:] = 0.0
    for cell in range(tree.counters[N_CELLS]):
        if tree.cells.leaf[cell] >= 0:
            held[tree.cells.code[cell]] += tree.cells.mass[cell]


@inlined
def remember(conformity, code, score, w):
    """Add the score of a row of weight w; a full memory drops its oldest score."""
    at = conformity.scored[code] % REMEMBERED
    conformity.scores[code, at] = score
    conformity.weights[code, at] = w
    conformity.scored[code] += 1


def merge_scores(conformity: Conformity, other: Conformity, codes: Array) -> None:
    """Append the scores of another model, as if its rows had come last.

    Parameters
    ----------
    conformity : Conformity
        Changed in place; ``held`` is left to `count_masses`.
    other : Conformity
        Of another model; unchanged.
    codes : ndarray of int64, shape (codes of the other,)
        Codes here of its classes.
    """
    for theirs, code in enumerate(codes[: len(other.seen)].tolist()):
        conformity.seen[code] += other.seen[theirs]
        # Oldest first. Entries of weight 0 have not been written yet.
        in_time = (other.scored[theirs] + np.arange(REMEMBERED)) % REMEMBERED
        in_time = in_time[other.weights[theirs, in_time] > 0.0]
        at = (conformity.scored[code] + np.arange(len(in_time))) % REMEMBERED
        conformity.scores[code, at] = other.scores[theirs, in_time]
        conformity.weights[code, at] = other.weights[theirs, in_time]
        conformity.scored[code] += len(in_time)


@exact
def write_p_values(conformity, densities, p):
    """Write the largest p-value over the classes with enough scores; 1 without such a class.

    Parameters
    ----------
    conformity : Conformity
        The scores.
    densities : float64 array, shape (n, n_codes)
        Log density of each row in each class.
    p : float64 array, shape (n,)
        Receives the p-values.
    """
    p[:] = 0.0
    for code in range(densities.shape[1]):
        total = 0.0
        for k in range(REMEMBERED):
            total += conformity.weights[code, k]
        if total < ENOUGH:
            continue
        for i in range(p.size):
            # A product avoids a branch that the processor cannot predict.
            below = 0.0
            for k in range(REMEMBERED):
                less = conformity.scores[code, k] <= densities[i, code]
                below += conformity.weights[code, k] * less
            p[i] = max(p[i], (1.0 + below) / (1.0 + total))
    for i in range(p.size):
        if p[i] == 0.0:
            p[i] = 1.0
