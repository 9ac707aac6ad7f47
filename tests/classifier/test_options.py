import math
import re

import numpy as np
import pytest

from material import EAGER, mixed_rows
from mist.flat_settings import set_settings
from published import paper_tree

X, Y = mixed_rows(8)

CHOICES = {
    "leaf": ["gaussian", "sketch", "majority", "full", "mixture"],
    "class_prior": ["counts", "balanced"],
    "inheritance": ["gaussian", "mass", "sketch", "joint", None],
    "bound": ["mcdiarmid", "rutkowski", "hoeffding", "confseq", "confseq_independent"],
    "split_test": ["gap", "gain", "schedule", "eprocess"],
    "criterion": ["gini", "info_gain", "likelihood"],
    "thresholds": ["medians", "dense", "sampled", "gaussian"],
    "sketch_dtype": ["float64", "float32"],
    "adapt": ["stream", "classes", None],
}
LIKELIHOOD = {
    "criterion": "likelihood",
    "split_test": "schedule",
    "inheritance": "joint",
    "rows_per_split": 40,
}
WHOLE, SHARE = "a whole number", "a number"
OUT_OF_RANGE = [
    *[("grace_period", v, f"{WHOLE} in [1, inf)") for v in (0, -1, 2.5, 20.0, math.inf, True)],
    *[("delta", v, f"{SHARE} in (0, 1)") for v in (0, 1, -0.1, 1.5, math.nan, "0.1")],
    *[("tie_threshold", v, f"{SHARE} in [0, inf]") for v in (-0.01, math.nan, False)],
    *[("sketch_size", v, f"{WHOLE} in [8, 32768]") for v in (7, 0, -8, 64.0, 32769)],
    *[("discount", v, f"{SHARE} in (0, 1]") for v in (0, -0.5, 1.01, math.nan, "half")],
    *[("n_thresholds", v, f"{WHOLE} in [1, inf)") for v in (0, -3, 1.5)],
    *[("bandwidth", v, f"{SHARE} in (0, inf)") for v in (0, -1, math.inf, math.nan)],
    *[("smoothing", v, f"{SHARE} in (0, inf)") for v in (0, -1e-3, math.inf, math.nan)],
    *[
        ("variance_prior", v, f"{SHARE} in (0, inf)")
        for v in (0, -1, math.nan, math.inf, "x", True)
    ],
    *[("rows_per_split", v, f"{WHOLE} in [1, inf)") for v in (0, 2.5)],
    *[("max_features", v, "None or a share of the columns in (0, 1]") for v in (0, 1.5, "half")],
    *[("max_components", v, f"{WHOLE} in [1, 1000]") for v in (0, 1001, 2.0, None)],
    *[("max_leaves", v, f"None or {WHOLE} >= 1") for v in (0, -1, 1.5, "many", True)],
    *[("max_bytes", v, f"None or {WHOLE} >= 1") for v in (0, -1, 1.5, "1 MB", True)],
    *[("max_classes_per_leaf", v, f"None or {WHOLE} >= 1") for v in (0, -1, 1.5, True)],
    *[("union_bound", v, "True or False") for v in (1, 0, "yes")],
    *[("open_world", v, "True or False") for v in (None, 1, "yes")],
    *[("random_state", v, f"None, {WHOLE} >= 0") for v in (-1, 0.5, "seed")],
]


HAVING = {
    "rows_per_split": {"split_test": "schedule"},
    "n_thresholds": {"thresholds": "dense"},
    "bandwidth": {"leaf": "sketch"},
    "smoothing": {"leaf": "sketch"},
    "max_components": {"leaf": "mixture"},
}
"""What gives an option an effect."""


