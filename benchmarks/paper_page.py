"""Write docs/results/paper.md and its figures from the results that `mist paper all` has left.

    mist paper all --out mist-paper
    python benchmarks/paper_page.py --folder mist-paper

Nothing is run: what is not in the folder is told as not run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mist.files import write_text
from mist.report.style import style, to_svg
from mist_bench.store import read_records
from mist_paper.exhibit import Scope
from mist_paper.items import ITEMS, plan_of
from mist_paper.report import INTRO, to_page

HEAD = """# The paper, run again: tables and figures

{intro} Made by `mist paper all` and `benchmarks/paper_page.py`; nothing here is edited by hand.
[The paper, run again](../paper.md) says what to make of it.
"""
INK = "#808890"  # legible on white and on near-black, as a file has no text colour to take


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("mist-paper"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/paper.md"))
    parser.add_argument("--images", type=Path, default=Path("docs/images/paper"))
    options = parser.parse_args()
    scope = Scope()
    records = read_records(options.folder, plan_of(list(ITEMS), scope))
    exhibits = {name: (item, item.show(scope, records)) for name, item in ITEMS.items()}
    page = to_page(exhibits, "../images/paper")
    write_text(options.out, HEAD.format(intro=INTRO) + "\n" + page)
    with style():
        for _, exhibit in exhibits.values():
            for drawing in exhibit.drawings:
                svg = to_svg(drawing.figure, ink=INK)
                write_text(options.images / f"{drawing.name}.svg", svg + "\n")
    print(options.out)


if __name__ == "__main__":
    main()
