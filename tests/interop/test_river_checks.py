"""River's own checks of estimators; ``river.checks.check_estimator(model)`` runs them by hand."""

import pytest

pytest.importorskip("river", reason="needs river: pip install 'mist-tree[river]'")

from river import checks

from mist.interop.river import MistClassifier, MistForest

MODELS = {
    "default": MistClassifier(),
    "gaussian": MistClassifier(leaf="gaussian"),
    "sketch": MistClassifier(leaf="sketch", grace_period=50),
    "forest": MistForest(MistClassifier(leaf="gaussian"), n_trees=2),
}


def cases():
    for name, model in MODELS.items():
        for i, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{i}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_river(model, check):
    check(model.clone())


def test_no_check_is_left_out():
    assert MistClassifier()._unit_test_skips() == set()
    names = {check.__name__ for check in checks.yield_checks(MistClassifier())}
    assert {
        "check_bounded_memory_growth",
        "check_classifier_tracks_seen_labels",
        "check_learn_many_matches_learn_one",
        "check_radically_disappearing_features",
    } <= names
