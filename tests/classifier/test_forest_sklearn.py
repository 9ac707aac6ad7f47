import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mist import MistClassifier, MistForest


@parametrize_with_checks([MistForest(n_trees=2)])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_grid_search_reaches_forest_and_trees():
    X, y = load_iris(return_X_y=True)
    grid = {"estimator__leaf": ["majority", "full"], "n_trees": [2]}
    search = GridSearchCV(MistForest(MistClassifier()), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"estimator__leaf": "full", "n_trees": 2}
    assert np.mean(search.predict(X) == y) > 0.95
