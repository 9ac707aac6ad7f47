"""Our figures compared with those of the paper: deviations and verdicts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mist_bench.cells import NOTHING
from mist_bench.outcomes import heading_of, title_of
from mist_bench.record import Record, Run
from mist_bench.result_tables import Table
from mist_bench.suites import SETTINGS, SUITES
from mist_paper.values import (
    MAIN_TABLES,
    PAPER_MEASURES,
    PAPER_TABLES,
    PaperCell,
    cells_of,
    read_paper,
    reason_for,
)

__all__ = [
    "Comparison",
    "Figures",
    "agreement_table",
    "beside",
    "beside_table",
    "cell_table",
    "compare",
    "comparison_tables",
    "difference_table",
    "figures_of",
    "key_of",
    "mean_of",
    "name_of",
]

Key = tuple[str, str, str]
Figures = Mapping[Key, Mapping[int, float]]
"""Figures by method, data set and measure, each by seed."""

# The mean recall over classes reproduces the paper's final accuracy on every data set whose
# preparation is known. The mean over tasks, the paper's wording, differs if class sizes differ.
_OURS = {"mean_class_recall": "final_accuracy"}

# Reasons why figures are not comparable.
_REASONS = {
    **{
        key: "a time or a rate of another machine and another program"
        for key, measure in PAPER_MEASURES.items()
        if measure.timed
    },
    "nbytes": "the paper does not say how it counts bytes",
    "events": "here every decision counts, not only those that split",
    **dict.fromkeys(
        ("cdf_error_max", "gain_error_max", "margin"),
        "the largest error of other decisions, and of more of them",
    ),
}

_LIMIT = 2.0

# The baseline of relative changes, and its measure.
_DEFAULTS = {
    "relative_change": ("mist-g", "final_accuracy"),
    "relative_seconds": ("mist-k", "seconds"),
}


@dataclass(frozen=True)
class Comparison:
    """A figure of the paper and ours.

    Examples
    --------
    >>> cell = PaperCell("tree-results", "mist-g", "wine", "final_accuracy", 0.97, 0.02)
    >>> Comparison(cell, ours_mean=0.96, ours_sd=0.0, n_seeds=5, deviations=-0.5).verdict
    'reproduced'
    """

    cell: PaperCell
    """The paper's figure."""

    ours_mean: float
    """Mean over seeds, in the unit of the measure; NaN where nothing was run."""

    ours_sd: float
    """Population standard deviation over seeds."""

    n_seeds: int
    """Number of successful runs."""

    deviations: float
    """How far ours is above the paper's, in standard deviations; NaN where not judged."""

    @property
    def verdict(self) -> Literal["reproduced", "differs", "not determinable"]:
        """``"reproduced"`` up to two standard deviations; sizes and speeds are not judged."""
        if math.isnan(self.deviations):
            return "not determinable"
        return "reproduced" if abs(self.deviations) <= _LIMIT else "differs"

    @property
    def reason(self) -> str:
        """Why it differs or is not determinable; empty for a figure that is reproduced."""
        if self.verdict == "reproduced":
            return ""
        if not self.n_seeds:
            return "not run"
        cell = self.cell
        if self.verdict == "not determinable":
            return _REASONS[cell.measure]
        return reason_for(cell.measure, cell.method, cell.dataset) or "not explained"


def figures_of(records: Iterable[Record]) -> Figures:
    """Collect the figures of runs under the paper's protocol, and derived figures.

    The paper's final accuracy is our mean class recall, the figure that reproduces it. On data sets
    where the paper's figures count an empty class (``Setting.paper_empty_class``), ours are
    multiplied by K / (K + 1), and the forgetting over T tasks by (T - 1) / T. ``"standard"`` is
    the mean over the ten standard sets, seed by seed, where all of them were run.

    Parameters
    ----------
    records : iterable of Record
        Runs, one per seed. Failed ones, those under another protocol and experiments are left out.

    Returns
    -------
    mapping
        Figures by method, data set and measure, each by seed.

    Examples
    --------
    >>> run = Run("iris", "ncm", 42, "paper")
    >>> figures_of([Record(run, measures={"mean_class_recall": 0.84})])
    {('ncm', 'iris', 'final_accuracy'): {42: 0.84}}
    """
    figures: dict[Key, dict[int, float]] = defaultdict(dict)
    for record in records:
        run = record.run
        if not isinstance(run, Run) or run.protocol != "paper" or record.failed:
            continue
        for measure, value in record.measures.items():
            if value is not None and measure != "final_accuracy":
                key = (run.method, run.dataset, _OURS.get(measure, measure))
                figures[key][run.seed] = value * _share_of_real_classes(record, measure)
        rate = record.measures.get("rows_per_second")
        if rate:
            figures[run.method, run.dataset, "seconds"][run.seed] = record.shape["rows"] / rate
    _add_means(figures)
    for measure, (method, of) in _DEFAULTS.items():
        _add_ratios(figures, measure, method, of)
    return dict(figures)


