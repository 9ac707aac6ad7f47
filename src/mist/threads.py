"""One task for many items, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def in_threads(
    task: Callable[[_Item], _Answer], items: Iterable[_Item], n_jobs: int | None
) -> list[_Answer]:
    """Return the results of a task for all items, in their order.

    Compiled loops release the GIL, so threads are enough.

    Examples
    --------
    >>> in_threads(abs, [-1, 2], n_jobs=2)
    [1, 2]
    """
    if effective_n_jobs(n_jobs) == 1:
        return [task(item) for item in items]
    # By default joblib parses an expression in each call, and in CPython before 3.11.8 parsing
    # in two threads at once can fail: here and in Numba's compiler.
    pool = Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem", pre_dispatch="all")
    return pool(delayed(task)(item) for item in items)
