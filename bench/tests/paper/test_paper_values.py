import csv
import math
import statistics
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import resources

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mist_bench.cells import NOTHING
from mist_bench.methods import METHODS
from mist_bench.record import MEASURES, Record, Run
from mist_bench.result_tables import to_csv, to_latex, to_markdown
from mist_bench.suites import SETTINGS, SUITES
from mist_paper import values
from mist_paper.comparison import Comparison, comparison_tables, figures_of, key_of
from mist_paper.comparison import compare as compare_figures
from mist_paper.values import (
    MAIN_TABLES,
    PAPER_MEASURES,
    PAPER_TABLES,
    PaperCell,
    cells_of,
    read_paper,
    reason_for,
)

SEEDS = (42, 123, 456, 789, 3330)

# The last column of the paper's tables: the mean over the data sets of a row.
ROW_MEANS = {
    "tree-results": {
        "mist-g": 0.8225,
        "mist-k": 0.8323,
        "vfdt": 0.6397,
        "rutkowski": 0.7995,
        "efdt-no-reset": 0.3406,
        "hat-no-reset": 0.4374,
        "arf-no-reset": 0.7578,
    },
    "nontree-results": {
        "mist-g": 0.8225,
        "mist-k": 0.8323,
        "slda": 0.8420,
        "sqda": 0.8863,
        "ncm": 0.7845,
        "rls": 0.7902,
        "pec": 0.7857,
    },
    "stress": {
        "mist-g": 0.8188,
        "mist-k": 0.8559,
        "slda": 0.7180,
        "sqda": 0.8553,
        "arf-no-reset": 0.8350,
        "pec": 0.7625,
    },
    "main-forgetting": {
        "mist-g": 0.0530,
        "mist-k": 0.0714,
        "vfdt": 0.3554,
        "rutkowski": 0.0945,
        "efdt-no-reset": 0.2901,
        "hat-no-reset": 0.2488,
        "slda": 0.0724,
        "sqda": 0.0397,
        "ncm": 0.0912,
        "rls": 0.1191,
        "pec": 0.0748,
    },
}

# The one row whose cells have another mean: theirs is .7858.
SLIPS = {("nontree-results", "pec"): 1e-4}


MAIN = [cell for cell in read_paper() if cell.table in MAIN_TABLES]
AVERAGES = ("ablation-core", "ablation-k-alpha", "mistk-sensitivity")


def compare(records):
    return compare_figures(figures_of(records))


def record(method, dataset, seed, protocol="paper", error=None, **measures):
    # As many classes and tasks as the two sets have on which the paper counts an empty class.
    real = {"hapt": 5, "shuttle": 6}.get(dataset, 10)
    return Record(
        Run(dataset, method, seed, protocol),
        error=error,
        measures=measures,
        shape={"rows": 1000, "classes": real, "tasks": real},
    )


def without_empty_class(dataset, measure, value):
    """A figure of the paper as it is over the classes that have rows."""
    share = {
        ("hapt", "final_accuracy"): 5 / 6,
        ("hapt", "average_forgetting"): 4 / 5,
        ("shuttle", "final_accuracy"): 6 / 7,
        ("shuttle", "average_forgetting"): 5 / 6,
    }
    return value / share.get((dataset, measure), 1)


def like_the_paper(shift=0.0):
    """Runs whose figures are the paper's, all moved by the same amount."""
    ours = {"final_accuracy": "mean_class_recall"}
    means = {
        (c.method, c.dataset, c.measure): without_empty_class(c.dataset, c.measure, c.mean + shift)
        for c in MAIN
    }
    return [
        record(method, dataset, seed, **{ours.get(measure, measure): mean})
        for (method, dataset, measure), mean in means.items()
        for seed in SEEDS
    ]


def rows_of(comparisons, name):
    (table,) = (t for t in comparison_tables(comparisons) if t.name == name)
    return table.rows


# --- the files ---------------------------------------------------------------------------------


def test_every_key_is_known():
    for cell in read_paper():
        assert cell.table in PAPER_TABLES
        assert cell.measure in PAPER_MEASURES, cell
        if cell.dataset == "standard":
            assert cell.table in AVERAGES
        else:
            assert cell.dataset in SETTINGS, cell
        if cell.table.startswith("sketch-bound"):
            assert cell.method in ("k=16", "k=32", "k=64", "k=128")
        else:
            assert cell.method in METHODS, cell


