"""Figures of several plots that share a legend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.bench.curves import Curve, average
from mist.bench.outcomes import title_of
from mist.bench.record import Run
from mist.paper.exhibit import Records
from mist.report.style import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["borders_of", "curves_of", "new_panels", "share_legend", "spread_of"]


def new_panels(n_rows: int, n_columns: int, height: float) -> tuple[Figure, NDArray[Any]]:
    """Return a figure with plots in rows and columns.

    Parameters
    ----------
    n_rows, n_columns : int
        Number of plots.
    height : float
        Of one row, in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure, over the whole width of the page.
    axes : ndarray of shape (n_rows, n_columns)
        Its plots, with faint horizontal lines.

    Examples
    --------
    >>> new_panels(2, 3, 2.0)[1].shape
    (2, 3)
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, n_rows * height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for ax in axes.flat:
        ax.grid(axis="y")
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=8)
    return figure, axes


def share_legend(figure: Figure, axes: Axes) -> None:
    """Put one legend below all plots.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    axes : matplotlib.axes.Axes
        A plot that has every line.
    """
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)


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
        Keys of `mist.bench.Record.curves`.

    Returns
    -------
    list of Curve
        One for each method that has it.
    """
    curves = []
    for method in methods:
        found = [records.get(Run(dataset, method, seed, "paper")) for seed in seeds]
        pairs = [(r.curves[rows], r.curves[figure]) for r in found if r and rows in r.curves]
        curves.append(average(title_of(method), pairs))
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
