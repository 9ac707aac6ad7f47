import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from drawn import assert_told_apart, looks
from mist import plotting
from mist.adaptation.changes import Change
from mist.evaluation.stream_record import Baseline
from mist.plotting import (
    average_curves,
    plot_accuracy,
    plot_accuracy_matrix,
    plot_class_recall,
    plot_classes,
    plot_confusions,
    plot_curves,
    plot_forgetting,
    plot_growth,
    plot_reliability,
    plot_tasks,
)
from stream_results import result, without_tasks

MANY = [result(f"model {i}", seed=i, tasks=9) for i in range(9)]
CURVES = [
    average_curves(f"model {i}", [([10, 20, 30], [0.1 * i, 0.5, 0.9]), ([10, 30], [0.2, 1.0])])
    for i in range(9)
]
X = np.random.default_rng(0).normal(size=(90, 3))
Y = np.repeat(list("abcdefghi"), 10)


PLOTS = {
    "accuracy": lambda ax=None, **options: plot_accuracy(MANY, ax, **options),
    "growth": lambda ax=None, **options: plot_growth(MANY, ax, **options),
    "matrix": lambda ax=None, **options: plot_accuracy_matrix(MANY[0], ax, **options),
    "forgetting": lambda ax=None, **options: plot_forgetting(MANY[0], ax, **options),
    "curves": lambda ax=None, **options: plot_curves(CURVES, ax, **options),
    "tasks": lambda ax=None, **options: plot_tasks(["a", "b"], [[0.5, 1], [0, 0.2]], ax, **options),
    "classes": lambda ax=None, **options: plot_classes(X, Y, ax, **options),
    "recall": lambda ax=None, **options: plot_class_recall(
        ["a", "b"], [[0.5, 1], [np.nan, 0]], ax, n_rows=70, rows_per_bin=50, **options
    ),
    "confusions": lambda ax=None, **options: plot_confusions(
        ["a", "b"], [[9, 1], [0, 0]], ax, **options
    ),
    "reliability": lambda ax=None, **options: plot_reliability(
        [0.3, 0.0, 0.9], [0.5, 0.0, 0.8], [20, 0, 80], ax, **options
    ),
}
LABELS = {
    "accuracy": ("rows learnt", "accuracy"),
    "growth": ("rows learnt", "leaves"),
    "matrix": ("tested on task", "after learning task"),
    "forgetting": ("tasks learnt", "accuracy on the task"),
    "curves": ("rows learnt", "accuracy"),
    "tasks": ("task, in order of arrival", ""),
    "classes": ("first principal component", "second principal component"),
    "recall": ("rows learnt", ""),
    "confusions": ("predicted class", "true class"),
    "reliability": ("probability of the prediction", "share of right predictions"),
}


@pytest.fixture
def ax():
    return Figure().subplots()


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_plot_of_the_module_is_tested():
    plots = {name for name in plotting.__all__ if name.startswith("plot_")}
    assert plots == {name for name in globals() if name.startswith("plot_")}


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
def test_what_are_no_axes_is_refused(name):
    with pytest.raises(
        TypeError, match="ax must be matplotlib axes or None, got ndarray: pass one"
    ):
        PLOTS[name](Figure().subplots(2))


@pytest.mark.parametrize("name", ["accuracy", "growth", "forgetting", "curves"])
def test_nine_lines_differ_without_colours_and_are_in_the_legend(name, ax):
    PLOTS[name](ax)
    assert_told_apart(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(looks(ax))
    assert len(looks(ax)) == 9
    plain = Figure().subplots()
    assert PLOTS[name](plain, legend=False).get_legend() is None


def test_lines_that_look_alike_would_be_noticed(ax):
    ax.plot([1, 2], "r--", label="a")
    ax.plot([2, 1], "b--", label="b")
    with pytest.raises(AssertionError, match="a and b look alike"):
        assert_told_apart(ax)


def test_pyplot_is_left_alone_where_axes_are_given():
    code = (
        "import mist.plotting, sys; print('matplotlib' in sys.modules)\n"
        "from matplotlib.figure import Figure; from test_plotting import PLOTS\n"
        "[plot(Figure().subplots()) for plot in PLOTS.values()]\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    folder = __file__.rpartition("test_plotting")[0]
    code = f"import sys; sys.path[:0] = {[folder, *sys.path]!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_accuracy_is_the_share_of_hits_in_the_window(ax):
    run = result(n_rows=300)
    plot_accuracy(run, ax)
    rows, shares = ax.lines[0].get_data()
    assert (rows[0], rows[-1]) == (1, 300)
    assert shares[-1] == pytest.approx(run.correct[-12:].mean())
    assert shares[4] == pytest.approx(run.correct[:5].mean())
    # The ends of tasks but for the last are marked.
    assert [line.get_xdata()[0] for line in ax.lines[1:]] == [100, 200]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 300), (-0.02, 1.02))


