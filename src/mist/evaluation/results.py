"""The result of one class-incremental run."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.adaptation.changes import Change


def _nothing() -> NDArray[Any]:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class StreamResult:
    """All measurements of one run of a model over a class-incremental stream.

    The stream has T tasks, n training rows and K classes; the run has m checkpoints (one after each
    chunk of rows) and E evaluations on held-out rows. Accuracies are between 0 and 1; rates are in
    rows per second.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> result = evaluate(MistClassifier(), stream, dataset=iris.name)
    >>> result.model, result.dataset, result.accuracy_matrix.shape, result.boundaries
    ('MistClassifier', 'iris', (3, 3), array([ 40,  80, 120]))
    >>> result.to_dict()["accuracy_matrix"][0]
    [1.0, None, None]
    """

    model: str
    """Name of the model."""

    dataset: str
    """Name of the data set; empty if not given."""

    seed: int
    """Seed of the stream."""

    accuracy_matrix: NDArray[np.float64]
    """``R[i, j]``: accuracy on the held-out rows of task j after task i was learnt, where the model
    may predict any class seen so far. Shape (T, T); NaN above the diagonal and in the column of a
    task without held-out rows."""

    final_accuracy: float
    """``mean_j R[T, j]``, see `mist.evaluation.final_accuracy`."""

    mean_class_recall: float
    """``mean_k recall(k)`` over the classes of all held-out rows after the last task, see
    `mist.evaluation.class_recall`."""

    average_forgetting: float
    """``mean_{j < T} (max_{j <= i < T} R[i, j] - R[T, j])``, see
    `mist.evaluation.average_forgetting`."""

    backward_transfer: float
    """``mean_{j < T} (R[T, j] - R[j, j])``, see `mist.evaluation.backward_transfer`."""

    prequential_accuracy: float
    """``mean_t correct[t]``, see `mist.evaluation.prequential_accuracy`."""

    correct: NDArray[Any]
    """Whether row t was predicted right before it was learnt, shape (n,), bool. The first row of an
    unfitted model counts as wrong. For a very long stream: the share of right predictions in each
    block of `rows_per_answer` rows."""

    boundaries: NDArray[np.int64]
    """Training rows up to the end of each task, shape (T,)."""

    n_leaves: NDArray[np.int64]
    """Leaves after each task, shape (T,); zeros if the model has none."""

    n_splits: NDArray[np.int64]
    """Splits made up to the end of each task, shape (T,); zeros if the model makes none."""

    checkpoints: NDArray[np.int64]
    """Training rows learnt at each checkpoint, shape (m,)."""

    leaves_curve: NDArray[np.int64]
    """Leaves at each checkpoint, shape (m,); zeros if the model has none."""

    nbytes: int
    """Bytes of the model's state at the end; 0 if the model does not report it."""

    seconds: float
    """Seconds of test-then-train, without compilation and held-out tests."""

    rows_per_second: float
    """Rate of test-then-train, ``n / seconds``."""

    predict_rows_per_second: float = float("nan")
    """Rate of ``predict`` on held-out rows, over all evaluations."""

    learn_rows_per_second: float = float("nan")
    """Rate of learning without prediction; NaN if not measured."""

    compile_seconds: float = float("nan")
    """Seconds of `warm_up` before the run, to compile or load compiled code; 0 for a model that is
    not compiled."""

    classes: tuple[Any, ...] = ()
    """The K labels in label order."""

    evaluations: NDArray[Any] = field(default_factory=_nothing)
    """Training rows learnt at each evaluation, shape (E,)."""

    recall: NDArray[np.float64] = field(default_factory=_nothing)
    """Recall of each class on held-out rows at each evaluation, shape (E, K); NaN for a class that
    had not arrived or has no held-out rows."""

    seen_accuracy: NDArray[np.float64] = field(default_factory=_nothing)
    """Accuracy on the held-out rows of all classes seen so far, shape (E,)."""

    anytime_accuracy: float = float("nan")
    """Mean of `seen_accuracy`, see `mist.evaluation.anytime_accuracy`."""

    depth: NDArray[Any] = field(default_factory=_nothing)
    """Depth of the tree after each task, shape (T,); zeros if the model has none."""

    leaf_impurity: NDArray[np.float64] = field(default_factory=_nothing)
    """Gini impurity of the leaves, weighted by their masses, after each task, shape (T,); NaN if
    the model does not report it."""

    classes_per_leaf: NDArray[np.float64] = field(default_factory=_nothing)
    """Mean number of classes with mass at a leaf (mean K_local) after each task, shape (T,); NaN if
    the model does not report it."""

    rows_per_answer: int = 1
    """Rows per entry of `correct`."""

    changes: tuple[Change, ...] = ()
    """The changes that the model found in the stream, in order of time; the last 1,000. Empty if it
    looks for none. Their rows count from the first row of the run."""

    @property
    def n_rows(self) -> int:
        """Rows that were predicted; for a very long stream up to one block more."""
        return len(self.correct) * self.rows_per_answer

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain Python values that JSON can store.

        Returns
        -------
        dict
            One entry per field, in order of definition; arrays as nested lists, NaN as None.

        Examples
        --------
        >>> import json
        >>> from mist import MistClassifier
        >>> from mist.datasets import load_toy
        >>> from mist.evaluation import ClassIncrementalStream, evaluate
        >>> iris = load_toy("iris")
        >>> result = evaluate(MistClassifier(), ClassIncrementalStream(iris.X, iris.y))
        >>> json.loads(json.dumps(result.to_dict(), allow_nan=False))["boundaries"]
        [120]
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value != value else value
