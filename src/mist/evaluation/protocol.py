"""Class-incremental streams: labelled rows split, grouped into tasks and ordered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mist.cells import is_missing, unmasked
from mist.evaluation.scaling import standardise, standardise_as_they_come
from mist.labels import check_one_kind

ClassOrder = Literal["label", "random"] | Sequence[Any]
Protocol = Literal["honest", "paper"]

PROTOCOLS = ("honest", "paper")

_SCALED_BY = 1000
"""Rows that set the scale of a stream; the paper's projection of MNIST uses as many."""

_LAST_SEED = 2**32 - 1
"""The highest seed that scikit-learn accepts."""


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
    """Training rows in stream order, shape (n, d). With blurred borders some belong to classes of
    neighbouring tasks."""

    y_train: NDArray[Any]
    """Labels of the training rows, shape (n,)."""

    X_test: NDArray[np.float64]
    """Held-out rows, shape (m, d); m is 0 if the classes of the task are too small. Before a test
    `ClassIncrementalStream.prepare` gives them the current scale of the stream."""

    y_test: NDArray[Any]
    """Labels of the held-out rows, shape (m,)."""


class ClassIncrementalStream:
    """Class-incremental stream made from a table: classes arrive task after task.

    Rows are split into train and test, stratified by class. The K classes, in label order, are
    grouped into tasks of `classes_per_task`; the last task takes the rest. The training stream has
    one task after another, with shuffled rows. One generator, seeded once, shuffles all tasks.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Numeric rows; NaN marks a missing value.
    y : array-like of shape (N,)
        Labels: numbers or strings.
    classes_per_task : int or None, default=None
        Classes per task: there are ``max(1, K // classes_per_task)`` tasks. It is 2 if neither it
        nor `n_tasks` is given.
    n_tasks : int or None, default=None
        Number of tasks T, instead of `classes_per_task`: ``K // n_tasks`` classes per task.
    class_order : {"label", "random"} or sequence, default="label"
        Order in which the classes arrive: sorted, drawn with the seed, or as listed.
    protocol : {"honest", "paper"}, default="honest"
        ``"honest"``: every class is used, and nothing is fitted outside the stream. ``"paper"``:
        as in the paper's experiments, the last classes, which do not fill a task, are dropped
        before the split, and a scale is fitted on all kept rows, including held-out ones.
    scale : bool, default=False
        Whether columns are standardised. ``"honest"`` uses the mean and standard deviation of the
        training rows up to and including the row, fixed after the first task or 1,000 rows,
        whichever comes first; ``"paper"`` uses those of all kept rows.
    blur : float, default=0.0
        Width of the task borders, in task lengths. The position of each training row is shifted at
        random by up to ``blur / 2`` times the length of its task, either way, and the rows are
        sorted by shifted position. At 0 the borders are sharp.
    test_size : float, default=0.2
        Share of rows held out, in (0, 1).
    seed : int, default=42
        Seed of the split and of the order of rows, from 0 to 2**32 - 1.

    Attributes
    ----------
    classes : tuple
        The K labels in label order.
    n_features : int
        Number of columns d.
    n_rows : int
        Rows of the training stream n.
    boundaries : ndarray of int64, shape (T,)
        Training rows up to the end of each task; the last entry is `n_rows`. Blurred borders are
        given as if they were sharp.
    X_train : ndarray of float64, shape (n, d)
        The training stream, in order.
    y_train : ndarray of shape (n,)
        Its labels.
    seed : int
        The seed of the stream.

    Raises
    ------
    ValueError
        If X is not a numeric table or has an infinite value; y is not one label per row, has a
        missing label, or mixes text and numbers; the lengths differ or are 0; an option is out of
        range or conflicts with another; or the split would leave a class without training rows or
        the stream without test rows.

    Notes
    -----
    Iteration gives the tasks as `Task`; ``len`` is the number of tasks T. A class with one row
    cannot be stratified: its row goes to train, and the class is not tested. A class is also not
    tested if its share of the held-out rows is rounded to 0.

    The scale is fixed because a scale that changes while classes arrive would not match the
    statistics of old classes in a model.

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
    >>> stream = ClassIncrementalStream(digits.X, digits.y, n_tasks=4, protocol="paper")
    >>> [task.classes for task in stream]
    [(0, 1), (2, 3), (4, 5), (6, 7)]
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes_per_task: int | None = None,
        n_tasks: int | None = None,
        class_order: ClassOrder = "label",
        protocol: Protocol = "honest",
        scale: bool = False,
        blur: float = 0.0,
        test_size: float = 0.2,
        seed: int = 42,
    ) -> None:
        rows, labels = _table(X), _labels(y)
        if len(rows) != len(labels):
            raise ValueError(f"X has {len(rows)} rows, y has {len(labels)} labels: numbers differ")
        if not len(labels):
            raise ValueError("X and y are empty: a stream needs at least one class")
        for option, count in (("classes_per_task", classes_per_task), ("n_tasks", n_tasks)):
            if count is not None and not _is_whole(count):
                raise ValueError(f"{option}={count!r} must be a whole number")
        if not _is_whole(seed) or not 0 <= seed <= _LAST_SEED:
            raise ValueError(f"seed={seed!r} must be a whole number from 0 to {_LAST_SEED}")
        if not 0 < test_size < 1:
            raise ValueError(f"test_size={test_size} must be a share of rows between 0 and 1")
        if not 0 <= blur < np.inf:
            raise ValueError(f"blur={blur} must be 0 or a border width in task lengths")
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol={protocol!r} must be one of {', '.join(PROTOCOLS)}")

        known = np.unique(labels)
        arriving = _ordered(known, class_order, seed)
        sizes = _task_sizes(len(known), classes_per_task, n_tasks, protocol)
        if sum(sizes) < len(known):
            arriving = arriving[: sum(sizes)]
            used = np.isin(labels, arriving)
            rows, labels = rows[used], labels[used]
        if scale and protocol == "paper":
            rows = standardise(rows, rows)

        classes, code = np.unique(labels, return_inverse=True)
        train, test = _stratified_split(code, test_size, seed)
        untrained = np.setdiff1d(np.arange(len(classes)), code[train])
        if len(untrained):
            raise ValueError(
                f"test_size={test_size} leaves class {classes[untrained[0]]!r} without a training "
                "row: lower it"
            )
        task_of = np.empty(len(classes), dtype=np.int64)
        task_of[np.searchsorted(classes, arriving)] = np.repeat(np.arange(len(sizes)), sizes)
        shuffle = np.random.default_rng(seed)
        members = [
            shuffle.permutation(train[task_of[code[train]] == task]) for task in range(len(sizes))
        ]
        order = np.concatenate(members)
        lengths = np.array([len(part) for part in members])
        if blur:
            reach = np.repeat(lengths, lengths) * (blur / 2)
            moved = np.arange(len(order)) + reach * shuffle.uniform(-1, 1, len(order))
            order = order[np.argsort(moved, kind="stable")]

        self.seed = seed
        self.classes: tuple[Any, ...] = tuple(classes.tolist())
        self.n_features: int = rows.shape[1]
        self.n_rows: int = len(order)
        self.boundaries: NDArray[np.int64] = np.cumsum(lengths)
        self.y_train: NDArray[Any] = labels[order]
        self.X_train: NDArray[np.float64] = rows[order]
        self._first: NDArray[np.float64] | None = None
        if scale and protocol == "honest":
            # A copy, as a view would keep all rows in memory twice.
            self._first = self.X_train[: min(lengths[0], _SCALED_BY)].copy()
            rest = standardise(self.X_train[len(self._first) :], self._first)
            self.X_train = np.vstack([standardise_as_they_come(self._first), rest])
        self._tasks: list[Task] = []
        for task, end in enumerate(self.boundaries):
            stretch = slice(end - lengths[task], end)
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

    def prepare(self, X: NDArray[np.float64], learnt: int) -> NDArray[np.float64]:
        """Scale rows that are not in the training stream with its current scale.

        Parameters
        ----------
        X : ndarray of float64, shape (m, d)
            Rows, such as `Task.X_test`.
        learnt : int
            Training rows seen so far, at least 1.

        Returns
        -------
        ndarray of float64, shape (m, d)
            Scaled rows; X itself if the stream does not set the scale.

        Raises
        ------
        ValueError
            If `learnt` is below 1.

        Examples
        --------
        >>> from mist.evaluation import ClassIncrementalStream
        >>> X = [[0.0], [2.0], [4.0], [0.0], [2.0], [4.0]]
        >>> stream = ClassIncrementalStream(X, list("aaabbb"), test_size=0.4, scale=True)
        >>> task = next(iter(stream))
        >>> stream.prepare(task.X_test, learnt=stream.n_rows).round(2).ravel().tolist()
        [2.83, -1.41, 2.83]
        """
        if learnt < 1:
            raise ValueError(f"learnt={learnt} must be at least 1: the scale needs a training row")
        return X if self._first is None else standardise(X, self._first[:learnt])

    def __iter__(self) -> Iterator[Task]:
        """Iterate over the tasks in stream order."""
        return iter(self._tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self._tasks)


def _table(X: ArrayLike) -> NDArray[np.float64]:
    # Only here: it imports scikit-learn, which takes a second.
    from mist.tables import as_frame, frame_columns, numbers, plain_rows

    frame = as_frame(X)
    try:
        if frame is None:
            rows = np.asarray(plain_rows(X), dtype=np.float64)
        else:
            names, columns = frame_columns(frame)
            rows = numbers(columns, names, len(frame))
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be numeric, encode text columns first: {error}") from error
    if rows.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {rows.shape}")
    infinite = np.isinf(rows)
    if infinite.any():
        row, column = np.argwhere(infinite)[0].tolist()
        raise ValueError(
            f"X has infinity in row {row}, column {column}: replace it, or use NaN for a missing "
            "value"
        )
    return rows


def _labels(y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(unmasked(y))
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per row, got shape {labels.shape}")
    for row, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise ValueError(f"y has no label in row {row}: drop the row or fill it in")
    check_one_kind(labels.tolist())
    return labels


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _ordered(known: NDArray[Any], order: ClassOrder, seed: int) -> NDArray[Any]:
    """Return the classes in order of arrival."""
    unknown = f"class_order={order!r} must be 'label', 'random' or all the labels"
    if isinstance(order, str):
        if order not in ("label", "random"):
            raise ValueError(unknown)
        # A separate generator, so that the shuffling of rows does not depend on the class order.
        return known if order == "label" else np.random.default_rng([seed, 1]).permutation(known)
    try:
        listed = list(order.tolist() if isinstance(order, np.ndarray) else order)
    except TypeError:
        raise ValueError(unknown) from None
    wanted = known.tolist()
    for label in listed:
        if label not in wanted:
            raise ValueError(f"class_order has {label!r}, which is not a label of y: remove it")
        if listed.count(label) > 1:
            raise ValueError(f"class_order has {label!r} twice: list each label once")
    for label in wanted:
        if label not in listed:
            raise ValueError(f"class_order lacks the label {label!r}: list all of them")
    return np.array(listed, dtype=known.dtype)


def _task_sizes(
    n_classes: int, classes_per_task: int | None, n_tasks: int | None, protocol: Protocol
) -> list[int]:
    """Return the number of classes of each task."""
    if n_tasks is None:
        per_task = 2 if classes_per_task is None else classes_per_task
        if per_task < 1:
            raise ValueError(f"classes_per_task={per_task} must be at least 1")
        n_tasks = max(1, n_classes // per_task)
        per_task = min(per_task, n_classes)
    elif classes_per_task is not None:
        raise ValueError(
            f"classes_per_task={classes_per_task} and n_tasks={n_tasks} both set the tasks: "
            "give only one"
        )
    elif not 1 <= n_tasks <= n_classes:
        raise ValueError(f"n_tasks={n_tasks} must be between 1 and the {n_classes} classes of y")
    else:
        per_task = n_classes // n_tasks
    sizes = [per_task] * n_tasks
    if protocol == "honest":
        sizes[-1] += n_classes - sum(sizes)
    return sizes


def _stratified_split(
    code: NDArray[np.intp], test_size: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row numbers of train and test; a class with a single row goes to train."""
    from sklearn.model_selection import train_test_split

    single = np.bincount(code)[code] == 1
    shared = np.flatnonzero(~single)
    if not len(shared):
        raise ValueError("every class has a single row, so no row can be held out: give more rows")
    try:
        train, test = train_test_split(
            shared, test_size=test_size, random_state=seed, stratify=code[shared]
        )
    except ValueError as error:
        raise ValueError(
            f"test_size={test_size} cannot be stratified over {len(shared)} rows: {error}"
        ) from error
    return np.concatenate([train, np.flatnonzero(single)]), test
