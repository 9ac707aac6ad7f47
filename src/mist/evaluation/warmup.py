"""Compiling before the clock runs, so that rows/s measures learning and not the compiler."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["warm_up"]

_ROWS = 400
_DISTANCE = 20.0


def warm_up(model: Any, n_features: int, *, missing: bool = False) -> float:
    """Let copies of a model learn, split and predict once, if it is of those that are compiled.

    Parameters
    ----------
    model : object
        Any classifier; only a :class:`mist.MistClassifier` is compiled when it is first used. It
        is not changed.
    n_features : int
        Number of columns d of the rows to come.
    missing : bool, default=False
        Whether there will be missing values: the kernels for them are compiled besides the others.

    Returns
    -------
    float
        Seconds it took; 0.0 for a model that is not compiled.

    Raises
    ------
    ValueError
        If an option of the model is bad, or does not go with the number of columns.

    Examples
    --------
    >>> from mist.baselines import NCM
    >>> from mist.evaluation import warm_up
    >>> warm_up(NCM(), n_features=4)
    0.0
    """
    from sklearn.base import clone

    from mist.classifier import MistClassifier
    from mist.rows import categorical_columns

    if not isinstance(model, MistClassifier):
        return 0.0
    start = perf_counter()
    rng = np.random.default_rng(0)
    y = np.arange(_ROWS) % 2
    X = rng.normal(size=(_ROWS, n_features)) + _DISTANCE * y[:, None]
    binary = categorical_columns(model, model.categorical_features, n_features)
    X[:, binary] = rng.integers(0, 2, X[:, binary].shape)
    tables = [X]
    if missing:
        # Up to its first missing value a stream is learnt without them.
        tables.append(X.copy())
        tables[1][::7] = np.nan
    # Evidence is cheap here: the tree has to pass its test and split, too.
    quick = clone(model).set_params(
        grace_period=50,
        delta=0.9,
        tie_threshold=0.0,
        split_test="gain",
        union_bound=False,
        categorical_features=binary,
    )
    for learnt in tables:
        tree = clone(quick).partial_fit(learnt, y)
        tree.prequential(learnt, y)
        for asked in tables:
            tree.predict(asked)
    return perf_counter() - start
