"""Route, learn, predict, test-then-train: the loops over rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine import kll
from mist.engine.compiled import allocating, exact, inlined
from mist.engine.conformity import MATURE, count_masses, remember
from mist.engine.glance import glance_room, must_fail
from mist.engine.handle import parts_of
from mist.engine.leafmodel import (
    has_room,
    learn,
    log_density,
    make_room,
    prepare,
    score,
    view_of,
)
from mist.engine.marginal import overall_density, settle
from mist.engine.moments import learn_moments, learn_products, learn_scale
from mist.engine.random import COPIES, uniform
from mist.engine.state import (
    FREE_CELL,
    N_LEARNT,
    detach_cells,
    find_cell,
    has_room_for_cell,
    new_cell,
)

DONE, FULL_CELLS, FULL_ITEMS, ATTEMPT, TEND = range(5)
"""Why `run` came back: all rows done, an array is full, a leaf is due for a split attempt, or a
cell is to be tended."""


class Notes(NamedTuple):
    """What `run` notes of every row, so that a copy of a leaf can learn its rows beside it."""

    leaf: Any  # int64 (n,): the leaf that the row reached; -1 if it was not learnt
    chance: Any  # float64 (n,): the probability given to its class before it was learnt
    only: int  # -1: ``leaf`` is written; else it is read, and rows of other leaves pass by


class Scratch(NamedTuple):
    """Room for what is computed of one row."""

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
_HUGE = 1e300


@inlined
def _child(nodes, node, v):
    """Child for a value of the split column; a missing value follows the heavier child."""
    left, right = nodes.left[node], nodes.right[node]
    if v == v:
        return left if v <= nodes.threshold[node] else right
    return left if nodes.mass[left] >= nodes.mass[right] else right


@inlined
def route(nodes, X, i):
    """Node id of the leaf that a row belongs to."""
    node = np.int64(0)
    while nodes.feature[node] >= 0:
        node = _child(nodes, node, X[i, nodes.feature[node]])
    return node


@inlined
def _balance(mass, total):
    """From the share of a class in the leaf to the share of the leaf in the class."""
    return math.log((mass + 0.5) / ((mass + 1.0) * (total + 1.0)))


@inlined
def _score_leaf(
    tree,
    missing,
    sketch,
    model,
    holes,
    binary,
    options,
    leaf,
    X,
    i,
    room,
    only_winner,
    scores,
    codes,
):
    """Score every cell of a leaf, in the order of its chain; returns their number.

    ``holes`` is None if no missing value can matter, ``binary`` is None if there is no 0/1
    column, so that code for either is compiled only where it is needed.
    """
    leaves, cells = tree.leaves, tree.cells
    n = 0
    need = -np.inf
    cell = leaves.first[leaf]
    orphan = leaves.orphan[leaf]
    while cell >= 0:
        code, extra = cells.code[cell], 0.0
        if options.balanced:
            extra = _balance(cells.mass[cell], tree.totals[code])
        if orphan:
            scores[n] = math.log(cells.mass[cell] + 1.0) + extra
        else:
            scores[n] = score(
                model,
                tree,
                missing,
                sketch,
                holes,
                binary,
                options,
                leaf,
                cell,
                X,
                i,
                room,
                extra,
                need,
            )
            if only_winner:
                # A little less, so that what is nearly as good is still told exactly.
                need = max(need, scores[n] - _NEARLY_TIED * 10)
        codes[n] = code
        n += 1
        cell = cells.next[cell]
    return n


@exact
def _softmax(scores, n, out):
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
        # Different scores may give equal probabilities, and those decide.
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
    """The probability of one class."""
    for k in range(n):
        if codes[k] == code:
            _softmax(scores, n, parts)
            return parts[k]
    return 0.0


@inlined
def _row_copies(cells, cell, w, seed, node, code):
    """Whole number of copies that stands for a weight; its fraction is drawn."""
    whole = math.floor(w)
    copies = np.int64(whole)
    if w > whole:
        steps = cells.steps[cell] if cell >= 0 else 0
        if uniform(seed, COPIES, node, code, steps) < w - whole:
            copies += 1
    return copies


@inlined
def _learn_shared(tree, missing, options, X, i, code, w):
    """Learn of a row what concerns the whole tree, wherever it goes."""
    tree.nodes.mass[0] += w
    learn_scale(tree, missing, X, i, w)
    if options.balanced:
        tree.totals[code] += w
    tree.counters[N_LEARNT] += 1


@inlined
def _learn(tree, missing, sketch, model, room, options, leaf, cell, X, i, code, w, copies):
    """Learn one row at its leaf; room for it has been reserved."""
    nodes, leaves, cells = tree.nodes, tree.leaves, tree.cells
    node = np.int64(0)
    while nodes.feature[node] >= 0:
        node = _child(nodes, node, X[i, nodes.feature[node]])
        nodes.mass[node] += w
    _learn_shared(tree, missing, options, X, i, code, w)
    if cell < 0:
        cell = new_cell(tree, leaf, code)
        if missing is not None:
            missing.cell[cell, :] = 0.0
    first_here = cells.count[cell] == 0.0
    if options.products:
        learn_products(tree, missing, cell, X, i, w)
    learn_moments(tree, missing, leaf, cell, X, i, w)
    due = learn(model, tree, missing, options, leaf, cell, X, i, w, room)
    if sketch is not None:
        view = view_of(model)
        # A class that inherited a sketch goes on with it.
        new = first_here and cells.start[cell] < 0
        if new and leaves.sketched[leaf] < options.sketched_classes:
            leaves.sketched[leaf] += 1
            kll.new_sketch(tree, sketch, view, cell, kll.copies_bits(copies))
        if copies > 0 and cells.start[cell] >= 0:
            kll.update(tree, sketch, view, room, cell, X, i, copies, options.seed, node, code)
    leaves.rows[leaf] += w
    return cell if due else -1


@exact
def _forget_orphan(tree, leaf):
    """Drop the class masses of the parent: the leaf has rows of its own now."""
    cells, counters = tree.cells, tree.counters
    cell = tree.leaves.first[leaf]
    detach_cells(tree, leaf)
    while cell >= 0:
        following = cells.next[cell]
        cells.next[cell] = counters[FREE_CELL]
        counters[FREE_CELL] = cell
        cell = following
    tree.leaves.orphan[leaf] = 0


@exact
def _joint_density(
    tree, missing, sketch, model, holes, binary, options, leaf, cell, row, room, held
):
    """Log p(row, leaf | class) of a settled row."""
    if tree.leaves.orphan[leaf]:
        # Without any row of its own a leaf knows no more of its classes than their masses.
        density = overall_density(tree, missing, row, options.n_numeric)
    else:
        density = log_density(
            model, tree, missing, sketch, holes, binary, options, leaf, cell, row, room
        )
        density = density if density > -_HUGE else -_HUGE
    return density + math.log(tree.cells.mass[cell] / held[tree.cells.code[cell]])


@allocating
def run(handle, X, codes, weights, start, ranks, out, shares, notes):
    """Learn rows from ``start`` on; where ``out`` is given, predict each row first.

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
        Place of each class among the sorted labels: lower ranks win ties.
    out : int64 array, shape (n,), or None
        Receives the predicted class codes, -1 where nothing was known.
    shares : float64 array of zeros, shape (n, n_codes), or None
        Receives the class probabilities beside ``out``, in the order of the ranks.
    notes : Notes or None
        Takes notes of the rows, or tells which of them pass by.

    With ``open_world=True`` each row is scored under its class before it is learnt.

    Returns
    -------
    row, reason, detail : int
        First row not yet learnt, why the loop stopped, and the pool rows lacking or the complement
        of the cell whose block is full (`FULL_ITEMS`), the leaf that is due (`ATTEMPT`) or the cell
        that is (`TEND`).
    """
    scratch = _make_scratch(ranks.size, X.shape[1])
    room, looks = _room_of(handle), _looks_of(handle, scratch)
    return _run_at(
        handle, X, codes, weights, start, ranks, out, shares, notes, scratch, room, looks
    )


@allocating
def _room_of(handle):
    _, _, _, model, _, options, _, _ = parts_of(handle)
    return make_room(model, options)


@allocating
def _looks_of(handle, scratch):
    _, _, sketch, _, _, _, _, _ = parts_of(handle)
    # Between rows, nobody needs what else these are room for.
    return glance_room(sketch, scratch.codes, scratch.parts)


@inlined
def _run_at(handle, X, codes, weights, start, ranks, out, shares, notes, scratch, room, looks):
    tree, missing, sketch, model, binary, options, conformity, glance = parts_of(handle)
    return _run(
        tree,
        missing,
        sketch,
        model,
        binary,
        options,
        X,
        codes,
        weights,
        start,
        ranks,
        out,
        shares,
        notes,
        conformity,
        glance,
        scratch,
        room,
        looks,
    )


@inlined
def _run(
    tree,
    missing,
    sketch,
    model,
    binary,
    options,
    X,
    codes,
    weights,
    start,
    ranks,
    out,
    shares,
    notes,
    conformity,
    glance,
    scratch,
    room,
    looks,
):
    nodes, leaves = tree.nodes, tree.leaves
    scores, parts, known, settled = scratch.scores, scratch.parts, scratch.codes, scratch.row
    for i in range(start, X.shape[0]):
        code, w = codes[i], weights[i]
        if notes is not None:  # noqa: SIM102 - only a bare test for None is decided beforehand
            if notes.only >= 0 and notes.leaf[i] != notes.only:
                if w > 0.0:
                    _learn_shared(tree, missing, options, X, i, code, w)
                continue
        node = route(nodes, X, i)
        leaf = nodes.leaf[node]
        if out is not None or notes is not None:
            prepare(model, tree, missing, room)
            n = _score_leaf(
                tree,
                missing,
                sketch,
                model,
                missing,
                binary,
                options,
                leaf,
                X,
                i,
                room,
                shares is None and notes is None,
                scores,
                known,
            )
            if out is not None:
                out[i] = _winner(scores, known, n, ranks, parts)
            if shares is not None:
                _write_shares(scores, known, n, ranks, parts, shares, i)
            if notes is not None:
                notes.chance[i] = _chance(scores, known, n, parts, code)
        if w == 0.0:
            continue
        if notes is not None:  # noqa: SIM102
            if notes.only < 0:
                notes.leaf[i] = leaf
        cell = -1 if leaves.orphan[leaf] else find_cell(tree, leaf, code)
        # Nothing is changed before there is room for all that the row needs.
        if cell < 0 and not has_room_for_cell(tree):
            return i, FULL_CELLS, 0
        if not has_room(model):
            return i, FULL_CELLS, 0
        copies = np.int64(0)
        if sketch is not None:
            copies = _row_copies(tree.cells, cell, w, options.seed, node, code)
            lacking = kll.rows_lacking(tree, sketch, cell, copies)
            if lacking != 0:
                return i, FULL_ITEMS, lacking if lacking > 0 else ~cell
        if conformity is not None and not leaves.orphan[leaf] and conformity.seen[code] >= MATURE:
            prepare(model, tree, missing, room)
            density = -np.inf
            if cell >= 0:
                settle(tree, X, i, options.n_numeric, settled)
                density = _joint_density(
                    tree,
                    missing,
                    sketch,
                    model,
                    missing,
                    binary,
                    options,
                    leaf,
                    cell,
                    settled,
                    room,
                    conformity.held,
                )
            remember(conformity, code, density, w)
        if leaves.orphan[leaf]:
            _forget_orphan(tree, leaf)
            if conformity is not None:
                count_masses(tree, conformity.held)
        due = _learn(tree, missing, sketch, model, room, options, leaf, cell, X, i, code, w, copies)
        if conformity is not None:
            conformity.held[code] += w
            conformity.seen[code] += w
        if due >= 0:
            return i + 1, TEND, due
        attempts = math.floor(leaves.rows[leaf] / options.grace_period)
        if attempts > leaves.tried[leaf]:
            if missing is not None:
                return i + 1, ATTEMPT, leaf
            if not must_fail(glance, tree, sketch, leaf, options.n_numeric, looks):
                return i + 1, ATTEMPT, leaf
            leaves.tried[leaf] = np.int64(attempts)
    return X.shape[0], DONE, 0


@allocating
def predict_rows(handle, X, ranks, out, shares, holes):
    """Predict rows without learning them.

    Parameters
    ----------
    handle : address
        Of the state, see `mist.engine.state.State.handle`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    ranks : int64 array, shape (n_codes,)
        Place of each class among the sorted labels.
    out : int64 array, shape (n,), or None
        Receives the predicted class codes.
    shares : float64 array of zeros, shape (n, n_classes), or None
        Receives the class probabilities, in the order of the sorted labels.
    holes : True or None
        None if neither the rows nor anything learnt has a missing value.
    """
    scratch = _make_scratch(ranks.size, X.shape[1])
    _predict_at(handle, X, ranks, out, shares, holes, scratch, _room_of(handle))


@inlined
def _predict_at(handle, X, ranks, out, shares, holes, scratch, room):
    tree, missing, sketch, model, binary, options, _, _ = parts_of(handle)
    _predict_rows(
        tree,
        missing,
        sketch,
        model,
        holes,
        binary,
        options,
        X,
        ranks,
        out,
        shares,
        scratch,
        room,
    )


@inlined
def _predict_rows(
    tree, missing, sketch, model, holes, binary, options, X, ranks, out, shares, scratch, room
):
    nodes = tree.nodes
    scores, parts, known = scratch.scores, scratch.parts, scratch.codes
    prepare(model, tree, missing, room)
    for i in range(X.shape[0]):
        leaf = nodes.leaf[route(nodes, X, i)]
        n = _score_leaf(
            tree,
            missing,
            sketch,
            model,
            holes,
            binary,
            options,
            leaf,
            X,
            i,
            room,
            shares is None,
            scores,
            known,
        )
        if out is not None:
            out[i] = _winner(scores, known, n, ranks, parts)
        if shares is not None:
            _write_shares(scores, known, n, ranks, parts, shares, i)


@allocating
def write_densities(handle, X, held, densities, holes):
    """Write log p(row, leaf | class) for every row and every class with a cell at the row's leaf.

    Parameters
    ----------
    handle, holes
        As for `predict_rows`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    held : float64 array, shape (n_codes,)
        Mass of each class over all leaves.
    densities : float64 array, shape (n, n_codes)
        Receives the densities; the entries of other classes are left as they are.
    """
    row = np.empty((1, X.shape[1]))
    _densities_at(handle, X, held, densities, holes, row, _room_of(handle))


@inlined
def _densities_at(handle, X, held, densities, holes, row, room):
    tree, missing, sketch, model, binary, options, _, _ = parts_of(handle)
    _write_densities(
        tree,
        missing,
        sketch,
        model,
        holes,
        binary,
        options,
        X,
        held,
        densities,
        row,
        room,
    )


@inlined
def _write_densities(
    tree, missing, sketch, model, holes, binary, options, X, held, densities, row, room
):
    leaves, cells = tree.leaves, tree.cells
    prepare(model, tree, missing, room)
    for i in range(X.shape[0]):
        leaf = tree.nodes.leaf[route(tree.nodes, X, i)]
        settle(tree, X, i, options.n_numeric, row)
        cell = leaves.first[leaf]
        while cell >= 0:
            densities[i, cells.code[cell]] = _joint_density(
                tree,
                missing,
                sketch,
                model,
                holes,
                binary,
                options,
                leaf,
                cell,
                row,
                room,
                held,
            )
            cell = cells.next[cell]


@allocating
def write_scores(handle, X, leaf, scores):
    """Write the score of every class at a leaf for rows that need not be of that leaf.

    The scores are those that predictions compare: log prior plus log density of the values that are
    not missing, up to what all classes share.

    Parameters
    ----------
    handle
        As for `predict_rows`.
    X : float64 array, shape (n, d)
        Rows in internal column order.
    leaf : int
        Where the leaf stands in ``tree.leaves``.
    scores : float64 array, shape (n, n_codes)
        Receives the scores; the entries of classes without a cell are left as they are.
    """
    scratch = _make_scratch(scores.shape[1], X.shape[1])
    _scores_at(handle, X, leaf, scores, scratch, _room_of(handle))


@inlined
def _scores_at(handle, X, leaf, scores, scratch, room):
    tree, missing, sketch, model, binary, options, _, _ = parts_of(handle)
    prepare(model, tree, missing, room)
    for i in range(X.shape[0]):
        n = _score_leaf(
            tree,
            missing,
            sketch,
            model,
            True,
            binary,
            options,
            leaf,
            X,
            i,
            room,
            False,
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
        whole = True
        for j in range(X.shape[1]):
            whole &= X[i, j] == X[i, j]
        if not whole:
            return i
    return -1


@exact
def survey(X, limit):
    """Row and column of the first value beyond the limit, or -1, -1; whether none is NaN.

    NaN is within the limit. Values are counted and not searched: so they are read as vectors.
    """
    values = X.reshape(X.size)
    beyond, other = 0, 0
    for k in range(values.size):
        beyond += abs(values[k]) > limit
        other += not abs(values[k]) <= limit
    if beyond > 0:
        for k in range(values.size):
            if abs(values[k]) > limit:
                return k // X.shape[1], k % X.shape[1], other == beyond
    return -1, -1, other == beyond
