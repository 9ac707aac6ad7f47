"""A model on a stream of chunks whose length nobody knows."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult, prequential_accuracy

__all__ = ["Recorder", "Trial"]


class Trial:
    """Test-then-train of one fresh model, chunk after chunk.

    Of each row one boolean is kept.

    Parameters
    ----------
    model : MistClassifier
        A model that has learnt nothing.
    title : str
        Its name in the result.

    Attributes
    ----------
    hits : int
        Rows answered right so far.
    """

    def __init__(self, model: Any, title: str) -> None:
        self.hits = 0
        self._model = model
        self._title = title
        self._correct: list[NDArray[np.bool_]] = []
        self._checkpoints: list[int] = []
        self._leaves: list[int] = []
        self._done = 0
        self._seconds = 0.0

    def advance(self, X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[Any]:
        """Predict, then learn each row.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
            Rows.
        y : ndarray, shape (n,)
            Their labels.

        Returns
        -------
        ndarray, shape (n,)
            The predictions. That of the very first row counts as wrong whatever it is.
        """
        start = perf_counter()
        predictions: NDArray[Any] = self._model.prequential(X, y)
        self._seconds += perf_counter() - start
        correct = predictions == y
        if not self._done:
            correct[0] = False
        self._done += len(y)
        self.hits += int(correct.sum())
        self._correct.append(correct)
        self._checkpoints.append(self._done)
        self._leaves.append(self._model.n_leaves_)
        return predictions

    def result(self, dataset: str, seed: int) -> StreamResult:
        """Return what was measured; without tasks, final accuracy and forgetting are NaN.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        seed : int
            Seed of the model.

        Returns
        -------
        StreamResult
            With an accuracy matrix of shape (0, 0).
        """
        correct = np.concatenate(self._correct)
        nothing = np.zeros(0, dtype=np.int64)
        return StreamResult(
            model=self._title,
            dataset=dataset,
            seed=seed,
            accuracy_matrix=np.zeros((0, 0)),
            final_accuracy=math.nan,
            mean_class_recall=math.nan,
            average_forgetting=math.nan,
            backward_transfer=math.nan,
            prequential_accuracy=prequential_accuracy(correct),
            correct=correct,
            boundaries=nothing,
            n_leaves=nothing,
            n_splits=nothing,
            checkpoints=np.array(self._checkpoints),
            leaves_curve=np.array(self._leaves),
            nbytes=self._model.nbytes,
            seconds=self._seconds,
            rows_per_second=self._done / self._seconds,
        )


class Recorder:
    """Stands in front of a model and keeps its test-then-train predictions.

    Parameters
    ----------
    model : MistClassifier
        The model; everything but ``prequential`` is passed on to it.

    Attributes
    ----------
    predictions : list
        The predictions so far, in the order of the stream.
    """

    def __init__(self, model: Any) -> None:
        self.predictions: list[Any] = []
        self._model = model

    def prequential(self, X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[Any]:
        """Predict, then learn each row, as the model does."""
        predictions: NDArray[Any] = self._model.prequential(X, y)
        self.predictions.extend(predictions.tolist())
        return predictions

    def __getattr__(self, name: str) -> Any:
        """Ask the model for everything else."""
        return getattr(self._model, name)
