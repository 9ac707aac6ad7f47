import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from mist_bench.result_tables import Table, to_csv, to_latex, to_markdown, to_rich

NASTY = (
    "a|b",
    "<script>",
    "50 %_x",
    '"q",z',
    "two\nlines",
    r"\|",
    "**b**",
    "[u](v)",
    "`c`",
    "~~s~~",
)

texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp")), max_size=8),
    st.text("\\`*_[]|&<>~${}%^#-\n\r\"' a±", max_size=8),
)


def table(rows, headings=("class", "MIST-G", "VFDT"), **changes):
    fields = {
        "name": "recall",
        "title": "Recall",
        "caption": "Mean of 5 seeds.",
        "headings": tuple(headings),
        "rows": tuple(tuple(row) for row in rows),
    }
    return Table(**(fields | changes))


@st.composite
def tables(draw):
    width = draw(st.integers(1, 4))
    row = st.tuples(*[texts] * width)
    rows = draw(st.lists(row, max_size=4))
    cells = [(i, j) for i in range(len(rows)) for j in range(width)]
    return table(
        rows,
        draw(row),
        title=draw(texts),
        caption=draw(texts),
        n_text=draw(st.integers(0, width)),
        best=draw(st.frozensets(st.sampled_from(cells))) if cells else frozenset(),
        rules=draw(st.frozensets(st.sampled_from(range(len(rows))))) if rows else frozenset(),
    )


class Cells(HTMLParser):
    """Text of every cell of a page with one table; a bold cell starts with ``!``."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.inside = True
            self.rows[-1].append("")
        elif self.inside:
            assert tag in ("strong", "br")
            self.rows[-1][-1] += {"strong": "!", "br": "\n"}[tag]

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("th", "td")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def shown(text):
    lines = ["".join(c if c.isprintable() else " " for c in s) for s in text.splitlines()]
    return "\n".join(lines).strip()


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


@given(tables())
def test_markdown_is_read_back_as_it_was(written):
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(to_markdown(written))
    expected = [
        [squeezed(shown(heading)) for heading in written.headings],
        *(
            [
                squeezed(("!" if (i, j) in written.best and shown(cell) else "") + shown(cell))
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(written.rows)
        ),
    ]
    assert [[squeezed(cell) for cell in row] for row in Cells(html).rows] == expected


def test_markdown_lines_up_and_aligns_numbers_right():
    text = to_markdown(table([("wine", "0.9", "10.25")], best=frozenset({(0, 2)})))
    assert text == (
        "**Recall.** Mean of 5 seeds.\n"
        "\n"
        "| class | MIST-G |      VFDT |\n"
        "| :---- | -----: | --------: |\n"
        "| wine  |    0.9 | **10.25** |\n"
    )


@given(tables())
def test_csv_is_read_back_as_it_was(written):
    rows = list(csv.reader(io.StringIO(to_csv(written), newline="")))
    expected = [
        [cell.replace("\r\n", "\n").replace("\r", "\n") for cell in row]
        for row in (written.headings, *written.rows)
    ]
    assert rows == expected


def test_csv_of_awkward_cells():
    text = to_csv(table([('"q",z', "1", "2"), ("a\r\nb", "3", "4")], best=frozenset({(0, 1)})))
    assert text == 'class,MIST-G,VFDT\n"""q"",z",1,2\n"a\nb",3,4\n'


LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textasciigrave{}": "`",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"$\pm$": "±",
    "$-$": "-",
    "{[}": "[",
    "{]}": "]",
    "{*}": "*",
    "-{}": "-",
    **{f"\\{c}": c for c in "&%$#_{}"},
}
TOKEN = re.compile("|".join(map(re.escape, LATEX)) + r"|[^\\&%$#_{}~^<>|\[\]*`]")


def read_latex(cell):
    """What LaTeX prints, if the text consists of known escapes and harmless characters."""
    bold = re.fullmatch(r"\\textbf\{(.*)\}", cell, re.DOTALL)
    inside = bold.group(1) if bold else cell
    assert TOKEN.sub("", inside) == ""
    assert "--" not in inside
    return TOKEN.sub(lambda token: LATEX.get(token.group(), token.group()), inside), bool(bold)


