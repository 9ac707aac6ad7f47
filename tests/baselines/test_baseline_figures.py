"""Published figures that are known to reproduce: mean class recall over the five seeds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import recall_score
from sklearn.preprocessing import scale

from mist.baselines import NCM, RLS, SLDA, SQDA, GaussianNB
from mist.evaluation import ClassIncrementalStream

SEEDS = (42, 123, 456, 789, 3330)


def recalls(model, X, y):
    """Mean class recall of each seed after the whole stream."""
    out = []
    for seed in SEEDS:
        tasks = ClassIncrementalStream(X, y, seed=seed)
        model.fit(tasks.X_train, tasks.y_train)
        X_test = np.vstack([task.X_test for task in tasks])
        y_test = np.concatenate([task.y_test for task in tasks])
        out.append(recall_score(y_test, model.predict(X_test), average="macro"))
    return np.mean(out), np.std(out)


@pytest.mark.parametrize(
    ("load", "model", "mean", "spread"),
    [
        (load_wine, NCM(), 0.981, 0.010),
        (load_wine, SLDA(), 0.979, 0.021),
        (load_wine, SQDA(), 0.987, 0.016),
        (load_wine, GaussianNB(), 0.970, 0.020),
        (load_wine, RLS(fit_intercept=False, ridge=0.01), 0.981, 0.028),
        (load_iris, NCM(), 0.860, 0.039),
        (load_iris, SLDA(), 0.973, 0.039),
        (load_iris, SQDA(), 0.967, 0.030),
        (load_iris, GaussianNB(), 0.933, 0.030),
        (load_iris, RLS(fit_intercept=False, ridge=0.01), 0.827, 0.049),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_small_sets(load, model, mean, spread):
    X, y = load(return_X_y=True)
    got_mean, got_spread = recalls(model, scale(X), y)
    assert got_mean == pytest.approx(mean, abs=1e-3)
    assert got_spread == pytest.approx(spread, abs=2e-3)


@pytest.mark.parametrize(
    ("model", "mean", "spread"),
    [
        (NCM(), 0.816, 0.009),
        (SLDA(), 0.879, 0.008),
        (SQDA(), 0.982, 0.001),
        (GaussianNB(), 0.862, 0.010),
        (RLS(fit_intercept=False, ridge=0.01), 0.857, 0.008),
    ],
    ids=str,
)
def test_pendigits(model, mean, spread):
    folder = os.environ.get("MIST_DATA")
    if folder is None:
        pytest.skip("MIST_DATA does not name a folder with pendigits.npz")
    table = np.load(Path(folder) / "pendigits.npz")
    got_mean, got_spread = recalls(model, table["X"].astype(float), table["y"])
    assert got_mean == pytest.approx(mean, abs=1e-3)
    assert got_spread == pytest.approx(spread, abs=2e-3)
