"""Trees grown on replayed rows: each split is the best of a few random ones.

Leaves are pure, where rows can be told apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.compiled import exact
from mist.engine.random import GROWTH, below, draw, following, mix
from mist.engine.records import new_records

REPLAY_NODE = np.dtype(
    [
        ("feature", np.int32),  # -1: a leaf
        ("first", np.int32),  # left child, the right one follows it; at a leaf its main class
        ("threshold", np.float64),  # values up to it go left; at a leaf the share of that class
        ("missing", np.int32),  # where missing values go: 0 left, 1 right; at a leaf another class
        ("unused", np.int32),
    ]
)

TRIES = 8
"""Draws of a pair of rows with different values of a column, until the column is given up."""


class Grower(NamedTuple):
    """Workspace for a tree on m rows with k classes and d columns."""

    order: Any  # int64 (m,): rows, those of a node together
    begin: Any  # int64 (2 m,): first row of a node
    end: Any  # int64 (2 m,)
    total: Any  # int64 (k,): rows of each class at a node
    left: Any  # int64 (k,): zeros between two calls
    columns: Any  # int64 (d,): a permutation


def new_grower(n_rows: int, n_codes: int, n_columns: int) -> Grower:
    """Return a workspace."""
    return Grower(
        np.zeros(n_rows, np.int64),
        np.zeros(2 * n_rows, np.int64),
        np.zeros(2 * n_rows, np.int64),
        np.zeros(n_codes, np.int64),
        np.zeros(n_codes, np.int64),
        np.zeros(n_columns, np.int64),
    )


def new_nodes(n: int) -> Any:
    """Return so many empty nodes."""
    return new_records(n, REPLAY_NODE)


@exact
def _score(X, y, space, begin, end, j, t, squared):
    """Sum over both sides of squared class counts over rows, -1 if a side is empty.

    ``squared`` is the sum of the squared class counts of the node. A missing value goes right.
    """
    left, total, order = space.left, space.total, space.order
    n_left, squares, cross = 0, 0, 0
    for r in range(begin, end):
        row = order[r]
        if X[j, row] <= t:
            c = y[row]
            squares += 2 * left[c] + 1
            left[c] += 1
            cross += total[c]
            n_left += 1
    for r in range(begin, end):
        left[y[order[r]]] = 0
    n_right = end - begin - n_left
    if n_left == 0 or n_right == 0:
        return -1.0
    return float(squares) / n_left + float(squared - 2 * cross + squares) / n_right


@exact
def _threshold(X, space, begin, end, j, state):
    """Midpoint of two rows of a node with different values; returns it and the random state.

    NaN if no such rows are found.
    """
    n = end - begin
    for _ in range(TRIES):
        low = X[j, space.order[begin + below(n, mix(state))]]
        state = following(state)
        high = X[j, space.order[begin + below(n, mix(state))]]
        state = following(state)
        if low > high:
            low, high = high, low
        if low < high:
            middle = 0.5 * low + 0.5 * high
            return (middle if middle < high else low), state
    return np.nan, state


@exact
def _best_split(X, y, space, begin, end, n_columns, n_thresholds, state):
    """Best of some random splits: column (-1: none), threshold and random state."""
    squared = 0
    space.total[:] = 0
    for r in range(begin, end):
        c = y[space.order[r]]
        squared += 2 * space.total[c] + 1
        space.total[c] += 1
    d, columns = X.shape[0], space.columns
    best, at, most, tried = -1, 0.0, -1.0, 0
    for k in range(d):
        if tried == n_columns:
            break
        other = k + below(d - k, mix(state))
        state = following(state)
        columns[k], columns[other] = columns[other], columns[k]
        j, varies = columns[k], False
        for _ in range(n_thresholds):
            t, state = _threshold(X, space, begin, end, j, state)
            if t != t:
                break
            varies = True
            score = _score(X, y, space, begin, end, j, t, squared)
            if score > most:
                best, at, most = j, t, score
        tried += varies
    return best, at, state


@exact
def _divide(X, space, begin, end, j, t):
    """Put the rows of a node left of a threshold first; returns the border and where NaN goes."""
    low, high, missing = begin, end, 0
    while low < high:
        row = space.order[low]
        if X[j, row] <= t:
            low += 1
        else:
            missing |= X[j, row] != X[j, row]
            high -= 1
            space.order[low], space.order[high] = space.order[high], row
    return low, missing or end - low > low - begin


@exact
def _two_classes(y, space, begin, end):
    """The two most frequent classes of rows, the first ones in a tie, and the share of the first.

    The second is the first again if there are no others.
    """
    space.total[:] = 0
    for r in range(begin, end):
        space.total[y[space.order[r]]] += 1
    best, second = 0, -1
    for c in range(1, space.total.size):
        if space.total[c] > space.total[best]:
            best, second = c, best
        elif second < 0 or space.total[c] > space.total[second]:
            second = c
    n = end - begin
    share = space.total[best] / n if n > 0 else 1.0
    return best, second if share < 1.0 else best, share


@exact
def grow(X, y, space, n_columns, n_thresholds, seed, number, nodes):
    """Grow a tree, level by level, until its leaves are pure; returns its number of nodes.

    Parameters
    ----------
    X : float64 array, shape (d, m)
        Rows, column by column; NaN is missing.
    y : int64 array, shape (m,)
        Class codes.
    space : Grower
        Workspace.
    n_columns, n_thresholds : int
        Columns that a split examines, and random thresholds of each.
    seed, number : int
        Seed, and number of the tree.
    nodes : records REPLAY_NODE
        Receives the tree, which ends early if there are not enough; 2 m suffice. Children are
        numbered from its root.
    """
    n = y.size
    for r in range(n):
        space.order[r] = r
    for j in range(X.shape[0]):
        space.columns[j] = j
    state = draw(seed, GROWTH, number, 0, 0)
    space.begin[0], space.end[0], made, v = 0, n, 1, 0
    while v < made:
        begin, end = space.begin[v], space.end[v]
        label, other, part = _two_classes(y, space, begin, end)
        nodes.feature[v], nodes.first[v] = -1, label
        nodes.threshold[v], nodes.missing[v] = part, other
        if part < 1.0 and made + 2 <= len(nodes):
            j, t, state = _best_split(X, y, space, begin, end, n_columns, n_thresholds, state)
            if j >= 0:
                border, missing = _divide(X, space, begin, end, j, t)
                nodes.feature[v], nodes.threshold[v], nodes.first[v] = j, t, made
                nodes.missing[v] = 1 if missing else 0
                space.begin[made], space.end[made] = begin, border
                space.begin[made + 1], space.end[made + 1] = border, end
                made += 2
        v += 1
    return made


@exact
def count_votes(nodes, starts, X, out):
    """Add one vote of each tree: for the class of a leaf, or its two main classes by their shares.

    Parameters
    ----------
    nodes : records REPLAY_NODE
        All trees.
    starts : int64 array, shape (trees,)
        Index of each root.
    X : float64 array, shape (n, d)
        Rows; NaN is missing.
    out : float64 array, shape (n, codes)
        Receives the votes.
    """
    for i in range(X.shape[0]):
        for tree in range(starts.size):
            start = starts[tree]
            v = start
            while nodes.feature[v] >= 0:
                x = X[i, nodes.feature[v]]
                right = nodes.missing[v] if x != x else (0 if x <= nodes.threshold[v] else 1)
                v = start + nodes.first[v] + right
            out[i, nodes.first[v]] += nodes.threshold[v]
            out[i, nodes.missing[v]] += 1.0 - nodes.threshold[v]
