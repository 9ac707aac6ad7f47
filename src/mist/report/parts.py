"""The parts of a section of the report: plots and tables, with their captions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.evaluation.changes import in_words
from mist.evaluation.metrics import window_length
from mist.evaluation.stream_record import ModelRecord, StreamRecord
from mist.report.document import embed
from mist.report.figures import (
    FEWEST_ROWS,
    accuracy_svg,
    confusions_svg,
    cost_svg,
    growth_svg,
    matrices_svg,
    recall_svg,
    reliability_svg,
)
from mist.report.section import Section
from mist.report.style import NARROW, WIDTH
from mist.report.sureness import calibration_in_words, row_tables, says_something
from mist.report.tables import (
    PageTable,
    column_table,
    confusion_table,
    recall_table,
    which_shown,
    worst_first,
)

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Part", "Plot", "parts_of"]

_MOST_IN_MATRIX = 20
_MOST_IN_SMALL_MATRIX = 10
_FEWEST_COSTS = 3
_FEWEST_BINS, _ENOUGH_ROWS = 24, 8


@dataclass(frozen=True)
class Plot:
    """A plot of the report, once for wide and once for narrow screens.

    Examples
    --------
    >>> from markupsafe import Markup
    >>> Plot("Tree growth", Markup("<svg/>"), Markup("<svg/>"), "Leaves.").fold
    ''
    """

    title: str
    """Heading above the plot; empty if it has none."""

    wide: Markup
    """The drawing for wide screens."""

    narrow: Markup | None
    """The drawing for phones; None if the wide one serves both."""

    caption: str
    """Text below the plot."""

    fold: str = ""
    """Title of the fold in which the plot is; empty if it is not folded."""

    shape: Literal["wide", "square", "large square"] = "wide"
    """Whether the drawing fills a wide page, or is about square. A large one scrolls on a phone."""


Part = Plot | PageTable


def parts_of(section: Section, number: int) -> list[Part]:
    """Return the plots and tables of a section, in order.

    Parameters
    ----------
    section : Section
        The runs over one data set.
    number : int
        Number of the section, for unique ids.

    Returns
    -------
    list of Plot or PageTable
    """
    parts: list[Part] = [_accuracy(section, number)]
    if section.has_tasks:
        parts.append(_matrices(section, number))
    stream, models = section.stream, section.models
    if stream is not None and models and len(stream.labels) > 1:
        parts += _classes(section, stream, number)
        if says_something(models):
            parts.append(_calibration(section, models, number))
        columns = column_table(stream)
        parts += [] if columns is None else [columns]
        for i, (model, result) in enumerate(zip(models, section.results, strict=True)):
            parts += row_tables(model, result.model if len(models) > 1 else "", i > 0)
    if any((result.leaves_curve > 1).any() for result in section.results):
        parts.append(_growth(section, number))
    if models and all(len(model.cost_rows) >= _FEWEST_COSTS for model in models):
        parts.append(_cost(section, models, number))
    return parts


def _two(
    draw: Callable[..., str], prefix: str, alt: str, fold: str = ""
) -> tuple[Markup, Markup | None]:
    """Return a drawing for wide screens, and one for narrow screens unless it is folded."""
    wide = embed(draw(width=WIDTH), f"{prefix}w", alt)
    return wide, None if fold else embed(draw(width=NARROW), f"{prefix}n", alt)


def _accuracy(section: Section, number: int) -> Plot:
    results, stream = section.results, section.stream
    baselines = () if stream is None else stream.baselines
    n_rows = results[0].n_rows
    window = window_length(n_rows)
    end = ", ".join(
        [f"{r.model} {r.prequential_accuracy:.3f}" for r in results]
        + [f"{each.model} {each.accuracy:.3f}" for each in baselines]
    )
    found = _changes(results)
    title = "new task" if section.has_tasks else "new class"
    draw = partial(
        accuracy_svg,
        results,
        section.borders,
        section.border_labels,
        title=title,
        baselines=baselines,
    )
    return Plot(
        "Accuracy over the stream",
        *_two(
            draw,
            f"s{number}a",
            f"Line chart of prequential accuracy on {section.dataset} over {n_rows:,} rows. "
            f"Over the whole stream: {end}." + (f" Changes found: {found}." if found else ""),
        ),
        f"Each row is predicted before it is learnt. Mean over the last {window:,} rows; dotted "
        "lines mark "
        + ("the task borders" if section.has_tasks else "new classes")
        + (f", thin lines mark changes found in the stream ({found})." if found else ".")
        + (
            " Majority class so far and no change (the label of the row before) need no model."
            if baselines
            else ""
        )
        + _coincidence(results),
    )


def _growth(section: Section, number: int) -> Plot:
    results = section.results
    leaves = ", ".join(f"{r.model} {int(r.leaves_curve[-1]):,}" for r in results)
    single = [r.model for r in results if r.leaves_curve[-1] == 1]
    return Plot(
        "Tree growth",
        *_two(
            partial(growth_svg, results, section.borders, section.border_labels),
            f"s{number}g",
            f"Step chart of the number of leaves on {section.dataset}. At the end: {leaves}.",
        ),
        "Leaves after each chunk of rows."
        + (f" {' and '.join(single)}: still a single leaf." if single else ""),
    )


def _matrices(section: Section, number: int) -> Plot:
    results = section.results
    last = "; ".join(
        f"{r.model} " + ", ".join(f"{share:.2f}" for share in r.accuracy_matrix[-1])
        for r in results
    )
    return Plot(
        "Accuracy by task",
        embed(
            matrices_svg(results),
            f"s{number}m",
            f"Heat maps of the accuracy matrix on {section.dataset}, one per model. "
            f"After the last task, task by task: {last}.",
        ),
        None,
        "Accuracy on the held-out rows of each task (column) after each task was learnt (row). "
        "A column that gets paler downwards shows a task that is forgotten.",
    )


def _classes(section: Section, stream: StreamRecord, number: int) -> list[Part]:
    """Return recall by class, then recall over time and confusions of each model."""
    names = [result.model for result in section.results]
    parts: list[Part] = [recall_table(stream, section.models, names)]
    for i, (model, name) in enumerate(zip(section.models, names, strict=True)):
        fold = f"Recall over the stream: {name}" if i else ""
        parts.append(_recall_map(section, stream, model, name, f"s{number}r{i}", fold))
    for i, (model, name) in enumerate(zip(section.models, names, strict=True)):
        if len(model.confused):
            fold = f"Confusions: {name}" if i else ""
            parts.append(_confusions(section, stream, model, name, f"s{number}c{i}", fold))
    return parts


def _recall_map(
    section: Section, stream: StreamRecord, model: ModelRecord, name: str, prefix: str, fold: str
) -> Plot:
    shown = worst_first(stream, model)[0]
    rows, hits, each = _coarser(
        stream.rows_by_time[shown], model.hits_by_time[shown], stream.rows_per_bin
    )
    recall = np.divide(hits, rows, out=np.full(rows.shape, np.nan), where=rows > 0)
    labels = [stream.labels[code] for code in shown]
    return Plot(
        "" if fold else _of("Recall over the stream", section, name),
        *_two(
            partial(
                recall_svg,
                labels,
                recall,
                n_rows=stream.n_rows,
                rows_per_bin=each,
            ),
            prefix,
            f"Heat map of the recall of each class by {name} on {section.dataset} over the stream, "
            f"from the worst class, {labels[0]}, to {labels[-1]}.",
            fold,
        ),
        f"Recall in parts of {each:,} row{'s' if each > 1 else ''}, "
        f"empty where a class has no row. {which_shown(stream)}",
        fold,
    )


def _coarser(
    rows: NDArray[np.int64], hits: NDArray[np.int64], each: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Merge parts of a stream until most cells have enough rows, or few parts are left."""
    while rows.shape[1] > _FEWEST_BINS and np.median(rows[rows > 0]) < _ENOUGH_ROWS:
        odd = rows.shape[1] % 2
        rows, hits = (
            np.pad(counts, ((0, 0), (0, odd))).reshape(len(counts), -1, 2).sum(axis=2)
            for counts in (rows, hits)
        )
        each *= 2
    return rows, hits, each


