"""What the tests of pages look at: tags, ids, drawings and words."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Checks that tags are balanced and collects what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.ids = []
        self.references = []
        self.labels = []
        self.words = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
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
        self.words.append(data)


def assert_self_contained(text):
    outline = Outline(text)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.references) <= set(outline.ids)
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="(?!#|data:image/)', text)
    assert "@import" not in text
