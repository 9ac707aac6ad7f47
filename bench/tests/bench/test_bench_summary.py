import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench_records import SEEDS, plan, record, records_of
from mist.evaluation import nested_paired_difference
from mist_bench import MEASURES, Record, Run
from mist_bench.cells import find_best, write_mean
from mist_bench.inventory import dataset_table, failure_table, progress_tables, setting_table
from mist_bench.outcomes import arrange
from mist_bench.pairs import pair_tables
from mist_bench.scores import rank_tables, ranks_of, scores
from mist_bench.summary import all_tables, recall_tables, score_tables


def grid(records=None, runs=None, datasets=("wine", "iris")):
    runs = plan(datasets=datasets) if runs is None else runs
    return arrange(
        records_of(runs) if records is None else records, datasets=datasets, planned=runs
    )


def table(tables, name):
    return next(table for table in tables if table.name == name)


def accuracy(outcomes):
    return table(score_tables(outcomes), "final-accuracy")


def naive_cell(values, n_planned):
    """The cell of an accuracy, step by step."""
    total = Fraction(0)
    for value in values:
        total += Fraction(value)
    mean = total / len(values)
    squares = Fraction(0)
    for value in values:
        squares += (Fraction(value) - mean) ** 2
    text = f"{float(mean):.3f}"
    if len(values) > 1:
        variance = squares / len(values)
        spread = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
        text += f" ± {float(spread):.3f}"
    if len(values) < n_planned:
        text += " (" + str(len(values)) + ")"
    return text


# Multiples of a 1024th meet halves of the last digit; both ways are exact up to one float.
shares = st.integers(0, 1024).map(lambda count: count / 1024)


@example([0.3115234375] * 4 + [0.9677734375], 0)
@given(st.lists(shares, min_size=1, max_size=5), st.integers(0, 3))
def test_a_cell_agrees_with_its_naive_twin(values, n_failed):
    n_planned = len(values) + n_failed
    expected = naive_cell(values, n_planned)
    assert write_mean(values, n_planned, MEASURES["final_accuracy"]) == expected
    runs = plan(["slda"], ["wine"], range(n_planned))
    records = [record(run, value) for run, value in zip(runs, values, strict=False)]
    records += [Record(run, error="E: e") for run in runs[len(values) :]]
    assert accuracy(grid(records, runs, ["wine"])).rows == (("SLDA", expected),)


def test_score_table_of_a_whole_grid():
    found = accuracy(grid())
    assert found.headings == ("method", "Wine", "Iris", "mean")
    assert found.rows == (
        ("MIST-G", "0.910 ± 0.008", "0.910 ± 0.008", "0.910"),
        ("VFDT", "0.710 ± 0.008", "0.710 ± 0.008", "0.710"),
        ("SLDA", "0.810 ± 0.008", "0.810 ± 0.008", "0.810"),
    )
    assert found.best == {(0, 1), (0, 2), (0, 3)}
    assert found.rules == {1, 2}
    assert "3 seeds" in found.caption
    assert "failed" not in found.caption


def test_any_order_of_records_gives_the_same_tables():
    runs = plan()
    records = records_of(runs)
    records[4] = Record(runs[4], error="E: e")
    expected = all_tables(grid(records, runs))
    for seed in range(5):
        shuffled = random.Random(seed).sample(records, len(records))
        assert all_tables(grid(shuffled, runs)) == expected


def test_times_are_in_tables_of_their_own():
    runs = plan()
    slow = [record(run, measures={"rows_per_second": 1.0}, seconds=99.0) for run in runs]
    fast = [record(run, measures={"rows_per_second": 9.0}, seconds=1.0) for run in runs]
    pairs = zip(all_tables(grid(slow, runs)), all_tables(grid(fast, runs)), strict=True)
    assert [a.name for a, b in pairs if a != b] == ["rows-per-second"]


