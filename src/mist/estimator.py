"""Shared by all estimators: saving, undoing a refused call, `fit`, and a summary of the size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sklearn.base import ClassifierMixin

from mist.locking import Lockable

__all__ = ["Saveable", "StreamScorer", "settings_of", "size_of", "take_over", "without_trace"]


class Saveable(Lockable):
    """An estimator that can be saved to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `mist.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file, by convention with the ending ``.mist``. An existing file is replaced once
            the new one is complete and on the disk. A missing folder is created.

        Raises
        ------
        TypeError
            If the model has a value that cannot be saved; nothing is written.
        OSError
            If the file cannot be written; an existing file is then unchanged.

        See Also
        --------
        mist.persistence.save : The same, with an attachment.
        """
        from mist.persistence import save

        save(self, path)


class StreamScorer(ClassifierMixin):
    """A classifier whose `score` reads labels and weights as its other methods do."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Rows.
        y : array-like, shape (n,)
            Their labels.
        sample_weight : array-like, shape (n,), or None
            Weights from 0 to 2**31.

        Returns
        -------
        float
            Share of the labels, or of the weight, that is predicted correctly.

        Raises
        ------
        ValueError
            If a label or a weight is missing; the message names the row.
        """
        from mist.rows import check_labels, check_weights  # compiled code: only when needed

        y = check_labels(None, y)
        weights = None if sample_weight is None else check_weights(y, sample_weight)
        accuracy: float = super().score(X, y, weights)
        return accuracy


@contextmanager
def without_trace(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def take_over(estimator: Any, fresh: Any, learnt: Sequence[str]) -> None:
    """Replace the learnt attributes of an estimator by those of another one.

    Parameters
    ----------
    estimator, fresh : object
        Two estimators of the same type.
    learnt : sequence of str
        Names of the learnt attributes.
    """
    for name in learnt:
        estimator.__dict__.pop(name, None)
        if name in vars(fresh):
            setattr(estimator, name, vars(fresh)[name])


def settings_of(model: Any, *, deep: bool = True) -> dict[str, Any]:
    """Return the settings of a model by name: the flat ones of a tree, the parameters of others.

    Parameters
    ----------
    model : object
        An estimator in the sense of scikit-learn.
    deep : bool, default=True
        Whether the settings of the models in it are added, as in ``estimator__delta``.

    Returns
    -------
    dict

    Examples
    --------
    >>> from mist import MistClassifier, MistForest
    >>> settings_of(MistForest(MistClassifier("sketch")))["estimator__bandwidth"]
    0.2
    """
    if hasattr(model, "settings"):
        return dict(model.settings())
    out = {}
    for name, value in model.get_params(deep=False).items():
        if deep and hasattr(value, "get_params") and not isinstance(value, type):
            out.update({f"{name}__{inner}": each for inner, each in settings_of(value).items()})
        out[name] = value
    return out


def size_of(model: Any) -> str:
    """Summarise how much a tree or a forest has learnt.

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
