"""Prequential run of a model on a stream of unknown length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.adaptation.changes import Change
from mist.evaluation import StreamResult
from mist.evaluation.changes import changes_after
from mist.evaluation.stream_record import ModelRecord
from mist.io.late_labels import LateRow
from mist.streaming.runs.class_history import Mistakes
from mist.streaming.runs.history import Answers, Cost, Curve
from mist.streaming.runs.records import model_record
from mist.streaming.runs.sureness import Sureness

__all__ = ["PrequentialRun", "Recorder"]

_MOST_SHARES = 1 << 22
"""Most probabilities that are computed at a time: without them memory is the same for any number
of classes."""


class PrequentialRun:
    """Prequential run: test-then-train of one model, chunk by chunk, in bounded memory.

    Parameters
    ----------
    model : MistClassifier
        An unfitted model, or the model that belongs to ``state``.
    title : str
        Name of the model in the result.
    state : mapping or None, default=None
        Result of `state` in an earlier run, to continue it.

    Attributes
    ----------
    hits : int
        Rows predicted right so far.
    learnt : int
        Rows learnt so far, without those that have no label.
    found : list of Change
        Changes that the model has found in the rows of the last call of `advance`.
    chances : ndarray of float64
        Probability of each prediction of the last call of `advance`; NaN where it is not known.
    """

    def __init__(self, model: Any, title: str, state: Mapping[str, Any] | None = None) -> None:
        self.hits = 0
        self.learnt = 0
        self.found: list[Change] = []
        self.chances = np.zeros(0)
        self.model = model
        self._title = title
        self._seconds = 0.0
        if state is None:
            self._answers, self._leaves, self._cost = Answers(), Curve(), Cost()
        else:
            self.hits, self.learnt = state["hits"], state["learnt"]
            self._seconds = state["seconds"]
            self._answers = Answers(**state["answers"])
            self._leaves = Curve(**state["leaves"])
            self._cost = Cost(state["cost"])

    @property
    def accuracy(self) -> float:
        """Share of rows predicted right so far; NaN before the first row."""
        return self.hits / self.learnt if self.learnt else math.nan

    def state(self) -> dict[str, Any]:
        """Return all measurements so far, as plain values and arrays."""
        return {
            "hits": self.hits,
            "learnt": self.learnt,
            "seconds": self._seconds,
            "answers": self._answers.state(),
            "leaves": self._leaves.state(),
            "cost": self._cost.state(),
        }

    def advance(
        self,
        X: NDArray[np.float64] | Mapping[str, NDArray[np.float64]],
        y: NDArray[Any],
        known: NDArray[np.bool_] | None = None,
        indicators: Mapping[str, str] = MappingProxyType({}),
        late: Sequence[LateRow] | None = None,
    ) -> list[Any]:
        """Predict each row, then learn it if it has a label.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d), or mapping of names to columns
            Rows.
        y : ndarray, shape (n,)
            Their labels.
        known : ndarray of bool, shape (n,), or None
            Which rows have a label; None means all.
        indicators : mapping
            As for `MistClassifier.prequential_many`, if rows have columns by name.
        late : sequence of LateRow, n of them, or None, default=None
            What each row is to the rows that wait for labels. The prediction of a row that waits is
            added to its ``shares``, and counts when its label comes.

        Returns
        -------
        list
            n predictions; an empty text if nothing had been learnt yet. The first learnt row counts
            as wrong.
        """
        self.found = []
        self.chances = np.full(len(y), math.nan)
        if known is None:
            known = np.ones(len(y), dtype=bool)
        by_name = isinstance(X, Mapping)
        if not (self.learnt or known.any()) or (by_name and not X):
            answers: list[Any] = [""] * len(y)
            return answers if late is None else self._as_asked(answers, late)
        weights = None if known.all() else known.astype(np.float64)
        start = perf_counter()
        given = {"indicators": indicators} if by_name else {}
        predictions, self.chances = _predict_then_learn(self.model, X, y, weights, **given)
        self._seconds += perf_counter() - start
        answers = predictions.tolist()
        if not self.learnt:
            blank = int(np.argmax(known)) + 1
            answers[:blank] = [""] * blank
        if late is None:
            correct = (predictions == y)[known]
        else:
            answers = self._as_asked(answers, late)
            pairs = zip(answers, y.tolist(), strict=True)
            correct = np.array([answer == label for answer, label in pairs])[known]
        if not self.learnt:
            correct[:1] = False
        self.found = changes_after(self.model, self.learnt)
        self.learnt += len(correct)
        self.hits += int(correct.sum())
        self._answers.add(correct)
        self._leaves.add(self.learnt, self.model.n_leaves_)
        self._cost.add(self.learnt, self.model.nbytes, self._seconds)
        return answers

    def _as_asked(self, answers: Sequence[Any], late: Sequence[LateRow]) -> list[Any]:
        """Replace predictions of rows whose label came by those that were made when they came."""
        out = list(answers)
        for place, row in enumerate(late):
            if row.role == "asked" and row.kept is not None:
                row.kept.shares.append([out[place], float(self.chances[place])])
            elif row.role == "answer" and row.kept is not None:
                # Every model takes its own, in the order in which they were added.
                out[place], self.chances[place] = row.kept.shares.pop(0)
            elif row.role == "unknown":
                out[place] = ""
        return out

    def record(self, mistakes: Mistakes, sureness: Sureness, n_classes: int) -> ModelRecord:
        """Return the counts of the model by class, and its cost over the stream.

        Parameters
        ----------
        mistakes : Mistakes
            Its hits and confusions.
        sureness : Sureness
            How sure it was.
        n_classes : int
            Classes of the stream.

        Returns
        -------
        ModelRecord
        """
        return model_record(mistakes, sureness, self._cost, n_classes)

    def result(self, dataset: str, seed: int) -> StreamResult:
        """Return the measurements; without tasks, final accuracy and forgetting are NaN.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        seed : int
            Seed of the model.

        Returns
        -------
        StreamResult
            Its accuracy matrix has the shape (0, 0).
        """
        nothing = np.zeros(0, dtype=np.int64)
        checkpoints, leaves = self._leaves.points()
        return StreamResult(
            model=self._title,
            dataset=dataset,
            seed=seed,
            accuracy_matrix=np.zeros((0, 0)),
            final_accuracy=math.nan,
            mean_class_recall=math.nan,
            average_forgetting=math.nan,
            backward_transfer=math.nan,
            prequential_accuracy=self.accuracy,
            correct=self._answers.shares(),
            rows_per_answer=self._answers.rows_each,
            boundaries=nothing,
            n_leaves=nothing,
            n_splits=nothing,
            checkpoints=checkpoints,
            leaves_curve=leaves,
            nbytes=self.model.nbytes,
            seconds=self._seconds,
            rows_per_second=self.learnt / self._seconds,
            changes=tuple(changes_after(self.model, 0)),
        )


class Recorder:
    """Wrapper of a model that records its test-then-train predictions and their cost.

    Parameters
    ----------
    model : MistClassifier
        The model, which handles everything else than ``prequential``.

    Attributes
    ----------
    model : MistClassifier
        The model.
    predictions : list
        The predictions so far, in the order of the stream.
    chances : list of float
        The probability of each prediction; NaN where it is not known.
    cost : Cost
        Memory and time so far.
    """

    def __init__(self, model: Any) -> None:
        self.predictions: list[Any] = []
        self.chances: list[float] = []
        self.cost = Cost()
        self.model = model
        self._seconds = 0.0

    def prequential(self, X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[Any]:
        """Predict, then learn each row with the model, and record the predictions."""
        start = perf_counter()
        predictions, chances = _predict_then_learn(self.model, X, y)
        self._seconds += perf_counter() - start
        self.predictions.extend(predictions.tolist())
        self.chances.extend(chances.tolist())
        self.cost.add(len(self.predictions), self.model.nbytes, self._seconds)
        return predictions

    def results(self) -> tuple[list[Any], list[float], Cost]:
        """Return predictions, their probabilities and the cost."""
        return self.predictions, self.chances, self.cost

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the model."""
        return getattr(self.model, name)


def _predict_then_learn(
    model: Any, X: Any, y: NDArray[Any], weights: Any = None, **indicators: Any
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the predictions of rows that are then learnt, and the probability of each.

    ``indicators`` are given if rows have columns by name. Probabilities are NaN where nothing was
    known, and if there are too many classes.
    """
    many = "_many" if indicators else ""
    n = len(y)
    if n * (n + len(getattr(model, "classes_", ()))) > _MOST_SHARES:
        labels = getattr(model, f"prequential{many}")(X, y, weights, **indicators)
        return labels, np.full(n, math.nan)
    labels, shares = getattr(model, f"prequential_proba{many}")(X, y, weights, **indicators)
    chances = shares[np.arange(n), np.searchsorted(model.classes_, labels)]
    return labels, np.where(shares.any(axis=1), chances, math.nan)