def test_what_failed_was_not_run_or_does_not_exist():
    runs = plan(seeds=(1, 2))
    outcomes = {run: record(run) for run in runs}
    for run in runs:
        if (run.method, run.dataset) == ("vfdt", "wine"):
            outcomes[run] = Record(run, error="E: e")
        if (run.method, run.dataset) == ("slda", "wine"):
            del outcomes[run]
    del outcomes[Run("iris", "slda", 2, "honest")]
    found = grid(list(outcomes.values()), runs)
    assert accuracy(found).rows == (
        ("MIST-G", "0.800 ± 0.000", "0.800 ± 0.000", "0.800"),
        ("VFDT", "failed", "0.800 ± 0.000", "–"),  # noqa: RUF001
        ("SLDA", "not run", "0.800 (1)", "–"),  # noqa: RUF001
    )
    assert table(score_tables(found), "leaves").rows[2] == (
        *("SLDA", "not run", "–", "–"),  # noqa: RUF001
    )
    for expected in ("only n of 2 seeds", "every run ended", "no result yet", "no such figure"):
        assert expected in accuracy(found).caption
    assert progress_tables(found)[0].rows == (
        ("MIST-G", "2 of 2", "2 of 2"),
        ("VFDT", "2 of 2", "2 of 2"),
        ("SLDA", "0 of 2", "1 of 2"),
    )
    assert "9 of 12 runs" in progress_tables(found)[0].caption
    assert progress_tables(grid()) == []


def test_figures_that_are_no_numbers_are_left_out():
    runs = plan(["slda"], ["wine"])
    values = (0.5, math.nan, None)
    records = [
        record(run, measures={"final_accuracy": v}) for run, v in zip(runs, values, strict=True)
    ]
    assert accuracy(grid(records, runs, ["wine"])).rows == (("SLDA", "0.500 (1)"),)
    names = [found.name for found in score_tables(grid(records, runs, ["wine"]))]
    assert names == ["final-accuracy", "average-forgetting", "nbytes", "rows-per-second"]


def test_one_seed_has_no_spread_and_one_method_no_best():
    runs = plan(["slda"], ["wine"], [7])
    found = accuracy(grid(None, runs, ["wine"]))
    assert found.rows == (("SLDA", "0.800"),)
    assert found.best == frozenset()
    assert found.headings == ("method", "Wine")
    assert found.caption == "One seed: 7."


def test_ties_share_the_bold_print_and_low_may_be_best():
    measure = MEASURES["average_forgetting"]
    assert find_best([[0.1], [0.2], [0.1003]], measure) == {(0, 1), (2, 1)}
    assert find_best([[-0.0002], [0.0003]], measure) == {(0, 1), (1, 1)}
    assert find_best([[3.0], [4.0]], MEASURES["leaves"]) == frozenset()
    assert find_best([[0.5], [None]], measure) == frozenset()


def test_what_rounds_to_zero_has_no_sign():
    assert write_mean([-0.0001, 0.0], 2, MEASURES["average_forgetting"]) == "0.000 ± 0.000"
    assert write_mean([-0.02], 1, MEASURES["average_forgetting"]) == "-0.020"


def test_unknown_methods_and_data_sets_keep_their_keys():
    runs = plan(["from-tomorrow", "slda"], ["atlantis"])
    found = accuracy(grid(None, runs, ["atlantis"]))
    assert found.headings == ("method", "atlantis")
    assert [row[0] for row in found.rows] == ["SLDA", "from-tomorrow"]


def test_scores_leave_out_the_method_that_failed_on_one_data_set():
    runs = plan()
    records = [
        Record(run, error="E: e")
        if (run.method, run.dataset) == ("vfdt", "iris")
        else record(run, 0.5 if run.method == "slda" else 0.75)
        for run in runs
    ]
    found = scores(grid(records, runs))
    assert found.methods == ("mist-g", "slda")
    assert found.datasets == ("wine", "iris")
    np.testing.assert_array_equal(found.matrix, [[0.75, 0.5]] * 2)
    assert found.left_out == ("VFDT (failed on Iris)",)