@pytest.mark.parametrize(
    ("table", "n_cells", "n_methods", "n_datasets", "measures"),
    [
        ("tree-results", 70, 7, 10, {"final_accuracy"}),
        ("nontree-results", 70, 7, 10, {"final_accuracy"}),
        ("stress", 48, 6, 8, {"final_accuracy"}),
        ("noreset", 24, 4, 6, {"final_accuracy"}),
        ("main-forgetting", 110, 11, 10, {"average_forgetting"}),
        ("memory", 32, 9, 2, {"nbytes", "rows_per_second"}),
        ("ablation-core", 19, 10, 1, {"final_accuracy", "relative_change"}),
        ("ablation-k-alpha", 18, 18, 1, {"final_accuracy"}),
        ("mistk-sensitivity", 10, 10, 1, {"final_accuracy"}),
        (
            *("inheritance-ablation", 8, 2, 1),
            {"final_accuracy", "average_forgetting", "seconds", "relative_seconds"},
        ),
        ("threshold-density", 12, 3, 2, {"final_accuracy", "seconds"}),
        ("klocal", 10, 1, 5, {"leaves", "classes_per_leaf"}),
        (
            *("sketch-bound-k64", 44, 1, 8),
            {
                *("events", "cdf_error_mean", "cdf_error_max"),
                *("gain_error_mean", "gain_error_max", "margin"),
            },
        ),
        ("sketch-bound-kscale", 16, 4, 4, {"margin"}),
        ("sketch-vs-gaussian-synthetic", 12, 2, 4, {"final_accuracy", "splits"}),
        ("sketch-vs-gaussian-real", 18, 2, 6, {"final_accuracy", "splits"}),
    ],
)
def test_every_cell_of_a_table_is_there_once(table, n_cells, n_methods, n_datasets, measures):
    cells = cells_of(table)
    assert len(cells) == len({(c.method, c.dataset, c.measure) for c in cells}) == n_cells
    assert len({c.method for c in cells}) == n_methods
    assert len({c.dataset for c in cells}) == n_datasets
    assert {c.measure for c in cells} == measures


@pytest.mark.parametrize("table", sorted(ROW_MEANS))
def test_row_means_as_printed(table):
    assert {c.method for c in cells_of(table)} == set(ROW_MEANS[table])
    for method, printed in ROW_MEANS[table].items():
        row = [c.mean for c in cells_of(table) if c.method == method]
        # The means are those of the printed cells: half a unit of their last place, so that
        # every single wrong digit of a cell shows.
        mean = statistics.fmean(row)
        assert mean == pytest.approx(printed + SLIPS.get((table, method), 0.0), abs=5.1e-5), method


def test_what_is_printed_twice_is_printed_alike():
    printed = {}
    for cell in MAIN:
        key = cell.method, cell.dataset, cell.measure
        assert printed.setdefault(key, cell.mean) == cell.mean, cell


def test_spreads():
    without = {c.table for c in MAIN if c.sd is None}
    assert without == {"noreset", "memory"}
    assert all(0 <= c.sd < 0.2 for c in read_paper() if c.sd is not None and c.measure != "seconds")


def test_changes_are_those_of_the_averages():
    mean = {c.method: c.mean for c in cells_of("ablation-core") if c.measure == "final_accuracy"}
    for cell in cells_of("ablation-core"):
        if cell.measure == "relative_change":
            change = mean[cell.method] / mean["mist-g"] - 1
            assert cell.mean == pytest.approx(change, abs=1.1e-4), cell


def test_margins_are_the_bound_over_the_largest_error():
    found = {(c.dataset, c.measure): c.mean for c in cells_of("sketch-bound-k64")}
    for (dataset, measure), value in found.items():
        if measure == "margin":
            assert value == pytest.approx(4 / 64 / found[dataset, "gain_error_max"], rel=0.02)


@pytest.mark.parametrize(
    ("table", "place", "unit"),
    [("tree-results", 0, 1e-3), ("ablation-core", 0, 1e-4), ("klocal", 0, 0.1)],
)
def test_a_unit_of_the_last_place(table, place, unit):
    assert cells_of(table)[place].unit == pytest.approx(unit)


def test_bytes_are_bytes():
    sizes = {(c.method, c.dataset): c.mean for c in read_paper() if c.measure == "nbytes"}
    assert MEASURES["nbytes"].write(sizes["mist-g", "covertype"]) == "2,596.6"
    assert MEASURES["nbytes"].write(sizes["ncm", "mnist"]) == "8.8"


def test_every_file_is_read():
    folder = resources.files("mist_paper") / "reference"
    found = {file.name for file in folder.iterdir() if file.name.endswith(".csv")}
    assert found == {f"{name}.csv" for name in (*PAPER_TABLES, "reasons")}


# --- reasons -----------------------------------------------------------------------------------


