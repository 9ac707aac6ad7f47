import math
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from drawn import assert_told_apart
from mist_bench.methods import METHODS
from mist_bench.record import Experiment, Record, Run
from mist_bench.result_tables import to_latex, to_markdown
from mist_bench.suites import SETTINGS
from mist_paper.comparison import Comparison
from mist_paper.exhibit import Scope
from mist_paper.items import GROUPS, ITEMS, choose, plan_of
from mist_paper.printed import PRINTED, planned
from mist_paper.values import PAPER_TABLES, cells_of, read_paper

SCOPES = [Scope(), Scope.quick(), Scope((7,))]


def made_up(run, accuracy):
    """A record of a run as the grid leaves it, of a stream of three tasks."""
    return Record(
        run,
        measures={
            "mean_class_recall": accuracy,
            "average_forgetting": 0.1,
            "rows_per_second": 100.0,
            "nbytes": 1000.0,
            "splits": 2.0,
            "leaves": 3.0,
            "classes_per_leaf": 4.0,
        },
        accuracy_matrix=[[1.0, None, None], [0.9, 1.0, None], [0.8, 0.9, 1.0]],
        boundaries=[100, 200, 300],
        curves={
            "rows": [100, 200, 300],
            "windowed_accuracy": [0.5, 0.6, 0.7],
            "growth_rows": [100, 200, 300],
            "leaves": [1, 2, 3],
            "splits": [0, 1, 2],
            "leaf_impurity": [0.5, 0.4, 0.3],
            "classes_per_leaf": [2.0, 2.0, 4.0],
        },
        shape={"rows": 300, "classes": 6, "tasks": 3},
    )


def records_of(tasks):
    return {
        task: made_up(task, 0.5 + 0.01 * (i % 7)) for i, task in enumerate(tasks) if is_run(task)
    }


def is_run(task):
    return isinstance(task, Run)


@pytest.mark.parametrize("scope", SCOPES)
def test_every_task_can_be_made(scope):
    for task in plan_of(list(ITEMS), scope):
        if is_run(task):
            assert task.method in METHODS
            assert task.dataset in SETTINGS
            assert task.protocol == "paper"
            assert task.seed in scope.seeds
        else:
            assert isinstance(task, Experiment)
            assert ":" in task.function


@pytest.mark.parametrize("scope", SCOPES)
def test_a_plan_holds_every_task_once_and_keeps_streams_together(scope):
    tasks = plan_of(list(ITEMS), scope)
    assert len(set(tasks)) == len(tasks)
    assert {t for name in ITEMS for t in ITEMS[name].plan(scope)} == set(tasks)
    streams = [(task.dataset, task.seed) for task in tasks if is_run(task)]
    changes = sum(a != b for a, b in pairwise(streams))
    assert changes == len(set(streams)) - 1


def test_a_first_look_is_part_of_the_whole():
    assert set(plan_of(list(PRINTED), Scope.quick())) < set(plan_of(list(PRINTED), Scope()))


@pytest.mark.parametrize("name", [n for n, i in ITEMS.items() if i.plan(Scope())])
def test_nothing_run_is_no_error(name):
    item = ITEMS[name]
    exhibit = item.show(Scope((7,)), {})
    assert not exhibit.drawings
    if name in PRINTED:
        assert exhibit.tables[0].rows == ()
        assert exhibit.tables[0].caption == "Not run."
    assert all(c.verdict == "not determinable" for c in exhibit.comparisons)


# The others' experiments have tests of their own.
OF_THE_GRID = [name for name, item in ITEMS.items() if all(map(is_run, item.plan(Scope())))]


@pytest.mark.parametrize("name", OF_THE_GRID)
def test_every_item_shows_what_was_run(name):
    scope = Scope((42, 123))
    item = ITEMS[name]
    tasks = item.plan(scope)
    exhibit = item.show(scope, records_of(tasks))
    assert exhibit.tables or exhibit.drawings
    for table in exhibit.tables:
        assert table.rows
        to_markdown(table), to_latex(table)
    for drawing in exhibit.drawings:
        assert isinstance(drawing.figure, Figure)
        assert drawing.alt.endswith(".")
        assert drawing.caption.endswith(".")
        assert drawing.figure.axes[0].has_data()
        for axes in drawing.figure.axes:
            assert_told_apart(axes)


@pytest.mark.parametrize("table", PRINTED)
def test_every_cell_of_a_table_has_a_verdict(table):
    scope = Scope((42,))
    tasks = planned(table, scope)
    exhibit = PRINTED[table].show(scope, records_of(tasks))
    assert [c.cell for c in exhibit.comparisons] == cells_of(table)
    assert all(c.n_seeds == 1 for c in exhibit.comparisons)
    # Figures made up differ everywhere: every one of them has its reason.
    assert {c.verdict for c in exhibit.comparisons} <= {"differs", "reproduced", "not determinable"}
    for c in exhibit.comparisons:
        assert bool(c.reason) == (c.verdict != "reproduced")


def test_a_claim_without_rivals_is_not_run():
    scope = Scope((42,))
    item = ITEMS["claims"]
    records = {t: r for t, r in records_of(item.plan(scope)).items() if t.method == "mist-k"}
    rows = {row[0]: row[1:] for row in item.show(scope, records).tables[0].rows}
    assert rows["Only MIST-K rises above chance on angular sectors"] == ("not run", "", "", "")