def mean_of(figures: Figures, method: str, dataset: str, measure: str) -> float:
    """Return the mean of a figure over seeds.

    Parameters
    ----------
    figures : mapping
        As from `figures_of`.
    method, dataset, measure : str
        Keys of the figure.

    Returns
    -------
    float
        The mean.

    Raises
    ------
    KeyError
        If nothing was run.

    Examples
    --------
    >>> figures = {("ncm", "iris", "final_accuracy"): {42: 0.5, 123: 0.75}}
    >>> mean_of(figures, "ncm", "iris", "final_accuracy")
    0.625
    """
    return float(np.mean(list(figures[method, dataset, measure].values())))


def _share_of_real_classes(record: Record, measure: str) -> float:
    """Factor from a mean over the existing classes to a mean that also counts an empty class."""
    if not SETTINGS[record.run.dataset].paper_empty_class:
        return 1.0
    if measure == "mean_class_recall":
        return record.shape["classes"] / (record.shape["classes"] + 1)
    if measure == "average_forgetting":
        return (record.shape["tasks"] - 1) / record.shape["tasks"]
    return 1.0


def _add_means(figures: dict[Key, dict[int, float]]) -> None:
    """Means over the standard sets of every method that was run on all of them."""
    for method in dict.fromkeys(key[0] for key in figures):
        for measure in ("final_accuracy", "average_forgetting", "splits", "leaves"):
            columns = [
                figures.get((method, dataset, measure), {}) for dataset in SUITES["standard"]
            ]
            seeds = set.intersection(*(set(column) for column in columns))
            if seeds:
                figures[method, "standard", measure] = {
                    seed: float(np.mean([column[seed] for column in columns]))
                    for seed in sorted(seeds)
                }


def _add_ratios(figures: dict[Key, dict[int, float]], measure: str, method: str, of: str) -> None:
    """A figure of every method relative to that of one method: a change, or a ratio."""
    for (other, dataset, found), values in list(figures.items()):
        base = figures.get((method, dataset, of), {})
        if found == of and (seeds := [seed for seed in values if base.get(seed)]):
            less = 1.0 if measure == "relative_change" else 0.0
            figures[other, dataset, measure] = {
                seed: values[seed] / base[seed] - less for seed in seeds
            }


def compare(figures: Figures, cells: Sequence[PaperCell] | None = None) -> list[Comparison]:
    r"""Compare our figures with those of the paper.

    The deviation of a cell is

    .. math::
        \frac{m_\text{ours} - m_\text{paper}}{\max(s_\text{paper}, s_\text{ours}, u)},

    where u is a unit of the last place that the paper prints: a mean may be off by half of it, and
    a spread printed as 0 may be as large as half of it. A spread that a table leaves out is taken
    from another one that has the figure.

    Parameters
    ----------
    figures : mapping
        As from `figures_of`.
    cells : sequence of PaperCell or None, default=None
        Figures of the paper; None means those of `mist_paper.values.MAIN_TABLES` that were
        run here.

    Returns
    -------
    list of Comparison
        One per figure of the paper, in the same order.

    Examples
    --------
    >>> (found,) = compare({("ncm", "iris", "final_accuracy"): {42: 0.84, 123: 0.88}})
    >>> round(found.ours_mean, 2), round(found.ours_sd, 2), found.cell.mean, found.verdict
    (0.86, 0.02, 0.86, 'reproduced')
    """
    if cells is None:
        cells = [
            cell for cell in read_paper() if cell.table in MAIN_TABLES and key_of(cell) in figures
        ]
    return [_comparison(cell, list(figures.get(key_of(cell), {}).values())) for cell in cells]


def _comparison(cell: PaperCell, values: Sequence[float]) -> Comparison:
    if not values:
        return Comparison(cell, math.nan, math.nan, 0, math.nan)
    mean, sd = float(np.mean(values)), float(np.std(values))
    deviations = math.nan
    if cell.measure not in _REASONS:
        deviations = (mean - cell.mean) / max(_printed_spread(cell), sd, cell.unit)
    return Comparison(cell, mean, sd, len(values), deviations)


def _printed_spread(cell: PaperCell) -> float:
    """Spread of a figure, which the paper may print in another table; 0 if it prints none."""
    return max((c.sd or 0.0 for c in read_paper() if key_of(c) == key_of(cell)), default=0.0)


