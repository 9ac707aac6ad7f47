"""Principal components that are fitted once, on the first rows of a stream."""

import numpy as np
from numpy.typing import NDArray

from mist.evaluation.protocol import ClassIncrementalStream

_HEAD = 1000
_FIRST_CLASSES = 2


def head_of_stream(
    y: NDArray[np.int64], n_train: int | None, seed: int | None
) -> NDArray[np.int64]:
    """Return the numbers of the first 1,000 training rows of the first two classes.

    Parameters
    ----------
    y : ndarray of int64, shape (n,)
        Labels.
    n_train : int or None
        Training rows, if no seed is given.
    seed : int or None
        Seed of ``mist.evaluation.ClassIncrementalStream(X, y, seed=seed)``, for its split and
        order. None for the rows of the customary training part in the order of the table.

    Returns
    -------
    ndarray of int64, shape (at most 1000,)
        Row numbers, in stream order.
    """
    if seed is None:
        training = y[:n_train]
        first = np.unique(training)[:_FIRST_CLASSES]
        return np.flatnonzero(np.isin(training, first))[:_HEAD]
    numbers = np.arange(len(y))[:, None]
    stream = ClassIncrementalStream(numbers, y, classes_per_task=_FIRST_CLASSES, seed=seed)
    return next(iter(stream)).X_train[:_HEAD, 0].astype(np.int64)


def project(
    X: NDArray[np.float64], head: NDArray[np.int64], n_components: int
) -> NDArray[np.float64]:
    """Project rows on the principal components of some of them.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        Rows.
    head : ndarray of int64, shape (m,)
        Numbers of the rows on which the components are fitted.
    n_components : int
        Components to keep.

    Returns
    -------
    ndarray of float64, shape (n, n_components)
        Projected rows.

    Raises
    ------
    ValueError
        If ``n_components`` is out of range.
    """
    from sklearn.decomposition import PCA

    most = min(len(head), X.shape[1])
    if not 1 <= n_components <= most:
        raise ValueError(f"pca={n_components} must be between 1 and {most} components")
    return PCA(n_components, svd_solver="full").fit(X[head]).transform(X)
