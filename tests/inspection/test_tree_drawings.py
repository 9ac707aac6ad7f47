"""Trees as DOT texts and as matplotlib drawings."""

import re
import shutil
import subprocess
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rows import EAGER, grown, tiny
from sklearn.exceptions import NotFittedError

from mist import MistForest
from mist.inspection import export_graphviz, plot_tree
from mist.inspection.wording import count, number
from mist.texts import printable
from published import paper_tree

NASTY = [
    '"quoted"',
    "<script>alert(1)</script>",
    "back\\slash\\n",
    "two\nlines",
    "&lt; & $x_1$",
    "\\",
]


def nasty(**options):
    """A tree whose classes and columns have names that a text could stumble over."""
    rng = np.random.default_rng(0)
    y = rng.integers(len(NASTY), size=400)
    centres = rng.uniform(0, 6, (len(NASTY), 2))
    X = rng.normal(centres[y], 1.0)
    model = paper_tree(**EAGER, **options)
    names = ['a "b" \\', "<i>&amp;"]
    for x, label in zip(X.tolist(), np.array(NASTY)[y].tolist(), strict=True):
        model.learn_one(dict(zip(names, x, strict=True)), label)
    return model


def draw(dot):
    """Texts of the SVG that Graphviz makes, or the test is skipped."""
    if shutil.which("dot") is None:
        pytest.skip("the program dot of Graphviz is not installed")
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    page = ElementTree.fromstring(done.stdout)
    return [text.text for text in page.iter("{http://www.w3.org/2000/svg}text")]


# -- DOT ---------------------------------------------------------------------------------------


