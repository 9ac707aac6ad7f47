from datetime import datetime

import pytest

from mist.report.document import embed, render, write_setting

SVG = '<svg viewBox="0 0 1 1"><path id="a"/><use href="#a" fill="url(#b)"/><text>{}</text></svg>'


def test_ids_and_references_get_the_prefix_but_texts_do_not():
    text = 'a class named id="a" href="#a" url(#b)'
    found = str(embed(SVG.format(text), "p", "x"))
    assert '<path id="p-a"/><use href="#p-a" fill="url(#p-b)"/>' in found
    assert f"<text>{text}</text>" in found


def test_the_text_in_place_of_a_drawing_is_escaped():
    found = str(embed(SVG.format(""), "p", '"><script>'))
    assert found.startswith('<svg role="img" aria-label="&#34;&gt;&lt;script&gt;" viewBox')


def test_a_template_says_when_it_was_filled_in_and_escapes():
    text = render(
        "report/base.html.j2", made=datetime(2025, 3, 1, 9, 5), title="<b>", intro="{{ 1 + 1 }}"
    )
    assert "<h1>&lt;b&gt;</h1>" in text
    assert "{{ 1 + 1 }}" in text
    assert "01 March 2025, 09:05" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "None"), ("x" * 50, "50 entries"), (list(range(9)), str(list(range(9))))],
)
def test_long_values_are_counted(value, text):
    assert write_setting(value) == text
