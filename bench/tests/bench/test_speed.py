"""The harness of `benchmarks/bench_speed.py`: streams, the limit kernel, and its page."""

import numpy as np
import pytest
import soak
from speed import growth, kernel, memory
from speed.clock import in_calls, in_growing_calls, one_by_one
from speed.command import all_methods
from speed.marks import MARKS, REFERENCES, Mark, measured, verdict
from speed.page import page, times
from speed.records import Book, Rates, Spread, read
from speed.streams import SHAPES, Shape, make

from mist.datasets import DatasetError
from naive_limit import test_then_train as slow_pass

# --- streams ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_classes_arrive_two_at_a_time_and_shuffled(name):
    shape, stream = SHAPES[name], make(name)
    assert stream.X.shape == (shape.rows, shape.columns)
    tasks = stream.y // 2
    assert np.all(np.diff(tasks) >= 0)
    assert set(stream.y) == set(stream.y_test) == set(range(shape.classes))
    counts = np.bincount(stream.y)
    assert counts.max() - counts.min() <= 1
    first = stream.y[tasks == 0]
    assert 0.4 < np.mean(first[1:] != first[:-1]) < 0.6


def test_rows_have_the_means_and_the_spread_of_their_class():
    stream = make("S3")
    noise = np.vstack(
        [stream.X[stream.y == k] - stream.X[stream.y == k].mean(0) for k in range(50)]
    )
    assert noise.std() == pytest.approx(0.3, rel=0.01)
    for k in (0, 49):
        ours, held_out = stream.X[stream.y == k], stream.X_test[stream.y_test == k]
        assert np.abs(ours.mean(0) - held_out.mean(0)).max() < 0.5


def test_the_same_seed_gives_the_same_stream_and_each_shape_another():
    shape = Shape(3, 4, 100)
    same, other = make(shape), make(shape._replace(number=1))
    assert np.array_equal(make(shape).X, same.X)
    assert not np.array_equal(other.X, same.X)


def test_together_means_all_classes_from_the_start():
    y = make(Shape(2, 5, 1000, together=True)).y
    assert set(y[:100]) == set(range(5))