def refusal(**options):
    """The message with which a model of these options refuses to learn, leaving no trace."""
    model = paper_tree(**options)
    before = dict(vars(model))
    messages = set()
    for call in (
        lambda: model.fit(X, Y),
        lambda: model.partial_fit(X, Y),
        lambda: model.prequential(X, Y),
        lambda: model.learn_one(X[0], Y[0]),
        lambda: model.learn_one({"a": 1.0}, Y[0]),
    ):
        with pytest.raises(ValueError, match=r".{10}") as refused:
            call()
        messages.add(str(refused.value))
        assert vars(model) == before
    assert len(messages) == 1
    return messages.pop()


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["ginny", "", "GAUSSIAN", 3, True, np.nan])
def test_unknown_choices_are_refused_with_the_known_ones(name, value):
    message = refusal(**{name: value})
    assert f"{name}={value!r}" in message
    assert str(CHOICES[name]) in message


@pytest.mark.parametrize("name", ["leaf", "class_prior", "split_test", "criterion", "thresholds"])
def test_none_is_not_a_choice(name):
    message = refusal(**{name: None})
    assert f"{name}=None" in message
    assert str(CHOICES[name]) in message


@pytest.mark.parametrize(("name", "value", "allowed"), OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused_with_the_range(name, value, allowed):
    message = refusal(**HAVING.get(name, {}), **{name: value})
    assert f"{name}={value!r}" in message
    assert allowed in message


def test_every_option_is_checked():
    covered = {*CHOICES, *(name for name, _, _ in OUT_OF_RANGE), "categorical_features", "decision"}
    assert covered == set(paper_tree().settings())


@pytest.mark.parametrize("bound", [name for name in CHOICES["bound"] if name != "hoeffding"])
def test_the_information_gain_goes_with_hoeffding_only(bound):
    message = refusal(criterion="info_gain", bound=bound)
    assert f"bound={bound!r}" in message
    assert "bound='hoeffding' with criterion='info_gain'" in message


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        *[("split_test", value, "'schedule'") for value in ("gap", "gain")],
        *[("inheritance", value, "'joint'") for value in ("gaussian", "mass", "sketch", None)],
        *[("leaf", value, "'gaussian' or 'sketch'") for value in ("majority", "full", "mixture")],
    ],
)
def test_the_likelihood_needs_classes_that_keep_covariances(name, value, needed):
    message = refusal(**{**LIKELIHOOD, name: value})
    assert message == f"criterion='likelihood' needs {name}={needed}, got {name}={value!r}"


@pytest.mark.parametrize("name", ["leaf", "inheritance"])
def test_gaussian_thresholds_go_without_sketches(name):
    message = refusal(thresholds="gaussian", **{name: "sketch"})
    assert "thresholds='gaussian'" in message
    assert f"{name}='sketch'" in message
    assert "thresholds='medians'" in message


def test_options_set_to_nonsense_later_are_refused_too():
    model = paper_tree(**EAGER).partial_fit(X, Y)
    before = model.n_rows_, model.predict_proba(X).tobytes()
    model.set_params(split_test__bound="chernoff")
    with pytest.raises(ValueError, match=re.escape("bound='chernoff' is unknown")):
        model.partial_fit(X, Y)
    assert (model.n_rows_, model.predict_proba(X).tobytes()) == before


