"""The figures printed in the MIST paper, beside ours."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import numpy as np

from mist.baselines import METHODS
from mist.bench.record import MEASURES, Record
from mist.bench.suites import SETTINGS
from mist.bench.tables import Table

__all__ = [
    "PAPER_TABLES",
    "Comparison",
    "PaperCell",
    "compare",
    "comparison_tables",
    "read_paper",
    "reason_for",
]

PAPER_TABLES = {
    "tree-results": "Final accuracy of the trees",
    "nontree-results": "Final accuracy beside methods that are no trees",
    "main-forgetting": "Average forgetting",
    "stress": "Final accuracy on streams that are not Gaussian",
    "noreset": "Final accuracy with and without resets",
    "memory": "Memory and speed",
}
"""Title of each table of the paper by its label there, in the order of comparison."""

# The paper's final accuracy comes out as the mean over classes of the recall, on every data set
# whose preparation is known. Over tasks, as the paper words it, classes of unequal size differ.
_OURS = {"final_accuracy": "mean_class_recall"}

# Bytes are counted in another way and the machine is another one: there is nothing to agree on.
_JUDGED = ("final_accuracy", "average_forgetting")

# Means and spreads are printed to three decimals: a mean may be off by .0005, and a spread
# printed as .000 may be as large as .0005.
_FLOOR = 0.001

_LIMIT = 2.0


@dataclass(frozen=True)
class PaperCell:
    """One figure of the paper.

    Examples
    --------
    >>> cell = read_paper()[2]
    >>> cell.table, cell.method, cell.dataset, cell.mean, cell.sd
    ('tree-results', 'mist-g', 'wine', 0.97, 0.02)
    """

    table: str
    """A key of `PAPER_TABLES`."""

    method: str
    """A key of `mist.baselines.METHODS`."""

    dataset: str
    """Name of the data set here."""

    measure: str
    """A key of `mist.bench.record.MEASURES`; ``"final_accuracy"`` under the paper's name."""

    mean: float
    """The figure, in the unit of the measure (bytes for memory)."""

    sd: float | None
    """Its spread over seeds; None where the paper gives none."""


@dataclass(frozen=True)
class Comparison:
    """A figure of the paper and what came out here.

    Examples
    --------
    >>> cell = PaperCell("tree-results", "mist-g", "wine", "final_accuracy", 0.97, 0.02)
    >>> Comparison(cell, ours_mean=0.96, ours_sd=0.0, n_seeds=5, deviations=-0.5).verdict
    'agrees'
    """

    cell: PaperCell
    """What the paper says."""

    ours_mean: float
    """Mean over seeds, in the unit of the measure."""

    ours_sd: float
    """Population standard deviation over seeds."""

    n_seeds: int
    """Runs that went through."""

    deviations: float
    """How far ours lies above the paper's, in standard deviations; NaN where not judged."""

    @property
    def verdict(self) -> Literal["agrees", "differs", "not judged"]:
        """``"agrees"`` up to two standard deviations; sizes and speeds are not judged."""
        if math.isnan(self.deviations):
            return "not judged"
        return "agrees" if abs(self.deviations) <= _LIMIT else "differs"


