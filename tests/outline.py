"""What the tests of pages look at: tags, ids, drawings and words."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import mist

SCRIPT = Path(mist.__file__).parent / "report" / "sort.js"
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Checks that tags are balanced and collects what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.ids = []
        self.references = []
        self.labels = []
        self.attributes = set()
        self.words = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.attributes |= attributes.keys()
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "svg":
            assert attributes["role"] == "img"
            assert "width" not in attributes
            self.labels.append(attributes["aria-label"])
        for value in attributes.values():
            self.references += re.findall(r"url\(#([^)]+)\)", value or "")
        for name in ("href", "xlink:href"):
            if attributes.get(name, "").startswith("#"):
                self.references.append(attributes[name][1:])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["script"]:
            self.words.append(data)


def assert_self_contained(text):
    outline = Outline(text)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.references) <= set(outline.ids)
    # The one script of the package, which the page allows by its hash, and none in an attribute.
    (script,) = re.findall(r"<script\b[^>]*>(.*?)</script>", text, re.DOTALL)
    assert text.count("<script") == 1
    assert script == SCRIPT.read_text(encoding="utf-8").rstrip("\n")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in text
    assert not any(name.startswith("on") for name in outline.attributes)
    assert not re.search(r'(?:src|href)="(?!#|data:image/)', text)
    assert "@import" not in text
