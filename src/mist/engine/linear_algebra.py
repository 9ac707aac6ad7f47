"""Threads of the linear algebra library."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _libraries() -> ThreadpoolController:
    # It looks through all loaded libraries, which takes longer than the work on a small matrix.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Let NumPy and SciPy work in one thread for a while.

    Small eigenproblems wake one thread per processor, which then spin for longer than the problem
    takes. In one thread the last digits do not depend on the number of processors, either.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     np.linalg.eigvalsh(np.eye(2)).tolist()
    [1.0, 1.0]
    """
    return _libraries().limit(limits=1, user_api="blas")
