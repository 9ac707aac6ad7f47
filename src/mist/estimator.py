"""What estimators share: files, refused calls that leave no trace, `fit` afresh, size in words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mist.gate import Gated

__all__ = ["Saveable", "size_of", "take_over", "without_trace"]


class Saveable(Gated):
    """An estimator that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, from which `mist.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file, by convention ``.mist``; an earlier one is replaced once the new one is
            complete and on the disk. Its folder is made if need be.

        Raises
        ------
        TypeError
            If the model holds something that files cannot; nothing is written.
        OSError
            If the file cannot be written; an earlier file is then as it was.

        See Also
        --------
        mist.persistence.save : The same, with something attached.
        """
        from mist.persistence import save

        save(self, path)


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
