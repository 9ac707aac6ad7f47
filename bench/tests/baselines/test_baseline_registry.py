"""The list of methods and the presets behind it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import mist_bench
from mist import MistClassifier
from mist.flat_settings import canonical, set_settings
from mist.presets import find_preset, make_model
from mist_bench import baselines
from mist_bench.ablations import PRESETS
from mist_bench.methods import METHODS, make
from published import PUBLISHED

NEEDS_RIVER = {name for name, method in METHODS.items() if method.needs}
PAPER = {
    "mist-g": {},
    "mist-k": {"leaf": "sketch"},
    "mist-g-no-inheritance": {"inheritance": None},
    "mist-g-no-sketching": {"thresholds": "gaussian"},
    "mist-g-hoeffding": {"bound": "hoeffding"},
    "majority": {"leaf": "majority"},
    "mist-g-sample-split": {"thresholds": "sampled"},
    "mist-g-dense-10": {"thresholds": "dense", "n_thresholds": 10},
    "mist-g-dense-20": {"thresholds": "dense", "n_thresholds": 20},
    "mist-g-gain-test": {"split_test": "gain"},
    "mist-g-gain-test-no-union": {"split_test": "gain", "union_bound": False},
    "mist-g-gaussian-inheritance": {"inheritance": "mass"},
    "mist-g-sketch-inherit": {"inheritance": "sketch"},
}
"""The paper's trees and the variants of its ablation tables: what each changes in MIST-G."""

OTHERS = {
    "mist-full": {"leaf": "full", "class_prior": "balanced"},
    "mist-mixture": {"leaf": "mixture", "class_prior": "balanced"},
    "vfdt": {"bound": "hoeffding", "delta": 0.05, "thresholds": "gaussian", "inheritance": None},
    "rutkowski": {"bound": "rutkowski", "thresholds": "gaussian", "inheritance": None},
}
"""The other trees with published results, in the same form."""


