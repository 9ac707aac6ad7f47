"""Eigenvectors of symmetric matrices, against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mist.engine.eigenvectors import eigenvectors, place_of_rank


def decomposed(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    V, values = S.copy(), np.full(len(S), -1.0)
    eigenvectors(V, values, np.full(len(S), -1.0))
    return V, values


def check(S: np.ndarray) -> None:
    V, values = decomposed(S)
    size = max(np.abs(S).max(initial=0.0), 1e-290)
    np.testing.assert_allclose(
        np.sort(values) / size, np.linalg.eigvalsh(S) / size, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(V @ V.T, np.eye(len(S)), rtol=0, atol=1e-12)
    np.testing.assert_allclose((V.T * values) @ V / size, S / size, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_of_covariances(n, scale):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, 2 * n))
    check(root @ root.T * scale)


@settings(deadline=None)  # the first example compiles
@given(arrays(np.float64, (4, 4), elements=st.floats(-10, 10).map(lambda v: round(v, 2))))
def test_of_any_matrix(A):
    check(A + A.T)


@pytest.mark.parametrize("S", [np.zeros((3, 3)), np.ones((4, 4)), np.diag([2.0, 0.0, 2.0, -1.0])])
def test_of_matrices_with_equal_eigenvalues(S):
    check(S)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_ends_and_gives_no_number(bad):
    S = np.eye(4)
    S[1, 2] = S[2, 1] = bad
    assert np.isnan(decomposed(S)[1]).any()


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=8))
def test_places_are_those_of_a_stable_sort(values):
    v = np.array(values)
    found = [place_of_rank(v, len(v), rank) for rank in range(len(v))]
    assert found == np.argsort(-v, kind="stable").tolist()