def test_scores_leave_out_the_data_set_that_was_not_run():
    runs = plan()
    records = [record(run) for run in runs if run.dataset == "wine"]
    found = scores(grid(records, runs))
    assert found.methods == ("mist-g", "vfdt", "slda")
    assert found.datasets == ("wine",)
    assert found.note == "Left out: Iris (not run: MIST-G, VFDT, SLDA)."


def test_scores_of_nothing():
    found = scores(grid([]))
    assert found.matrix.size == 0
    assert rank_tables(found) == []


def test_rank_table_is_sorted_and_ranks_follow_the_better_end():
    outcomes = grid()
    assert rank_tables(scores(outcomes))[0].rows == (
        ("MIST-G", "1.00", "2", "0.910"),
        ("SLDA", "2.00", "0", "0.810"),
        ("VFDT", "3.00", "0", "0.710"),
    )
    np.testing.assert_array_equal(ranks_of(scores(outcomes, "average_forgetting")), [[2.0] * 3] * 2)
    assert rank_tables(scores(grid(None, plan(["slda"])))) == []


def test_differences_are_those_of_pairs():
    runs = plan()
    rng = np.random.default_rng(0)
    values = {run: float(rng.uniform(0.5, 0.9)) for run in runs}
    lost = Run("iris", "vfdt", SEEDS[0], "honest")
    records = [
        Record(run, error="E: e") if run == lost else record(run, values[run]) for run in runs
    ]
    found = pair_tables(grid(records, runs), reference="mist-g")[0]
    assert "MIST-G" in found.title
    own = [run for run in runs if run.method == "vfdt" and run != lost]
    own.sort(key=lambda run: (("wine", "iris").index(run.dataset), run.seed))
    expected = nested_paired_difference(
        [values[run] for run in own],
        [values[Run(run.dataset, "mist-g", run.seed, "honest")] for run in own],
        [run.dataset for run in own],
    )
    assert found.rows[0][:5] == ("VFDT", *(f"{figure:.3f}" for figure in expected), "5")
    assert sum(map(int, found.rows[0][5].split("/"))) == 2


@pytest.mark.parametrize("better", ["mist-g", "mist-k", "slda"])
def test_the_reference_does_not_depend_on_the_results(better):
    runs = plan(["mist-g", "mist-k", "slda"])
    accuracies = {"mist-g": 0.6, "mist-k": 0.6, "slda": 0.6} | {better: 0.9}
    found = pair_tables(grid(records_of(runs, accuracies), runs))[0]
    assert "Differences to MIST-G" in found.title
    assert [row[0] for row in found.rows] == ["MIST-K", "SLDA"]
    expected = {
        "mist-g": ["0/0/2", "0/0/2"],
        "mist-k": ["2/0/0", "0/2/0"],
        "slda": ["0/2/0", "2/0/0"],
    }
    assert [row[5] for row in found.rows] == expected[better]


@pytest.mark.parametrize(
    ("methods", "title"),
    [
        (["slda", "mist-k", "mist-full"], "MIST-K"),
        (["slda", "vfdt"], "VFDT"),
        (["slda", "ncm"], "SLDA"),
    ],
)
def test_without_mist_g_the_first_of_ours_or_of_all_is_the_reference(methods, title):
    assert f"Differences to {title} in" in pair_tables(grid(None, plan(methods)))[0].title


def test_the_caption_says_what_is_drawn():
    assert "data sets drawn first, then seeds" in pair_tables(grid())[0].caption
    one = pair_tables(grid(None, plan(datasets=["wine"]), ["wine"]))[0]
    assert "over the seeds of this data set only" in one.caption


def test_an_unknown_reference_is_refused():
    with pytest.raises(ValueError, match="reference 'ncm' is not one of the methods"):
        pair_tables(grid(), reference="ncm")


