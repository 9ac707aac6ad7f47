"""The loops over rows: route, predict, score and learn.

`run` learns rows and may predict each one first. `predict_rows`, `write_densities` and
`write_scores` only read the model. Each of them makes its scratch arrays, loads the parts of the
state from an address and passes them to an inlined loop (``_run``, ``_predict_rows``, ...).

The functions below share these parameters:

tree, observed, sketch, model, options, conformity, screen
    Parts of a `mist.engine.state.State`; ``observed``, ``sketch`` and ``conformity`` are None
    where the state has none.
has_nan : object or None
    None if no missing value can matter, neither in the rows nor in what was learnt. Only the test
    for None counts.
leaf, cell : int
    Indices in ``tree.leaves`` and ``tree.cells``.
X, i : float64 array, shape (n, d), and int
    Rows in internal column order, and the index of the row at hand.
scratch : Scratch
    Scratch arrays for one row.
work
    Workspace of the leaf model, see `mist.engine.leafmodel.LeafModel.make_workspace`.
screen_work : mist.engine.split_screen.ScreenWorkspace
    Workspace of the split screen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine import kll
from mist.engine.compiled import allocating, exact, inlined
from mist.engine.conformity import MATURE, count_masses, remember
from mist.engine.handle import parts_of
from mist.engine.leafmodel import (
    has_capacity,
    learn,
    log_density,
    make_workspace,
    prepare,
    score,
    sorted_columns_of,
)
from mist.engine.marginal import overall_density, settle
from mist.engine.moments import learn_moments, learn_products, learn_scale
from mist.engine.random import COPIES, uniform
from mist.engine.split_screen import cannot_split, screen_workspace
from mist.engine.state import (
    FREE_CELL,
    N_LEARNT,
    detach_cells,
    find_cell,
    has_capacity_for_cell,
    new_cell,
)

DONE, FULL_CELLS, FULL_ITEMS, ATTEMPT, CELL_DUE = range(5)
"""Why `run` returned: all rows are done, an array is full, a leaf is due for a split attempt, or
the leaf model asked for work on a cell.