def _rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of reference values."""
    file = resources.files("mist.bench") / "reference" / f"{name}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@cache
def read_paper() -> tuple[PaperCell, ...]:
    """Read all figures of the paper that have a counterpart here.

    Returns
    -------
    tuple of PaperCell
        Table after table as in `PAPER_TABLES`, row after row as printed. A figure that the
        paper prints in two tables is there twice.

    Examples
    --------
    >>> [(c.dataset, c.mean) for c in read_paper() if c.table == "noreset"][0]
    ('pendigits', 0.196)
    """
    return tuple(
        PaperCell(
            table,
            row["method"],
            row["dataset"],
            row["measure"],
            float(row["mean"]),
            float(row["sd"]) if row["sd"] else None,
        )
        for table in PAPER_TABLES
        for row in _rows(table)
    )


@cache
def _reasons() -> dict[tuple[str, str, str], str]:
    return {(r["measure"], r["dataset"], r["method"]): r["reason"] for r in _rows("reasons")}


def reason_for(measure: str, method: str, dataset: str) -> str | None:
    """Look up why a figure differs from the paper's.

    Parameters
    ----------
    measure, method, dataset : str
        As in `PaperCell`.

    Returns
    -------
    str or None
        The reason; None if none is known. A reason may stand for all measures, methods or data
        sets: the one that names most of the three is taken, and of several that name equally
        many all, that of the method first.

    Examples
    --------
    >>> reason_for("final_accuracy", "slda", "shuttle")
    'the paper does not say how its rows are drawn; ...'
    >>> reason_for("final_accuracy", "slda", "wine") is None
    True
    """
    asked = (measure, dataset, method)
    found = {
        key: sum(part != "*" for part in key)
        for key in _reasons()
        if all(part in ("*", wanted) for part, wanted in zip(key, asked, strict=True))
    }
    if not found:
        return None
    named = [key for key, number in found.items() if number == max(found.values())]
    return "; ".join(_reasons()[key] for key in sorted(named, key=lambda key: key[2] == "*"))


def compare(records: Iterable[Record]) -> list[Comparison]:
    r"""Set our figures beside those of the paper.

    The deviation of a cell is

    .. math::
        \frac{m_\text{ours} - m_\text{paper}}{\max(s_\text{paper}, s_\text{ours}, .001)},

    where the floor allows for figures and spreads printed to three decimals. The paper's final
    accuracy is compared with our mean class recall, the figure that reproduces it. On data sets of
    which the paper's figures count an empty class (``Setting.paper_empty_class``), ours are
    multiplied by K / (K + 1), and the forgetting over T tasks by (T - 1) / T.

    Parameters
    ----------
    records : iterable of Record
        Runs under protocol ``"paper"``, one a seed. Failed ones, those under another protocol,
        and those of methods or data sets that are not in the paper are left out.

    Returns
    -------
    list of Comparison
        One for each figure of the paper that was run here, in the order of `read_paper`.

    Examples
    --------
    >>> from mist.bench.record import Run
    >>> records = [
    ...     Record(Run("iris", "ncm", 42, "paper"), measures={"mean_class_recall": 0.84}),
    ...     Record(Run("iris", "ncm", 123, "paper"), measures={"mean_class_recall": 0.88}),
    ... ]
    >>> (found,) = compare(records)
    >>> round(found.ours_mean, 2), round(found.ours_sd, 2), found.cell.mean, found.verdict
    (0.86, 0.02, 0.86, 'agrees')
    """
    figures: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for record in records:
        if record.run.protocol == "paper" and not record.failed:
            for measure, value in record.measures.items():
                if value is not None:
                    figures[record.run.method, record.run.dataset, measure].append(
                        value * _share_of_real_classes(record, measure)
                    )
    compared = []
    for cell in read_paper():
        ours = _OURS.get(cell.measure, cell.measure)
        if values := figures.get((cell.method, cell.dataset, ours)):
            compared.append(_comparison(cell, values))
    return compared


def _share_of_real_classes(record: Record, measure: str) -> float:
    """Factor between a mean over the classes there are and one that counts an empty class, too."""
    if not SETTINGS[record.run.dataset].paper_empty_class:
        return 1.0
    if measure == "mean_class_recall":
        return record.shape["classes"] / (record.shape["classes"] + 1)
    if measure == "average_forgetting":
        return (record.shape["tasks"] - 1) / record.shape["tasks"]
    return 1.0


def _comparison(cell: PaperCell, values: Sequence[float]) -> Comparison:
    mean, sd = float(np.mean(values)), float(np.std(values))
    deviations = math.nan
    if cell.measure in _JUDGED:
        deviations = (mean - cell.mean) / max(cell.sd or 0.0, sd, _FLOOR)
    return Comparison(cell, mean, sd, len(values), deviations)


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Write the comparison as tables.

    Parameters
    ----------
    comparisons : sequence of Comparison
        From `compare`.

    Returns
    -------
    list of Table
        One for each table of the paper that has a figure here, a cell "ours / paper" for every
        method and data set; then ``"paper-agreement"`` with the share of cells that agree in
        each, and ``"paper-differences"`` with every figure that differs and why. None at all if
        nothing was compared.

    Examples
    --------
    >>> cell = PaperCell("nontree-results", "slda", "iris", "final_accuracy", 0.973, 0.039)
    >>> tables = comparison_tables([Comparison(cell, 0.85, 0.01, 5, -3.15)])
    >>> [table.name for table in tables]
    ['paper-nontree-results', 'paper-agreement', 'paper-differences']
    >>> tables[0].headings, tables[0].rows
    (('method', 'iris'), (('SLDA', '0.850 / 0.973 *'),))
    >>> tables[2].rows[0][-1]
    'not explained'
    """
    if not comparisons:
        return []
    of_table = {
        name: found
        for name in PAPER_TABLES
        if (found := [c for c in comparisons if c.cell.table == name])
    }
    return [
        *(_side_by_side(name, found) for name, found in of_table.items()),
        _agreement(of_table),
        _differences(comparisons),
    ]


