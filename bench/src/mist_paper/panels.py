"""Parts of drawings: curves of the grid, ends of tasks, figures with their spread."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mist.plotting import Curve, average_curves
from mist_bench.outcomes import title_of
from mist_bench.record import Run
from mist_paper.exhibit import Records

__all__ = ["borders_of", "curves_of", "spread_of"]


def curves_of(
    records: Records,
    methods: Iterable[str],
    dataset: str,
    seeds: tuple[int, ...],
    rows: str,
    figure: str,
) -> list[Curve]:
    """Average a curve of the grid over seeds.

    Parameters
    ----------
    records : mapping
        What has been run.
    methods : iterable of str
        Keys of methods.
    dataset : str
        Key of the data set.
    seeds : tuple of int
        Seeds.
    rows, figure : str
        Keys of `mist_bench.Record.curves`.

    Returns
    -------
    list of Curve
        One for each method that has it.
    """
    curves = []
    for method in methods:
        found = [records.get(Run(dataset, method, seed, "paper")) for seed in seeds]
        pairs = [(r.curves[rows], r.curves[figure]) for r in found if r and rows in r.curves]
        curves.append(average_curves(title_of(method), pairs))
    return [curve for curve in curves if curve is not None]


def borders_of(records: Records, dataset: str) -> list[float]:
    """Rows at which tasks end, of any run on a data set.

    Parameters
    ----------
    records : mapping
        What has been run.
    dataset : str
        Key of the data set.

    Returns
    -------
    list of float
        Without the end of the stream; empty if nothing was run.
    """
    for task, record in records.items():
        if isinstance(task, Run) and task.dataset == dataset and record.boundaries:
            return [float(row) for row in record.boundaries[:-1]]
    return []


def spread_of(values: list[float]) -> str:
    """Write mean and population standard deviation of a few figures.

    Parameters
    ----------
    values : list of float
        At least one.

    Returns
    -------
    str
        Both with three places.

    Examples
    --------
    >>> spread_of([0.5, 0.7])
    '0.600 ± 0.100'
    """
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"
