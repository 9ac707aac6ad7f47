"""The parts of the report about how sure a model was: its calibration, and rows to look at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mist.evaluation.stream_record import ModelRecord, NotableRow, Reliability
from mist.report.figures import FEWEST_ROWS
from mist.report.result_rows import NOTHING
from mist.report.tables import Bar, PageTable

__all__ = ["calibration_in_words", "row_tables", "says_something"]

_SURE = 0.99
"""If all predictions are more probable, no row is listed as one that the model was unsure of."""

_CLOSE = 0.01


def says_something(models: Sequence[ModelRecord]) -> bool:
    """Return whether a plot of the calibration of all models shows more than one point.

    Examples
    --------
    >>> says_something([])
    False
    """
    return bool(models) and all(
        model.reliability is not None and (model.reliability.rows >= FEWEST_ROWS).sum() > 1
        for model in models
    )


def calibration_in_words(model: Reliability) -> str:
    """Return how sure the predictions of a model were, how many were right, and the error.

    Examples
    --------
    >>> import numpy as np
    >>> calibration_in_words(Reliability(np.array([8]), np.array([7.0]), np.array([6])))[-51:]
    'too sure by 0.125; expected calibration error 0.125'
    """
    gap = model.mean_probability - model.share_right
    if abs(gap) < _CLOSE:
        verdict = "about as sure as it was right"
    else:
        verdict = f"too {'sure' if gap > 0 else 'unsure'} by {abs(gap):.3f}"
    return (
        f"mean probability {model.mean_probability:.3f}, {model.share_right:.3f} of the "
        f"predictions right, so {verdict}; expected calibration error {model.error:.3f}"
    )


def row_tables(model: ModelRecord, name: str, fold: bool) -> list[PageTable]:
    """Return tables of the rows that a model was least sure of, and of novel rows.

    Parameters
    ----------
    model : ModelRecord
        The rows of a model.
    name : str
        Its name; empty if it is the only one.
    fold : bool
        Whether the tables are folded.

    Returns
    -------
    list of PageTable
        None without rows.
    """
    tables = []
    of = f": {name}" if name else ""
    least = min((row.probability for row in model.unsure), default=math.inf)
    if least < _SURE:
        tables.append(
            _table(
                f"Rows predicted with least confidence{of}",
                model.unsure,
                "Rows whose predictions had the lowest probability before they were learnt, "
                "without the first 100 rows. Row: line of a text file, else the number of the row.",
                fold,
            )
        )
    if model.novel:
        tables.append(
            _table(
                f"Novel rows{of}",
                model.novel,
                "First rows of classes that came after the first 100 rows, and for each column the "
                "value furthest from those before it, if that is six standard deviations (SD) or "
                "more. At most ten of each.",
                fold,
            )
        )
    return tables


def _table(title: str, rows: Sequence[NotableRow], caption: str, fold: bool) -> PageTable:
    reasons = any(row.reason for row in rows)
    return PageTable(
        "" if fold else title,
        (
            ("row", False),
            ("label", False),
            ("predicted", False),
            ("probability", True),
            *([("why", False)] if reasons else []),
        ),
        [
            [
                str(row.place),
                str(row.label),
                str(row.predicted),
                NOTHING if math.isnan(row.probability) else Bar(row.probability),
                *([row.reason] if reasons else []),
            ]
            for row in rows
        ],
        caption,
        fold=title if fold else "",
        lists_rows=True,
    )
