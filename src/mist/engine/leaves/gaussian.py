"""Gaussian naive Bayes leaves (MIST-G), and the base of all leaves with independent columns.

The tree keeps the moments and the cached precisions. The cache of a cell is renewed when the cell
learns. The caches of all cells of a leaf are renewed at each of the first 256 rows of the leaf, and
later each time it has grown by a 256th.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mist.engine import joint
from mist.engine.compiled import exact, inlined
from mist.engine.leafmodel import ConditionalMoments, LeafModel, Side, register
from mist.engine.marginal import less_constants
from mist.engine.moments import (
    FLOOR,
    gaussian_score,
    gaussian_score_missing,
    refresh_cell,
    refresh_leaf,
)
from mist.engine.state import EPOCH, M2, MEAN, PREC, State

Array = np.ndarray[Any, Any]

_REFRESH_EVERY = 256


class NaiveBayes(NamedTuple):
    """Nothing: the tree keeps the moments."""


@inlined
def renew_caches(tree, observed, options, leaf, cell, numeric_norm):
    """Renew the cache of a cell that has learnt a row, or of all cells of the leaf if due."""
    leaves = tree.leaves
    leaves.n_updates[leaf] += 1
    n_updates = leaves.n_updates[leaf]
    # A column that has varied at last (a new epoch) outdates the caches of every leaf.
    if n_updates == leaves.refresh_at[leaf] or leaves.epoch[leaf] != tree.counters[EPOCH]:
        refresh_leaf(tree, observed, options, leaf, numeric_norm)
        leaves.refresh_at[leaf] = n_updates + 1 + n_updates // _REFRESH_EVERY
    else:
        refresh_cell(tree, observed, options, leaf, cell, numeric_norm)


class IndependentColumns(LeafModel):
    """Base of leaf models that use the tree's cached precisions and products of deviations."""

    uses_products = True
    adds_up = True
    numeric_norm: ClassVar[bool]
    """Whether the normaliser counts the numeric columns."""

    def inherit(
        self,
        state: State,
        parents: Array,
        children: Array,
        side: Side,
        conditional: ConditionalMoments | None,
    ) -> None:
        """With conditional moments, change the moments of all columns with the split column."""
        if conditional is not None:
            for parent, cell in zip(parents.tolist(), children.tolist(), strict=True):
                joint.follow(state, parent, cell, side, conditional(parent))

    def covariances_with(self, state: State, cell: int, feature: int) -> tuple[Array, Array]:
        """From the products of deviations; without them columns are taken as independent."""
        if not state.options.products:
            return super().covariances_with(state, cell, feature)
        S = joint.class_covariance(state, cell)
        return S[:, feature], np.diag(S)

    def refresh(self, state: State, leaf: int) -> None:
        """Renew the caches of all cells."""
        refresh_leaf(state.tree, state.observed, state.options, leaf, self.numeric_norm)


@inlined
def naive_bayes_score(
    model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need
):
    """Score of a cell by its moments. Parameters as in `mist.engine.leafmodel`."""
    cells, stats = tree.cells, tree.stats
    if has_nan is None:
        return gaussian_score(cells, stats, cell, X, i, options.n_numeric) + extra
    return gaussian_score_missing(cells, stats, observed, cell, X, i, options.n_numeric) + extra


@inlined
def _log_density(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work):
    """Log density by the moments. Parameters as in `mist.engine.leafmodel`."""
    density = naive_bayes_score(
        model, tree, observed, sketch, has_nan, options, leaf, cell, row, 0, work, 0.0, 0.0
    )
    density -= math.log(tree.cells.mass[cell] + 1.0)  # the prior, which the score contains
    density = less_constants(density, tree, row, options.n_numeric)
    if tree.leaves.epoch[leaf] != tree.counters[EPOCH]:
        density += _late_columns(tree, observed, cell, row, options.n_numeric)
    return density


@exact
def _late_columns(tree, observed, cell, row, n_numeric):
    """Log density of the columns that have varied only since the cell's precisions were cached.

    Constants with pi are left to `less_constants`.
    """
    stats, scale = tree.stats, tree.scale
    total = 0.0
    for j in range(n_numeric):
        if stats[cell, PREC, j] != 0.0 or scale[M2, j] == 0.0 or row[0, j] != row[0, j]:
            continue
        weight = tree.nodes.mass[0] if observed is None else observed.scale[j]
        variance, away = scale[M2, j] / weight, 1.0
        # A class with values has only the floor of the variance; one without any has the variance
        # over all rows, and the deviation that it expects.
        if observed is None or observed.cell[cell, j] > 0.0:
            variance *= FLOOR
            t = row[0, j] - stats[cell, MEAN, j]
            away = t * t / variance
        total -= 0.5 * (math.log(variance) + away)
    return total


@inlined
def _learn(model, tree, observed, options, leaf, cell, X, i, w, work):
    """Renew caches. Parameters as in `mist.engine.leafmodel`."""
    renew_caches(tree, observed, options, leaf, cell, True)
    return False


class GaussianModel(IndependentColumns):
    """Leaf model of `NaiveBayes`."""

    title = "gaussian"
    arrays = NaiveBayes
    numeric_norm = True
    score = staticmethod(naive_bayes_score)
    log_density = staticmethod(_log_density)
    learn = staticmethod(_learn)


GAUSSIAN = register(GaussianModel())
