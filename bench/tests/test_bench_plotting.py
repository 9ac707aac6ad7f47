import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from drawn import looks
from mist_bench.plotting import Point, plot_costs, plot_ranks
from mist_paper.drawing import Drawing
from mist_paper.plotting import plot_panel

POINTS = [
    Point("MIST-G", "ours", 0.9, 900.0, 2e5),
    Point("VFDT", "tree", 0.6, 40.0, None),
    Point("NCM", "other", 0.7, 2.0, 3e5),
    Point("part", "ablation", 0.65, 3.0, 1e5),
]


def draw_panel(ax):
    ax.plot([1, 2], label="a")
    ax.set_xlabel("x")


PANEL = Drawing("d", "D", (draw_panel,), "", "")

PLOTS = {
    "ranks": lambda ax=None: plot_ranks(["a", "b", "c"], [1.0, 2.2, 2.8], 0.9, ax),
    "size": lambda ax=None: plot_costs(POINTS, ax),
    "rate": lambda ax=None: plot_costs(POINTS, ax, against="rows_per_second"),
    "panel": lambda ax=None, **options: plot_panel(PANEL, ax, **options),
}
LABELS = {
    "ranks": ("", ""),
    "size": ("size of the model, KB (further left is better)", "mean accuracy"),
    "rate": ("rows/s, test then train (further right is better)", "mean accuracy"),
    "panel": ("x", ""),
}


@pytest.fixture
def ax():
    return Figure().subplots()


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_drawn_on_the_axes_given_and_named(name, ax):
    empty = len(ax.get_children())
    assert PLOTS[name](ax) is ax
    assert len(ax.get_children()) > empty
    assert (ax.get_xlabel(), ax.get_ylabel()) == LABELS[name]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", PLOTS)
def test_without_axes_a_figure_is_made(name):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    before = set(pyplot.get_fignums())
    ax = PLOTS[name]()
    (number,) = set(pyplot.get_fignums()) - before
    assert ax.figure is pyplot.figure(number)
    pyplot.close(number)


@pytest.mark.parametrize("name", PLOTS)
def test_an_object_that_is_not_axes_is_refused(name):
    with pytest.raises(
        TypeError, match="ax must be matplotlib axes or None, got ndarray: pass one"
    ):
        PLOTS[name](Figure().subplots(2))


def test_the_line_of_a_panel_is_in_the_legend(ax):
    PLOTS["panel"](ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(looks(ax)) == ["a"]
    assert PLOTS["panel"](Figure().subplots(), legend=False).get_legend() is None


def test_pyplot_is_left_alone_where_axes_are_given():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "import mist_bench.plotting, mist_paper.plotting; print('matplotlib' in sys.modules)\n"
        "from matplotlib.figure import Figure; from test_bench_plotting import PLOTS\n"
        "[plot(Figure().subplots()) for plot in PLOTS.values()]\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_ranks_are_drawn_at_their_positions(ax):
    plot_ranks(["b", "a", "c"], [2.0, 1.5, 2.5], 0.7, ax)
    assert {"a", "b", "c", "1.50", "2.00", "2.50", "critical difference 0.70"} <= set(texts(ax))
    dots = sorted(line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o")
    assert len(dots) == 3
    assert dots[1] - dots[0] == pytest.approx(dots[2] - dots[1])
    assert not ax.axison


def test_labels_go_where_their_points_go():
    figure = Figure(figsize=(6, 4))
    ax = figure.subplots()
    plot_costs(POINTS, ax)

    def gaps():
        figure.canvas.draw()
        return [
            np.array(text.get_window_extent().get_points().mean(axis=0))
            - ax.transData.transform((point.kilobytes, point.accuracy))
            for text, point in zip(ax.texts, sorted(POINTS, key=lambda p: -p.accuracy), strict=True)
        ]

    before = gaps()
    ax.set_xlim(0.1, 1e6)
    ax.set_position((0.3, 0.3, 0.3, 0.6))
    np.testing.assert_allclose(gaps(), before, atol=1.0)


def test_many_methods_are_numbered_and_named_in_the_legend(ax):
    many = [Point(f"method {i}", "ours", 0.9 - 0.01 * i, 2.0**i, 1.0) for i in range(9)]
    plot_costs(many, ax)
    assert texts(ax) == [str(i) for i in range(1, 10)]
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named[-9:] == [f"{i + 1} method {i}" for i in range(9)]


def test_groups_differ_by_their_markers(ax):
    plot_costs(POINTS, ax)
    marks = {line.get_marker() for line in ax.lines if line.get_marker() not in ("None", "")}
    assert len(marks) == 4


@pytest.mark.parametrize("panel", [0, 1])
def test_a_drawing_is_drawn_panel_by_panel(panel, ax):
    panels = [lambda ax, i=i: ax.plot([0, i], label=f"line {i}") for i in range(2)]
    drawing = Drawing("two", "Two", panels, "", "", n_columns=2)
    assert list(looks(plot_panel(drawing, ax, panel=panel))) == [f"line {panel}"]
    assert list(looks(drawing.figure.axes[panel])) == [f"line {panel}"]
    assert drawing.figure is drawing.figure


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda ax: plot_ranks(["a", "b"], [1, 2.5], 1, ax), "between 1 and 2"),
        (lambda ax: plot_costs([], ax), "at least one method"),
        (lambda ax: plot_costs(POINTS, ax, against="euros"), "kilobytes, rows_per_second, got"),
        (lambda ax: plot_panel(PANEL, ax, panel=1), "'d' has panels 0 to 0, got 1"),
    ],
)
def test_what_cannot_be_drawn_leaves_no_trace(call, match, ax):
    before = (len(ax.get_children()), ax.get_xlim(), ax.get_xlabel())
    with pytest.raises(ValueError, match=match):
        call(ax)
    assert (len(ax.get_children()), ax.get_xlim(), ax.get_xlabel()) == before
