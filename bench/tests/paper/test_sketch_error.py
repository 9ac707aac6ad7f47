import numpy as np
import pytest

from mist import MistClassifier
from mist.datasets import load
from mist.evaluation import ClassIncrementalStream
from mist_bench.record import Record
from mist_paper import sketch_error
from mist_paper.exhibit import Scope
from mist_paper.sketch_error import BY_SET, BY_SIZE, errors_at_decisions


def naive_gain(x, y, threshold):
    """Gini gain by counting labels."""

    def gini(labels):
        return 1 - sum((labels == c).mean() ** 2 for c in set(labels.tolist()))

    left, right = y[x <= threshold], y[x > threshold]
    if not len(left) or not len(right):
        return 0.0
    n = len(y)
    return gini(y) - len(left) / n * gini(left) - len(right) / n * gini(right)


@pytest.mark.parametrize("threshold", [-5.0, 0.0, 0.3, 9.0])
def test_exact_gains(threshold):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300), rng.integers(0, 4, 300)
    assert sketch_error._exact_gain(x, y, threshold) == pytest.approx(naive_gain(x, y, threshold))


def test_sketches_that_hold_all_rows_make_no_error():
    found = errors_at_decisions("iris", 512, 42)
    assert found["rows"] == []  # fewer rows than a grace period
    found = errors_at_decisions("lognormal", 32768, 42)
    assert len(found["gain"]) == len(found["rows"]) > 20
    assert max(found["any_gain"]) == pytest.approx(0, abs=1e-12)
    assert max(found["cdf"]) == pytest.approx(0, abs=1e-12)


def test_errors_shrink_with_the_size():
    large, small = (errors_at_decisions("pareto", size, 42) for size in (128, 8))
    assert 0 < np.mean(large["gain"]) < np.mean(small["gain"]) / 3
    assert max(small["any_gain"]) >= max(small["gain"])


def test_a_decision_is_that_of_the_tree():
    """The column and threshold looked at are those on which the tree would split."""
    table = load("pareto", seed=42)
    stream = ClassIncrementalStream(table.X, table.y, seed=42)
    options = {"split_test": "gain", "union_bound": False, "random_state": 42}
    model = MistClassifier.paper("G", **options).partial_fit(stream.X_train, stream.y_train)
    first = model.split_log_[0]
    unsplit = MistClassifier.paper("G", max_leaves=1, random_state=42)
    unsplit.partial_fit(stream.X_train[: first.seen], stream.y_train[: first.seen])
    gains, places, best, _ = sketch_error._decide(unsplit)
    assert (best, places[best]) == (first.feature, first.threshold)
    assert gains[best] == pytest.approx(first.gain)


def test_tables():
    scope = Scope((42,))
    result = {
        "rows": [200, 400],
        "gain": [0.01, 0.02],
        "cdf": [0.03, 0.01],
        "any_gain": [0.2, 0.02],
    }
    for item in (BY_SET, BY_SIZE):
        records = {t: Record(t, result=result) for t in item.plan(scope)}
        exhibit = item.show(scope, records)
        found = {
            (c.cell.method, c.cell.dataset, c.cell.measure): c.ours_mean
            for c in exhibit.comparisons
        }
        assert found["k=64", "pareto", "margin"] == pytest.approx(0.0625 / 0.02)
    assert found["k=16", "pareto", "margin"] == pytest.approx(0.25 / 0.02)
    bounds = next(t for t in exhibit.tables if t.name == "sketch-bounds")
    row = next(row for row in bounds.rows if row[:2] == ("64", "Pareto"))
    # Of two decisions one has a column with an error above 4/k = .0625 and 4 eps = .16.
    assert row[2:8] == ("2", "0.2000", "0.0625", "50.0%", "0.1610", "50.0%")
    assert row[8:] == ("0.0300", "50.0%", "100.0%")


def test_means_are_by_seed_and_largest_errors_of_all_seeds():
    scope = Scope((42, 123))
    tops = {42: 0.02, 123: 0.04}
    records = {
        t: Record(
            t,
            result={
                "rows": [200, 400],
                "gain": [0.0, tops[t.seed]],
                "cdf": [0.0, tops[t.seed]],
                "any_gain": [0.0, tops[t.seed]],
            },
        )
        for t in BY_SET.plan(scope)
    }
    found = {(c.cell.dataset, c.cell.measure): c for c in BY_SET.show(scope, records).comparisons}
    mean = found["pareto", "gain_error_mean"]
    assert (mean.ours_mean, mean.ours_sd) == pytest.approx((0.015, 0.005))
    assert found["pareto", "gain_error_max"].ours_mean == 0.04
    assert found["pareto", "margin"].ours_mean == pytest.approx(0.0625 / 0.04)
    assert found["pareto", "events"].ours_mean == 4
    for measure in ("events", "gain_error_max", "cdf_error_max", "margin"):
        assert found["pareto", measure].verdict == "not determinable"


def test_no_error_gives_no_margin():
    scope = Scope((42,))
    result = {"rows": [200], "gain": [0.0], "cdf": [0.0], "any_gain": [0.0]}
    exhibit = BY_SET.show(scope, {t: Record(t, result=result) for t in BY_SET.plan(scope)})
    (margin,) = [
        c for c in exhibit.comparisons if (c.cell.dataset, c.cell.measure) == ("pareto", "margin")
    ]
    assert margin.reason == "not run"
