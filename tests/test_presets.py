"""Presets of the library, and those that installed packages add."""

import pytest

from mist import MistClassifier, plugins
from mist.presets import PAPER_SETTINGS, PRESETS, find_preset, make_model
from published import PUBLISHED

NAMES = ["mist", "mist-g", "mist-k", "mist-features", "mist-forest", "mist-forest-features"]
NAMES += ["mist-replay"]


def test_the_presets_are_those_to_use():
    assert list(PRESETS) == NAMES
    assert {preset.group for preset in PRESETS.values()} == {"ours"}
    assert make_model("mist").get_params() == MistClassifier().get_params()


def test_a_preset_is_made_as_its_name_is():
    made = make_model(PRESETS["mist-k"], seed=3, categorical_features=[0])
    named = make_model("mist-k", seed=3, categorical_features=[0])
    assert made.get_params() == named.get_params()


def test_without_the_other_package_an_unknown_name_says_what_to_install(monkeypatch):
    monkeypatch.setattr(plugins, "added", lambda group: {})
    with pytest.raises(ValueError, match=r"'vfdt': choose one of mist, .* pip install 'mist-tree"):
        find_preset("vfdt")
    with pytest.raises(ValueError, match=rf"choose one of {', '.join(NAMES)}\. The nearest is"):
        find_preset("mist_g")


@pytest.mark.parametrize("name", ["", "perceptron"])
def test_no_nearest_where_none_is_near(name):
    with pytest.raises(ValueError, match=f"called {name!r}: choose one of mist, mist-g") as caught:
        find_preset(name)
    assert "nearest" not in str(caught.value)


def test_the_default_goes_past_the_paper_in_five_settings():
    changed = {
        "leaf": "mixture",
        "inheritance": "joint",
        "discount": 1.0,
        "class_prior": "balanced",
        "adapt": "stream",
    }
    assert MistClassifier().settings() == {**PUBLISHED, **changed}


def test_the_trees_of_the_paper():
    for kind, name in (("G", "mist-g"), ("K", "mist-k")):
        assert MistClassifier.paper(kind).get_params() == make_model(name).get_params()
    assert MistClassifier.paper().settings() == PUBLISHED
    assert PAPER_SETTINGS.items() <= PUBLISHED.items()
    changed = MistClassifier.paper("K", leaf="full", discount=1.0, max_leaves=3)
    assert changed.settings() == {**PUBLISHED, "leaf": "full", "discount": 1.0, "max_leaves": 3}


@pytest.mark.parametrize("kind", ["M", "g", "", None])
def test_the_paper_has_no_other_tree(kind):
    with pytest.raises(ValueError, match=r"kind=.* choose 'G' .* or 'K' "):
        MistClassifier.paper(kind)


def test_the_tree_of_the_paper_refuses_options_that_are_not_there():
    with pytest.raises(TypeError, match="leafs"):
        MistClassifier.paper("G", leafs="full")
