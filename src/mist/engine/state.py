"""The arrays that hold a tree.

Everything a model has learnt is in the arrays below, grouped into named tuples. Compiled functions
take the tuples as arguments or load them from an address. The groups `ObservedWeights` and
`Sketch` are ``None`` until they are needed; until then the code that uses them is not compiled. The
arrays of the leaf predictors are described in `mist.engine.leafmodel`.

Arrays are reserved in advance. The `reserve_*` functions run between calls of compiled code and
replace arrays by larger ones; compiled code only fills what has been reserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mist.engine.compiled import allocating, exact, inlined
from mist.engine.handle import Handle, kind_of_value
from mist.locking import uninterrupted

Array = np.ndarray[Any, Any]

# Index of each number in `Tree.counters`:
# N_NODES, N_LEAVES, N_CELLS: records used so far (of cells, those given back included);
# FREE_CELL: head of the free list of cells, -1 if it is empty;
# EPOCH: how often a column that had been constant varied at last, which outdates caches;
# N_CONSTANT: columns that have not varied yet; N_LEARNT: rows learnt;
# N_ITEMS: end of the last block in the pool; N_HELD: pool rows that belong to a block;
# FIRST_BLOCK, LAST_BLOCK: cells with the first and the last block of the pool, -1 without one.
N_NODES, N_LEAVES, N_CELLS, FREE_CELL, EPOCH, N_CONSTANT, N_ITEMS, N_LEARNT = range(8)
N_HELD, FIRST_BLOCK, LAST_BLOCK = range(8, 11)

MEAN, M2, PREC = range(3)
"""Rows of `Tree.stats` and `Tree.scale`: mean, weighted sum of squared deviations, and
(in `stats` only) the cached 1/variance, in 0/1 columns the log odds of a 1."""

LOW, HIGH = range(2)
"""Rows of `Sketch.ends`."""

BLOCK_SIZES, TOTALS, CAPS = range(3)
"""Rows of `Sketch.plan`: block sizes in rows; capacity of a sketch by its number of levels;
capacity of a level by its depth below the top."""

LEVELS = 40
"""Most levels of a sketch: enough for 2**42 rows and more. Beyond, `mist.engine.kll` drops rows."""

MIN_BLOCK = 4
"""Rows of the smallest block of a sketch."""

SMALL_BLOCK = 12
"""Up to this size, a block grows by two rows; beyond, by half."""

NODE = np.dtype(
    [
        ("feature", np.int64),  # internal order; -1 at a leaf
        ("left", np.int64),
        ("right", np.int64),
        ("depth", np.int64),
        ("leaf", np.int64),  # index in `Tree.leaves`; -1 at an internal node
        ("threshold", np.float64),
        ("mass", np.float64),  # mass inherited plus weight routed through
    ]
)

LEAF = np.dtype(
    [
        ("weight_seen", np.float64),  # weight observed here
        ("weight", np.float64),  # inherited and observed weight of all cells
        ("n_updates", np.int64),  # cache updates so far, one a row (gaussian and sketch leaves)
        ("tried", np.int64),  # multiples of the grace period already examined
        (
            "refresh_at",
            np.int64,
        ),  # value of `n_updates` at which the caches of all cells are renewed
        ("epoch", np.int64),  # `EPOCH` when the caches of all cells were renewed last
        ("node", np.int64),
        ("first", np.int64),  # ends of the chain of cells
        ("last", np.int64),
        ("n_cells", np.int64),
        ("sketched", np.int64),  # number of cells with a sketch
        (
            "prior_only",
            np.int64,
        ),  # 1: prior-only, the cells hold masses of the parent, nothing else
        ("best", np.int64),  # columns that gained most at the last attempt, -1 without one
        ("second", np.int64),
        ("best_at", np.float64),  # thresholds of these columns then; unset where they are -1
        ("second_at", np.float64),
    ]
)

CELL = np.dtype(
    [
        ("weight", np.float64),  # inherited and observed: evidence for the moments
        ("mass", np.float64),  # the same as a share in the prior; only `weight` is discounted
        ("count", np.float64),  # observed here
        ("norm", np.float64),  # cached constant of the log density, prior included
        ("steps", np.int64),  # rows learnt here
        ("leaf", np.int64),  # -1 when detached or free
        ("code", np.int64),  # class code
        ("next", np.int64),  # next cell of the leaf, or next free cell; -1 at the end
        # The cell's sketch; all but `start` mean nothing while `start` is -1:
        (
            "size_class",
            np.int16,
        ),  # index of the block size in the row `BLOCK_SIZES` of `Sketch.plan`
        ("levels", np.int16),
        ("used", np.int32),  # stored rows
        ("before", np.int32),  # cells with the previous and the next block in the pool; -1: none
        ("behind", np.int32),
        ("start", np.int64),  # first pool row of the block; -1 without sketch
        ("flips", np.int64),  # compactions so far
        ("median_at", np.int64),  # `steps` when `Sketch.medians` was filled; -1: never
    ]
)


class Tree(NamedTuple):
    """The arrays that every model has. A *cell* holds what one leaf has learnt of one class."""

    nodes: Any  # records NODE
    leaves: Any  # records LEAF
    spread: Any  # float64 (leaves, d): sum of m2 over the leaf's cells
    cells: Any  # records CELL
    stats: Any  # float64 (cells, 3, d): MEAN, M2, PREC
    products: Any  # float64 (cells, p): of numeric deviations, packed; p = 0 if not kept
    table: Any  # int32: hash table from (leaf, class code) to cell; -1: empty
    scale: Any  # float64 (2, d): running MEAN and M2 of every column over all rows
    counters: Any  # int64
    totals: Any  # float64 (class codes): weight learnt of each class, if priors are balanced


class ObservedWeights(NamedTuple):
    """Column weights: observed weight column by column; None until a NaN is learnt."""

    cell: Any  # float64 (cells, d)
    leaf: Any  # float64 (leaves, d)
    scale: Any  # float64 (d,)
    model: Any  # the same for what the leaf model keeps, or None


class Sketch(NamedTuple):
    """Columnar KLL sketches: blocks of rows in one pool, packed level by level, top first."""

    items: Any  # float64 or float32 (pool rows, numeric columns)
    sizes: Any  # int16 or int32 (cells, LEVELS): stored rows a level
    ends: Any  # as items (cells, 2, numeric columns): exact LOW and HIGH
    medians: Any  # as items (cells, numeric columns): as of `median_at`; some may be newer
    plan: Any  # int64 (3, n), n = max(LEVELS + 1, number of block sizes): BLOCK_SIZES, TOTALS, CAPS


CLAIM = 10.0
"""`Options.claim` of new models: a label that was mistyped once must not take rows away from the
class it belongs to. Chosen on development seeds: at 20 the recall of new classes after five rows
falls by .02, at 5 ten mistyped labels take a tenth of a class. Models from older files have 0."""


class Options(NamedTuple):
    """The numbers that compiled code needs."""

    seed: int
    n_numeric: int
    grace_period: int
    sketched_classes: int  # cells of a leaf that may have a sketch
    bandwidth: float
    smoothing: float
    variance_prior: float  # pseudo-observations of the variance pooled over a leaf's classes
    balanced: bool  # classes are equally probable before a row is seen
    products: bool  # every class at a leaf keeps the products of its deviations
    max_components: int  # Gaussians of a class at a leaf
    single: bool = False  # sketches hold float32
    claim: float = 0.0  # weight at which a class has half of its prior, if classes are balanced

    @property
    def precision(self) -> type[np.floating[Any]]:
        """Type of the values in sketches."""
        return np.float32 if self.single else np.float64


class ScreenParams(NamedTuple):
    """Parameters of the split screen: the terms of `mist.engine.criterion.radius`."""

    squared: float  # 0: the screen is off and every leaf that is due is examined
    tests: float  # tests for each boundary between two classes (`by_class`), or in all
    by_class: bool
    delta: float
    tie_threshold: float


NO_SCREEN = ScreenParams(0.0, 1.0, False, 1.0, 0.0)
"""Every leaf that is due is examined."""


_PARTS = ("tree", "observed", "sketch", "model", "options", "conformity", "screen")
"""The parts of a state that compiled code loads, in this order."""


@dataclass
class State:
    """All arrays of one model.

    Compiled code loads the arrays through `handle`. Arrays may be written in place, but to replace
    one, set the attribute that holds it: that discards the handle, which has the old address.
    """

    tree: Tree
    observed: ObservedWeights | None
    sketch: Sketch | None
    model: Any  # named tuple of a `mist.engine.leafmodel.LeafModel`
    options: Options
    candidate_splits: dict[int, Any] = field(
        default_factory=dict
    )  # leaf: `mist.engine.candidate_splits.CandidateSet`
    conformity: Any = None  # a `mist.engine.conformity.Conformity`, or None
    screen: ScreenParams = NO_SCREEN
    began: Array | None = None  # in a fork: masses of the nodes before it learnt anything
    # In a fork that began with shares of mixtures: their masses and weights, by leaf and code.
    carried: dict[tuple[int, int], Array] | None = None
    # Not fields, so that they are neither copied nor pickled: each instance sets its own in `vars`.
    _handle: ClassVar[Handle | None] = None
    _budget: ClassVar[Any] = None
    _torn: ClassVar[bool] = False
    _kinds: ClassVar[dict[str, Any]]

    def __setattr__(self, name: str, value: Any) -> None:
        # The handle has the addresses of the arrays that it was made of.
        own = vars(self)
        own["_handle"] = None
        own.setdefault("_kinds", {}).pop(name, None)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        self.check_intact()
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _handle=None, _kinds={})

    @property
    def handle(self) -> Handle:
        """The arrays laid out for compiled functions; made again once a part was replaced."""
        handle: Handle | None = self._handle
        if handle is None:
            self.check_intact()
            parts = tuple(getattr(self, name) for name in _PARTS)
            handle = Handle(parts, [self._kind_of(name) for name in _PARTS])
            vars(self)["_handle"] = handle
        return handle

    @property
    def budget(self) -> Any:
        """A `mist.engine.budget.Budget`, or None; it is neither copied nor saved."""
        return self._budget

    @budget.setter
    def budget(self, budget: Any) -> None:
        vars(self)["_budget"] = budget

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change arrays that belong together.

        Ctrl-C waits until the end of the block. After an error the state refuses further use.
        """
        with uninterrupted():
            try:
                yield
            except BaseException:
                vars(self).update(_torn=True, _handle=None)
                raise

    def check_intact(self) -> None:
        """Raise an error if a change was interrupted, so that arrays may be inconsistent."""
        if self._torn:
            raise RuntimeError(
                "an error, such as a lack of memory, interrupted a change of this model, which can "
                "no longer be used: load the last saved one, or fit it again"
            )

    def _kind_of(self, name: str) -> Any:
        """The kind of a part (`kind_of_value`), cached until the part is set again."""
        kinds = self._kinds
        if name not in kinds:
            kinds[name] = kind_of_value(getattr(self, name))
        return kinds[name]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return bytes_of(self)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.tree.scale.shape[1])