@pytest.mark.parametrize(
    "options",
    [
        {name: value}
        for name, values in CHOICES.items()
        for value in values
        if value not in ("info_gain", "likelihood")
    ]
    + [
        {"criterion": "info_gain", "bound": "hoeffding"},
        LIKELIHOOD,
        {**LIKELIHOOD, "leaf": "sketch"},
        {**LIKELIHOOD, "thresholds": "gaussian", "max_features": 0.5},
        {"bound": "confseq_independent", "split_test": "gap"},
        {"leaf": "majority", "thresholds": "gaussian"},
        {"grace_period": 1},
        {"grace_period": np.int64(50)},
        {"delta": np.float32(0.5)},
        {"delta": 1e-300},
        {"tie_threshold": 0},
        {"tie_threshold": math.inf},
        {"sketch_size": 8},
        {"sketch_size": 32768},
        {"discount": 1},
        {"discount": 1e-6},
        {"n_thresholds": 1, "thresholds": "dense"},
        {"n_thresholds": 1, "thresholds": "sampled"},
        {"bandwidth": 10, "leaf": "sketch"},
        {"smoothing": 1e-12, "leaf": "sketch"},
        {"smoothing": 5.0, "leaf": "sketch"},
        {"variance_prior": 30},
        {"variance_prior": np.float32(0.1), "leaf": "sketch"},
        {"max_components": 1, "leaf": "mixture"},
        {"max_leaves": 1},
        {"max_leaves": np.int32(3)},
        {"max_classes_per_leaf": 1, "leaf": "sketch"},
        {"union_bound": np.True_},
        {"open_world": np.True_},
        {"random_state": np.int64(2**62)},
    ],
    ids=str,
)
def test_allowed_options_learn(options):
    rows, labels = mixed_rows(8)
    model = paper_tree(**{**EAGER, **options}).partial_fit(rows, labels)
    proba = model.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(rows, labels) > 0.25


def test_bounds_differ_as_their_formulas_say():
    radii = {
        "mcdiarmid": lambda n: math.sqrt(32 * math.log(2 * 4 * 3 / 0.5) / n),
        "rutkowski": lambda n: 8 * math.sqrt(math.log(2) / (2 * n)),
        "hoeffding": lambda n: math.sqrt(math.log(2) / (2 * n)),
    }
    for bound, radius in radii.items():
        options = {**EAGER, "bound": bound, "union_bound": True, "tie_threshold": 9.0}
        first = paper_tree(**options).partial_fit(X, Y).split_log_[0]
        assert first.radius == pytest.approx(radius(first.rows))


def test_the_gap_test_asks_more_than_the_gain_test():
    options = {**EAGER, "bound": "hoeffding", "tie_threshold": 0.0}
    gain = paper_tree(**options).partial_fit(X, Y)
    gap = paper_tree(**{**options, "split_test": "gap"}).partial_fit(X, Y)
    assert gain.n_splits_ > gap.n_splits_ >= 0


def test_discount_scales_what_children_get():
    masses = {}
    for discount in (1.0, 0.5):
        model = paper_tree("majority", grace_period=40, tie_threshold=9.0, discount=discount)
        X1 = np.r_[np.zeros(20), np.full(20, 9.0)][:, None]
        model.partial_fit(X1, X1[:, 0] > 1)
        masses[discount] = model.export_text()
    assert "False 20" in masses[1.0]
    assert "False 10" in masses[0.5]


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({}, {"leaf": "sketch"}),
        ({}, {"grace_period": 50}),
        ({}, {"sketch_size": 32}),
        ({}, {"sketch_dtype": "float32"}),
        ({}, {"variance_prior": 2.0}),
        ({}, {"max_classes_per_leaf": 2}),
        ({"thresholds": "gaussian"}, {"thresholds": "dense"}),
        ({}, {"thresholds": "gaussian"}),
        ({}, {"inheritance": "joint"}),
        ({"inheritance": "joint"}, {"inheritance": "gaussian"}),
    ],
)
def test_what_shapes_the_state_cannot_change_while_it_learns(before, change):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = paper_tree(**before).partial_fit(X, y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match=f"{next(iter(change))} was changed .* after the first"):
        set_settings(model, **change).partial_fit(X, y)
    assert model.n_rows_ == 60
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert model.fit(X, y).n_rows_ == 60  # a fresh start takes the new options


def test_options_of_the_split_may_change_while_it_learns():
    rng = np.random.default_rng(1)
    y = np.arange(600) % 2
    X = np.repeat((9.0 * y + rng.normal(size=600))[:, None], 2, axis=1)  # equals: no gap
    model = paper_tree().partial_fit(X, y)
    assert model.n_splits_ == 0
    assert model.set_params(split_test__tie_threshold=5.0).partial_fit(X, y).n_splits_ > 0
