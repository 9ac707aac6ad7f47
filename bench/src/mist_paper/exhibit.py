"""Items of the paper (tables, figures, theorems): their runs, and the exhibit made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mist_bench.record import Experiment, Record, Run, Task
from mist_bench.result_tables import Table
from mist_bench.suites import SEEDS
from mist_paper.comparison import Comparison
from mist_paper.drawing import Drawing

__all__ = ["Exhibit", "Item", "Records", "Scope", "results_of", "runs"]

Records = Mapping[Task, Record]
"""Records of the runs so far, including failures."""

_FAST_SEEDS = 2


@dataclass(frozen=True)
class Scope:
    """How much is run.

    Examples
    --------
    >>> Scope().seeds, Scope.quick().seeds
    ((42, 123, 456, 789, 3330), (42, 123))
    """

    seeds: tuple[int, ...] = SEEDS
    """Seeds of the streams."""

    fast: bool = False
    """Whether to leave out what takes long: other libraries' trees on large sets, and most of the
    repetitions of experiments. All other runs are as in full."""

    @classmethod
    def quick(cls) -> Scope:
        """Return the scope of a quick run."""
        return cls(SEEDS[:_FAST_SEEDS], fast=True)

    def some(self, full: int, fast: int) -> int:
        """Choose between two numbers of repetitions.

        Parameters
        ----------
        full, fast : int
            Repetitions in a full and in a fast run.

        Returns
        -------
        int
            One of them.

        Examples
        --------
        >>> Scope().some(1000, 10), Scope.quick().some(1000, 10)
        (1000, 10)
        """
        return fast if self.fast else full


@dataclass(frozen=True, eq=False)
class Exhibit:
    """Tables, figures and notes of an item."""

    tables: Sequence[Table] = ()
    """Its tables, the one to read first."""

    drawings: Sequence[Drawing] = ()
    """Its figures."""

    comparisons: Sequence[Comparison] = ()
    """Every figure of the paper that belongs to it, with ours and a verdict."""

    notes: Sequence[str] = ()
    """Notes for the reader, one paragraph each."""


@dataclass(frozen=True, eq=False)
class Item:
    """A table or figure of the paper, or the check of a theorem."""

    title: str
    """What it shows, in a few words."""

    kind: Literal["table", "figure", "theory"]
    """Its group in the list."""

    label: str
    """Its label in the paper; empty if the paper has no such item."""

    plan: Callable[[Scope], Sequence[Task]]
    """Returns the runs that it needs."""

    show: Callable[[Scope, Records], Exhibit]
    """Makes the exhibit from the records; missing and failed runs are left out."""


def runs(methods: Iterable[str], datasets: Iterable[str], seeds: Iterable[int]) -> list[Run]:
    """Plan methods over data sets and seeds under the paper's protocol.

    Parameters
    ----------
    methods, datasets : iterable of str
        Keys of `mist_bench.methods.METHODS` and `mist_bench.SETTINGS`, or variants of them.
    seeds : iterable of int
        Seeds.

    Returns
    -------
    list of Run
        All of them.

    Examples
    --------
    >>> [run.key for run in runs(["mist-g", "vfdt"], ["iris"], [42])]
    ['paper/iris/mist-g/42', 'paper/iris/vfdt/42']
    """
    methods, seeds = list(methods), list(seeds)
    return [
        Run(dataset, method, seed, "paper")
        for dataset in datasets
        for seed in seeds
        for method in methods
    ]


def results_of(
    tasks: Iterable[Task], records: Records
) -> list[tuple[Experiment, Mapping[str, Any]]]:
    """Collect what experiments returned.

    Parameters
    ----------
    tasks : iterable of Run or Experiment
        A plan; its runs are left out.
    records : mapping of Run or Experiment to Record
        What has been run.

    Returns
    -------
    list of tuple
        Each successful experiment, and its result.

    Examples
    --------
    >>> experiment = Experiment("module:function")
    >>> results_of([experiment], {experiment: Record(experiment, result={"n": 1})})[0][1]
    {'n': 1}
    """
    found = ((task, records.get(task)) for task in tasks if isinstance(task, Experiment))
    return [(t, record.result) for t, record in found if record is not None and not record.failed]