def stream():
    """Six classes, pair after pair, with a 0/1 column; long enough for the trees to split."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 420) * 2 + rng.integers(0, 2, 1260)
    X = 4.0 * rng.normal(size=(6, 4))[y] + rng.normal(size=(1260, 4))
    X[:, 3] = X[:, 3] > 0
    return X, np.array(["f", "c", "a", "b", "e", "d"])[y]


def model_of(name, **given):
    if name in NEEDS_RIVER:
        pytest.importorskip("river", reason=f"{name} is a model of river")
    return make(name, **given)


FORESTS = ("mist-features", "mist-forest", "mist-forest-features", "mist-replay")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_classes_that_arrive_in_turn(name):
    X, y = stream()
    model = model_of(name, seed=1, categorical_features=[3])
    if name == "pec":
        model.set_params(teacher_width=50)
    if name in FORESTS:
        model.estimator = set_settings(model.new_tree(), rows_per_split=200, tie_threshold=1.0)
    elif name in PRESETS:
        set_settings(model, tie_threshold=1.0)
    answers = [model.prequential(X[i : i + 420], y[i : i + 420]) for i in (0, 420, 840)]
    assert model.classes_.tolist() == sorted(set(y))
    assert set(answers[0]) == {"c", "f"}
    shares = model.predict_proba(X)
    assert shares.shape == (1260, 6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(model.predict(X)) <= set(y)
    assert model.nbytes > 0
    if name in PRESETS:
        assert model.n_splits_ > 0


@pytest.mark.parametrize("name", METHODS)
def test_seed_and_categorical_columns_reach_those_that_take_them(name):
    options = model_of(name, seed=7, categorical_features=(3,)).get_params()
    assert options.get("random_state", 7) == 7
    if name in FORESTS:
        options["categorical_features"] = options["estimator__categorical_features"]
    assert options.get("categorical_features", [3]) == [3]
    assert ("categorical_features" in options) == (METHODS[name].group != "other")
    if METHODS[name].group == "other":
        drawn = ("pec", "random-feature-rls", "random-feature-lda")
        assert ("random_state" in options) == (name in drawn)


@pytest.mark.parametrize("name", [*PAPER, *OTHERS])
def test_every_parameter_is_the_one_that_results_were_published_of(name):
    assert make(name).settings() == canonical({**PUBLISHED, **{**PAPER, **OTHERS}[name]})


def test_the_first_preset_is_the_default():
    assert next(iter(METHODS)) == next(iter(PRESETS)) == "mist"
    assert make("mist").get_params() == MistClassifier().get_params()


def test_ablations_are_complete_and_groups_follow_one_another():
    groups = [method.group for method in METHODS.values()]
    assert groups == sorted(groups, key=["ours", "tree", "other", "ablation"].index)
    own = {*PAPER, "mist", "mist-full", "mist-mixture", *FORESTS}
    assert {name for name, m in METHODS.items() if m.group in ("ours", "ablation")} == own
    assert set(PRESETS) == {*own, "vfdt", "rutkowski"}
    assert {name: METHODS[name].title for name in PRESETS} == {
        name: preset.title for name, preset in PRESETS.items()
    }
    assert len({method.title for method in METHODS.values()}) == len(METHODS)
    assert all(method.reference for method in METHODS.values())


@pytest.mark.parametrize("kind", ["efdt", "hat", "arf"])
def test_river_s_models_come_in_two_forms(kind):
    for name, still in ((kind, False), (f"{kind}-no-reset", True)):
        assert METHODS[name].needs == "bench"
        model = model_of(name)
        assert (model.kind, model.no_reset) == (kind, still)
    assert {kind, f"{kind}-no-reset"} <= NEEDS_RIVER
    assert len(NEEDS_RIVER) == 6


def test_what_is_known_of_a_method_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["slda"].title = "LDA"


@pytest.mark.parametrize(("find", "fourth"), [(make, "mist-full"), (find_preset, "mist-features")])
def test_an_unknown_name_gets_the_list_and_the_nearest(find, fourth):
    with pytest.raises(
        ValueError, match=rf"called 'mist_g': choose one of mist, mist-g, mist-k, {fourth}, "
    ):
        find("mist_g")
    for name, nearest in (
        ("Rutkowsky", "rutkowski"),
        ("MIST_K", "mist-k"),
        ("mistfull", "mist-full"),
        ("Mist-G_Dense20", "mist-g-dense-20"),
    ):
        with pytest.raises(ValueError, match=rf"The nearest is '{nearest}'\.$"):
            find(name)


@pytest.mark.parametrize("find", [make, find_preset])
@pytest.mark.parametrize("name", ["", "perceptron"])
def test_no_nearest_where_none_is_near(find, name):
    with pytest.raises(
        ValueError, match=f"called {name!r}: choose one of mist, mist-g, "
    ) as caught:
        find(name)
    assert "nearest" not in str(caught.value)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_list_of_methods_loads_nothing_else():
    loaded = run(
        "from mist_bench.methods import METHODS, make; import sys; assert 'efdt' in METHODS;"
        "print(*[n for n in ('numpy', 'numba', 'sklearn', 'river') if n in sys.modules])"
    )
    assert loaded == ""


def test_without_the_extra_a_method_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    for name in NEEDS_RIVER:
        with pytest.raises(ImportError, match=r"pip install 'mist-tree\[bench\]'"):
            make(name)
    for name in METHODS.keys() - NEEDS_RIVER:
        make(name)


def test_presets_of_this_package_are_models_of_the_library():
    assert find_preset("vfdt") == PRESETS["vfdt"]
    assert find_preset("vfdt+delta=0.2").parameters["delta"] == 0.2
    assert make_model("vfdt", seed=3).get_params() == make("vfdt", seed=3).get_params()
    with pytest.raises(ValueError, match="no option of vfdt called 'deltas'"):
        find_preset("vfdt+deltas=0.2")


def test_names_of_the_package():
    for package in (mist_bench, baselines):
        assert set(package.__all__) <= set(dir(package))
        for name in package.__all__:
            assert getattr(package, name) is getattr(package, name)
        with pytest.raises(AttributeError, match=r"'mist_bench.*' has no attribute 'Nonsense'"):
            package.Nonsense  # noqa: B018 - reading is the test
