"""Everything that a run counts for its report, next to the measurements of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.streaming.runs.class_history import Classes, Mistakes
from mist.streaming.runs.column_history import Columns
from mist.streaming.runs.sureness import Sureness

__all__ = ["Counts"]


class Counts:
    """Counts of a stream and of several models on it.

    Parameters
    ----------
    models : sequence of str
        Names of the models.
    state : mapping or None, default=None
        Contains the result of `state` in an earlier run, to continue it.

    Attributes
    ----------
    classes : Classes
        Classes of the stream.
    columns : Columns
        Its columns.
    mistakes : dict of str to Mistakes
        Hits and confusions of each model.
    sureness : dict of str to Sureness
        How sure each model was.
    """

    def __init__(self, models: Sequence[str], state: Mapping[str, Any] | None = None) -> None:
        given: Mapping[str, Any] = {} if state is None else state
        self.classes = Classes(given.get("classes"))
        self.columns = Columns(given.get("columns"))
        mistakes, sureness = given.get("mistakes", {}), given.get("sureness", {})
        self.mistakes = {name: Mistakes(mistakes.get(name)) for name in models}
        self.sureness = {name: Sureness(sureness.get(name)) for name in models}
        counts: list[Columns | Mistakes] = [self.columns, *self.mistakes.values()]
        if any(each.n_classes > len(self.classes.rows) for each in counts):
            raise ValueError("the state has counts of classes that did not occur")

    def add(
        self,
        X: NDArray[np.float64] | Mapping[str, NDArray[np.float64]],
        names: Sequence[str],
        places: Sequence[Any],
        labels: Sequence[Any],
        answers: Sequence[Sequence[Any]],
        chances: Sequence[NDArray[np.float64]],
    ) -> None:
        """Add the next rows, all with labels.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d), or mapping of names to columns
            The rows.
        names : sequence of str
            Names of the columns, unless ``X`` has them.
        places : sequence of n
            Origins of the rows.
        labels : sequence of n
            Labels.
        answers : sequence of sequence of n
            The predictions of each model; an empty text for none.
        chances : sequence of ndarray of float64, shape (n,)
            The probability of each prediction of each model; NaN where it is not known.
        """
        known = len(self.classes.first_rows)
        done = int(self.classes.rows.sum())
        codes = self.classes.add(labels)
        first = [row - done for row in [*self.classes.first_rows.values()][known:]]
        outliers = self.columns.outliers(X, names)
        self.columns.add(X, codes)
        for name, predicted, sure in zip(self.mistakes, answers, chances, strict=True):
            self.mistakes[name].add(codes, self.classes.codes_of(predicted))
            self.sureness[name].add(places, labels, predicted, sure, first, outliers)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "classes": self.classes.state(),
            "columns": self.columns.state(),
            "mistakes": {name: each.state() for name, each in self.mistakes.items()},
            "sureness": {name: each.state() for name, each in self.sureness.items()},
        }