def test_every_table_of_the_paper_is_an_item():
    assert set(PAPER_TABLES) <= set(ITEMS)
    labels = {item.label for item in ITEMS.values()}
    for name in PAPER_TABLES:
        kind = "fig" if name == "inheritance-effect" else "tab"
        assert f"{kind}:{name}" in labels


def test_choosing():
    assert choose(["all"]) == list(ITEMS)
    assert choose(["memory", "stress", "stress"]) == ["stress", "memory"]
    assert choose(["fig:tree-size"]) == ["tree-size"]
    assert set(choose(["tables"])) == set(GROUPS["tables"])
    with pytest.raises(ValueError, match="The nearest is 'stress'"):
        choose(["stres"])


def test_split_counts_tell_the_nearest_reading():
    scope = Scope((42,))
    item = ITEMS["split-counts"]
    records = records_of(item.plan(scope))
    for task, record in records.items():
        exact = {c.dataset: c.mean for c in cells_of("sketch-vs-gaussian-real")}
        if task.method == "mist-g-gain-test":
            counts = {
                c.dataset: c.mean
                for t in PAPER_TABLES
                for c in cells_of(t)
                if c.measure == "splits"
            }
            leaves = {c.dataset: c.mean - 1 for c in cells_of("klocal") if c.measure == "leaves"}
            record.measures["splits"] = (counts | leaves)[task.dataset]
        assert exact
    exhibit = item.show(scope, records)
    row = next(row for row in exhibit.tables[0].rows if row[0] == "gain test")
    assert row[-2] == "x 1.0"
    assert "'gain test'" in exhibit.notes[0]


def test_claims_of_made_up_runs():
    scope = Scope((42,))
    item = ITEMS["claims"]
    records = records_of(item.plan(scope))
    for task, record in records.items():
        if "no-inheritance" in task.method or "inheritance=None" in task.method:
            record.measures["mean_class_recall"] = 0.1
        elif task.method == "majority":
            record.measures["mean_class_recall"] = 0.9
        else:
            record.measures["mean_class_recall"] = 0.8
    rows = {row[0]: row for row in item.show(scope, records).tables[0].rows}
    lost = next(row for says, row in rows.items() if says.startswith("Without inheritance"))
    assert lost[2] == lost[4] == "yes"
    assert "on 10 sets with splits" in lost[1]
    vote = next(row for says, row in rows.items() if "majority" in says)
    assert vote[2] == "no"
    flat = next(row for says, row in rows.items() if "flat in delta" in says)
    assert flat[2] == "yes"


def test_the_report_of_made_up_runs(tmp_path):
    from mist_paper.report import summary_tables, write_report

    scope = Scope((42,))
    names = ["stress", "tree-size", "hyperparams"]
    records = records_of(plan_of(names, scope))
    exhibits = {name: (ITEMS[name], ITEMS[name].show(scope, records)) for name in names}
    page = write_report(tmp_path, exhibits, note="Seeds <42>.")
    html = page.read_text(encoding="utf-8")
    assert "Seeds &lt;42&gt;." in html
    for name in names:
        assert f'id="{name}"' in html
    assert html.count("<svg") == 3
    for stem in ("paper-stress", "stress-cells", "paper-agreement", "paper-differences"):
        for suffix in (".csv", ".md", ".tex"):
            assert (tmp_path / "tables" / (stem + suffix)).stat().st_size > 0
    for dataset in ("synth50", "covertype", "mnist"):
        for suffix in (".svg", ".png"):
            assert (tmp_path / "figures" / f"tree-size-{dataset}{suffix}").stat().st_size > 1000
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    for name in names:
        assert f"## {ITEMS[name].title} ({ITEMS[name].label})" in text
        assert f"`mist paper {name}`" in text
    assert "](figures/tree-size-mnist.svg)" in text
    svg = (tmp_path / "figures" / "tree-size-mnist.svg").read_text(encoding="utf-8")
    assert "currentColor" not in svg
    assert svg.startswith("<svg")
    (agreement, differences) = summary_tables(exhibits)  # no theorem is among them
    judged = [c for c in exhibits["stress"][1].comparisons if not math.isnan(c.deviations)]
    assert len(judged) == 48
    assert agreement.rows[0][1] == "48"
    assert len(differences.rows) == int(agreement.rows[0][3])


def test_theorems_are_counted():
    from mist_bench.result_tables import Table
    from mist_paper.exhibit import Exhibit, Item
    from mist_paper.report import summary_tables

    rows = (("n", "holds"), ("m", "fails"), ("k", "no guarantee, exceeded"), ("holds", "holds"))
    item = Item("A theorem", "theory", "thm:a", lambda scope: (), lambda scope, records: Exhibit())
    exhibit = Exhibit(tables=(Table("t", "T", "", ("of", "verdict"), rows, n_text=2),))
    (table,) = summary_tables({"a": (item, exhibit)})
    assert table.rows == (("A theorem", "thm:a", "3", "1", "1"),)


def test_reasons_cover_whatever_differs():
    """Every figure that may differ has a reason."""
    for cell in read_paper():
        if Comparison(cell, 9.0, 0.0, 5, 99.0).reason == "not explained":
            assert cell.method in ("slda", "sqda", "ncm"), cell
