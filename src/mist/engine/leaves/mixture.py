"""Leaves with a Gaussian mixture for each class, or with one Gaussian ("full").

The computations are in `mist.engine.gaussian_mixtures` (single rows), in
`mist.engine.mixture_upkeep` (rare work), `mist.engine.gaussians` (densities) and
`mist.engine.reduction` (merging).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mist.engine import mixture_upkeep, moments, nearest_components, reduction
from mist.engine.arrays import grown, wider
from mist.engine.budget import row_bytes
from mist.engine.capacity import reserve_cells
from mist.engine.compiled import allocating, inlined
from mist.engine.gaussian_mixtures import (
    NOT_POOLED,
    Mixture,
    MixtureObserved,
    growth_of,
    has_capacity_for_component,
    learn_mixture,
    make_workspace,
    mixture_score,
    mixture_score_missing,
    new_component,
    new_mixture,
)
from mist.engine.gaussians import (
    Gaussians,
    GaussiansObserved,
    is_complete,
    new_observed,
    odds_of_zeros,
)
from mist.engine.indicators import column_weights
from mist.engine.leafmodel import ConditionalMoments, LeafModel, Side, register
from mist.engine.marginal import less_constants
from mist.engine.mixture_trials import take_proposal
from mist.engine.state import M2, MEAN, Options, State, append_cells, leaf_cells, packed_size

Array = np.ndarray[Any, Any]

_HUGE = 1e300
_OF_COMPONENT = ("mass", "log_mass", "zeros", "constant", "tried")


@allocating
def _make_workspace(model, options):
    return make_workspace(model)


@inlined
def _density(model, observed, has_nan, leaf, cell, X, i, work, need):
    """Log density of a row, up to a term that all classes share.

    Parameters as in `mist.engine.leafmodel`.
    """
    if has_nan is None:
        return mixture_score(model, cell, X, i, work.row, need)
    return mixture_score_missing(model, observed, is_complete(X, i), leaf, cell, X, i, work, need)


@inlined
def _score(model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need):
    """Score of a cell. Parameters as in `mist.engine.leafmodel`."""
    # `need` is a bound of the score; without the prior it is one of the density.
    prior = math.log(tree.cells.mass[cell] + 1.0) + extra
    score = prior + _density(model, observed, has_nan, leaf, cell, X, i, work, need - prior)
    return score if score > -_HUGE else -_HUGE


@inlined
def _log_density(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work):
    """Log density of a row. Parameters as in `mist.engine.leafmodel`."""
    density = _density(model, observed, has_nan, leaf, cell, row, 0, work, -math.inf)
    return less_constants(density, tree, row, options.n_numeric)


@inlined
def _learn(model, tree, observed, options, leaf, cell, X, i, w, work):
    """Learn a row. Parameters as in `mist.engine.leafmodel`."""
    return learn_mixture(tree, model, observed, leaf, cell, X, i, w, work)


class MixtureModel(LeafModel):
    """Leaf model of `Mixture`."""

    arrays = Mixture
    per_leaf = ("pooled", "fresh")
    per_cell = ("cells",)
    most_columns = 1024  # 4 MB a component at this limit
    make_workspace = staticmethod(_make_workspace)
    has_capacity = staticmethod(has_capacity_for_component)
    score = staticmethod(_score)
    log_density = staticmethod(_log_density)
    learn = staticmethod(_learn)

    def name(self, model: Mixture) -> str:
        """Name of the leaves in the public API."""
        return "mixture" if model.growth.most > 1 else "full"

    def new(self, options: Options, n_columns: int) -> Mixture:
        """Return a mixture without components."""
        a = options.n_numeric
        return new_mixture(growth_of(a, a, options.max_components), n_columns)

    def copy_settings(self, state: State, other: State) -> None:
        """Count the same columns as known: pace and size of trials depend on their number."""
        state.model = state.model._replace(growth=other.model.growth)

    def observed(self, state: State) -> MixtureObserved:
        """Column weights of the components: so far, each is the weight of all rows."""
        mixture, a = state.model, state.options.n_numeric
        own, candidates = (
            new_observed(pool.head, a, state.n_features - a)
            for pool in (mixture.own, mixture.candidates)
        )
        return MixtureObserved(own, candidates, np.repeat(mixture.fresh[:, None], a, axis=1))

    def reserve_leaves(self, state: State, n: int) -> None:
        """Reserve n leaves."""
        super().reserve_leaves(state, n)
        if state.observed is not None:
            seen = state.observed.model
            seen = seen._replace(pooled=grown(seen.pooled, n))
            state.observed = state.observed._replace(model=seen)

    def reserve_cells(self, state: State, n: int) -> None:
        """Reserve n cells."""
        before = len(state.model.cells)
        super().reserve_cells(state, n)
        # New entries are zeros, but a cell without components has -1.
        state.model.cells.first[before:] = -1

    def reserve_row(self, state: State) -> None:
        """Reserve one more component."""
        mixture_upkeep.reserve_components(state, 1)

    def widen(self, state: State, n_more: int) -> None:
        """Add columns that no component knows."""
        # Packed row after row, so that entries of further columns go at the end.
        mixture, observed, at = state.model, state.observed, state.options.n_numeric
        assert observed is not None
        more = packed_size(at + n_more) - packed_size(at)

        def longer(array: Array) -> Array:
            return wider(array, more, packed_size(at))

        def pool(gaussians: Gaussians) -> Gaussians:
            return gaussians._replace(
                mean=wider(gaussians.mean, n_more, at),
                m2=longer(gaussians.m2),
                factor=longer(gaussians.factor),
            )

        def known(seen: GaussiansObserved) -> GaussiansObserved:
            return seen._replace(
                weight=wider(seen.weight, n_more, at),
                made=wider(seen.made, n_more, at),
                variance=wider(seen.variance, n_more, at),
                uneven=np.ones_like(seen.uneven),
            )

        state.model = mixture._replace(
            own=pool(mixture.own),
            factor=longer(mixture.factor),
            pooled=longer(mixture.pooled),
            candidates=pool(mixture.candidates),
            growth=mixture.growth._replace(n_numeric=at + n_more),
        )
        seen = observed.model
        wide = MixtureObserved(
            known(seen.own), known(seen.candidates), wider(seen.pooled, n_more, at)
        )
        state.observed = observed._replace(model=wide)

    def add_indicators(self, state: State, siblings: Array) -> None:
        """Add 0/1 columns that were 0 so far to all components and candidates."""
        mixture, seen = state.model, None if state.observed is None else state.observed.model
        owner, of_proposal = _owners(mixture)
        each = 2 * mixture.growth.pairs + 1
        own, own_seen, zeros = _with_zeros(mixture.own, seen and seen.own, siblings[owner])
        candidates, candidates_seen, _ = _with_zeros(
            mixture.candidates, seen and seen.candidates, siblings[np.repeat(of_proposal, each)]
        )
        mixture.components.zeros[:] += zeros
        mixture.components.constant[:] += zeros
        state.model = mixture._replace(own=own, candidates=candidates)
        if state.observed is not None and seen is not None:
            wide = seen._replace(own=own_seen, candidates=candidates_seen)
            state.observed = state.observed._replace(model=wide)

    def before_batch(self, state: State, X: Array, weights: Array) -> int:
        """Number of rows until another column has its first value."""
        return mixture_upkeep.count_known_columns(state, X, weights)

    def on_cell_due(self, state: State, cell: int) -> None:
        """Divide components, or propose new pairs."""
        mixture_upkeep.on_cell_due(state, cell)

    def inherit(
        self,
        state: State,
        parents: Array,
        children: Array,
        side: Side,
        conditional: ConditionalMoments | None,
    ) -> None:
        """Cut every component; with conditional moments, make moments and components agree."""
        mixture_upkeep.inherit(state, parents, children, side, conditional)
        if conditional is not None:
            for parent, cell in zip(parents.tolist(), children.tolist(), strict=True):
                _follow_components(state, parent, cell)

    def covariances_with(self, state: State, cell: int, feature: int) -> tuple[Array, Array]:
        """Covariances of all components together."""
        return mixture_upkeep.overall_covariances(state, cell, feature)

    def refresh(self, state: State, leaf: int) -> None:
        """Renew the pooled covariance and all factors."""
        mixture_upkeep.pool(state, leaf)

    def reset_leaf(self, state: State, leaf: int) -> None:
        """Forget when the covariance was pooled, so that it is pooled at the next row."""
        state.model.fresh[leaf] = 0.0
        if state.observed is not None:
            state.observed.model.pooled[leaf] = 0.0

    def release(self, state: State, cell: int) -> None:
        """Put the components on the free list."""
        mixture_upkeep.release(state.model, cell)

    def copy_leaf(self, source: State, leaf: int, target: State, slot: int) -> None:
        """Copy the pooled covariance."""
        super().copy_leaf(source, leaf, target, slot)
        if target.observed is not None:
            assert source.observed is not None
            target.observed.model.pooled[slot] = source.observed.model.pooled[leaf]

    def copy_cell(
        self, source: State, old: int, target: State, new: int, *, with_proposals: bool
    ) -> None:
        """Copy the components, with their trials if ``with_proposals``."""
        theirs = source.model
        olds = mixture_upkeep.components_of(theirs, old)
        mixture_upkeep.reserve_components(target, len(olds))
        for component in olds:
            child = int(new_component(target.model, new))
            _copy_component(source, component, target, child)
            if with_proposals and theirs.components.proposal[component] >= 0:
                _copy_proposal(source, component, target, child)
        if olds:
            target.model.cells.total[new] = theirs.cells.total[old]
            target.model.cells.log_total[new] = theirs.cells.log_total[old]

    def fork_state(self, state: State, out: State, share: float) -> None:
        """Let a fork begin with a share of every mixture.

        Once values are missing, it begins without components. A fork predicts nothing, so it need
        not pool covariances.
        """
        growth = out.model.growth._replace(pool_always=NOT_POOLED)
        out.model = out.model._replace(growth=growth)
        if share > 0.0 and out.model.growth.most > 1 and state.observed is None:
            out.carried = {}
            for leaf in np.flatnonzero(state.tree.leaves.prior_only[: len(out.tree.leaves)] == 0):
                self._fork_leaf(state, out, int(leaf), share)
        # No leaf outgrows this weight, so its growth never makes the pooled covariance stale.
        out.model.fresh[:] = np.inf

    def _fork_leaf(self, state: State, out: State, leaf: int, share: float) -> None:
        """Give a leaf of a fork its share of the mixtures, and record it in ``out.carried``."""
        assert out.carried is not None
        olds = leaf_cells(state.tree, leaf)
        reserve_cells(out, len(olds))
        codes = state.tree.cells.code[olds]
        news = append_cells(out.tree, leaf, codes)
        for code, old, new in zip(codes.tolist(), olds.tolist(), news.tolist(), strict=True):
            self.copy_cell(state, old, out, new, with_proposals=False)
            mixture_upkeep.scale_components(out, new, share, share)
            parts = reduction.parts_of(out, new)
            out.carried[leaf, code] = np.array([parts.masses, parts.weights])
        # Factors need the variances of the class. They are set for the refresh only, since the
        # moments of the fork must be those of its own rows.
        out.tree.stats[news] = state.tree.stats[olds]
        out.tree.cells.weight[news] = state.tree.cells.weight[olds]
        self.refresh(out, leaf)
        out.tree.stats[news] = 0.0
        out.tree.cells.weight[news] = 0.0

    def merge(self, state: State, cell: int, other: State, other_cell: int) -> None:
        """Join components of both models until the class has no more than allowed."""
        reduction.merge_components(state, cell, other, other_cell)

    def bytes_of_leaf(self, state: State) -> int:
        """Bytes that one more leaf takes."""
        seen = 0 if state.observed is None else row_bytes(state.observed.model.pooled)
        return super().bytes_of_leaf(state) + seen

    def bytes_for_row(self, state: State) -> int:
        """Bytes of a component, unless one is free."""
        if has_capacity_for_component(state.model):
            return 0
        return mixture_upkeep.bytes_of_component(state)

    def bytes_to_split(self, state: State, leaf: int) -> int:
        """Bytes of the components of both children, which inherit before their parent gives up."""
        n = int(state.model.cells.n[leaf_cells(state.tree, leaf)].sum())
        lacking = 2 * n - mixture_upkeep.free_components(state.model)
        return max(0, lacking) * mixture_upkeep.bytes_of_component(state)

    def bytes_spare(self, state: State) -> int:
        """Bytes of free components, but for the one that must be free before a row is learnt."""
        free = max(0, mixture_upkeep.free_components(state.model) - 1)
        return free * mixture_upkeep.bytes_of_component(state)

    def bytes_of_trials(self, state: State) -> int:
        """Bytes of all trials, free ones included."""
        return len(state.model.free) * mixture_upkeep.bytes_of_trial(state)

    def reserve_as(self, state: State, source: State) -> None:
        """Reserve the components and trials of another state, and one free component."""
        theirs = source.model
        n = len(theirs.components) - mixture_upkeep.free_components(theirs)
        mixture_upkeep.reserve_components(state, n + 1)
        trials = len(mixture_upkeep.components_with_trial(theirs))
        mixture_upkeep.reserve_proposals(state, trials)

    def reserve_least(self, state: State, n_cells: int) -> None:
        """Reserve one component a cell, and the one that is free before a row is learnt."""
        mixture_upkeep.reserve_components(state, n_cells + 1)

    def end_trials(self, state: State, n_bytes: int) -> None:
        """End the trials with the least evidence."""
        mixture_upkeep.end_trials(state, n_bytes)

    def join_components(self, state: State, n_bytes: int) -> None:
        """Join pairs of components that lie nearest to each other."""
        n = -(-n_bytes // mixture_upkeep.bytes_of_component(state))
        for leaf in nearest_components.join_pairs(state, n):
            self.refresh(state, leaf)

    def nbytes(self, state: State, leaf: int) -> int:
        """Bytes of the leaf with its components and the candidates of their trials."""
        mixture, n = state.model, super().nbytes(state, leaf)
        component = mixture.components[:1].nbytes + mixture.factor[:1].nbytes
        component += sum(array[:1].nbytes for array in mixture.own)
        candidate = sum(array[:1].nbytes for array in mixture.candidates)
        if state.observed is not None:
            seen = state.observed.model
            n += seen.pooled[leaf].nbytes
            component += sum(array[:1].nbytes for array in seen.own)
            candidate += sum(array[:1].nbytes for array in seen.candidates)
        proposal = candidate * (2 * mixture.growth.pairs + 1) + mixture.evidence[:1].nbytes
        for cell in leaf_cells(state.tree, leaf).tolist():
            own = mixture_upkeep.components_of(mixture, cell)
            n += component * len(own)
            n += proposal * int(np.count_nonzero(mixture.components.proposal[own] >= 0))
        return n


def _follow_components(state: State, parent: int, cell: int) -> None:
    """Scale components to the mass and weight of their class, and set its moments to theirs."""
    tree = state.tree
    cells, n = tree.cells, state.options.n_numeric
    totals = state.model.cells.total
    mass = cells.mass[cell] / cells.mass[parent] * totals[parent] / totals[cell]
    evidence = cells.weight[cell] / cells.weight[parent] * totals[parent] / totals[cell]
    mixture_upkeep.scale_components(state, cell, mass, evidence)
    mean, variance = mixture_upkeep.overall_moments(state, cell)
    tree.stats[cell, MEAN] = mean
    tree.stats[cell, M2, :n] = variance * moments.seen(state, cell)


def _copy_component(source: State, component: int, target: State, child: int) -> None:
    """Copy a component, without its trial, to a new component of another state."""
    theirs, mixture = source.model, target.model
    for name in _OF_COMPONENT:
        mixture.components[name][child] = theirs.components[name][component]
    # Without its trial the component may still be resting.
    mixture.components.seen[child] = min(0.0, theirs.components.seen[component])
    for mine, other in zip(mixture.own, theirs.own, strict=True):
        mine[child] = other[component]
    mixture.factor[child] = theirs.factor[component]
    if target.observed is not None:
        assert source.observed is not None
        seen, known = target.observed.model.own, source.observed.model.own
        for mine, other in zip(seen, known, strict=True):
            mine[child] = other[component]


def _owners(mixture: Mixture) -> tuple[Array, Array]:
    """The cell of each component, and of each trial; 0 for free ones."""
    components = np.zeros(len(mixture.components), np.int64)
    proposals = np.zeros(len(mixture.free), np.int64)
    for cell in range(len(mixture.cells)):
        own = mixture_upkeep.components_of(mixture, cell)
        components[own] = cell
        of_own = mixture.components.proposal[own]
        proposals[of_own[of_own >= 0]] = cell
    return components, proposals


def _with_zeros(
    pool: Gaussians, seen: GaussiansObserved | None, siblings: Array
) -> tuple[Gaussians, GaussiansObserved | None, Array]:
    """A pool with 0/1 columns that were 0 so far.

    ``siblings`` has a row for each Gaussian. The third value is what is added to log probabilities
    of zeros.
    """
    head, made = pool.head, np.repeat(pool.head.fresh[:, None], siblings.shape[1], axis=1)
    if seen is not None:
        weight = column_weights(seen.weight, siblings)
        # The log odds were made when the Gaussian had less weight.
        made *= np.divide(
            weight, head.weight[:, None], out=np.zeros_like(weight), where=weight > 0.0
        )
        uneven = seen.uneven | (weight != head.weight[:, None]).any(axis=1)
        seen = seen._replace(weight=np.hstack([seen.weight, weight]), uneven=uneven)
    odds, zeros = odds_of_zeros(made)
    total = np.where(head.fresh > 0.0, zeros.sum(axis=1), 0.0)
    head.constant[:] += total
    mean = np.hstack([pool.mean, np.zeros_like(odds)])
    return pool._replace(mean=mean, odds=np.hstack([pool.odds, odds])), seen, total


def _copy_proposal(source: State, component: int, target: State, child: int) -> None:
    """Copy the trial of a component to the copy of the component."""
    theirs = source.model
    mixture_upkeep.reserve_proposals(target, 1)
    mixture = target.model
    there, here = int(theirs.components.proposal[component]), int(take_proposal(mixture, child))
    mixture.components.seen[child] = theirs.components.seen[component]
    mixture.components.due[child] = theirs.components.due[component]
    mixture.evidence[here] = theirs.evidence[there]
    each = 2 * mixture.growth.pairs + 1
    pools = [(mixture.candidates, theirs.candidates)]
    if target.observed is not None:
        assert source.observed is not None
        pools += [(target.observed.model.candidates, source.observed.model.candidates)]
    for mines, others in pools:
        for mine, other in zip(mines, others, strict=True):
            mine[here * each : (here + 1) * each] = other[there * each : (there + 1) * each]


class FullModel(MixtureModel):
    """Leaves "full": a mixture of one component."""

    def new(self, options: Options, n_columns: int) -> Mixture:
        """Return a mixture limited to one component."""
        return super().new(options._replace(max_components=1), n_columns)


# Both have the same arrays, so `kind_of` finds MIXTURE for either. They differ in `growth.most`.
MIXTURE, FULL = register(MixtureModel()), register(FullModel())
