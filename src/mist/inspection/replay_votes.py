"""Why a `mist.MistReplayForest` predicts a class: votes, streaming trees, and cells at the row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mist.engine.class_memory import ClassMemory, cell_of

__all__ = ["ClassVote", "ReplayExplanation", "explain_votes"]

Array = np.ndarray[Any, Any]


class ClassVote(NamedTuple):
    """What speaks for one class.

    Attributes
    ----------
    label : object
        The class.
    probability : float
        Its predicted probability.
    votes : float
        Share of the replay trees that vote for it.
    base : float
        Its probability by the streaming trees.
    rows : float
        Share of the rows of the class that its cells at the row stand for, mean over its memory
        trees; NaN for a class without a memory.
    distance : float
        Distance of the row from the means of these cells, in standard deviations of the class per
        column that is known; mean over its memory trees. NaN for a class that never varied.
    """

    label: Any
    probability: float
    votes: float
    base: float
    rows: float
    distance: float


class ReplayExplanation(NamedTuple):
    """Explanation of one prediction of a `mist.MistReplayForest`.

    Attributes
    ----------
    prediction : object
        The predicted label.
    classes : list of ClassVote
        All classes: the prediction, then by probability.
    """

    prediction: Any
    classes: list[ClassVote]

    def __str__(self) -> str:
        head = f"prediction: {self.prediction}\n"
        rows = [["class", "probability", "votes", "trees", "rows", "distance"]]
        for each in self.classes:
            rows.append([str(each.label), *(f"{value:.3f}" for value in each[1:])])
        width = max(len(row[0]) for row in rows)
        return head + "\n".join(
            f"{row[0]:<{width}}" + "".join(f"{value:>13}" for value in row[1:]) for row in rows
        )


def explain_votes(
    labels: list[Any],
    prediction: Any,
    shares: Array,
    votes: Array,
    base: Array,
    codes: Array,
    memory: Any,
    X: Array,
) -> ReplayExplanation:
    """Put together what speaks for each class.

    Parameters
    ----------
    labels : list
        Labels in the order of ``classes_``.
    prediction : label
        The label that the model predicts.
    shares, votes, base : ndarray of float64, shape (n_classes,)
        Probabilities, shares of votes and probabilities by the streaming trees.
    codes : ndarray of int64, shape (n_classes,)
        Code of each class in the memory, -1 without one.
    memory : ClassMemory
        The memories.
    X : ndarray of float64, shape (1, d)
        The row in the engine's order of columns.

    Returns
    -------
    ReplayExplanation
    """
    classes = [
        ClassVote(label, float(p), float(v), float(b), *_at_row(memory, int(code), X))
        for label, p, v, b, code in zip(labels, shares, votes, base, codes, strict=True)
    ]
    # The rule of decision may choose another class than the most probable one.
    classes.sort(key=lambda each: (each.label != prediction, -each.probability))
    return ReplayExplanation(prediction, classes)


def _at_row(memory: ClassMemory, code: int, X: Array) -> tuple[float, float]:
    """Share of its rows, and distance, of the cells of a class at a row."""
    roots = memory.roots[code] if code >= 0 else np.zeros(0, np.int32)
    if not (roots >= 0).any():
        return np.nan, np.nan
    cells = [int(cell_of(memory, int(root), X, 0)) for root in roots[roots >= 0]]
    seen = memory.seen[code]
    variance = np.divide(memory.spread[code], seen, out=np.zeros(len(seen)), where=seen > 0.0)
    away = memory.mean[cells] - X[0]
    known = np.isfinite(away) & (variance > 0.0)
    squares = np.where(known, away, 0.0) ** 2 / np.where(variance > 0.0, variance, 1.0)
    n = known.sum(axis=1)
    rows = float(memory.cells.rows[cells].mean() / memory.weight[code])
    if not n.all():
        return rows, np.nan
    return rows, float(np.sqrt(squares.sum(axis=1) / n).mean())
