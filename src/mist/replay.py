"""`Replay`: the class memories of a forest, and the trees grown on rows that they replay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mist.engine.class_memory import (
    N_CLASS_CELLS,
    ClassMemory,
    is_full,
    learn_rows,
    n_moments,
    new_memory,
    reserve_cells,
    reserve_codes,
)
from mist.engine.class_memory_budget import coarsened, most_cells
from mist.engine.class_memory_upkeep import (
    joined,
    merged,
    trimmed,
    with_columns,
    with_first_trees,
    with_indicators,
    without_class,
    without_code,
    without_spare_codes,
)
from mist.engine.replay_trees import REPLAY_NODE, count_votes, grow, new_grower, new_nodes
from mist.engine.replayed_rows import count_draws, replay
from mist.engine.state import bytes_of, writable
from mist.rows import Array
from mist.threads import in_threads

__all__ = ["Growth", "Replay", "period"]

LEAST_ROWS = 2
"""Rows from which on a class is replayed."""

CLASS_FACTOR, ROWS_FACTOR = 2.0, 1.25
"""Factors by which the rows of one class, or of all, grow from one snapshot to the next."""

_DRAWS_PER_ROW, _FEW_ROWS = 3, 10_000
"""A tree gets as many draws as rows were learnt; if these are few, three times as many, up to the
second number."""

_MOST_VALUES = 2**23
"""Most values of the rows drawn for a tree, which bounds memory: 64 MB."""

_OF_TREES = 0.25
"""Share of the limit on bytes for replay trees; the others are for memories and snapshot."""

_KEPT = 0.8
"""Share of the cells that stay when there are too many, so that this is rare."""

_FEW_TREES = 2
"""Memory trees of a class that stay, however small the limit is."""

_NO_LIMIT = 2**31 - 1

_N_THRESHOLDS = 2
"""Random thresholds that a split examines in each column."""

_EARLY, _PERIOD, _SETTLED = 10, 50, 500


def period(n_rows: int) -> int:
    """Rows between two checks whether a snapshot is due, after so many rows.

    They are counted from the first row learnt, so that a model does not depend on batches.

    Examples
    --------
    >>> period(20), period(2000)
    (10, 50)
    """
    return _EARLY if n_rows < _SETTLED else _PERIOD


class Growth(NamedTuple):
    """How trees are grown on replayed rows."""

    n_trees: int
    most_rows: int
    balanced: bool
    """Whether all classes are replayed alike often, or as often as they had rows."""
    seed: int


class _Trees(NamedTuple):
    """Trees grown on a snapshot."""

    growth: Growth
    nodes: Any  # records REPLAY_NODE
    starts: Array


class Replay:
    """Class memories, a snapshot of them, and trees grown on it.

    The snapshot is taken at row counts that depend on the rows alone. Trees are grown when a
    prediction is made for the first time after that; they are not saved.

    Parameters
    ----------
    n_numeric, n_columns : int
        Numbers of columns, in the order of the engine.
    memory_trees : int
        Trees of cells of each class.
    rows_per_cell : int
        Rows of its own after which a cell is cut.
    inherited_rows : float
        Weight of inherited moments in rows.
    seed : int
        Seed of the cuts.

    Attributes
    ----------
    memory : ClassMemory
        The memories.
    snapshot : ClassMemory or None
        Their last snapshot.
    in_use : int
        Memory trees of each class that learn; the others have been given up.
    max_bytes : int or None
        Most bytes of memories, snapshot and trees; None sets no limit.
    """

    memory: ClassMemory
    snapshot: ClassMemory | None
    _trees: _Trees | None = None

    def __init__(
        self,
        n_numeric: int,
        n_columns: int,
        memory_trees: int,
        rows_per_cell: int,
        inherited_rows: float,
        seed: int,
    ) -> None:
        self.n_numeric = n_numeric
        self.options = (int(memory_trees), int(rows_per_cell), float(inherited_rows))
        self.seed = seed
        self.memory = new_memory(n_numeric, n_columns, self.options[0])
        self.snapshot = None
        self.in_use = self.options[0]
        self.max_bytes: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_trees"}

    @property
    def nbytes(self) -> int:
        """Bytes of memories and snapshot, and of the trees if they are grown."""
        trees = 0 if self._trees is None else self._trees.nodes.nbytes + self._trees.starts.nbytes
        return bytes_of((self.memory, self.snapshot)) + trees

    @property
    def n_cells(self) -> int:
        """Cells of all memories."""
        return int(self.memory.counters[N_CLASS_CELLS])

    @property
    def replayed(self) -> Array:
        """Whether each class, by code, is in the snapshot."""
        n_codes = len(self.memory.rows)
        if self.snapshot is None:
            return np.zeros(n_codes, bool)
        rows = self.snapshot.rows
        return np.append(rows >= LEAST_ROWS, np.zeros(n_codes - len(rows), bool))

    def make_writable(self) -> None:
        """Replace read-only arrays by copies."""
        self.memory, self.snapshot = writable(self.memory), writable(self.snapshot)

    def reserve_codes(self, n_codes: int) -> None:
        """Reserve so many classes."""
        self.memory = reserve_codes(self.memory, n_codes)

    def widen(self, n_numeric: int, siblings: Sequence[Sequence[int]]) -> None:
        """Take new columns: numeric ones, and 0/1 columns as for `with_indicators`."""

        def wide(memory: ClassMemory) -> ClassMemory:
            more = n_numeric - self.n_numeric
            memory = with_columns(memory, self.n_numeric, more) if more else memory
            return with_indicators(memory, siblings)

        if n_numeric > self.n_numeric or siblings:
            self.memory = wide(self.memory)
            if self.snapshot is not None:
                self.snapshot = wide(self.snapshot)
            self.n_numeric = n_numeric
            self._keep_limit()
            if self.snapshot is not None and len(self.snapshot.cells) > self._most_cells():
                self.take_snapshot()
            self._forget_trees()

    def learn(self, X: Array, codes: Array, weights: Array) -> None:
        """Learn rows in the engine's order of columns; those of weight 0 are left out."""
        _, rows_per_cell, inherited_rows = self.options
        shift, at = np.zeros(X.shape[1]), 0
        while True:
            at = learn_rows(
                self.memory, X, codes, weights, at, self.in_use, self.n_numeric,
                is_full(self.n_numeric), self.seed, float(rows_per_cell), inherited_rows, shift,
            )  # fmt: skip
            if at == len(X):
                return
            self._make_space(self.in_use)

    def _make_space(self, n_cells: int) -> None:
        """Make space for some more cells."""
        self._keep_limit(n_cells)
        self.memory = reserve_cells(self.memory, n_cells, self._most_cells())

    def _keep_limit(self, n_more: int = 0) -> None:
        """Give up memory trees, then cells, until there is space for some more cells.

        A few trees with fine cells are better than many with coarse ones.
        """
        memory_trees = self.options[0]
        while self.n_cells + n_more > (most := self._most_cells()) and self.in_use > _FEW_TREES:
            self.in_use = max(_FEW_TREES, self.in_use // 2)
            self.memory = with_first_trees(self.memory, self.in_use, memory_trees)
        if self.n_cells + n_more > most:
            self.memory = coarsened(self.memory, int(_KEPT * most), self.n_numeric)

    def _most_cells(self) -> int:
        if self.max_bytes is None:
            return _NO_LIMIT
        # The snapshot is a second memory.
        return most_cells(self.memory, int((1.0 - _OF_TREES) * self.max_bytes) // 2)

    def _most_nodes(self, n_trees: int) -> int:
        """Most nodes of one of so many trees."""
        if self.max_bytes is None:
            return _NO_LIMIT
        return int(_OF_TREES * self.max_bytes) // (n_trees * REPLAY_NODE.itemsize)

    def forget(self, code: int) -> None:
        """Forget a class that has moved; it is replayed again once it has rows."""
        self.memory = without_class(self.memory, code)
        self.take_snapshot()

    def relabel(self, gone: int, into: int | None, last: int) -> None:
        """Drop a class, or join it with another one; see `mist.relabelling.MovedCodes`."""
        self.reserve_codes(last + 1)
        if into is None:
            self.memory = without_class(self.memory, gone)
        else:
            self.memory = joined(self.memory, gone, into, self.options[0], self.n_numeric)
        self.memory = without_code(self.memory, gone)
        self._keep_limit()
        self.take_snapshot()

    def is_due(self) -> bool:
        """Whether a class, or all together, have had enough rows for another snapshot."""
        rows = self.memory.rows
        before = np.zeros(len(rows), np.int64)
        if self.snapshot is not None:
            before[: len(self.snapshot.rows)] = self.snapshot.rows
            if rows.sum() >= ROWS_FACTOR * before.sum() > 0:
                return True
        before[before < LEAST_ROWS] = 0
        return bool(((rows >= LEAST_ROWS) & (rows >= CLASS_FACTOR * before)).any())

    def take_snapshot(self) -> None:
        """Copy the memories; the next prediction uses trees grown on the copy."""
        self.snapshot = without_spare_codes(trimmed(self.memory))
        self._forget_trees()

    def merge(self, other: Replay, codes: Array) -> None:
        """Put the memories of another model, whose class codes are mapped, next to these."""
        memory_trees = self.options[0]
        self.memory = merged(self.memory, other.memory, codes, memory_trees, self.n_numeric)
        self.in_use = min(self.in_use, other.in_use)
        self.memory = with_first_trees(self.memory, self.in_use, memory_trees)
        self._keep_limit()
        self.take_snapshot()

    def votes(self, X: Array, growth: Growth, n_jobs: int | None) -> Array:
        """Return how many trees vote for each class, by code.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows in the engine's order of columns.
        growth : Growth
            How trees are grown, if they are not there yet.
        n_jobs : int or None
            Threads that grow them.

        Returns
        -------
        ndarray of float64, shape (n, n_codes)
            Zeros for classes that are not replayed.
        """
        out = np.zeros((len(X), len(self.memory.rows)))
        if self.snapshot is not None and self.replayed.any():
            trees = self._trees
            if trees is None or trees.growth != growth:
                trees = self._trees = self._grow(self.snapshot, growth, n_jobs)
            count_votes(trees.nodes, trees.starts, np.ascontiguousarray(X), out)
        return out

    def _forget_trees(self) -> None:
        vars(self).pop("_trees", None)

    def _grow(self, snapshot: ClassMemory, growth: Growth, n_jobs: int | None) -> _Trees:
        """Grow trees, in threads."""
        one = partial(self._grow_one, snapshot, growth, _draws_per_weight(snapshot, growth))
        grown = in_threads(one, range(growth.n_trees), n_jobs)
        starts = np.cumsum([0, *(len(nodes) for nodes in grown[:-1])])
        return _Trees(growth, np.concatenate(grown).view(type(grown[0])), starts)

    def _grow_one(self, snapshot: ClassMemory, growth: Growth, rates: Array, number: int) -> Any:
        """Nodes of one tree."""
        memory_trees, d = self.options[0], snapshot.mean.shape[1]
        full, seed = is_full(self.n_numeric), growth.seed
        in_use = np.count_nonzero((snapshot.roots[:, :memory_trees] >= 0).any(axis=0))
        counts = np.zeros(len(snapshot.cells), np.int64)
        n = count_draws(snapshot, rates, seed, number % in_use, memory_trees, number, counts)
        X, y = np.empty((d, n)), np.empty(n, np.int64)
        scratch = [np.zeros(n_moments(self.n_numeric)), *(np.zeros(d) for _ in range(3))]
        replay(snapshot, counts, seed, number, self.n_numeric, full, X, y, *scratch)
        space = new_grower(n, len(snapshot.rows), d)
        nodes = new_nodes(max(1, min(2 * n, self._most_nodes(growth.n_trees))))
        n_columns = max(1, round(math.sqrt(d)))
        made = grow(X, y, space, n_columns, _N_THRESHOLDS, seed, number, nodes)
        return nodes[:made].copy()


def _draws_per_weight(snapshot: ClassMemory, growth: Growth) -> Array:
    """Rows to draw for a row of weight 1 of each class."""
    replayed = snapshot.rows >= LEAST_ROWS
    weight = np.where(replayed, snapshot.weight, 0.0)
    d = snapshot.mean.shape[1]
    learnt = int(snapshot.rows[replayed].sum())
    rows = max(learnt, min(_DRAWS_PER_ROW * learnt, _FEW_ROWS))
    rows = min(rows, growth.most_rows, max(1, _MOST_VALUES // d))
    shares = replayed / replayed.sum() if growth.balanced else weight / weight.sum()
    return np.divide(rows * shares, weight, out=np.zeros(len(weight)), where=replayed)
