import math
import re
from dataclasses import replace

import numpy as np
import pytest

from mist.adaptation.changes import Change
from mist.engine import numba_access
from mist.evaluation.stream_record import (
    Baseline,
    ModelRecord,
    NotableRow,
    Reliability,
    StreamRecord,
)
from mist.report import HEADINGS, render_page, summarise
from mist.report.document import versions
from mist.report.result_rows import NOTHING
from outline import Outline, assert_self_contained
from stream_results import SETTINGS, result, section, without_tasks


def counted(n_classes=3, n_models=1):
    """A stream of classes that come every ten rows, and models that mistake each for the next."""
    codes = np.arange(n_classes)
    rows = 10 + codes
    stream = StreamRecord(
        labels=tuple(f"<class {code}>" for code in codes),
        first_rows=10 * codes,
        rows=rows,
        rows_by_time=np.stack([rows // 2, rows - rows // 2], axis=1),
        rows_per_bin=-(-int(rows.sum()) // 2),
        baselines=(Baseline("no change", np.zeros(int(rows.sum()), dtype=bool), 1, 0.125),),
        columns=("width", "constant", "<height>"),
        separation=np.array([0.25, np.nan, 0.75]),
        furthest=np.array([0, 0, n_classes - 1]),
    )
    hits = rows - codes  # the later a class, the lower its recall
    model = ModelRecord(
        hits=hits,
        hits_by_time=np.stack([hits // 2, hits - hits // 2], axis=1),
        confused=codes[:0:-1],
        confused_with=codes[:0:-1] - 1,
        confused_rows=codes[:0:-1],
        cost_rows=np.array([10, 20, 33]),
        nbytes=np.array([1024, 2048, 4096]),
        microseconds=np.array([100, 200, 400]),
    )
    return {"stream": stream, "models": [model] * n_models}


def rows_of(text):
    """The cells of each line of all tables."""
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.DOTALL)
    return [
        [
            re.sub(r"<[^>]*>", "", cell).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.S)
        ]
        for line in lines
    ]


def page(*sections, title="A title", intro="An intro."):
    return render_page(title, intro, sections or (section(),), SETTINGS)


def test_the_page_is_well_formed_and_self_contained():
    text = page(section(), section(dataset="iris"))
    assert_self_contained(text)
    assert "prefers-color-scheme: dark" in text


def test_every_plot_is_there_with_a_text_in_its_place():
    outline = Outline(page())
    # Plots over the stream are drawn for wide and for narrow screens.
    assert [label.split(" on wine")[0] for label in outline.labels] == [
        "Line chart of prequential accuracy",
        "Line chart of prequential accuracy",
        "Heat maps of the accuracy matrix",
        "Step chart of the number of leaves",
        "Step chart of the number of leaves",
    ]
    accuracy = result().prequential_accuracy
    assert f"MIST-G {accuracy:.3f}" in outline.labels[0]
    assert "MIST-G 4, MIST-K 4" in outline.labels[3]
    words = " ".join(outline.words)
    for expected in ("rows learnt", "after learning task", "tested on task", "task 2", "leaves"):
        assert expected in words
    matrix = result().accuracy_matrix
    for share in matrix[np.isfinite(matrix)]:
        assert f"{share:.2f}" in words


def test_plots_take_their_ink_from_the_page():
    text = page()
    assert "currentColor" in text
    assert "#0a0b0c" not in text
    assert "#000000" not in text


def test_summary_settings_and_versions():
    words = " ".join(" ".join(Outline(page(section(), section(dataset="iris"))).words).split())
    for expected in (*HEADINGS, "0.912", "-0.013", "123,457", "2.0", "'sketch'", "50 entries"):
        assert expected in words
    for expected in ("mist 0.", "Python 3.", "numpy 2.", "scikit-learn 1."):
        assert expected in words
    assert page().count('class="differs"') == 2


@pytest.mark.parametrize(("way", "told"), [("public", True), ("internals", False)])
def test_a_numba_whose_internals_are_not_used_is_named(monkeypatch, way, told):
    monkeypatch.setattr(numba_access, "WAY", way)
    assert dict(versions())["numba"].endswith("public interface only") == told


def test_without_tasks_there_is_no_matrix_and_nothing_about_forgetting():
    plain = without_tasks()
    assert summarise(plain)[2:4] == ("–", "–")  # noqa: RUF001
    outline = Outline(page(section(plain, border_labels=["cat", "dog"])))
    assert not any(label.startswith("Heat map") for label in outline.labels)
    words = " ".join(outline.words)
    assert "dotted lines mark new classes" in words
    assert "cat" in outline.words
    assert "forgetting" not in words
    assert "without held-out rows" in words


def test_summary_of_a_model_without_leaves_and_size():
    cells = summarise(result(leaves_curve=np.zeros(3, int), nbytes=0))
    assert cells[-2:] == ("–", "–")  # noqa: RUF001


def test_coinciding_lines_are_said_and_one_leaf_is_not_drawn():
    twins = (result(leaves=(1, 1, 1)), result("Twin", leaves=(1, 1, 1)))
    words = " ".join(Outline(page(section(*twins))).words)
    assert "The lines of MIST-G and Twin coincide." in words
    assert "Tree growth" not in words
    words = " ".join(Outline(page(section(twins[0], result("Tree", seed=1)))).words)
    assert "Tree growth" in words
    assert "MIST-G: still a single leaf." in words
    words = " ".join(Outline(page()).words)
    assert "coincide" not in words
    assert "still a single leaf" not in words


@pytest.mark.parametrize("n_rows", [1, 7, 100_000])
def test_streams_of_any_length(n_rows):
    short = without_tasks(n_rows=n_rows, checkpoints=np.array([n_rows]), leaves_curve=np.array([1]))
    text = page(section(short, borders=np.array([], int), border_labels=[]))
    assert len(text) < 150_000


def test_many_models_tasks_and_borders():
    many = [result(f"model {i}", tasks=14, seed=i) for i in range(7)]
    borders = np.arange(1, 101)
    outline = Outline(page(section(*many, borders=borders, border_labels=["x"] * 100)))
    assert outline.open == []
    assert "model 6" in " ".join(outline.words)


def test_names_from_outside_are_escaped():
    evil = '<b onload="x">&'
    bad = result(evil, evil)
    outline = Outline(
        render_page(
            evil,
            evil,
            [section(bad, dataset=evil, description=evil, border_labels=[evil, "$x$"])],
            {evil: {evil: evil}},
        )
    )
    assert outline.open == []
    assert "$x$" in outline.words


def test_nothing_to_report():
    with pytest.raises(ValueError, match="at least one data set"):
        render_page("t", "i", [], {})
    with pytest.raises(ValueError, match="at least one data set"):
        render_page("t", "i", [section(results=())], {})


def test_changes_found_are_in_captions_and_in_the_texts_in_place_of_plots():
    changes = (
        Change(50, "class moved", "<b>", None),
        Change(60, "class moved", "<b>", None),
        Change(90, "common shift", None, 1.5),
    )
    page = render_page("t", "i", [section(result(changes=changes), result("MIST-K", seed=1))], {})
    found = "MIST-G: 1 class moved, 2 moves in all; 1 common shift"
    assert f"thin lines mark changes found in the stream ({found})." in page
    assert f"Changes found: {found}." in page
    assert "&lt;b&gt; moved" in page
    assert "<b>" not in page
    assert "thin lines" not in render_page("t", "i", [section()], {})


def test_a_single_run_has_its_figures_on_top_and_those_of_the_baselines():
    text = page(section(without_tasks(), **counted()))
    assert_self_contained(text)
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    accuracy = f"{without_tasks().prequential_accuracy:.3f}"
    assert figures == {
        "prequential accuracy": accuracy,
        "no change": "0.125",
        "rows/s": "123,457",
        "KB": "2.0",
        "leaves": "4",
    }
    assert "no change 0.125" in Outline(text).labels[0]


def test_several_runs_have_the_baselines_below_them():
    rows = rows_of(page(section(**counted(n_models=2))))
    assert rows[0][0] == "model"
    assert [row[0] for row in rows[1:4]] == ["MIST-G", "MIST-K", "no change"]
    assert rows[3][3] == "0.125"


def test_classes_come_worst_first_with_what_they_are_taken_for():
    rows = rows_of(page(section(without_tasks(), **counted())))
    start = rows.index(["class", "recall", "rows", "first row", "most often taken for"])
    assert rows[start + 1 : start + 4] == [
        ["&lt;class 2&gt;", "0.833", "12", "21", "&lt;class 1&gt; (2)"],
        ["&lt;class 1&gt;", "0.909", "11", "11", "&lt;class 0&gt; (1)"],
        ["&lt;class 0&gt;", "1.000", "10", "1", "–"],  # noqa: RUF001
    ]
    start = rows.index(["column", "variance between classes", "furthest class"])
    assert rows[start + 1 : start + 3] == [
        ["&lt;height&gt;", "0.750", "&lt;class 2&gt;"],
        ["width", "0.250", "&lt;class 0&gt;"],
    ]


def test_what_is_drawn_of_few_classes():
    outline = Outline(page(section(without_tasks(leaves_curve=np.ones(3, int)), **counted())))
    assert [label.split(" of ")[0] for label in outline.labels] == [
        *("Line chart", "Line chart"),
        *("Heat map", "Heat map"),
        "Heat map",
        *("Line charts", "Line charts"),
    ]
    assert "<class 2> predicted as <class 1>, 2 rows." in outline.labels[4]
    assert "1.00" in outline.words


def test_many_classes_are_cut_with_a_note_and_their_confusions_are_a_table():
    text = page(section(without_tasks(), **counted(n_classes=50)))
    words = " ".join(" ".join(Outline(text).words).split())
    # In the caption of the table and in that of the heat map.
    assert words.count("The 30 most frequent of 50 classes, the worst first.") == 2
    assert "20 more" in words
    assert "true class" not in words
    rows = rows_of(text)
    start = rows.index(["class", "recall", "rows", "first row", "most often taken for"])
    assert [rows[start + i][0] for i in (1, 30)] == ["&lt;class 49&gt;", "&lt;class 20&gt;"]
    start = rows.index(["class", "predicted as", "rows", "share of the class"])
    assert rows[start + 1] == ["&lt;class 49&gt;", "&lt;class 48&gt;", "49", "0.831"]
    assert f"{sum(range(35, 50))} of {sum(range(50)):,} rows" in words


def test_further_models_are_folded():
    text = page(section(**counted(n_models=2)))
    assert_self_contained(text)
    assert "<summary>Recall over the stream: MIST-K</summary>" in text
    assert "<summary>Confusions: MIST-K</summary>" in text
    assert "Confusions: MIST-G</h3>" in text


def sure(*rows, **changes):
    """The stream of `counted`, with a model that was too sure of its predictions."""
    rows = np.array(rows)
    reliability = Reliability(rows, 0.9 * rows, rows // 2)
    given = counted()
    return {**given, "models": [replace(given["models"][0], reliability=reliability, **changes)]}


def test_calibration_in_words_and_as_a_diagram():
    text = page(section(without_tasks(), **sure(9, 20, 40)))
    assert_self_contained(text)
    words = " ".join(" ".join(Outline(text).words).split())
    assert "Mean probability 0.900, 0.493 of the predictions right, so too sure by 0.407;" in words
    assert "expected calibration error 0.407 (mean distance from the diagonal" in words
    assert "Without 231 rows whose probability is not known." in words
    assert any("Reliability diagram on wine" in label for label in Outline(text).labels)


def test_a_calibration_of_one_point_is_not_drawn():
    for rows in ((9, 9, 200), (0, 0)):
        assert "Calibration" not in page(section(without_tasks(), **sure(*rows)))


def test_rows_to_look_at():
    unsure = (NotableRow(7, "<cat>", "dog", 0.25), NotableRow("b.csv:9", "dog", "dog", 0.5))
    novel = (NotableRow(8, "cow", "dog", math.nan, "first row of its class"),)
    text = page(section(without_tasks(), **sure(20, 20, unsure=unsure, novel=novel)))
    rows = rows_of(text)
    start = rows.index(["row", "label", "predicted", "probability"])
    assert rows[start + 1 : start + 3] == [
        ["7", "&lt;cat&gt;", "dog", "0.250"],
        ["b.csv:9", "dog", "dog", "0.500"],
    ]
    start = rows.index(["row", "label", "predicted", "probability", "why"])
    assert rows[start + 1] == ["8", "cow", "dog", NOTHING, "first row of its class"]
    certain = (replace(unsure[0], probability=0.995),)
    assert "least confidence" not in page(section(without_tasks(), **sure(20, unsure=certain)))


def test_one_class_has_nothing_to_tell_apart():
    text = page(section(without_tasks(), **counted(n_classes=1)))
    assert "Recall by class" not in text
    assert "Columns that separate" not in text


def test_settings_that_differ_from_the_default_come_first():
    defaults = {"MIST-G": SETTINGS["MIST-G"] | {"leaf": "mixture"}, "MIST-K": SETTINGS["MIST-K"]}
    text = render_page("t", "i", [section()], SETTINGS, defaults)
    assert "<summary>1 parameter that differs from the default</summary>" in text
    assert "<summary>2 parameters with the default value</summary>" in text
    assert text.index("<code>leaf</code>") < text.index("<code>delta</code>")
    same = render_page("t", "i", [section()], SETTINGS, SETTINGS)
    assert "differs from" not in same
    assert "3 parameters with the default value" in same
