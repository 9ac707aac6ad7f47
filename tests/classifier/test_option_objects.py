"""Options as objects: what they mean, what is refused, and the tools of scikit-learn."""

from __future__ import annotations

import inspect
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mist
from material import fingerprint, mixed_rows
from mist import (
    FullGaussian,
    Gaussian,
    Inheritance,
    Majority,
    MistClassifier,
    MistForest,
    Mixture,
    Sketch,
    SplitTest,
)
from mist.flat_settings import canonical, nested, set_settings
from mist.options import CHOICES
from mist.preprocessing import StreamPipeline
from mist.presets import PRESETS, make_model, vary

X, Y = mixed_rows(8)

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.sampled_from(values) for name, values in CHOICES.items() if name != "leaf"},
        "leaf": st.sampled_from(["gaussian", "sketch", "majority", "full", "mixture"]),
        "bound": st.sampled_from([None, *CHOICES["bound"]]),
        "grace_period": st.integers(1, 500),
        "delta": st.none() | st.floats(0.01, 0.99),
        "tie_threshold": st.none() | st.floats(0.0, 5.0),
        "union_bound": st.none() | st.booleans(),
        "n_thresholds": st.none() | st.integers(1, 30),
        "rows_per_split": st.none() | st.integers(1, 900),
        "max_features": st.none() | st.floats(0.1, 1.0),
        "sketch_size": st.none() | st.integers(8, 99),
        "max_classes_per_leaf": st.none() | st.integers(1, 9),
        "discount": st.floats(0.1, 1.0),
        "bandwidth": st.floats(0.1, 2.0),
        "smoothing": st.floats(1e-4, 1.0),
        "variance_prior": st.floats(0.1, 9.0),
        "max_components": st.integers(1, 40),
        "open_world": st.booleans(),
        "max_leaves": st.none() | st.integers(1, 99),
        "random_state": st.none() | st.integers(0, 9),
    },
)

GIVEN = {
    "a leaf": {"leaf": Sketch(bandwidth=0.5, smoothing=0.01)},
    "another leaf": {"leaf": Gaussian(variance_prior=4.0)},
    "components": {"leaf": Mixture(max_components=3)},
    "a leaf without options": {"leaf": FullGaussian()},
    "a schedule": {"split_test": SplitTest("schedule", rows_per_split=60)},
    "a bound": {"split_test": SplitTest("gain", bound="hoeffding", delta=0.4)},
    "sketches": {"split_test": SplitTest(sketch_size=16, thresholds="dense", n_thresholds=5)},
    "a discount": {"inheritance": Inheritance("gaussian", discount=0.5)},
}
"""Parameters with objects."""

WITHOUT_EFFECT = [
    ("rows_per_split", {"split_test": SplitTest(rows_per_split=100)}),
    ("rows_per_split", {"split_test": SplitTest("gain", rows_per_split=500)}),
    ("delta", {"split_test": SplitTest("schedule", delta=0.1)}),
    *[
        (name, {"split_test": SplitTest(rule, **{name: value})})
        for rule in ("schedule", "eprocess")
        for name, value in (("bound", "confseq"), ("union_bound", True), ("tie_threshold", 0.1))
    ],
    ("tie_threshold", {"split_test": SplitTest(bound="confseq", tie_threshold=0.05)}),
    ("tie_threshold", {"split_test": SplitTest(bound="confseq_independent", tie_threshold=1)}),
    ("union_bound", {"split_test": SplitTest(bound="hoeffding", union_bound=False)}),
    ("union_bound", {"split_test": SplitTest(bound="rutkowski", union_bound=True)}),
    ("union_bound", {"split_test": SplitTest(criterion="info_gain", union_bound=True)}),
    ("n_thresholds", {"split_test": SplitTest(n_thresholds=10)}),
    ("n_thresholds", {"split_test": SplitTest(thresholds="gaussian", n_thresholds=3)}),
    *[
        (name, {"split_test": SplitTest(thresholds="gaussian", **{name: value})})
        for name, value in (
            ("sketch_size", 64),
            ("sketch_dtype", "float64"),
            ("max_classes_per_leaf", 3),
        )
    ],
]


