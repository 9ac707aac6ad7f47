from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from mist.plotting import MARKERS, PALETTE, line_styles
from mist.plotting.shares import draw_shares

PAGES = ("#ffffff", "#181d23")
"""What the pages draw on: light and dark."""

VISION = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What is seen of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1)."""

TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def linear(colour):
    share = np.array(to_rgb(colour))
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(colour) @ TO_XYZ[1]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_lines_differ_without_colours_as_long_as_there_are_looks():
    looks = [(str(line["linestyle"]), line.get("marker")) for line in line_styles(48)]
    assert len(set(looks)) == 48
    # The first six by their dashes alone.
    assert len({dashes for dashes, _ in looks[:6]}) == 6
    assert {marker for _, marker in looks[6:]} == set(MARKERS[1:])


def test_a_legend_has_room_for_every_dash():
    for line in line_styles(6):
        if line["linestyle"] != "-":
            # Twice the size of letters, in points.
            assert sum(line["linestyle"][1]) * line["linewidth"] <= 20


def test_the_first_five_lines_have_the_five_colours():
    assert [line["color"] for line in line_styles(5)] == list(PALETTE)


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_with_any_vision(vision):
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20


@pytest.mark.parametrize("page", PAGES)
def test_colours_are_seen_on_the_pages(page):
    # Three to one is what WCAG 2 asks of the parts of a drawing.
    assert min(contrast(colour, page) for colour in PALETTE) >= 3


def test_numbers_stand_out_of_every_shade_and_shades_darken():
    shares = np.linspace(0, 1, 201)[None]
    ax = Figure().subplots()
    mesh = draw_shares(ax, shares, 8)
    shades = mesh.to_rgba(shares.ravel())
    ratios = [
        contrast(text.get_color(), shade[:3]) for text, shade in zip(ax.texts, shades, strict=True)
    ]
    assert min(ratios) >= 4.5
    brightness = [float(linear(shade[:3]) @ TO_XYZ[1]) for shade in shades]
    assert (np.diff(brightness) <= 0).all()
