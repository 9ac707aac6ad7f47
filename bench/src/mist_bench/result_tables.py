"""A table of texts and its renderings: Markdown, CSV, LaTeX and the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["Table", "to_csv", "to_latex", "to_markdown", "to_rich"]

# HTML entities, because Markdown dialects differ on backslashes.
_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in r"\`*_[]|"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}
)

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    # LaTeX reads a star or bracket after the end of a row as its option.
    | {c: f"{{{c}}}" for c in "*[]"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "`": r"\textasciigrave{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "−": "$-$",  # noqa: RUF001
        "≤": r"$\leq$",
        "≥": r"$\geq$",
    }
)


@dataclass(frozen=True)
class Table:
    """A table ready to be written in any format.

    Raises
    ------
    ValueError
        If the name is not a plain file stem, a row is not as long as the headings, or `n_text`,
        `best` or `rules` point outside the table.

    Examples
    --------
    >>> table = Table(
    ...     name="final-accuracy",
    ...     title="Final accuracy",
    ...     caption="Mean of 5 seeds.",
    ...     headings=("data set", "MIST-G", "VFDT"),
    ...     rows=(("wine", "0.95 ± 0.01", "0.90"),),
    ...     best=frozenset({(0, 1)}),
    ... )
    >>> table.rows[0][1]
    '0.95 ± 0.01'
    """

    name: str
    """File stem, of ASCII letters, digits, dots, dashes and underscores."""

    title: str
    """What the table shows, in a few words without a full stop."""

    caption: str
    """Explanation of the table; may be empty."""

    headings: tuple[str, ...]
    """One per column, at least one."""

    rows: tuple[tuple[str, ...], ...]
    """Cells as they are shown."""

    n_text: int = 1
    """Leading columns of text, left aligned; all others are numbers, right aligned."""

    best: frozenset[tuple[int, int]] = frozenset()
    """Cells, as (row, column) from 0, that are printed bold."""

    rules: frozenset[int] = frozenset()
    """Rows above which LaTeX has a rule and the terminal an empty line."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.-]*", self.name, re.ASCII):
            raise ValueError(
                f"name of a table must be a file stem of letters, digits, '.', '-' and '_', "
                f"got {self.name!r}"
            )
        width, height = len(self.headings), len(self.rows)
        if not 0 <= self.n_text <= width or width == 0:
            raise ValueError(
                f"table {self.name!r} has {width} columns, of which n_text={self.n_text} "
                "cannot be text"
            )
        for number, row in enumerate(self.rows):
            if len(row) != width:
                raise ValueError(
                    f"row {number} of table {self.name!r} has {len(row)} cells for {width} headings"
                )
        for row_, column in self.best:
            if not (0 <= row_ < height and 0 <= column < width):
                raise ValueError(f"table {self.name!r} has no cell {(row_, column)} to print bold")
        for number in self.rules:
            if not 0 <= number < height:
                raise ValueError(f"table {self.name!r} has no row {number} to draw a rule above")


