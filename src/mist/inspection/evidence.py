"""Explanation of a prediction: scores of the row with and without each value."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from mist.engine.leafmodel import kind_of
from mist.engine.row_loops import write_scores
from mist.engine.state import State, leaf_cells
from mist.fitted import FittedTree
from mist.inspection.explanation import ClassAtLeaf, Explanation, Step
from mist.inspection.nodes import labels_of, one_tree, spreads

__all__ = ["explain"]

Array = np.ndarray[Any, Any]

_ROWS_AT_ONCE = 256


def explain(model: FittedTree, x: Any, *, top: int | None = 5) -> Explanation:
    r"""Explain the prediction of a tree for one row of a table.

    With ``adapt="stream"`` the prediction of the row as the next of the stream may differ, because
    it also uses the labels before it. It is reported as ``next_in_stream`` and not explained.

    The evidence of a value for a class is the drop in the log density of the row in the class when
    the value is missing, that is, the log density of the value given all others. For leaves with
    independent columns (``"gaussian"`` and ``"sketch"``) the log density is the sum of these parts.
    For mixtures, full and low-rank covariances it is not: missing values are integrated out, and
    the remainder is reported separately, as ``together``. ``"majority"`` leaves and prior-only
    leaves have a prior only.

    Parameters
    ----------
    model : MistClassifier
        A fitted tree; it is not changed.
    x : array-like, shape (d,), or mapping
        The row. Absent names are missing; names never learnt are ignored.
    top : int or None, default=5
        Number of most probable classes to give the evidence for; None means all classes at the
        leaf.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        If `top` is below 1, or if `MistClassifier.predict_one` refuses the row.
    TypeError
        For a forest.
    NotFittedError
        If nothing was learnt yet.

    Notes
    -----
    The row is scored once per value, so this takes about d times as long as a prediction.

    With the classes k at the leaf and their priors :math:`\pi_k`, the evidence of value j is
    :math:`e_{kj} - \log \sum_i \pi_i \exp e_{ij}`, where
    :math:`e_{kj} = \log p(x \mid k) - \log p(x_{-j} \mid k)`. The subtracted term is the same for
    all classes, so it does not change probabilities. It removes the effect of the column's unit.

    References
    ----------
    Robnik-Šikonja and Kononenko, "Explaining Classifications For Individual Instances", IEEE
    Transactions on Knowledge and Data Engineering 20, 2008: answers with and without a value.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> rows = [[1.0, 0.0], [4.0, 1.0], [6.0, 0.0], [9.0, 2.0]]
    >>> model = MistClassifier("gaussian").fit(rows, ["a", "a", "b", "b"])
    >>> print(explain(model, [3.0, 1.0]))
    prediction for a row of a table: a (0.989), then b (0.0106)
    as the next row of the stream: b (1)
    the tree is one leaf, 0
    class masses at the leaf (rows learnt there): a 2 (2), b 2 (2)
    evidence for a against b, in nats:
          +4.44  x0 = 3
          +0.09  x1 = 1
          +0.00  prior of the classes
          +4.53  total
    """
    state = one_tree(model)
    if top is not None and top < 1:
        raise ValueError(f"top={top} must be at least 1, or None for all classes")
    row = model._row_to_predict(x)
    # The tree sees rows without the common shift; values and thresholds shown are the user's.
    framed = model._without_shift(row)
    shift = -model._without_shift(np.zeros_like(row))[0]
    path, node = _way(model, state, framed, row, shift)
    leaf = int(state.tree.nodes.leaf[node])
    cells = state.tree.cells[leaf_cells(state.tree, leaf)]
    cells = cells[np.argsort(-cells.mass, kind="stable")]
    codes, labels, ranks = cells.code, labels_of(model), model._labels.ranks
    prior, evidence, together = _parts(state, framed, leaf, codes, len(ranks))

    shares, (chosen,) = model._proba(row)[0], model._answers(row)
    places = ranks[codes]
    scores = prior + evidence.sum(axis=1) + together
    # Scores order the classes whose probabilities tie at 0 or at the least value.
    first = [labels[code] != chosen for code in codes]
    order = np.lexsort((places, -scores, -shares[places], first))[:top]
    values, by_user = np.empty(row.shape[1]), np.empty((len(order), row.shape[1]))
    values[model._order], by_user[:, model._order] = row[0], evidence[order]
    return Explanation(
        prediction=labels[codes[order[0]]],
        probabilities=_by_label(model, shares),
        path=tuple(path),
        leaf=node,
        rows=float(state.tree.leaves.weight_seen[leaf]),
        held=tuple(
            ClassAtLeaf(labels[cell["code"]], float(cell["mass"]), float(cell["count"]))
            for cell in cells
        ),
        columns=tuple(model._column_names()),
        values=values,
        spreads=spreads(model),
        classes=tuple(labels[codes[i]] for i in order),
        prior=prior[order],
        evidence=by_user,
        together=together[order],
        additive=kind_of(state.model).adds_up,
        next_in_stream=(
            _by_label(model, model._proba(row, next_in_stream=True)[0])
            if model._predicts_next()
            else None
        ),
    )


def _by_label(model: FittedTree, shares: Array) -> dict[Any, float]:
    return dict(zip(model.classes_.tolist(), shares.tolist(), strict=True))


def _way(
    model: FittedTree, state: State, framed: Array, row: Array, shift: Array
) -> tuple[list[Step], int]:
    """Return the steps to the leaf of a row, and the node of the leaf.

    ``framed`` is the row without the common shift, by which it is routed.
    """
    nodes, names = state.tree.nodes, model._column_names()
    steps, node = [], 0
    while nodes.feature[node] >= 0:
        j, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        children, value = (int(nodes.left[node]), int(nodes.right[node])), float(framed[0, j])
        missing = bool(np.isnan(value))
        left = bool(nodes.mass[children[0]] >= nodes.mass[children[1]])
        if not missing:
            left = value <= threshold
        column = int(model._order[j])
        given, border = float(row[0, j]), threshold + float(shift[j])
        steps.append(Step(node, column, names[column], given, border, left, missing))
        node = children[0 if left else 1]
    return steps, node


def _parts(
    state: State, row: Array, leaf: int, codes: Array, n_codes: int
) -> tuple[Array, Array, Array]:
    """Return prior, evidence of each column, and remainder for the classes at a leaf."""

    def scores(rows: Array) -> Array:
        out = np.empty((len(rows), n_codes))
        state.handle.call(write_scores, rows, leaf, out)
        return out[:, codes]

    whole, prior = scores(np.concatenate([row, np.full_like(row, np.nan)]))
    prior = prior - logsumexp(prior)
    evidence = np.zeros((len(codes), row.shape[1]))
    known = np.flatnonzero(~np.isnan(row[0]))
    for first in range(0, len(known), _ROWS_AT_ONCE):
        columns = known[first : first + _ROWS_AT_ONCE]
        rows = np.repeat(row, len(columns), axis=0)
        rows[np.arange(len(columns)), columns] = np.nan
        evidence[:, columns] = (whole - scores(rows)).T
    together = np.zeros(len(codes))
    if not kind_of(state.model).adds_up:
        together = whole - prior - evidence.sum(axis=1)
        together -= logsumexp(prior + together)
    evidence -= logsumexp(prior[:, None] + evidence, axis=0)
    evidence[:, np.ptp(evidence, axis=0) == 0.0] = 0.0  # the value favours no class
    return prior, evidence, together
