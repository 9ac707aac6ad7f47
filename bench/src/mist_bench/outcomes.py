"""Records of a grid matched with its plan: runs done, failed and missing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mist.variants import split_name
from mist_bench.methods import METHODS, RIVALS, Method
from mist_bench.record import Record, Run
from mist_bench.suites import SETTINGS

__all__ = ["Cell", "Outcomes", "arrange", "group_of", "heading_of", "known", "title_of"]


@dataclass(frozen=True, eq=False)
class Cell:
    """All runs of one method on one data set.

    Examples
    --------
    >>> run = Run("wine", "slda", 42, "honest")
    >>> cell = Cell((42, 123), (Record(run, measures={"final_accuracy": 0.9}),), ())
    >>> cell.values("final_accuracy"), cell.missing
    ([0.9], (123,))
    >>> Cell((42,), (), ()).state
    'not run'
    """

    seeds: tuple[int, ...]
    """Planned seeds."""

    done: tuple[Record, ...]
    """Successful runs, by seed."""

    failed: tuple[Record, ...]
    """Runs that ended with an error, by seed."""

    @property
    def missing(self) -> tuple[int, ...]:
        """Planned seeds without a record."""
        recorded = {record.run.seed for record in (*self.done, *self.failed)}
        return tuple(seed for seed in self.seeds if seed not in recorded)

    @property
    def state(self) -> str:
        """The reason if there is no figure."""
        if self.done or not self.seeds:
            return "no figure"
        return "not run" if self.missing else "failed"

    def values(self, measure: str) -> list[float]:
        """Return the figures of the successful runs that have one.

        Parameters
        ----------
        measure : str
            A key of `mist_bench.MEASURES`.

        Returns
        -------
        list of float
            Finite figures, by seed.
        """
        return known(record.measures.get(measure) for record in self.done)


_GROUPS = ("ours", "tree", "other", "ablation")

_NOTHING = Cell((), (), ())


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The whole grid, in the order of tables. Made by `arrange`.

    Examples
    --------
    >>> plan = [Run("wine", method, 42, "honest") for method in ("slda", "mist-g")]
    >>> outcomes = arrange([Record(plan[0])], datasets=["wine"], planned=plan)
    >>> outcomes.methods, outcomes.n_planned, outcomes.n_done, outcomes.n_missing
    (('mist-g', 'slda'), 2, 1, 1)
    """

    methods: tuple[str, ...]
    """Planned methods in the order of `mist_bench.methods.METHODS`; rivals end their group."""

    datasets: tuple[str, ...]
    """Data sets in the order asked for."""

    seeds: tuple[int, ...]
    """All planned seeds, in the order of the plan."""

    cells: Mapping[tuple[str, str], Cell]
    """Runs of each method on each data set."""

    def cell(self, method: str, dataset: str) -> Cell:
        """Return the runs of a method on a data set.

        Parameters
        ----------
        method, dataset : str
            Their keys.

        Returns
        -------
        Cell
            An empty one for a pair that was not planned.
        """
        return self.cells.get((method, dataset), _NOTHING)

    @property
    def n_planned(self) -> int:
        """Number of planned runs."""
        return sum(len(cell.seeds) for cell in self.cells.values())

    @property
    def n_done(self) -> int:
        """Number of successful runs."""
        return sum(len(cell.done) for cell in self.cells.values())

    @property
    def n_failed(self) -> int:
        """Number of runs that ended with an error."""
        return sum(len(cell.failed) for cell in self.cells.values())

    @property
    def n_missing(self) -> int:
        """Number of planned runs without a record."""
        return sum(len(cell.missing) for cell in self.cells.values())