def test_a_newcomer_meets_at_most_twelve_parameters():
    assert len(inspect.signature(MistClassifier).parameters) == 12
    assert len(MistClassifier().get_params()) == 12


# --- both forms ---------------------------------------------------------------------------------


@given(settings=SETTINGS)
def test_flat_settings_lead_to_objects_and_back(settings):
    model = MistClassifier.from_settings(**settings)
    assert model.settings() == canonical({**MistClassifier().settings(), "bound": None, **settings})
    again = MistClassifier(**nested(model.settings()))
    assert again.get_params() == {**MistClassifier().get_params(), **model.get_params()}
    assert MistClassifier.from_settings(**model.get_params(deep=False)).get_params() == (
        model.get_params()
    )


@given(settings=SETTINGS)
def test_the_shortest_form_names_no_default(settings):
    for name, value in nested(settings).items():
        if isinstance(value, mist.tree_options.TreeOption):
            changed = value.changed()
            assert changed.keys() - {"rule", "kind"}, name
            for option in changed:
                assert settings[option] == changed[option] if option in settings else True


@pytest.mark.parametrize("name", GIVEN)
def test_objects_and_flat_settings_learn_the_same_bit_for_bit(name):
    options = {"adapt": None, "grace_period": 40, **GIVEN[name]}
    one = MistClassifier(**options).partial_fit(X, Y)
    other = MistClassifier.from_settings(**one.settings()).partial_fit(X, Y)
    assert fingerprint(one) == fingerprint(other)
    assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
    assert one._rule == other._rule


def test_a_name_means_the_object_with_its_defaults():
    for leaf, made in (
        ("gaussian", Gaussian()),
        ("sketch", Sketch()),
        ("mixture", Mixture()),
        ("full", FullGaussian()),
        ("majority", Majority()),
    ):
        assert MistClassifier(leaf).settings() == MistClassifier(made).settings()
        assert nested({"leaf": made}) == {"leaf": leaf}
    model = MistClassifier(Majority()).partial_fit(X, Y)
    assert not hasattr(model, "log_density")


def test_the_information_gain_has_a_bound_of_its_own():
    model = MistClassifier("gaussian", split_test=SplitTest(criterion="info_gain"))
    assert model.settings()["bound"] == "hoeffding"
    assert model.partial_fit(X, Y).n_rows_ == len(X)


def test_options_of_the_paper_may_be_objects():
    model = MistClassifier.paper("K", leaf=Sketch(bandwidth=1.0), split_test="gain")
    assert (model.leaf, model.split_test) == (Sketch(bandwidth=1.0), "gain")
    assert model.inheritance == Inheritance("gaussian", discount=0.6)
    assert MistClassifier.paper(inheritance=Inheritance("mass")).inheritance == "mass"
    tests = SplitTest(delta=0.2), SplitTest("schedule", rows_per_split=50)
    for test in tests:
        assert MistClassifier.paper(split_test=test).split_test == test
        preset = vary("mist-g", PRESETS["mist-g"], {"split_test": test})
        assert nested(preset.parameters)["split_test"] == test
    with pytest.raises(TypeError, match="delta is given twice, alone and in split_test="):
        MistClassifier.paper(delta=0.2, split_test=SplitTest(max_features=0.5))


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), WITHOUT_EFFECT, ids=str)
def test_options_without_effect_are_refused_with_the_way_out(name, options):
    model = MistClassifier("gaussian", **options)
    for call in (model.fit, model.partial_fit, model.prequential):
        with pytest.raises(
            ValueError, match=rf"^{name}=.* has no effect with .*: use .*, or leave"
        ):
            call(X, Y)
    assert not model.__sklearn_is_fitted__()