latex_cells = texts.filter(lambda text: not set(text) & set("−≤≥"))  # noqa: RUF001


@given(st.lists(st.tuples(latex_cells, latex_cells), min_size=1, max_size=3), st.booleans())
def test_latex_prints_every_cell_as_it_was(rows, bold):
    rows = [(f"a{first}", f"{second}z") for first, second in rows]
    best = frozenset({(0, 1)}) if bold else frozenset()
    text = to_latex(table(rows, ("x", "y"), best=best))
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0].removesuffix(" \\\\\n")
    for i, (line, row) in enumerate(zip(body.split(" \\\\\n"), rows, strict=True)):
        cells = re.split(r"(?<!\\)&", line)
        printed = [read_latex(cell.strip()) for cell in cells]
        assert [squeezed(cell) for cell, _ in printed] == [
            squeezed(shown(cell).replace("\n", " ")) for cell in row
        ]
        assert [is_bold for _, is_bold in printed] == [False, bold and i == 0]


def test_latex_has_rules_minus_signs_caption_and_label():
    text = to_latex(
        table(
            [("a-1", "-0.5 ± 0.1", ""), ("b--c", "1", "−2")],  # noqa: RUF001
            title="50 %",
            caption="",
            rules=frozenset({0, 1}),
            best=frozenset({(0, 2)}),
        )
    )
    lines = text.splitlines()
    assert r"\caption{\textbf{50 \%.}}" in lines
    assert r"\label{tab:recall}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    assert lines[lines.index(r"\toprule") :] == [
        r"\toprule",
        r"class & MIST-G & VFDT \\",
        r"\midrule",
        r"a-1 & $-$0.5 $\pm$ 0.1 &  \\",
        r"\midrule",
        r"b-{}-c & 1 & $-$2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def drawn(written, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(to_rich(written))
    return console.file.getvalue()


def test_the_terminal_shows_markup_as_text_and_parts_groups():
    rows = [("[bold]x[/]", "0.9", "1"), ("\x1b[31mred", "0.8", "2")]
    text = drawn(table(rows, rules=frozenset({0, 1})))
    assert "[bold]x[/]" in text
    assert "\x1b" not in text
    lines = [line.strip() for line in text.splitlines()]
    assert [set(line) for line in lines[2:6:2]] == [{"─"}, set()]
    assert all(words in text for words in ("Recall", "Mean of 5 seeds.", "MIST-G"))
    cell = to_rich(table(rows, best=frozenset({(0, 1)}))).columns[1]._cells[0]
    assert (cell.plain, cell.style) == ("0.9", "bold")


def test_wide_tables_lose_no_column_in_a_narrow_terminal():
    headings = ("data set", *(f"m{i:02}" for i in range(17)))
    row = ("pendigits", *(f"0.{i:02}7 ± 0.01" for i in range(17)))
    text = drawn(table([row], headings))
    assert max(map(len, text.splitlines())) <= 80
    for letter in "0123456789":
        expected = sum(cell.count(letter) for cell in (*headings, *row)) + "5".count(letter)
        assert text.count(letter) == expected


@pytest.mark.parametrize("name", ["", "../x", "a b", "é", ".x", "-x", "a/b"])
def test_names_that_are_no_file_stems(name):
    with pytest.raises(ValueError, match="file stem"):
        table([], name=name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": (("a", "1"),)}, "row 0 .* 2 cells for 3 headings"),
        ({"headings": ()}, "0 columns"),
        ({"n_text": 4}, "n_text=4"),
        ({"n_text": -1}, "n_text=-1"),
        ({"best": frozenset({(1, 0)})}, r"no cell \(1, 0\)"),
        ({"best": frozenset({(0, 3)})}, r"no cell \(0, 3\)"),
        ({"rules": frozenset({1})}, "no row 1"),
        ({"rules": frozenset({-1})}, "no row -1"),
    ],
)
def test_what_a_table_refuses(changes, words):
    with pytest.raises(ValueError, match=words):
        table(**({"rows": [("a", "1", "2")]} | changes))
