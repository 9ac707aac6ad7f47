"""The figures printed in the MIST paper, and reasons why some of ours differ."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from mist_bench.record import MEASURES, Measure

__all__ = [
    "MAIN_TABLES",
    "PAPER_MEASURES",
    "PAPER_TABLES",
    "PaperCell",
    "cells_of",
    "read_paper",
    "reason_for",
]

PAPER_TABLES: Mapping[str, str] = {
    "tree-results": "Final accuracy of the trees",
    "nontree-results": "Final accuracy beside methods that are no trees",
    "ablation-core": "Parts taken out and split rules exchanged",
    "stress": "Final accuracy on streams that are not Gaussian",
    "noreset": "Final accuracy with and without resets",
    "main-forgetting": "Average forgetting",
    "inheritance-ablation": "Two ways to inherit, with times",
    "ablation-k-alpha": "Sensitivity to sketch size, discount and failure probability",
    "threshold-density": "Sparse and dense thresholds, with times",
    "mistk-sensitivity": "Sensitivity of MIST-K to smoothing and bandwidth",
    "memory": "Memory and speed",
    "klocal": "Classes at a leaf against classes in all",
    "sketch-bound-k64": "Error of the sketches at k = 64",
    "sketch-bound-kscale": "Margin of the sketches over k",
    "sketch-vs-gaussian-synthetic": "Sketch or Gaussian inheritance, made streams",
    "sketch-vs-gaussian-real": "Sketch or Gaussian inheritance, measured sets",
    "inheritance-effect": "What one split costs",
}
"""Title of each table, and of each figure that gives numbers, by its label in the paper, in the
paper's order."""

MAIN_TABLES = (
    "tree-results",
    "nontree-results",
    "stress",
    "noreset",
    "main-forgetting",
    "memory",
)
"""The tables that compare methods, as the grid of `mist bench` does."""

PAPER_MEASURES: Mapping[str, Measure] = {
    **MEASURES,
    "relative_change": Measure("change", None, "+.2%"),
    "seconds": Measure("seconds, test then train", "low", ",.1f", timed=True),
    "relative_seconds": Measure("relative time", "low", ".2f", timed=True),
    "new_task_accuracy": Measure("accuracy on the new task", "high"),
    "old_task_accuracy": Measure("accuracy on the first task", "high"),
    "events": Measure("split decisions", None, ",.0f"),
    "cdf_error_mean": Measure("mean error of the CDF", "low", ".4f"),
    "cdf_error_max": Measure("largest error of the CDF", "low", ".4f"),
    "gain_error_mean": Measure("mean error of the gain", "low", ".5f"),
    "gain_error_max": Measure("largest error of the gain", "low", ".5f"),
    "margin": Measure("margin below 4/k", "high", ".1f"),
}
"""Every measure of the paper's tables: those of the grid, and further ones."""


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
    """A key of `mist_bench.methods.METHODS`, or the name that the table has instead."""

    dataset: str
    """Name of the data set here; ``"standard"`` for the mean over the ten standard sets."""

    measure: str
    """A key of `PAPER_MEASURES`; ``"final_accuracy"`` under the paper's name."""

    mean: float
    """The figure, in the unit of the measure (bytes for memory)."""

    sd: float | None
    """Its spread over seeds; None where the paper gives none."""

    unit: float = 0.001
    """One unit of the last place printed."""


def _rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of reference values."""
    file = resources.files("mist_paper") / "reference" / f"{name}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@cache
def read_paper() -> tuple[PaperCell, ...]:
    """Read all figures of the paper's tables.

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
            unit=10.0 ** -len(row["mean"].partition(".")[2]),
        )
        for table in PAPER_TABLES
        for row in _rows(table)
    )


def cells_of(table: str) -> list[PaperCell]:
    """Return the figures of one table.

    Parameters
    ----------
    table : str
        A key of `PAPER_TABLES`.

    Returns
    -------
    list of PaperCell
        As printed, row after row.

    Examples
    --------
    >>> len(cells_of("noreset"))
    24
    """
    return [cell for cell in read_paper() if cell.table == table]


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
        The reason; None if none is known. A reason may apply to all measures, methods or data
        sets, or to those that match a pattern such as ``mist-g+delta=*``. The reason that names
        most of the three is taken. Ties are joined, the reason that names a method first.

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
        if all(fnmatchcase(wanted, part) for part, wanted in zip(key, asked, strict=True))
    }
    if not found:
        return None
    named = [key for key, number in found.items() if number == max(found.values())]
    return "; ".join(_reasons()[key] for key in sorted(named, key=lambda key: key[2] == "*"))