def test_options_without_effect_are_refused_in_names_of_models_and_in_the_paper_too():
    with pytest.raises(
        ValueError, match=r"bandwidth=0\.5 has no effect with leaf='gaussian': use l"
    ):
        MistClassifier.paper(bandwidth=0.5)
    with pytest.raises(ValueError, match=r"tie_threshold=0\.0 has no effect with bound='confseq'"):
        make_model("mist-g+bound=confseq+tie_threshold=0.0")
    # Settings of the paper that others leave without effect are not the user's.
    assert make_model("mist-g+inheritance=None").settings()["discount"] == 1.0


def test_an_option_that_loses_its_effect_later_is_refused():
    model = MistClassifier("gaussian", split_test=SplitTest(tie_threshold=0.2)).partial_fit(X, Y)
    model.set_params(split_test__bound="confseq")
    with pytest.raises(ValueError, match=r"tie_threshold=0\.2 has no effect with bound='confseq'"):
        model.partial_fit(X, Y)
    assert model.n_rows_ == len(X)


@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ({"delta": 0.05}, "the split test: MistClassifier(split_test=SplitTest(delta=0.05))"),
        ({"rows_per_split": 9}, "split_test=SplitTest('schedule', rows_per_split=9)"),
        ({"n_thresholds": 9}, "split_test=SplitTest(thresholds='dense', n_thresholds=9)"),
        ({"discount": 0.6}, "MistClassifier(inheritance=Inheritance(discount=0.6))"),
        ({"max_components": 4}, "MistClassifier(leaf=Mixture(max_components=4))"),
        ({"bandwidth": 0.4}, "MistClassifier(leaf=Sketch(bandwidth=0.4))"),
        ({"variance_prior": 2}, "MistClassifier(leaf=Gaussian(variance_prior=2))"),
    ],
    ids=str,
)
def test_an_option_on_its_own_is_refused_with_the_way_out(options, way_out):
    with pytest.raises(TypeError, match=re.escape(way_out)):
        MistClassifier(**options)
    (name,) = options
    with pytest.raises(ValueError, match=rf"^{name} is an option of .*: set_params\("):
        MistClassifier().set_params(**options)