def test_one_pair_has_no_interval_and_one_method_no_pair():
    runs = plan(["mist-g", "slda"], ["wine"], [1])
    rows = pair_tables(grid(records_of(runs), runs, ["wine"]))[0].rows
    assert rows == (("SLDA", "-0.100", "–", "–", "1", "0/0/1"),)  # noqa: RUF001
    assert pair_tables(grid(None, plan(["slda"]))) == []
    assert pair_tables(grid([])) == []


def test_recall_is_averaged_over_seeds_class_by_class():
    runs = plan(["slda", "ncm"], ["wine"], [1, 2])
    records = [
        record(run, recall={"b": 0.5 + 0.25 * (run.seed == 1), "a|<script>": None}) for run in runs
    ]
    found = recall_tables(grid(records, runs, ["wine"]))["wine"]
    assert found.headings == ("method", "b", "a|<script>")
    assert found.rows[0] == ("SLDA", "0.625", "–")  # noqa: RUF001
    assert found.best == {(0, 1), (1, 1)}


def test_recall_tables_of_like_names_get_files_of_their_own():
    datasets = ("a b", "a/b", "<>")
    found = recall_tables(grid(None, plan(datasets=datasets), datasets))
    assert [t.name for t in found.values()] == ["recall-a-b", "recall-a-b-2", "recall-data"]


def test_settings_that_are_alike_are_one_line():
    runs = plan(["vfdt", "slda"])
    records = [
        record(
            run,
            settings={}
            if run.method == "slda"
            else {"delta": 0.1, "beta": run.dataset, "random_state": run.seed},
        )
        for run in runs
    ]
    assert setting_table(grid(records, runs)).rows == (
        ("VFDT", "delta", "0.1"),
        ("VFDT", "beta", "'wine' on Wine; 'iris' on Iris"),
        ("VFDT", "random_state", "seed of the run"),
        ("SLDA", "(all defaults)", ""),
    )


def test_failures_are_grouped_by_error():
    runs = plan(["arf"], ["wine"])
    errors = ("MemoryError: big", "ValueError: odd", "MemoryError: big")
    records = [Record(run, error=error) for run, error in zip(runs, errors, strict=True)]
    outcomes = grid(records, runs, ["wine"])
    assert failure_table(outcomes).rows == (
        ("ARF", "Wine", "42, 456", "2 of 3", "MemoryError: big"),
        ("ARF", "Wine", "123", "1 of 3", "ValueError: odd"),
    )
    assert failure_table(grid()).rows == ()
    assert dataset_table(outcomes).rows == (("Wine", *"–––––"),)  # noqa: RUF001
    assert [t.name for t in all_tables(outcomes)] == ["data-sets", "settings", "failures"]


def test_what_is_not_planned_is_left_out():
    runs = plan()
    extra = records_of(plan(["ncm"]))
    assert all_tables(grid(records_of(runs) + extra, runs)) == all_tables(grid())
    only = arrange(records_of(runs), datasets=["iris"], planned=runs)
    assert accuracy(only).headings == ("method", "Iris")
    half = [run for run in runs if (run.method, run.dataset) != ("slda", "iris")]
    assert accuracy(grid(None, half)).rows[2][2:] == ("–", "–")  # noqa: RUF001


def test_plans_that_make_no_grid_are_refused():
    runs = plan()
    with pytest.raises(ValueError, match="no run is planned"):
        arrange([], datasets=["digits"], planned=runs)
    with pytest.raises(ValueError, match="honest/wine/mist-g/42 is planned twice"):
        grid([], [*runs, runs[0]])
    with pytest.raises(ValueError, match="honest/wine/mist-g/42 is recorded twice"):
        grid([record(runs[0]), record(runs[0])], runs)
    with pytest.raises(ValueError, match="honest and paper need a report each"):
        grid([], [*runs, Run("wine", "slda", 1, "paper")])
