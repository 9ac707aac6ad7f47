"""The report of the paper's items: one page, its tables and figures as files, and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mist.files import write_text
from mist.report.document import embed, render
from mist.report.style import INK, style, to_png, to_svg
from mist_bench.cells import NOTHING
from mist_bench.plots import Plot
from mist_bench.result_tables import Table, to_csv, to_latex, to_markdown
from mist_paper.comparison import Comparison, agreement_table, difference_table
from mist_paper.exhibit import Exhibit, Item
from mist_paper.theory.checks import FAILS, HOLDS, NO_GUARANTEE

__all__ = ["INTRO", "count_tables", "summary_tables", "to_page", "write_report"]

_INK = "#1b2129"
_WRITERS = ((".csv", to_csv), (".md", to_markdown), (".tex", to_latex))
_KINDS = {"table": "Tables", "figure": "Figures", "theory": "Theorems"}

_TITLE = "The MIST paper, run again"
INTRO = (
    "The tables, figures and theorems of the MIST paper, run again: our figures and the printed "
    "ones, their difference in standard deviations, and the reasons if they differ. Streams are "
    "prepared as in the paper."
)


@dataclass(frozen=True)
class _Section:
    name: str
    item: Item
    tables: Sequence[Table]
    plots: Sequence[Plot]
    notes: Sequence[str]


def summary_tables(exhibits: Mapping[str, tuple[Item, Exhibit]]) -> list[Table]:
    """Count reproduced figures, and list those that differ.

    Parameters
    ----------
    exhibits : mapping of str to tuple
        Items by name, each with its exhibit.

    Returns
    -------
    list of Table
        `count_tables`, and `mist_paper.comparison.difference_table` if anything is compared.
    """
    return [*count_tables(exhibits), *_difference_tables(exhibits)]


def count_tables(exhibits: Mapping[str, tuple[Item, Exhibit]]) -> list[Table]:
    """Count reproduced figures, and the verdicts on theorems.

    Parameters
    ----------
    exhibits : mapping of str to tuple
        Items by name, each with its exhibit.

    Returns
    -------
    list of Table
        `mist_paper.comparison.agreement_table` and the verdicts on theorems, each if it has
        rows.
    """
    comparisons, theorems = _comparisons(exhibits), _theorem_table(exhibits)
    return [
        *([agreement_table(comparisons)] if comparisons else []),
        *([theorems] if theorems.rows else []),
    ]


def _difference_tables(exhibits: Mapping[str, tuple[Item, Exhibit]]) -> list[Table]:
    comparisons = _comparisons(exhibits)
    return [difference_table(comparisons)] if comparisons else []


def _comparisons(exhibits: Mapping[str, tuple[Item, Exhibit]]) -> list[Comparison]:
    return [c for _, exhibit in exhibits.values() for c in exhibit.comparisons]


def _theorem_table(exhibits: Mapping[str, tuple[Item, Exhibit]]) -> Table:
    """Count the verdicts in the tables of each theorem."""
    rows = []
    for item, exhibit in exhibits.values():
        cells = [cell for table in exhibit.tables for row in table.rows for cell in row]
        counts = [
            sum(cell.startswith(word) for cell in cells) for word in (HOLDS, FAILS, NO_GUARANTEE)
        ]
        if item.kind == "theory" and any(counts):
            rows.append((item.title, item.label, *map(str, counts)))
    return Table(
        name="theorems",
        title="Checks of the theorems",
        caption="Lines of their tables by verdict. No guarantee: not covered by a theorem, or by "
        "one whose premise is not met.",
        headings=("theorem", "in the paper", HOLDS, FAILS, NO_GUARANTEE),
        rows=tuple(rows),
        n_text=2,
    )


def write_report(
    folder: Path,
    exhibits: Mapping[str, tuple[Item, Exhibit]],
    *,
    note: str = "",
    made: datetime | None = None,
) -> Path:
    """Write the page, and each table and figure as files.

    Parameters
    ----------
    folder : Path
        Where ``report.html``, a shorter ``report.md``, ``tables/`` and ``figures/`` go; created
        if missing. Files of the same names are replaced.
    exhibits : mapping of str to tuple
        Items by name, each with its exhibit, in the order of the page.
    note : str, default=""
        A sentence below the heading.
    made : datetime or None, default=None
        Time shown in the footer; None means now.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If two tables or two figures have one name.
    OSError
        If a file cannot be written.
    """
    tables = [
        *summary_tables(exhibits),
        *(t for _, exhibit in exhibits.values() for t in exhibit.tables),
    ]
    drawings = [d for _, exhibit in exhibits.values() for d in exhibit.drawings]
    _refuse_twins([table.name for table in tables], "tables")
    _refuse_twins([drawing.name for drawing in drawings], "figures")
    for table in tables:
        for suffix, write in _WRITERS:
            write_text(folder / "tables" / (table.name + suffix), write(table))
    plots = {}
    with style():
        for drawing in drawings:
            to_png(drawing.figure, folder / "figures" / f"{drawing.name}.png")
            svg = to_svg(drawing.figure, ink=INK)
            figure = svg.replace(INK, _INK) + "\n"
            write_text(folder / "figures" / f"{drawing.name}.svg", figure)
            shown = embed(svg.replace(INK, "currentColor"), drawing.name, drawing.alt)
            plots[drawing.name] = Plot(drawing.title, shown, drawing.caption)
    sections = [
        _Section(
            name, item, exhibit.tables, [plots[d.name] for d in exhibit.drawings], exhibit.notes
        )
        for name, (item, exhibit) in exhibits.items()
    ]
    page = folder / "report.html"
    html = render(
        "page.html.j2",
        packages=("mist_paper", "mist_bench"),
        made=made,
        title=_TITLE,
        intro=f"{INTRO} {note}".rstrip(),
        nothing=(NOTHING,),
        counts=count_tables(exhibits),
        differences=_difference_tables(exhibits),
        kinds=[
            (title, [section for section in sections if section.item.kind == kind])
            for kind, title in _KINDS.items()
        ],
    )
    write_text(page, html)
    text = f"# {_TITLE}\n\n{INTRO} {note}".rstrip()
    write_text(folder / "report.md", f"{text}\n\n{to_page(exhibits)}")
    return page


def to_page(
    exhibits: Mapping[str, tuple[Item, Exhibit]], images: str = "figures", suffix: str = ".svg"
) -> str:
    """Write the report as Markdown: the first table of each item, its figures and notes.

    Parameters
    ----------
    exhibits : mapping of str to tuple
        Items by name, each with its exhibit.
    images : str, default="figures"
        Folder of the figures, relative to the page.
    suffix : {".svg", ".png"}, default=".svg"
        Kind of the figures.

    Returns
    -------
    str
        Its text, from the second level of headings on.
    """
    parts = [to_markdown(table) for table in count_tables(exhibits)]
    for name, (item, exhibit) in exhibits.items():
        label = f" ({item.label})" if item.label else ""
        parts.append(f"## {item.title}{label}")
        parts += exhibit.notes
        for drawing in exhibit.drawings:
            parts.append(f"![{drawing.alt}]({images}/{drawing.name}{suffix})")
            parts.append(f"*{drawing.title}.* {drawing.caption}")
        # Tables of a theorem are different checks; other items repeat the first one cell by cell.
        shown = exhibit.tables if item.kind == "theory" else exhibit.tables[:1]
        parts += [to_markdown(table) for table in shown]
        parts.append(f"Run it again: `mist paper {name}`.")
    # Last, because they are long.
    for table in _difference_tables(exhibits):
        parts += [f"## {table.title}", to_markdown(table)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _refuse_twins(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two {what} are named {name!r}: rename one")
