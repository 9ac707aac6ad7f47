"""What is asked of every generated data set."""

import hashlib

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from mist.datasets import load


def reference(name, K):
    flat = np.full(K, 1 / K)
    return {
        "slda": LinearDiscriminantAnalysis(priors=flat),
        "sqda": QuadraticDiscriminantAnalysis(priors=flat, reg_param=1e-4),
        "ncm": NearestCentroid(),
        "naive_bayes": GaussianNB(priors=flat),
    }[name]


def assert_as_described(entry):
    data = load(entry.name)
    assert data.X.shape == (entry.rows, entry.columns)
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert np.bincount(data.y).tolist() == [entry.rows // entry.n_classes] * entry.n_classes
    assert data.class_names == entry.class_names
    assert np.isfinite(data.X).all()
    assert not data.categorical.any()
    assert "seed=0" in data.source
    assert data.source.endswith(f"version {entry.version}")


def checksum_of(name):
    data = load(name, rows=300, seed=7)
    digest = hashlib.sha256()
    # Rounded, since exp and cos may differ in the last bit between platforms; no minus zero.
    digest.update((np.round(data.X, 6) + 0.0).astype("<f8").tobytes())
    digest.update(data.y.astype("<i8").tobytes())
    return digest.hexdigest()


def mean_scores(name, methods):
    """Mean accuracy of Gaussian models on held-out rows, over five seeds."""
    found = {method: [] for method in methods}
    for seed in range(1, 6):
        data = load(name, seed=seed)
        K = len(data.class_names)
        train, test, y_train, y_test = train_test_split(
            data.X, data.y, test_size=0.2, random_state=seed, stratify=data.y
        )
        for method, scores in found.items():
            scores.append(reference(method, K).fit(train, y_train).score(test, y_test))
    return {method: np.mean(scores) for method, scores in found.items()}