def _side_by_side(name: str, comparisons: Sequence[Comparison]) -> Table:
    cells = {(c.cell.method, c.cell.measure, c.cell.dataset): _beside(c) for c in comparisons}
    printed = [cell for cell in read_paper() if cell.table == name]
    methods = [m for m in dict.fromkeys(c.method for c in printed) if any(m == k[0] for k in cells)]
    columns = [
        column
        for column in dict.fromkeys((c.measure, c.dataset) for c in printed)
        if any(column == key[1:] for key in cells)
    ]
    several = len({measure for measure, _ in columns}) > 1
    return Table(
        name=f"paper-{name}",
        title=f"{PAPER_TABLES[name]}: ours / paper",
        caption=f"Mean over seeds here / in the paper. {_legend(comparisons)}",
        headings=(
            "method",
            *(f"{d}: {MEASURES[m].title}" if several else d for m, d in columns),
        ),
        rows=tuple(
            (METHODS[method].title, *(cells.get((method, *column), "") for column in columns))
            for method in methods
        ),
    )


def _legend(comparisons: Sequence[Comparison]) -> str:
    if any(c.verdict != "not judged" for c in comparisons):
        return f"* more than {_LIMIT:.0f} standard deviations apart."
    return "The paper's were taken on another machine, and it does not say how it counts bytes."


def _beside(comparison: Comparison) -> str:
    measure = MEASURES[comparison.cell.measure]
    mark = " *" if comparison.verdict == "differs" else ""
    return f"{measure.write(comparison.ours_mean)} / {measure.write(comparison.cell.mean)}{mark}"


def _agreement(of_table: dict[str, list[Comparison]]) -> Table:
    rows = []
    for name, comparisons in of_table.items():
        verdicts = [c.verdict for c in comparisons]
        agree, differ = verdicts.count("agrees"), verdicts.count("differs")
        if judged := agree + differ:
            rows.append((PAPER_TABLES[name], str(judged), str(agree), f"{agree / judged:.0%}"))
    return Table(
        name="paper-agreement",
        title="Figures that agree with the paper's",
        caption=f"Cells up to {_LIMIT:.0f} standard deviations apart, the larger of the paper's "
        f"and ours and no less than {_FLOOR}.",
        headings=("table", "cells", "agree", "share"),
        rows=tuple(rows),
    )


def _differences(comparisons: Sequence[Comparison]) -> Table:
    # The paper prints some figures in two tables: the first is enough.
    differing: dict[tuple[str, str, str], Comparison] = {}
    for c in comparisons:
        if c.verdict == "differs":
            differing.setdefault((c.cell.measure, c.cell.method, c.cell.dataset), c)
    return Table(
        name="paper-differences",
        title="Figures that differ from the paper's, and why",
        caption="Mean ± standard deviation over seeds; the last column but one counts standard "
        "deviations, positive where ours is higher.",
        headings=("method", "data set", "measure", "ours", "paper", "deviations", "reason"),
        rows=tuple(_difference(c) for c in differing.values()),
        n_text=7,  # the reason, which comes last, is text
    )


def _difference(comparison: Comparison) -> tuple[str, ...]:
    cell = comparison.cell
    measure = MEASURES[cell.measure]
    spread = "" if cell.sd is None else f" ± {measure.write(cell.sd)}"
    return (
        METHODS[cell.method].title,
        cell.dataset,
        measure.title,
        f"{measure.write(comparison.ours_mean)} ± {measure.write(comparison.ours_sd)}",
        f"{measure.write(cell.mean)}{spread}",
        f"{comparison.deviations:+.1f}",
        reason_for(cell.measure, cell.method, cell.dataset) or "not explained",
    )
