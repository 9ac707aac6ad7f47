"""Every baseline against its slow obvious twin, at every row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mist.baselines import (
    NCM,
    RLS,
    SLDA,
    SQDA,
    GaussianNB,
    RandomFeatureLDA,
)
from mist_bench.baselines import PEC, RandomFeatureRLS
from naive_baselines import (
    NaiveGaussianNB,
    NaiveNCM,
    NaivePEC,
    NaiveRandomFeatureLDA,
    NaiveRandomFeatureRLS,
    NaiveRLS,
    NaiveSLDA,
    NaiveSQDA,
    Network,
)

LABELS = np.array(["delta", "alpha", "charlie", "bravo"])


def stream(n, d, seed, n_classes=4):
    """Gaussian classes that come in one after the other and then stay."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, 1 + i * n_classes // n) for i in range(n)])
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return X + 2.0 * rng.normal(size=(n_classes, d))[codes], LABELS[codes]


def without_constant():
    twin = NaiveRLS()
    twin.constant, twin.ridge = False, 0.01
    return twin


PAIRS = {
    "NCM": (NCM, NaiveNCM),
    "GaussianNB": (GaussianNB, NaiveGaussianNB),
    "SLDA": (SLDA, NaiveSLDA),
    "SQDA": (SQDA, NaiveSQDA),
    "RLS": (RLS, NaiveRLS),
    "RLS without a constant": (lambda: RLS(fit_intercept=False, ridge=0.01), without_constant),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("d", [1, 4])
def test_answers_equal_the_twin_at_every_row(name, weighted, d):
    make, make_twin = PAIRS[name]
    model, twin = make(), make_twin()
    X, y = stream(90, d, seed=d)
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], len(X))
    weights[0] = 1.0
    weights = weights if weighted else np.ones(len(X))
    expected = [None]
    for i in range(len(X)):
        if i:
            np.testing.assert_allclose(
                model.predict_proba(X[i : i + 1])[0], twin.proba(X[i]), rtol=1e-8, atol=1e-12
            )
            expected.append(twin.predict(X[i]))
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
        twin.learn(X[i], y[i], weights[i])
    answers = make().prequential(X, y, sample_weight=weights)
    assert answers[1:].tolist() == expected[1:]


def test_random_features_equal_the_twin():
    X, y = stream(60, 3, seed=8)
    model = RandomFeatureRLS(n_features=12, random_state=4)
    model.partial_fit(X[:1], y[:1])
    twin = NaiveRandomFeatureRLS(model._state.projection, model._state.offsets)
    twin.learn(X[0], y[0])
    for i in range(1, len(X)):
        np.testing.assert_allclose(
            model.predict_proba(X[i : i + 1])[0], twin.proba(X[i]), rtol=1e-8
        )
        assert model.prequential(X[i : i + 1], y[i : i + 1])[0] == twin.predict(X[i])
        twin.learn(X[i], y[i])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("scale_rows", "prior"), [(0, "balanced"), (20, "balanced"), (20, "counts"), (53, "counts")]
)
def test_the_discriminant_on_random_features_equals_the_twin(scale_rows, prior, weighted):
    X, y = stream(80, 3, seed=8)
    X[:, 1] = np.where(np.arange(80) < 60, 5.0, X[:, 1])  # constant when the scale is made
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5, 4.0], len(X))
    weights[0] = 1.0
    weights = weights if weighted else np.ones(len(X))
    model = RandomFeatureLDA(
        n_features=12, scale_rows=scale_rows, class_prior=prior, random_state=4
    )
    whole = clone(model).prequential(X, y, sample_weight=weights)
    model.partial_fit(X[:1], y[:1])
    state = model._state
    draws = np.random.default_rng(state.seed).normal(size=(200, 3))
    twin = NaiveRandomFeatureLDA(
        state.projection, state.offsets, draws, scale_rows, prior == "counts"
    )
    twin.learn(X[0], y[0])
    for i in range(1, len(X)):
        np.testing.assert_allclose(
            model.predict_proba(X[i : i + 1])[0], twin.proba(X[i]), rtol=1e-6, atol=1e-12
        )
        answer = model.prequential(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
        assert answer[0] == whole[i] == twin.predict(X[i])
        twin.learn(X[i], y[i], weights[i])


def networks(model, d, h, m):
    """Teacher and newborn student of a model as plain networks."""
    s = model._state
    wide = len(s.teacher_hidden)
    teacher = Network(
        A=s.teacher_in.T,
        a=s.teacher_hidden,
        gain=np.ones(wide),
        shift=np.zeros(wide),
        B=s.teacher_out.T,
        b=s.teacher_offsets,
    )
    parts = np.split(s.newborn, np.cumsum([h * d, h, h, h, h * m]))
    newborn = Network(
        A=parts[0].reshape(h, d),
        a=parts[1],
        gain=parts[2],
        shift=parts[3],
        B=parts[4].reshape(h, m).T,
        b=parts[5],
    )
    return teacher, newborn


@pytest.mark.parametrize("expected", [None, 6])
def test_students_equal_the_twin(expected):
    X, y = stream(40, 3, seed=2)
    model = PEC(
        width=4, teacher_width=20, n_outputs=5, n_rows_expected=expected, random_state=7
    ).partial_fit(X[:1], y[:1])
    twin = NaivePEC(*networks(model, d=3, h=4, m=5), rate=0.01, expected=expected)
    twin.learn(X[0], y[0])
    for i in range(1, len(X)):
        np.testing.assert_allclose(
            model.predict_proba(X[i : i + 1])[0], twin.proba(X[i]), rtol=1e-5
        )
        assert model.prequential(X[i : i + 1], y[i : i + 1])[0] == twin.predict(X[i])
        twin.learn(X[i], y[i])
    assert max(twin.steps.values()) > 6
