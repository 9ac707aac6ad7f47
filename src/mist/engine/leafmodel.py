"""What the engine asks of a leaf model, and how it finds the one that a tree has.

The tree keeps masses, moments and sketches of every class at a leaf. What a leaf predictor needs
beyond them is its *model*: a named tuple of arrays, `mist.engine.state.State.model`. Each kind of
model is one file in `mist.engine.leaves`: the named tuple, a few compiled functions for the loop
over rows, and a `LeafModel` for the rare work beside it. Compiled code calls `score`, `learn` and
the other functions below; which one that is follows from the type of the named tuple, so code for
other kinds is never compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload

from mist.engine.arrays import grown
from mist.engine.compiled import OVERLOADED, allocating, inlined
from mist.engine.moments import independent
from mist.engine.state import Options, State

Array = np.ndarray[Any, Any]

Told = Callable[[int], tuple[float, float] | None]
"""Mean and variance of a parent's cell in the split column on one side, None if unknown."""


class Side(NamedTuple):
    """One side of a split."""

    feature: int  # split column, in internal order
    threshold: float
    left: bool  # x <= threshold
    takes_unknown: bool  # whether rows without a value in the split column go here


@allocating
def _make_room(model, options):
    return None


@inlined
def _prepare(model, tree, missing, room):
    pass


@inlined
def _has_room(model):
    return True


@inlined
def _learn(model, tree, missing, options, leaf, cell, X, i, w, room):
    return False


class LeafModel:
    """A kind of leaf model: its compiled functions, and the rare work on its arrays.

    All that is here suits a model that keeps nothing of its own; `score` and `log_density` every
    kind has to have. A method that needs more room puts larger arrays in the place of
    ``state.model``.
    """

    title: ClassVar[str]
    """What users call such leaves."""

    arrays: ClassVar[type]
    """The named tuple, which compiled functions take as their first argument, ``model``."""

    make_room: ClassVar[Any] = staticmethod(_make_room)
    """(model, options): what the functions below need for themselves, made once a call."""

    prepare: ClassVar[Any] = staticmethod(_prepare)
    """(model, tree, missing, room): bring up to date what does not depend on the cell."""

    has_room: ClassVar[Any] = staticmethod(_has_room)
    """(model): whether a row can be learnt without growing an array."""

    score: ClassVar[Any]
    """(model, tree, missing, sketch, holes, binary, options, leaf, cell, X, i, room, extra, need):
    log prior of a cell plus log density of a row, up to what all cells of the leaf share, plus
    ``extra``; a lower bound will do below ``need``. ``holes`` is None if no missing value can
    matter, ``binary`` if there is no 0/1 column."""

    log_density: ClassVar[Any]
    """(model, tree, missing, sketch, holes, binary, options, leaf, cell, row, room): log density of
    the row ``row[0]`` in a cell, nothing left out."""

    learn: ClassVar[Any] = staticmethod(_learn)
    """(model, tree, missing, options, leaf, cell, X, i, w, room): learn a row that the moments have
    learnt already; whether the cell is to be tended."""

    sorts_sketches: ClassVar[bool] = False
    """Whether the model is the view of sketches that is kept up to date with them."""

    uses_products: ClassVar[bool] = False
    """Whether inheritance "joint" needs products of deviations, which the tree then keeps."""

    adds_up: ClassVar[bool] = False
    """Whether the log density of a row is the sum of what each of its columns gives alone."""

    per_leaf: ClassVar[tuple[str, ...]] = ()
    """Arrays with an entry for each leaf."""

    per_cell: ClassVar[tuple[str, ...]] = ()
    """Arrays with an entry for each cell."""

    most_columns: ClassVar[int | None] = None
    """Numeric columns that the model takes at most."""

    def name(self, model: Any) -> str:
        """What users call the leaves."""
        return self.title

    def new(self, options: Options, n_columns: int) -> Any:
        """Arrays of a model that has learnt nothing, for one leaf and two cells."""
        return self.arrays()

    def adapt(self, state: State, other: State) -> None:
        """Take over settings that another model has changed while it learnt."""

    def missing(self, state: State) -> Any:
        """What `Missing.model` is as long as nothing was missing."""
        return None

    def reserve_leaves(self, state: State, n: int) -> None:
        """Make room for n leaves."""
        state.model = _grown_fields(state.model, self.per_leaf, n)

    def reserve_cells(self, state: State, n: int) -> None:
        """Make room for n cells."""
        state.model = _grown_fields(state.model, self.per_cell, n)

    def reserve_row(self, state: State) -> None:
        """Make room for what the next row may need."""

    def with_pool(self, model: Any, n_rows: int) -> Any:
        """What is to follow the sketches' blocks to a pool of so many rows, without its contents.

        They are copied by `mist.engine.kll.gather`.
        """
        return model

    def widen(self, state: State, n_more: int) -> None:
        """Add numeric columns that nothing is known of, behind those that there are.

        The tree and the sketches are as they were before.
        """

    def meet(self, state: State, X: Array, weights: Array) -> int:
        """How many of the rows may be learnt before columns are counted anew."""
        return len(X)

    def tend(self, state: State, cell: int) -> None:
        """Do what `learn` has asked for."""

    def inherit(
        self, state: State, parents: Array, born: Array, side: Side, told: Told | None
    ) -> None:
        """Give new cells what their parents know of one side of a split.

        Their masses, weights and moments are there already. ``told`` is given if columns change
        along with the split column (inheritance "joint").
        """

    def covariances_with(self, state: State, cell: int, feature: int) -> tuple[Array, Array]:
        """Covariance of the numeric columns of a class with one of them, and their variances.

        Without an answer of its own, a model takes columns as independent.
        """
        return independent(state, cell, feature)

    def refresh(self, state: State, leaf: int) -> None:
        """Renew all that is cached at a leaf."""

    def begin(self, state: State, leaf: int) -> None:
        """Forget what a leaf held: it has another node now."""

    def release(self, state: State, cell: int) -> None:
        """Give back what a detached cell holds."""

    def copy_leaf(self, source: State, leaf: int, target: State, slot: int) -> None:
        """Copy what a leaf holds, its cells aside, to a leaf of another state."""
        for name in self.per_leaf:
            getattr(target.model, name)[slot] = getattr(source.model, name)[leaf]

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_trials: bool
    ) -> None:
        """Copy what a cell holds to one of another state, which has a copy of its sketch."""
        for name in self.per_cell:
            getattr(target.model, name)[new] = getattr(source.model, name)[old]

    def carry(self, state: State, out: State, share: float) -> None:
        """Give a fork a share of what its leaves go on with, where they do not begin anew."""

    def merge(self, state: State, cell: int, other: State, other_cell: int) -> None:
        """Add what another model knows of a class; the tree's own sums and sketch are merged."""

    def nbytes(self, state: State, leaf: int) -> int:
        """Bytes of what a leaf and its cells hold."""
        leaves = sum(getattr(state.model, name)[leaf].nbytes for name in self.per_leaf)
        each = sum(getattr(state.model, name)[:1].nbytes for name in self.per_cell)
        return int(leaves + each * state.tree.leaves.n_cells[leaf])