def test_borders_can_be_named(ax):
    plot_growth(without_tasks(), ax, borders=[50, 120], border_labels=["cat", "dog"])
    assert texts(ax) == ["cat", "dog"]
    assert [line.get_xdata()[0] for line in ax.lines[1:]] == [50, 120]


def test_growth_begins_with_one_leaf(ax):
    plot_growth(result(leaves=(2, 2, 7)), ax)
    rows, leaves = ax.lines[0].get_data()
    assert rows.tolist() == [0, 100, 200, 300]
    assert leaves.tolist() == [1, 2, 2, 7]


def test_the_matrix_and_what_is_forgotten(ax):
    run = result(tasks=3)
    R = run.accuracy_matrix
    plot_accuracy_matrix(run, ax)
    drawn = ax.collections[0].get_array()
    np.testing.assert_array_equal(drawn.filled(np.nan), R)
    assert texts(ax) == [f"{R[i, j]:.2f}" for i in range(3) for j in range(i + 1)]
    assert ax.get_title() == "MIST-G"
    lines = plot_forgetting(R, Figure().subplots()).lines
    for task, line in enumerate(lines):
        assert line.get_xdata().tolist() == list(range(task + 1, 4))
        np.testing.assert_array_equal(line.get_ydata(), R[task:, task])


def test_curves_have_a_band_of_one_deviation(ax):
    curve = average_curves("a", [([0, 10], [0.2, 0.6]), ([0, 10], [0.4, 1.0])])
    plot_curves([curve], ax, borders=[5])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.3, 0.8])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.2)
    assert band[:, 1].max() == pytest.approx(1.0)
    leaves = average_curves("a", [([0, 10], [1, 3]), ([0, 10], [1, 9])])
    free = plot_curves([leaves], Figure().subplots(), label="leaves", share=False)
    assert free.collections[0].get_paths()[0].vertices[:, 1].max() == pytest.approx(9)
    assert (free.get_ylim()[0], free.get_ylabel()) == (0, "leaves")


def test_classes_differ_by_their_markers():
    axes = plot_classes(X, np.repeat(list("abcdefgh"), [12] * 7 + [6]), Figure().subplots())
    outlines = {dots.get_paths()[0].vertices.tobytes() for dots in axes.collections}
    assert len(outlines) == 8
    assert axes.collections[0].get_offsets().shape == (12, 2)
    few = plot_classes(X, Y, Figure().subplots(), rows_per_class=4)
    assert all(len(dots.get_offsets()) == 4 for dots in few.collections)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda ax: plot_accuracy([], ax), "results is empty"),
        (lambda ax: plot_growth([], ax), "results is empty"),
        (lambda ax: plot_accuracy_matrix(without_tasks(), ax), "got shape \\(0, 0\\)"),
        (lambda ax: plot_forgetting([[0.5, 0.5]], ax), "got shape \\(1, 2\\)"),
        (lambda ax: plot_curves([], ax), "at least one curve"),
        (lambda ax: plot_tasks(["a"], [[0.1], [0.2]], ax), "each of the 1 titles"),
        (lambda ax: plot_classes([[1.0, np.nan], [1, 2]], [0, 1], ax), "missing or infinite"),
        (lambda ax: plot_classes([[1.0, 2], [1, 2]], [0], ax), "shapes \\(2, 2\\) and \\(1,\\)"),
    ],
)
def test_what_cannot_be_drawn_leaves_no_trace(call, match, ax):
    before = (len(ax.get_children()), ax.get_xlim(), ax.get_xlabel())
    with pytest.raises(ValueError, match=match):
        call(ax)
    assert (len(ax.get_children()), ax.get_xlim(), ax.get_xlabel()) == before


def test_names_are_texts_and_long_ones_are_cut(ax):
    plot_accuracy([result("$\\frac$"), result("x" * 90)], ax)
    plot_accuracy_matrix(result("$\\frac$"), Figure().subplots()).figure.canvas.draw()
    plot_tasks(["$\\frac$"], [[0.5]], Figure().subplots()).figure.canvas.draw()
    ax.figure.canvas.draw()
    assert looks(ax).keys() == {"$\\frac$", "x" * 19 + "…" + "x" * 19}


def test_what_is_no_data_takes_the_ink_of_the_style():
    with matplotlib.rc_context({"text.color": "red"}):
        ax = plot_accuracy(result(), Figure().subplots())
    assert ax.lines[1].get_color() == "red"


