"""Streams in their own order: how they are read, and the figures of predictions on them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from mist.datasets import DriftStream, load
from mist.evaluation import class_recall, kappa_temporal, prequential_accuracy, recovery_rows
from mist_bench.suites import SETTINGS, find_generator

__all__ = ["drift_measures", "read_stream"]

_WINDOW = 200
"""Rows of the windowed accuracy that has to be back at its level after a drift."""


@lru_cache(maxsize=2)
def read_stream(name: str, seed: int) -> DriftStream:
    """Make or load the stream of a run; methods that follow each other on it share it.

    Parameters
    ----------
    name : str
        A key of `mist_bench.SETTINGS` whose order is natural.
    seed : int
        Seed of the run. Tables in the order of their file do not depend on it.

    Returns
    -------
    DriftStream
        The stream; without drift points if it comes from a file.

    Examples
    --------
    >>> read_stream("multimodal_swap", 42).X.shape
    (2400, 10)
    """
    setting = SETTINGS[name]
    options = setting.load_options(seed, "honest")
    if not setting.generator:
        table = load(setting.dataset, **options)
        rows = slice(setting.first)
        return DriftStream(name, table.X[rows], table.y[rows], np.array([], int), table.categorical)
    make = find_generator(setting)
    if not setting.dataset:
        return make(**options)
    table = load(setting.dataset)
    return make(table.X, table.y, **options)


def drift_measures(stream: DriftStream, predicted: NDArray[np.int64]) -> dict[str, float]:
    """Return the figures of predictions that were made before each row was learnt.

    Parameters
    ----------
    stream : DriftStream
        The stream, with n rows.
    predicted : ndarray of int64, shape (n,)
        The predictions.

    Returns
    -------
    dict of str to float
        Prequential accuracy and class recall, both kappas, and the mean over the drifts of the
        rows until recovery: NaN without a drift that is far enough from the next one.

    Examples
    --------
    >>> from mist.datasets import make_sea
    >>> stream = make_sea(2000)
    >>> drift_measures(stream, stream.y)["recovery_rows"]
    200.0
    """
    correct = predicted == stream.y
    recovered = recovery_rows(correct, stream.drifts, _WINDOW)
    known = recovered[~np.isnan(recovered)]
    return {
        "prequential_accuracy": prequential_accuracy(correct),
        "kappa": float(cohen_kappa_score(stream.y, predicted)),
        "kappa_temporal": kappa_temporal(stream.y, predicted),
        "prequential_recall": float(class_recall(stream.y, predicted)[1].mean()),
        "recovery_rows": float(known.mean()) if len(known) else float("nan"),
    }
