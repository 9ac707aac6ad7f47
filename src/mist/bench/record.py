"""What one run of the grid leaves behind: its settings, its figures or its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

__all__ = ["MEASURES", "Measure", "Record", "Run"]


@dataclass(frozen=True)
class Measure:
    """How a figure of a run is named, written and compared.

    Examples
    --------
    >>> MEASURES["average_forgetting"].best, MEASURES["nbytes"].write(10_240)
    ('low', '10.0')
    """

    title: str
    """Heading for people, with the unit."""

    best: Literal["high", "low"] | None = None
    """Which end is the better one; None where neither is."""

    pattern: str = "z.3f"
    """Format of the figure."""

    unit: float = 1.0
    """The figure is divided by this before it is written."""

    timed: bool = False
    """Whether the figure is a time or a rate, which no two runs share."""

    def write(self, value: float) -> str:
        """Write a figure as a table shows it.

        Parameters
        ----------
        value : float
            The figure.

        Returns
        -------
        str
            Its text.
        """
        return format(value / self.unit, self.pattern)


def _rate(title: str) -> Measure:
    return Measure(title, "high", ",.0f", timed=True)


MEASURES: Mapping[str, Measure] = {
    "final_accuracy": Measure("final accuracy", "high"),
    "mean_class_recall": Measure("mean class recall", "high"),
    "average_forgetting": Measure("average forgetting", "low"),
    "backward_transfer": Measure("backward transfer", "high"),
    "anytime_accuracy": Measure("anytime accuracy", "high"),
    "prequential_accuracy": Measure("prequential accuracy", "high"),
    "leaves": Measure("leaves", None, ",.1f"),
    "splits": Measure("splits", None, ",.1f"),
    "depth": Measure("depth", None, ".1f"),
    "leaf_impurity": Measure("weighted leaf impurity", "low"),
    "classes_per_leaf": Measure("classes a leaf (mean K_local)", None, ".1f"),
    "nbytes": Measure("size of the model, KB", "low", ",.1f", 1024),
    "rows_per_second": _rate("rows/s, test then train"),
    "learn_rows_per_second": _rate("rows/s, learn"),
    "predict_rows_per_second": _rate("rows/s, predict"),
    "compile_seconds": Measure("seconds compiling", "low", ".1f", timed=True),
}
"""Every figure of a run by its key, in the order of reports."""


@dataclass(frozen=True, order=True)
class Run:
    """One cell of the grid: a method on a data set, prepared in one way, with one seed.

    Examples
    --------
    >>> Run("pendigits", "mist-g", 42, "honest").key
    'honest/pendigits/mist-g/42'
    """

    dataset: str
    """Name of the task set-up, a key of `mist.bench.SETTINGS`."""

    method: str
    """A key of `mist.baselines.METHODS`."""

    seed: int
    """Seed of rows drawn, split, order of rows and model."""

    protocol: str
    """``"honest"`` or ``"paper"``."""

    @property
    def key(self) -> str:
        """One text that no other run has."""
        return f"{self.protocol}/{self.dataset}/{self.method}/{self.seed}"


@dataclass(frozen=True, eq=False)
class Record:
    """The outcome of one run.

    Examples
    --------
    >>> run = Run("wine", "slda", 42, "honest")
    >>> Record(run, error="MemoryError: too large").failed
    True
    """

    run: Run
    """What was run."""

    error: str | None = None
    """Type and message of the error that ended it; None for a run that went through."""

    measures: Mapping[str, float | None] = field(default_factory=dict)
    """A figure for each of `MEASURES`; None where the method has no such thing."""

    accuracy_matrix: Sequence[Sequence[float | None]] = ()
    """``R[i][j]``: accuracy on task j after task i, shape (T, T); None above the diagonal."""

    boundaries: Sequence[int] = ()
    """Training rows up to the end of each task."""

    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Curves over the stream, equally long in pairs: ``rows`` and ``windowed_accuracy``,
    ``evaluation_rows`` and ``seen_accuracy``."""

    recall: Mapping[str, float | None] = field(default_factory=dict)
    """Recall of each class on held-out rows at the end, by the label as text."""

    shape: Mapping[str, int] = field(default_factory=dict)
    """``rows`` learnt, ``held_out`` rows, ``columns``, ``classes`` and ``tasks``."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the model that are not its defaults."""

    seconds: float = 0.0
    """Wall-clock time of the whole run, loading and tests included."""

    @property
    def failed(self) -> bool:
        """Whether the run ended with an error."""
        return self.error is not None

    def after(self, seconds: float) -> Record:
        """Return the same record with the time the run took."""
        return replace(self, seconds=seconds)
