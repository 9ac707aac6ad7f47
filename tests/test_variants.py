import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mist import MistClassifier
from mist.presets import PAPER_SETTINGS, PRESETS, make_model
from mist.variants import Variants, is_variant, join_name, split_name

VALUES = st.one_of(
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.sampled_from(["sketch", "info_gain", "1e", "a-b"]),
)
NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_joined_is_split_again(options):
    name = join_name("mist-g", **options)
    assert split_name(name) == ("mist-g", options)
    assert is_variant(name) == bool(options)


def test_a_plus_in_a_number_separates_nothing():
    assert split_name("m+a=1e+20+b=2") == ("m", {"a": 1e20, "b": 2})


def test_an_option_given_twice():
    with pytest.raises(ValueError, match=r"m\+a=1\+a=2: a is given twice"):
        split_name("m+a=1+a=2")


def test_only_plain_names_are_counted():
    known = Variants({"a": 1}, lambda name, entry, options: entry + options["by"])
    assert (known["a+by=2"], len(known), list(known)) == (3, 1, ["a"])
    with pytest.raises(KeyError):
        known["b+by=2"]
    with pytest.raises(KeyError):
        known[3]


def test_a_variant_of_a_preset():
    preset = PRESETS["mist-g+delta=0.01+inheritance=None"]
    assert preset.parameters == {**PAPER_SETTINGS, "delta": 0.01, "inheritance": None}
    assert preset.title == "MIST-G, delta=0.01, inheritance=None"
    model = make_model("mist-g+sketch_size=16", seed=3)
    assert model.get_params() == {
        **MistClassifier.paper("G", sketch_size=16, random_state=3).get_params()
    }


def test_a_variant_of_a_forest():
    model = make_model("mist-forest+grace_period=50+n_trees=3")
    assert (model.estimator.grace_period, model.n_trees) == (50, 3)
    assert model.estimator.split_test == make_model("mist-forest").estimator.split_test


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mist-g+random_state=7", "no option of mist-g called 'random_state'"),
        ("mist-g+categorical_features=[0]", "no option of mist-g called 'categorical_features'"),
        ("mist-g+sketchsize=16", "The nearest is 'sketch_size'"),
    ],
)
def test_an_option_that_no_preset_has(name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        PRESETS[name]
