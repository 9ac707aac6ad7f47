"""Several models on one stream, row after row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from time import perf_counter
from typing import Any

import numpy as np

from mist.adaptation.changes import Change
from mist.io import Chunk
from mist.presets import find_preset
from mist.report import Section
from mist.streaming.runs.counts import Counts
from mist.streaming.runs.prequential_run import PrequentialRun
from mist.streaming.runs.records import stream_record

__all__ = ["Session"]


class Session:
    """Test-then-train of several models on the same rows.

    Parameters
    ----------
    models : mapping of str to model
        Models by the names of their presets.
    state : mapping or None, default=None
        Result of `state` in an earlier run, to continue it.

    Attributes
    ----------
    done : int
        Rows processed so far.
    models : dict
        The models by name.
    """

    def __init__(self, models: Mapping[str, Any], state: Mapping[str, Any] | None = None) -> None:
        self.done = 0 if state is None else state["done"]
        self.models = dict(models)
        self._counts = Counts(list(models), state)
        states = {} if state is None else state["trials"]
        self._runs = {
            name: PrequentialRun(model, find_preset(name).title, states.get(name))
            for name, model in models.items()
        }
        self._before = self.done
        self._start = perf_counter()

    @property
    def learnt(self) -> int:
        """Rows learnt so far, without those that have no label."""
        return next(iter(self._runs.values())).learnt

    @property
    def accuracy(self) -> float:
        """Share of rows that the first model has predicted right; NaN before the first row."""
        return next(iter(self._runs.values())).accuracy

    @property
    def found(self) -> dict[str, list[Change]]:
        """Changes that each model has found in the rows of the last call of `learn`, by name."""
        return {name: run.found for name, run in self._runs.items()}

    def state(self) -> dict[str, Any]:
        """Return the state without the models, as plain values and arrays."""
        return {
            "done": self.done,
            **self._counts.state(),
            "trials": {name: run.state() for name, run in self._runs.items()},
        }

    def learn(self, chunk: Chunk) -> list[list[Any]]:
        """Predict, then learn some rows with each model.

        Parameters
        ----------
        chunk : Chunk
            The next rows.

        Returns
        -------
        list of list
            The predictions of each model.
        """
        before = self.learnt
        given = chunk.X, chunk.y, chunk.known, chunk.indicators, chunk.late
        answers = [run.advance(*given) for run in self._runs.values()]
        if self.learnt > before:
            self._count(chunk, answers)
        self.done += len(chunk.y)
        return answers

    def _count(self, chunk: Chunk, answers: list[list[Any]]) -> None:
        X, known, labels, places = chunk.X, chunk.known, chunk.y, chunk.places()
        chances = [run.chances for run in self._runs.values()]
        if known is not None:
            X = {n: x[known] for n, x in X.items()} if isinstance(X, Mapping) else X[known]
            labels, chances = labels[known], [each[known] for each in chances]
            places, *answers = (list(compress(each, known)) for each in (places, *answers))
        self._counts.add(X, chunk.names, places, labels.tolist(), answers, chances)

    def note(self) -> str:
        """Return progress, speed and accuracy as text."""
        rate = (self.done - self._before) / max(perf_counter() - self._start, 1e-9)
        shares = "  ".join(f"{name} {run.accuracy:.3f}" for name, run in self._runs.items())
        return f"{self.done:,} rows  {rate:,.0f} rows/s  accuracy {shares}"

    def section(self, name: str, columns: Sequence[str], seed: int) -> Section:
        """Return the results as a section of the report.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : sequence of str
            Names of the columns learnt.
        seed : int
            Seed of the models.

        Returns
        -------
        Section
            Has a border at the first row of each class except the first class.
        """
        bare = self.done - self.learnt
        counts = self._counts
        stream = stream_record(counts.classes, counts.columns, counts.columns.names or columns)
        n_classes = len(stream.labels)
        borders = [
            (int(row), str(label))
            for row, label in zip(stream.first_rows, stream.labels, strict=True)
            if row
        ]
        return Section(
            name,
            f"{self.done:,} rows, {len(columns)} columns, {n_classes} classes."
            + (f" {bare:,} rows had no label and were predicted only." if bare else ""),
            [run.result(name, seed) for run in self._runs.values()],
            np.array([row for row, _ in borders], dtype=np.int64),
            [label for _, label in borders],
            stream,
            [
                run.record(counts.mistakes[name], counts.sureness[name], n_classes)
                for name, run in self._runs.items()
            ],
        )