def key_of(cell: PaperCell) -> Key:
    """Return the keys of a figure.

    Parameters
    ----------
    cell : PaperCell
        The figure.

    Returns
    -------
    tuple of str
        Method, data set and measure.

    Examples
    --------
    >>> key_of(read_paper()[0])
    ('mist-g', 'synth10', 'final_accuracy')
    """
    return (cell.method, cell.dataset, cell.measure)


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Return the tables of a comparison with the paper.

    Parameters
    ----------
    comparisons : sequence of Comparison
        From `compare`.

    Returns
    -------
    list of Table
        `beside_table` of each table of the paper that has a figure here, then `agreement_table`
        and `difference_table`. Empty if nothing was compared.

    Examples
    --------
    >>> cell = PaperCell("nontree-results", "slda", "iris", "final_accuracy", 0.973, 0.039)
    >>> tables = comparison_tables([Comparison(cell, 0.85, 0.01, 5, -3.15)])
    >>> [table.name for table in tables]
    ['paper-nontree-results', 'paper-agreement', 'paper-differences']
    """
    if not comparisons:
        return []
    names = [name for name in PAPER_TABLES if any(c.cell.table == name for c in comparisons)]
    return [
        *(beside_table(name, [c for c in comparisons if c.cell.table == name]) for name in names),
        agreement_table(comparisons),
        difference_table(comparisons),
    ]


def beside_table(name: str, comparisons: Sequence[Comparison]) -> Table:
    """Lay out a table as in the paper, with our figure before the paper's in each cell.

    Parameters
    ----------
    name : str
        A key of `PAPER_TABLES`.
    comparisons : sequence of Comparison
        Of that table.

    Returns
    -------
    Table
        One row per method, one column per data set and measure.

    Examples
    --------
    >>> cell = PaperCell("nontree-results", "slda", "iris", "final_accuracy", 0.973, 0.039)
    >>> table = beside_table("nontree-results", [Comparison(cell, 0.85, 0.01, 5, -3.15)])
    >>> table.headings, table.rows
    (('method', 'Iris'), (('SLDA', '0.850 / 0.973 *'),))
    """
    known = [c for c in comparisons if c.n_seeds]
    printed = cells_of(name)
    # With a single method, its line would be too long.
    by_set = len({c.method for c in printed}) == 1 and len({c.dataset for c in printed}) > 1
    cells = {_place(c.cell, by_set): beside(c) for c in known}
    # Lines and columns in the order of the paper, without those that were not run.
    places = [_place(cell, by_set) for cell in printed]
    lines = [x for x in dict.fromkeys(a for a, _ in places) if any(x == a for a, _ in cells)]
    columns = [x for x in dict.fromkeys(b for _, b in places) if any(x == b for _, b in cells)]
    several = len({measure for measure, _ in columns}) > 1
    judged = any(c.cell.measure not in _REASONS for c in comparisons)
    return Table(
        name=f"paper-{name}",
        title=f"{PAPER_TABLES[name]}: ours / paper",
        caption=(
            "Not run."
            if not known
            else f"Mean over seeds here / in the paper. * more than {_LIMIT:.0f} standard "
            "deviations apart."
            if judged
            else "Mean over seeds here / in the paper. Of another machine, and counted in another "
            "way."
        ),
        headings=(
            "data set" if by_set else "method",
            *(_heading(measure, dataset, several) for measure, dataset in columns),
        ),
        rows=tuple(
            (
                name_of(line) if by_set else title_of(line),
                *(cells.get((line, column), "") for column in columns),
            )
            for line in lines
        ),
    )


def _place(cell: PaperCell, by_set: bool) -> tuple[str, tuple[str, str]]:
    """Line and column of a figure. In a table of one method, a line is a data set."""
    if by_set:
        return cell.dataset, (cell.measure, "")
    return cell.method, (cell.measure, cell.dataset)


def _heading(measure: str, dataset: str, several: bool) -> str:
    title = PAPER_MEASURES[measure].title
    if not dataset:
        return title
    return f"{name_of(dataset)}: {title}" if several else name_of(dataset)


def name_of(dataset: str) -> str:
    """Return the name of a data set of the paper's tables.

    Parameters
    ----------
    dataset : str
        As in `mist_paper.values.PaperCell`.

    Returns
    -------
    str
        For headings.

    Examples
    --------
    >>> name_of("mnist"), name_of("standard")
    ('Split-MNIST', 'mean of 10 sets')
    """
    return "mean of 10 sets" if dataset == "standard" else heading_of(dataset)


def _write(cell: PaperCell, value: float) -> str:
    """An accuracy with as many places as the paper prints; other figures as tables show them."""
    measure = PAPER_MEASURES[cell.measure]
    if measure.pattern == "z.3f":
        places = max(3, round(-math.log10(cell.unit)))
        return f"{value:z.{places}f}"
    return measure.write(value)


def beside(comparison: Comparison) -> str:
    """Write our figure and the paper's in one cell.

    Parameters
    ----------
    comparison : Comparison
        Both.

    Returns
    -------
    str
        Its text, with a star if they differ.

    Examples
    --------
    >>> cell = PaperCell("tree-results", "mist-g", "wine", "final_accuracy", 0.97, 0.02)
    >>> beside(Comparison(cell, 0.9, 0.0, 5, -3.5))
    '0.900 / 0.970 *'
    """
    cell = comparison.cell
    mark = " *" if comparison.verdict == "differs" else ""
    return f"{_write(cell, comparison.ours_mean)} / {_write(cell, cell.mean)}{mark}"


def agreement_table(comparisons: Sequence[Comparison]) -> Table:
    """Count verdicts, table by table.

    Parameters
    ----------
    comparisons : sequence of Comparison
        From `compare`.

    Returns
    -------
    Table
        One row per table of the paper: its cells by verdict, and the share of the determinable
        cells that is reproduced.

    Examples
    --------
    >>> cell = PaperCell("stress", "slda", "ring", "final_accuracy", 0.973, 0.039)
    >>> agreement_table([Comparison(cell, 0.85, 0.01, 5, -3.15)]).rows[0][1:]
    ('1', '0', '1', '0', '0%')
    """
    rows = []
    for name, title in PAPER_TABLES.items():
        verdicts = [c.verdict for c in comparisons if c.cell.table == name]
        if verdicts:
            good, bad = verdicts.count("reproduced"), verdicts.count("differs")
            share = f"{good / (good + bad):.0%}" if good + bad else NOTHING
            counts = (len(verdicts), good, bad, verdicts.count("not determinable"))
            rows.append((title, *map(str, counts), share))
    return Table(
        name="paper-agreement",
        title="How many of the paper's figures come out",
        caption=f"Reproduced: up to {_LIMIT:.0f} standard deviations apart, the larger of the "
        "paper's and ours and no less than a unit of the last place printed. Not determinable: "
        "times, rates and bytes, and what was not run; the share leaves them out.",
        headings=("table", "cells", "reproduced", "differs", "not determinable", "share"),
        rows=tuple(rows),
    )


def difference_table(comparisons: Sequence[Comparison]) -> Table:
    """List every figure that differs from the paper's, and why.

    Parameters
    ----------
    comparisons : sequence of Comparison
        From `compare`.

    Returns
    -------
    Table
        As `cell_table`; a figure that the paper prints in two tables is listed once.

    Examples
    --------
    >>> cell = PaperCell("nontree-results", "slda", "iris", "final_accuracy", 0.973, 0.039)
    >>> difference_table([Comparison(cell, 0.85, 0.01, 5, -3.15)]).rows[0][-1]
    'not explained'
    """
    differing: dict[Key, Comparison] = {}
    for c in comparisons:
        if c.verdict == "differs":
            differing.setdefault((c.cell.measure, c.cell.method, c.cell.dataset), c)
    return cell_table(
        "paper-differences",
        "Figures that differ from the paper's, and why",
        list(differing.values()),
    )


def cell_table(name: str, title: str, comparisons: Sequence[Comparison]) -> Table:
    """List figures one by one: ours, the paper's, the difference, the verdict and a reason.

    Parameters
    ----------
    name, title : str
        Of the table.
    comparisons : sequence of Comparison
        From `compare`.

    Returns
    -------
    Table
        One row per figure.

    Examples
    --------
    >>> cell = PaperCell("tree-results", "mist-g", "wine", "final_accuracy", 0.97, 0.02)
    >>> cell_table("t", "Title", [Comparison(cell, 0.96, 0.01, 5, -0.5)]).rows[0][3:7]
    ('0.960 ± 0.010', '0.970 ± 0.020', '-0.5', 'reproduced')
    """
    return Table(
        name=name,
        title=title,
        caption="Mean ± standard deviation over seeds. Difference: in standard deviations, or in "
        "units of the last place printed where that is more; positive where ours is higher.",
        headings=(
            *("method", "data set", "measure", "ours", "paper"),
            *("difference", "verdict", "reason"),
        ),
        rows=tuple(_listed(c) for c in comparisons),
        n_text=8,  # the verdict and its reason, which come last, are texts
    )


def _listed(comparison: Comparison) -> tuple[str, ...]:
    cell = comparison.cell
    spread = "" if cell.sd is None else f" ± {_write(cell, cell.sd)}"
    ours = (
        f"{_write(cell, comparison.ours_mean)} ± {_write(cell, comparison.ours_sd)}"
        if comparison.n_seeds
        else NOTHING
    )
    off = comparison.deviations
    return (
        title_of(cell.method),
        name_of(cell.dataset),
        PAPER_MEASURES[cell.measure].title,
        ours,
        f"{_write(cell, cell.mean)}{spread}",
        "" if math.isnan(off) else f"{off:+.1f}",
        comparison.verdict,
        comparison.reason,
    )
