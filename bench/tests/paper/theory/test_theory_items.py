"""Tests that apply to all checks of theorems."""

from __future__ import annotations

import json

import pytest

from drawn import assert_told_apart
from mist.report.style import to_svg
from mist_bench.record import Experiment, Record
from mist_bench.result_tables import to_latex, to_markdown
from mist_paper.exhibit import Scope
from mist_paper.theory import THEORY
from mist_paper.theory.checks import FAILS, HOLDS, NO_GUARANTEE

LESS = {
    "search_all": {"n": 5},
    "climb": {"n": 50, "starts": 2},
    "one_look": {"leaves": 40},
    "many_looks": {"rows": 2000, "leaves": 4},
    "own_thresholds": {"n": 300, "leaves": 5},
    "composed_error": {"n": 700, "leaves": 1},
    "displacement": {"n": 500, "leaves": 1},
    "class_variance": {"draws": 1000},
    "mean_variance": {"draws": 1000},
    "child_errors": {"n_parent": 100, "repetitions": 2},
    "moment_errors": {"steps": 2},
    "drawn_moments": {"n": 5000},
    "wrong_sign": {},
}
"""Arguments with which an experiment takes no time."""


def small(experiment: Experiment) -> Experiment:
    less = {**dict(experiment.arguments), **LESS[experiment.function.rpartition(":")[2]]}
    return Experiment(experiment.function, tuple(less.items()), experiment.seed)


@pytest.fixture(scope="module")
def results():
    """Results of experiments made small, by experiment; equal ones are run once."""
    done: dict[str, object] = {}

    def run(experiment: Experiment):
        shrunk = small(experiment)
        if shrunk.key not in done:
            done[shrunk.key] = json.loads(json.dumps(shrunk.call(), allow_nan=False))
        return Record(experiment, result=done[shrunk.key])

    return run


@pytest.mark.parametrize("name", sorted(THEORY))
def test_plans_are_whole_and_distinct(name):
    item = THEORY[name]
    assert item.kind == "theory"
    full, fast = (item.plan(scope) for scope in (Scope(), Scope.quick()))
    assert len({experiment.key for experiment in full}) == len(full) >= len(fast) > 5
    assert all(json.dumps(experiment.arguments) for experiment in full)


@pytest.mark.parametrize("name", sorted(THEORY))
def test_nothing_run_is_nothing_shown(name):
    shown = THEORY[name].show(Scope.quick(), {})
    assert not shown.tables
    assert not shown.drawings


@pytest.mark.parametrize("name", sorted(THEORY))
def test_records_become_tables_with_verdicts_and_figures(name, results):
    item, scope = THEORY[name], Scope.quick()
    plan = item.plan(scope)
    shown = item.show(scope, {experiment: results(experiment) for experiment in plan})
    assert len({table.name for table in shown.tables}) == len(shown.tables) > 0
    verdicts = 0
    for table in shown.tables:
        assert table.rows
        assert to_markdown(table)
        assert to_latex(table)
        cells = [cell for row in table.rows for cell in row]
        verdicts += sum(cell.startswith((HOLDS, FAILS, NO_GUARANTEE)) for cell in cells)
    assert verdicts >= len(shown.tables[0].rows)
    for drawing in shown.drawings:
        assert to_svg(drawing.figure).startswith("<svg")
        axes = drawing.figure.axes[0]
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert_told_apart(axes)
    # One record is enough to show something, and a failed one is left out.
    records = {plan[0]: results(plan[0]), plan[1]: Record(plan[1], error="ValueError: no")}
    assert item.show(scope, records).tables