# -- changes found in the stream -----------------------------------------------------------------


def moved(row, label):
    return Change(row, "class moved", label, None)


def lines_of_changes(ax):
    return [line for line in ax.lines if line.get_gid() == "change"]


@pytest.mark.parametrize("plot", [plot_accuracy, plot_growth])
def test_changes_are_thin_lines_with_labels(ax, plot):
    shift = Change(150, "common shift", None, 2.345)
    run = result(changes=(moved(50, "$a$"), moved(50, "b"), shift, moved(152, "c")))
    plot(run, ax, borders=[])
    assert [line.get_xdata()[0] for line in lines_of_changes(ax)] == [50, 150, 152]
    # Changes at one row share a line, and a label that would overlap another is left out.
    assert texts(ax) == ["$a$ moved, b moved", "common shift (2.3)"]
    assert not any(text.get_parse_math() for text in ax.texts)
    bare = Figure().subplots()
    plot(run, bare, borders=[], changes=False)
    assert not lines_of_changes(bare)
    assert not bare.texts


def test_changes_of_several_models_have_the_colours_of_their_curves(ax):
    runs = [result(), result("other", changes=(moved(60, "a"),)), result(changes=(moved(30, "a"),))]
    plot_accuracy(runs, ax, borders=[])
    colours = [line.get_color() for line in ax.lines[:3]]
    assert [line.get_color() for line in lines_of_changes(ax)] == [colours[2], colours[1]]


def test_of_many_changes_some_are_drawn_and_the_rest_counted(ax):
    run = result(changes=tuple(moved(3 * i, "a") for i in range(1, 91)))
    plot_accuracy(run, ax, borders=[])
    rows = [line.get_xdata()[0] for line in lines_of_changes(ax)]
    assert (len(rows), rows[0], rows[-1]) == (20, 3, 270)
    assert max(np.diff(rows)) <= 15
    assert texts(ax)[-1] == "and 70 more changes"


def test_the_last_part_of_a_recall_map_ends_with_the_stream(ax):
    PLOTS["recall"](ax)
    assert ax.get_xlim() == (0, 70)
    assert ax.collections[0].get_coordinates()[0, :, 0].tolist() == [0, 50, 70]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_confusions_are_shares_of_the_true_class_and_empty_without_rows(ax):
    PLOTS["confusions"](ax)
    assert texts(ax) == ["0.90", "0.10"]
    assert np.ma.count_masked(ax.collections[0].get_array()) == 2


@pytest.mark.parametrize("rows", [[[1, 2]], [[1], [2]], []])
def test_confusions_of_another_shape(rows, ax):
    with pytest.raises(ValueError, match="shape"):
        plot_confusions(["a", "b"], rows, ax)


def test_reliability_leaves_out_empty_bins_and_sizes_points_by_rows(ax):
    PLOTS["reliability"](ax)
    diagonal, line = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert line.get_xydata().tolist() == [[0.3, 0.5], [0.9, 0.8]]
    bars, points = ax.collections
    assert points.get_sizes().tolist() == [36.0, 144.0]
    # 95 % of the experiments with 20 rows give less than .28 more or less, where half are right.
    (low, high), _ = (segment[:, 1] for segment in bars.get_segments())
    assert (low, high) == pytest.approx((0.5 - 0.2, 0.5 + 0.2), abs=0.01)
    PLOTS["reliability"](ax, label="another")
    assert len(ax.lines) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [(([0.5], [0.5, 0.6], [3, 4]), "lists of one length"), (([0.5], [0.5], [0]), "rows are all 0")],
)
def test_reliability_of_nothing(given, words, ax):
    with pytest.raises(ValueError, match=words):
        plot_reliability(*given, ax)


def test_changes_new_classes_and_baselines_are_in_the_legend(ax):
    changes = (
        Change(50, "class moved", "a", None),
        Change(60, "class moved", "b", None),
        Change(90, "common shift", None, 1.5),
        Change(95, "cut back", None, 2.0),
    )
    plot_accuracy(
        result(changes=changes),
        ax,
        borders=[100, 200],
        border_title="new class",
        baselines=[Baseline("no change", np.arange(300) % 3 > 0, 1, 2 / 3)],
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("MIST-G", "no change", "class moved", "common shift", "splits cut back", "new class")
    ]
    dashes = {line.get_label(): line.get_linestyle() for line in ax.lines if line.get_gid()}
    assert dashes["class moved"] == "-"
    assert dashes["common shift"] == "--"
    (line,) = (line for line in ax.lines if line.get_label() == "no change")
    assert line.get_ydata()[-1] == pytest.approx(2 / 3, abs=0.1)