With `FULL_CELLS` and `FULL_ITEMS` the row is not learnt, and the model is as it was before the row.
With `ATTEMPT` and `CELL_DUE` the row is learnt."""


class Notes(NamedTuple):
    """What `run` records of every row, so that a copy of a leaf can learn the rows of the leaf."""

    leaf: Any  # int64 (n,): the leaf that the row reached; -1 if it was not learnt
    chance: Any  # float64 (n,): the probability given to its class before it was learnt
    only: int  # -1: ``leaf`` is written; else it is read, and rows of other leaves are skipped


class Outputs(NamedTuple):
    """What `run` does with every row before it learns it. Empty arrays stand for what is not asked.

    They have the same types then, so that one compiled function does whatever is asked. Only for
    rows that are merely learnt there is another one.
    """

    out: Any  # int64 (n,): receives the predicted class codes, -1 where nothing was known
    shares: Any  # float64 (n, n_codes) of zeros: receives the probabilities, in order of the ranks
    # int64 (n,): class code that is likely to win, -1 without one, `NOT_ASKED` if the row need not
    # be predicted. With guesses, classes far below the best have probability 0.
    guesses: Any
    notes: Notes  # receives a record of each row, or says which rows are skipped


NO_CODES, NO_SHARES = np.zeros(0, np.int64), np.zeros((0, 0))
NO_NOTES = Notes(NO_CODES, np.zeros(0), -1)


def outputs_of(
    out: Any = None, shares: Any = None, guesses: Any = None, notes: Notes | None = None
) -> Outputs | None:
    """Outputs of `run`, with empty arrays in place of None; None if nothing is asked for."""
    if out is None and notes is None:
        return None
    return Outputs(
        NO_CODES if out is None else out,
        NO_SHARES if shares is None else shares,
        NO_CODES if guesses is None else guesses,
        NO_NOTES if notes is None else notes,
    )


class Scratch(NamedTuple):
    """Scratch arrays for one row."""

    scores: Any  # float64 (n_codes,)
    parts: Any  # float64 (n_codes,)
    codes: Any  # int64 (n_codes,)
    row: Any  # float64 (1, d)


@allocating
def _make_scratch(n_codes, n_columns):
    return Scratch(
        np.empty(n_codes), np.empty(n_codes), np.empty(n_codes, np.int64), np.empty((1, n_columns))
    )


_NEARLY_TIED = 1e-9
"""Scores that differ by less are compared as probabilities."""

NOT_ASKED = -2
"""Guess for a row that need not be predicted."""

SLACK = 14.0
"""If guesses are given, scores this much below the best need not be exact."""

_HOPELESS = 13.0
"""Classes this much below the best then have probability 0, exact or not: so guesses, which may
depend on how rows come in batches, change no result."""

_HUGE = 1e300
"""Bound of a log density, so that sums with it stay finite."""


@inlined
def _child(nodes, node, v):
    """Child for a value of the split column; a missing value follows the heavier child."""
    left, right = nodes.left[node], nodes.right[node]
    if v == v:  # false for NaN only
        return left if v <= nodes.threshold[node] else right
    return left if nodes.mass[left] >= nodes.mass[right] else right


@inlined
def route(nodes, X, i):
    """Node id of the leaf that a row reaches; node 0 is the root."""
    node = np.int64(0)
    while nodes.feature[node] >= 0:
        node = _child(nodes, node, X[i, nodes.feature[node]])
    return node


@inlined
def _balance(tree, options, cell):
    """What turns the log prior of a class at a leaf into the log share of the class at the leaf.

    The prior is log(mass + 1); with this term added it is log((mass + 0.5) / (total + 1 + claim)).
    It is 0 unless classes are balanced.
    """
    if not options.balanced:
        return 0.0
    mass, total = tree.cells.mass[cell], tree.totals[tree.cells.code[cell]]
    return math.log((mass + 0.5) / ((mass + 1.0) * (total + 1.0 + options.claim)))


@inlined
def _score_cell(tree, observed, sketch, model, has_nan, options, leaf, cell, X, i, work, need):
    """Score of one cell; a lower bound if it is below ``need``."""
    return score(
        model,
        tree,
        observed,
        sketch,
        has_nan,
        options,
        leaf,
        cell,
        X,
        i,
        work,
        _balance(tree, options, cell),
        need,
    )


@inlined
def _score_leaf(
    tree,
    observed,
    sketch,
    model,
    has_nan,
    options,
    leaf,
    X,
    i,
    work,
    slack,
    guess,
    scores,
    codes,
):
    """Score every cell of a leaf, in the order of its chain; returns their number.

    Parameters as in the module docstring, and

    slack : float
        Scores that are so much below the best one may be lower bounds: 0 if only the winner
        matters, infinite if all scores do.
    guess : int
        Class code that is likely to win, so that other scores may end early; -1 without one.
    scores, codes : float64 and int64 arrays, shape (n_codes,)
        Receive the score and the class code of every cell.
    """
    leaves, cells = tree.leaves, tree.cells
    n = 0
    need = -np.inf
    cell = leaves.first[leaf]
    prior_only = leaves.prior_only[leaf]
    likely = -1
    if guess >= 0 and not prior_only:
        likely = find_cell(tree, leaf, guess)
    if likely >= 0:
        need = _score_cell(
            tree, observed, sketch, model, has_nan, options, leaf, likely, X, i, work, need
        )
        need -= slack + _NEARLY_TIED * 10
    while cell >= 0:
        code = cells.code[cell]
        if prior_only:
            scores[n] = math.log(cells.mass[cell] + 1.0) + _balance(tree, options, cell)
        else:
            scores[n] = _score_cell(
                tree,
                observed,
                sketch,
                model,
                has_nan,
                options,
                leaf,
                cell,
                X,
                i,
                work,
                need,
            )
            # A little below, so that scores that nearly tie with the best are exact.
            need = max(need, scores[n] - slack - _NEARLY_TIED * 10)
        codes[n] = code
        n += 1
        cell = cells.next[cell]
    return n


@inlined
def _slack(outputs):
    """``slack`` of `_score_leaf` in `_run`."""
    if outputs.shares.size == 0 and outputs.notes.leaf.size == 0:
        return 0.0
    return np.inf if outputs.guesses.size == 0 else SLACK


@inlined
def _guess(outputs, i):
    """``guess`` of `_score_leaf` for a row; `NOT_ASKED` if it is not to be predicted."""
    return -1 if outputs.guesses.size == 0 else outputs.guesses[i]


@inlined
def _drop_hopeless(scores, n):
    """Rule out classes whose scores may not be exact."""
    best = -np.inf
    for k in range(n):
        best = max(best, scores[k])
    for k in range(n):
        if scores[k] < best - _HOPELESS:
            scores[k] = -np.inf


@exact
def _softmax(scores, n, out):
    """Write the probabilities of the first n scores, n >= 1."""
    best, total = scores[0], 0.0
    for i in range(1, n):
        best = max(best, scores[i])
    for i in range(n):
        out[i] = math.exp(scores[i] - best)
        total += out[i]
    for i in range(n):
        out[i] /= total


@inlined
def _winner(scores, codes, n, ranks, shares):
    """Class code with the largest probability; ties go to the lowest rank, -1 without cells."""
    if n == 0:
        return -1
    best, second, at = -np.inf, -np.inf, 0
    for k in range(n):
        if scores[k] > best:
            best, second, at = scores[k], best, k
        elif scores[k] > second:
            second = scores[k]
    if best - second < _NEARLY_TIED:
        # Different scores may round to equal probabilities. Those decide, so that the winner is
        # the argmax of what `_write_shares` writes.
        _softmax(scores, n, shares)
        most = shares[at]
        for k in range(n):
            if shares[k] == most and ranks[codes[k]] < ranks[codes[at]]:
                at = k
    return codes[at]


@inlined
def _write_shares(scores, codes, n, ranks, parts, shares, i):
    """Write the class probabilities of a row in the order of the ranks."""
    if n > 0:
        _softmax(scores, n, parts)
    for k in range(n):
        shares[i, ranks[codes[k]]] = parts[k]


@inlined
def _chance(scores, codes, n, parts, code):
    """Probability of one class, 0 if it has no cell at the leaf."""
    for k in range(n):
        if codes[k] == code:
            _softmax(scores, n, parts)
            return parts[k]
    return 0.0


@inlined
def _row_copies(cells, cell, w, seed, node, code):
    """Number of copies that represents a weight; a fraction becomes one more copy by chance."""
    # The counter of the draw is `steps`, the rows that the cell has learnt: no bit is used twice.
    floor = math.floor(w)
    copies = np.int64(floor)
    if w > floor:
        steps = cells.steps[cell] if cell >= 0 else 0
        if uniform(seed, COPIES, node, code, steps) < w - floor:
            copies += 1
    return copies


@inlined
def _learn_shared(tree, observed, options, X, i, code, w):
    """Learn what does not depend on the leaf of a row: root mass, column scales, class totals."""
    tree.nodes.mass[0] += w  # first: `learn_scale` divides by it
    learn_scale(tree, observed, X, i, w)
    if options.balanced:
        tree.totals[code] += w
    tree.counters[N_LEARNT] += 1


@inlined
def _learn(tree, observed, sketch, model, work, options, leaf, cell, X, i, code, w, copies):
    """Learn one row at its leaf; capacity for it has been reserved.

    Parameters as in the module docstring (``cell`` is -1 if the class has no cell at the leaf), and

    code : int
        Class code of the row.
    w : float
        Its weight, above 0.
    copies : int
        Copies of it that go into the sketch, see `_row_copies`.

    Returns
    -------
    int
        The cell if the leaf model asked for work on it (`CELL_DUE`), else -1.
    """
    nodes, leaves, cells = tree.nodes, tree.leaves, tree.cells
    # The walk takes the path that `route` took: a mass changes only after the choice between a node
    # and its sibling was made.
    node = np.int64(0)
    while nodes.feature[node] >= 0:
        node = _child(nodes, node, X[i, nodes.feature[node]])
        nodes.mass[node] += w
    _learn_shared(tree, observed, options, X, i, code, w)
    if cell < 0:
        cell = new_cell(tree, leaf, code)
        if observed is not None:
            observed.cell[cell, :] = 0.0
    first_here = cells.count[cell] == 0.0  # before `learn_moments` counts the row
    # The order matters: products need the means before the row, the leaf model those after it.
    if options.products:
        learn_products(tree, observed, cell, X, i, w)
    learn_moments(tree, observed, leaf, cell, X, i, w)
    due = learn(model, tree, observed, options, leaf, cell, X, i, w, work)
    if sketch is not None:
        sorted_columns = sorted_columns_of(model)
        # A class that inherited a sketch keeps it. One that found the limit of sketched classes
        # reached at its first row never gets one here.
        new = first_here and cells.start[cell] < 0
        if new and leaves.sketched[leaf] < options.sketched_classes:
            leaves.sketched[leaf] += 1
            kll.new_sketch(tree, sketch, sorted_columns, cell, kll.copies_bits(copies))
        if copies > 0 and cells.start[cell] >= 0:
            kll.update(
                tree, sketch, sorted_columns, work, cell, X, i, copies, options.seed, node, code
            )
    leaves.weight_seen[leaf] += w
    return cell if due else -1


@exact
def _drop_prior_only_cells(tree, leaf):
    """Drop the masses that a prior-only leaf has from its parent: its first row has come.

    Such cells hold neither a sketch nor anything of the leaf model, so freeing their records is
    enough.
    """
    cells, counters = tree.cells, tree.counters
    cell = tree.leaves.first[leaf]
    detach_cells(tree, leaf)
    while cell >= 0:
        # `next` links the chain of the leaf until here, and the free list from here on.
        following = cells.next[cell]
        cells.next[cell] = counters[FREE_CELL]
        counters[FREE_CELL] = cell
        cell = following
    tree.leaves.prior_only[leaf] = 0


@exact
def _joint_density(tree, observed, sketch, model, has_nan, options, leaf, cell, row, work, held):
    """Log p(row, leaf | class).

    Parameters as in the module docstring, and

    row : float64 array, shape (1, d)
        The row as `mist.engine.marginal.settle` writes it.
    held : float64 array, shape (n_codes,)
        Mass of each class over all leaves.
    """
    if tree.leaves.prior_only[leaf]:
        # A prior-only leaf knows the masses of its classes and no density.
        density = overall_density(tree, observed, row, options.n_numeric)
    else:
        density = log_density(
            model, tree, observed, sketch, has_nan, options, leaf, cell, row, work
        )
        density = density if density > -_HUGE else -_HUGE  # NaN becomes -_HUGE, too
    return density + math.log(tree.cells.mass[cell] / held[tree.cells.code[cell]])


@inlined
def _write(outputs, scores, codes, n, ranks, parts, code, i):
    """Write what is asked about a row with these scores and this class."""
    if outputs.out.size > 0:
        outputs.out[i] = _winner(scores, codes, n, ranks, parts)
    if outputs.shares.size > 0:
        if outputs.guesses.size > 0:
            _drop_hopeless(scores, n)
        _write_shares(scores, codes, n, ranks, parts, outputs.shares, i)
    if outputs.notes.leaf.size > 0:
        outputs.notes.chance[i] = _chance(scores, codes, n, parts, code)


@allocating
def run(handle, X, codes, weights, start, ranks, outputs):
    """Learn rows from ``start`` on; predict each row first, if outputs are asked for.

    With ``open_world=True`` each row is scored under its class before it is learnt.

    Parameters
    ----------
    handle : address
        Of the state, see `mist.engine.state.State.handle`.
    X : float64 array, shape (n, d)
        Rows in internal column order. May hold NaN only if the state
        counts missing values.
    codes : int64 array, shape (n,)
        Class codes; anything where the weight is 0.
    weights : float64 array, shape (n,)
        Weights >= 0; a row of weight 0 is predicted but not learnt.
    start : int
        First row to handle.
    ranks : int64 array, shape (n_codes,)
        Rank of each class code in the sorted order of the labels: lower ranks win ties.
    outputs : Outputs or None
        What is asked for; probabilities only with class codes. None if rows are merely learnt.

    Returns
    -------
    row, reason, detail : int
        First row not yet learnt; one of `DONE`, `FULL_CELLS`, ...; and what the reason is about:
        with `FULL_ITEMS` the number of pool rows lacking, or the complement ``~cell`` (negative) of
        the cell whose block is full; with `ATTEMPT` the leaf, with `CELL_DUE` the cell; else 0.
    """
    scratch = _make_scratch(ranks.size, X.shape[1])
    work, screen_work = _workspace_of(handle), _screen_workspace_of(handle, scratch)
    return _run_at(
        handle,
        X,
        codes,
        weights,
        start,
        ranks,
        outputs,
        scratch,
        work,
        screen_work,
    )


@allocating
def _workspace_of(handle):
    """Workspace of the leaf model."""
    _, _, _, model, options, _, _ = parts_of(handle)
    return make_workspace(model, options)


@allocating
def _screen_workspace_of(handle, scratch):
    """Workspace of the split screen."""
    _, _, sketch, _, _, _, _ = parts_of(handle)
    # The split screen runs after a row is learnt, when the scratch arrays of the row are free.
    return screen_workspace(sketch, scratch.codes, scratch.parts)


@inlined
def _run_at(handle, X, codes, weights, start, ranks, outputs, scratch, work, screen_work):
    """Load the state and call `_run`. Parameters as in `run` and the module docstring."""
    tree, observed, sketch, model, options, conformity, screen = parts_of(handle)
    return _run(
        tree,
        observed,
        sketch,
        model,
        options,
        X,
        codes,
        weights,
        start,
        ranks,
        outputs,
        conformity,
        screen,
        scratch,
        work,
        screen_work,
    )


@inlined
def _run(
    tree,
    observed,
    sketch,
    model,
    options,
    X,
    codes,
    weights,
    start,
    ranks,
    outputs,
    conformity,
    screen,
    scratch,
    work,
    screen_work,
):
    """The loop of `run`. Parameters as in it and in the module docstring.

    A return in the middle of a row must leave the model as it was before the row, or with the row
    learnt completely: the driver calls again from the row that is returned.
    """
    nodes, leaves = tree.nodes, tree.leaves
    scores, parts, known, settled = scratch.scores, scratch.parts, scratch.codes, scratch.row
    for i in range(start, X.shape[0]):
        code, w = codes[i], weights[i]
        # Only a bare test for None is decided when the loop is compiled.
        if outputs is not None:
            notes = outputs.notes
            if notes.only >= 0 and notes.leaf[i] != notes.only:
                if w > 0.0:
                    _learn_shared(tree, observed, options, X, i, code, w)
                continue
        node = route(nodes, X, i)
        leaf = nodes.leaf[node]
        if outputs is not None:
            guess = _guess(outputs, i)
            if guess > NOT_ASKED:
                prepare(model, tree, observed, work)
                n = _score_leaf(
                    tree,
                    observed,
                    sketch,
                    model,
                    observed,
                    options,
                    leaf,
                    X,
                    i,
                    work,
                    _slack(outputs),
                    guess,
                    scores,
                    known,
                )
                _write(outputs, scores, known, n, ranks, parts, code, i)
            if w > 0.0 and outputs.notes.leaf.size > 0 and outputs.notes.only < 0:
                outputs.notes.leaf[i] = leaf
        if w == 0.0:
            continue
        cell = -1 if leaves.prior_only[leaf] else find_cell(tree, leaf, code)
        # All checks of capacity come before the first change of the model. Outputs of the row are
        # written so far, and are written again with the same values when the loop comes back.
        if cell < 0 and not has_capacity_for_cell(tree):
            return i, FULL_CELLS, 0
        if not has_capacity(model):
            return i, FULL_CELLS, 0
        copies = np.int64(0)
        if sketch is not None:
            copies = _row_copies(tree.cells, cell, w, options.seed, node, code)
            lacking = kll.rows_lacking(tree, sketch, cell, copies)
            if lacking != 0:
                return i, FULL_ITEMS, lacking if lacking > 0 else ~cell
        # From here on the row is learnt: no return before `_learn` is through.
        if (
            conformity is not None
            and not leaves.prior_only[leaf]
            and conformity.seen[code] >= MATURE
        ):
            prepare(model, tree, observed, work)
            density = -np.inf
            if cell >= 0:
                settle(tree, X, i, options.n_numeric, settled)
                density = _joint_density(
                    tree,
                    observed,
                    sketch,
                    model,
                    observed,
                    options,
                    leaf,
                    cell,
                    settled,
                    work,
                    conformity.held,
                )
            remember(conformity, code, density, w)
        if leaves.prior_only[leaf]:
            _drop_prior_only_cells(tree, leaf)
            if conformity is not None:
                # Masses of the parent's classes have left the tree.
                count_masses(tree, conformity.held)
        due = _learn(
            tree, observed, sketch, model, work, options, leaf, cell, X, i, code, w, copies
        )
        if conformity is not None:
            conformity.held[code] += w
            conformity.seen[code] += w
        if due >= 0:
            # The driver also makes up for the check of the grace period, which is skipped here.
            return i + 1, CELL_DUE, due
        attempts = math.floor(leaves.weight_seen[leaf] / options.grace_period)
        if attempts > leaves.tried[leaf]:
            # The split screen reads sketches and moments as if no value were missing.
            if observed is not None:
                return i + 1, ATTEMPT, leaf
            if not cannot_split(screen, tree, sketch, leaf, options.n_numeric, screen_work):
                return i + 1, ATTEMPT, leaf
            # The attempt cannot succeed: count it as made, as `mist.engine.growth.attempt` does.
            leaves.tried[leaf] = np.int64(attempts)
    return X.shape[0], DONE, 0


@allocating
def predict_rows(handle, X, ranks, out, shares, has_nan):
    """Predict rows without learning them.

    Parameters
    ----------
    handle : address
        Of the state, see `mist.engine.state.State.handle`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    ranks : int64 array, shape (n_codes,)
        Rank of each class code in the sorted order of the labels.
    out : int64 array, shape (n,) or (0,)
        Receives the predicted class codes, -1 where nothing is known.
    shares : float64 array of zeros, shape (n, n_classes) or (0, 0)
        Receives the class probabilities, in the order of the sorted labels.
    has_nan : True or None
        None if neither the rows nor anything learnt has a missing value.
    """
    scratch = _make_scratch(ranks.size, X.shape[1])
    _predict_at(handle, X, ranks, out, shares, has_nan, scratch, _workspace_of(handle))


@inlined
def _predict_at(handle, X, ranks, out, shares, has_nan, scratch, work):
    """Load the state and call `_predict_rows`. Parameters as in `predict_rows`."""
    tree, observed, sketch, model, options, _, _ = parts_of(handle)
    _predict_rows(
        tree,
        observed,
        sketch,
        model,
        has_nan,
        options,
        X,
        ranks,
        out,
        shares,
        scratch,
        work,
    )


@inlined
def _predict_rows(
    tree, observed, sketch, model, has_nan, options, X, ranks, out, shares, scratch, work
):
    """The loop of `predict_rows`. Parameters as in it and in the module docstring."""
    nodes = tree.nodes
    scores, parts, known = scratch.scores, scratch.parts, scratch.codes
    prepare(model, tree, observed, work)
    for i in range(X.shape[0]):
        leaf = nodes.leaf[route(nodes, X, i)]
        n = _score_leaf(
            tree,
            observed,
            sketch,
            model,
            has_nan,
            options,
            leaf,
            X,
            i,
            work,
            0.0 if shares.size == 0 else np.inf,
            -1,
            scores,
            known,
        )
        if out.size > 0:
            out[i] = _winner(scores, known, n, ranks, parts)
        if shares.size > 0:
            _write_shares(scores, known, n, ranks, parts, shares, i)


@allocating
def write_densities(handle, X, held, densities, has_nan):
    """Write log p(row, leaf | class) for every row and every class with a cell at the row's leaf.

    Parameters
    ----------
    handle, has_nan
        As for `predict_rows`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    held : float64 array, shape (n_codes,)
        Mass of each class over all leaves.
    densities : float64 array, shape (n, n_codes)
        Receives the densities; the entries of other classes are left as they are.
    """
    row = np.empty((1, X.shape[1]))
    _densities_at(handle, X, held, densities, has_nan, row, _workspace_of(handle))


@inlined
def _densities_at(handle, X, held, densities, has_nan, row, work):
    """Load the state and call `_write_densities`."""
    tree, observed, sketch, model, options, _, _ = parts_of(handle)
    _write_densities(tree, observed, sketch, model, has_nan, options, X, held, densities, row, work)


@inlined
def _write_densities(
    tree, observed, sketch, model, has_nan, options, X, held, densities, row, work
):
    """The loop of `write_densities`. Parameters as in it and in the module docstring.

    ``row`` of shape (1, d) is a scratch array.
    """
    leaves, cells = tree.leaves, tree.cells
    prepare(model, tree, observed, work)
    for i in range(X.shape[0]):
        leaf = tree.nodes.leaf[route(tree.nodes, X, i)]
        settle(tree, X, i, options.n_numeric, row)
        cell = leaves.first[leaf]
        while cell >= 0:
            densities[i, cells.code[cell]] = _joint_density(
                tree, observed, sketch, model, has_nan, options, leaf, cell, row, work, held
            )
            cell = cells.next[cell]


@allocating
def write_scores(handle, X, leaf, scores):
    """Write the score of every class at one leaf for any rows, whether they reach the leaf or not.

    The scores are those that predictions compare: log prior plus log density of the values that are
    not missing, up to a term that all classes share.

    Parameters
    ----------
    handle
        As for `predict_rows`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    leaf : int
        Index in ``tree.leaves``.
    scores : float64 array, shape (n, n_codes)
        Receives the scores; the entries of classes without a cell are left as they are.
    """
    scratch = _make_scratch(scores.shape[1], X.shape[1])
    _scores_at(handle, X, leaf, scores, scratch, _workspace_of(handle))


@inlined
def _scores_at(handle, X, leaf, scores, scratch, work):
    """Load the state and run the loop of `write_scores`."""
    tree, observed, sketch, model, options, _, _ = parts_of(handle)
    prepare(model, tree, observed, work)
    for i in range(X.shape[0]):
        n = _score_leaf(
            tree,
            observed,
            sketch,
            model,
            True,
            options,
            leaf,
            X,
            i,
            work,
            np.inf,
            -1,
            scratch.scores,
            scratch.codes,
        )
        for k in range(n):
            scores[i, scratch.codes[k]] = scratch.scores[k]


@exact
def leaf_nodes(nodes, X, out):
    """Node id of the leaf of every row, written to ``out``."""
    for i in range(X.shape[0]):
        out[i] = route(nodes, X, i)


@exact
def first_missing(X, start):
    """First row from ``start`` on that holds a NaN, or -1."""
    for i in range(start, X.shape[0]):
        # No early exit from the inner loop, so that it can vectorise.
        complete = True
        for j in range(X.shape[1]):
            complete &= X[i, j] == X[i, j]
        if not complete:
            return i
    return -1


@exact
def survey(X, limit):
    """Row and column of the first value beyond the limit, or -1, -1; and whether no value is NaN.

    NaN is within the limit. The first loop counts and does not stop, so that it vectorises.
    """
    values = X.reshape(X.size)
    # `other` counts NaN as well: every comparison with it is false.
    beyond, other = 0, 0
    for k in range(values.size):
        beyond += abs(values[k]) > limit
        other += not abs(values[k]) <= limit
    if beyond > 0:
        for k in range(values.size):
            if abs(values[k]) > limit:
                return k // X.shape[1], k % X.shape[1], other == beyond
    return -1, -1, other == beyond
