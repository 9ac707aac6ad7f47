import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from material import EAGER, fingerprint
from mist import MistClassifier, SplitTest
from published import paper_tree


# No check is exempted, and pyproject.toml makes an unexpected pass of any exemption an error.
@parametrize_with_checks(
    [
        MistClassifier(),
        MistClassifier(grace_period=20, split_test=SplitTest("gain", union_bound=False, delta=0.5)),
        paper_tree(),
        paper_tree("sketch"),
        paper_tree("majority"),
        paper_tree("full"),
        paper_tree("mixture"),
        paper_tree(grace_period=20, split_test="gain", union_bound=False, delta=0.5),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_clone_copies_parameters_and_nothing_learnt():
    X, y = load_iris(return_X_y=True)
    model = MistClassifier("sketch", grace_period=50, random_state=7).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert fingerprint(copy.fit(X, y)) == fingerprint(model)


def test_learning_changes_no_parameter():
    X, y = load_iris(return_X_y=True)
    model = MistClassifier.from_settings(leaf="sketch", **EAGER)
    before = model.get_params()
    model.fit(X, y).partial_fit(X, y)
    assert model.get_params() == before


def test_fit_forgets_what_was_learnt_before():
    X, y = load_iris(return_X_y=True)
    used = MistClassifier.from_settings(**EAGER).partial_fit(X[:, :2] + 7, y + 5)
    assert fingerprint(used.fit(X, y)) == fingerprint(
        MistClassifier.from_settings(**EAGER).fit(X, y)
    )


def test_parameters_set_between_calls_apply_to_later_rows():
    X, y = load_iris(return_X_y=True)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    model = MistClassifier.from_settings(max_leaves=1, **EAGER).partial_fit(X, y)
    assert model.n_splits_ == 0
    model.set_params(max_leaves=None).partial_fit(X, y)
    assert model.n_splits_ > 0


def test_pipeline_predicts_as_its_parts_do():
    X, y = load_iris(return_X_y=True)
    line = make_pipeline(SimpleImputer(), StandardScaler(), MistClassifier()).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    apart = MistClassifier().fit(scaled, y)
    np.testing.assert_array_equal(line.predict_proba(X), apart.predict_proba(scaled))


def test_a_pipeline_set_to_frames_hands_the_column_names_on():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    line = make_pipeline(StandardScaler(), MistClassifier.from_settings(**EAGER))
    line.set_output(transform="pandas").fit(frame, y)
    assert line[-1].feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    assert line.score(frame, y) > 0.9


def test_pandas_frame_and_series_equal_arrays():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    names = ["sl", "sw", "pl", "pw"]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    series = pd.Series(y, index=frame.index)
    weights = pd.Series(1.0 + y, index=frame.index)
    by_frame = MistClassifier.from_settings(**EAGER).fit(frame, series, sample_weight=weights)
    by_array = MistClassifier.from_settings(**EAGER).fit(X, y, sample_weight=1.0 + y)
    assert by_frame.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(by_frame.predict_proba(frame), by_array.predict_proba(X))
    assert by_frame.score(frame, series) == by_array.score(X, y)


def test_polars_frame_and_series_equal_arrays():
    pl = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["sl", "sw", "pl", "pw"])
    by_frame = MistClassifier.from_settings(**EAGER).fit(frame, pl.Series(y))
    assert by_frame.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    by_array = MistClassifier.from_settings(**EAGER).fit(X, y)
    np.testing.assert_array_equal(by_frame.predict(frame), by_array.predict(X))


def test_text_series_of_pandas_are_labels():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for dtype in (object, "string", "category"):
        model = MistClassifier().fit(X, pd.Series(names, dtype=dtype))
        assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
        np.testing.assert_array_equal(model.predict(X), MistClassifier().fit(X, names).predict(X))


def test_cross_validation_and_grid_search():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(MistClassifier(), X, y, cv=5).mean() > 0.93
    search = GridSearchCV(MistClassifier(), {"leaf": ["majority", "gaussian"]}, cv=3).fit(X, y)
    assert search.best_params_ == {"leaf": "gaussian"}