def test_the_soak_stream_is_as_long_as_asked_whatever_the_chunk():
    parts = list(soak.chunks(2_050, soak.means(), size=500))
    y = np.concatenate([labels for _, labels in parts])
    assert [len(X) for X, _ in parts] == [500, 500, 500, 500, 50]
    assert set(y) == set(range(50))
    assert np.all(np.diff(y // 2) >= 0)


# --- the limit kernel -------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [3, 8, 35])
def test_the_limit_kernel_does_what_its_slow_twin_does(n_columns):
    X, y, _, _ = make(Shape(n_columns, 3, 700, sigma=2.0, together=True))
    own = kernel.nothing(3, n_columns, len(y))
    answers = np.empty(len(y), dtype=np.int64)
    kernel.test_then_train(own, X, y, answers, kernel.SORT, kernel.MERGE)
    expected, sketches = slow_pass(X, y)
    # A class of one row has no spread, and its densities are out of all bounds in both.
    assert answers.tolist() == expected
    for k in range(3):
        assert own.mean[k] == pytest.approx(X[y == k].mean(0))
        assert own.m2[k] == pytest.approx(X[y == k].var(0) * np.sum(y == k))
        for level, rows in enumerate(sketches[k]):
            used = own.used[k, level]
            assert used == len(rows)
            assert own.items[k, level, :used].tolist() == [list(row) for row in rows]


def test_the_comparisons_of_the_kernel_sort_and_merge():
    rng = np.random.default_rng(1)
    half = kernel.CAPACITY // 2
    for pairs, sorted_before in ((kernel.SORT, 1), (kernel.MERGE, half)):
        values = rng.random(kernel.CAPACITY)
        values = np.sort(values.reshape(-1, sorted_before), axis=1).ravel()
        expected = np.sort(values)
        for low, high in pairs:
            values[[low, high]] = sorted(values[[low, high]])
        assert np.array_equal(values, expected)


# --- loops ------------------------------------------------------------------------------------


def test_loops_pass_every_row_once_in_order():
    asked, learnt, slices = [], [], []
    done, hits, _ = one_by_one(
        *(lambda x: asked.append(x) or 1, lambda x, y: learnt.append((x, y))),
        *(list(range(120)), [0, 1] * 60, 60.0),
    )
    assert (done, hits) == (120, 60)
    assert asked == [x for x, _ in learnt] == list(range(120))
    for loop, size in ((in_calls, [7]), (in_calls, [64]), (in_growing_calls, [])):
        slices.clear()
        done, _ = loop(lambda first, last: slices.append((first, last)), 120, *size, 60.0)
        assert done == 120
        assert [row for first, last in slices for row in range(first, last)] == list(range(120))


def test_loops_stop_when_their_time_is_over():
    assert one_by_one(None, None, [1], [1], -1.0)[:2] == (0, 0)
    assert in_calls(None, 10, 1, -1.0)[0] == 0
    assert in_growing_calls(None, 10, -1.0)[0] == 0


# --- records and page -------------------------------------------------------------------------

MACHINE = {
    **{"processors": 2, "kind": "abacus", "system": "Linux x86_64", "python": "3.11.7"},
    "load": 0.5,
}


def record(method, path, rate, number=0, stream="S1", **more):
    return {
        **{"run": "2026-01-01", "part": "streams", "library": "any", "method": method},
        **{"path": path, "stream": stream, "round": number, "of": 20_000, "rows": 20_000},
        **{"cpu": 20_000 / rate, "wall": 20_000 / rate, "bytes": 2048, "accuracy": 0.9},
        **{"held_out": None, "leaves": None, "cut": False, "cold": False},
        **{"versions": {"abacus": "1.0"}, "machine": MACHINE, **more},
    }


def run_of(rates):
    """MIST-G and river in three rounds, with these rates of MIST-G."""
    records = []
    for number, (ours, theirs) in enumerate(rates):
        records.append(record("MIST-G", "prequential", ours, number))
        records.append(record(*REFERENCES["river HT"], theirs, number, bytes=4096))
    return records


def test_ratios_are_taken_round_by_round():
    rates = Rates(run_of([(1000, 10), (3000, 10), (800, 2)]))
    own, river = ("S1", "MIST-G", "prequential"), ("S1", *REFERENCES["river HT"])
    assert rates.rate(own) == pytest.approx((1000, 800, 3000, False))
    assert rates.ratio(own, river) == pytest.approx((300, 100, 400, False))
    assert rates.ratio(own, ("S1", "another", "prequential")) is None


def test_a_method_that_is_not_repeated_is_divided_by_the_reference_of_its_round():
    records = [*run_of([(1000, 10), (1000, 20)]), record("EFDT", "one by one, dicts", 5, 0)]
    river = ("S1", *REFERENCES["river HT"])
    assert Rates(records).ratio(("S1", "EFDT", "one by one, dicts"), river).median == 0.5


def test_first_runs_of_java_do_not_count():
    loop = REFERENCES["CapyMOA HT"]
    records = [record(*loop, 10, 0, cold=True), record(*loop, 30, 0)]
    assert Rates(records).rate(("S1", *loop)).median == pytest.approx(30)


@pytest.mark.parametrize(
    ("rate", "expected"), [(301.0, "met"), (299.0, "missed"), (None, "not measured")]
)
def test_marks_are_met_missed_or_not_measured(rate, expected):
    mark = Mark("S1", "MIST-G", "prequential", 300.0, REFERENCES["river HT"])
    rates = Rates(run_of([(rate, 1)]) if rate else [])
    assert verdict(mark, measured(mark, rates)) == expected


def test_a_mark_of_bytes_wants_fewer():
    mark = Mark("S1", "MIST-G", "prequential", 1.0, REFERENCES["river HT"], is_size=True)
    figure = measured(mark, Rates(run_of([(1000, 10)])))
    assert figure.median == 0.5
    assert verdict(mark, figure) == "met"


def test_marks_ask_for_what_is_measured():
    methods = all_methods()
    assert {mark.method for mark in MARKS} <= set(methods)
    assert {method for method, _ in REFERENCES.values()} <= set(methods)


def rows(text, title):
    """Cells of a table by their first two."""
    lines = text.split(title)[1].strip().split("\n\n")
    table = next(part for part in lines if part.startswith("|"))
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    return {(a, b): rest for a, b, *rest in cells}


def test_the_page_has_rates_ratios_marks_and_reasons():
    cut = record(*REFERENCES["CapyMOA HT"], 50, cut=True)
    records = [
        *run_of([(1000, 10), (3000, 10), (800, 2)]),
        *(cut, record(*REFERENCES["limit kernel"], 2000)),
        {**record("river EFDT", "one by one, dicts", 1), "rows": None, "reason": "it fell over"},
        {
            **{"run": "2026-01-01", "part": "cold", "method": "MIST", "path": "import mist"},
            **{"round": 0, "cpu": 0.5, "wall": 0.75, "machine": MACHINE},
        },
    ]
    text = page(records)
    own = rows(text, "S1: 54 columns")["MIST-G", "prequential"]
    assert own[:2] == ["1,000 (800 to 3,000)", "300 (100 to 400)"]
    assert own[2].replace("\\", "") == "20*"
    assert own[3:] == ["0.50", "2", "0.900", ""]
    marks = rows(text, "Targets")
    assert marks["MIST-G, prequential / river HT, one by one, dicts", "S1"] == [
        *("at least 300", "300 (100 to 400)", "met")
    ]
    assert marks["MIST-G, prequential / limit kernel, prequential", "S1"][2] == "missed"
    assert marks["MIST-G, prequential / limit kernel, prequential", "S2"][1:] == [
        *("", "not measured")
    ]
    assert rows(text, "Whole processes")["MIST", "import mist"] == ["0.50", "0.75", "1"]
    assert "river EFDT, one by one, dicts, S1: it fell over" in text
    assert "abacus 1.0" in text


def test_bytes_are_shown_next_to_those_of_the_paper():
    known = {"run": "2026-01-01", "part": "memory", "library": "mist", "machine": MACHINE}
    sizes = {"float64": 519 * 1024, "float32": 261 * 1024}
    records = [
        {**known, "method": "MIST-G", "path": p, "stream": "covertype", "bytes": n}
        for p, n in sizes.items()
    ]
    records += [
        {**known, "method": "CapyMOA HT", "path": None, "stream": "covertype", "bytes": 2048},
        {**known, "method": "MIST-K", "path": "float64", "stream": "mnist", "reason": "not here"},
    ]
    text = page(records)
    table = rows(text, "Memory")
    # 2,596.6 KB over 5 are 519.3, and half of that 259.7.
    assert table["Covertype", "MIST-G"] == ["float32", "261", "9.9", "260", "missed"]
    assert table["Covertype", "CapyMOA HT"] == ["", "2", "1,298.3", "", ""]
    assert "| 519 |" in text
    assert "2,597 KB on Covertype, 12,092 KB on Split-MNIST" in text
    assert "MIST-K, float64, mnist: not here" in text


def test_without_its_file_a_set_is_left_out_with_a_reason(monkeypatch, tmp_path):
    def absent(*_, **__):
        raise DatasetError("no such file")

    monkeypatch.setattr(memory, "load", absent)
    memory.stream.cache_clear()
    assert memory.measure(memory.CASES[0]) == {"reason": "no such file"}


def test_digits_of_ratios():
    assert [times(Spread(v, v, v)) for v in (0.00123, 0.123, 2.34, 1234.5)] == [
        *("0.0012", "0.12", "2.3", "1,234")
    ]


def test_a_later_run_replaces_the_same_part_only(tmp_path):
    old, new = Book(tmp_path), Book(tmp_path)
    old._run, new._run = "2026-01-01", "2026-01-02"
    old.add("streams", method="a")
    old.add("cold", method="b")
    new.add("streams", method="c")
    assert [record["method"] for record in read(tmp_path)] == ["b", "c"]


def test_beyond_some_sizes_one_method_is_measured():
    methods = {
        point.name: [task.method for task in growth.tasks(point, 1.0)] for point in growth.POINTS
    }
    assert methods["columns=500"] == list(growth.METHODS)
    assert methods["columns=20000"] == methods["leaves=1000"] == ["MIST-G"]
    shapes = {point.name: point.shape for point in growth.POINTS}
    assert shapes["columns=20000"] == growth.REFERENCE._replace(columns=20_000, rows=2_000)
    assert shapes["classes=10000"].rows == 30_000
    assert shapes["rows=10000000"].rows == 10_000_000


def test_growth_is_drawn_with_the_leaves_that_came_out():
    records = [
        record(
            *(method, "prequential", 100 * (i + 1)),
            stream=point.name,
            leaves=3 if method == "MIST-G" and point.panel == "leaves" else None,
        )
        for i, point in enumerate(growth.POINTS)
        for method in growth.METHODS
    ]
    chart = growth.draw(records)
    leaves = chart.axes[list(growth.VALUES).index("leaves")]
    lines = {line.get_label(): line for line in leaves.get_lines()}
    assert set(lines) == set(growth.METHODS)
    assert set(lines["MIST-G"].get_xdata()) == {3}
    assert list(lines["MIST-K"].get_xdata()) == list(growth.VALUES["leaves"])
