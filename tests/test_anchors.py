"""Figures of the paper that the unsplit tree must give: it is a Gaussian naive Bayes."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from mist.evaluation import ClassIncrementalStream
from published import paper_tree

SEEDS = (42, 123, 456, 789, 3330)


def recalls(X, y):
    """Mean class recall after the last task, one figure a seed; no model may split."""
    figures = []
    for seed in SEEDS:
        stream = ClassIncrementalStream(X, y, seed=seed)
        model = paper_tree()
        for task in stream:
            model.partial_fit(task.X_train, task.y_train)
        assert model.n_splits_ == 0
        X_test = np.concatenate([task.X_test for task in stream])
        y_test = np.concatenate([task.y_test for task in stream])
        figures.append(balanced_accuracy_score(y_test, model.predict(X_test)))
    return np.array(figures)


@pytest.mark.parametrize(
    ("load", "mean", "spread"), [(load_wine, 0.970, 0.020), (load_iris, 0.933, 0.030)]
)
def test_wine_and_iris_standardised_as_in_the_paper(load, mean, spread):
    X, y = load(return_X_y=True)
    # The paper fits the scaler before the split.
    figures = recalls(StandardScaler().fit_transform(X), y)
    assert figures.mean() == pytest.approx(mean, abs=0.001)
    assert figures.std() == pytest.approx(spread, abs=0.001)


def test_pendigits_raw():
    folder = os.environ.get("MIST_DATA")
    if not folder:
        pytest.skip("MIST_DATA names no folder of data sets")
    path = Path(folder) / "pendigits.npz"
    if not path.exists():
        pytest.skip("the folder MIST_DATA holds no pendigits.npz")
    with np.load(path) as archive:
        figures = recalls(archive["X"].astype(float), archive["y"])
    assert figures.mean() == pytest.approx(0.863, abs=0.001)
    assert figures.std() == pytest.approx(0.010, abs=0.001)
