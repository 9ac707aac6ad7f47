import hashlib
import sys

import numpy as np
import pytest

from mist_bench import Run
from mist_bench.datasets import load_river_stream
from mist_bench.in_order import read_stream
from mist_bench.work import perform

CONTENT = {
    "phishing": ((1250, 9), [702, 548], [7, 8], "ef238814f5980c04"),
    "bananas": ((5300, 2), [2924, 2376], [], "53ef883d208eb17c"),
    "segment": ((2310, 18), [330] * 7, [], "5eb05ff485e966a7"),
}
"""Shape, class counts, 0/1 columns and checksum."""


@pytest.mark.parametrize("name", CONTENT)
def test_streams_are_those_that_results_were_published_of(name):
    pytest.importorskip("river")
    shape, counts, columns_0_1, checksum = CONTENT[name]
    stream = load_river_stream(name)
    assert (stream.name, stream.X.shape) == (name, shape)
    assert np.bincount(stream.y).tolist() == counts
    assert (stream.X.dtype, stream.y.dtype) == (np.float64, np.int64)
    assert np.flatnonzero(stream.categorical).tolist() == columns_0_1
    assert stream.drifts.shape == (0,)
    assert stream.X_test is None
    assert hashlib.sha256(stream.X.tobytes() + stream.y.tobytes()).hexdigest()[:16] == checksum


def test_rows_are_in_the_order_of_river():
    datasets = pytest.importorskip("river.datasets")
    stream = load_river_stream("segment")
    names = sorted({label for _, label in datasets.ImageSegments()})
    for row, (x, label) in enumerate(datasets.ImageSegments().take(50)):
        assert stream.X[row].tolist() == list(map(float, x.values()))
        assert names[stream.y[row]] == label


def test_the_suite_reads_them_and_the_seed_changes_nothing():
    pytest.importorskip("river")
    first, second = (read_stream("bananas_in_order", seed) for seed in (1, 2))
    assert np.array_equal(first.X, second.X)
    assert first.name == "bananas"
    record = perform(Run("phishing_in_order", "no-change", 3, "honest"))
    assert not record.failed, record.error
    y = load_river_stream("phishing").y
    assert record.measures["prequential_accuracy"] == np.sum(y[1:] == y[:-1]) / 1250
    assert record.boundaries == [1250]


def test_an_unknown_stream_and_river_that_is_absent(monkeypatch):
    with pytest.raises(ValueError, match="'elec2': choose one of phishing, bananas, segment"):
        load_river_stream("elec2")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match="phishing needs river: pip install"):
        load_river_stream("phishing")
