"""Tables of the report: recall by class, frequent confusions, and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mist.evaluation.stream_record import ModelRecord, StreamRecord
from mist.report.result_rows import NOTHING

__all__ = [
    "MOST_SHOWN",
    "Bar",
    "PageTable",
    "column_table",
    "confusion_table",
    "recall_table",
    "which_shown",
    "worst_first",
]

MOST_SHOWN = 30
"""Most classes that are shown without a fold."""

_MOST_LISTED = 1_000
_MOST_CONFUSIONS = 15
_MOST_COLUMNS = 15


@dataclass(frozen=True)
class Bar:
    """A share that is also drawn as a bar.

    Examples
    --------
    >>> Bar(0.25).text
    '0.250'
    """

    share: float
    """Between 0 and 1."""

    @property
    def text(self) -> str:
        """The share as a number."""
        return f"{self.share:.3f}"


@dataclass(frozen=True)
class PageTable:
    """A table of the report.

    Examples
    --------
    >>> PageTable("Rows", (("class", False), ("rows", True)), [["cat", "12"]], "").more
    ()
    """

    title: str
    """Heading above the table; empty if there is none."""

    headings: Sequence[tuple[str, bool]]
    """Headings, and whether the column holds numbers."""

    rows: Sequence[Sequence[str | Bar]]
    """Cells, line by line."""

    caption: str
    """Text below the table."""

    more: Sequence[Sequence[str | Bar]] = ()
    """Further lines, folded."""

    fold: str = ""
    """Title of the fold in which the table is; empty if it is not folded."""

    lists_rows: bool = False
    """Whether the lines are rows of the stream: their names stay on one line, other texts wrap."""


def worst_first(
    stream: StreamRecord, model: ModelRecord
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes to show and the others, both by recall with the lowest first.

    Of very many classes the worst ones have hardly any rows, so the most frequent ones are shown.

    Returns
    -------
    shown, others : ndarray of int64
        Class codes; of classes with equal recall the larger one comes first.

    Examples
    --------
    >>> none = np.zeros(0, dtype=np.int64)
    >>> rows = np.array([5, 9, 9])
    >>> stream = StreamRecord(("a", "b", "c"), np.arange(3), rows, rows[:, None], 23)
    >>> worst_first(stream, ModelRecord(np.array([5, 9, 3]), rows, none, none, none))
    (array([2, 1, 0]), array([], dtype=int64))
    """
    frequent = np.argsort(-stream.rows, kind="stable")[:MOST_SHOWN]
    order = np.lexsort((-stream.rows, model.hits / np.maximum(stream.rows, 1)))
    shown = np.isin(order, frequent)
    return order[shown], order[~shown]


def recall_table(
    stream: StreamRecord, models: Sequence[ModelRecord], names: Sequence[str]
) -> PageTable:
    """Return recall by class, the worst class of the first model first.

    Parameters
    ----------
    stream : StreamRecord
        The classes.
    models : sequence of ModelRecord
        One per model, at least one.
    names : sequence of str
        Names of the models.

    Returns
    -------
    PageTable
        With the class that each one is most often taken for by the first model.
    """
    several = len(models) > 1
    taken = _most_taken_for(models[0])
    lines: list[list[str | Bar]] = []
    shown, others = worst_first(stream, models[0])
    for code in np.concatenate([shown, others])[:_MOST_LISTED].tolist():
        rows = int(stream.rows[code])
        other, times = taken.get(code, (-1, 0))
        lines.append(
            [
                str(stream.labels[code]),
                *(Bar(int(model.hits[code]) / rows) for model in models),
                f"{rows:,}",
                f"{int(stream.first_rows[code]) + 1:,}",
                f"{stream.labels[other]} ({times:,})" if times else NOTHING,
            ]
        )
    headings = [f"recall {name}" for name in names] if several else ["recall"]
    hidden = len(stream.labels) - len(lines)
    return PageTable(
        "Recall by class",
        (
            ("class", False),
            *((heading, True) for heading in headings),
            ("rows", True),
            ("first row", True),
            ("most often taken for", False),
        ),
        lines[:MOST_SHOWN],
        "Recall: share of the rows of a class that were predicted right before they were learnt. "
        "The first row of a class cannot be. "
        + (f"Order and confusions are those of {names[0]}. " if several else "")
        + which_shown(stream)
        + (f" {hidden:,} rare classes are not listed." if hidden else ""),
        lines[MOST_SHOWN:],
    )


def which_shown(stream: StreamRecord) -> str:
    """Return a sentence about the classes that are shown, and their order."""
    n_classes = len(stream.labels)
    if n_classes <= MOST_SHOWN:
        return "The worst classes come first."
    return f"The {MOST_SHOWN} most frequent of {n_classes:,} classes, the worst first."


def _most_taken_for(model: ModelRecord) -> dict[int, tuple[int, int]]:
    """Return the most frequent confusion of each class: the other class, and rows."""
    out: dict[int, tuple[int, int]] = {}
    for code, other, rows in zip(
        model.confused.tolist(),
        model.confused_with.tolist(),
        model.confused_rows.tolist(),
        strict=True,
    ):
        out.setdefault(code, (other, rows))
    return out


def confusion_table(stream: StreamRecord, model: ModelRecord) -> PageTable:
    """Return the most frequent confusions of a model.

    Parameters
    ----------
    stream : StreamRecord
        The classes.
    model : ModelRecord
        Its confusions.

    Returns
    -------
    PageTable
    """
    lines: list[list[str | Bar]] = []
    for code, other, rows in zip(
        model.confused[:_MOST_CONFUSIONS].tolist(),
        model.confused_with.tolist(),
        model.confused_rows.tolist(),
        strict=False,
    ):
        share = Bar(rows / int(stream.rows[code]))
        lines.append([str(stream.labels[code]), str(stream.labels[other]), f"{rows:,}", share])
    total = int(model.confused_rows.sum()) + model.forgotten_pairs
    shown = int(model.confused_rows[:_MOST_CONFUSIONS].sum())
    return PageTable(
        "Most frequent confusions",
        (
            ("class", False),
            ("predicted as", False),
            ("rows", True),
            ("share of the class", True),
        ),
        lines,
        f"{shown:,} of {total:,} rows that were predicted as another class.",
    )


def column_table(stream: StreamRecord) -> PageTable | None:
    """Return the columns that separate the classes best; None if no column is known to vary.

    Parameters
    ----------
    stream : StreamRecord
        Its columns.

    Returns
    -------
    PageTable or None
    """
    if len(stream.labels) < 2 or not np.isfinite(stream.separation).any():
        return None
    order = np.argsort(-np.nan_to_num(stream.separation, nan=-1.0), kind="stable")
    lines: list[list[str | Bar]] = [
        [
            stream.columns[column],
            Bar(float(stream.separation[column])),
            str(stream.labels[stream.furthest[column]]),
        ]
        for column in order.tolist()
        if np.isfinite(stream.separation[column])
    ]
    constant = len(stream.columns) - len(lines)
    hidden = len(lines) - _MOST_COLUMNS
    return PageTable(
        "Columns that separate the classes",
        (("column", False), ("variance between classes", True), ("furthest class", False)),
        lines[:_MOST_COLUMNS],
        "Share of the variance of each column that is between the means of the classes, over all "
        "rows: 0 if all classes have the same mean, 1 if every class has its own value. Columns "
        "that separate classes only together have low shares."
        + (f" {hidden:,} more columns have lower shares." if hidden > 0 else "")
        + (f" {constant:,} are constant." if constant else ""),
    )
