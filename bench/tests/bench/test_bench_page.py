import csv
import io
from datetime import datetime

import numpy as np
import pytest

from bench_records import plan, record, records_of
from mist.plotting import average_curves
from mist_bench import Record
from mist_bench.grid_figures import curves_svg, tasks_svg
from mist_bench.grid_page import render_bench, write_reports
from mist_bench.outcomes import arrange
from mist_bench.result_tables import Table
from mist_bench.scores import scores
from mist_bench.sentences import headline
from outline import Outline, assert_self_contained

MADE = datetime(2025, 3, 1, 12, 30)
EVIL = '<script>alert("x")</script>&{{ 7 * 7 }}'


def page(records=None, runs=None, **changes):
    runs = plan() if runs is None else runs
    options = {
        "datasets": list(dict.fromkeys(run.dataset for run in runs)),
        "planned": runs,
        "made": MADE,
    }
    return render_bench(
        "A title",
        "An intro.",
        records_of(runs) if records is None else records,
        **options,
        **changes,
    )


def words_of(text):
    return " ".join(" ".join(Outline(text).words).split())


def headline_of(runs, accuracies):
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    outcomes = arrange(records_of(runs, accuracies), datasets=datasets, planned=runs)
    return headline(outcomes, scores(outcomes))


def test_the_page_is_well_formed_and_self_contained():
    text = page()
    assert_self_contained(text)
    assert "prefers-color-scheme: dark" in text
    assert text == page()


def test_headline_tables_and_footer():
    words = words_of(page())
    for expected in (
        "MIST-G ranks first of 3 methods over 2 data sets: mean rank 1.00, "
        "mean final accuracy 0.910. At the 5 % level (Nemenyi test) it is not significantly "
        "different from any other method.",
        "3 methods, 2 data sets, 3 seeds (42, 123, 456); 18 runs, none failed.",
        "3 classes in 3 tasks, 13 columns; 300 rows learnt, 60 held out.",
        "Differences to MIST-G",
        "Average forgetting",
        "seed of the run",
        "All runs together took 27 seconds",
        "Made on 01 March 2025, 12:30 with mist 0.",
        "processor",
    ):
        assert expected in words
    assert "Failures" not in words
    assert page().count('class="number best"') > 10


def test_every_plot_has_a_text_alternative():
    labels = Outline(page()).labels
    starts = ["Critical-difference plot", "Scatter plots"] + 2 * [
        "Line chart: prequential accuracy",
        "Line chart: accuracy on the classes seen",
        "Heat map",
    ]
    assert [label[: len(start)] for label, start in zip(labels, starts, strict=True)] == starts
    assert "MIST-G 1.00, SLDA 2.00, VFDT 3.00" in labels[0]
    assert "SLDA 0.810, 2.0 KB" in labels[1]
    assert "At the end: MIST-G 0.910, VFDT 0.710, SLDA 0.810." in labels[2]


def test_the_best_of_ours_is_named_when_another_is_first():
    runs = plan()
    accuracies = {"mist-g": 0.7, "vfdt": 0.9, "slda": 0.8}
    words = words_of(page(records_of(runs, accuracies)))
    assert "VFDT ranks first of 3 methods" in words
    assert "MIST-G has rank 3 with 0.710." in words
    words = words_of(page(records_of(runs, {"mist-g": 0.6, "vfdt": 0.9, "slda": 0.9})))
    assert "VFDT and SLDA rank first of 3 methods" in words


@pytest.mark.parametrize(
    ("n_methods", "n_datasets", "sentence"),
    [
        (3, 2, "it is not significantly different from any other method."),  # 2.34 ranks
        (3, 6, "it is not significantly different from 1 of the 2 others."),  # 1.35
        (3, 12, "it is significantly different from every other method."),  # 0.96
        (2, 2, "it is not significantly different from any other method."),  # 1.39
        (2, 4, "it is significantly different from every other method."),  # 0.98
    ],
)
def test_the_headline_counts_the_methods_that_do_not_differ_from_the_first(
    n_methods, n_datasets, sentence
):
    # Every data set ranks the methods 1, 2, 3; the comments give the critical differences.
    methods = ["mist-g", "vfdt", "slda"][:n_methods]
    runs = plan(methods, [f"data {i}" for i in range(n_datasets)], [1])
    words = headline_of(runs, {"mist-g": 0.9, "vfdt": 0.8, "slda": 0.7})
    assert f"At the 5 % level (Nemenyi test) {sentence}" in words


