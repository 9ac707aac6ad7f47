"""What estimators share: refused calls leave no trace, `fit` starts afresh, size in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["size_of", "take_over", "without_trace"]


@contextmanager
def without_trace(estimator: Any) -> Iterator[None]:
    """Put an estimator's attributes back as they were if the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def take_over(estimator: Any, fresh: Any, learnt: Sequence[str]) -> None:
    """Replace what an estimator has learnt by what a fresh copy of it has learnt.

    Parameters
    ----------
    estimator, fresh : object
        Two estimators of the same kind.
    learnt : sequence of str
        Names of the attributes that hold what was learnt.
    """
    for name in learnt:
        estimator.__dict__.pop(name, None)
        if name in vars(fresh):
            setattr(estimator, name, vars(fresh)[name])


def size_of(model: Any) -> str:
    """Say in a few words how much a tree or a forest has learnt.

    Parameters
    ----------
    model : object
        A fitted model with leaves.

    Returns
    -------
    str
        Rows, classes, leaves and kilobytes.
    """
    rows, classes, leaves = model.n_rows_, len(model.classes_), model.n_leaves_
    return (
        f"{rows:,} row{'s' * (rows != 1)}, {classes:,} class{'es' * (classes != 1)}, "
        f"{leaves:,} lea{'ves' if leaves != 1 else 'f'}, {model.nbytes / 1024:,.0f} KB"
    )