def test_reasons_name_known_things():
    file = resources.files("mist_paper") / "reference" / "reasons.csv"
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["measure", "method", "dataset", "reason"]
    keys = [tuple(row[:3]) for row in rows[1:]]
    assert len(set(keys)) == len(keys)
    for *_, reason in rows[1:]:
        assert reason.strip() == reason != ""


@pytest.fixture
def reasons(monkeypatch):
    """Reasons by (measure, method, dataset) instead of those of the file."""

    def put(*keys):
        rows = [
            {"measure": a, "method": b, "dataset": c, "reason": f"{a} {b} {c}"} for a, b, c in keys
        ]
        monkeypatch.setattr(values, "_rows", lambda name: rows)
        values._reasons.cache_clear()

    values._reasons.cache_clear()
    yield put
    values._reasons.cache_clear()


def test_every_reason_is_about_a_figure_of_the_paper():
    for measure, dataset, method in values._reasons():
        assert any(
            fnmatchcase(cell.measure, measure)
            and fnmatchcase(cell.dataset, dataset)
            and fnmatchcase(cell.method, method)
            for cell in read_paper()
        ), (measure, method, dataset)


KEYS = [
    (measure, method, dataset)
    for measure in ("m", "*")
    for method in ("a", "*")
    for dataset in ("d", "*")
]


@given(st.permutations(KEYS), st.integers(1, len(KEYS)))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reasons_that_name_most_are_given(reasons, keys, n):
    keys = keys[:n]
    reasons(*keys)
    most = max(sum(part != "*" for part in key) for key in keys)
    named = [key for key in keys if sum(part != "*" for part in key) == most]
    of_method = [key for key in named if key[1] == "a"]
    others = [key for key in named if key[1] == "*"]
    assert reason_for("m", "a", "d") == "; ".join(" ".join(key) for key in of_method + others)


def test_a_reason_for_all_that_match(reasons):
    reasons(("*", "a+*", "*"))
    assert reason_for("m", "a+option=1", "d") == "* a+* *"
    assert reason_for("m", "a", "d") is None


def test_reasons_for_something_else_do_not_count(reasons):
    reasons(("m", "a", "other"), ("m", "other", "d"), ("other", "a", "d"))
    assert reason_for("m", "a", "d") is None


# --- comparison --------------------------------------------------------------------------------


def naive(records):
    """(table, method, data set, measure) to (mean, sd, seeds, deviations), cell by cell."""
    result = {}
    for cell in MAIN:
        key = "mean_class_recall" if cell.measure == "final_accuracy" else cell.measure
        values = []
        for r in records:
            same = (r.run.method, r.run.dataset) == (cell.method, cell.dataset)
            if same and r.error is None and r.run.protocol == "paper":
                value = r.measures.get(key)
                if value is not None:
                    values.append(value / without_empty_class(cell.dataset, cell.measure, 1))
        if not values:
            continue
        mean, sd = statistics.fmean(values), statistics.pstdev(values)
        same = [c.sd for c in read_paper() if key_of(c) == key_of(cell)]
        scale = max([x for x in (*same, sd, cell.unit) if x is not None])
        judged = cell.measure in ("final_accuracy", "average_forgetting")
        off = (mean - cell.mean) / scale if judged else math.nan
        found = mean, sd, len(values), off
        result[cell.table, cell.method, cell.dataset, cell.measure] = found
    return result


def test_compare_against_naive():
    records, done = [], set()
    for i, cell in enumerate(MAIN):
        for j, seed in enumerate(SEEDS[: 1 + i % 5]):
            if (cell.method, cell.dataset, seed) in done:
                continue
            done.add((cell.method, cell.dataset, seed))
            value = None if (i + j) % 7 == 0 else 0.01 * ((13 * i + 29 * j) % 100)
            records.append(
                record(
                    cell.method,
                    cell.dataset,
                    seed,
                    protocol="honest" if (i + j) % 11 == 0 else "paper",
                    error="MemoryError: too large" if (i + j) % 13 == 0 else None,
                    mean_class_recall=value,
                    final_accuracy=0.5,
                    average_forgetting=value if i % 3 else 0.25,
                    nbytes=1024.0 * i,
                    rows_per_second=100.0 + j,
                )
            )
    records.append(record("gaussian-nb", "wine", 42, mean_class_recall=0.9))
    found = {}
    for c in compare(records):
        cell = c.cell
        key = cell.table, cell.method, cell.dataset, cell.measure
        found[key] = c.ours_mean, c.ours_sd, c.n_seeds, c.deviations
    expected = naive(records)
    assert list(found) == list(expected)
    assert {key[0] for key in found} == set(MAIN_TABLES)
    for key, figures in expected.items():
        assert found[key] == pytest.approx(figures, abs=1e-9, nan_ok=True), key


