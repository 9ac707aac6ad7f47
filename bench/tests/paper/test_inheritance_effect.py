import numpy as np
import pytest

from mist_bench.record import Experiment, Record
from mist_paper.exhibit import Scope
from mist_paper.inheritance_effect import ITEM, METHODS, around_a_split

MADE = "synth10"


@pytest.fixture(scope="module")
def traces():
    return {method: around_a_split(MADE, method, 42) for method in METHODS}


def test_all_variants_split_at_the_same_row(traces):
    assert len({trace["split_at"] for trace in traces.values()}) == 1
    trace = traces["mist-g"]
    assert trace["split_at"] % 200 == 0
    assert trace["rows"][0] <= 0 < trace["rows"][-1] <= 820
    assert len(trace["rows"]) == len(trace["new"]) == len(trace["old"])


def test_up_to_the_split_inheritance_changes_nothing(traces):
    before = np.array(traces["mist-g"]["rows"]) < 0
    for key in ("new", "old"):
        plain, without = (np.array(traces[m][key]) for m in ("mist-g", "mist-g-no-inheritance"))
        assert (plain[before] == without[before]).all()


def test_without_inheritance_the_first_task_is_forgotten(traces):
    assert traces["mist-g"]["old"][-1] > 0.9
    assert traces["mist-g-no-inheritance"]["old"][-1] < 0.1


def test_the_table_and_the_drawings(traces):
    scope = Scope((42,))
    plan = ITEM.plan(scope)
    assert all(isinstance(experiment, Experiment) for experiment in plan)
    records = {
        experiment: Record(experiment, result=traces[dict(experiment.arguments)["method"]])
        for experiment in plan
    }
    # A leaf that has not split gives no figures.
    unsplit = {"split_at": None, "rows": [], "new": [], "old": []}
    first = plan[0]
    records[first] = Record(first, result=unsplit)
    exhibit = ITEM.show(scope, records)
    assert len(exhibit.drawings) == 3
    rows = exhibit.tables[0].rows
    assert len(rows) == len(plan) - 1
    after = traces["mist-g-no-inheritance"]["old"][-1]
    row = next(row for row in rows if row[1] == "MIST-G without inheritance")
    assert row[-1] == f"{after:.3f} ± 0.000"
