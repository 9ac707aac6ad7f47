import numpy as np
import pytest

from mist.adaptation.changes import Change
from mist.report import HEADINGS, render_page, summarise
from outline import Outline, assert_self_contained
from stream_results import SETTINGS, result, section, without_tasks


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
