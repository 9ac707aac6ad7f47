"""The radius that adapts to the variance of a gain, and what it promises."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_splits
from mist.engine.confseq import boundary, class_variances, gain_radius, gap_radius, noise
from published import paper_tree

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "split_coverage.py"

# Rows of every class, the share with a value and of these the share on the left, for each column.
tables = st.integers(1, 5).flatmap(
    lambda k: st.tuples(
        st.lists(st.integers(1, 10**5), min_size=k, max_size=k),
        st.lists(
            st.lists(
                st.tuples(
                    st.sampled_from([1.0, 0.5, 0.9]), st.integers(0, 1000).map(lambda i: i / 1000)
                ),
                min_size=k,
                max_size=k,
            ),
            min_size=1,
            max_size=4,
        ),
    )
)
logs = st.floats(0.1, 20.0)


def masses(table):
    """Rows in all; rows with a value, and those on the left, as arrays (classes, columns)."""
    counts, columns = table
    shares = np.array(columns).transpose(1, 0, 2)
    known = np.array(counts, float)[:, None] * shares[..., 0]
    return float(sum(counts)), known, known * shares[..., 1]


def measured(total, known, left):
    """Gains and class variances of every column."""
    variances = np.empty(known.shape)
    for j in range(known.shape[1]):
        class_variances(total, known[:, j], left[:, j], variances[:, j])
    pairs = zip(known.T.tolist(), left.T.tolist(), strict=True)
    gains = [naive_splits.gini_gain(*pair) * sum(pair[0]) / total for pair in pairs]
    return np.array(gains), variances


def radii(total, known, left, log_term):
    """Radius of the gain, and of the gap in both forms, of the column with the largest gain."""
    gains, variances = measured(total, known, left)
    best = int(gains.argmax())
    second = max(0.0, *np.delete(gains, best)) if len(gains) > 1 else 0.0
    gain = gain_radius(total, known[:, best], variances[:, best], log_term)
    rest = (total, known, variances, gains, best, second, log_term)
    return gains, best, second, gain, *(gap_radius(*rest, which) for which in (False, True))


@settings(deadline=None)  # the first call compiles
@given(tables, logs)
def test_variances_and_radii_equal_the_twins(table, log_term):
    total, known, left = masses(table)
    _, variances = measured(total, known, left)
    for j in range(known.shape[1]):
        share = known[:, j].sum() / total
        expected = naive_splits.gain_variances(known[:, j].tolist(), left[:, j].tolist())
        scale = max(1e-12, *variances[:, j]) * 1e-6
        np.testing.assert_allclose(variances[:, j], np.array(expected) * share**2, atol=scale)
        floor = naive_splits.confseq_noise(total, known[:, j].tolist(), log_term)
        assert noise(total, known[:, j], log_term) == pytest.approx(floor, rel=1e-9)
    assert boundary(total, log_term) == pytest.approx(
        naive_splits.confseq_boundary(total, log_term), rel=1e-9
    )


@settings(deadline=None)
@given(tables, logs)
def test_what_fires_is_what_the_twin_lets_fire(table, log_term):
    total, known, left = masses(table)
    gains, best, second, gain, safe, independent = radii(total, known, left, log_term)
    columns = list(zip(known.T.tolist(), left.T.tolist(), strict=True))
    for statistic, radius, test, form in (
        (gains[best], gain, "gain", False),
        (gains[best] - second, safe, "gap", False),
        (gains[best] - second, independent, "gap", True),
    ):
        if abs(statistic - radius) > 1e-9:  # else rounding decides
            fires = naive_splits.confseq_fires(total, columns, best, log_term, test, form)
            assert (statistic > radius) == fires


@settings(deadline=None)
@given(tables, logs, st.randoms(use_true_random=False))
def test_names_of_classes_and_columns_and_sides_do_not_matter(table, log_term, random):
    total, known, left = masses(table)
    before = radii(total, known, left, log_term)
    classes, columns = list(range(known.shape[0])), list(range(known.shape[1]))
    random.shuffle(classes)
    random.shuffle(columns)
    moved, moved_left = known[classes][:, columns], left[classes][:, columns]
    after = radii(total, moved, moved_left, log_term)
    mirrored = radii(total, known, known - left, log_term)
    gains = np.sort(before[0])
    if gains.size < 2 or gains[-1] - gains[-2] > 1e-9:  # equals may change places
        assert after[3:] == pytest.approx(before[3:], rel=1e-6, abs=1e-9)
        assert mirrored[3:] == pytest.approx(before[3:], rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(tables, logs)
def test_forms_in_order_of_what_they_ask(table, log_term):
    _, _, second, gain, safe, independent = radii(*masses(table), log_term)
    assert safe >= independent - 1e-12
    assert independent >= gain - second - 1e-12  # no split is one of those to be beaten


@pytest.mark.parametrize("left", [(0.8, 0.2), (0.5, 0.45), (0.9, 0.0)])
def test_radius_falls_with_the_root_of_the_rows(left):
    log_term = math.log(10.0)

    def at(n: float) -> float:
        known = np.full((2, 1), n / 2)
        return float(radii(n, known, known * np.array(left)[:, None], log_term)[3])

    ns = [10.0**power for power in range(2, 9)]
    sizes = [at(n) * math.sqrt(n) for n in ns]
    # But for the logarithm of the boundary, and what noise may add to few rows.
    assert sizes[-1] / boundary(ns[-1], log_term) == pytest.approx(
        sizes[-2] / boundary(ns[-2], log_term), rel=0.05
    )
    assert all(at(4.0 * n) < 0.6 * at(n) for n in ns)


@pytest.mark.parametrize("rows", [1e-219, 5e-324])
def test_next_to_nothing_on_a_side_has_a_finite_radius(rows):
    known = np.array([[400.0], [200.0]])
    _, _, _, *found = radii(600.0, known, np.array([[rows], [0.0]]), 2.0)
    assert np.isfinite(found).all()
    assert min(found) > 0.0


def test_variance_is_that_of_many_draws():
    rng = np.random.default_rng(3)
    known, share = np.array([300.0, 100.0, 200.0]), np.array([0.7, 0.4, 0.2])
    draws = rng.binomial(known.astype(int), share, (20_000, 3)).astype(float)
    gains = [naive_splits.gini_gain(known.tolist(), row.tolist()) for row in draws]
    variances = np.empty(3)
    class_variances(known.sum(), known, known * share, variances)
    assert variances.sum() == pytest.approx(np.var(gains), rel=0.05)


# --- level ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_level_is_kept_where_columns_are_equal_or_noise(coverage):
    repetitions, delta = 60, coverage.DELTAS[0]
    most = repetitions * delta + 3 * math.sqrt(repetitions * delta * (1 - delta))
    naive_rule = coverage.TESTS.index("hoeffding, no tie rule")
    worst = 0
    for number, case in enumerate(coverage.CASES):
        when, where = coverage.simulate(case, 5000, repetitions, [2, number])
        for s, statistic in enumerate(coverage.STATISTICS):
            wrong = np.isfinite(when[:, s]) & ~case.right(statistic)[where[:, s]]
            fires = wrong[:, :, 0, 0].sum(axis=0)
            assert fires[[coverage.CONFSEQ, coverage.INDEPENDENT]].max() <= most, case.title
            worst = max(worst, fires[naive_rule])
    assert worst > most  # these streams do tell tests apart


def test_a_good_column_is_found_in_fewer_rows_than_with_the_paper_s_radius(coverage):
    case = next(case for case in coverage.CASES if case.title.startswith("one "))
    when, where = coverage.simulate(case, 20_000, 10, 3)
    assert (where[:, :, coverage.CONFSEQ] == 0).all()
    assert (when[:, :, coverage.CONFSEQ] * 5 < when[:, :, 0]).all()


def test_tables_of_the_simulation_have_a_row_for_each_setting(coverage):
    tables = [*coverage.split_tables(500, 3, 1), coverage.betting_table(500, 3, 1)]
    assert [table.name for table in tables] == [
        *("gap-false-fires", "gap-rows", "gain-false-fires", "gain-rows"),
        "betting",
    ]
    per_case = len(coverage.DELTAS) * len(coverage.GRACE)
    assert len(tables[0].rows) == per_case * len(coverage.CASES)


# --- in the tree ------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", ["confseq", "confseq_independent"])
@pytest.mark.parametrize("split_test", ["gain", "gap"])
def test_a_tree_splits_a_good_column_and_leaves_noise_alone(bound, split_test):
    rng = np.random.default_rng(4)
    y = np.arange(2400) % 3
    X = rng.normal(size=(2400, 6))
    options = {"bound": bound, "split_test": split_test, "grace_period": 50, "tie_threshold": 9.0}
    assert paper_tree(**options).partial_fit(X, y).n_splits_ == 0
    X[:, 4] += 2.0 * (y == 1)
    log = paper_tree(**options, max_leaves=2).partial_fit(X, y).split_log_
    assert [split.feature for split in log] == [4]
    assert 0.0 < log[0].radius < log[0].gain
    assert log[0].rows < 1000


def test_two_equal_columns_have_a_gain_but_no_gap():
    rng = np.random.default_rng(5)
    y = np.arange(3000) % 2
    X = np.repeat((1.5 * y + rng.normal(size=3000))[:, None], 2, axis=1)
    options = {"bound": "confseq", "max_leaves": 2}
    assert paper_tree(split_test="gap", **options).partial_fit(X, y).n_splits_ == 0
    assert paper_tree(split_test="gain", **options).partial_fit(X, y).n_splits_ == 1
