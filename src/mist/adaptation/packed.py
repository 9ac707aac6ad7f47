"""Cholesky factors of small matrices, packed row by row: update, factorisation, solution."""

from __future__ import annotations

import math

from mist.engine.compiled import exact


@exact
def add_outer(factor, v, n):
    """Replace the factor of S by that of S + v v'; ``v`` is overwritten."""
    for j in range(n):
        if v[j] == 0.0:
            continue
        jj = j * (j + 1) // 2 + j
        root = math.sqrt(factor[jj] * factor[jj] + v[j] * v[j])
        c, s, r = root / factor[jj], v[j] / factor[jj], factor[jj] / root
        factor[jj] = root
        for i in range(j + 1, n):
            ij = i * (i + 1) // 2 + j
            factor[ij] = (factor[ij] + s * v[i]) * r
            v[i] = c * v[i] - s * factor[ij]


@exact
def factorise(matrix, n):
    """Replace a packed positive definite matrix by its factor."""
    for i in range(n):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            column = j * (j + 1) // 2
            total = matrix[row + j]
            for k in range(j):
                total -= matrix[row + k] * matrix[column + k]
            if j < i:
                matrix[row + j] = total / matrix[column + j]
            else:
                # Rounding may leave nothing of a column that depends on the others.
                matrix[row + i] = math.sqrt(max(total, 1e-12 * abs(matrix[row + i]) + 1e-300))


@exact
def solve_half(factor, b, n):
    """Replace b by the solution z of L z = b, where L is the factor."""
    for i in range(n):
        row = i * (i + 1) // 2
        total = b[i]
        for j in range(i):
            total -= factor[row + j] * b[j]
        b[i] = total / factor[row + i]


@exact
def solve(factor, b, n):
    """Replace b by the solution x of S x = b, where S = L L'."""
    solve_half(factor, b, n)
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= factor[j * (j + 1) // 2 + i] * b[j]
        b[i] = total / factor[i * (i + 1) // 2 + i]
