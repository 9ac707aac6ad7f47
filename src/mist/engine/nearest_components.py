"""Pairs of nearest components of mixtures, joined to give back memory.

The distance of two components is what the class loses when they are joined, up to the shape of
their covariances: m n / (m + n), of their masses, times the squared distance of their means in
units of the class. So it is small for light components and for near ones.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from mist.engine.arrays import per
from mist.engine.reduction import (
    Parts,
    parts_of,
    replace_components,
    uneven_in,
    with_joined,
)
from mist.engine.state import N_CELLS, State

Array = np.ndarray[Any, Any]


def join_pairs(state: State, n_pairs: int) -> list[int]:
    """Join so many pairs of components, the nearest of all classes and leaves first.

    Parameters
    ----------
    state : State
        A model of mixtures; changed in place. Trials of the classes that have a pair joined end.
    n_pairs : int
        Number of pairs; fewer are joined if every class has one component.

    Returns
    -------
    list of int
        Leaves whose caches are to be renewed.
    """
    heap: list[tuple[float, int]] = []
    parts: dict[int, Parts] = {}
    n = int(state.tree.counters[N_CELLS])
    own = (state.tree.cells.leaf[:n] >= 0) & (state.model.cells.first[:n] >= 0)
    for cell in np.flatnonzero(own & (state.model.cells.n[:n] > 1)).tolist():
        parts[cell] = parts_of(state, cell)
        heap.append((_nearest(parts[cell])[0], cell))
    heapq.heapify(heap)
    changed: set[int] = set()
    for _ in range(n_pairs):
        if not heap:
            break
        cell = heapq.heappop(heap)[1]
        _, i, j = _nearest(parts[cell])
        parts[cell] = with_joined(parts[cell], i, j, state.options.n_numeric)
        changed.add(cell)
        if len(parts[cell].masses) > 1:
            heapq.heappush(heap, (_nearest(parts[cell])[0], cell))
    for cell in sorted(changed):
        replace_components(state, cell, parts[cell], uneven_in(state, cell))
    return sorted({int(state.tree.cells.leaf[cell]) for cell in changed})


def _nearest(parts: Parts) -> tuple[float, int, int]:
    """Distance of the two nearest components of a class, and their indices."""
    masses, means = parts.masses, parts.means
    total = parts.known.sum(axis=0)
    mean = per((parts.known * means).sum(axis=0), total)
    between = (parts.known * (means - mean) ** 2).sum(axis=0)
    n_numeric = int((np.sqrt(8 * parts.products.shape[1] + 1) - 1) / 2)
    diagonal = np.arange(n_numeric) * (np.arange(n_numeric) + 3) // 2
    between[:n_numeric] += parts.products[:, diagonal].sum(axis=0)
    units = means / np.sqrt(np.where(between > 0.0, per(between, total), 1.0))
    squares = ((units[:, None] - units[None]) ** 2).sum(axis=2)
    loss = squares * masses[:, None] * masses / (masses[:, None] + masses)
    loss = np.where(np.isfinite(loss), loss, np.finfo(np.float64).max)
    loss[np.tril_indices(len(masses))] = np.inf
    i, j = divmod(int(np.argmin(loss)), len(masses))
    return float(loss[i, j]), i, j
