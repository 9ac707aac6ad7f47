"""The interface between the engine and the leaf predictors.

The tree keeps masses, moments and sketches of every class at a leaf. A leaf predictor keeps its own
arrays in a named tuple, its *model*: `mist.engine.state.State.model`. Each kind of leaf model has
one file in `mist.engine.leaves`, with the named tuple, a few compiled functions for the loop over
rows, and a `LeafModel` for the rare work between runs of the loop. Compiled code calls `score`,
`learn` and the other functions at the end of this file. The type of the named tuple decides which
function that is, so code for other kinds is never compiled.

The compiled functions of leaf models share these parameters:

model : named tuple
    The arrays of the leaf model.
tree, observed, sketch, options
    Parts of a `mist.engine.state.State`; ``observed`` and ``sketch`` may be None.
has_nan : object or None
    None if no missing value can matter. Only the test for None counts, so that code for missing
    values is compiled only where it is needed.
leaf, cell : int
    Indices in ``tree.leaves`` and ``tree.cells``.
X, i : float64 array, shape (n, d), and int
    Rows in internal column order, and the index of the row at hand.
row : float64 array, shape (1, d)
    A row as `mist.engine.marginal.settle` writes it.
w : float
    Weight of the row, above 0.
work
    Workspace from ``make_workspace``.
extra : float
    Is added to the score.
need : float
    A score below this may be a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload

from mist.engine.arrays import grown
from mist.engine.budget import row_bytes
from mist.engine.compiled import OVERLOADED, OVERLOADED_ALLOCATING, allocating, inlined
from mist.engine.moments import independent
from mist.engine.state import Options, State

Array = np.ndarray[Any, Any]

ConditionalMoments = Callable[[int], tuple[float, float] | None]
"""Conditional moments: given a parent's cell, the mean and variance of the split column on one side
of the split, or None if unknown."""


class Side(NamedTuple):
    """One side of a split."""

    feature: int  # split column, in internal order
    threshold: float
    left: bool  # x <= threshold
    takes_unknown: bool  # whether rows without a value in the split column go here


@allocating
def _make_workspace(model, options):
    return None


@inlined
def _prepare(model, tree, observed, work):
    pass


@inlined
def _has_capacity(model):
    return True


@inlined
def _learn(model, tree, observed, options, leaf, cell, X, i, w, work):
    """Learn nothing. Parameters as in the module docstring."""
    return False


class LeafModel:
    """A kind of leaf model: its compiled functions, and the rare work on its arrays.

    The defaults suit a model that has no arrays. Every kind must define `score` and `log_density`.
    A method that enlarges arrays replaces ``state.model``. The parameters of the compiled functions
    are described in the module docstring.
    """

    title: ClassVar[str]
    """Name of such leaves in the public API."""

    arrays: ClassVar[type]
    """The named tuple, which compiled functions take as their first argument, ``model``."""

    make_workspace: ClassVar[Any] = staticmethod(_make_workspace)
    """(model, options): workspace of the functions below, made once for each call from Python."""

    prepare: ClassVar[Any] = staticmethod(_prepare)
    """(model, tree, observed, work): update what does not depend on the cell, before scoring."""

    has_capacity: ClassVar[Any] = staticmethod(_has_capacity)
    """(model): whether the arrays have capacity for one more row."""

    score: ClassVar[Any]
    """(model, tree, observed, sketch, has_nan, options, leaf, cell, X,
    i, work, extra, need): log prior of a cell plus log density of a row plus ``extra``, up to a
    term that all cells of the leaf share."""

    log_density: ClassVar[Any]
    """(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work): log
    density of the row ``row[0]`` in a cell, with all constants."""

    learn: ClassVar[Any] = staticmethod(_learn)
    """(model, tree, observed, options, leaf, cell, X, i, w, work): learn a row that the moments of
    the cell have learnt already; returns whether `on_cell_due` is to be called for the cell."""

    sorts_sketches: ClassVar[bool] = False
    """Whether the model is a `SortedColumns`, which is updated with the sketches."""

    uses_products: ClassVar[bool] = False
    """Whether inheritance "joint" needs products of deviations, which the tree then keeps."""

    adds_up: ClassVar[bool] = False
    """Whether the log density of a row is the sum of terms of single columns."""

    per_leaf: ClassVar[tuple[str, ...]] = ()
    """Fields of the named tuple with an entry for each leaf."""

    per_cell: ClassVar[tuple[str, ...]] = ()
    """Fields of the named tuple with an entry for each cell."""

    most_columns: ClassVar[int | None] = None
    """Largest number of numeric columns, if there is a limit."""

    def name(self, model: Any) -> str:
        """Name of the leaves in the public API."""
        return self.title

    def new(self, options: Options, n_columns: int) -> Any:
        """Arrays of a model that has learnt nothing, for one leaf and two cells."""
        return self.arrays()

    def copy_settings(self, state: State, other: State) -> None:
        """Copy settings that another model has changed while it learnt."""

    def observed(self, state: State) -> Any:
        """Initial value of `ObservedWeights.model`, when nothing has been missing so far."""
        return None

    def reserve_leaves(self, state: State, n: int) -> None:
        """Reserve n leaves."""
        state.model = _grown_fields(state.model, self.per_leaf, n)

    def reserve_cells(self, state: State, n: int) -> None:
        """Reserve n cells."""
        state.model = _grown_fields(state.model, self.per_cell, n)

    def reserve_row(self, state: State) -> None:
        """Reserve what the next row may need."""

    def with_pool(self, model: Any, n_rows: int) -> Any:
        """The model for a pool of so many sketch rows; `mist.engine.kll.gather` fills it."""
        return model

    def widen(self, state: State, n_more: int) -> None:
        """Add unknown numeric columns behind the existing ones.

        Called before the tree and the sketches get the columns.
        """

    def add_indicators(self, state: State, siblings: Array) -> None:
        """Add 0/1 columns behind all others; see `mist.engine.indicators`.

        ``siblings`` of shape (cells, new columns) has the column of each cell whose column weight a
        new column gets, -1 if no earlier row had a value. Called before the tree gets the columns.
        """

    def before_batch(self, state: State, X: Array, weights: Array) -> int:
        """Number of rows that may be learnt before this must be called again, at least 1.

        Called once values are missing: a column may have its first value in any row.
        """
        return len(X)

    def on_cell_due(self, state: State, cell: int) -> None:
        """Do the rare work that `learn` has asked for."""

    def inherit(
        self,
        state: State,
        parents: Array,
        children: Array,
        side: Side,
        conditional: ConditionalMoments | None,
    ) -> None:
        """Give new cells what their parents know of one side of a split.

        Masses, weights and moments of the new cells are set already. ``conditional`` gives
        conditional moments if other columns change with the split column (inheritance "joint"),
        else it is None.
        """

    def covariances_with(self, state: State, cell: int, feature: int) -> tuple[Array, Array]:
        """Covariance of the numeric columns of a class with one of them, and their variances.

        The default takes columns as independent.
        """
        return independent(state, cell, feature)

    def refresh(self, state: State, leaf: int) -> None:
        """Renew all caches of a leaf."""

    def reset_leaf(self, state: State, leaf: int) -> None:
        """Reset what is kept for a leaf whose record was cleared for another node."""

    def release(self, state: State, cell: int) -> None:
        """Free what is kept for a detached cell."""

    def copy_leaf(self, source: State, leaf: int, target: State, slot: int) -> None:
        """Copy what is kept for a leaf, without its cells, to a leaf of another state."""
        for name in self.per_leaf:
            getattr(target.model, name)[slot] = getattr(source.model, name)[leaf]

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_proposals: bool
    ) -> None:
        """Copy what is kept for a cell to another state, after its sketch was copied."""
        for name in self.per_cell:
            getattr(target.model, name)[new] = getattr(source.model, name)[old]

    def fork_state(self, state: State, out: State, share: float) -> None:
        """Let a fork begin with a share of what the model has learnt, if this kind can."""

    def merge(self, state: State, cell: int, other: State, other_cell: int) -> None:
        """Add what another model knows of a class, after moments, weights and sketch were added."""

    def bytes_of_leaf(self, state: State) -> int:
        """Bytes that one more leaf takes."""
        return row_bytes(*(getattr(state.model, name) for name in self.per_leaf))

    def bytes_of_cell(self, state: State) -> int:
        """Bytes that one more cell takes."""
        return row_bytes(*(getattr(state.model, name) for name in self.per_cell))

    def bytes_for_row(self, state: State) -> int:
        """Bytes that must be left before `reserve_row`."""
        return 0

    def bytes_to_split(self, state: State, leaf: int) -> int:
        """Bytes that must be left before a leaf is split, beyond those of nodes and cells."""
        return 0

    def bytes_spare(self, state: State) -> int:
        """Bytes of what is reserved or free in the pools of the model."""
        return 0

    def bytes_of_trials(self, state: State) -> int:
        """Bytes of all trials."""
        return 0

    def reserve_as(self, state: State, source: State) -> None:
        """Reserve at once what copies of all cells of another state will need."""

    def reserve_least(self, state: State, n_cells: int) -> None:
        """Reserve what so many cells need at least."""

    def end_trials(self, state: State, n_bytes: int) -> None:
        """End the trials with the least evidence, so that about so many bytes are left."""

    def join_components(self, state: State, n_bytes: int) -> None:
        """Join the nearest components, so that copies take about so many bytes less."""

    def nbytes(self, state: State, leaf: int) -> int:
        """Bytes of what the model keeps for a leaf and its cells."""
        leaves = sum(getattr(state.model, name)[leaf].nbytes for name in self.per_leaf)
        each = sum(getattr(state.model, name)[:1].nbytes for name in self.per_cell)
        return int(leaves + each * state.tree.leaves.n_cells[leaf])


_KINDS: dict[type, LeafModel] = {}


def register(kind: LeafModel) -> LeafModel:
    """Register a kind of leaf model by the type of its arrays; the first one of a type counts."""
    _KINDS.setdefault(kind.arrays, kind)
    return kind


def kind_of(model: Any) -> LeafModel:
    """The kind of leaf model that has these arrays."""
    return _KINDS[type(model)]


def _grown_fields(model: Any, names: tuple[str, ...], n: int) -> Any:
    return model._replace(**{name: grown(getattr(model, name), n) for name in names})


def _by_kind(name: str, options: Any = OVERLOADED) -> Any:
    """A function that calls the function ``name`` of the model's kind.

    In Python it is looked up at each call. Compiled code chooses it once, by the type of the model.
    """

    def call(model: Any, *args: Any) -> Any:
        return getattr(kind_of(model), name)(model, *args)

    @overload(call, strict=False, jit_options=options)
    def choose(model, *args):
        return getattr(_KINDS[model.instance_class], name).py_func

    return call


make_workspace = _by_kind("make_workspace", OVERLOADED_ALLOCATING)
prepare = _by_kind("prepare")
has_capacity = _by_kind("has_capacity")
score = _by_kind("score")
log_density = _by_kind("log_density")
learn = _by_kind("learn")


def sorted_columns_of(model: Any) -> Any:
    """The model if it is a `mist.engine.sorted_columns.SortedColumns`, else None."""
    return model if kind_of(model).sorts_sketches else None


@overload(sorted_columns_of, jit_options=OVERLOADED)
def _sorted_columns_of(model):
    if _KINDS[model.instance_class].sorts_sketches:
        return lambda model: model
    return lambda model: None
