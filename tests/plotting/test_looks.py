from itertools import combinations

from mist.plotting import PALETTE, line_styles


def test_twenty_lines_all_differ_in_colour_or_dash():
    looks = [(line["color"], line["linestyle"]) for line in line_styles(20)]
    assert len(looks) == 20
    assert all(a != b for a, b in combinations(looks, 2))


def test_the_first_five_lines_differ_in_both():
    lines = list(line_styles(5))
    assert [line["color"] for line in lines] == list(PALETTE)
    assert len({line["linestyle"] for line in lines}) == 5
