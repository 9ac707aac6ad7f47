"""The class-incremental stream: labelled rows, split, grouped into tasks and put in order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Task:
    """One task of a class-incremental stream: its classes and their rows.

    Examples
    --------
    >>> from mist.evaluation import ClassIncrementalStream
    >>> task = next(iter(ClassIncrementalStream([[0], [1], [2], [3]], list("abab"), test_size=0.5)))
    >>> task.classes, task.X_train.shape, task.X_test.shape
    (('a', 'b'), (2, 1), (2, 1))
    """

    classes: tuple[Any, ...]
    """Labels of the task, in label order."""

    X_train: NDArray[np.float64]
    """Training rows in stream order, shape (n, d)."""

    y_train: NDArray[Any]
    """Labels of the training rows, shape (n,)."""

    X_test: NDArray[np.float64]
    """Held-out rows, shape (m, d); m is 0 when every class of the task has a single row."""

    y_test: NDArray[Any]
    """Labels of the held-out rows, shape (m,)."""


class ClassIncrementalStream:
    """A table turned into a stream in which the classes arrive task after task.

    Rows are split into train and test, stratified by class. The classes, in label order, are
    grouped into ``max(1, K // classes_per_task)`` tasks of `classes_per_task` classes; the last
    task takes the rest. The training stream is task after task, the rows of each shuffled. One
    generator, seeded once, shuffles the tasks in turn.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Numeric rows; NaN marks a missing value.
    y : array-like of shape (N,)
        Labels: numbers or strings.
    classes_per_task : int, default=2
        Classes that arrive together.
    test_size : float, default=0.2
        Share of rows held out, in (0, 1).
    seed : int, default=42
        Seed of the split and of the order of rows.

    Attributes
    ----------
    classes : tuple
        All K labels, in label order.
    n_features : int
        Number of columns d.
    n_rows : int
        Rows of the training stream n.
    boundaries : ndarray of int64, shape (T,)
        Training rows up to the end of each task; the last entry is `n_rows`.
    X_train : ndarray of float64, shape (n, d)
        The whole training stream, in order.
    y_train : ndarray of shape (n,)
        Its labels.
    seed : int
        The seed it was made with.

    Raises
    ------
    ValueError
        If X is not a numeric table, y is not one label a row, their lengths differ, there are no
        rows, a label is missing, an option is out of range, or the split would leave a class
        without training rows or the stream without test rows.

    Notes
    -----
    Iterating gives one `Task` after another; ``len`` is the number of tasks T. A class with one row
    cannot be stratified: its row goes to train, and it is not tested.

    Examples
    --------
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream
    >>> digits = load_toy("digits")
    >>> stream = ClassIncrementalStream(digits.X, digits.y, classes_per_task=4)
    >>> [task.classes for task in stream]
    [(0, 1, 2, 3), (4, 5, 6, 7, 8, 9)]
    >>> stream.n_rows, stream.boundaries
    (1437, array([ 576, 1437]))
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes_per_task: int = 2,
        test_size: float = 0.2,
        seed: int = 42,
    ) -> None:
        rows, labels = _table(X), _labels(y)
        if len(rows) != len(labels):
            raise ValueError(f"X has {len(rows)} rows and y has {len(labels)} labels: give as many")
        if not len(labels):
            raise ValueError("X and y are empty: a stream needs at least one class")
        if classes_per_task < 1:
            raise ValueError(f"classes_per_task={classes_per_task} must be at least 1")
        if not 0 < test_size < 1:
            raise ValueError(f"test_size={test_size} must be a share of rows between 0 and 1")

        classes, code = np.unique(labels, return_inverse=True)
        train, test = _stratified_split(code, test_size, seed)
        untrained = np.setdiff1d(np.arange(len(classes)), code[train])
        if len(untrained):
            raise ValueError(
                f"test_size={test_size} leaves class {classes[untrained[0]]!r} without a training "
                "row: lower it"
            )
        n_tasks = max(1, len(classes) // classes_per_task)
        task_of = np.minimum(np.arange(len(classes)) // classes_per_task, n_tasks - 1)
        shuffle = np.random.default_rng(seed)
        members = [
            shuffle.permutation(train[task_of[code[train]] == task]) for task in range(n_tasks)
        ]
        order = np.concatenate(members)

        self.seed = seed
        self.classes: tuple[Any, ...] = tuple(classes.tolist())
        self.n_features: int = rows.shape[1]
        self.n_rows: int = len(order)
        self.boundaries: NDArray[np.int64] = np.cumsum([len(part) for part in members])
        self.X_train: NDArray[np.float64] = rows[order]
        self.y_train: NDArray[Any] = labels[order]
        self._tasks: list[Task] = []
        for task, end in enumerate(self.boundaries):
            stretch = slice(end - len(members[task]), end)
            held_out = test[task_of[code[test]] == task]
            self._tasks.append(
                Task(
                    classes=tuple(classes[task_of == task].tolist()),
                    X_train=self.X_train[stretch],
                    y_train=self.y_train[stretch],
                    X_test=rows[held_out],
                    y_test=labels[held_out],
                )
            )

    def __iter__(self) -> Iterator[Task]:
        """Give the tasks in stream order."""
        return iter(self._tasks)

    def __len__(self) -> int:
        """Count the tasks."""
        return len(self._tasks)


def _table(X: ArrayLike) -> NDArray[np.float64]:
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be numeric, encode text columns first: {error}") from error
    if rows.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {rows.shape}")
    return rows


def _labels(y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a row, got shape {labels.shape}")
    for row, label in enumerate(labels.tolist()):
        if label is None or label != label:
            raise ValueError(f"y has no label in row {row}: drop the row or fill it in")
    return labels


def _stratified_split(
    code: NDArray[np.intp], test_size: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row numbers of train and test; a class with a single row goes to train."""
    from sklearn.model_selection import train_test_split

    single = np.bincount(code)[code] == 1
    shared = np.flatnonzero(~single)
    if not len(shared):
        raise ValueError("every class has a single row: there is nothing to hold out for the test")
    try:
        train, test = train_test_split(
            shared, test_size=test_size, random_state=seed, stratify=code[shared]
        )
    except ValueError as error:
        raise ValueError(
            f"test_size={test_size} cannot be stratified over {len(code)} rows: {error}"
        ) from error
    return np.concatenate([train, np.flatnonzero(single)]), test