def _confusions(
    section: Section, stream: StreamRecord, model: ModelRecord, name: str, prefix: str, fold: str
) -> Part:
    n_classes = len(stream.labels)
    title = "" if fold else _of("Confusions", section, name)
    if n_classes > _MOST_IN_MATRIX:
        table = confusion_table(stream, model)
        return PageTable(title, table.headings, table.rows, table.caption, fold=fold)
    matrix = _confusion_matrix(model, n_classes)
    return Plot(
        title,
        embed(
            confusions_svg(stream.labels, matrix),
            prefix,
            f"Heat map of true and predicted classes of {name} on {section.dataset}. Most "
            f"frequent: {stream.labels[model.confused[0]]} predicted as "
            f"{stream.labels[model.confused_with[0]]}, {int(model.confused_rows[0]):,} rows.",
        ),
        None,
        "Share of the rows of each class (line) that were predicted as each class (column), in "
        "order of arrival.",
        fold,
        shape="square" if n_classes <= _MOST_IN_SMALL_MATRIX else "large square",
    )


def _confusion_matrix(model: ModelRecord, n_classes: int) -> NDArray[np.int64]:
    matrix = np.diag(model.hits)
    matrix[model.confused, model.confused_with] = model.confused_rows
    return matrix


def _calibration(section: Section, models: Sequence[ModelRecord], number: int) -> Plot:
    names = [result.model for result in section.results]
    known = [model.reliability for model in models if model.reliability is not None]
    several = len(names) > 1
    words = "; ".join(
        f"{name}: {calibration_in_words(each)}" if several else calibration_in_words(each)
        for each, name in zip(known, names, strict=True)
    )
    left_out = max(section.results[0].n_rows - each.n_rows for each in known)
    return Plot(
        "Calibration",
        embed(
            reliability_svg(known, names),
            f"s{number}p",
            f"Reliability diagram on {section.dataset}. {words[0].upper()}{words[1:]}.",
        ),
        None,
        "How often predictions were right, by the probability that they had before the row was "
        "learnt: on the diagonal, of rows predicted with probability 0.8, 80 % are right. The area "
        "of a circle is its share of the rows, a bar is a 95 % interval; with fewer than "
        f"{FEWEST_ROWS} rows there is none. "
        f"{words[0].upper()}{words[1:]} (mean distance from the diagonal, 15 bins)."
        + (f" Without {left_out:,} rows whose probability is not known." if left_out > 1 else ""),
        shape="square",
    )


