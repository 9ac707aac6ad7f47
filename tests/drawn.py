"""What the tests of plots ask of axes that were drawn on."""

from itertools import combinations


def looks(ax):
    """Dashes and marker of each line that has a name: what is left of it without colours."""
    return {
        line.get_label(): (str(line._unscaled_dash_pattern), str(line.get_marker()))
        for line in ax.lines
        if not line.get_label().startswith("_")
    }


def assert_told_apart(ax):
    for (one, look), (other, its) in combinations(looks(ax).items(), 2):
        assert look != its, f"{one} and {other} look alike without colours"
