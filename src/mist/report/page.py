"""Report as one self-contained HTML page: summary, plots, settings and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.evaluation import StreamResult
from mist.evaluation.changes import in_words
from mist.report.document import embed, render, write_setting
from mist.report.result_rows import HEADINGS, summarise

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Section", "render_page"]


@dataclass(frozen=True)
class Section:
    """The runs of all models over one data set.

    Examples
    --------
    >>> section = Section("iris", "120 rows", (), np.array([40, 80]), ("task 2", "task 3"))
    >>> section.dataset
    'iris'
    """

    dataset: str
    """Name of the data set."""

    description: str
    """One sentence about its source and size."""

    results: Sequence[StreamResult]
    """One run per model, at least one, all over the same stream."""

    borders: NDArray[np.int64]
    """Rows at which a task or class begins, for the plots over the stream."""

    border_labels: Sequence[str]
    """One label for each border."""


@dataclass(frozen=True)
class _Plot:
    title: str
    svg: Markup
    caption: str


def render_page(
    title: str, intro: str, sections: Sequence[Section], settings: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the report as one HTML text that needs no other file.

    Its only script sorts tables; without scripts the tables are static.

    Parameters
    ----------
    title : str
        Heading of the page.
    intro : str
        A sentence or two below the heading.
    sections : sequence of Section
        One per data set, at least one.
    settings : mapping of str to mapping
        For each model, its parameters and their values.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ValueError
        If there is no section, or a section without results.
    """
    if not sections or any(not section.results for section in sections):
        raise ValueError("a report needs at least one data set with one result")
    return render(
        "report/page.html.j2",
        title=title,
        intro=intro,
        headings=HEADINGS,
        lines=[
            (summarise(result), result is section.results[0])
            for section in sections
            for result in section.results
        ],
        has_tasks=any(_has_tasks(section) for section in sections),
        sections=[(section, _plots(section, i)) for i, section in enumerate(sections)],
        models=list(settings),
        settings=_compare(settings),
    )


def _has_tasks(section: Section) -> bool:
    return any(len(result.accuracy_matrix) for result in section.results)


def _plots(section: Section, number: int) -> list[_Plot]:
    from mist.evaluation.metrics import window_length
    from mist.report.figures import accuracy_svg, growth_svg, matrices_svg

    results = section.results
    n_rows = results[0].n_rows
    window = window_length(n_rows)
    end = ", ".join(f"{r.model} {r.prequential_accuracy:.3f}" for r in results)
    found = _changes(results)
    accuracy = _Plot(
        "Accuracy over the stream",
        embed(
            accuracy_svg(results, section.borders, section.border_labels),
            f"s{number}a",
            f"Line chart of prequential accuracy on {section.dataset} over {n_rows:,} rows. "
            f"Over the whole stream: {end}." + (f" Changes found: {found}." if found else ""),
        ),
        f"Each row is predicted before it is learnt. Mean over the last {window:,} rows; dotted "
        "lines mark "
        + ("the task borders" if _has_tasks(section) else "new classes")
        + (f", thin lines mark changes found in the stream ({found})." if found else ".")
        + _coincidence(results),
    )
    leaves = ", ".join(f"{r.model} {int(r.leaves_curve[-1]):,}" for r in results)
    growth = _Plot(
        "Tree growth",
        embed(
            growth_svg(results, section.borders, section.border_labels),
            f"s{number}g",
            f"Step chart of the number of leaves on {section.dataset}. At the end: {leaves}.",
        ),
        "Leaves after each chunk of rows."
        + (
            " No split passed its test here: every tree is still a single leaf."
            if all(r.leaves_curve[-1] == 1 for r in results)
            else ""
        ),
    )
    if not _has_tasks(section):
        return [accuracy, growth]
    last = "; ".join(
        f"{r.model} " + ", ".join(f"{share:.2f}" for share in r.accuracy_matrix[-1])
        for r in results
    )
    matrices = _Plot(
        "Accuracy by task",
        embed(
            matrices_svg(results),
            f"s{number}m",
            f"Heat maps of the accuracy matrix on {section.dataset}, one per model. "
            f"After the last task, task by task: {last}.",
        ),
        "Accuracy on the held-out rows of each task (column) after each task was learnt (row). "
        "A column that gets paler downwards shows a task that is forgotten.",
    )
    return [accuracy, matrices, growth]


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


def _compare(settings: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, list[str], bool]]:
    names = dict.fromkeys(name for parameters in settings.values() for name in parameters)
    lines = []
    for name in names:
        values = [write_setting(parameters.get(name)) for parameters in settings.values()]
        lines.append((name, values, len(set(values)) > 1))
    return lines
