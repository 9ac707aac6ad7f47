"""Estimators in the tools of scikit-learn: pipelines, searches, calibration, routing, arrays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mist import MistForest
from mist.baselines import NCM, SLDA
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree

X, Y = load_iris(return_X_y=True)
MODELS = [paper_tree(), MistForest(paper_tree(), n_trees=2), SLDA()]

each = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def mixed(n=120, seed=0):
    """A frame of a number and a text; both are needed to tell three classes apart."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    size = rng.normal(np.array([0.0, 5.0, 5.0])[codes], 0.5)
    coat = np.array(["plain", "plain", "spots"])[codes]
    return pd.DataFrame({"size": size, "coat": coat}), np.array(["ant", "bee", "cow"])[codes]


# -- the array API -----------------------------------------------------------------------------


def test_the_checks_of_arrays_pass_where_scipy_dispatches_them():
    """SciPy reads the variable when it is imported, so these checks take a process of their own."""
    tests = Path(__file__).parent
    files = [
        "classifier/test_sklearn.py",
        "classifier/test_forest_sklearn.py",
        "baselines/test_baseline_contract.py",
        "preprocessing",
    ]
    # Without compiling: then whole numbers overflow with a warning, as hashes are meant to.
    options = ["-q", "-rs", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::RuntimeWarning"]
    paths = [str(tests / file) for file in files]
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-k", "array_api", *paths],
        env={**outer, "SCIPY_ARRAY_API": "1", "NUMBA_DISABLE_JIT": "1"},
        cwd=tests.parent,
        capture_output=True,
        text=True,
    )
    if run.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
        pytest.skip("this scikit-learn does not check estimators with other arrays")
    assert run.returncode == 0, run.stdout
    assert "SKIPPED" not in run.stdout
    passed = int(re.search(r"(\d+) passed", run.stdout)[1])
    assert passed >= 8 + 1 + 10 + 4  # estimators in the four places


# -- validation and search ---------------------------------------------------------------------


@each
def test_cross_validation(model):
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.9
    proba = cross_val_predict(model, X, Y, cv=3, method="predict_proba")
    assert proba.shape == (150, 3)
    assert np.mean(proba.argmax(axis=1) == Y) > 0.9
    sizes, _, scores = learning_curve(
        model, X, Y, cv=3, train_sizes=[30, 90], exploit_incremental_learning=True, shuffle=True
    )
    assert sizes.tolist() == [30, 90]
    assert (scores > 0.75).all()


def test_grid_search_reaches_encoder_and_model():
    frame, y = mixed()
    line = StreamPipeline(StreamEncoder(), paper_tree())
    grid = {"encoder__max_categories": [5, 9], "model__class_prior": ["counts", "balanced"]}
    search = GridSearchCV(line, grid, cv=3).fit(frame, y)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.encoder_.get_feature_names_out()[0] == "size"
    assert search.feature_names_in_.tolist() == ["size", "coat"]


@each
def test_permutation_importance_finds_the_columns_that_matter(model):
    rng = np.random.default_rng(0)
    rows = np.column_stack([X[:, 2], rng.normal(size=150)])
    found = permutation_importance(model.fit(rows, Y), rows, Y, n_repeats=3, random_state=0)
    assert found.importances_mean[0] > 0.4 > 0.1 > abs(found.importances_mean[1])


# -- models made of models ---------------------------------------------------------------------


@each
def test_calibration_keeps_what_is_known(model):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    calibrated = CalibratedClassifierCV(model, cv=folds).fit(X, Y)
    proba = calibrated.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert calibrated.score(X, Y) > 0.9
    assert not np.allclose(proba, clone(model).fit(X, Y).predict_proba(X))


def test_votes_and_stacks():
    members = [("tree", paper_tree()), ("near", NCM())]
    vote = VotingClassifier(members, voting="soft").fit(X, Y)
    expected = [clone(model).fit(X, Y).predict_proba(X) for _, model in members]
    np.testing.assert_allclose(vote.predict_proba(X), np.mean(expected, axis=0))
    stack = StackingClassifier(members, LogisticRegression(max_iter=500), cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.9


@each
def test_one_class_against_the_rest_and_bags(model):
    rest = OneVsRestClassifier(model).fit(X, Y)
    assert rest.predict_proba(X).shape == (150, 3)
    assert rest.score(X, Y) > 0.75
    bag = BaggingClassifier(model, n_estimators=2, max_features=0.5, random_state=0).fit(X, Y)
    assert bag.score(X, Y) > 0.8


# -- pipelines and frames ----------------------------------------------------------------------


def test_the_encoder_stands_in_a_pipeline_and_beside_other_columns():
    frame, y = mixed()
    line = make_pipeline(StreamEncoder(), paper_tree()).fit(frame, y)
    assert line.score(*mixed(seed=1)) > 0.95
    assert sorted(line[:-1].get_feature_names_out()) == ["coat=plain", "coat=spots", "size"]
    parts = make_column_transformer((StandardScaler(), ["size"]), (StreamEncoder(), ["coat"]))
    beside = make_pipeline(parts, paper_tree()).fit(frame, y)
    assert beside.score(*mixed(seed=1)) > 0.95
    assert "streamencoder__coat=spots" in parts.fit(frame).get_feature_names_out()


def test_a_pipeline_set_to_frames_hands_the_names_of_texts_on():
    frame, y = mixed()
    line = make_pipeline(StreamEncoder(), paper_tree()).set_output(transform="pandas")
    line.fit(frame, y)
    assert sorted(line[-1].feature_names_in_) == ["coat=plain", "coat=spots", "size"]
    tree = paper_tree(categorical_features=["coat=plain", "coat=spots"])
    named = make_pipeline(StreamEncoder(), tree).set_output(transform="pandas").fit(frame, y)
    assert named.score(frame, y) > 0.95


@each
def test_names_of_columns_are_kept_and_checked(model):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    model = clone(model).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["pw", "pl", "sw", "sl"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict_proba(frame.rename(columns={"sl": "length"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


# -- metadata routing --------------------------------------------------------------------------


@each
def test_weights_are_routed(model):
    weights = np.where(Y == 2, 0.0, 1.0 + (np.arange(150) % 3))
    with config_context(enable_metadata_routing=True):
        weighted = clone(model).set_fit_request(sample_weight=True)
        line = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), weighted)
        line.fit(X, Y, sample_weight=weights)
        assert line[-1].classes_.tolist() == [0, 1]
        expected = clone(model).fit(line[:-1].transform(X), Y, sample_weight=weights)
        np.testing.assert_array_equal(
            line.predict_proba(X), expected.predict_proba(line[:-1].transform(X))
        )
        result = cross_validate(
            weighted.set_score_request(sample_weight=False),
            X[Y < 2],
            Y[Y < 2],
            params={"sample_weight": weights[Y < 2]},
            cv=3,
        )
        assert result["test_score"].mean() > 0.9
        request = clone(model).set_partial_fit_request(sample_weight=True, classes=False)
        routed = request.get_metadata_routing().partial_fit.requests
        assert routed == {"sample_weight": True, "classes": False}