def arrange(
    records: Iterable[Record], *, datasets: Sequence[str], planned: Sequence[Run]
) -> Outcomes:
    """Arrange records in their grid.

    Parameters
    ----------
    records : iterable of Record
        In any order. Records of runs that are not planned are left out.
    datasets : sequence of str
        Data sets in the order of reports; planned runs on others are left out.
    planned : sequence of Run
        All runs of the grid, under one protocol.

    Returns
    -------
    Outcomes
        The grid; the same for any order of the records.

    Raises
    ------
    ValueError
        If nothing is planned on these data sets, a run is planned or recorded twice, or the plan
        holds more than one protocol.

    Examples
    --------
    >>> plan = [Run("wine", "slda", seed, "honest") for seed in (42, 123)]
    >>> failed = Record(plan[1], error="MemoryError: too large")
    >>> outcomes = arrange([failed, Record(plan[0])], datasets=["wine"], planned=plan)
    >>> outcomes.cell("slda", "wine").failed[0].run.seed
    123
    """
    wanted = set(datasets)
    plan = [run for run in planned if run.dataset in wanted]
    if not plan:
        raise ValueError("no run is planned on any of these data sets")
    protocols = sorted({run.protocol for run in plan})
    if len(protocols) > 1:
        raise ValueError(f"runs under {' and '.join(protocols)} need a report each, not one")
    _refuse_twins(plan, "planned")
    known = set(plan)
    kept = sorted((r for r in records if r.run in known), key=lambda record: record.run)
    _refuse_twins([record.run for record in kept], "recorded")

    seeds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for run in plan:
        seeds[run.method, run.dataset].append(run.seed)
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in kept:
        found[record.run.method, record.run.dataset].append(record)
    return Outcomes(
        methods=tuple(sorted({run.method for run in plan}, key=_place)),
        datasets=tuple(dict.fromkeys(datasets)),
        seeds=tuple(dict.fromkeys(run.seed for run in plan)),
        cells={
            key: Cell(
                tuple(seeds[key]),
                tuple(record for record in found[key] if not record.failed),
                tuple(record for record in found[key] if record.failed),
            )
            for key in seeds
        },
    )


def known(values: Iterable[float | None]) -> list[float]:
    """Leave out missing figures.

    Parameters
    ----------
    values : iterable of float or None
        Figures, None or NaN where missing.

    Returns
    -------
    list of float
        The finite ones.

    Examples
    --------
    >>> known([0.5, None, float("nan")])
    [0.5]
    """
    return [value for value in values if value is not None and math.isfinite(value)]


def title_of(method: str) -> str:
    """Return the display name of a method.

    Parameters
    ----------
    method : str
        Its key.

    Returns
    -------
    str
        Its title; the key itself for a method that this version does not have.

    Examples
    --------
    >>> title_of("mist-g"), title_of("from-another-version")
    ('MIST-G', 'from-another-version')
    """
    found = _find(method)
    return method if found is None else found.title


def heading_of(dataset: str) -> str:
    """Return the name of a data set for headings.

    Parameters
    ----------
    dataset : str
        Its key.

    Returns
    -------
    str
        Its title; the key itself for a data set that this version does not have.

    Examples
    --------
    >>> heading_of("mnist"), heading_of("from-another-version")
    ('Split-MNIST', 'from-another-version')
    """
    return SETTINGS[dataset].title if dataset in SETTINGS else dataset


def group_of(method: str) -> str:
    """Return the group of a method.

    Parameters
    ----------
    method : str
        Its key.

    Returns
    -------
    str
        ``"ours"``, ``"tree"``, ``"other"`` or ``"ablation"``; ``"other"`` for a method that this
        version does not have.

    Examples
    --------
    >>> group_of("vfdt")
    'tree'
    """
    found = _find(method)
    return "other" if found is None else found.group


def _find(method: str) -> Method | None:
    """Description of a method; None for one that this version does not have."""
    return next((known[method] for known in (METHODS, RIVALS) if method in known), None)


def _place(method: str) -> tuple[int, str]:
    known = {**METHODS, **RIVALS}
    # The sort keeps the order within a group.
    order = sorted(known, key=lambda name: _GROUPS.index(known[name].group))
    base = split_name(method)[0]
    return (order.index(base) if base in order else len(order), method)


def _refuse_twins(runs: Sequence[Run], what: str) -> None:
    seen: set[Run] = set()
    for run in runs:
        if run in seen:
            raise ValueError(f"the run {run.key} is {what} twice")
        seen.add(run)
