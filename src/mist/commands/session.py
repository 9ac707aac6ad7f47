"""Several models on one stream, row after row."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from mist.adaptation.changes import Change
from mist.commands.prequential_run import PrequentialRun
from mist.io import Chunk
from mist.presets import find_preset
from mist.report import Section

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
        self._first_rows: dict[Any, int] = {} if state is None else state["first_rows"]
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
    def found(self) -> dict[str, list[Change]]:
        """Changes that each model has found in the rows of the last call of `learn`, by name."""
        return {name: run.found for name, run in self._runs.items()}

    def state(self) -> dict[str, Any]:
        """Return the state without the models, as plain values and arrays."""
        return {
            "done": self.done,
            "first_rows": self._first_rows,
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
        learnt = chunk.y if chunk.known is None else chunk.y[chunk.known]
        for label, row in zip(*np.unique(learnt, return_index=True), strict=True):
            self._first_rows.setdefault(label.item(), self.learnt + int(row))
        answers = [run.advance(chunk.X, chunk.y, chunk.known) for run in self._runs.values()]
        self.done += len(chunk.y)
        return answers

    def note(self) -> str:
        """Return progress, speed and accuracy as text."""
        rate = (self.done - self._before) / max(perf_counter() - self._start, 1e-9)
        shares = "  ".join(f"{name} {run.accuracy:.3f}" for name, run in self._runs.items())
        return f"{self.done:,} rows  {rate:,.0f} rows/s  accuracy {shares}"

    def section(self, name: str, n_columns: int, seed: int) -> Section:
        """Return the results as a section of the report.

        Parameters
        ----------
        name : str
            Name of the table.
        n_columns : int
            Number of columns learnt.
        seed : int
            Seed of the models.

        Returns
        -------
        Section
            Has a border at the first row of each class except the first class.
        """
        bare = self.done - self.learnt
        borders = sorted((row, str(label)) for label, row in self._first_rows.items() if row)
        return Section(
            name,
            f"{self.done:,} rows, {n_columns} columns, {len(self._first_rows)} classes."
            + (f" {bare:,} rows had no label and were predicted only." if bare else ""),
            [run.result(name, seed) for run in self._runs.values()],
            np.array([row for row, _ in borders], dtype=np.int64),
            [label for _, label in borders],
        )
