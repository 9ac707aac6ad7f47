"""A copy of a model, also of `copy.copy`, is a model of its own."""

import copy

import numpy as np
import pytest

from mist import MistForest, MistReplayForest, QuantileSketch
from mist.baselines import NCM
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree

RNG = np.random.default_rng(0)
Y = np.tile(["a", "b"], 40)
X = RNG.normal(size=(80, 2)) + 8.0 * (Y == "b")[:, None]

MODELS = {
    "tree": lambda: paper_tree(grace_period=20),
    "tree that follows its stream": lambda: paper_tree(adapt="stream"),
    "forest": lambda: MistForest(paper_tree(), n_trees=2),
    "forest with random features": lambda: MistForest(paper_tree(), n_trees=2, random_features=9),
    "replay forest": lambda: MistReplayForest(paper_tree(), replay_trees=3, memory_trees=2),
    "baseline": NCM,
    "pipeline": lambda: StreamPipeline(model=paper_tree()),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("one", [0, 1], ids=["the copy learns", "the model learns"])
def test_a_copy_and_its_model_share_nothing(make, one):
    model = make().partial_fit(X, Y)
    both = [copy.copy(model), model]
    before = model.predict_proba(X)
    np.testing.assert_array_equal(both[0].predict_proba(X), before)
    both[one].partial_fit(X + 50.0, np.repeat("c", 80))
    still = both[1 - one]
    np.testing.assert_array_equal(still.predict_proba(X), before)
    assert still.classes_.tolist() == ["a", "b"]
    assert both[one].classes_.tolist() == ["a", "b", "c"]
    if hasattr(model, "n_rows_"):
        assert (still.n_rows_, both[one].n_rows_) == (80, 160)


def test_a_copy_goes_on_like_its_model():
    model = paper_tree(grace_period=20).partial_fit(X[:40], Y[:40])
    other = copy.copy(model)
    for one in (model, other):
        one.partial_fit(X[40:], Y[40:])
    assert other.n_splits_ == model.n_splits_
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_a_copy_of_a_model_that_has_learnt_nothing():
    model = paper_tree()
    copy.copy(model).partial_fit(X, Y)
    assert not hasattr(model, "classes_")
    assert copy.copy(model).get_params() == model.get_params()


def test_a_copy_of_a_forest_foretells_on_its_own():
    model = MistForest(paper_tree(), n_trees=2, random_features=9).partial_fit(X, Y)
    other = copy.copy(model)
    rest = X[:30] + 1.0, Y[:30]
    foretold = model.prequential(*rest)
    other.prequential(X[:30] - 1.0, np.where(Y[:30] == "a", "b", "a"))
    third = MistForest(paper_tree(), n_trees=2, random_features=9).partial_fit(X, Y)
    np.testing.assert_array_equal(third.prequential(*rest), foretold)
    asked = {"next_in_stream": True}
    np.testing.assert_array_equal(third.predict_proba(X, **asked), model.predict_proba(X, **asked))


def test_copies_of_sketches_and_encoders():
    sketch = QuantileSketch().update([1.0, 2.0])
    copy.copy(sketch).update([3.0])
    assert sketch.n == 2
    encoder = StreamEncoder().learn_one({"hue": "red"})
    copy.copy(encoder).learn_one({"hue": "blue"})
    assert encoder.get_feature_names_out().tolist() == ["hue=red"]


def test_copies_of_classifiers_for_river():
    pytest.importorskip("river")
    from mist.interop.river import MistClassifier

    model = MistClassifier(leaf="gaussian", adapt=None)
    model.learn_one({"a": 1.0}, "x")
    copy.copy(model).learn_one({"a": 9.0}, "y")
    assert set(model.predict_proba_one({"a": 9.0})) == {"x"}