def dry():
    """The tiny tree after three more rows, all to the left."""
    return tiny().partial_fit([[2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], ["dry", "dry", "soaked"])


def test_dot_of_a_tiny_tree():
    lines = export_graphviz(dry()).splitlines()
    assert lines[0] == "digraph Tree {"
    assert lines[-6:] == [
        r'0 [label="x0 <= 6\n11 rows\ndry 4.4, soaked 3.4", fillcolor="#a1c1f5"];',
        '0 -> 1 [label="yes, or missing"];',
        '0 -> 2 [label="no"];',
        r'1 [label="leaf 1\n3 rows\ndry 4.4, soaked 1", fillcolor="#a1c1f5"];',
        r'2 [label="leaf 2\n0 rows\nsoaked 2.4", fillcolor="#f3c699"];',
        "}",
    ]


def test_dot_has_all_nodes_and_edges():
    model = grown("gaussian")
    dot, tree = export_graphviz(model), model.tree_
    nodes = {int(m) for m in re.findall(r"^(\d+) \[label", dot, re.MULTILINE)}
    edges = {(int(a), int(b)) for a, b in re.findall(r"^(\d+) -> (\d+)", dot, re.MULTILINE)}
    inner = np.flatnonzero(tree.feature >= 0)
    assert nodes == set(range(len(tree.feature)))
    assert edges == {(i, child) for i in inner for child in (tree.left[i], tree.right[i])}
    assert dot.count("or missing") == len(inner)
    mass = model._state.tree.nodes.mass
    for i in inner:
        heavier = tree.left[i] if mass[tree.left[i]] >= mass[tree.right[i]] else tree.right[i]
        assert re.search(rf'^{i} -> {heavier} \[label="(yes|no), or missing"\];', dot, re.MULTILINE)
    top = export_graphviz(model, max_depth=1, max_classes=1)
    assert len(re.findall(r"^\d+ \[label", top, re.MULTILINE)) == 3
    assert top.count("leaves below") == np.sum((tree.depth == 1) & (tree.feature >= 0)) > 0
    assert "and 3 more" in top


def test_graphviz_draws_every_text_as_it_is():
    model = nasty(max_leaves=4)
    texts = draw(export_graphviz(model, max_classes=9))
    whole = "\n".join(texts)
    for name in NASTY:
        assert printable(name) in whole
    for column in {node.feature for node in model.split_log_}:
        assert any(t.startswith(model._column_names()[column] + " <= ") for t in texts)
    assert not any(t == "lines" or t.startswith("lines ") for t in texts)


def test_no_name_ends_a_string_of_the_text():
    for line in export_graphviz(nasty(max_leaves=4), max_classes=9).splitlines()[4:-1]:
        strings = re.findall(r'"(?:[^"\\]|\\.)*"', line)
        rest = re.sub(r'"(?:[^"\\]|\\.)*"', "S", line)
        assert re.fullmatch(r"\d+ \[label=S, fillcolor=S\];|\d+ -> \d+ \[label=S\];", rest)
        assert all("\n" not in s for s in strings)


# -- matplotlib --------------------------------------------------------------------------------


def boxes(axes):
    """Rectangles of all texts that stand in a box, as drawn."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    axes.figure.draw(renderer)
    patches = [text.get_bbox_patch() for text in axes.texts]
    return [p.get_window_extent(renderer) for p in patches if p is not None]


@pytest.mark.parametrize("leaves", [1, 3, 30])
@pytest.mark.parametrize("given", [False, True], ids=["own figure", "axes given"])
def test_no_box_lies_over_another_or_outside(leaves, given):
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=4000)
    X = rng.normal(rng.uniform(0, 9, (12, 5))[y], 1.0)
    model = paper_tree(max_leaves=leaves, **EAGER).partial_fit(X, y)
    assert model.n_leaves_ == leaves
    axes = plot_tree(model, Figure((8, 6)).subplots() if given else None)
    found = boxes(axes)
    assert len(found) == 2 * leaves - 1
    for one, other in combinations(found, 2):
        assert not one.overlaps(other)
    page = axes.figure.bbox
    for box in found:
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
    if not given:
        _close(axes)


def _close(axes):
    from matplotlib import pyplot

    pyplot.close(axes.figure)


def test_a_drawing_says_what_the_tree_is():
    axes = plot_tree(dry(), Figure().subplots())
    texts = [text.get_text() for text in axes.texts]
    assert texts == [
        "≤", ">", "x0 <= 6", "leaf 1: 3 rows; dry 4.4, soaked 1", "leaf 2: 0 rows; soaked 2.4"
    ]  # fmt: skip
    left, right = axes.lines
    assert left.get_ydata()[-1] < right.get_ydata()[-1]  # the axis points down
    assert left.get_linewidth() > right.get_linewidth()  # without a value to the left
    colours = {text.get_bbox_patch().get_facecolor() for text in axes.texts[-2:]}
    assert len(colours) == 2


def test_a_drawing_may_end_early():
    model = grown("gaussian")
    axes = plot_tree(model, Figure().subplots(), max_depth=0)
    (only,) = axes.texts
    assert only.get_text().startswith(f"{model.n_leaves_} leaves: 400 rows; ")
    shown = plot_tree(model, Figure().subplots(), max_depth=1, max_classes=1)
    assert sum(t.get_text().count(" and ") for t in shown.texts) == 2


def test_long_names_are_cut_and_dollars_are_no_formulas():
    model = paper_tree().partial_fit([[0.0], [1.0]], ["x" * 200, "$\\frac$"])
    axes = plot_tree(model, Figure().subplots())
    assert axes.texts[0].get_text() == f"leaf 0: 2 rows; {'x' * 11}…{'x' * 11} 1, $\\frac$ 1"
    assert boxes(axes)


def test_drawings_refuse_what_they_cannot_draw():
    for drawing in (export_graphviz, plot_tree):
        with pytest.raises(ValueError, match="max_depth=-1"):
            drawing(tiny(), max_depth=-1)
        with pytest.raises(ValueError, match="max_classes=0"):
            drawing(tiny(), max_classes=0)
        with pytest.raises(TypeError, match=r"trees_\[0\]"):
            drawing(MistForest())
        with pytest.raises(NotFittedError):
            drawing(paper_tree())
    with pytest.raises(TypeError, match="pass one of its axes"):
        plot_tree(tiny(), Figure())


# -- texts -------------------------------------------------------------------------------------


@given(st.text())
def test_a_printable_text_is_one_line_and_says_all(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1
    assert text.isprintable() <= (shown == text)


@given(
    value=st.floats(-1e12, 1e12),
    spread=st.one_of(st.just(0.0), st.floats(1e-12, 1e12)),
)
def test_a_number_is_told_to_a_hundredth_of_its_columns_spread(value, spread):
    shown = float(number(value, spread))
    assert shown == pytest.approx(value, rel=0.006, abs=1e-300)
    if spread > 1e-6 and abs(value) < 1e8:
        assert abs(shown - value) <= 0.051 * spread


def test_counts_of_rows():
    texts = [count(v) for v in (0.0, 3.0, 3.04, 99.96, 1234.5, 0.25)]
    assert texts == ["0", "3", "3", "100", "1,234", "0.2"]
