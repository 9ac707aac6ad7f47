"""Packed Cholesky factors against `numpy.linalg`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mist.adaptation.packed import add_outer, factorise, solve, solve_half
from naive_adaptation import packed, unpacked


def positive(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n + 2))
    return A @ A.T


matrices = st.tuples(st.integers(1, 9), st.integers(0, 10**6))


@settings(max_examples=50, deadline=None)
@given(matrices)
def test_factor_and_solution(case):
    n, seed = case
    S, b = positive(n, seed), np.random.default_rng(seed + 1).normal(size=n)
    factor = packed(S)
    factorise(factor, n)
    L = np.linalg.cholesky(S)
    np.testing.assert_allclose(unpacked(factor, n), L, rtol=1e-7, atol=1e-9)
    half, full = b.copy(), b.copy()
    solve_half(factor, half, n)
    solve(factor, full, n)
    np.testing.assert_allclose(half, np.linalg.solve(L, b), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(S @ full, b, rtol=1e-6, atol=1e-8)


@settings(max_examples=50, deadline=None)
@given(matrices, st.sampled_from([1.0, 1e-6, 1e6]))
def test_update(case, size):
    n, seed = case
    S, v = positive(n, seed), size * np.random.default_rng(seed + 1).normal(size=n)
    v[seed % n] = 0.0
    factor = packed(np.linalg.cholesky(S))
    add_outer(factor, v.copy(), n)
    L = unpacked(factor, n)
    np.testing.assert_allclose(L @ L.T, S + np.outer(v, v), rtol=1e-9, atol=1e-9 + 1e-12 * size**2)


def test_a_column_that_depends_on_another_leaves_a_finite_factor():
    S = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    factor = packed(S)
    factorise(factor, 3)
    assert (np.diag(unpacked(factor, 3)) > 0.0).all()
    b = np.array([1.0, 0.5, 3.0])
    solve(factor, b, 3)
    assert np.isfinite(b).all()
    assert b[2] == pytest.approx(3.0)
