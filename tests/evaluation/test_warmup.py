import itertools
import subprocess
import sys

import numpy as np
import pytest
import sklearn.naive_bayes

from mist import MistClassifier, MistForest
from mist.baselines import (
    NCM,
    RLS,
    SLDA,
    SQDA,
    GaussianNB,
    RandomFeatureLDA,
)
from mist.evaluation import warm_up
from mist_bench.baselines import PEC, RandomFeatureRLS, RiverClassifier
from published import paper_tree

BASELINES = (NCM, PEC, RLS, SLDA, SQDA, GaussianNB, RandomFeatureLDA, RandomFeatureRLS)

RUN = """
import sys
import numpy as np
from mist import MistClassifier, MistForest, baselines
import mist_bench.baselines
from mist.datasets import make_gaussian_classes
from mist.evaluation import warm_up

what, missing = sys.argv[1], sys.argv[2] == "holes"
X, y = make_gaussian_classes(n_samples=1000, n_classes=4, n_features=3, spread=6.0, seed=1)
X[:, 2] = X[:, 2] > 0
holed = X.copy()
holed[::9, 1] = np.nan
eager = {"grace_period": 50, "tie_threshold": 0.9, "split_test": "gain"}
is_tree = what in ("default", "gaussian", "sketch", "majority")
if what == "default":
    model = MistClassifier.from_settings(**eager, categorical_features=[2])
elif is_tree:
    model = MistClassifier.paper(leaf=what, **eager, categorical_features=[2])
elif what == "forest":
    tree = MistClassifier.paper(leaf="full", **eager)
    model = MistForest(tree, n_trees=2, bootstrap=True)
else:
    home = baselines if what in baselines.__all__ else mist_bench.baselines
    model = getattr(home, what)()


def compiled():
    engine = [module for name, module in sys.modules.items() if name.startswith(("mist.", "mist_"))]
    found = {id(f): f for module in engine for f in vars(module).values()}
    return {
        f.py_func.__qualname__: len(f.standalone.signatures)
        for f in found.values()
        if hasattr(f, "standalone") and hasattr(f, "py_func")
    }


warm_up(model, 3, missing=missing)
before = compiled()
for rows in (X, holed) if missing else (X,):
    model.prequential(X, y)
    model.predict(rows)
    model.partial_fit(rows, y)
    model.prequential(rows, y)
    model.predict(rows)
if is_tree or what == "forest":
    assert model.n_splits_ > 0 and before["predict_rows"]
assert before["run"]
print(*[name for name, count in compiled().items() if count != before.get(name)])
"""


@pytest.mark.parametrize(
    ("what", "missing"),
    [
        *itertools.product(["default", "gaussian", "sketch", "majority"], ["whole", "holes"]),
        ("forest", "whole"),
        ("SLDA", "whole"),
        ("NCM", "whole"),
    ],
)
def test_nothing_is_left_to_compile(what, missing):
    # In an interpreter of its own: here other tests have compiled before.
    done = subprocess.run(
        [sys.executable, "-c", RUN, what, missing], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_the_model_stays_as_it_was():
    model = paper_tree(random_state=3)
    options = model.get_params()
    assert warm_up(model, 2, missing=True) > 0
    assert model.get_params() == options
    assert not hasattr(model, "classes_")

    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    model.fit(X, y)
    before = model.predict_proba(X)
    warm_up(model, 2)
    assert model.n_rows_ == 50
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("kind", BASELINES)
def test_baselines_are_warmed_as_well_and_stay_as_they_were(kind):
    model = kind()
    options = model.get_params()
    # None of them takes missing values: they are not given any.
    assert warm_up(model, 2, missing=True) > 0
    assert model.get_params() == options
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("leaf", ["full", "mixture"])
def test_leaves_that_refuse_missing_values_are_not_given_any(leaf):
    assert warm_up(paper_tree(leaf), 2, missing=True) > 0


def test_a_forest_is_warmed_and_stays_as_it_was():
    model = MistForest(paper_tree("majority", categorical_features=[1]), n_trees=3)
    options = model.get_params()
    assert warm_up(model, 2, missing=True) > 0
    assert model.get_params() == options
    assert not hasattr(model, "classes_")


def test_a_model_derived_from_one_of_ours_is_warmed():
    class Mine(MistClassifier):
        pass

    assert warm_up(Mine(), 2) > 0


@pytest.mark.parametrize("model", [sklearn.naive_bayes.GaussianNB(), RiverClassifier(), object()])
def test_what_is_not_compiled_takes_no_time(model):
    assert warm_up(model, 3) == 0


@pytest.mark.parametrize("columns", [[0], [-1], [True, False, True], [], [0, 1, 2]])
def test_binary_columns_in_any_notation(columns):
    assert warm_up(paper_tree(categorical_features=columns), 3, missing=True) > 0


def test_binary_columns_by_name_of_a_trained_model():
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({"size": [0.5, 2.5, 0.7, 2.8], "red": [0, 1, 1, 0]})
    model = paper_tree(categorical_features=["red"]).fit(rows, [0, 1, 0, 1])
    assert warm_up(model, 2) > 0


def test_binary_columns_that_are_not_there_are_refused_by_name():
    with pytest.raises(ValueError, match="categorical_features must be column indices below 3"):
        warm_up(paper_tree(categorical_features=[3]), 3)
