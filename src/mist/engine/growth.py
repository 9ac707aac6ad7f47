"""Learning with growth: runs of the loop over rows, and split attempts between them.

`learn` runs the driver (`mist.engine.driver`) over a batch of rows. When it reports a leaf that is
due, `attempt` examines the leaf and splits it if the split test says so.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine import candidate_splits, thresholds
from mist.engine.capacity import reserve_observed
from mist.engine.conformity import count_masses, reserve_classes
from mist.engine.confseq import leaf_radius, noise
from mist.engine.criterion import best_splits, most_gain, radius, squared_scale
from mist.engine.driver import run_until_request, serve_request
from mist.engine.inheritance import bytes_to_split, split_leaf
from mist.engine.leafmodel import kind_of
from mist.engine.likelihood import LEAST_GAIN, likelihood_splits
from mist.engine.precision import routing_thresholds
from mist.engine.random import COLUMNS, uniform
from mist.engine.row_loops import CELL_DUE, NO_SHARES, first_missing, outputs_of, predict_rows
from mist.engine.state import N_LEARNT, N_LEAVES, NO_SCREEN, ScreenParams, State

Array = np.ndarray[Any, Any]

CONFSEQ = ("confseq", "confseq_independent")
"""Bounds that adapt to the variance of the gain and have no tie rule."""


_PATIENCE = 2
"""Multiple of `SplitRule.rows_per_split` after which other columns become candidate splits."""


class SplitRule(NamedTuple):
    """When a leaf splits, where, and what its children inherit: options of the public classes."""

    bound: str
    split_test: str
    rows_per_split: int
    max_features: float | None
    union_bound: bool
    criterion: str
    delta: float
    tie_threshold: float
    thresholds: str
    n_thresholds: int
    inheritance: str | None
    discount: float
    max_leaves: int | None


class Split(NamedTuple):
    """One split that was made.

    Attributes
    ----------
    node : int
        Node id that was a leaf before.
    feature : int
        Column index.
    threshold : float
        Values <= threshold go left.
    rows : float
        Weight observed at the leaf when it split.
    gain : float
        Gain of the split.
    radius : float
        Radius that its gain, or the gap, had to exceed.
    seen : int
        Rows that the model had learnt in all.
    """

    node: int
    feature: int
    threshold: float
    rows: float
    gain: float
    radius: float
    seen: int


def learn(
    state: State,
    rule: SplitRule,
    X: Array,
    codes: Array,
    weights: Array,
    complete: bool,
    ranks: Array,
    out: Array | None,
    shares: Array | None = None,
    guesses: Array | None = None,
    made: list[Split] | None = None,
) -> list[Split]:
    """Learn rows one after another; with ``out`` given, predict each before it is learnt.

    Parameters as in `mist.engine.row_loops.run`, and

    state, rule : State, SplitRule
        The model, which is changed in place, and its split rule.
    complete : bool
        Whether ``X`` is known to hold no NaN.
    made : list of Split or None
        Receives the splits as they are made.

    Returns
    -------
    list of Split
        ``made``, or a new list: the splits of this call, features in internal order.
    """
    splits = [] if made is None else made
    reserve_classes(state, len(ranks))
    screen = _screen_params(state, rule)
    # Set only if it differs: a part that is set costs a new handle.
    if screen != state.screen:
        state.screen = screen
    row, n = 0, len(X)
    eprocess = rule.split_test == "eprocess"
    notes = candidate_splits.new_notes(n if eprocess else 0)
    if not eprocess:
        state.candidate_splits.clear()
    while row < n:
        # Until a NaN is learnt there are no column weights, and rows without NaN go through code
        # without missing values: `end` is the first row with a NaN.
        end = n
        if state.observed is None and not complete:
            hole = first_missing(X, row)
            if hole == row and weights[row] == 0:
                # A row of weight 0 is not learnt, so it is no reason to start column weights.
                if out is not None:
                    _predict_one(state, row, X, ranks, out, shares)
                row += 1
                continue
            if hole == row:
                reserve_observed(state)
                if state.budget is not None:
                    state.budget.make_room(state)
            elif hole > row:
                end = hole
        if state.observed is not None:
            with state.changing():
                end = row + kind_of(state.model).before_batch(state, X[row:end], weights[row:end])
        # The loop returns at each request; `row` is the first row that is not learnt yet.
        while row < end:
            first = row
            row, leaf = run_until_request(
                state,
                X[:end],
                codes,
                weights,
                row,
                ranks,
                outputs_of(out, shares, guesses, notes if state.candidate_splits else None),
            )
            if state.candidate_splits:
                with state.changing():
                    candidate_splits.follow(state, X, codes, weights, ranks, notes, first, row)
            grow(state, rule, leaf, splits)
    return splits


def _screen_params(state: State, rule: SplitRule) -> ScreenParams:
    """Parameters of the split screen; `NO_SCREEN` for rules that it does not cover."""
    by_class = _tests_by_class(rule)
    if not (
        rule.split_test == "gap"
        and rule.criterion == "gini"
        and rule.bound not in CONFSEQ
        and rule.max_features is None
        and by_class
    ):
        return NO_SCREEN
    union = rule.bound == "mcdiarmid" and rule.union_bound
    return ScreenParams(
        squared_scale(rule.bound),
        float(2 * state.n_features if union else 1),
        union,
        float(rule.delta),
        float(rule.tie_threshold),
    )


def grow(state: State, rule: SplitRule, leaf: int, splits: list[Split]) -> None:
    """Attempt to split a leaf, unless it is -1; a split that was made is put into the list."""
    if leaf < 0:
        return
    with state.changing():
        made = attempt(state, rule, leaf)
        # A split changes the class masses: some are discounted or too small to be inherited.
        if made and state.conformity is not None:
            count_masses(state.tree, state.conformity.held)
        splits += [made] if made else []
        # Sketches of the children may have taken more than was found for the split.
        if made and state.budget is not None:
            state.budget.make_room(state)


def follow_up(state: State, rule: SplitRule, reason: int, detail: int, splits: list[Split]) -> None:
    """Serve the request that the loop returned for a row, unless another thread has done it since.

    Parameters
    ----------
    state, rule : State, SplitRule
        The model, which is changed in place, and its split rule.
    reason, detail : int
        As the loop returned them: `CELL_DUE` and a cell, or `ATTEMPT` and a leaf.
    splits : list of Split
        Receives a split that was made.
    """
    tree = state.tree
    if reason == CELL_DUE:
        outdated = tree.cells.leaf[detail] < 0
    else:
        tried = math.floor(tree.leaves.weight_seen[detail] / state.options.grace_period)
        outdated = tried <= tree.leaves.tried[detail]
    if not outdated:
        grow(state, rule, serve_request(state, reason, detail), splits)


def split_where_due(state: State, rule: SplitRule, splits: list[Split]) -> None:
    """Attempt to split every leaf whose rows have passed a multiple of the grace period.

    Each leaf is examined once, however many multiples it has passed: what a merge has added counts
    as one batch of evidence. Splits that were made are put into the list.
    """
    leaves = state.tree.leaves
    for leaf in range(int(state.tree.counters[N_LEAVES])):
        if leaves.weight_seen[leaf] // state.options.grace_period > leaves.tried[leaf]:
            grow(state, rule, leaf, splits)
            leaves = state.tree.leaves


def _predict_one(
    state: State, row: int, X: Array, ranks: Array, out: Array, shares: Array | None
) -> None:
    """Predict one row that may have missing values."""
    here = slice(row, row + 1)
    given = NO_SHARES if shares is None else shares[here]
    state.handle.call(predict_rows, X[here], ranks, out[here], given, True)


def attempt(state: State, rule: SplitRule, leaf: int) -> Split | None:
    """Examine a leaf and split it if the test says so (Algorithm 1, GapTest).

    The steps go from cheap to costly: most attempts end before any gain is computed.
    """
    tree, leaves = state.tree, state.tree.leaves
    rows = float(leaves["weight_seen"][leaf])
    leaves["tried"][leaf] = int(rows // state.options.grace_period)
    if rule.max_leaves is not None and tree.counters[N_LEAVES] >= rule.max_leaves:
        state.candidate_splits.pop(leaf, None)
        return None
    # Candidate splits: one of them wins, or they stay until their time is over.
    if leaf in state.candidate_splits:
        made = _end_of_candidates(state, rule, leaf)
        if made or rows - state.candidate_splits[leaf].opened < _PATIENCE * rule.rows_per_split:
            return made
    eprocess = rule.split_test == "eprocess"
    scheduled = rule.split_test == "schedule"
    if scheduled and rows < rule.rows_per_split:
        return None
    if state.budget is not None and not state.budget.could_find(state, bytes_to_split(state, leaf)):
        return None
    cells = thresholds.observed_cells(tree, leaf)
    if cells.size < 2:
        return None
    entropy = True if rule.criterion == "info_gain" else None
    by_likelihood = rule.criterion == "likelihood"
    eps, tie = _least_demand(state, rule, rows, cells)
    # No gain, and so no gap, exceeds `most_gain`. With missing values the bound is not used.
    if (
        not (tie or by_likelihood)
        and state.observed is None
        and most_gain(tree, cells, entropy) < eps
    ):
        return None
    candidates = _candidates(state, rule, leaf, cells)
    if state.options.single and state.sketch is not None:
        candidates = routing_thresholds(candidates)
    # `places` are thresholds; both arrays are written in full below.
    gains, places = np.empty(state.n_features), np.empty(state.n_features)
    allowed = _allowed_columns(state, rule, leaf)
    if by_likelihood:
        best, second = likelihood_splits(state, cells, candidates, allowed, gains, places), 0.0
    else:
        best, second = best_splits(
            tree,
            state.observed,
            state.sketch,
            cells,
            candidates,
            entropy,
            scheduled or eprocess,
            allowed,
            gains,
            places,
        )
    if eprocess:
        candidate_splits.open_candidates(
            state, leaf, gains, places, rule.inheritance, rule.discount
        )
        return None
    _remember(leaves, leaf, gains, places, best)
    if best < 0:
        return None
    gap = rule.split_test == "gap"
    if rule.bound in CONFSEQ and not scheduled:
        eps = leaf_radius(
            tree,
            state.observed,
            state.sketch,
            cells,
            state.options.n_numeric,
            gains,
            places,
            best,
            second,
            _log_term(state, rule, cells),
            gap,
            rule.bound == "confseq_independent",
        )
    statistic = gains[best] - second if gap else gains[best]
    if not (statistic > eps or tie):
        return None
    if state.budget is not None and not state.budget.find_room(state, bytes_to_split(state, leaf)):
        return None
    made = Split(
        node=int(leaves["node"][leaf]),
        feature=best,
        threshold=float(places[best]),
        rows=rows,
        gain=float(gains[best]),
        radius=eps,
        seen=int(tree.counters[N_LEARNT]),
    )
    split_leaf(state, leaf, best, made.threshold, rule.inheritance, rule.discount)
    return made


def _remember(leaves: Any, leaf: int, gains: Array, places: Array, best: int) -> None:
    """Keep the two columns that gained most, for the split screen of the next attempt."""
    others = np.where(np.arange(len(gains)) == best, 0.0, gains)
    second = int(np.argmax(others))
    known = others[second] > 0.0
    leaves["best"][leaf], leaves["second"][leaf] = (best, second) if known else (-1, -1)
    if known:
        leaves["best_at"][leaf], leaves["second_at"][leaf] = places[[best, second]]


def _end_of_candidates(state: State, rule: SplitRule, leaf: int) -> Split | None:
    """Split a leaf as the candidate split that has won, if there is one."""
    candidate = candidate_splits.winner(state.candidate_splits[leaf], rule.delta)
    if candidate is None:
        return None
    leaves, nodes = state.tree.leaves, candidate.state.tree.nodes
    made = Split(
        node=int(leaves["node"][leaf]),
        feature=int(nodes.feature[0]),
        threshold=float(nodes.threshold[0]),
        rows=float(leaves["weight_seen"][leaf]),
        gain=candidate.gain,
        radius=0.0,
        seen=int(state.tree.counters[N_LEARNT]),
    )
    candidate_splits.promote(state, leaf, candidate)
    return made


def _least_demand(state: State, rule: SplitRule, rows: float, cells: Array) -> tuple[float, bool]:
    """Least radius of a leaf, and whether any positive gain suffices (the tie rule)."""
    if rule.split_test in ("schedule", "eprocess"):
        least = LEAST_GAIN if rule.criterion == "likelihood" else 0.0
        return least, least == 0.0
    if rule.bound in CONFSEQ:
        # The part of the radius that does not depend on the column.
        counts = state.tree.cells.count[cells]
        return float(noise(counts.sum(), counts, _log_term(state, rule, cells))), False
    eps = radius(
        rule.bound,
        rows,
        rule.delta,
        n_features=state.n_features,
        n_thresholds=_n_thresholds(rule, cells),
        n_classes=cells.size,
        union_bound=rule.union_bound,
        entropy=True if rule.criterion == "info_gain" else None,
    )
    return eps, eps < rule.tie_threshold


def _n_thresholds(rule: SplitRule, cells: Array) -> int:
    """Number of candidate thresholds of a column."""
    return cells.size - 1 if _tests_by_class(rule) else rule.n_thresholds


def _tests_by_class(rule: SplitRule) -> bool:
    """Whether the candidates of a column lie between the centres of the classes."""
    return rule.thresholds in ("medians", "gaussian")


def _log_term(state: State, rule: SplitRule, cells: Array) -> float:
    """Logarithm of the number of splits that are tested, over delta."""
    tests = state.n_features * _n_thresholds(rule, cells) if rule.union_bound else 1
    return math.log(tests / rule.delta)


def _allowed_columns(state: State, rule: SplitRule, leaf: int) -> Array:
    """Columns that this attempt may split on: all, or a random part of them; shape (d,)."""
    d = state.n_features
    if rule.max_features is None:
        return np.ones(d, dtype=np.bool_)
    node, tried = state.tree.leaves.node[leaf], state.tree.leaves.tried[leaf]
    drawn = [uniform(state.options.seed, COLUMNS, node, tried, j) for j in range(d)]
    allowed = np.zeros(d, dtype=np.bool_)
    allowed[np.argsort(drawn)[: math.ceil(rule.max_features * d)]] = True
    return allowed


def _candidates(state: State, rule: SplitRule, leaf: int, cells: Array) -> Array:
    """Candidate thresholds of the numeric columns, shape (m, n_numeric)."""
    n_numeric = state.options.n_numeric
    if n_numeric == 0:
        return np.empty((1, 0))
    if rule.thresholds == "dense":
        return thresholds.dense_grid(state.tree, state.sketch, cells, rule.n_thresholds)
    if rule.thresholds == "sampled":
        node, tried = state.tree.leaves.node[leaf], state.tree.leaves.tried[leaf]
        seed = state.options.seed
        m = rule.n_thresholds
        return thresholds.sampled(state.tree, state.sketch, cells, m, seed, node, tried)
    return thresholds.median_candidates(state.tree, state.observed, state.sketch, cells, n_numeric)
