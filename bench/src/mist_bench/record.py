"""The record of one run of the grid: its settings, and its figures or its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

from mist.variants import write_option

__all__ = ["MEASURES", "Experiment", "Measure", "Record", "Run", "Task"]


@dataclass(frozen=True)
class Measure:
    """Name, format and better end of a figure of a run.

    Examples
    --------
    >>> MEASURES["average_forgetting"].best, MEASURES["nbytes"].write(10_240)
    ('low', '10.0')
    """

    title: str
    """Heading, with the unit."""

    best: Literal["high", "low"] | None = None
    """Which end is better; None if neither is."""

    pattern: str = "z.3f"
    """Format of the figure."""

    unit: float = 1.0
    """The figure is divided by this before it is written."""

    timed: bool = False
    """Whether the figure is a time or a rate, which differs from run to run."""

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
    "kappa": Measure("kappa", "high"),
    "kappa_temporal": Measure("kappa-temporal", "high"),
    "prequential_recall": Measure("mean class recall, prequential", "high"),
    "recovery_rows": Measure("rows until recovered from a drift", None, ",.0f"),
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
    """One run of the grid: a method on a data set, with one protocol and one seed.

    Examples
    --------
    >>> Run("pendigits", "mist-g", 42, "honest").key
    'honest/pendigits/mist-g/42'
    """

    dataset: str
    """Name of the task set-up, a key of `mist_bench.SETTINGS`."""

    method: str
    """A key of `mist_bench.methods.METHODS` or `RIVALS`."""

    seed: int
    """Seed of the drawn rows, the split, the order of rows and the model."""

    protocol: str
    """``"honest"`` or ``"paper"``."""

    @property
    def key(self) -> str:
        """Text that identifies the run."""
        return "/".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """Protocol, data set, method and seed."""
        return (self.protocol, self.dataset, self.method, str(self.seed))

    @property
    def kind(self) -> tuple[str, str]:
        """Key shared by runs that take about the same time."""
        return (self.method, self.dataset)


@dataclass(frozen=True, order=True)
class Experiment:
    """One call of an experiment that is not a run of the grid.

    Examples
    --------
    >>> from mist.variants import join_name
    >>> experiment = Experiment.of(join_name, base="mist-g", delta=0.2)
    >>> experiment.key
    'mist.variants.join_name/base=mist-g,delta=0.2/None'
    >>> experiment.call()
    'mist-g+delta=0.2'
    """

    function: str
    """Module and name of the function, with a colon between them."""

    arguments: tuple[tuple[str, Any], ...] = ()
    """Named arguments: numbers, strings, booleans and None."""

    seed: int | None = 0
    """Argument ``seed``; None if the function draws nothing and has no such argument."""

    @classmethod
    def of(cls, function: Callable[..., Any], /, **arguments: Any) -> Experiment:
        """Plan a call.

        Parameters
        ----------
        function : callable
            A function of a module. It is imported again by its name.
        **arguments
            Its arguments, including ``seed`` if it has one.

        Returns
        -------
        Experiment
            The plan.
        """
        rest = tuple((k, v) for k, v in arguments.items() if k != "seed")
        return cls(f"{function.__module__}:{function.__qualname__}", rest, arguments.get("seed"))

    @property
    def key(self) -> str:
        """Text that identifies the experiment."""
        return "/".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """Function, arguments and seed."""
        given = ",".join(f"{k}={write_option(v)}" for k, v in self.arguments)
        return (self.function.replace(":", "."), given or "plain", str(self.seed))

    @property
    def kind(self) -> tuple[str, str]:
        """Key shared by experiments that take about the same time."""
        return (self.function, "")

    def call(self) -> Any:
        """Call the function.

        Returns
        -------
        object
            What it returns.
        """
        module, _, name = self.function.partition(":")
        given = dict(self.arguments)
        if self.seed is not None:
            given["seed"] = self.seed
        return getattr(import_module(module), name)(**given)


Task = Run | Experiment
"""Anything that has a record."""


@dataclass(frozen=True, eq=False)
class Record:
    """The outcome of one run, or of one experiment.

    Examples
    --------
    >>> run = Run("wine", "slda", 42, "honest")
    >>> Record(run, error="MemoryError: too large").failed
    True
    """

    run: Any
    """What was run. For an `Experiment` only `error`, `result` and `seconds` are set."""

    error: str | None = None
    """Type and message of the error that ended it; None for a successful run."""

    measures: Mapping[str, float | None] = field(default_factory=dict)
    """Figure by key of `MEASURES`; None if the method has no such figure."""

    accuracy_matrix: Sequence[Sequence[float | None]] = ()
    """``R[i][j]``: accuracy on task j after task i, shape (T, T); None above the diagonal."""

    boundaries: Sequence[int] = ()
    """Training rows up to the end of each task; for a stream in its own order, up to each drift and
    the end."""

    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Curves over the stream, equally long in groups: ``rows`` and ``windowed_accuracy``,
    ``evaluation_rows`` and ``seen_accuracy``; for trees ``growth_rows``, ``leaves``, ``splits``,
    ``leaf_impurity`` and ``classes_per_leaf``."""

    recall: Mapping[str, float | None] = field(default_factory=dict)
    """Recall of each class on held-out rows at the end, by the label as text."""

    shape: Mapping[str, int] = field(default_factory=dict)
    """``rows`` learnt, ``held_out`` rows, ``columns``, ``classes``, and ``tasks`` or ``drifts``."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the model that are not its defaults."""

    result: Mapping[str, Any] = field(default_factory=dict)
    """What an experiment returned: numbers and texts, and lists of them."""

    seconds: float = 0.0
    """Wall-clock time of the complete run, including loading and tests."""

    @property
    def failed(self) -> bool:
        """Whether the run ended with an error."""
        return self.error is not None

    def after(self, seconds: float) -> Record:
        """Return the same record with the time the run took."""
        return replace(self, seconds=seconds)
