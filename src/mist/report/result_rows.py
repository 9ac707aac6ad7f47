"""The summary table, one line per run, for the terminal and the page."""

from __future__ import annotations

import math

from mist.evaluation import StreamResult
from mist.evaluation.stream_record import Baseline, StreamRecord

__all__ = ["HEADINGS", "NOTHING", "baseline_cells", "compare", "summarise", "tiles"]

HEADINGS = (
    "data set",
    "model",
    "final accuracy",
    "forgetting",
    "prequential accuracy",
    "rows/s",
    "KB",
    "leaves",
)
"""Headings of the columns; the first two hold text, the others numbers."""

NOTHING = "–"  # noqa: RUF001 (an en dash is meant)
"""Text of a cell without a value."""


def summarise(result: StreamResult) -> tuple[str, ...]:
    """Return the cells of one line of the summary table.

    Parameters
    ----------
    result : StreamResult
        One run. A NaN measure, or a model without leaves or size, gets a dash.

    Returns
    -------
    tuple of str
        One text for each of `HEADINGS`.
    """
    leaves = int(result.leaves_curve[-1]) if len(result.leaves_curve) else 0
    return (
        result.dataset,
        result.model,
        _share(result.final_accuracy),
        _share(result.average_forgetting),
        _share(result.prequential_accuracy),
        f"{result.rows_per_second:,.0f}",
        f"{result.nbytes / 1024:,.1f}" if result.nbytes else NOTHING,
        f"{leaves:,}" if leaves else NOTHING,
    )


def baseline_cells(dataset: str, baseline: Baseline) -> tuple[str, ...]:
    """Return the cells of the line of a baseline, which has only an accuracy.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    baseline : Baseline
        Predictions without a model.

    Returns
    -------
    tuple of str
        One text for each of `HEADINGS`.
    """
    accuracy = HEADINGS.index("prequential accuracy")
    rest = [NOTHING] * (len(HEADINGS) - 2)
    cells = [dataset, baseline.model, *rest]
    cells[accuracy] = _share(baseline.accuracy)
    return tuple(cells)


def compare(dataset: str, stream: StreamRecord | None) -> str:
    """Return one line about the accuracy of the baselines, for the terminal.

    Parameters
    ----------
    dataset : str
        Name of the data set, if several are reported; else empty.
    stream : StreamRecord or None
        The stream; None gives an empty text.

    Returns
    -------
    str

    Examples
    --------
    >>> compare("", None)
    ''
    """
    if stream is None:
        return ""
    shares = ", ".join(f"{each.model} {each.accuracy:.3f}" for each in stream.baselines)
    return f"Prequential accuracy without a model{f' on {dataset}' if dataset else ''}: {shares}"


def tiles(result: StreamResult, stream: StreamRecord | None) -> list[tuple[str, str]] | None:
    """Return the figures of a single run, each with its name, for the top of the page.

    Parameters
    ----------
    result : StreamResult
        The run.
    stream : StreamRecord or None
        Its stream; without it there are no figures.

    Returns
    -------
    list of tuple of str, or None
    """
    if stream is None:
        return None
    cells = dict(zip(HEADINGS[2:], summarise(result)[2:], strict=True))
    accuracy = cells.pop("prequential accuracy")
    if cells["leaves"] == "1":
        cells["leaves"] = NOTHING
    figures = [
        (accuracy, "prequential accuracy"),
        *((f"{each.accuracy:.3f}", each.model) for each in stream.baselines),
        *((value, name) for name, value in cells.items()),
    ]
    return [each for each in figures if each[0] != NOTHING]


def _share(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.3f}"