_KINDS: dict[type, LeafModel] = {}


def register(kind: LeafModel) -> LeafModel:
    """Let the engine find a kind of leaf model by the type of its arrays, of several the first."""
    _KINDS.setdefault(kind.arrays, kind)
    return kind


def kind_of(model: Any) -> LeafModel:
    """The kind of leaf model that some arrays are of."""
    return _KINDS[type(model)]


def _grown_fields(model: Any, names: tuple[str, ...], n: int) -> Any:
    return model._replace(**{name: grown(getattr(model, name), n) for name in names})


_ALLOCATING: Any = {**OVERLOADED, "forceinline": False, "_nrt": True}


def _by_kind(name: str, options: Any = OVERLOADED) -> Any:
    """A function for compiled code that is the one of the model's kind."""

    def call(model: Any, *args: Any) -> Any:
        return getattr(kind_of(model), name)(model, *args)

    @overload(call, strict=False, jit_options=options)
    def choose(model, *args):
        return getattr(_KINDS[model.instance_class], name).py_func

    return call


make_room = _by_kind("make_room", _ALLOCATING)
prepare = _by_kind("prepare")
has_room = _by_kind("has_room")
score = _by_kind("score")
log_density = _by_kind("log_density")
learn = _by_kind("learn")


def view_of(model: Any) -> Any:
    """The model where it is a view of the sketches, else None."""
    return model if kind_of(model).sorts_sketches else None


@overload(view_of, jit_options=OVERLOADED)
def _view_of(model):
    if _KINDS[model.instance_class].sorts_sketches:
        return lambda model: model
    return lambda model: None