@pytest.mark.parametrize(
    ("call", "way_out"),
    [
        (lambda: MistClassifier("sketch", variance_prior=2.0), "leaf=Sketch(variance_prior=2.0)"),
        (
            lambda: MistClassifier(split_test="gain", delta=0.2),
            "split_test=SplitTest('gain', delta=0.2)",
        ),
        (
            lambda: MistClassifier(inheritance="gaussian", discount=0.6),
            "inheritance=Inheritance('gaussian', discount=0.6)",
        ),
        (
            lambda: MistClassifier(delta=0.1, bandwidth=3.0, smoothing=0.1),
            "delta and bandwidth and smoothing are options of the split test and some leaves: "
            "MistClassifier(split_test=SplitTest(delta=0.1), "
            "leaf=Sketch(bandwidth=3.0, smoothing=0.1))",
        ),
        (
            lambda: MistClassifier(Gaussian()).set_params(bandwidth=0.3),
            "set_params(leaf=Sketch(bandwidth=0.3))",
        ),
        (
            lambda: MistClassifier("sketch").set_params(bandwidth=0.3),
            "set_params(leaf__bandwidth=0.3)",
        ),
    ],
)
def test_the_way_out_keeps_what_was_given(call, way_out):
    with pytest.raises((TypeError, ValueError), match=re.escape(way_out)):
        call()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"leaf": Mixture}, "leaf=Mixture is a class: write leaf=Mixture()"),
        ({"split_test": Mixture()}, "split_test=Mixture() is unknown; allowed: "),
        ({"split_test": Mixture()}, "and objects: SplitTest"),
        ({"leaf": ["gaussian"]}, "and objects: Gaussian, Sketch, Mixture"),
        ({"leaf": X[0]}, "is unknown; allowed: "),
        ({"inheritance": ""}, "inheritance='' is unknown"),
        ({"adapt": 1}, "adapt=1 is unknown; allowed: ['stream', 'classes', None]"),
    ],
    ids=str,
)
def test_values_of_other_types_are_refused_with_what_is_allowed(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        MistClassifier(**options).fit(X, Y)


def test_inheritance_of_nothing_needs_no_object():
    with pytest.raises(ValueError, match="kind is None: write inheritance=None"):
        Inheritance(None)


def test_names_of_models_have_valid_options():
    with pytest.raises(ValueError, match=r"delta=7 must be a number in \(0, 1\)"):
        make_model("mist-g+delta=7")
    assert make_model("mist-g+criterion=info_gain").settings()["bound"] == "hoeffding"
    with pytest.raises(ValueError, match="bound='mcdiarmid' is derived for the Gini gain"):
        make_model("mist-g+criterion=info_gain+bound=mcdiarmid")


def test_values_of_numpy_are_saved_and_loaded(tmp_path):
    test = SplitTest(
        "gain",
        delta=np.float64(0.2),
        union_bound=np.False_,
        max_features=np.float32(0.5),
        thresholds=np.str_("dense"),
        n_thresholds=np.int64(5),
        sketch_size=np.int32(16),
    )
    leaf = Gaussian(variance_prior=np.float64(2.0))
    options = {"grace_period": np.int64(20), "max_leaves": np.int64(9), "open_world": np.True_}
    model = MistClassifier(leaf, split_test=test, **options).fit(X, Y)
    model.save(tmp_path / "model.mist")
    found = mist.load(tmp_path / "model.mist")
    assert found.predict(X).tolist() == model.predict(X).tolist()
    assert found.settings() == model.settings()


def test_unknown_options_of_an_object_are_refused_with_the_known_ones():
    model = MistClassifier("sketch")
    with pytest.raises(ValueError, match="Sketch has no option 'width': it has bandwidth, smooth"):
        model.set_params(leaf__width=2)
    with pytest.raises(ValueError, match="FullGaussian has no option 'width': it has none"):
        MistClassifier("full").set_params(leaf__width=2)
    with pytest.raises(ValueError, match="inheritance=None has no options"):
        MistClassifier(inheritance=None).set_params(inheritance__discount=0.5)
    with pytest.raises(TypeError, match="width"):
        Sketch(width=2)
    with pytest.raises(ValueError, match=r"leaf=SplitTest\(\) is unknown; allowed"):
        MistClassifier(leaf=SplitTest()).fit(X, Y)


def test_fixed_options_are_refused_when_they_change_within_an_object():
    model = MistClassifier(Sketch(bandwidth=0.5)).partial_fit(X, Y)
    for change in ({"leaf__bandwidth": 0.6}, {"leaf": "sketch"}):
        with pytest.raises(
            ValueError, match=r"bandwidth was changed from 0\.5 to .* after the first"
        ):
            clone(model).partial_fit(X, Y).set_params(**change).partial_fit(X, Y)
    model.set_params(split_test__delta=0.3).partial_fit(X, Y)
    assert model._rule.delta == 0.3


# --- the objects --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
def test_objects_are_values(name):
    (option,) = GIVEN[name].values()
    for copy in (pickle.loads(pickle.dumps(option)), clone(option), option.replace()):
        assert copy == option
        assert hash(copy) == hash(option)
        assert repr(copy) == repr(option)
    assert eval(repr(option), vars(mist.tree_options)) == option
    assert option != "sketch"
    with pytest.raises(FrozenInstanceError):
        option.delta = 0.5


@pytest.mark.parametrize("name", GIVEN)
def test_models_with_objects_are_cloned_and_pickled(name):
    model = MistClassifier(**GIVEN[name]).partial_fit(X, Y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params() == model.get_params()
    assert fingerprint(again.partial_fit(X, Y)) == fingerprint(model.partial_fit(X, Y))


def test_nested_parameters_are_set_in_a_copy_of_the_object():
    shared = SplitTest("gain")
    one, other = MistClassifier(split_test=shared), MistClassifier(split_test=shared)
    one.set_params(split_test__delta=0.05, leaf="sketch", leaf__bandwidth=0.4)
    assert one.split_test == SplitTest("gain", delta=0.05)
    assert one.leaf == Sketch(bandwidth=0.4)
    assert other.split_test is shared
    assert one.get_params()["split_test__delta"] == 0.05
    assert one.set_params(**one.get_params()).split_test == SplitTest("gain", delta=0.05)
    forest = MistForest(one).set_params(estimator__split_test__delta=0.2)
    assert forest.estimator.split_test.delta == 0.2
    line = StreamPipeline(model=MistClassifier()).set_params(model__split_test__delta=0.2)
    assert line.model.split_test == SplitTest(delta=0.2)


def test_a_grid_search_tries_options_of_objects():
    grid = {
        "mistclassifier__split_test__delta": [0.05, 0.5],
        "mistclassifier__leaf": ["gaussian", Sketch(bandwidth=1.0)],
    }
    rows, labels = mixed_rows(3, holes=0.0)
    search = GridSearchCV(make_pipeline(MistClassifier("gaussian")), grid, cv=2).fit(rows, labels)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_params_["mistclassifier__split_test__delta"] in (0.05, 0.5)


def test_set_settings_leaves_out_what_has_no_effect():
    model = set_settings(MistClassifier("gaussian"), bound="confseq", tie_threshold=0.3, delta=0.2)
    assert model.split_test == SplitTest(bound="confseq", delta=0.2)


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
def test_files_hold_flat_settings_and_give_the_objects_back(name, tmp_path):
    model = MistClassifier(adapt=None, **GIVEN[name]).partial_fit(X, Y)
    model.save(tmp_path / "model.mist")
    again = mist.load(tmp_path / "model.mist")
    assert again.settings() == model.settings()
    assert again.get_params() == {**model.get_params(), **nested(GIVEN[name])} or (
        name == "a leaf without options"
    )
    assert fingerprint(again.partial_fit(X, Y)) == fingerprint(model.partial_fit(X, Y))


def test_a_model_that_was_learnt_with_options_without_effect_continues():
    model = MistClassifier("gaussian", adapt=None).partial_fit(X, Y)
    kept = model.__getstate__()
    kept["_options"] = {**kept["_options"], "max_components": 4, "rows_per_split": 9}
    kept["_rule"] = kept["_rule"]._replace(rows_per_split=9)
    older = MistClassifier("gaussian", adapt=None)
    older.__setstate__(kept)
    assert fingerprint(older.partial_fit(X, Y)) == fingerprint(model.partial_fit(X, Y))


def test_a_file_of_the_first_format_gives_options_in_their_objects():
    from mist.persistence.file_names import parameters_from_file

    older = {
        "leaf": "sketch",
        "split_test": "gap",
        "delta": 0.5,
        "bandwidth": 0.2,
        "smoothing": 0.1,
        "max_components": 4,
        "inheritance": None,
        "discount": 0.6,
        "max_leaves": 9,
    }
    model = MistClassifier(**parameters_from_file(MistClassifier, "MistClassifier", older))
    assert model.leaf == Sketch(smoothing=0.1)
    assert model.split_test == SplitTest(delta=0.5)
    assert (model.inheritance, model.max_leaves, model.adapt) == (None, 9, None)


def test_options_of_the_trees_of_a_forest_are_set_also_without_an_estimator():
    forest = MistForest(n_trees=2).set_params(
        estimator__leaf="gaussian", estimator__split_test__rows_per_split=60
    )
    tree = forest.estimator
    assert (tree.leaf, tree.split_test) == ("gaussian", SplitTest("schedule", rows_per_split=60))
    assert tree.grace_period == MistForest().new_tree().grace_period
