"""The summary table, one line per run, for the terminal and the page."""

from __future__ import annotations

import math

from mist.evaluation import StreamResult

__all__ = ["HEADINGS", "summarise"]

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

_NOTHING = "–"  # noqa: RUF001 (an en dash is meant)


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
        f"{result.nbytes / 1024:,.1f}" if result.nbytes else _NOTHING,
        f"{leaves:,}" if leaves else _NOTHING,
    )


def _share(value: float) -> str:
    return _NOTHING if math.isnan(value) else f"{value:.3f}"
