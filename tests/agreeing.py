"""Options of models that have a slow twin, and whether a model answers as the twin does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import softmax

from mist import MistClassifier
from mist.engine.kll_merge import levels_of
from mist.engine.state import M2, MEAN, leaf_cells
from naive import Cell, NaiveMist

OPTIONS: dict[str, list[Any]] = {
    "leaf": ["gaussian", "sketch", "majority"],
    "grace_period": [3, 10, 40],
    "delta": [0.1, 0.5],
    "tie_threshold": [0.0, 0.05, 1.0, 5.0],
    "sketch_size": [8, 13, 64],
    "inheritance": ["gaussian", "mass", "sketch", "joint", None],
    "discount": [0.2, 0.6, 1.0],
    "bound": ["mcdiarmid", "rutkowski", "hoeffding", "confseq", "confseq_independent"],
    "split_test": ["gap", "gain", "schedule"],
    "rows_per_split": [1, 30],
    "max_features": [None, 0.3, 1.0],
    "union_bound": [True, False],
    "criterion": ["gini", "info_gain"],
    "thresholds": ["medians", "dense", "sampled", "gaussian"],
    "n_thresholds": [1, 4, 10],
    "bandwidth": [0.25, 1.0],
    "smoothing": [1e-3, 0.1],
    "variance_prior": [0.1, 1.0, 30.0],
    "max_leaves": [None, 1, 3],
    "max_classes_per_leaf": [None, 1, 3],
    "random_state": [None, 7, 2**63 - 1],
}


def possible(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with those replaced that another one rules out."""
    options = dict(options)
    if options["thresholds"] == "gaussian":
        for name in ("leaf", "inheritance"):
            if options[name] == "sketch":
                options[name] = "gaussian"
    if options["criterion"] == "info_gain":
        options["bound"] = "hoeffding"
    return options


def choices(table: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.sampled_from(v) for name, v in table.items()})


def twin_answer(
    twin: NaiveMist, x: list[float], totals: dict[Any, float] | None = None
) -> tuple[dict[Any, float], float]:
    """Probabilities by label, and how far rounding may move them.

    A class whose variance is at its floor gives a row far from it a score of -1e9 and more,
    and only so many digits of that are good. With the ``totals`` learnt of each label, classes are
    as probable as one another.
    """
    row = [x[c] for c in twin.order]
    leaf = twin.nodes[twin.route(row)]
    scores = twin.scores(leaf, row)
    if totals is not None:
        for code, cell in leaf.cells.items():
            total = totals[twin.labels[code]]
            scores[code] += math.log((cell.mass + 0.5) / ((cell.mass + 1.0) * (total + 11.0)))
    values = list(scores.values())
    shares = dict.fromkeys(twin.labels, 0.0)
    shares |= {twin.labels[c]: p for c, p in zip(scores, softmax(values).tolist(), strict=True)}
    return shares, 1e-9 * max(1.0, *map(abs, values))


def same_label(shares: dict[Any, float], tolerance: float, label: Any) -> bool:
    """Whether the label is the most probable one, or as good as that."""
    best, *others = sorted(shares.values(), reverse=True)
    if others and best - others[0] <= tolerance:
        return best - shares[label] <= tolerance
    return shares[label] == best


def same_splits(twin: NaiveMist, model: MistClassifier) -> None:
    made = model.split_log_
    assert [(s.node, s.feature, s.seen) for s in made] == [
        (node, feature, seen) for node, feature, _, seen in twin.splits
    ]
    assert [s.threshold for s in made] == pytest.approx([s[2] for s in twin.splits], rel=1e-9)


def same_tree(twin: NaiveMist, model: MistClassifier) -> None:
    """Whether a model has the nodes of its twin, and knows of each class at a leaf what it does.

    Sketches are compared at the root: children take theirs over with weights that are rounded.
    """
    same_splits(twin, model)
    state = model._state
    assert (model.n_rows_, list(model._labels.codes)) == (twin.seen, twin.labels)
    for at, node in enumerate(twin.nodes):
        assert state.tree.nodes.mass[at] == pytest.approx(node.mass, rel=1e-9)
        leaf = int(state.tree.nodes.leaf[at])
        assert (leaf < 0) == (node.left >= 0)
        if leaf < 0:
            continue
        record, cells = state.tree.leaves[leaf], leaf_cells(state.tree, leaf)
        assert record["weight_seen"] == pytest.approx(node.rows, rel=1e-9)
        assert bool(record["prior_only"]) == node.prior_only
        assert model.settings()["leaf"] == "majority" or record["n_updates"] == node.n_updates
        assert state.tree.cells.code[cells].tolist() == list(node.cells)
        for cell, theirs in zip(cells.tolist(), node.cells.values(), strict=True):
            _same_cell(twin, model, cell, theirs, prior_only=node.prior_only)
            if at == 0:
                _same_sketch(model, cell, theirs)


def _same_cell(
    twin: NaiveMist, model: MistClassifier, cell: int, theirs: Cell, *, prior_only: bool
) -> None:
    state = model._state
    record = state.tree.cells[cell]
    for name in ("weight", "mass", "count", "steps"):
        assert record[name] == pytest.approx(getattr(theirs, name), rel=1e-9, abs=0.0)
    if prior_only:
        return
    unit = np.array([math.sqrt(twin.run_var(j)) + abs(twin.total.mean[j]) for j in range(twin.d)])
    mean, m2 = state.tree.stats[cell, [MEAN, M2]]
    known = np.full(twin.d, record["weight"])
    if state.observed is not None:
        known = state.observed.cell[cell]
    # What is left of a class on one side may be a difference of nearly equal numbers.
    np.testing.assert_allclose(known, theirs.fw, rtol=1e-9, atol=1e-12 * record["weight"])
    assert (np.abs(mean - theirs.mean) <= 1e-9 * unit).all()
    slack = 1e-6 * np.array(theirs.m2) + 1e-9 * known * unit**2
    assert (np.abs(m2 - theirs.m2) <= slack).all()


def _same_sketch(model: MistClassifier, cell: int, theirs: Cell) -> None:
    state = model._state
    none = state.sketch is None or state.tree.cells.start[cell] < 0
    assert none == (theirs.sketch is None or state.options.n_numeric == 0)
    if none or theirs.sketch is None:
        return
    assert state.tree.cells.flips[cell] == theirs.sketch.compactions
    mine = levels_of(state, cell)
    assert [len(rows) for rows in mine] == [len(rows) for rows in theirs.sketch.levels]
    for rows, others in zip(mine, theirs.sketch.levels, strict=True):
        expected = np.reshape(np.array(others), rows.shape)
        np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(expected, axis=0))