def test_nothing_to_compare():
    failed = record("mist-g", "wine", 42, error="ValueError: no", mean_class_recall=0.97)
    honest = record("mist-g", "wine", 42, protocol="honest", mean_class_recall=0.97)
    assert compare([failed, honest]) == []
    assert comparison_tables([]) == []


@pytest.mark.parametrize(
    ("ours", "verdict"),
    # Antipodal, SQDA: .984 with a spread of .007.
    [(0.984, "reproduced"), (0.9975, "reproduced"), (0.9701, "reproduced"), (0.9985, "differs")],
)
def test_verdict_by_the_papers_spread(ours, verdict):
    (c,) = compare([record("sqda", "antipodal", seed, mean_class_recall=ours) for seed in SEEDS])
    assert c.verdict == verdict


def test_a_spread_printed_as_zero_allows_for_rounding():
    # SLDA on the first synthetic set: 1.000 with a spread of .000.
    near = compare([record("slda", "synth10", 42, mean_class_recall=0.9985)])
    far = compare([record("slda", "synth10", 42, mean_class_recall=0.9975)])
    assert [c.verdict for c in near] == ["reproduced"]
    assert [c.verdict for c in far] == ["differs"]
    assert far[0].deviations == pytest.approx(-2.5)


def test_a_spread_printed_in_another_table_counts():
    # EFDT without resets on Pendigits: .272 in two tables, with a spread of .057 in one.
    found = compare(
        [record("efdt-no-reset", "pendigits", s, mean_class_recall=0.329) for s in SEEDS]
    )
    assert {c.cell.table: c.deviations for c in found} == {
        "tree-results": pytest.approx(1.0),
        "noreset": pytest.approx(1.0),
    }


def test_our_own_spread_counts():
    # EFDT with resets on Pendigits: .196, and no spread.
    values = (0.1, 0.2, 0.3, 0.2, 0.25)
    records = [
        record("efdt", "pendigits", s, mean_class_recall=v)
        for s, v in zip(SEEDS, values, strict=True)
    ]
    (c,) = compare(records)
    assert c.ours_sd == pytest.approx(statistics.pstdev(values))
    assert c.deviations == pytest.approx((0.21 - 0.196) / c.ours_sd)


def test_sizes_and_speeds_are_not_judged():
    found = compare([record("ncm", "mnist", 42, nbytes=4096.0, rows_per_second=1e6)])
    assert [c.verdict for c in found] == ["not determinable"] * 2
    tables = {t.name: t for t in comparison_tables(found)}
    assert tables["paper-memory"].rows == (("NCM", "4.0 / 8.8", "1,000,000 / 31,815"),)
    assert tables["paper-memory"].headings == (
        "method",
        "Split-MNIST: size of the model, KB",
        "Split-MNIST: rows/s, test then train",
    )
    assert "*" not in tables["paper-memory"].caption
    assert tables["paper-differences"].rows == ()
    assert tables["paper-agreement"].rows == (("Memory and speed", "2", "0", "0", "2", NOTHING),)


# --- tables ------------------------------------------------------------------------------------


def test_tables_of_the_papers_own_figures():
    found = compare(like_the_paper())
    assert [c.cell for c in found] == MAIN
    assert {c.verdict for c in found if c.cell.table != "memory"} == {"reproduced"}
    assert rows_of(found, "paper-differences") == ()
    assert rows_of(found, "paper-agreement") == (
        (PAPER_TABLES["tree-results"], "70", "70", "0", "0", "100%"),
        (PAPER_TABLES["nontree-results"], "70", "70", "0", "0", "100%"),
        (PAPER_TABLES["stress"], "48", "48", "0", "0", "100%"),
        (PAPER_TABLES["noreset"], "24", "24", "0", "0", "100%"),
        (PAPER_TABLES["main-forgetting"], "110", "110", "0", "0", "100%"),
        (PAPER_TABLES["memory"], "32", "0", "0", "32", NOTHING),
    )