def _cost(section: Section, models: Sequence[ModelRecord], number: int) -> Plot:
    results = section.results
    end = ", ".join(
        f"{r.model} {r.nbytes / 1024:,.0f} KB at {r.rows_per_second:,.0f} rows/s" for r in results
    )
    return Plot(
        "Memory and speed",
        *_two(
            partial(cost_svg, models, [result.model for result in results]),
            f"s{number}k",
            f"Line charts of memory and speed on {section.dataset}. At the end: {end}.",
        ),
        "Size of the state of the model, and rows predicted and learnt per second, without "
        "reading.",
    )


def _of(title: str, section: Section, name: str) -> str:
    return f"{title}: {name}" if len(section.results) > 1 else title


def _changes(results: Sequence[StreamResult]) -> str:
    """Return the changes that the models found in words, with the model if there are several."""
    several = len(results) > 1
    return "; ".join(
        f"{result.model}: {in_words(result.changes)}" if several else in_words(result.changes)
        for result in results
        if result.changes
    )


def _coincidence(results: Sequence[StreamResult]) -> str:
    groups: dict[bytes, list[str]] = {}
    for result in results:
        groups.setdefault(result.correct.tobytes(), []).append(result.model)
    same = [" and ".join(models) for models in groups.values() if len(models) > 1]
    return f" The lines of {'; '.join(same)} coincide." if same else ""
