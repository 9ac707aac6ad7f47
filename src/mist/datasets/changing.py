"""Class-incremental streams in which classes come again, changed."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.datasets.drifting import DriftStream
from mist.datasets.sampling import check_positive, directions

Change = Literal["moved", "swap", "split", "offset", "recur"]

_MOVES = {"moved": (1.5, 1), "split": (2.0, 2)}
"""Deviations by which a class is shifted, and which of its rows: all, or every second one."""

_HELD_OUT, _FIRST, _AGAIN = range(3)


def make_changing_classes(
    X: ArrayLike, y: ArrayLike, *, kind: Change = "moved", classes_per_task: int = 2, seed: int = 0
) -> DriftStream:
    """Make a stream of tasks from a table, some of which come again with changed classes.

    A fifth of each class is held out. Half of its other rows come in tasks of random classes. Then
    the first half of the tasks come again, with the other rows of their classes, changed. A shift
    by s deviations has a random direction, and s is its root mean square over the columns in
    deviations within classes.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Finite numbers.
    y : array-like of shape (N,)
        Labels; each class has at least 3 rows.
    kind : {"moved", "swap", "split", "offset", "recur"}, default="moved"
        Each returning class is shifted by 1.5 deviations; the first two classes of each returning
        task exchange their labels; half of each returning class is shifted by 2 deviations; all
        classes are shifted alike by 1 deviation, gradually over the first half of the returning
        rows; or all tasks come again, unchanged.
    classes_per_task : int, default=2
        Classes that arrive together.
    seed : int, default=0
        Seed of the split, the order and the shifts.

    Returns
    -------
    DriftStream
        Held-out rows are as at the end. The drift point is the first row that came again.

    Raises
    ------
    ValueError
        If an option is out of range, X is not a finite table with a label for each row, or a class
        has fewer than 3 rows.

    Examples
    --------
    >>> from mist.datasets import load
    >>> from mist.datasets import make_changing_classes
    >>> iris = load("iris")
    >>> stream = make_changing_classes(iris.X, iris.y, kind="swap")
    >>> stream.X.shape, stream.X_test.shape, stream.drifts
    ((100, 4), (30, 4), array([60]))
    """
    X, y = np.array(X, dtype=np.float64), np.array(y)
    _check(X, y, kind, classes_per_task)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    classes, code = np.unique(y, return_inverse=True)
    part = _parts(code)
    arriving = rng.permutation(len(classes))
    tasks = np.split(arriving, range(classes_per_task, len(classes), classes_per_task))
    again = tasks if kind == "recur" else tasks[: max(1, len(tasks) // 2)]

    def rows(number: int, chosen: list[NDArray[np.intp]]) -> NDArray[np.intp]:
        of_task = [np.flatnonzero((part == number) & np.isin(code, task)) for task in chosen]
        return np.concatenate([rng.permutation(own) for own in of_task])

    first, later = rows(_FIRST, tasks), rows(_AGAIN, again)
    shifts = _shifts(X, code, rng)
    changed = part != _FIRST
    if kind == "offset":
        share = changed.astype(np.float64)
        share[later] = np.minimum(1, 2 * np.arange(len(later)) / len(later))
        X += share[:, None] * shifts[0]
    for label in np.concatenate(again) if kind in _MOVES else ():
        size, step = _MOVES[kind]
        for number in (_HELD_OUT, _AGAIN):
            X[np.flatnonzero((code == label) & (part == number))[::step]] += size * shifts[label]
    for task in again if kind == "swap" else ():
        for label, other in zip(task[:2], task[1::-1], strict=True):
            y[changed & (code == label)] = classes[other]
    stream = np.concatenate([first, later])
    categorical = np.array([bool(np.isin(column, (0, 1)).all()) for column in X.T])
    drifts, test = np.array([len(first)]), part == _HELD_OUT
    return DriftStream(kind, X[stream], y[stream], drifts, categorical, X[test], y[test])


def _parts(code: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the part of each row: the first rows of each class are held out."""
    part = np.full(len(code), _AGAIN)
    for label, count in enumerate(np.bincount(code)):
        own, held_out = np.flatnonzero(code == label), max(1, count // 5)
        part[own[: (count + held_out) // 2]] = _FIRST
        part[own[:held_out]] = _HELD_OUT
    return part


def _shifts(
    X: NDArray[np.float64], code: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a shift by one deviation for each class."""
    means = np.array([X[code == label].mean(axis=0) for label in range(code.max() + 1)])
    deviation = np.sqrt(((X - means[code]) ** 2).mean(axis=0))
    return directions(len(means), X.shape[1], rng) * np.sqrt(X.shape[1]) * deviation


def _check(X: NDArray[np.float64], y: NDArray[np.generic], kind: str, per_task: int) -> None:
    if kind not in get_args(Change):
        raise ValueError(f"kind={kind!r} must be one of {', '.join(get_args(Change))}")
    check_positive(classes_per_task=per_task)
    if X.ndim != 2 or y.shape != X.shape[:1] or not len(y) or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers and y a label a row, got {X.shape}")
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 3:
        raise ValueError(f"class {classes[counts.argmin()]} has fewer than 3 rows: drop it")
