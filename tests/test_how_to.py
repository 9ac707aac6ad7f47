"""The Python blocks of the how-to pages run, a page in one namespace from top to bottom."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert blocks
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for block in blocks:
        # Empty lines before it, so that an error names the line of the page.
        above = "\n" * text[: block.start(1)].count("\n")
        exec(compile(above + block[1], str(page), "exec"), names)