def to_markdown(table: Table) -> str:
    r"""Write a table for GitHub and other readers of Markdown tables.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        Title and caption as a paragraph, then the table; the last line ends in a newline.

    Examples
    --------
    >>> table = Table("t", "Sizes", "In KB.", ("class", "size"), (("a|b", "9.5"),))
    >>> print(to_markdown(table), end="")
    **Sizes.** In KB.
    <BLANKLINE>
    | class | size |
    | :---- | ---: |
    | a\|b  |  9.5 |
    """
    cells = [
        [_markdown(heading) for heading in table.headings],
        *_format(table, lambda text, _: _markdown(text), "**{}**"),
    ]
    # Three characters at least, as some readers ask for in the second line.
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(table.headings))]

    def line(texts: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if i < table.n_text else text.rjust(width)
            for i, (text, width) in enumerate(zip(texts, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    dashes = [
        ":" + "-" * (width - 1) if i < table.n_text else "-" * (width - 1) + ":"
        for i, width in enumerate(widths)
    ]
    head = [f"**{_markdown(table.title)}.** {_markdown(table.caption)}".rstrip(), ""]
    return "\n".join([*head, line(cells[0]), line(dashes), *map(line, cells[1:]), ""])


def to_csv(table: Table) -> str:
    r"""Write headings and plain cells as comma-separated values (RFC 4180).

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        Lines ending in ``"\n"``, line ends within cells are converted alike.

    Examples
    --------
    >>> table = Table("t", "Sizes", "In KB.", ("class", "size"), (("a,b", "9.5"),))
    >>> to_csv(table)
    'class,size\n"a,b",9.5\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (table.headings, *table.rows):
        # Readers take a bare carriage return for the end of the row.
        writer.writerow([cell.replace("\r\n", "\n").replace("\r", "\n") for cell in row])
    return out.getvalue()


def to_latex(table: Table) -> str:
    r"""Write a table as a float of LaTeX, for a document with ``\usepackage{booktabs}``.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
        A ``table`` environment labelled ``tab:`` and the name of the table.

    Examples
    --------
    >>> table = Table("t", "Sizes", "In KB.", ("class", "size"), (("50 %", "9 ± 1"),))
    >>> print(to_latex(table), end="")
    \begin{table}
    \centering
    \caption{\textbf{Sizes.} In KB.}
    \label{tab:t}
    \begin{tabular}{lr}
    \toprule
    class & size \\
    \midrule
    50 \% & 9 $\pm$ 1 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    columns = "l" * table.n_text + "r" * (len(table.headings) - table.n_text)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{\textbf{{{_latex(table.title)}.}} {_latex(table.caption)}".rstrip() + "}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(_latex(heading) for heading in table.headings),
        r"\midrule",
    ]
    for number, row in enumerate(_format(table, _latex, r"\textbf{{{}}}")):
        # The headings already have a rule below them.
        if number in table.rules and number > 0:
            lines.append(r"\midrule")
        lines.append(_latex_row(row))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def to_rich(table: Table) -> RichTable:
    """Return a table for the terminal.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    rich.table.Table
        Cells that do not fit the terminal are wrapped, not cut off.

    Examples
    --------
    >>> from rich.console import Console
    >>> table = Table("t", "Sizes", "", ("class", "size"), (("[b]", "9.5"),))
    >>> Console(width=40).print(to_rich(table))
       Sizes
    class   size
    ────────────
    [b]      9.5
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(
        title=Text(_plain(table.title), style="bold"),
        caption=Text(_plain(table.caption)) if table.caption else None,
        box=box.SIMPLE_HEAD,
        header_style="bold",
        show_edge=False,
        pad_edge=False,
    )
    for i, heading in enumerate(table.headings):
        rich_table.add_column(
            Text(_plain(heading)),
            justify="left" if i < table.n_text else "right",
            overflow="fold",
        )
    for number, row in enumerate(table.rows):
        if number in table.rules and number > 0:
            rich_table.add_section()
        rich_table.add_row(
            *(
                Text(_plain(cell), style="bold" if (number, i) in table.best else "")
                for i, cell in enumerate(row)
            )
        )
    return rich_table


def _format(table: Table, escape: Callable[[str, bool], str], bold: str) -> Iterator[list[str]]:
    for number, row in enumerate(table.rows):
        texts = [escape(cell, i >= table.n_text) for i, cell in enumerate(row)]
        yield [
            # An empty bold text would be shown as asterisks.
            bold.format(text) if (number, i) in table.best and text.strip() else text
            for i, text in enumerate(texts)
        ]


def _plain(text: str) -> str:
    # Control characters could end a cell or control the terminal.
    lines = text.splitlines()
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)


def _markdown(text: str) -> str:
    return _plain(text).strip().translate(_MARKDOWN).replace("\n", "<br>")


def _latex(text: str, numeric: bool = False) -> str:
    # LaTeX turns two hyphens into a dash.
    text = re.sub("-(?=-)", "-{}", _plain(text).replace("\n", " ").translate(_LATEX))
    return re.sub(r"(?<!\S)-(?=[\d.])", "$-$", text) if numeric else text


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
