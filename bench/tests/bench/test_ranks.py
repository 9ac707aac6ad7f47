import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mist_bench.ranks import cliques, critical_difference, friedman, rank

# Few values, so that ties are common.
scores = arrays(
    float,
    st.tuples(st.integers(2, 6), st.integers(3, 6)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)
mean_ranks = st.lists(st.integers(4, 40).map(lambda i: i / 4), min_size=1, max_size=9)


@given(scores)
def test_ranks_by_counting(table):
    ranks = rank(table)
    for row, row_ranks in zip(table, ranks, strict=True):
        for value, got in zip(row, row_ranks, strict=True):
            better, alike = (row > value).sum(), (row == value).sum()
            assert got == better + (alike + 1) / 2
    assert (ranks.sum(axis=1) == table.shape[1] * (table.shape[1] + 1) / 2).all()


@given(scores)
def test_friedman_is_the_f_of_the_statistic_of_scipy(table):
    n, k = table.shape
    statistic, p = friedman(table)
    if all(len(set(row)) == 1 for row in table):
        assert (statistic, p) == (0.0, 1.0)
        return
    chi2 = float(stats.friedmanchisquare(*table.T).statistic)
    if math.isinf(statistic):
        assert chi2 == pytest.approx(n * (k - 1))
        assert p == 0
        return
    assert statistic == pytest.approx((n - 1) * chi2 / (n * (k - 1) - chi2), abs=1e-9)
    assert p == pytest.approx(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)), abs=1e-9)


def test_friedman_of_the_example_of_demsar():
    # Table 6 of Demsar 2006: mean ranks 3.143, 2.000, 2.893, 1.964; F = 3.69.
    columns = np.array(
        [
            [0.763, 0.768, 0.771, 0.798],
            [0.599, 0.591, 0.590, 0.569],
            [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657],
            [0.882, 0.888, 0.886, 0.898],
            [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685],
            [0.583, 0.583, 0.563, 0.625],
            [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000],
            [0.940, 0.962, 0.965, 0.962],
            [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975],
            [0.957, 0.978, 0.946, 0.970],
        ]
    )
    means = rank(columns).mean(axis=0)
    np.testing.assert_allclose(means, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    # The paper leaves the statistic uncorrected for its four ties.
    uncorrected = 12 * 14 / (4 * 5) * ((means**2).sum() - 4 * 25 / 4)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)
    statistic, p = friedman(columns)
    assert 3.69 < statistic < 4.2
    assert p < 0.05


def test_friedman_of_two_methods_and_of_full_agreement():
    statistic, p = friedman([[1, 0], [1, 0], [0, 1], [1, 0]])
    assert statistic == pytest.approx(1.0)
    assert p == pytest.approx(float(stats.f.sf(1.0, 1, 3)))
    assert friedman([[0.3, 0.2, 0.1]] * 3) == (math.inf, 0.0)


def test_quantiles_as_tabulated_by_demsar():
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in zip(range(2, 11), table, strict=True):
        got = critical_difference(k, 7) / math.sqrt(k * (k + 1) / 42)
        assert got == pytest.approx(q, abs=1.1e-3)
    assert critical_difference(5, 10, 0.1) < critical_difference(5, 10)
    assert critical_difference(4, 14, 0.1) == pytest.approx(1.12, abs=0.005)


@given(mean_ranks, st.integers(1, 40).map(lambda i: i / 4 + 0.1))
def test_cliques_by_trying_all_runs(ranks, difference):
    ordered = sorted(ranks)
    runs = [
        (i, j)
        for i, j in itertools.combinations(range(len(ordered)), 2)
        if ordered[j] - ordered[i] < difference
    ]
    largest = [
        (i, j) for i, j in runs if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in runs)
    ]
    assert cliques(ranks, difference) == largest


def test_methods_exactly_the_difference_apart_differ():
    assert cliques([1.0, 2.0], 1.0) == []
    assert cliques([1.0, 2.0], 1.25) == [(0, 1)]
    assert cliques([2.0, 2.0], 0.0) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rank([0.5, 0.2]), r"table .* shape \(2,\)"),
        (lambda: rank(np.zeros((0, 3))), "at least one data set"),
        (lambda: rank([[0.1, 0.2], [0.3, math.nan]]), r"row 1 .* column 1 .* leave out"),
        (lambda: friedman([[0.1, 0.2]]), "2 data sets and 2 methods, got 1 and 2"),
        (lambda: friedman([[0.1], [0.2]]), "got 2 and 1"),
        (lambda: critical_difference(1, 5), "n_methods=1"),
        (lambda: critical_difference(3, 0), "n_datasets=0"),
        (lambda: critical_difference(3, 5, 1.0), "level must lie"),
        (lambda: cliques([[1.0]], 1.0), "one row of numbers"),
        (lambda: cliques([1.0, math.nan], 1.0), "one row of numbers"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
