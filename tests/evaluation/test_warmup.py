import subprocess
import sys

import numpy as np
import pytest

from mist import MistClassifier
from mist.baselines import NCM
from mist.evaluation import warm_up

RUN = """
import sys
import numpy as np
from mist import MistClassifier
from mist.datasets import make_gaussian_classes
from mist.evaluation import warm_up

leaf, missing = sys.argv[1], sys.argv[2] == "holes"
X, y = make_gaussian_classes(n_samples=1000, n_classes=4, n_features=3, spread=6.0, seed=1)
X[:, 2] = X[:, 2] > 0
holed = X.copy()
holed[::9, 1] = np.nan
model = MistClassifier(
    leaf, grace_period=50, tie_threshold=0.9, split_test="gain", categorical_features=[2]
)


def compiled():
    engine = [module for name, module in sys.modules.items() if name.startswith("mist.")]
    found = {id(f): f for module in engine for f in vars(module).values()}
    return {
        f.py_func.__qualname__: len(f.signatures)
        for f in found.values()
        if hasattr(f, "signatures") and hasattr(f, "py_func")
    }


warm_up(model, 3, missing=missing)
before = compiled()
for rows in (X, holed) if missing else (X,):
    model.prequential(X, y)
    model.predict(rows)
    model.partial_fit(rows, y)
    model.prequential(rows, y)
    model.predict(rows)
assert model.n_splits_ > 0
assert before["predict_rows"] and before["run"]
print(*[name for name, count in compiled().items() if count != before.get(name)])
"""


@pytest.mark.parametrize("missing", ["whole", "holes"])
@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_nothing_is_left_to_compile(leaf, missing):
    # In an interpreter of its own: here other tests have compiled before.
    done = subprocess.run(
        [sys.executable, "-c", RUN, leaf, missing], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_the_model_stays_as_it_was():
    model = MistClassifier(random_state=3)
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


def test_what_is_not_compiled_takes_no_time():
    assert warm_up(NCM(), 3) == 0
    assert warm_up(object(), 3) == 0


@pytest.mark.parametrize("columns", [[0], [-1], [True, False, True], [], [0, 1, 2]])
def test_binary_columns_in_any_notation(columns):
    assert warm_up(MistClassifier(categorical_features=columns), 3, missing=True) > 0


def test_binary_columns_by_name_of_a_trained_model():
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({"size": [0.5, 2.5, 0.7, 2.8], "red": [0, 1, 1, 0]})
    model = MistClassifier(categorical_features=["red"]).fit(rows, [0, 1, 0, 1])
    assert warm_up(model, 2) > 0


def test_binary_columns_that_are_not_there_are_refused_by_name():
    with pytest.raises(ValueError, match="categorical_features must be column indices below 3"):
        warm_up(MistClassifier(categorical_features=[3]), 3)
