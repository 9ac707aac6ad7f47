import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from mist import MistClassifier
from mist.datasets import load
from mist.presets import PAPER_SETTINGS
from mist_bench.record import Record
from mist_bench.suites import SEEDS
from mist_paper.choices import BANDWIDTH, DEVELOPMENT_SEEDS, VARIANCE_PRIOR, recalls
from mist_paper.exhibit import Scope


def test_nothing_is_chosen_on_the_seeds_of_comparisons():
    assert not set(DEVELOPMENT_SEEDS) & set(SEEDS)
    for item in (BANDWIDTH, VARIANCE_PRIOR):
        assert {t.seed for t in item.plan(Scope())} == set(DEVELOPMENT_SEEDS)


@pytest.mark.parametrize(("leaf", "option"), [("K", "bandwidth"), ("G", "variance_prior")])
def test_held_out_rows_are_not_looked_at(monkeypatch, leaf, option):
    """Rows of the test part may hold anything."""
    iris = load("iris")
    plain = recalls("iris", leaf, option, 1)
    held_out = train_test_split(
        np.arange(len(iris.y)), test_size=0.2, random_state=1, stratify=iris.y
    )[1]
    spoilt = iris.X.copy()
    spoilt[held_out] = 1e6
    monkeypatch.setattr(
        "mist.datasets.load", lambda name: type(iris)(**{**vars(iris), "X": spoilt})
    )
    assert recalls("iris", leaf, option, 1) == plain
    assert len(plain["values"]) == len(plain["recall"])
    assert max(plain["recall"]) > 0.9


def test_few_rows():
    few, all_rows = (recalls("digits", "G", "variance_prior", 1, few=few) for few in (True, False))
    assert max(few["recall"]) < max(all_rows["recall"])


@pytest.mark.parametrize(
    ("item", "option"), [(BANDWIDTH, "bandwidth"), (VARIANCE_PRIOR, "variance_prior")]
)
def test_the_drawing_shows_the_default(item, option):
    scope = Scope((42,))
    values = [0.1, 1.0, 10.0]
    result = {"values": values, "recall": [0.5, 0.9, 0.7]}
    exhibit = item.show(scope, {t: Record(t, result=result) for t in item.plan(scope)})
    assert exhibit.tables[0].rows[-1] == ("mean", "0.500", "0.900", "0.700")
    assert f"Default: {PAPER_SETTINGS[option]:g}." in exhibit.tables[0].caption
    assert MistClassifier().settings()[option] == PAPER_SETTINGS[option]
    (line,) = [
        line
        for line in exhibit.drawings[0].figure.axes[0].lines
        if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    assert line.get_xdata()[0] == PAPER_SETTINGS[option]