def test_methods_that_tie_for_first_differ_from_the_rest():
    runs = plan(["mist-g", "vfdt", "slda"], [f"data {i}" for i in range(12)], [1])
    equal = {"mist-g": 0.9, "vfdt": 0.9, "slda": 0.7}
    words = headline_of(runs, equal)
    assert "MIST-G and VFDT rank first" in words
    assert "they are significantly different from every other method." in words
    assert "significantly" not in headline_of(runs, equal | {"slda": 0.9})


def test_the_page_names_failures_and_missing_runs():
    runs = plan()
    records = records_of(runs)[:-1]
    records[2] = Record(runs[2], error="MemoryError: too large")
    words = words_of(page(records))
    for expected in (
        "So far, MIST-G ranks first",
        "unfinished: 17 of 18 runs made, 1 failed.",
        "Failures and missing runs",
        "MemoryError: too large",
        "2 of 3",
        "17 of 18 runs",
    ):
        assert expected in words


def test_methods_without_a_rank_are_named():
    runs = plan()
    records = [
        Record(run, error="E: e") if (run.method, run.dataset) == ("slda", "iris") else record(run)
        for run in runs
    ]
    words = words_of(page(records))
    assert "Without a rank, as figures are missing: SLDA (failed on Iris)." in words


@pytest.mark.parametrize("outcome", ["failed", "missing"])
def test_no_run_succeeded(outcome):
    runs = plan()
    records = [Record(run, error="E: e") for run in runs] if outcome == "failed" else []
    text = page(records)
    assert_self_contained(text)
    words = words_of(text)
    assert "There is no final accuracy to report." in words
    assert words.count("No run went through.") == 2
    assert Outline(text).labels == []


def test_the_smallest_grid():
    runs = plan(["slda"], ["wine"], [7])
    text = page([record(runs[0], 0.875, tasks=1, classes=("0",))], runs)
    assert_self_contained(text)
    words = words_of(text)
    assert "SLDA reaches a final accuracy of 0.875 on Wine." in words
    assert "1 method, 1 data set, 1 seed (7); 1 run, none failed." in words
    assert "1 class in 1 task" in words
    assert [label.split(":")[0] for label in Outline(text).labels] == ["Line chart"] * 2


def test_one_data_set_has_ranks_but_no_critical_difference():
    runs = plan(datasets=["wine"])
    text = page(records_of(runs), runs)
    assert "MIST-G ranks first of 3 methods on Wine with a final accuracy of 0.910." in words_of(
        text
    )
    assert not any("Critical" in label for label in Outline(text).labels)
    assert "significantly" not in words_of(text)


def test_of_many_methods_ours_and_the_best_of_each_group_are_drawn():
    methods = ["mist-g", "mist-k", "vfdt", "hat", "slda", "ncm", "majority"]
    runs = plan(methods, ["wine"])
    text = page(records_of(runs, {"hat": 0.6, "ncm": 0.7}), runs)
    label = next(x for x in Outline(text).labels if "prequential" in x)
    drawn = label.split("At the end: ")[1]
    for title in ("MIST-G", "MIST-K", "HAT", "NCM", "Majority leaf"):
        assert title in drawn
    assert "VFDT" not in drawn
    assert "SLDA" not in drawn
    assert "Of 7 methods: ours, and the most accurate" in words_of(text)


