"""Leaves with one Gaussian for each class, whose covariance is of low rank plus a diagonal.

They replace mixtures where there are hundreds of columns. The computations are in
`mist.engine.low_rank_gaussians` and, for rare work, in `mist.engine.low_rank_upkeep`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown, per, wider
from mist.engine.budget import row_bytes
from mist.engine.compiled import allocating, inlined
from mist.engine.gaussians import odds_of_zeros
from mist.engine.indicators import column_weights
from mist.engine.leafmodel import ConditionalMoments, LeafModel, Side, register
from mist.engine.low_rank_gaussians import (
    LeafShared,
    LowRank,
    clear,
    learn,
    log_density,
    make_workspace,
    new_common,
    new_low_rank,
    refresh_leaf,
    sign_matrix,
)
from mist.engine.low_rank_upkeep import class_bytes, copy, covariances, cut, merge, weigh
from mist.engine.marginal import less_constants
from mist.engine.moments import seen
from mist.engine.state import M2, MEAN, Options, State

Array = np.ndarray[Any, Any]

_HUGE = 1e300
_TRACE = 1e-12


class LowRankLeaves(NamedTuple):
    """Classes and leaves; the index of a class is that of its cell."""

    pool: LowRank
    common: LeafShared


@allocating
def _make_workspace(model, options):
    return make_workspace(model.pool)


@inlined
def _score(model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need):
    """Score of a cell. Parameters as in `mist.engine.leafmodel`."""
    prior = math.log(tree.cells.mass[cell] + 1.0) + extra
    score = prior + log_density(model.pool, model.common, leaf, cell, X, i, work)
    return score if score > -_HUGE else -_HUGE


@inlined
def _log_density(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work):
    """Log density of a row. Parameters as in `mist.engine.leafmodel`."""
    density = log_density(model.pool, model.common, leaf, cell, row, 0, work)
    return less_constants(density, tree, row, options.n_numeric)


@inlined
def _learn(model, tree, observed, options, leaf, cell, X, i, w, work):
    """Learn a row. Parameters as in `mist.engine.leafmodel`."""
    first, total = tree.leaves.first[leaf], tree.leaves.weight[leaf]
    following = tree.cells.next
    learn(model.pool, model.common, leaf, first, following, cell, X, i, w, total, work)
    return False


def _grown(group: Any, n: int) -> Any:
    """A `LowRank` or `LeafShared` with capacity for n; the signs have no entry for each class."""
    more = {name: grown(getattr(group, name), n) for name in group._fields if name != "signs"}
    return group._replace(**more)


def _bytes_of_one(group: Any) -> int:
    return row_bytes(*(getattr(group, name) for name in group._fields if name != "signs"))


class LowRankModel(LeafModel):
    """Leaf model of `LowRankLeaves`."""

    title = "low-rank"
    arrays = LowRankLeaves
    make_workspace = staticmethod(_make_workspace)
    score = staticmethod(_score)
    log_density = staticmethod(_log_density)
    learn = staticmethod(_learn)

    def new(self, options: Options, n_columns: int) -> LowRankLeaves:
        """Return arrays for two classes and one leaf."""
        pool = new_low_rank(2, options.n_numeric, n_columns - options.n_numeric)
        return LowRankLeaves(pool, new_common(1, pool))

    def reserve_leaves(self, state: State, n: int) -> None:
        """Reserve n leaves."""
        state.model = state.model._replace(common=_grown(state.model.common, n))

    def reserve_cells(self, state: State, n: int) -> None:
        """Reserve n classes."""
        state.model = state.model._replace(pool=_grown(state.model.pool, n))

    def bytes_of_leaf(self, state: State) -> int:
        """Bytes that one more leaf takes."""
        return _bytes_of_one(state.model.common)

    def bytes_of_cell(self, state: State) -> int:
        """Bytes that one more class takes."""
        return _bytes_of_one(state.model.pool)

    def widen(self, state: State, n_more: int) -> None:
        """Add columns that no class knows; the signs of the others stay as they are."""
        pool, common = state.model
        a, rank = pool.signs.shape
        # The rank stays: sketches of another width could not be added to those that exist.
        fields = ("mean", "weight", "m2", "scale", "sketch", "factor", "share")
        wide = {name: wider(getattr(pool, name), n_more, a, 1) for name in fields}
        pool = pool._replace(**wide, signs=sign_matrix(a + n_more, rank))
        pool.head["lacks"] = 1
        common = common._replace(
            factor=wider(common.factor, n_more, a, 1),
            noise=wider(common.noise, n_more, a, fill=1.0),
            variance=wider(common.variance, n_more, a),
            squares=wider(common.squares, n_more, a),
            made=wider(common.made, n_more, a),
        )
        state.model = LowRankLeaves(pool, common)

    def add_indicators(self, state: State, siblings: Array) -> None:
        """Add 0/1 columns that were 0 so far: they have means and weights only, so it is exact."""
        pool = state.model.pool
        weight, head = column_weights(pool.weight, siblings), pool.head
        # The factor, and the log odds with it, were made when the class had less weight.
        ratio = np.divide(head.fresh, head.weight, out=np.zeros(len(head)), where=head.weight > 0.0)
        odds, zeros = odds_of_zeros(weight * ratio[:, None])
        head.constant[:] += np.where(head.fresh > 0.0, zeros.sum(axis=1), 0.0)
        pool = pool._replace(
            mean=np.hstack([pool.mean, np.zeros_like(weight)]),
            weight=np.hstack([pool.weight, weight]),
            odds=np.hstack([pool.odds, odds]),
        )
        state.model = state.model._replace(pool=pool)

    def inherit(
        self,
        state: State,
        parents: Array,
        children: Array,
        side: Side,
        conditional: ConditionalMoments | None,
    ) -> None:
        """Cut every class; with conditional moments, set the moments of its cell accordingly."""
        pool, tree, n = state.model.pool, state.tree, state.options.n_numeric
        work = make_workspace(pool)
        for parent, cell in zip(parents.tolist(), children.tolist(), strict=True):
            copy(pool, cell, pool, parent)
            if pool.weight[cell, side.feature] > 0.0:
                moments = None if conditional is None else conditional(parent)
                cut(pool, cell, side.feature, side.threshold, side.left, moments, work)
            weigh(pool, cell, max(tree.cells.weight[cell] / tree.cells.weight[parent], _TRACE))
            if conditional is not None:
                tree.stats[cell, MEAN] = pool.mean[cell]
                tree.stats[cell, M2, :n] = _variances(pool, cell) * seen(state, cell)

    def covariances_with(self, state: State, cell: int, feature: int) -> tuple[Array, Array]:
        """As estimated from the sketch of the class."""
        pool = state.model.pool
        if not pool.weight[cell, feature] > 0.0:
            return np.zeros(len(pool.m2[cell])), _variances(pool, cell)
        return covariances(pool, cell, feature, make_workspace(pool)), _variances(pool, cell)

    def refresh(self, state: State, leaf: int) -> None:
        """Renew what the classes of the leaf share, and their factors."""
        pool, common = state.model
        first, following = int(state.tree.leaves.first[leaf]), state.tree.cells.next
        refresh_leaf(pool, common, leaf, first, following, make_workspace(pool))

    def reset_leaf(self, state: State, leaf: int) -> None:
        """Forget when the factors were made, so that they are made at the next row."""
        state.model.common.fresh[leaf] = 0.0

    def release(self, state: State, cell: int) -> None:
        """Forget the class: the next class in the record starts empty."""
        clear(state.model.pool, cell)

    def copy_leaf(self, source: State, leaf: int, target: State, slot: int) -> None:
        """Copy what the classes of the leaf share."""
        for mine, theirs in zip(target.model.common, source.model.common, strict=True):
            mine[slot] = theirs[leaf]

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_proposals: bool
    ) -> None:
        """Copy the class."""
        copy(target.model.pool, new, source.model.pool, old)

    def merge(self, state: State, cell: int, other: State, other_cell: int) -> None:
        """Add the sketches, exactly where their scales are the same."""
        pool = state.model.pool
        merge(pool, cell, other.model.pool, other_cell, make_workspace(pool))

    def nbytes(self, state: State, leaf: int) -> int:
        """Classes, and what they share at the leaf; the signs are the model's."""
        pool, common = state.model
        shared = sum(array[:1].nbytes for array in common)
        return int(shared + class_bytes(pool) * state.tree.leaves.n_cells[leaf])


def _variances(pool: LowRank, cell: int) -> Array:
    """Variance of each numeric column of a class, 0 where it has no value."""
    weight = pool.weight[cell, : pool.m2.shape[1]]
    return per(pool.m2[cell], weight)


LOW_RANK = register(LowRankModel())