def test_tables_of_other_figures():
    found = compare(like_the_paper(shift=0.02))
    tables = {t.name: t for t in comparison_tables(found)}
    beside = tables["paper-tree-results"]
    assert beside.headings[:3] == ("method", "Synth-10", "Synth-50")
    assert beside.rows[0][:4] == (
        METHODS["mist-g"].title,
        "1.014 / 0.994 *",
        "1.019 / 0.999 *",
        "0.990 / 0.970",
    )
    for table in tables.values():
        assert all(len(row) == len(table.headings) for row in table.rows)
    differ = {
        (c.cell.method, c.cell.dataset, c.cell.measure): c for c in found if c.verdict == "differs"
    }
    rows = tables["paper-differences"].rows
    assert len(rows) == len(differ)
    marks = sum(cell.endswith(" *") for t in tables.values() for row in t.rows for cell in row)
    assert marks == sum(c.verdict == "differs" for c in found) > len(differ)
    for method, dataset, measure, _, _, _, verdict, reason in rows:
        assert verdict == "differs"
        key = next(
            k
            for k in differ
            if (METHODS[k[0]].title, SETTINGS[k[1]].title, MEASURES[k[2]].title)
            == (method, dataset, measure)
        )
        assert reason == (reason_for(key[2], key[0], key[1]) or "not explained")
    assert {row[-1] for row in rows} > {"not explained"}
    assert rows[0][:-2] == (
        METHODS["mist-g"].title,
        "Synth-10",
        "final accuracy",
        "1.014 ± 0.000",
        "0.994 ± 0.004",
        "+5.0",
    )


def test_share_of_agreeing_cells():
    cell = PaperCell("stress", "mist-g", "ring", "final_accuracy", 0.9, 0.01)
    found = [
        Comparison(replace(cell, dataset=dataset), 0.9 + 0.01 * off, 0.0, 5, off)
        for dataset, off in (("ring", 0.0), ("skewed", -10.0), ("antipodal", 2.0))
    ]
    assert rows_of(found, "paper-agreement") == (
        (PAPER_TABLES["stress"], "3", "2", "1", "0", "67%"),
    )


def test_a_missing_figure_is_left_empty():
    found = compare(
        [
            record("mist-g", "ring", 42, mean_class_recall=0.975),
            record("slda", "antipodal", 42, mean_class_recall=0.171),
        ]
    )
    (beside, _, _) = comparison_tables(found)
    assert "* more than 2 standard deviations" in beside.caption
    assert beside.headings == ("method", "Antipodal", "Ring")
    assert beside.rows == (
        (METHODS["mist-g"].title, "", "0.975 / 0.975"),
        (METHODS["slda"].title, "0.171 / 0.171", ""),
    )


def test_tables_render():
    for table in comparison_tables(compare(like_the_paper(shift=0.02))):
        for write in (to_csv, to_latex, to_markdown):
            text = write(table)
            assert text.count("\n") >= len(table.rows)
            assert all(row[0] in text for row in table.rows)


# --- what follows from runs ----------------------------------------------------------------------


def test_means_over_the_standard_sets():
    records = [
        record(method, dataset, seed, mean_class_recall=accuracy + 0.01 * i + seed / 1e4)
        for method, accuracy in (("mist-g", 0.5), ("majority", 0.25))
        for i, dataset in enumerate(SUITES["standard"])
        for seed in (42, 123)
    ]
    # The factors of the two sets on which the paper counts an empty class.
    figures = figures_of(records)
    parts = [figures["mist-g", dataset, "final_accuracy"][42] for dataset in SUITES["standard"]]
    mean = figures["mist-g", "standard", "final_accuracy"]
    assert mean[42] == pytest.approx(statistics.fmean(parts))
    change = figures["majority", "standard", "relative_change"]
    less = figures["majority", "standard", "final_accuracy"]
    assert change == {seed: pytest.approx(less[seed] / mean[seed] - 1) for seed in (42, 123)}


def test_no_mean_where_a_set_is_missing():
    records = [
        record("mist-g", dataset, 42, mean_class_recall=0.5) for dataset in SUITES["standard"][1:]
    ]
    assert ("mist-g", "standard", "final_accuracy") not in figures_of(records)


def test_times():
    plain, sketch = "mist-k", "mist-k+inheritance=sketch"
    records = [
        record(method, "mnist", seed, rows_per_second=rate)
        for method, rate in ((plain, 100.0), (sketch, 80.0))
        for seed in (42, 123)
    ]
    figures = figures_of(records)
    assert figures[plain, "mnist", "seconds"] == {42: 10.0, 123: 10.0}
    assert figures[sketch, "mnist", "relative_seconds"] == {42: 1.25, 123: 1.25}
    found = compare_figures(figures, cells_of("inheritance-ablation"))
    assert {c.verdict for c in found} == {"not determinable"}
    assert {c.reason for c in found if c.n_seeds} == {
        "a time or a rate of another machine and another program"
    }
    assert {c.reason for c in found if not c.n_seeds} == {"not run"}
