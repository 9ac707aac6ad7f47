"""Texts of table cells, and the cells that are marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from mist_bench.outcomes import group_of
from mist_bench.record import Measure

__all__ = [
    "NOTHING",
    "collect",
    "find_best",
    "find_rules",
    "list_names",
    "write_figure",
    "write_mean",
]

NOTHING = "–"  # noqa: RUF001 (an en dash is meant)
"""Shown if there is no figure."""


def write_figure(value: float, measure: Measure) -> str:
    """Write a figure as tables show it.

    Parameters
    ----------
    value : float
        The figure.
    measure : Measure
        The measure, which gives the format.

    Returns
    -------
    str
        Its text; a figure that rounds to zero has no sign.

    Examples
    --------
    >>> from mist_bench.record import MEASURES
    >>> write_figure(-0.0001, MEASURES["average_forgetting"])
    '0.000'
    """
    text = measure.write(value)
    return text if re.search("[1-9]", text) else text.removeprefix("-")


def write_mean(values: Sequence[float], n_planned: int, measure: Measure) -> str:
    """Write mean and population standard deviation over seeds.

    Parameters
    ----------
    values : sequence of float
        One figure per seed, without failed runs.
    n_planned : int
        Number of planned seeds; if there are fewer figures, their number follows the mean.
    measure : Measure
        How the figures are written.

    Returns
    -------
    str
        Text of the cell; a dash if there is no figure. A single figure has no spread.

    Examples
    --------
    >>> from mist_bench.record import MEASURES
    >>> write_mean([0.85, 0.87], 2, MEASURES["final_accuracy"])
    '0.860 ± 0.010'
    >>> write_mean([0.85, 0.87], 5, MEASURES["final_accuracy"])
    '0.860 ± 0.010 (2)'
    >>> write_mean([0.85], 1, MEASURES["final_accuracy"])
    '0.850'
    """
    if not values:
        return NOTHING
    text = write_figure(fmean(values), measure)
    if len(values) > 1:
        text += f" ± {write_figure(pstdev(values), measure)}"
    return text if len(values) == n_planned else f"{text} ({len(values)})"


def find_best(
    means: Sequence[Sequence[float | None]], measure: Measure
) -> frozenset[tuple[int, int]]:
    """Find the cells that are best in their column.

    Parameters
    ----------
    means : sequence of sequence of float or None
        Rows of figures; None for a missing figure.
    measure : Measure
        The measure, which gives the better end and the format.

    Returns
    -------
    frozenset of tuple of int
        Rows and columns for `mist_bench.result_tables.Table`, whose first column holds names.
        Figures with the same text are equal. A column with a single figure has no best cell,
        nor has a measure without a better end.

    Examples
    --------
    >>> from mist_bench.record import MEASURES
    >>> sorted(find_best([[0.9, 0.5], [0.9, 0.4], [None, 0.2]], MEASURES["final_accuracy"]))
    [(0, 1), (0, 2), (1, 1)]
    """
    best = set()
    for column in range(len(means[0])):
        figures = {row: mean for row, own in enumerate(means) if (mean := own[column]) is not None}
        if measure.best is None or len(figures) < 2:
            continue
        winner = max(figures.values()) if measure.best == "high" else min(figures.values())
        text = write_figure(winner, measure)
        best |= {
            (row, column + 1)
            for row, mean in figures.items()
            if write_figure(mean, measure) == text
        }
    return frozenset(best)


def find_rules(methods: Sequence[str]) -> frozenset[int]:
    """Find the rows above which a new group of methods begins.

    Parameters
    ----------
    methods : sequence of str
        Keys of `mist_bench.methods.METHODS`, one per row.

    Returns
    -------
    frozenset of int
        Numbers of rows for `mist_bench.result_tables.Table`.

    Examples
    --------
    >>> find_rules(["mist-g", "mist-k", "vfdt"])
    frozenset({2})
    """
    groups = [group_of(method) for method in methods]
    return frozenset(i + 1 for i, (a, b) in enumerate(pairwise(groups)) if a != b)


def collect(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group names by statement.

    Parameters
    ----------
    pairs : iterable of tuple of str
        Each a statement and a name.

    Returns
    -------
    dict of str to list of str
        All names of each statement, in the order given.

    Examples
    --------
    >>> collect([("failed", "a"), ("not run", "b"), ("failed", "c")])
    {'failed': ['a', 'c'], 'not run': ['b']}
    """
    groups: dict[str, list[str]] = {}
    for state, name in pairs:
        groups.setdefault(state, []).append(name)
    return groups


def list_names(names: Sequence[str], most: int = 4) -> str:
    """Write the first names of a list and the number of the others.

    Parameters
    ----------
    names : sequence of str
        The names.
    most : int, default=4
        Number of names written.

    Returns
    -------
    str
        A list in a sentence.

    Examples
    --------
    >>> list_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
