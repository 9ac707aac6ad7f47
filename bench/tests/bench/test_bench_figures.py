import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist_bench.grid_figures import costs_svg, ranks_svg
from mist_bench.methods import METHODS
from mist_bench.plotting.costs import Point, _place, front
from mist_bench.plotting.rank_plot import _stack

SVG = "{http://www.w3.org/2000/svg}"
small = st.integers(0, 4).map(float)


def read(svg):
    """Box of the drawing, and its texts with their positions."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert "width" not in root.attrib
    box = [float(number) for number in root.get("viewBox").split()]
    found = []
    for element in root.iter(f"{SVG}text"):
        place = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform") or "")
        x = place.group(1) if place else element.get("x")
        y = place.group(2) if place else element.get("y")
        found.append((element.text, float(x), float(y)))
    return box, found


def words(svg):
    return [text for text, _, _ in read(svg)[1]]


def beaten(a, b):
    return b[0] >= a[0] and b[1] >= a[1] and b != a


@given(st.lists(st.tuples(small, small), max_size=9))
def test_the_front_by_trying_all_pairs(places):
    expected = {i for i, a in enumerate(places) if not any(beaten(a, b) for b in places)}
    got = front(places)
    assert set(got) == expected
    assert len(got) == len(expected)
    assert [places[i][0] for i in got] == sorted(places[i][0] for i in got)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 2)), max_size=12))
def test_bars_on_one_track_do_not_touch(spans):
    spans = sorted((start, start + length) for start, length in spans)
    tracks = _stack(spans)
    for i, (start, _) in enumerate(spans):
        for j in range(i):
            assert tracks[i] != tracks[j] or spans[j][1] < start
    assert sorted(set(tracks)) == list(range(len(set(tracks))))


@given(
    st.lists(st.tuples(st.floats(0.5, 3.5), st.floats(0.3, 3.2)), min_size=1, max_size=17),
    st.floats(0.05, 0.12),
)
def test_numbers_cover_neither_each_other_nor_points(places, width):
    points = np.array(places)
    halves = np.tile([width, 0.06], (len(points), 1))
    panel = np.array([[0.0, 0.0], [4.0, 3.6]])
    centres, rays = _place(points, halves, panel, np.empty((0, 2)))
    assert np.isfinite(rays).all()
    assert (centres - halves >= panel[0]).all()
    assert (centres + halves <= panel[1]).all()
    for i, centre in enumerate(centres):
        for other in centres[:i]:
            assert (np.abs(centre - other) >= halves[0] * 2).any()
        assert not (np.abs(points - centre) < halves[i]).all(axis=1).any()


@pytest.mark.parametrize("n_methods", [2, 3, 8, 17, 28])
@pytest.mark.parametrize("difference", [0.01, 3.0, 40.0])
def test_ranks_name_every_method_within_the_drawing(n_methods, difference):
    titles = [method.title for method in METHODS.values()][:n_methods]
    ranks = np.linspace(1, n_methods, n_methods)
    box, found = read(ranks_svg(titles, ranks, difference))
    texts = [text for text, _, _ in found]
    assert all(texts.count(title) == 1 for title in titles)
    assert f"critical difference {difference:.2f}" in texts
    assert all(0 <= x <= box[2] and 0 <= y <= box[3] for _, x, y in found)
    half = (n_methods + 1) // 2
    heights = {text: y for text, _, y in found}
    for names in (titles[:half], titles[half:][::-1]):
        lines = [heights[name] for name in names]
        assert all(b - a > 12 for a, b in pairwise(lines))


def test_ranks_are_ordered_whatever_the_order_of_methods():
    svg = ranks_svg(["worst", "best", "middle"], [2.9, 1.1, 2.0], 0.5)
    assert svg == ranks_svg(["best", "middle", "worst"], [1.1, 2.0, 2.9], 0.5)
    assert [word for word in words(svg) if word in ("1.10", "2.00", "2.90")] == [
        "1.10",
        "2.00",
        "2.90",
    ]


def test_long_names_widen_the_drawing_and_ties_are_drawn():
    short, _ = read(ranks_svg(["a", "b"], [1.5, 1.5], 1.0))
    long, _ = read(ranks_svg(["a" * 60, "b" * 60], [1.5, 1.5], 1.0))
    assert long[2] > short[2] + 100


def points(n, **changes):
    rng = np.random.default_rng(3)
    return [
        Point(
            **(
                {
                    "title": method.title,
                    "group": method.group,
                    "accuracy": float(rng.uniform(0.4, 0.9)),
                    "kilobytes": float(10 ** rng.uniform(0, 4)),
                    "rows_per_second": float(10 ** rng.uniform(3, 6)),
                }
                | changes
            )
        )
        for method in list(METHODS.values())[:n]
    ]


@pytest.mark.parametrize("n", [1, 3, 8])
def test_few_methods_are_named_in_both_panels(n):
    box, found = read(costs_svg(points(n)))
    for point in points(n):
        assert [text for text, _, _ in found].count(point.title) == 2
    assert all(0 <= x <= box[2] and 0 <= y <= box[3] for _, x, y in found)


@pytest.mark.parametrize("n", [9, 17, 28])
def test_many_methods_are_numbered_by_accuracy_and_listed(n):
    many = points(n)
    box, found = read(costs_svg(many))
    assert all(0 <= x <= box[2] and 0 <= y <= box[3] for _, x, y in found)
    texts = [text for text, _, _ in found]
    ordered = sorted(many, key=lambda point: -point.accuracy)
    listed = [text for text in texts if text in {point.title for point in many}]
    assert listed == [point.title for point in ordered]
    for number, point in enumerate(ordered, 1):
        # In either panel and in the list, where the name follows.
        assert texts.count(str(number)) >= 3
        assert texts[texts.index(point.title) - 1] == str(number)


def test_methods_without_a_size_or_rate_are_left_out_of_that_panel():
    ncm = Point("NCM", "other", 0.8, None, 1e5)
    slda = Point("SLDA", "other", 0.7, 10.0, None)
    texts = words(costs_svg([ncm, slda, Point("VFDT", "tree", 0.6, 5.0, 1e4)]))
    assert [texts.count(name) for name in ("NCM", "SLDA", "VFDT")] == [1, 1, 2]
    assert "not known of any method" not in texts
    texts = words(costs_svg([ncm]))
    assert texts.count("NCM") == 1
    assert "not known of any method" in texts


def test_groups_that_occur_are_explained():
    texts = words(costs_svg(points(list(METHODS).index("vfdt") + 1)))
    assert "MIST trees" in texts
    assert "other trees" in texts
    assert "no trees" not in texts
    everything = set(words(costs_svg(points(len(METHODS)), label="mean recall")))
    assert {"MIST trees", "other trees", "no trees", "MIST with a part exchanged"} <= everything
    assert "mean recall" in everything


@pytest.mark.parametrize(
    "svg",
    [
        ranks_svg(["<b>&", "$x$", "two\nlines"], [1.0, 2.0, 3.0], 0.5),
        costs_svg([Point(name, "ours", 0.5, 1.0, 1.0) for name in ("<b>&", "$x$", "two\nlines")]),
    ],
)
def test_names_are_texts_and_ink_comes_from_the_page(svg):
    assert {"<b>&", "$x$", "two lines"} <= set(words(svg))
    assert "currentColor" in svg
    assert "#0a0b0c" not in svg
    assert "#000000" not in svg


def test_every_group_of_methods_can_be_drawn():
    assert len({Point("x", m.group, 0.5, None, None).group for m in METHODS.values()}) == 4


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: Point("x", "forest", 0.5, None, None), "group of 'x' must be one of ours, tree"),
        (lambda: Point("x", "ours", math.nan, None, None), "accuracy of 'x'"),
        (lambda: Point("x", "ours", 0.5, 0.0, None), "kilobytes of 'x' must be positive"),
        (lambda: Point("x", "ours", 0.5, None, math.inf), "rows_per_second of 'x'"),
        (lambda: costs_svg([]), "at least one method"),
        (lambda: ranks_svg(["a"], [1.0], 1.0), "two methods or more, got 1"),
        (lambda: ranks_svg(["a", "b"], [1.0], 1.0), "two methods or more, got 2"),
        (lambda: ranks_svg(["a", "b"], [0.5, 2.0], 1.0), "between 1 and 2"),
        (lambda: ranks_svg(["a", "b"], [1.0, math.nan], 1.0), "between 1 and 2"),
        (lambda: ranks_svg(["a", "b"], [1.0, 2.0], 0.0), "difference must be positive"),
    ],
)
def test_what_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
