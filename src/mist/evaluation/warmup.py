"""Compilation before timing starts, so that rows/s does not include the compiler."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["warm_up"]

_TREE_ROWS = 400
_BASELINE_ROWS = 4  # enough for every code path; some models take seconds for a hundred rows
_DISTANCE = 20.0


def warm_up(model: Any, n_features: int, *, missing: bool = False) -> float:
    """Compile a model: copies of it learn and predict a few rows.

    Parameters
    ----------
    model : object
        Any classifier; it is not changed. :class:`mist.MistClassifier`, :class:`mist.MistForest`
        and the models of `mist.baselines` are compiled on first use.
    n_features : int
        Number of columns d of the rows.
    missing : bool, default=False
        Whether rows will have missing values. Their kernels are then compiled in addition, unless
        the model refuses missing values.

    Returns
    -------
    float
        Elapsed seconds; 0.0 for a model that is not compiled.

    Raises
    ------
    ValueError
        If an option of the model is invalid, or incompatible with the number of columns.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from mist.baselines import NCM
    >>> from mist.evaluation import warm_up
    >>> warm_up(NCM(), n_features=4) > 0
    True
    >>> warm_up(GaussianNB(), n_features=4)
    0.0
    """
    from sklearn.base import clone
    from sklearn.utils import get_tags

    from mist.baselines.base import StreamClassifier
    from mist.classifier import MistClassifier
    from mist.flat_settings import set_settings
    from mist.forest import MistForest
    from mist.rows import categorical_columns

    is_forest = isinstance(model, MistForest)
    tree = model.new_tree() if is_forest else model
    is_tree = isinstance(tree, MistClassifier)
    is_baseline = isinstance(model, StreamClassifier) and model._compiled
    if not (is_tree or is_baseline):
        return 0.0
    start = perf_counter()
    rng = np.random.default_rng(0)
    y = np.arange(_TREE_ROWS if is_tree else _BASELINE_ROWS) % 2
    X = rng.normal(size=(len(y), n_features)) + _DISTANCE * y[:, None]
    quick = clone(tree)
    if is_tree:
        # Column names are only in the model itself, not in its clone.
        binary = categorical_columns(model, tree.categorical_features, n_features)
        X[:, binary] = rng.integers(0, 2, X[:, binary].shape)
        # An easy test, so that the tree also compiles its split, or opens candidate splits.
        easy = "eprocess" if tree.settings()["split_test"] == "eprocess" else "gain"
        set_settings(
            quick,
            grace_period=50,
            delta=0.9,
            tie_threshold=0.0,
            split_test=easy,
            union_bound=False,
            categorical_features=binary,
        )
    if is_forest:
        quick = clone(model).set_params(estimator=quick, n_trees=1, max_features=1.0)
    tables = [X]
    if missing and get_tags(model).input_tags.allow_nan:
        # A stream uses the kernels without missing values up to its first missing value.
        tables.append(X.copy())
        tables[1][::7] = np.nan
    for learnt in tables:
        copy = clone(quick).partial_fit(learnt, y)
        # With probabilities, which need all that predictions of labels need.
        getattr(copy, "prequential_proba", copy.prequential)(learnt, y)
        for asked in tables:
            copy.predict(asked)
    return perf_counter() - start