def test_names_from_outside_are_escaped():
    runs = plan(["slda", EVIL], [EVIL], [1, 2])
    records = [
        record(run, classes=(EVIL, "$x$", "-->"), settings={EVIL: EVIL})
        if run.seed == 1
        else Record(run, error=EVIL)
        for run in runs
    ]
    table = Table("evil", EVIL, EVIL, (EVIL,), ((EVIL,),))
    text = render_bench(EVIL, EVIL, records, datasets=[EVIL], planned=runs, comparison=[table])
    assert_self_contained(text)
    assert EVIL in words_of(text)
    assert "49" not in words_of(text).split("Made on")[0].replace("7 * 7", "")


def test_figures_that_are_missing_do_not_stop_the_page():
    runs = plan()
    bare = [Record(run) for run in runs]
    assert_self_contained(page(bare))
    odd = [
        record(
            run,
            measures={"nbytes": 0.0, "rows_per_second": None},
            accuracy_matrix=[[None, None], [None, 0.5]],
            curves={"rows": [1, 2], "windowed_accuracy": [float("nan")] * 2},
            recall={"0": None},
        )
        for run in runs
    ]
    text = page(odd)
    assert_self_contained(text)
    assert not any("Scatter" in label for label in Outline(text).labels)
    assert "none, 0.50" in " ".join(Outline(text).labels)


def test_reports_are_written_whole(tmp_path):
    runs = plan()
    comparison = [Table("paper", "Paper", "", ("a",), (("1",),))]
    options = {
        "title": "A title",
        "intro": "An intro.",
        "datasets": ["wine", "iris"],
        "planned": runs,
        "made": MADE,
        "comparison": comparison,
    }
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("old")
    paths = write_reports(tmp_path / "out", records_of(runs), **options)
    assert sorted(p for p in (tmp_path / "out").rglob("*") if p.is_file()) == sorted(paths)
    assert paths[0].read_text(encoding="utf-8") == page(comparison=comparison)
    names = {path.name for path in paths[1:]}
    assert {"final-accuracy.csv", "ranks.md", "paper.tex", "failures.csv"} <= names
    text = (tmp_path / "out" / "tables" / "final-accuracy.csv").read_text(encoding="utf-8")
    assert next(csv.reader(io.StringIO(text))) == ["method", "Wine", "Iris", "mean"]
    options["comparison"] = [Table("ranks", "t", "", ("a",), ())]
    with pytest.raises(ValueError, match="two tables are named 'ranks'"):
        write_reports(tmp_path / "new", records_of(runs), **options)
    assert not (tmp_path / "new").exists()


def test_curves_are_averaged_where_seeds_were_measured_elsewhere():
    curve = average_curves("x", [([10, 20], [0.25, 0.75]), ([0, 40], [0.0, 1.0])])
    np.testing.assert_array_equal(curve.rows, [10, 20])
    np.testing.assert_allclose(curve.mean, [0.25, 0.625])
    np.testing.assert_allclose(curve.spread, [0.0, 0.125])
    gap = average_curves("x", [([1, 2, 3], [0.5, np.nan, 1.0])])
    np.testing.assert_array_equal(gap.rows, [1, 3])
    long = average_curves("x", [(np.arange(5000), np.linspace(0, 1, 5000))])
    assert len(long.rows) == 200
    assert (long.rows[0], long.rows[-1]) == (0, 4999)
    assert average_curves("x", []) is None


def test_drawings_of_nothing_are_refused():
    with pytest.raises(ValueError, match="at least one curve"):
        curves_svg([], "accuracy", [])
    with pytest.raises(ValueError, match="each of the 2 titles"):
        tasks_svg(["a", "b"], [[0.5]])
    with pytest.raises(ValueError, match="each of the 0 titles"):
        tasks_svg([], [])


def test_many_tasks_have_no_numbers_in_their_cells():
    many = tasks_svg(["a"], np.full((1, 100), 0.25))
    assert "0.25" not in many
    assert "0.25" in tasks_svg(["a"], np.full((1, 10), 0.25))
    borders = list(range(100))
    curve = average_curves("a", [([0, 100], [0.5, 0.5])])
    assert curves_svg([curve], "y", borders) == curves_svg([curve], "y", [])
    assert curves_svg([curve], "y", borders[:50]) != curves_svg([curve], "y", [])