def writable(group: Any) -> Any:
    """Return the same arrays, with read-only ones replaced by copies."""
    if isinstance(group, State):
        return State(**{f.name: writable(getattr(group, f.name)) for f in fields(group)})
    if isinstance(group, np.ndarray):
        return group if group.flags.writeable else group.copy()
    if isinstance(group, tuple):
        parts = [writable(part) for part in group]
        return type(group)(*parts) if hasattr(group, "_fields") else tuple(parts)
    if isinstance(group, dict):
        return {key: writable(part) for key, part in group.items()}
    return group


def bytes_of(group: Any) -> int:
    """Bytes of all arrays in nested tuples, dicts and states."""
    return sum(array.nbytes for array in _arrays(group))


def _arrays(group: Any) -> list[np.ndarray]:
    """All arrays in nested tuples, dicts and states."""
    if isinstance(group, np.ndarray):
        return [group]
    if isinstance(group, State):
        return [a for f in fields(group) for a in _arrays(getattr(group, f.name))]
    parts = group.values() if isinstance(group, dict) else group
    return [a for part in parts for a in _arrays(part)] if isinstance(group, tuple | dict) else []


def _block_sizes(totals: Array) -> list[int]:
    """Block sizes: small steps first, then what a sketch holds with every second level more."""
    sizes, levels = [MIN_BLOCK], [int(n) for n in totals[LEVELS % 2 :: 2] if n > 2 * totals[1]]
    while sizes[-1] < levels[0]:
        sizes.append(sizes[-1] + max(2, sizes[-1] // 2 if sizes[-1] >= SMALL_BLOCK else 0))
    return [n for n in sizes if n < levels[0]] + levels


def sketch_plan(sketch_size: int) -> np.ndarray:
    """`Sketch.plan` for sketches whose top level holds ``sketch_size`` rows."""
    return _planned(sketch_size).copy()


@cache
def _planned(sketch_size: int) -> np.ndarray:
    """The cached `sketch_plan`, not to be written to."""
    caps = [max(8, int(sketch_size * (2 / 3) ** depth + 0.5)) for depth in range(LEVELS)]
    totals = np.concatenate([[0], np.cumsum(caps)])
    block_sizes = _block_sizes(totals)
    plan = np.full((3, max(LEVELS + 1, len(block_sizes))), -1, np.int64)
    plan[CAPS, :LEVELS] = caps
    plan[TOTALS, : LEVELS + 1] = totals
    plan[BLOCK_SIZES, : len(block_sizes)] = block_sizes
    return plan


def packed_size(n: int) -> int:
    """Numbers in the lower triangle of a matrix of n rows."""
    return n * (n + 1) // 2


# --- nodes, leaves and cells as records ------------------------------------------------------
#
# The cells of a leaf form a chain: `leaves.first`, then `cells.next` up to -1; `leaves.last` is its
# end. Free cells form another chain by the same field, from `FREE_CELL` on. A cell is in the hash
# table just as long as its `leaf` is not -1; records from `N_CELLS` on were never used.


def new_node(tree, depth_of_parent):
    """Append a node that is neither leaf nor split yet; capacity must have been reserved."""
    node = tree.counters[N_NODES]
    tree.counters[N_NODES] += 1
    tree.nodes.feature[node] = -1
    tree.nodes.left[node] = -1
    tree.nodes.right[node] = -1
    tree.nodes.leaf[node] = -1
    tree.nodes.mass[node] = 0.0
    tree.nodes.depth[node] = depth_of_parent + 1
    return node


def new_leaf(tree, node, prior_only):
    """Append an empty leaf for the node."""
    leaf = tree.counters[N_LEAVES]
    tree.counters[N_LEAVES] += 1
    clear_leaf(tree, leaf, node, prior_only)
    return leaf


def clear_leaf(tree, leaf, node, prior_only):
    """Reset a leaf's record; cells that it had must have been detached before."""
    leaves = tree.leaves
    tree.nodes.leaf[node] = leaf
    leaves.node[leaf] = node
    leaves.weight_seen[leaf] = 0.0
    leaves.weight[leaf] = 0.0
    leaves.n_updates[leaf] = 0
    leaves.tried[leaf] = 0
    leaves.refresh_at[leaf] = 1
    leaves.epoch[leaf] = tree.counters[EPOCH]
    leaves.first[leaf] = -1
    leaves.last[leaf] = -1
    leaves.n_cells[leaf] = 0
    leaves.sketched[leaf] = 0
    leaves.prior_only[leaf] = prior_only
    leaves.best[leaf] = -1
    leaves.second[leaf] = -1
    tree.spread[leaf, :] = 0.0


@inlined
def _slot(table, leaf, code):
    """Slot of the hash table where the search for a cell starts (a multiplicative hash)."""
    # The size is a power of two, so the mask keeps the slot inside the table.
    key = np.uint64(leaf) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(code)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(key >> np.uint64(32)) & (table.size - 1)


@inlined
def find_cell(tree, leaf, code):
    """The leaf's cell of a class, or -1."""
    cells, table = tree.cells, tree.table
    at = _slot(table, leaf, code)
    # Linear probing: an entry is in the run of full slots that begins at its home slot.
    while table[at] >= 0:
        cell = np.int64(table[at])
        if cells.code[cell] == code and cells.leaf[cell] == leaf:
            return cell
        at = (at + 1) & (table.size - 1)
    return -1


@exact
def _enter(cells, table, cell):
    """Put a cell that is not in the hash table into the first empty slot from its home slot on."""
    at = _slot(table, cells.leaf[cell], cells.code[cell])
    while table[at] >= 0:
        at = (at + 1) & (table.size - 1)
    table[at] = cell


@exact
def _leave(cells, table, cell):
    """Take a cell out of the hash table and close the gap it leaves in its run.

    The record must still have its leaf and code. There are no marks for deleted entries: a gap
    would end the search for entries behind it.
    """
    last = table.size - 1
    gap = _slot(table, cells.leaf[cell], cells.code[cell])
    while table[gap] != cell:
        gap = (gap + 1) & last
    at = (gap + 1) & last
    while table[at] >= 0:
        home = _slot(table, cells.leaf[table[at]], cells.code[table[at]])
        # An entry may move into the gap only if its home slot is not behind the gap (cyclically).
        if ((at - home) & last) >= ((at - gap) & last):
            table[gap] = table[at]
            gap = at
        at = (at + 1) & last
    table[gap] = -1


@exact
def rebuild_table(tree):
    """Fill an empty hash table with all cells in use."""
    for cell in range(tree.counters[N_CELLS]):
        if tree.cells.leaf[cell] >= 0:
            _enter(tree.cells, tree.table, cell)


@inlined
def has_capacity_for_cell(tree):
    """Whether a new cell fits into the arrays."""
    return tree.counters[FREE_CELL] >= 0 or tree.counters[N_CELLS] < tree.cells.size


@exact
def new_cell(tree, leaf, code):
    """Append an empty cell to a leaf; capacity must have been reserved."""
    cells, leaves = tree.cells, tree.leaves
    cell = tree.counters[FREE_CELL]
    if cell >= 0:
        tree.counters[FREE_CELL] = cells.next[cell]
    else:
        cell = tree.counters[N_CELLS]
        tree.counters[N_CELLS] += 1
    # The record may have been used before. Fields of the sketch but `start` need no reset.
    cells.leaf[cell] = leaf
    cells.code[cell] = code
    cells.next[cell] = -1
    cells.steps[cell] = 0
    cells.weight[cell] = 0.0
    cells.mass[cell] = 0.0
    cells.count[cell] = 0.0
    cells.norm[cell] = 0.0
    cells.start[cell] = -1
    tree.stats[cell] = 0.0
    tree.products[cell] = 0.0
    _enter(cells, tree.table, cell)
    if leaves.last[leaf] < 0:
        leaves.first[leaf] = cell
    else:
        cells.next[leaves.last[leaf]] = cell
    leaves.last[leaf] = cell
    leaves.n_cells[leaf] += 1
    return cell


@allocating
def leaf_cells(tree, leaf):
    """Cells of a leaf, in order of creation."""
    out = np.empty(tree.leaves.n_cells[leaf], np.int64)
    cell = tree.leaves.first[leaf]
    for i in range(out.size):
        out[i] = cell
        cell = tree.cells.next[cell]
    return out


@exact
def detach_cells(tree, leaf):
    """Take all cells off a leaf but leave what they hold in place.

    The cells are still linked by ``next`` and are not free yet: see `free_cells`.
    """
    cells, leaves = tree.cells, tree.leaves
    cell = leaves.first[leaf]
    while cell >= 0:
        # First: the hash is that of the leaf and the code.
        _leave(cells, tree.table, cell)
        cells.leaf[cell] = -1
        cell = cells.next[cell]
    leaves.first[leaf] = -1
    leaves.last[leaf] = -1
    leaves.n_cells[leaf] = 0


@exact
def detach_cell(tree, cell):
    """Take one cell off its leaf; it is not free yet, as with `detach_cells`."""
    cells, leaves = tree.cells, tree.leaves
    leaf, before, at = cells.leaf[cell], -1, leaves.first[cells.leaf[cell]]
    while at != cell:
        before, at = at, cells.next[at]
    if before < 0:
        leaves.first[leaf] = cells.next[cell]
    else:
        cells.next[before] = cells.next[cell]
    if leaves.last[leaf] == cell:
        leaves.last[leaf] = before
    leaves.n_cells[leaf] -= 1
    _leave(cells, tree.table, cell)
    cells.leaf[cell] = -1


@exact
def free_cells(tree, detached):
    """Put detached cells on the free list."""
    for cell in detached:
        tree.cells.next[cell] = tree.counters[FREE_CELL]
        tree.counters[FREE_CELL] = cell


@allocating
def append_cells(tree, leaf, codes):
    """Append an empty cell for every class code; capacity must have been reserved."""
    out = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        out[i] = new_cell(tree, leaf, codes[i])
    return out
