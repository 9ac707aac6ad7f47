"""Report as one self-contained HTML page: summary, plots, settings and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mist.report.document import render, write_setting
from mist.report.result_rows import HEADINGS, NOTHING, baseline_cells, summarise, tiles
from mist.report.section import Section

__all__ = ["render_page"]


def render_page(
    title: str,
    intro: str,
    sections: Sequence[Section],
    settings: Mapping[str, Mapping[str, Any]],
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
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
    defaults : mapping of str to mapping or None, default=None
        For each model, the defaults of its parameters. None means that they are unknown, so that
        all parameters are shown alike.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ValueError
        If there is no section, or a section without results.
    """
    from mist.report.parts import parts_of

    if not sections or any(not section.results for section in sections):
        raise ValueError("a report needs at least one data set with one result")
    lines = _summary(sections)
    # A column of dashes says nothing, nor does the name of the only data set.
    used = [
        j
        for j in range(len(HEADINGS))
        if (j > 0 or len(sections) > 1) and any(cells[j] != NOTHING for cells, _ in lines)
    ]
    only = sections[0] if len(sections) == 1 and len(sections[0].results) == 1 else None
    chosen, others = _compare(settings, defaults)
    return render(
        "report/page.html.j2",
        title=title,
        intro=intro,
        tiles=None if only is None else tiles(only.results[0], only.stream),
        headings=[(HEADINGS[j], j > 1) for j in used],
        lines=[([cells[j] for j in used], first) for cells, first in lines],
        has_tasks=any(section.has_tasks for section in sections),
        has_baselines=any(section.stream is not None for section in sections),
        sections=[(section, parts_of(section, i)) for i, section in enumerate(sections)],
        models=list(settings),
        settings=chosen,
        other_settings=others,
    )


def _summary(sections: Sequence[Section]) -> list[tuple[tuple[str, ...], bool]]:
    """Return the cells of each line of the summary, and whether it begins a data set."""
    lines = []
    for section in sections:
        cells = [summarise(result) for result in section.results]
        if section.stream is not None:
            cells += [baseline_cells(section.dataset, each) for each in section.stream.baselines]
        lines += [(each, i == 0) for i, each in enumerate(cells)]
    return lines


_Setting = tuple[str, list[str], bool]


def _compare(
    settings: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Mapping[str, Any]] | None
) -> tuple[list[_Setting], list[_Setting]]:
    """Return the parameters that were chosen, and those that have their defaults in all models.

    Each has its value in every model, and whether the models differ.
    """
    names = dict.fromkeys(name for parameters in settings.values() for name in parameters)
    chosen: list[_Setting] = []
    others: list[_Setting] = []
    for name in names:
        values = [write_setting(parameters.get(name)) for parameters in settings.values()]
        default = defaults is not None and all(
            name not in parameters
            or (name in defaults[model] and _same(parameters[name], defaults[model][name]))
            for model, parameters in settings.items()
        )
        (others if default else chosen).append((name, values, len(set(values)) > 1))
    return chosen, others


def _same(value: Any, default: Any) -> bool:
    """Compare values of parameters, which may be lists, arrays or None."""
    return type(value) is type(default) and write_setting(value) == write_setting(default)
