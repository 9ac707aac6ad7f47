import numpy as np
import pytest

from mist.datasets import REGISTRY
from mist.datasets.catalogue import find_entry

FILES = [entry for entry in REGISTRY.values() if entry.kind == "file"]

OPENML = {
    "mnist": 554,
    "pendigits": 32,
    "shuttle": 40685,
    "letter": 6,
    "har": 1478,
    "electricity": 151,
    "optdigits": 28,
    "satimage": 182,
    "fashion_mnist": 40996,
    "isolet": 300,
}


@pytest.mark.parametrize("entry", REGISTRY.values(), ids=list(REGISTRY))
def test_the_facts_of_a_set_agree(entry):
    assert len(entry.labels) == entry.n_classes == len(set(entry.class_names))
    assert list(entry.labels) == sorted(entry.labels)
    if entry.counts is not None:
        assert len(entry.counts) == entry.n_classes
        assert sum(entry.counts) == entry.rows
    assert (entry.n_train is None) == (entry.train_counts is None)
    if entry.train_counts is not None:
        assert sum(entry.train_counts) == entry.n_train < entry.rows
        assert np.all(np.array(entry.train_counts) <= entry.counts)
    assert all(0 <= column < entry.columns for column in entry.columns_0_1)
    assert len(entry.feature_names) in {0, entry.columns}
    assert entry.title
    assert entry.source
    assert entry.licence
    assert entry.citation or entry.kind == "generated"
    assert (entry.version is not None) == (entry.kind == "generated")


def test_files_are_told_apart():
    assert len({entry.file for entry in FILES}) == len(FILES)
    sums = [entry.sha256 for entry in FILES if entry.sha256 is not None]
    assert len(set(sums)) == len(sums)
    assert all(len(text) == 64 and set(text) <= set("0123456789abcdef") for text in sums)
    assert not [entry.name for entry in REGISTRY.values() if entry.kind != "file" and entry.file]


def test_downloads_are_pinned():
    assert {entry.name: entry.openml_id for entry in FILES if entry.openml_id} == OPENML
    assert {entry.name: entry.fetcher for entry in FILES if entry.fetcher} == {
        "covertype": "fetch_covtype",
        "kddcup99_10pct": "fetch_kddcup99",
    }
    assert [e.name for e in FILES if e.download is None] == ["hapt", "isolet_1_5", "outdoor"]


def test_names_are_found_in_any_spelling_and_the_rest_is_refused():
    assert find_entry("Fashion-MNIST") is REGISTRY["fashion_mnist"]
    with pytest.raises(ValueError, match=r"'boston': choose one of iris, .*, outlier5"):
        find_entry("boston")
