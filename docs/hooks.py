"""MkDocs hooks: they change the pages so that readers of the site need no network.

Formulas become MathML, which browsers draw themselves. CHANGELOG.md and CONTRIBUTING.md, which
are in the root folder of the project, become pages. The flags of code blocks, which only the tests
use (see CONTRIBUTING.md), are removed.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_FLAG = re.compile(r"^( *```\w+) (?:no-run|run)$", re.MULTILINE)


def on_files(files, config):
    """Add the pages that are outside the docs folder."""
    top = Path(config.config_file_path).parent
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = (top / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name.lower(), content=text))
    return files


def on_page_markdown(markdown, **_):
    """Remove the flags from the code blocks."""
    return _FLAG.sub(r"\1", markdown)


def on_page_content(content, **_):
    """Turn formulas into MathML."""
    return _FORMULA.sub(_to_mathml, content)


def _to_mathml(found):
    display = "block" if found[1] == "div" else "inline"
    return convert(html.unescape(found[2]), display=display)
